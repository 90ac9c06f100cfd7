//! `error`.

use crate::{Advisory, Gate, point};

point! {
    /// On an unrecoverable failure, just before `session.end`.
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
        /// The error, in words.
        pub message: String,
    }
}
