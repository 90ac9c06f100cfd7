//! `subagent_spawned`.

use crate::{Void, point};

point! {
    /// When a sub-agent's session has started. The envelope is the parent's.
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
    /// use pintle::{Event, Hooks, points::SubagentSpawned};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<SubagentSpawned>| {
    ///     println!("{:?} has a child {}", e.envelope().session_id, e.child_session_id);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct SubagentSpawned = "subagent_spawned": Void {
        /// The sub-agent's session.
        pub child_session_id: String,
    }
}
