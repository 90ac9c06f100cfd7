//! How far a tool call can reach.

use serde::{Deserialize, Serialize};

/// How far a call can reach, from harmless to unthinkable (R11.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    /// Reads inside the workspace.
    Safe,
    /// Writes inside the workspace.
    Workspace,
    /// Runs commands.
    Build,
    /// Talks to the network.
    Network,
    /// Acts on someone else's system.
    External,
    /// Reaches the machine outside the workspace.
    Machine,
    /// Runs at no level, whoever asks.
    Never,
}

impl Zone {
    /// Every zone, from harmless to unthinkable.
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

    /// Where a tool starts before its input is looked at (R11.3). Tools not known here act elsewhere: external.
    #[must_use]
    pub fn of_tool(tool: &str) -> Self {
        match tool {
            // What a sub-agent does is judged call by call.
            "read_file" | "list_dir" | "delegate" | "ticket_list" => Self::Safe,
            "write_file" | "edit_file" | "ticket_create" | "ticket_take" | "ticket_complete" => {
                Self::Workspace
            }
            "terminal" => Self::Build,
            _ => Self::External,
        }
    }
}
