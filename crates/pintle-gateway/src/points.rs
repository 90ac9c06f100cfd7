//! The gateway's own point: it decides who may write to the agent.

use pintle::{Claiming, claim, point, points::InboundMessage};

point! {
    /// When a message arrives over a channel, before any other point fires for it.
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
    /// hooks.named("blocklist").fail_closed().register_claiming(async |e: Event<MessageScreening>| {
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
    /// Refuses the message.
    ///
    /// ```
    /// use pintle_gateway::Refused;
    ///
    /// let refused = Refused::default().reason("not on the allowlist");
    /// assert_eq!(serde_json::to_value(&refused).unwrap()["reason"], "not on the allowlist");
    /// ```
    pub struct Refused {
        /// The reply to the sender; none if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reply: Option<String>,
        /// Why, for the record.
        pub reason: String,
    }
}
