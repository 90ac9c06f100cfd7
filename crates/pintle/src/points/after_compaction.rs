//! `after_compaction`.

use crate::{Void, point};

point! {
    /// After the older part of a conversation was replaced by a summary, for the next requests. What is stored stays.
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
    /// use pintle::{Event, Hooks, points::AfterCompaction};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<AfterCompaction>| {
    ///     println!("{} tokens became {}", e.tokens_before, e.tokens_after);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct AfterCompaction = "after_compaction": Void {
        /// The summary that replaces the older messages.
        pub summary: String,
        /// How many messages stay as they are.
        pub kept_messages: u32,
        /// How many tokens the request had before, estimated.
        pub tokens_before: u64,
        /// How many it has now, estimated.
        pub tokens_after: u64,
    }
}
