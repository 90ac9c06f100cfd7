//! Hooks that live outside the process, as ordinary handlers on Pintle's points.
//!
//! | I want to… | use | costs |
//! |---|---|---|
//! | gate an agent with a script in any language | [`CommandHook`] | a process per event |
//! | the same, many times a second | [`Worker`] | a process once, a line per event |
//! | tell somebody elsewhere | [`WebhookQueue`] | nothing the run can feel |
//!
//! None of them can hurt the host: each runs under a deadline, without the host's terminal, and its output is read up to a
//! fixed cap ([`OUTPUT_CAP`]). None of them fails open at a gate: a hook that cannot be started, understood or waited for is
//! a [`Failure`](pintle::Failure), and a failure blocks there.
//!
//! Processes are started and ended by [`pintle_sandbox::Process`], which takes everything along that a hook started; its
//! documentation lists the limits of that. How a hook is confined is [`CommandSpec::confinement`].
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use pintle::{Cx, Envelope, Hooks, ModelKind, PluginFilter, points::ToolPre};
//! use pintle_exec::{CommandHook, CommandSpec, Unconfined};
//! use serde_json::json;
//!
//! let line = "echo 'not on a Friday' >&2; exit 1";
//! let hook = CommandHook::new(CommandSpec::shell("/", line, Unconfined::by("this example")));
//! let hooks = Hooks::new();
//! hooks.named("fridays").deadline(hook.deadline()).register_dyn("tool.pre", ModelKind::Gate, hook)?;
//!
//! let cx = Cx::new(Envelope::default(), PluginFilter::BuiltinsOnly);
//! let outcome = hooks
//!     .fire_gate(&cx, || ToolPre::default().tool_call_id("t1").tool_name("terminal").tool_input(json!({ "command": "make deploy" })).zone(2))
//!     .await;
//! assert_eq!(outcome.blocked().unwrap().reason, "not on a Friday");
//! # Ok(())
//! # }
//! ```

mod answer;
mod capture;
mod command;
mod context;
mod spawn;
mod spec;
mod strict_json;
mod webhook;
mod worker;

pub use answer::parse_answer;
pub use capture::{FLOOD_LIMIT, OUTPUT_CAP};
pub use command::CommandHook;
pub use pintle_sandbox::{Confinement, TERM_GRACE, Unconfined};
pub use spec::{BeforeStart, CommandSpec, Program, Scrub, default_environment};
pub use webhook::{
    EndpointStats, KeptWebhooks, Lookup, Posts, Webhook, WebhookError, WebhookOptions,
    WebhookQueue, WebhookSecret, WebhookSpec, event_body, kept_webhooks, webhook_url,
};
pub use worker::{Worker, WorkerSpec};
