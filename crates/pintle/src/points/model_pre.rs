//! `model.pre`.

use crate::{Advisory, Gate, point};

point! {
    /// Before each attempt at a model request, retries included. What a handler adds lands on this very request.
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
    /// use pintle::{Event, Hooks, Verdict, points::ModelPre};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_gate(async |e: Event<ModelPre>| {
    ///     Verdict::allow().with_context(format!("This request carries {} messages.", e.message_count))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct ModelPre = "model.pre": Gate<Advisory> {
        /// What the request goes to.
        pub model: String,
        /// How many messages it carries.
        pub message_count: u32,
    }
}
