//! `session_start`.

use crate::{Void, point};

point! {
    /// On the first run of a session, before any model call; and again on the first run after a restart, with
    /// `resumed`.
    ///
    /// **Answer**: nothing. It only observes.
    ///
    /// **Failure**: a handler that fails is recorded; the other handlers finish and the fire succeeds. Registered
    /// fail-closed, the others finish and the fire returns an error naming it.
    ///
    /// **Time**: as long as its deadline, if it has one; the fire waits for all of them.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::SessionOpened};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<SessionOpened>| {
    ///     println!("{:?} begins, resumed: {}", e.envelope().session_id, e.resumed);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct SessionOpened = "session_start": Void {
        /// Whether the session existed before this process started.
        pub resumed: bool,
    }
}
