//! agent.json and pintle.toml: what is read, what is reported.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use pintle_actions::{BUILT_IN, in_profiles};
use pintle_profile::{Bounds, Profile, ProfileErrors};
use std::fmt::Debug;
use std::path::Path;

mod broken_by_schema;
mod broken_profiles;
mod broken_settings;
mod broken_surroundings;
mod hostile_profiles;
mod json;
mod newcomers;
mod newcomers_from_elsewhere;
mod operator;
mod profile;
mod random;
mod surprises;
mod terminal_escape;
mod webhooks;

fn load(dir: impl AsRef<Path>) -> Result<Profile, ProfileErrors> {
    load_within(dir.as_ref(), Bounds::default())
}

/// With the actions that every profile can use.
fn load_within(dir: &Path, bounds: Bounds<'_>) -> Result<Profile, ProfileErrors> {
    Profile::load(dir, Bounds { actions: &in_profiles(&BUILT_IN), ..bounds })
}

fn agent_schema() -> serde_json::Value {
    pintle_profile::agent_schema(&in_profiles(&BUILT_IN))
}

/// What is said of each file, on one page: as it is drawn, without the empty margin above and below each line of the file.
/// The smaller snapshots have the whole drawing.
fn page<T: Debug>(
    cases: impl IntoIterator<Item = (impl AsRef<str>, Result<T, ProfileErrors>)>,
) -> String {
    let mut page = String::new();
    for (name, loaded) in cases {
        let name = name.as_ref();
        let errors = loaded.expect_err(name);
        for error in errors.errors() {
            assert!(!error.helps.is_empty(), "{name}: no way out: {}", error.message);
        }
        let drawn = errors.render(false);
        let (drawn, end) = drawn.rsplit_once("\n\n").unwrap();
        let count = end.strip_suffix(": the profile was not loaded").unwrap_or(end);
        let lines: Vec<&str> = drawn.lines().filter(|line| line.trim() != "|").collect();
        page += &format!("== {name}: {count}\n{}\n\n", lines.join("\n"));
    }
    page
}
