//! `after_tool_call`.

use serde_json::Value;

use super::{ToolCallResult, ToolOutcome};
use crate::{Void, point};

point! {
    /// After each tool call, whatever became of it: also a rejected one, and one that panicked.
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
    /// use pintle::{Event, Hooks, points::AfterToolCall};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<AfterToolCall>| {
    ///     println!("{} {:?}", e.tool_name, e.outcome);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct AfterToolCall = "after_tool_call": Void, tool = tool_name {
        /// The id of the call.
        pub tool_call_id: String,
        /// The name of the tool.
        pub tool_name: String,
        /// The final arguments.
        pub args: Value,
        /// The result.
        pub result: ToolCallResult,
        /// The duration, in milliseconds; 0 for a call that did not run.
        pub duration_ms: u64,
        /// How the call ended.
        pub outcome: ToolOutcome,
    }
}
