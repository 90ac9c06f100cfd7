//! `message_received`.

use super::InboundMessage;
use crate::{Void, point};

point! {
    /// When the gateway has accepted an inbound message.
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
    /// use pintle::{Event, Hooks, points::MessageReceived};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<MessageReceived>| {
    ///     println!("{}: {}", e.message.sender.id, e.message.text);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct MessageReceived = "message_received": Void {
        /// The message.
        pub message: InboundMessage,
    }
}
