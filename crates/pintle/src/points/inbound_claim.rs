//! `inbound_claim`.

use super::InboundMessage;
use crate::{Claiming, claim, point};

point! {
    /// When the gateway asks who owns an inbound message.
    ///
    /// **Answer**: a claim ([`Handled`]): the message is taken, no run starts, and `reply`, if given, is sent back;
    /// or nothing.
    ///
    /// **Failure**: a handler that fails is skipped and the next one runs. Registered fail-closed, the fire returns
    /// an error.
    ///
    /// **Time**: as long as its deadline, if it has one; the next handler waits for it.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::{InboundClaim, Handled}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_claiming(async |e: Event<InboundClaim>| {
    ///     (e.message.text == "/ping").then(|| Handled::default().reply("pong"))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct InboundClaim = "inbound_claim": Claiming<Handled> {
        /// The message.
        pub message: InboundMessage,
    }
}

claim! {
    /// Somebody took the message.
    ///
    /// ```
    /// use pintle::points::Handled;
    ///
    /// let claim = Handled::default().reply("pong");
    /// assert_eq!(serde_json::to_value(&claim).unwrap()["reply"], "pong");
    /// ```
    pub struct Handled {
        /// The reply to the sender.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reply: Option<String>,
    }
}
