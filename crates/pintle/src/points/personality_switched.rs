//! `personality_switched`.

use super::PersonalityConfig;
use crate::{Modifying, patch, point};

point! {
    /// After the agent switched to another personality.
    ///
    /// **Answer**: a [`PersonalityPatch`], or nothing.
    ///
    /// **Failure**: a handler that fails contributes nothing and the next one runs. Registered fail-closed, the
    /// fire returns an error.
    ///
    /// **Time**: as long as its deadline, if it has one; the next handler waits for it.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::{PersonalitySwitched, PersonalityPatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_modifying(async |e: Event<PersonalitySwitched>| {
    ///     println!("now {}", e.to);
    ///     None::<PersonalityPatch>
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct PersonalitySwitched = "personality_switched": Modifying<PersonalityPatch> {
        /// The personality before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub from: Option<String>,
        /// The new personality.
        pub to: String,
    }
}

patch! {
    /// The changes that a handler can make to a switch of personality.
    ///
    /// ```
    /// use pintle::points::{PersonalityConfig, PersonalityPatch};
    ///
    /// let config = PersonalityConfig::default().prompt("You write code.");
    /// let patch = PersonalityPatch::default().personality(config);
    /// assert_eq!(serde_json::to_value(&patch).unwrap()["personality"]["prompt"], "You write code.");
    /// ```
    pub struct PersonalityPatch {
        /// Replaces the configuration of the new personality.
        pub personality: Option<PersonalityConfig>,
    }
}
