//! How a process is started, held and ended. This crate knows nothing of hooks, tools or agents.
//!
//! Every process that Pintle starts goes through [`Process::start`]: a command hook, a worker, a terminal command, an
//! MCP server. Each one gets a session of its own without the host's terminal and exactly the environment of its
//! [`Command`], and it ends with everything it started, daemons included.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! use pintle_sandbox::{Command, Confinement, Folder, HeadTail, Output, Process, Stdin, Unconfined};
//! use tokio::io::AsyncReadExt;
//!
//! let command = Command {
//!     program: "/bin/sh".into(),
//!     args: vec!["-c".into(), "echo one; echo two >&2; sleep 60 &".into()],
//!     env: vec![("PATH".into(), "/usr/bin:/bin".into())],
//!     folder: Folder::Path("/".into()),
//!     stdin: Stdin::Null,
//!     output: Output::Merged,
//! };
//! let confinement = Confinement::Unconfined(Unconfined::by("this example"));
//! let (mut process, mut streams) = Process::start(&command, &confinement)?;
//!
//! assert!(process.wait().await?.success());
//! process.exited().await; // The `sleep` is gone now.
//!
//! let (mut kept, mut chunk) = (HeadTail::new(1024, 1024), [0; 1024]);
//! while let count @ 1.. = streams.stdout.read(&mut chunk).await? {
//!     kept.push(&chunk[..count]);
//! }
//! assert_eq!(kept.text(), "one\ntwo\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//!
//! Linux 5.4 or newer, as any user, also in a container. In a container, run the host under an init
//! (`docker run --init`): as process 1 the host would have to reap the orphans. A host must not ignore `SIGCHLD`, or the
//! kernel does not report how a process ended.
//!
//! An unconfined process that leaves its process group is found by its tag (an environment variable and a resource
//! limit). These escape the search: a process that leaves the group and drops both tags; one that runs as another user;
//! on systems without `/proc`, any process that leaves the group; and in a container that forbids `unshare`, a process
//! that is forked before the limit is set.

mod control;
mod held;
mod host_sockets;
mod launch;
mod output;
mod plan;
mod policy;
mod process;
mod proxy;
mod refusal;
mod resolver;
mod sandbox;
mod seatbelt;
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
pub use proxy::{HostLog, HostUse};
pub use refusal::{Refused, find_refusals};
pub use sandbox::{Gap, Launcher, Sandbox, Tier, init};
pub use surroundings::{Rights, Settings, Surroundings};
pub use sweep::{ProtectedChange, ProtectedChangeKind, Sweep};
