//! `session.start`.

use crate::{Advisory, Gate, point};

point! {
    /// At the top of every run.
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
    /// use pintle::{Event, Hooks, Verdict, points::RunStart};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_gate(async |e: Event<RunStart>| {
    ///     Verdict::allow().with_context(format!("You run on {}.", e.model))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct RunStart = "session.start": Gate<Advisory> {
        /// The model of the run.
        pub model: String,
        /// Whether this is the session's first run.
        pub new_session: bool,
    }
}
