//! `tool.pre`.

use serde_json::Value;

use super::Untrusted;
use crate::{Binding, Gate, point};

point! {
    /// Before each tool runs, on its final arguments. A block means the tool never runs.
    ///
    /// **Answer**: allow, or block with a reason; both may have `output` and `additionalContext` for the model.
    ///
    /// **Failure**: a handler that fails **blocks**, with a reason that says how it failed. That cannot be
    /// loosened.
    ///
    /// **Time**: five seconds, unless its registration says otherwise; then it is dropped and blocks.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, Verdict, points::ToolPre};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_gate(async |e: Event<ToolPre>| {
    ///     if e.zone > 2 { Verdict::block("too far") } else { Verdict::allow() }
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct ToolPre = "tool.pre": Gate<Binding>, tool = tool_name {
        /// The id of the call.
        pub tool_call_id: String,
        /// The name of the tool.
        pub tool_name: String,
        /// The final arguments.
        pub tool_input: Value,
        /// How far the call can reach: 0 safe to 6 never.
        pub zone: u8,
        /// Whether a person is asked because of the zone, unless a rule of theirs answers.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub asks: bool,
        /// The text from outside that the conversation has read by now, if it has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub untrusted: Option<Untrusted>,
    }
}
