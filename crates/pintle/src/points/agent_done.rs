//! `agent_done`.

use crate::{Void, point};

point! {
    /// At the end of each run, after the final `done` event has reached the user.
    ///
    /// **Answer**: nothing. It only observes.
    ///
    /// **Failure**: a handler that fails is recorded; the other handlers finish and the fire succeeds. Registered
    /// fail-closed, the others finish and the fire returns an error naming it.
    ///
    /// **Time**: as long as its deadline, if it has one. It delays nothing the user sees; the process waits for it
    /// before it exits.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::AgentDone};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<AgentDone>| {
    ///     println!("{} after {} turns", e.outcome, e.turn_count);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct AgentDone = "agent_done": Void {
        /// The final answer.
        pub text: String,
        /// How many model rounds it took.
        pub turn_count: u32,
        /// Tool calls that succeeded.
        pub successful_tool_calls: u32,
        /// All tool calls, rejected ones included.
        pub total_tool_calls: u32,
        /// The tools that were asked for, each once, in order of first use.
        pub tool_names: Vec<String>,
        /// The user's message.
        pub initial_prompt: String,
        /// How the run ended: `end_turn`, `aborted`, `max_turns`, …
        pub outcome: String,
    }
}
