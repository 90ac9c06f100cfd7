//! `model.post`.

use crate::{Advisory, Gate, point};

point! {
    /// After each successful response, before its message is stored.
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
    /// use pintle::{Event, Hooks, Verdict, points::ModelPost};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_gate(async |e: Event<ModelPost>| {
    ///     println!("{} tokens", e.input_tokens + e.output_tokens);
    ///     Verdict::allow()
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct ModelPost = "model.post": Gate<Advisory> {
        /// The model that answered.
        pub model: String,
        /// Why the model stopped.
        pub stop_reason: String,
        /// Tokens of the request.
        pub input_tokens: u64,
        /// Tokens of the answer.
        pub output_tokens: u64,
        /// The price, when it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cost_usd: Option<f64>,
        /// How many tool calls the answer has.
        pub tool_call_count: u32,
    }
}
