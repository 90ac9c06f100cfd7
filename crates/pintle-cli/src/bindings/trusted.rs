//! Trust by content: a script runs only as somebody has seen it (R10.9).

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pintle::{DynEvent, DynHandler, Failure, FailureKind};
use pintle_policy::{
    Profile,
    trust::{Change, Fingerprint, TrustLock, read_script},
};
use serde_json::Value;

use crate::{environment::Environment, problem::Problem};

/// What was trusted of a profile, and how to see whether it still is so.
pub(crate) struct Trust {
    profile: Profile,
    definition: String,
    accepted: Option<Fingerprint>,
}

impl Trust {
    pub(crate) fn read(environment: &Environment, profile: &Profile) -> Result<Self, Problem> {
        let accepted = read_lock(environment)?.get(&key_of(profile)).cloned();
        let definition = pintle_policy::trust::content_hash(profile.source.as_bytes());
        Ok(Self { profile: profile.clone(), definition, accepted })
    }

    /// Looked at anew for every call: a script may change, or come to be, while the agent runs.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Some(accepted) = &self.accepted else {
            return Err("nobody has trusted this profile yet".into());
        };
        if accepted.definition != self.definition {
            return Err("agent.json changed since it was trusted".into());
        }
        let now = self.profile.scripts_now();
        if let Some(new) = now.iter().find(|script| !accepted.scripts.contains_key(*script)) {
            return Err(format!("`{new}` was not there when the profile was trusted"));
        }
        for script in accepted.scripts.keys() {
            match read_script(&self.profile.dir, script) {
                Ok(bytes) if accepted.trusts(script, &bytes) => {}
                Ok(_) => return Err(format!("`{script}` changed since it was trusted")),
                Err(error) => return Err(format!("`{script}` cannot be read: {error}")),
            }
        }
        Ok(())
    }

    /// What to do about it.
    pub(crate) fn way_out(&self) -> String {
        let dir = self.profile.dir.display();
        format!("look at it with `pintle trust {dir}`, then add `--accept`")
    }
}

/// A handler that runs only while its profile is as it was trusted.
pub(crate) struct Trusted<H> {
    trust: Arc<Trust>,
    handler: H,
}

impl<H> Trusted<H> {
    pub(crate) fn new(trust: Arc<Trust>, handler: H) -> Self {
        Self { trust, handler }
    }
}

impl<H: DynHandler> DynHandler for Trusted<H> {
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
        match self.trust.check() {
            Ok(()) => self.handler.call(event),
            Err(why) => {
                let message = format!("{why}; {}", self.trust.way_out());
                Box::pin(std::future::ready(Err(Failure::new(FailureKind::Untrusted, message))))
            }
        }
    }
}

/// What changed since the profile was trusted; everything, if it never was.
pub(crate) fn changes(
    environment: &Environment,
    profile: &Profile,
) -> Result<Vec<Change>, Problem> {
    let now = Fingerprint::of(profile).map_err(Problem::new)?;
    Ok(read_lock(environment)?.changes(&key_of(profile), &now))
}

/// Records the profile as it is now.
pub(crate) fn accept(environment: &Environment, profile: &Profile) -> Result<(), Problem> {
    // One at a time: two who trust two profiles at once must not undo each other.
    let turn = std::fs::File::create(environment.data_dir()?.join("trust.lock"))?;
    turn.lock()?;
    let mut lock = read_lock(environment)?;
    lock.trust(key_of(profile), Fingerprint::of(profile).map_err(Problem::new)?);
    let path = environment.data_dir()?.join(TRUST_FILE);
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, lock.to_text())?;
    Ok(std::fs::rename(fresh, path)?)
}

/// What was trusted, in the data folder.
pub(crate) const TRUST_FILE: &str = "trust.json";

fn read_lock(environment: &Environment) -> Result<TrustLock, Problem> {
    let path = environment.data_dir()?.join(TRUST_FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) => TrustLock::parse(&text).map_err(|error| {
            Problem::new(format!("{}: {error}", path.display()))
                .hint("remove the file to trust everything anew")
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(TrustLock::default()),
        Err(error) => Err(Problem::new(format!("{} cannot be read: {error}", path.display()))),
    }
}

fn key_of(profile: &Profile) -> String {
    let dir = std::fs::canonicalize(&profile.dir).unwrap_or_else(|_| profile.dir.clone());
    dir.display().to_string()
}
