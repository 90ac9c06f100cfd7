//! The tests that every store passes.

// These are tests: a broken promise is a panic.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

pub mod answers;
pub mod approvals;
pub mod claims;
pub mod ledger;
pub mod notes;
pub mod outbox;
pub mod queues;
pub mod records;
pub mod rules;
pub mod sessions;
pub mod short_ids;
mod support;
pub mod tickets;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::store::{Queues, Store};

/// Where a store keeps things: how the conformance tests get one.
pub trait StorePlace: Send + Sync {
    /// A place of its own with nothing in it.
    fn fresh() -> Self
    where
        Self: Sized;

    /// Opens the store in this place. Each call gives another handle, as another process would have one.
    ///
    /// Its claims should not wait longer than a moment for a session that is in use.
    fn open(&self) -> BoxFuture<'_, Arc<dyn Store>>;
}

/// Where queues keep things, as [`StorePlace`] is for a store.
pub trait QueuesPlace: Send + Sync {
    /// A place of its own with nothing in it.
    fn fresh() -> Self
    where
        Self: Sized;

    /// Opens the queues in this place. Each call gives another handle, as another process would have one.
    fn open(&self) -> BoxFuture<'_, Arc<dyn Queues>>;
}

/// Runs one test on a place of its own.
#[doc(hidden)]
pub fn run<P: StorePlace>(test: impl for<'a> FnOnce(&'a dyn StorePlace) -> BoxFuture<'a, ()>) {
    let place = P::fresh();
    block_on(test(&place));
}

/// Runs one test of queues on a place of its own.
#[doc(hidden)]
pub fn run_queues<P: QueuesPlace>(
    test: impl for<'a> FnOnce(&'a dyn QueuesPlace) -> BoxFuture<'a, ()>,
) {
    let place = P::fresh();
    block_on(test(&place));
}

fn block_on(test: BoxFuture<'_, ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(test);
}

