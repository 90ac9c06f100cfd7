//! Pintle is a hook engine for AI agents: handlers see, steer and stop what an agent does, at named points.
//!
//! What sets it apart is that a guard can be relied on. How a point's handlers run, what they may answer and what
//! their failure does is fixed in the point's *type*; a gate whose handler crashes, hangs or talks nonsense
//! **blocks**; and every fire can be recorded, handler by handler.
//!
//! # Which model do I want?
//!
//! | I want to… | model | a handler returns | combined by | a handler that fails |
//! |---|---|---|---|---|
//! | know it happened | [`Void`] | nothing | all run concurrently, all are awaited | is recorded |
//! | amend it | [`Modifying`] | a patch, or `None` | the first value per key wins | contributes nothing |
//! | decide who handles it | [`Claiming`] | a claim, or `None` | the first claim ends the chain | is skipped |
//! | stop it | [`Gate`] | a [`Verdict`] | the first block ends the chain | **blocks** |
//!
//! Void, Modifying and Claiming handlers can be registered [`fail_closed`](Registrar::fail_closed): then their
//! failure is an error of the whole fire. Nothing can make a gate fail open.
//!
//! # A handler
//!
//! A handler is an async closure. Its argument says which point it is for; the method's name says which model,
//! and the two have to agree, or it does not compile.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use pintle::{Cx, Envelope, Event, Hooks, PluginFilter, Verdict, points::ToolPre};
//! use serde_json::json;
//!
//! let hooks = Hooks::new();
//! hooks.named("no-prod").tools(["write_*"]).register_gate(async |e: Event<ToolPre>| {
//!     match e.tool_input["path"].as_str() {
//!         Some(path) if path.starts_with("/srv/prod") => Verdict::block("production is off limits"),
//!         _ => Verdict::allow(),
//!     }
//! })?;
//!
//! let cx = Cx::new(Envelope { platform: "cli".into(), ..Envelope::default() }, PluginFilter::BuiltinsOnly);
//! let outcome = hooks
//!     .fire_gate(&cx, || ToolPre::default().tool_call_id("t1").tool_name("write_file").tool_input(json!({ "path": "/srv/prod/index.html" })).zone(1))
//!     .await;
//! assert_eq!(outcome.blocked().unwrap().reason, "production is off limits");
//! # Ok(())
//! # }
//! ```
//!
//! # Where to look
//!
//! - [`points`]: the catalogue of an agent's points. [`point!`] declares your own.
//! - [`Hooks`]: register, fire, list. [`Registrar`]: names, priorities, deadlines, tools.
//! - [`Cx`]: what a fire needs to know: its [`Envelope`], its [`PluginFilter`], a cancellation token.
//! - [`FireRecord`]: what happened, for a [`RecordSink`].
//! - [`similar`]: "did you mean", for names that a person wrote.
//! - [`DynHandler`], [`Hooks::fire_dyn`]: the by-name face, JSON in and out, for plugins and config.
//!
//! Deadlines need a tokio runtime with time enabled; without deadlines any executor will do. A handler runs in the
//! caller's task: it can be dropped whenever it awaits, but code that never awaits cannot be interrupted.

// The macros name this crate as `::pintle`, in here too.
extern crate self as pintle;

mod breaker;
mod calls;
mod catalogue;
mod cx;
mod dynamic;
mod envelope;
mod event;
mod failure;
mod fire;
mod future_pool;
mod guarded;
mod macros;
mod model;
mod plugin_filter;
mod point;
pub mod points;
mod record;
mod registry;
pub mod similar;

pub use catalogue::PointInfo;
pub use cx::Cx;
pub use dynamic::{DynEvent, DynFireError, DynHandler, DynOutcome, IntoDynHandler};
pub use envelope::{ENVELOPE_FIELDS, Envelope, now_ms};
pub use event::{Event, EventJson};
pub use failure::{Failure, FailureKind, FailurePolicy, FireError};
pub use model::{
    Advice, Advisory, Binding, Claimed, Claiming, Decision, Enforcement, Gate, GateOutcome,
    HandlerOutput, HandlerVerdict, IntoAnswer, IsBinding, IsClaiming, IsGate, IsModifying, IsVoid,
    Merged, Model, ModelKind, Modifying, Verdict, Void, kind_of,
};
pub use plugin_filter::PluginFilter;
pub use point::{Claim, Patch, Point, PointAboutTool};
pub use record::{FireRecord, HandlerOutcome, HandlerRecord, OnHandlerStart, RecordSink};
pub use registry::{
    HandlerInfo, Hooks, HooksBuilder, RegisterError, Registrar, Registration, RegistrationGuard,
    Source, Staged,
};

#[doc(hidden)]
pub mod __private {
    pub use crate::{
        macros::{OptionalText, WireNames, is_value},
        point::{PointIndex, PointStorage},
    };
    pub use schemars;
    pub use serde;
}
