//! Webhooks that are kept on disk: where, and for whom.

use std::path::PathBuf;

use pintle_exec::{KeptWebhooks, WebhookSpec, kept_webhooks};
use pintle_profile::{Action, Profile};

use crate::{environment::Environment, problem::Problem};

pub(super) fn folder(environment: &Environment) -> Result<PathBuf, Problem> {
    Ok(environment.data_dir()?.join("webhooks"))
}

/// By its folder: a profile's name can change while one talks.
pub(super) fn owner(profile: &Profile) -> String {
    profile.dir.canonicalize().as_ref().unwrap_or(&profile.dir).display().to_string()
}

/// All that wait, of whatever profile.
pub(crate) fn waiting(environment: &Environment) -> Result<Vec<KeptWebhooks>, Problem> {
    let folder = folder(environment)?;
    kept_webhooks(&folder).map_err(|error| {
        Problem::new(format!("what is kept in {} cannot be read: {error}", folder.display()))
    })
}

/// What this profile left for endpoints it names no more: nobody will send it.
pub(super) fn unclaimed(
    environment: &Environment,
    profile: &Profile,
) -> Result<Vec<KeptWebhooks>, Problem> {
    let owner = owner(profile);
    let names = |url: &str| {
        profile.hooks.iter().any(|hook| match &hook.action {
            Action::Webhook { url: named, .. } => WebhookSpec::new(named, "").goes_to(url),
            _ => false,
        })
    };
    let mut kept = waiting(environment)?;
    kept.retain(|kept| kept.owner == owner && !kept.held && !names(&kept.url));
    Ok(kept)
}