/// Tests a store: `store_conformance!(Place)`, where `Place` is a [`StorePlace`](crate::testing::StorePlace).
///
/// It expands to one `#[test]` for each promise of the traits in [`store`](crate::store).
///
/// ```
/// use std::sync::Arc;
/// use futures_util::future::{BoxFuture, FutureExt};
/// use pintle_agent::{store::Store, testing::{MemoryStore, StorePlace}};
///
/// struct InMemory(MemoryStore);
///
/// impl StorePlace for InMemory {
///     fn fresh() -> Self {
///         Self(MemoryStore::default())
///     }
///     fn open(&self) -> BoxFuture<'_, Arc<dyn Store>> {
///         std::future::ready(Arc::new(self.0.clone()) as Arc<dyn Store>).boxed()
///     }
/// }
///
/// pintle_agent::store_conformance!(InMemory);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! store_conformance {
    ($place:ident) => {
        $crate::store_conformance! { @groups run $place:
            sessions {
                a_conversation_is_the_same_after_reopening
                opening_a_key_finds_the_newest_session_with_it
                opening_a_key_never_lands_in_a_sub_agents_session
                session_ids_are_uuids_that_sort_by_time
                a_personality_is_remembered
                a_session_that_does_not_exist_is_named
                deleting_a_session_removes_everything_in_it_and_nothing_else
                an_empty_append_changes_nothing
                a_summary_stands_for_the_oldest_messages_and_changes_none
                the_messages_of_a_run_are_found_and_the_newest_is_last
            }
            short_ids {
                a_short_id_stays_and_is_found_again
                no_two_things_share_a_short_id
            }
            claims {
                a_session_has_one_owner_at_a_time
                a_run_that_waits_gets_the_session_when_it_is_given_back
                a_caller_that_stops_waiting_has_claimed_nothing
                every_claim_has_a_higher_epoch_and_another_nonce
                a_stale_claim_can_write_nothing
            }
            approvals {
                a_question_is_stored_whole_before_anyone_is_asked
                questions_are_listed_newest_first_and_filtered
                a_part_of_the_id_finds_a_question
                a_waiting_run_goes_on_when_it_is_answered
                waiting_ends_when_the_question_expires
                waiting_ends_when_the_session_is_deleted
                a_run_cancelled_while_waiting_calls_its_question_off
                a_run_can_call_off_only_its_own_questions
                expired_questions_are_marked_and_the_rest_stays
                a_conversation_that_goes_on_leaves_no_question_and_no_approval_behind
            }
            answers {
                an_approval_says_who_when_and_how_far
                a_denial_carries_words_for_the_model_and_cannot_be_used
                a_late_answer_changes_nothing
                an_answer_for_other_arguments_changes_nothing
                a_strangers_answer_changes_nothing
                a_question_without_approvers_takes_no_answer
                a_denial_is_used_up_when_its_run_has_acted_on_it
                the_one_who_asked_may_answer_when_named
                a_repeated_answer_changes_nothing_and_names_the_first
                an_answer_to_nothing_says_so
                of_many_answers_at_once_exactly_one_is_accepted
                an_approval_of_a_rule_needs_a_question_that_offers_one
            }
            ledger {
                an_approval_is_used_once_and_in_the_step_that_begins_the_call
                only_an_approval_of_these_arguments_and_this_session_begins_a_call
                a_call_without_an_end_is_found_by_the_next_owner
                results_in_the_conversation_settle_the_calls
                unknown_outcomes_are_listed_newest_first
                a_call_of_another_session_cannot_be_ended
            }
            records {
                a_run_is_recorded_in_order_and_survives_closing
                a_reader_sees_what_this_process_recorded_before
                records_of_a_deleted_session_are_counted_as_lost_and_harm_no_message
                a_hook_that_fired_once_long_ago_has_fired
                what_a_hook_in_shadow_mode_said_is_counted_apart
                a_hook_is_failing_while_its_newest_calls_timed_out
                old_runs_are_forgotten_and_the_newest_stay
            }
            rules {
                a_rule_stands_in_its_session_and_the_sub_agents_of_it
                the_rules_of_a_program_that_has_ended_are_not_listed
            }
            notes {
                a_note_is_found_by_its_words_and_the_best_fit_is_first
                a_query_is_text_and_has_no_operators
                notes_belong_to_a_personality_and_a_workspace
                the_same_note_twice_is_one_and_stays_untrusted
                a_deleted_note_is_not_found_again
            }
            tickets {
                a_ticket_is_the_same_after_reopening
                tickets_are_listed_newest_first_and_by_state
                a_ticket_moves_only_along_the_board
                a_ticket_that_moved_meanwhile_does_not_move_again
                of_many_completions_at_once_exactly_one_is_accepted
                every_completion_makes_a_reputation_and_deleting_a_ticket_does_not_unmake_it
                no_number_is_given_twice
            }
        }
    };
    (@groups $run:ident $place:ident: $($group:ident { $($test:ident)* })*) => {
        $(
            mod $group {
                use super::$place;

                $(
                    #[test]
                    fn $test() {
                        $crate::testing::conformance::$run::<$place>(|place| {
                            Box::pin($crate::testing::conformance::$group::$test(place))
                        });
                    }
                )*
            }
        )*
    };
}

/// Tests the queues of a gateway: `queues_conformance!(Place)`, where `Place` is a
/// [`QueuesPlace`](crate::testing::QueuesPlace).
///
/// It expands to one `#[test]` for each promise of [`Queues`](crate::store::Queues).
#[macro_export]
macro_rules! queues_conformance {
    ($place:ident) => {
        $crate::store_conformance! { @groups run_queues $place:
            queues {
                an_accepted_message_is_kept_whole_and_its_key_is_known
                of_many_deliveries_at_once_exactly_one_is_accepted
                a_full_lane_takes_nothing_and_remembers_nothing
                a_lane_is_first_in_first_out_and_one_at_a_time
                of_many_claims_at_once_each_lane_has_one
                an_owner_whose_lease_ran_out_can_write_nothing
                a_renewed_lease_keeps_the_lane
                a_message_that_waits_for_a_person_is_ready_when_it_is_woken
                a_message_that_waits_for_a_person_is_ready_when_the_question_lapses
                a_failed_message_is_tried_again_at_its_time
                a_message_that_is_given_back_counts_no_try
                a_dead_letter_lets_the_lane_go_on_and_is_tried_again_last
                stopping_ends_what_waits_and_leaves_what_is_claimed
                a_noted_message_is_answered_once
                a_new_owner_can_void_every_claim
                what_is_settled_and_old_is_forgotten_and_nothing_else
            }
            outbox {
                messages_leave_in_the_order_of_their_lane
                a_message_that_is_due_again_is_sent_again_and_then_settled
                a_message_whose_sender_ended_may_have_arrived
                a_sender_whose_lease_ran_out_can_write_nothing
                a_renewed_lease_keeps_the_message
                sent_messages_are_found_by_run_question_and_state
                a_value_lapses_and_is_taken_by_one
            }
        }
    };
}
