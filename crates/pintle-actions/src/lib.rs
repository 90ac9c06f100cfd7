//! The actions of agent.json (R10.2). Each is one file: its fields and their docs, the rules about them, and its binding to
//! the engine. None of them can rewrite what a tool is about to do (R10.3).
//!
//! To add one, write a file with a type that implements [`Action`], and add a line to [`BUILT_IN`]. An embedder does the same
//! without a change here: a list of its own goes to [`Profile::load`](pintle_profile::Profile::load) and to [`bind`].

mod action;
mod approve;
mod bind;
mod command;
mod log;
mod save_json;
mod scrub;
mod state;
pub mod trust;
mod undelivered;
mod webhook;

pub use action::{Action, Kind, does, in_profiles, kind};
pub use bind::{BindError, Binding, Bound, Confine, Host, LogSink, StandIn, Webhooks, bind};
pub use command::NO_BYTECODE;
pub use log::LogLevel;
pub use scrub::{SCRUBBED, SHORTEST_SECRET, Scrubber};
pub use undelivered::undelivered_webhooks;

/// The actions that every profile can use.
pub const BUILT_IN: [Kind; 5] = [
    kind::<log::Log>(),
    kind::<webhook::Webhook>(),
    kind::<save_json::SaveJson>(),
    kind::<approve::Approve>(),
    kind::<command::Command>(),
];
