//! `session.end`.

use crate::{Advisory, Gate, point};

point! {
    /// At every exit of a run, also when the caller just drops it.
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
    /// use pintle::{Event, Hooks, Verdict, points::SessionEnd};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_gate(async |e: Event<SessionEnd>| {
    ///     println!("ended: {}", e.reason);
    ///     Verdict::allow()
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct SessionEnd = "session.end": Gate<Advisory> {
        /// How it ended: `end_turn`, `aborted`, `max_turns`, `budget_exceeded`, `max_tokens`, `refusal` or `error`.
        pub reason: String,
    }
}
