//! Trust by content: a script runs only as somebody has seen it (R10.9).

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::BoxFuture;
use pintle::{DynEvent, DynHandler, Failure, FailureKind};
use pintle_policy::{
    Contents, Profile,
    profile::AGENT_FILE,
    trust::{Change, ChangeKind, Fingerprint, Stamps, TrustLock},
};
use serde_json::Value;

use crate::{environment::Environment, problem::Problem, shown::typed};

/// What was trusted of a profile, and how to see whether it still is so.
pub(crate) struct Trust {
    profile: Profile,
    accepted: Option<Fingerprint>,
    contents: Mutex<Contents>,
}

impl Trust {
    pub(crate) fn read(environment: &Environment, profile: &Profile) -> Result<Self, Problem> {
        let accepted = read_lock(environment)?.get(&key_of(profile)).cloned();
        Ok(Self { profile: profile.clone(), accepted, contents: Mutex::default() })
    }

    /// Looked at anew for every call: a script may change, or come to be, while the agent runs.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.look().map(drop)
    }

    /// The same, to be held against what is there when the program has run.
    pub(crate) fn look(&self) -> Result<Stamps, String> {
        let Some(accepted) = &self.accepted else {
            return Err("nobody has trusted this profile yet".into());
        };
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = Fingerprint::with_stamps(&self.profile, &mut contents);
        let (now, stamps) = seen.map_err(|e| e.to_string())?;
        let Some(change) = accepted.diff(&now).into_iter().next() else { return Ok(stamps) };
        let what = match change.kind {
            ChangeKind::Added => "was not there when the profile was trusted",
            ChangeKind::Changed => "changed since it was trusted",
            ChangeKind::Removed => "is gone since it was trusted",
        };
        let scripts = &self.profile.scripts;
        let advice = change.advice().or_else(|| scripts.advice(&change.what));
        let why_any = || scripts.why_any().filter(|_| change.what != AGENT_FILE);
        let why = advice.or_else(why_any).map(|why| format!(" ({why})")).unwrap_or_default();
        Err(format!("`{}` {what}{why}", change.what))
    }

    /// Whether nothing was touched since that look. The system starts a program by its name: what was looked at and what was
    /// run are the same only if the file stayed where it was. What has run cannot be undone; it need not be believed.
    pub(crate) fn still(&self, seen: &Stamps) -> Result<(), String> {
        let now = self.look()?;
        if let Some(file) = seen.moved(&now) {
            return Err(format!(
                "`{file}` was touched while it ran, so its answer is not believed"
            ));
        }
        match seen.stirred(&now) {
            Some(folder) => {
                let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                Err(format!(
                    "a file came and went in `{}` while it ran, so its answer is not believed",
                    folder.display()
                ))
            }
            None => Ok(()),
        }
    }

    fn failure(&self, why: &str) -> Failure {
        Failure::new(FailureKind::Untrusted, format!("{why}; {}", self.way_out()))
    }

    /// What to do about it.
    pub(crate) fn way_out(&self) -> String {
        let dir = typed(&self.profile.dir);
        format!("look at it with `pintle trust {dir}`, then add `--accept`")
    }
}

/// What programs of this profile are told, so that they leave its folder as it was trusted: Python would keep compiled
/// files beside its modules, which nobody has looked at.
pub(crate) fn leave_no_traces(profile: &Profile) -> Option<(&'static str, &'static str)> {
    let python = profile.scripts.files.iter().any(|file| file.ends_with(".py"));
    python.then_some(("PYTHONDONTWRITEBYTECODE", "1"))
}

/// A handler that runs only while its profile is as it was trusted, and is believed only if it stayed so.
pub(crate) struct Trusted<H> {
    trust: Arc<Trust>,
    handler: H,
    /// Of a process that goes on running: what was there when it was first asked. A file that was put back since would not say
    /// what the process was started from.
    first: Option<OnceLock<Stamps>>,
}

impl<H> Trusted<H> {
    pub(crate) fn new(trust: Arc<Trust>, handler: H) -> Self {
        Self { trust, handler, first: None }
    }

    pub(crate) fn lasting(trust: Arc<Trust>, handler: H) -> Self {
        Self { trust, handler, first: Some(OnceLock::new()) }
    }

    fn look(&self) -> Result<Stamps, String> {
        let now = self.trust.look()?;
        let Some(first) = &self.first else { return Ok(now) };
        let first = first.get_or_init(|| now.clone());
        match first.moved(&now) {
            Some(file) => {
                Err(format!("`{file}` was touched since the worker started: start pintle again"))
            }
            None => Ok(now),
        }
    }
}

impl<H: DynHandler> DynHandler for Trusted<H> {
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
        let seen = match self.look() {
            Ok(seen) => seen,
            Err(why) => return Box::pin(std::future::ready(Err(self.trust.failure(&why)))),
        };
        let (running, trust) = (self.handler.call(event), self.trust.clone());
        Box::pin(async move {
            let answer = running.await;
            trust.still(&seen).map_err(|why| trust.failure(&why))?;
            answer
        })
    }
}

/// What changed since the profile was trusted; everything, if it never was.
pub(crate) fn changes(
    environment: &Environment,
    profile: &Profile,
) -> Result<Vec<Change>, Problem> {
    let now = Fingerprint::of(profile, &mut Contents::default()).map_err(Problem::new)?;
    Ok(read_lock(environment)?.changes(&key_of(profile), &now))
}

/// Records the profile as it is now.
pub(crate) fn accept(environment: &Environment, profile: &Profile) -> Result<(), Problem> {
    // One at a time: two who trust two profiles at once must not undo each other.
    let turn = std::fs::File::create(environment.data_dir()?.join("trust.lock"))?;
    turn.lock()?;
    let mut lock = read_lock(environment)?;
    let now = Fingerprint::of(profile, &mut Contents::default()).map_err(Problem::new)?;
    lock.trust(key_of(profile), now);
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
