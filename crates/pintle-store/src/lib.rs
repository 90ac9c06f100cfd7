//! Everything that an agent keeps, in one SQLite file on a thread of its own.
//!
//! [`SqliteStore`] implements the agent's [`Store`](pintle_agent::Store). Several processes may use the file at once.
//!
//! A returned `Ok` means that the change is on the disk: it survives `kill -9` and a power cut right after. Records are the
//! exception: they are written in the background a moment later, so recording never slows a run.

mod approval;
mod approvals;
mod claim;
mod clock;
mod error;
mod group;
mod ledger;
mod migrations;
mod notes;
mod open;
mod process_lock;
mod queues;
mod record_queue;
mod records;
mod rules;
mod sessions;
mod short_ids;
mod store;
mod tickets;
mod worker;

pub use store::{Options, SqliteStore};
