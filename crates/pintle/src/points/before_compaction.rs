//! `before_compaction`.

use super::CompactionReason;
use crate::{Modifying, patch, point};

point! {
    /// Before the older part of a conversation is replaced by a summary.
    ///
    /// **Answer**: a [`CompactionPatch`], or nothing.
    ///
    /// **Failure**: a handler that fails contributes nothing and the next one runs. Registered fail-closed, the
    /// fire returns an error.
    ///
    /// **Time**: as long as its deadline, if it has one; the next handler waits for it.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::{BeforeCompaction, CompactionPatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_modifying(async |_: Event<BeforeCompaction>| {
    ///     Some(CompactionPatch::default().instructions("Keep every file name."))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct BeforeCompaction = "before_compaction": Modifying<CompactionPatch> {
        /// The reason for the summary.
        pub reason: CompactionReason,
        /// How many messages the next request would have.
        pub message_count: u32,
        /// How many tokens it would have, estimated.
        pub tokens: u64,
    }
}

patch! {
    /// How a conversation is summarised.
    ///
    /// ```
    /// use pintle::points::CompactionPatch;
    ///
    /// let patch = CompactionPatch::default().keep_rounds(2);
    /// assert_eq!(serde_json::to_value(&patch).unwrap(), serde_json::json!({ "keepRounds": 2 }));
    /// ```
    pub struct CompactionPatch {
        /// Instructions for the model that writes the summary.
        pub instructions: Option<String>,
        /// How many of the newest rounds stay as they are. At least one does, and no more than fit.
        pub keep_rounds: Option<u32>,
    }
}
