//! `subagent_ended`.

use crate::{Void, point};

point! {
    /// When a sub-agent's session has ended, however it ended. The envelope is the parent's.
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
    /// use pintle::{Event, Hooks, points::SubagentEnded};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<SubagentEnded>| {
    ///     println!("{} said {}", e.child_session_id, e.result);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct SubagentEnded = "subagent_ended": Void {
        /// The sub-agent's session.
        pub child_session_id: String,
        /// Its final answer, or why there is none.
        pub result: String,
        /// How its run ended.
        pub outcome: String,
    }
}
