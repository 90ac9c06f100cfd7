//! How many records of runs are kept.

use schemars::JsonSchema;
use serde::Deserialize;

/// `[records]` in pintle.toml.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecordSettings {
    /// How many days the record of a run is kept. Conversations stay.
    #[schemars(range(min = 1))]
    pub keep_days: u64,
    /// The most that the records of all runs take, in MiB; the oldest go first.
    #[schemars(range(min = 1))]
    pub max_mb: u64,
}

impl Default for RecordSettings {
    fn default() -> Self {
        Self { keep_days: 90, max_mb: 512 }
    }
}
