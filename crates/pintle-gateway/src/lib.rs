//! The agent in chats: channels, lanes, approvals from anywhere, and the HTTP API.
//!
//! A [`Gateway`] takes messages from [`Channel`](pintle_agent::Channel)s, runs them in the order of their chat and sends the
//! replies. Every accepted message is stored in [`Queues`](pintle_agent::store::Queues) first, so a crash loses none.
//!
//! `inbound.rs` handles incoming messages, `lanes.rs` their runs, `outbound.rs` outgoing messages.

#![forbid(unsafe_code)]

pub mod api;
mod approvals;
pub mod channels;
mod clock;
mod commands;
mod events;
mod figures;
mod gateway;
mod inbound;
mod lanes;
mod outbound;
mod page;
mod points;
mod questions;
mod safety;

pub use approvals::{GatewayApprover, RuleBook};
pub use clock::random_token;
pub use events::{EventHub, HookStats, LiveEvent};
pub use gateway::{Gateway, GatewayBuilder, GatewayConfig, Renewal};
pub use points::{MessageScreening, Refused};
pub use questions::{InWords, LineKind, QuestionLine, QuestionText};
pub use safety::{ChannelSafety, PAIRING_LIFETIME, SafetyRules, new_pairing_code};
