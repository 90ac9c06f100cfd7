//! `after_tool_call`.

use serde_json::Value;

use super::{ToolCallResult, ToolOutcome};
use crate::{Void, point};

point! {
    /// After each tool call, whatever became of it: also a rejected one, and one that panicked.
    ///
    /// **Answer**: nothing: it observes.
    ///
    /// **Failure**: a handler that fails is recorded; the other handlers finish and the fire succeeds. Registered
    /// fail-closed, the others finish and the fire returns an error naming it.
    ///
    /// **Time**: as long as its deadline, if it has one; the fire waits for all of them.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::AfterToolCall};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<AfterToolCall>| {
    ///     println!("{} {:?}", e.tool_name, e.outcome);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct AfterToolCall = "after_tool_call": Void, tool = tool_name {
        /// The call.
        pub tool_call_id: String,
        /// The tool.
        pub tool_name: String,
        /// The final arguments.
        pub args: Value,
        /// What came out.
        pub result: ToolCallResult,
        /// How long it took; 0 for a call that did not run.
        pub duration_ms: u64,
        /// What became of it.
        pub outcome: ToolOutcome,
    }
}
