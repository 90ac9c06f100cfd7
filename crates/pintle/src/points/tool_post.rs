//! `tool.post`.

use serde_json::Value;

use crate::{Advisory, Gate, point};

point! {
    /// After each tool that ran.
    ///
    /// **Answer**: go on, or stop and why; both with `output` and `additionalContext` for the model if it likes.
    ///
    /// **Failure**: a handler that fails counts as a block: it is recorded and told to the model, and the run goes
    /// on.
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
        /// The call.
        pub tool_call_id: String,
        /// The tool.
        pub tool_name: String,
        /// The arguments it ran with.
        pub tool_input: Value,
        /// What came out.
        pub result: String,
        /// Whether that is an error.
        pub is_error: bool,
        /// How long it took.
        pub duration_ms: u64,
    }
}
