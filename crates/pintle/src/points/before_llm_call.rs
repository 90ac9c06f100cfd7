//! `before_llm_call`.

use crate::{Void, point};

point! {
    /// Immediately before each model request.
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
    /// use pintle::{Event, Hooks, points::BeforeLlmCall};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<BeforeLlmCall>| {
    ///     println!("request {} to {}", e.turn_number, e.model);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct BeforeLlmCall = "before_llm_call": Void {
        /// The model that the request goes to.
        pub model: String,
        /// The request's number within the run, from 1.
        pub turn_number: u32,
        /// The id of the request, the same as in its `after_llm_call`.
        pub request_id: String,
    }
}
