//! How a process is held.

use std::path::Path;

use crate::{Held, Report, Sweep, Tier, find_refusals};

/// How a process is held. Code that starts a process must say which.
#[derive(Debug, Clone)]
pub enum Confinement {
    /// The kernel holds it to a policy.
    Held(Held),
    /// Without a sandbox.
    Unconfined(Unconfined),
}

impl Confinement {
    /// The tier that holds it.
    #[must_use]
    pub fn tier(&self) -> Tier {
        match self {
            Self::Held(held) => held.tier(),
            Self::Unconfined(_) => Tier::None,
        }
    }

    /// What was refused to a process that failed, as the end of a sentence about it. `output` is what it printed; `folder` is where
    /// it ran.
    #[must_use]
    pub fn refused_in_words(&self, folder: &Path, output: &str, report: &Report) -> Option<String> {
        let Self::Held(held) = self else { return None };
        let refused = find_refusals(held, folder, output, report);
        let refused: Vec<String> = refused.iter().map(ToString::to_string).collect();
        (!refused.is_empty()).then(|| format!("did not let it {}", refused.join(", or ")))
    }

    /// For one call of a process that [serves many](crate::Process::serves_calls): looks at protected paths where the kernel does
    /// not hold them.
    #[must_use]
    pub fn sweep_of_a_call(&self) -> Option<Sweep> {
        match self {
            Self::Held(held) if !held.tier().has_namespaces() => Some(Sweep::before(held)),
            Self::Held(_) | Self::Unconfined(_) => None,
        }
    }
}

/// Who decided that this process runs without a sandbox.
///
/// It has no default, so that every process without a sandbox has a decision behind it that a record can name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unconfined {
    decided_by: String,
}

impl Unconfined {
    /// Decided by a person or a part of the program, in words for a record.
    pub fn by(who: impl Into<String>) -> Self {
        Self { decided_by: who.into() }
    }

    /// Who decided it.
    pub fn decided_by(&self) -> &str {
        &self.decided_by
    }
}

impl From<Held> for Confinement {
    fn from(held: Held) -> Self {
        Self::Held(held)
    }
}

impl From<Unconfined> for Confinement {
    fn from(unconfined: Unconfined) -> Self {
        Self::Unconfined(unconfined)
    }
}
