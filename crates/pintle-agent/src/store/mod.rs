//! Where an agent keeps what must outlive it, as traits.
//!
//! A store implements [`Sessions`], [`Claims`], [`Approvals`], [`Rules`], [`Ledger`], [`Records`], [`ShortIds`], [`Tickets`]
//! and [`Notes`], and then [`Store`].
//! The agent and the program hold an `Arc<dyn Store>` and name no implementation.
//!
//! **Writes take the claim.** A run holds a [`Claim`] on its session and passes it to every write. The store compares
//! the claim's [`FencingToken`] in the transaction of the write, and answers [`StoreError::ClaimLost`] when another
//! owner has taken the session since. A process that was paused meanwhile can therefore write nothing to the session.
//!
//! **These writes take none.** People answer questions, add rules and revoke them while a run holds the claim
//! ([`Approvals::answer_approval`], [`Rules`]). A record says what a run did, also after it lost its session
//! ([`Records::record`]). Notes and tickets belong to no session: [`Notes::add_note`] replaces nothing, and
//! [`Tickets::move_ticket`] compares the ticket with the one that its caller has seen.
//!
//! [`store_conformance!`](crate::store_conformance) holds an implementation to every promise of these traits.
//! [`forward_store!`](crate::forward_store) is for a store that wraps another one.

mod approval;
mod claim;
mod forward;
mod ledger;
mod notes;
mod queues;
mod records;
mod rules;
mod session;
mod short_ids;
mod tickets;

use futures_util::future::{BoxFuture, FutureExt};

pub use approval::{
    Answer, AnswerResult, Approval, ApprovalFilter, ApprovalState, Approvals, Decision,
    NewApproval, OPERATOR, Origin, Scope,
};
pub use claim::{Claim, Claims, FencingToken};
pub use ledger::{Begun, CallEnd, CallFilter, Intent, Ledger, StoredCall};
pub use notes::{NewNote, Note, NoteScope, Notes, query_words};
pub use queues::{
    Accepted, ClaimedMessage, LaneClaim, MessageEnd, MessageState, NewInbound, NewOutgoing,
    OutgoingFilter, OutgoingKind, OutgoingMessage, OutgoingState, QueuedMessage, Queues, SendEnd,
    Stopped,
};
pub use records::{
    FiredHooks, HookCalls, JudgedBy, NewEvent, NewRun, Record, RecordLoss, Records, Retention,
    RunEnd, StoredEvent, StoredRun,
};
pub use rules::{Program, Rules, SessionRule};
pub use session::{
    Conversation, NewMessage, NewSession, Session, Sessions, StoredMessage, Summary,
};
pub use short_ids::{IdKind, ShortIds, short_id_candidates};
pub use tickets::{NewTicket, Reputation, Ticket, TicketMove, TicketState, Tickets};

/// What every method of a store answers with.
pub type Stored<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Everything that an agent keeps.
///
/// A returned `Ok` is a promise: the change survives a `kill -9` right after. [`Records`] are the exception.
pub trait Store:
    Sessions + Claims + Approvals + Rules + Ledger + Records + ShortIds + Tickets + Notes
{
    /// Reads everything and looks for damage.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] with the first thing that is wrong.
    fn check(&self) -> Stored<'_, ()> {
        std::future::ready(Ok(())).boxed()
    }

    /// Finishes what is queued and closes the store, for every handle to it. Later calls fail and say so.
    fn close(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

/// Why the store could not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file is not a database, or a damaged one. It was left as it is.
    #[error("the database {path} is damaged: {detail}")]
    Corrupt {
        /// Where it is.
        path: String,
        /// What is wrong with it.
        detail: String,
    },
    /// There is no such session.
    #[error("there is no session `{0}`")]
    NoSuchSession(String),
    /// Another run has the session.
    #[error(
        "the conversation `{session}` is in use by another pintle{by}. Wait until it is done, or talk in another one \
         (`--session NAME`, or `--new`)"
    )]
    InUse {
        /// The session's key.
        session: String,
        /// Which process, as ` (process 42)`; empty when that is not known.
        by: String,
    },
    /// The claim on the session is not valid any more. Nothing was written.
    #[error(
        "this run has lost its claim on the session {session}: another process has taken it over, and nothing was written"
    )]
    ClaimLost {
        /// The session's id.
        session: String,
    },
    /// Anything else.
    #[error("the store failed while {doing}: {detail}")]
    Failed {
        /// What it was about to do.
        doing: &'static str,
        /// What went wrong.
        detail: String,
    },
}
