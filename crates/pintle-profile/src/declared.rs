//! What a profile declares, read as far as it can be: for showing hooks of a file that does not load.

use super::hook::default_name;
use super::json::parse;
use super::read::read_text;
use super::report::{ProfileError, ProfileErrors};
use super::{AGENT_FILE, ActionKind, Bucket, written_at};
use std::path::Path;

/// A hook as it is written, right or wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredHook {
    /// The moment, as written.
    pub bucket: String,
    /// The hook point it stands for, if there is such a moment.
    pub point: Option<&'static str>,
    /// The action, as written.
    pub action: Option<String>,
    /// Its name; if it has none, what it does and where it is written.
    pub name: String,
    /// Where it is written, like `agent.json:14`.
    pub source: String,
    /// Whether its action only observes.
    pub observes: bool,
    /// What is wrong with it; nothing, if it could be bound.
    pub errors: Vec<ProfileError>,
}

/// Every hook that the agent.json in `dir` declares, each with its share of `errors`. Empty when the file is not JSON.
#[must_use]
pub fn declared_hooks(
    dir: &Path,
    errors: &ProfileErrors,
    actions: &[ActionKind],
) -> Vec<DeclaredHook> {
    let Ok(source) = read_text(dir, AGENT_FILE) else { return Vec::new() };
    let Some(document) = parse(&source).document else { return Vec::new() };
    let mut found: Vec<DeclaredHook> = Vec::new();
    for bucket in document.table("hooks") {
        // A wrong moment is the fault of everything in it.
        let of_bucket: Vec<&ProfileError> =
            errors.of(AGENT_FILE).filter(|e| e.within(&bucket.key_span)).collect();
        for action in bucket.value.items() {
            let of_action = errors.of(AGENT_FILE).filter(|e| e.within(&action.span));
            let text = |key| action.str(key).map(str::to_owned);
            let (at, kind) = (written_at(&source, action), text("action"));
            let taken = |name: &str| found.iter().any(|h| h.bucket == bucket.key && h.name == name);
            let name = text("name")
                .unwrap_or_else(|| default_name(kind.as_deref().unwrap_or("hook"), &at, taken));
            found.push(DeclaredHook {
                bucket: bucket.key.clone(),
                point: Bucket::named(&bucket.key).map(|known| known.point),
                observes: actions.iter().any(|it| it.observes && Some(it.name) == kind.as_deref()),
                action: kind,
                name,
                source: at,
                errors: of_bucket.iter().copied().chain(of_action).cloned().collect(),
            });
        }
    }
    found
}
