//! `message_sending`.

use super::OutboundMessage;
use crate::{Modifying, patch, point};

point! {
    /// Before an outbound message reaches a channel's adapter.
    ///
    /// **Answer**: a [`MessagePatch`], or nothing.
    ///
    /// **Failure**: a handler that fails contributes nothing and the next one runs. Registered fail-closed, the
    /// fire returns an error.
    ///
    /// **Time**: as long as its deadline, if it has one; the next handler waits for it.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::{MessageSending, MessagePatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_modifying(async |e: Event<MessageSending>| {
    ///     let mut message = e.message.clone();
    ///     message.text.push_str(" (sent by an agent)");
    ///     Some(MessagePatch::default().message(message))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct MessageSending = "message_sending": Modifying<MessagePatch> {
        /// The chat that the message goes to.
        pub chat_id: String,
        /// The message.
        pub message: OutboundMessage,
    }
}

patch! {
    /// The changes that a handler can make to an outbound message.
    ///
    /// ```
    /// use pintle::points::{MessagePatch, OutboundMessage};
    ///
    /// let text = OutboundMessage::default().text("[redacted]");
    /// let patch = MessagePatch::default().message(text);
    /// assert_eq!(serde_json::to_value(&patch).unwrap()["message"]["text"], "[redacted]");
    /// ```
    pub struct MessagePatch {
        /// Replaces the message.
        pub message: Option<OutboundMessage>,
    }
}
