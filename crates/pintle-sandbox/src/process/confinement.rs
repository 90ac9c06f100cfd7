//! How a process is held.

use crate::{Held, Tier};

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
