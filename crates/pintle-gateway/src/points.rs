//! A point of the gateway's own: who may write to the agent at all.

use pintle::{Claiming, claim, point, points::InboundMessage};

point! {
    /// When a message came in over a channel, before anything else sees it.
    ///
    /// **Answer**: a claim ([`Refused`]): the message goes no further, and no other point fires for it; or nothing.
    ///
    /// **Failure**: a handler that fails is skipped and the next one runs. Registered fail-closed, the message is refused.
    ///
    /// **Time**: as long as its deadline, if it has one; the next handler waits for it.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks};
    /// use pintle_gateway::{MessageScreening, Refused};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("blocklist").fail_closed().register_claiming(|e: Event<MessageScreening>| async move {
    ///     (e.message.sender.id == "spammer").then(|| Refused::default().reason("blocked"))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct MessageScreening = "message_screening": Claiming<Refused> {
        /// The message.
        pub message: InboundMessage,
    }
}

claim! {
    /// The message is not taken.
    ///
    /// ```
    /// use pintle_gateway::Refused;
    ///
    /// let refused = Refused::default().reason("not on the allowlist");
    /// assert_eq!(serde_json::to_value(&refused).unwrap()["reason"], "not on the allowlist");
    /// ```
    pub struct Refused {
        /// What to answer; without it, nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reply: Option<String>,
        /// Why, for the record.
        pub reason: String,
    }
}
