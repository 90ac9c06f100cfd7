//! Hooks that live outside the process, as ordinary handlers on Pintle's points.
//!
//! | I want to… | use | costs |
//! |---|---|---|
//! | gate an agent with a script in any language | [`CommandHook`] | a process per event |
//! | the same, many times a second | [`Worker`] | a process once, a line per event |
//! | tell somebody elsewhere | [`WebhookQueue`] | nothing the run can feel |
//!
//! None of them can hurt the host: each runs under a deadline, without the host's terminal, in a process group of its
//! own that is ended as a whole, and what it writes is read up to a fixed cap ([`OUTPUT_CAP`]). None of them fails open at a gate: what
//! cannot be started, understood or waited for is a [`Failure`](pintle::Failure), and a failure blocks there.
//!
//! Linux 5.4 or newer, as any user, also in a container. There, run the host under an init (`docker run --init`): as process 1
//! it would be handed the remains of what its hooks leave behind. A host must not ignore `SIGCHLD`, or the system does not tell
//! how a hook ended, and every one of them fails. On other Unix systems a daemon that leaves its group is not found.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use pintle::{Cx, Envelope, Hooks, ModelKind, PluginGate, points::ToolPre};
//! use pintle_exec::{CommandHook, CommandSpec};
//! use serde_json::json;
//!
//! let hook = CommandHook::new(CommandSpec::shell("/", "echo 'not on a Friday' >&2; exit 1"));
//! let hooks = Hooks::new();
//! hooks.named("fridays").deadline(hook.deadline()).register_dyn("tool.pre", ModelKind::Gate, hook)?;
//!
//! let cx = Cx::new(Envelope::default(), PluginGate::BuiltinsOnly);
//! let outcome = hooks
//!     .fire_gate(&cx, || ToolPre {
//!         tool_call_id: "t1".into(),
//!         tool_name: "terminal".into(),
//!         tool_input: json!({ "command": "make deploy" }),
//!         zone: 2,
//!     })
//!     .await;
//! assert_eq!(outcome.blocked().unwrap().reason, "not on a Friday");
//! # Ok(())
//! # }
//! ```

mod answer;
mod capture;
mod command;
mod context;
mod leash;
mod mark;
mod spawn;
mod spec;
mod start;
mod strays;
mod strict_json;
mod watchdog;
mod webhook;
mod worker;

pub use answer::parse_answer;
pub use capture::{FLOOD_LIMIT, OUTPUT_CAP};
pub use command::CommandHook;
pub use leash::TERM_GRACE;
pub use spec::{CommandSpec, Program, Scrub, default_environment};
pub use webhook::{
    EndpointStats, KeptWebhooks, Lookup, Webhook, WebhookError, WebhookOptions, WebhookQueue,
    WebhookSecret, WebhookSpec, kept_webhooks,
};
pub use worker::{Worker, WorkerSpec};
