//! `before_ticket_complete`.

use crate::{Claiming, claim, point};

point! {
    /// Before a ticket goes from `running` to `done`.
    ///
    /// **Answer**: a claim ([`Rejected`]): the completion is rejected and the ticket needs revision; or nothing.
    ///
    /// **Failure**: a handler that fails is skipped and the next one runs. Registered fail-closed, the fire returns
    /// an error.
    ///
    /// **Time**: as long as its deadline, if it has one; the next handler waits for it.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::{BeforeTicketComplete, Rejected}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_claiming(async |e: Event<BeforeTicketComplete>| {
    ///     e.summary.is_empty().then(|| Rejected::default().reason("say what you did"))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct BeforeTicketComplete = "before_ticket_complete": Claiming<Rejected> {
        /// The id of the ticket.
        pub task_id: String,
        /// The work that is reported as done.
        pub summary: String,
        /// The acceptance criteria of the ticket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub acceptance_criteria: Option<String>,
        /// How much the assignee may decide without a person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub autonomy_tier: Option<u32>,
    }
}

claim! {
    /// The completion is rejected.
    ///
    /// ```
    /// use pintle::points::Rejected;
    ///
    /// let claim = Rejected::default().reason("no tests");
    /// assert_eq!(serde_json::to_value(&claim).unwrap()["reason"], "no tests");
    /// ```
    pub struct Rejected {
        /// The reason: the work that is missing.
        pub reason: String,
    }
}
