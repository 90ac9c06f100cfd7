//! Webhooks that could not be delivered and are kept on disk: where, and for whom.

use std::{
    io,
    path::{Path, PathBuf},
};

use pintle_exec::{KeptWebhooks, WebhookSpec, kept_webhooks};
use pintle_profile::Profile;

pub(crate) fn folder(data: &Path) -> PathBuf {
    data.join("webhooks")
}

/// By its folder: a profile's name can change while one talks.
pub(crate) fn owner(profile: &Profile) -> String {
    profile.dir.canonicalize().as_ref().unwrap_or(&profile.dir).display().to_string()
}

/// All that wait in this data folder, of whatever profile.
///
/// # Errors
/// When the folder they are kept in cannot be read.
pub fn undelivered_webhooks(data: &Path) -> io::Result<Vec<KeptWebhooks>> {
    kept_webhooks(&folder(data))
}

/// What this profile left for endpoints it names no more: nothing will send it.
pub(crate) fn unclaimed(data: &Path, profile: &Profile) -> io::Result<Vec<KeptWebhooks>> {
    let owner = owner(profile);
    let urls: Vec<&str> = profile
        .hooks
        .iter()
        .filter_map(|hook| Some(hook.uses.url.as_ref()?.value.as_str()))
        .collect();
    let names = |url: &str| urls.iter().any(|named| WebhookSpec::new(*named, "").goes_to(url));
    let mut kept = undelivered_webhooks(data)?;
    kept.retain(|kept| kept.owner == owner && !kept.held && !names(&kept.url));
    Ok(kept)
}
