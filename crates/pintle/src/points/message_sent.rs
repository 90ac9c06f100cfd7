//! `message_sent`.

use crate::{Void, point};

point! {
    /// When an outbound message was dispatched, or could not be.
    ///
    /// **Answer**: nothing. It only observes.
    ///
    /// **Failure**: a handler that fails is recorded; the other handlers finish and the fire succeeds. Registered
    /// fail-closed, the others finish and the fire returns an error naming it.
    ///
    /// **Time**: as long as its deadline, if it has one; the fire waits for all of them.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::MessageSent};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<MessageSent>| {
    ///     println!("sent to {}: {}", e.chat_id, e.ok);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct MessageSent = "message_sent": Void {
        /// The chat that the message went to.
        pub chat_id: String,
        /// The channel's id of the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub message_id: Option<String>,
        /// Whether the channel accepted it.
        pub ok: bool,
    }
}
