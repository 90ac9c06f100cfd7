//! How a process is started, held by the kernel and ended.

mod control;
mod held;
mod launch;
mod output;
mod plan;
mod policy;
mod process;
mod proxy;
mod refusal;
mod sandbox;
mod surroundings;
mod sweep;

pub use held::Held;
pub use launch::NOT_RUN;
pub use output::{HeadTail, split_incomplete};
pub use policy::{Grant, Hosts, Limits, Network, Policy};
pub use process::{
    Command, Confinement, DEFAULT_PATH, Folder, Output, Process, Report, Stdin, Streams,
    TERM_GRACE, Unconfined, find_program, is_executable,
};
pub use proxy::HostUse;
pub use refusal::{Refused, find_refusals};
pub use sandbox::{Gap, Launcher, Sandbox, Tier, init};
pub use surroundings::{Rights, Settings, Surroundings};
pub use sweep::{ProtectedChange, ProtectedChangeKind, Sweep};
