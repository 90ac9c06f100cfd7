//! `model.pre`.

use crate::{Advisory, Gate, point};

point! {
    /// Before each attempt at a model request, retries included. What a handler adds lands on this very request.
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
    /// use pintle::{Event, Hooks, Verdict, points::ModelPre};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_gate(async |e: Event<ModelPre>| {
    ///     Verdict::allow().with_context(format!("This request carries {} messages.", e.message_count))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct ModelPre = "model.pre": Gate<Advisory> {
        /// The model that the request goes to.
        pub model: String,
        /// How many messages the request has.
        pub message_count: u32,
    }
}
