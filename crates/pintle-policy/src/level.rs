//! How much an agent may do without being asked about.

use crate::Zone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of a call in a given zone before any person or hook is involved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Floor {
    /// Runs by itself.
    Run,
    /// Runs when a person says yes.
    Ask,
    /// Does not run.
    Never,
}

/// How strict the floor is (R11.3). A later one is never looser than an earlier one.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Zones 0–3 run, 4–5 ask.
    Permissive,
    /// Zones 0–2 run, 3–5 ask.
    #[default]
    Standard,
    /// Zone 0 runs, 1–4 ask.
    Strict,
    /// Zone 0 runs, 1–2 ask.
    Paranoid,
}

impl Level {
    /// Every level, loosest first.
    pub const ALL: [Self; 4] = [Self::Permissive, Self::Standard, Self::Strict, Self::Paranoid];

    /// The level of that name, as written in agent.json.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Its name, as written in agent.json.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Permissive => "permissive",
            Self::Standard => "standard",
            Self::Strict => "strict",
            Self::Paranoid => "paranoid",
        }
    }

    /// What this level makes of a zone. [`Zone::Never`] never runs, whatever the level.
    #[must_use]
    pub fn floor(self, zone: Zone) -> Floor {
        let (runs, asks) = match self {
            Self::Permissive => (Zone::Network, Zone::Machine),
            Self::Standard => (Zone::Build, Zone::Machine),
            Self::Strict => (Zone::Safe, Zone::External),
            Self::Paranoid => (Zone::Safe, Zone::Build),
        };
        if zone <= runs {
            Floor::Run
        } else if zone <= asks {
            Floor::Ask
        } else {
            Floor::Never
        }
    }
}
