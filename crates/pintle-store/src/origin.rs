//! What a run was made of.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What the run that asked was made of. Whoever goes on with it makes the same again: the same call in another folder,
/// or without the profile's guards, is not the call that was judged (P3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The profile's folder, from the root; `None` for an agent without a profile.
    pub profile: Option<PathBuf>,
    /// The folder the agent works in, from the root.
    pub workspace: PathBuf,
    /// What wrote its text, as it is said to open it again.
    pub model: String,
    /// Who the agent was.
    pub personality: String,
    /// Where it was said.
    pub platform: String,
    /// The level that decided what is asked. A later one may be stricter, never looser.
    pub level: String,
}
