//! `after_ticket_revision`.

use crate::{Void, point};

point! {
    /// When a ticket's completion was rejected and the ticket moved to `needs_revision`.
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
    /// use pintle::{Event, Hooks, points::AfterTicketRevision};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<AfterTicketRevision>| {
    ///     println!("{} again: {}", e.task_id, e.reason);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct AfterTicketRevision = "after_ticket_revision": Void {
        /// The id of the ticket.
        pub task_id: String,
        /// The work that was reported as done.
        pub summary: String,
        /// The acceptance criteria of the ticket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub acceptance_criteria: Option<String>,
        /// The reason for the rejection.
        pub reason: String,
        /// The personality that works on it.
        pub assignee: String,
        /// How much the assignee may decide without a person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub autonomy_tier: Option<u32>,
        /// The share of the assignee's completions that were accepted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub success_ratio: Option<f64>,
    }
}
