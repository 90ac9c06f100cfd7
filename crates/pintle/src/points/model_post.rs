//! `model.post`.

use crate::{Advisory, Gate, point};

point! {
    /// After each successful response, before its message is stored.
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
        /// What answered.
        pub model: String,
        /// Why it stopped.
        pub stop_reason: String,
        /// Tokens read.
        pub input_tokens: u64,
        /// Tokens written.
        pub output_tokens: u64,
        /// The price, when it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cost_usd: Option<f64>,
        /// How many tools it asks for.
        pub tool_call_count: u32,
    }
}
