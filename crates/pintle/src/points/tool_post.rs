//! `tool.post`.

use serde_json::Value;

use super::Untrusted;
use crate::{Advisory, Gate, point};

point! {
    /// After each tool that ran.
    ///
    /// **Answer**: allow, or block with a reason; both may have `output` and `additionalContext` for the model.
    ///
    /// **Failure**: a failing handler is treated as a block: it is recorded and reported to the model, and the run
    /// goes on.
    ///
    /// **Time**: five seconds, unless its registration says otherwise; then it is dropped and blocks.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, Verdict, points::ToolPost};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_gate(async |e: Event<ToolPost>| {
    ///     println!("{}: {}", e.tool_name, e.result);
    ///     Verdict::allow()
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct ToolPost = "tool.post": Gate<Advisory>, tool = tool_name {
        /// The id of the call.
        pub tool_call_id: String,
        /// The name of the tool.
        pub tool_name: String,
        /// The arguments it ran with.
        pub tool_input: Value,
        /// The result.
        pub result: String,
        /// Whether the result is an error.
        pub is_error: bool,
        /// The duration, in milliseconds.
        pub duration_ms: u64,
        /// That the result came from outside. Then a block also marks it as suspicious.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub untrusted: Option<Untrusted>,
    }
}
