//! `before_dispatch`.

use crate::{Claiming, claim, point};

point! {
    /// When an outbound message is about to be sent, after it was rewritten.
    ///
    /// **Answer**: a claim ([`Suppressed`]): the message is not sent; or nothing.
    ///
    /// **Failure**: a handler that fails is skipped and the next one runs. Registered fail-closed, the fire returns
    /// an error.
    ///
    /// **Time**: as long as its deadline, if it has one; the next handler waits for it.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::{BeforeDispatch, Suppressed}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_claiming(async |e: Event<BeforeDispatch>| {
    ///     e.text.is_empty().then(|| Suppressed::default().reason("nothing to say"))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct BeforeDispatch = "before_dispatch": Claiming<Suppressed> {
        /// The chat that the message goes to.
        pub chat_id: String,
        /// The channel, such as `telegram`.
        pub platform: String,
        /// The final text.
        pub text: String,
    }
}

claim! {
    /// The message is not sent.
    ///
    /// ```
    /// use pintle::points::Suppressed;
    ///
    /// let claim = Suppressed::default().reason("said already");
    /// assert_eq!(serde_json::to_value(&claim).unwrap()["reason"], "said already");
    /// ```
    pub struct Suppressed {
        /// The reason for the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
    }
}
