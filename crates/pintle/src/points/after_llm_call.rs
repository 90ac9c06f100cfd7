//! `after_llm_call`.

use super::LlmUsage;
use crate::{Void, point};

point! {
    /// After each model request completes.
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
    /// use pintle::{Event, Hooks, points::AfterLlmCall};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<AfterLlmCall>| {
    ///     println!("{} tokens in {} ms", e.usage.output_tokens, e.duration_ms);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct AfterLlmCall = "after_llm_call": Void {
        /// The text of the answer.
        pub text: String,
        /// Its tokens and cost.
        pub usage: LlmUsage,
        /// The id of the request, the same as in its `before_llm_call`.
        pub request_id: String,
        /// Why the model stopped.
        pub finish_reason: String,
        /// The duration, in milliseconds.
        pub duration_ms: u64,
    }
}
