//! `[consumers]` in pintle.toml: the built-in consumers, which are on unless the operator switches them off.

use schemars::JsonSchema;
use serde::Deserialize;

/// The built-in consumers: which are off, and how the others work.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConsumerSettings {
    /// The consumers that are switched off. The others are on.
    pub off: Vec<Consumer>,
    /// How text from outside is looked at.
    pub injection_safety: InjectionSafetySettings,
    /// What ends a run that goes in circles.
    pub loop_budget: LoopBudgetSettings,
    /// Which runs wait to be looked at.
    pub skill_queue: SkillQueueSettings,
}

/// How text from outside is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InjectionSafetySettings {
    /// A model that looks at text from outside after the rules, as `--model` names it. Without one the rules are all.
    pub classifier: Option<String>,
    /// How long the classifier may take, in seconds. A text that it does not judge in time is suspicious. Default: 20.
    #[schemars(range(min = 1))]
    pub timeout_seconds: u64,
}

impl Default for InjectionSafetySettings {
    fn default() -> Self {
        Self { classifier: None, timeout_seconds: 20 }
    }
}

/// What ends a run that goes in circles.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoopBudgetSettings {
    /// The most tool calls of a run. Default: 500.
    #[schemars(range(min = 1))]
    pub calls: u32,
    /// How many calls in a row may be the same, tool and arguments. Default: 10.
    #[schemars(range(min = 1))]
    pub identical_calls: u32,
}

impl Default for LoopBudgetSettings {
    fn default() -> Self {
        Self { calls: 500, identical_calls: 10 }
    }
}

/// Which runs wait to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SkillQueueSettings {
    /// The fewest tool calls that succeeded in a run worth a look. Default: 5.
    #[schemars(range(min = 1))]
    pub min_tool_calls: u32,
    /// How long a personality queues no other run, in minutes. Default: 60.
    pub cool_down_minutes: u64,
    /// The most runs that wait; the oldest makes room. Default: 50.
    #[schemars(range(min = 1))]
    pub max_pending: usize,
}

impl Default for SkillQueueSettings {
    fn default() -> Self {
        Self { min_tool_calls: 5, cool_down_minutes: 60, max_pending: 50 }
    }
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
    /// Looks at text from outside, and asks before what it may have led to.
    InjectionSafety,
    /// Screens who may write to the agent over a channel, and sends nothing twice.
    ChannelSafety,
    /// Checks the criteria of a ticket before it is done.
    TicketVerifier,
    /// Offers the AGENTS.md near the files that the agent visits.
    ContextFiles,
    /// Queues runs that did real work, to be looked at.
    SkillQueue,
    /// Ends a run that goes in circles.
    LoopBudget,
    /// Records every run, for `pintle runs`, `trace`, `stats` and `replay`.
    Observability,
}

impl Consumer {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::TerminalGuard,
        Self::InjectionSafety,
        Self::ChannelSafety,
        Self::TicketVerifier,
        Self::ContextFiles,
        Self::SkillQueue,
        Self::LoopBudget,
        Self::Observability,
    ];

    /// Its name in pintle.toml.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TerminalGuard => "terminal_guard",
            Self::InjectionSafety => "injection_safety",
            Self::ChannelSafety => "channel_safety",
            Self::TicketVerifier => "ticket_verifier",
            Self::ContextFiles => "context_files",
            Self::SkillQueue => "skill_queue",
            Self::LoopBudget => "loop_budget",
            Self::Observability => "observability",
        }
    }
}
