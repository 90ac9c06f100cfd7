//! The actions of agent.json: what is scrubbed, what is trusted, and how an action is added.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod random;
mod scrubbing;
mod trust;

use pintle_actions::{BUILT_IN, in_profiles};
use pintle_profile::{Bounds, Profile, ProfileErrors};
use std::path::Path;

fn load(dir: &Path) -> Result<Profile, ProfileErrors> {
    load_within(dir, Bounds::default())
}

fn load_within(dir: &Path, bounds: Bounds<'_>) -> Result<Profile, ProfileErrors> {
    Profile::load(dir, Bounds { actions: &in_profiles(&BUILT_IN), ..bounds })
}
