//! `before_prompt_build`.

use super::Message;
use crate::{Modifying, patch, point};

point! {
    /// Once per run, after memory was fetched and before the first model call.
    ///
    /// **Answer**: a [`PromptPatch`], or nothing. Dynamic handlers may say `additionalContext` for `appendSystem`.
    ///
    /// **Failure**: a handler that fails contributes nothing and the next one runs. Registered fail-closed, the
    /// fire returns an error.
    ///
    /// **Time**: as long as its deadline, if it has one; the next handler waits for it.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::{BeforePromptBuild, PromptPatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_modifying(async |e: Event<BeforePromptBuild>| {
    ///     let turns = e.history.len();
    ///     Some(PromptPatch::default().append_system(format!("{turns} messages so far.")))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct BeforePromptBuild = "before_prompt_build": Modifying<PromptPatch> {
        /// The conversation so far.
        pub history: Vec<Message>,
        /// The system prompt as it would be.
        pub system: String,
    }
}

patch! {
    /// The changes that a handler can make to the system prompt. An override replaces everything but the safety prelude.
    ///
    /// ```
    /// use pintle::points::PromptPatch;
    ///
    /// let patch = PromptPatch::default().append_system("Be brief.");
    /// assert_eq!(serde_json::to_value(&patch).unwrap(), serde_json::json!({ "appendSystem": "Be brief." }));
    /// ```
    pub struct PromptPatch {
        /// Goes before everything else.
        pub prepend_system: Option<String>,
        /// Goes after everything else.
        pub append_system: Option<String>,
        /// Replaces everything but the safety prelude.
        pub override_system: Option<String>,
    }
    alias "additionalContext" = "appendSystem"
}
