//! agent.json and pintle.toml: what is read, what is reported, what is trusted, what is scrubbed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod broken_by_schema;
mod broken_profiles;
mod broken_settings;
mod broken_surroundings;
mod hostile_profiles;
mod newcomers;
mod newcomers_from_elsewhere;
mod operator;
mod profile;
mod scrubbing;
mod surprises;
mod terminal_escape;
mod trust;
mod webhooks;
