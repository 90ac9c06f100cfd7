//! `error`.

use crate::{Advisory, Gate, point};

point! {
    /// On an unrecoverable failure, just before `session.end`.
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
    /// use pintle::{Event, Hooks, Verdict, points::ErrorRaised};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_gate(async |e: Event<ErrorRaised>| {
    ///     println!("{}: {}", e.code, e.message);
    ///     Verdict::allow()
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct ErrorRaised = "error": Gate<Advisory> {
        /// A short code.
        pub code: String,
        /// What happened.
        pub message: String,
    }
}
