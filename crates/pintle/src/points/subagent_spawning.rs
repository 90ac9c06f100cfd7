//! `subagent_spawning`.

use crate::{Modifying, patch, point};

point! {
    /// Before a sub-agent's session starts. The envelope is the parent's.
    ///
    /// **Answer**: a [`SubagentPatch`], or nothing.
    ///
    /// **Failure**: a handler that fails contributes nothing and the next one runs. Registered fail-closed, the
    /// fire returns an error.
    ///
    /// **Time**: as long as its deadline, if it has one; the next handler waits for it.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::{SubagentSpawning, SubagentPatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_modifying(async |e: Event<SubagentSpawning>| {
    ///     Some(SubagentPatch::default().prompt(format!("Be brief. {}", e.prompt)))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct SubagentSpawning = "subagent_spawning": Modifying<SubagentPatch> {
        /// The task of the sub-agent.
        pub prompt: String,
    }
}

patch! {
    /// The changes that a handler can make to a sub-agent.
    ///
    /// ```
    /// use pintle::points::SubagentPatch;
    ///
    /// let patch = SubagentPatch::default().personality_id("coder");
    /// assert_eq!(serde_json::to_value(&patch).unwrap(), serde_json::json!({ "personalityId": "coder" }));
    /// ```
    pub struct SubagentPatch {
        /// Replaces the task.
        pub prompt: Option<String>,
        /// The personality of the sub-agent.
        pub personality_id: Option<String>,
    }
}
