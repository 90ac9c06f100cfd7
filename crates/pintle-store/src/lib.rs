//! Where conversations, run records and approvals are kept: one SQLite file, on a thread of its own.
//!
//! [`SqliteStore`] is the agent's [`Store`](pintle_agent::Store). The same file also holds what a run did
//! ([`SqliteStore::record_event`], for `pintle trace`) and the questions put to people
//! ([`SqliteStore::request_approval`]). Several processes may use the file at once.
//!
//! What a returned `Ok` means: the change is on the disk, and survives `kill -9` and a power cut right after. Records are
//! the exception: they are written in the background a moment later, so that watching a run never slows it.

mod answers;
mod approval;
mod approvals;
mod check;
mod claim;
mod clock;
mod error;
mod fired;
mod group;
mod migrations;
mod open;
mod origin;
mod record_queue;
mod records;
mod rules;
mod sessions;
mod store;
mod worker;

pub use answers::{Answer, AnswerResult, Decision};
pub use approval::{Approval, ApprovalFilter, ApprovalState, NewApproval, OPERATOR, Scope};
pub use origin::Origin;
pub use pintle_agent::{args_hash, canonical_json};
pub use record_queue::RecordLoss;
pub use records::{NewEvent, NewRun, Run, RunEnd, RunEvent};
pub use rules::{Program, SessionRule};
pub use store::{Options, SqliteStore};
