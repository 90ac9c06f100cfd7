//! `user.prompt.submit`.

use crate::{Binding, Gate, point};

point! {
    /// When a user's message is about to enter the run. A block ends the run with its reason: nothing reaches the
    /// model.
    ///
    /// **Answer**: allow, or block with a reason; both may have `output` and `additionalContext` for the model.
    ///
    /// **Failure**: a handler that fails **blocks**, with a reason that says how it failed. That cannot be
    /// loosened.
    ///
    /// **Time**: five seconds, unless its registration says otherwise; then it is dropped and blocks.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, Verdict, points::UserPromptSubmit};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_gate(async |e: Event<UserPromptSubmit>| {
    ///     if e.prompt.contains("password") { Verdict::block("no passwords") } else { Verdict::allow() }
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct UserPromptSubmit = "user.prompt.submit": Gate<Binding> {
        /// The user's message.
        pub prompt: String,
    }
}
