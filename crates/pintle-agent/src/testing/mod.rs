//! What tests of an agent need: stores and doubles that do the real thing without a file, a network or a model.
//!
//! [`ScriptedLlm`] gives prepared answers; [`tool_fn`], [`approver_fn`] and [`llm_fn`] make a tool, an approver and a model of a
//! closure. [`MemoryStore`] is a whole [`Store`](crate::store::Store) in memory. [`store_conformance!`](crate::store_conformance)
//! tests a store of your own, [`queues_conformance!`](crate::queues_conformance) its queues.

mod closures;
#[doc(hidden)]
pub mod conformance;
mod llm;
mod memory;

pub use closures::{approver_fn, tool_fn};
pub use conformance::{QueuesPlace, StorePlace};
pub use llm::{Answer, ScriptedLlm, llm_fn};
pub use memory::{Access, MemoryQueues, MemoryStore};
