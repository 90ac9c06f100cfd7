//! Zones: the rights that a call runs with (R11.2).

mod classify;
mod needs_network;

pub use classify::{Judged, Restricted, zone_of};

use serde::{Deserialize, Serialize};

/// A set of rights. The kernel holds a process in zones 0–3 to them, whatever its command line says (R11.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    /// Reads the workspace and the system, without secrets; writes its own temporary folder.
    Safe,
    /// Also writes the workspace, without its protected paths.
    Workspace,
    /// Also writes the caches that the operator lists.
    Build,
    /// Also reaches the hosts that the operator allows.
    Network,
    /// Acts on another server, where nothing here can hold it.
    External,
    /// Does what its user may do: no sandbox.
    Machine,
    /// Runs at no level.
    Never,
}

impl Zone {
    /// Every zone, from the fewest rights to the most.
    pub const ALL: [Self; 7] = [
        Self::Safe,
        Self::Workspace,
        Self::Build,
        Self::Network,
        Self::External,
        Self::Machine,
        Self::Never,
    ];

    /// Its name, as shown to people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Workspace => "workspace",
            Self::Build => "build",
            Self::Network => "network",
            Self::External => "external",
            Self::Machine => "machine",
            Self::Never => "never",
        }
    }

    /// Its number, 0 to 6.
    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The zone of that name, if a call may declare it: a command can act on no server of others, and nothing declares that it must
    /// never run.
    #[must_use]
    pub fn declared(name: &str) -> Option<Self> {
        let zones = [Self::Safe, Self::Workspace, Self::Build, Self::Network, Self::Machine];
        zones.into_iter().find(|zone| zone.name() == name)
    }
}
