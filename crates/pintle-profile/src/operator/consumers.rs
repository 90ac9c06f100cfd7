//! `[consumers]` in pintle.toml: the built-in consumers, which are on unless the operator switches them off.

use schemars::JsonSchema;
use serde::Deserialize;

/// The built-in consumers: which are off, and how the others work.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConsumerSettings {
    /// The consumers that are switched off. The others are on.
    pub off: Vec<Consumer>,
}

impl ConsumerSettings {
    /// Whether this consumer is on.
    #[must_use]
    pub fn is_on(&self, consumer: Consumer) -> bool {
        !self.off.contains(&consumer)
    }
}

/// A built-in consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Consumer {
    /// Denies destructive commands, and asks about those that reach others.
    TerminalGuard,
    /// Screens who may write to the agent over a channel, and sends nothing twice.
    ChannelSafety,
    /// Checks the criteria of a ticket before it is done.
    TicketVerifier,
}

impl Consumer {
    /// Its name in pintle.toml.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TerminalGuard => "terminal_guard",
            Self::ChannelSafety => "channel_safety",
            Self::TicketVerifier => "ticket_verifier",
        }
    }
}
