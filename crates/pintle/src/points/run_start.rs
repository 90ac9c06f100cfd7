//! `session.start`.

use crate::{Advisory, Gate, point};

point! {
    /// At the top of every run.
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
    /// use pintle::{Event, Hooks, Verdict, points::RunStart};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_gate(async |e: Event<RunStart>| {
    ///     Verdict::allow().with_context(format!("You run on {}.", e.model))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct RunStart = "session.start": Gate<Advisory> {
        /// What the run's requests go to.
        pub model: String,
        /// Whether this is the session's first run.
        pub new_session: bool,
    }
}
