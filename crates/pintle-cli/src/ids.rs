//! Ids as people see and type them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use pintle_agent::store::{IdKind, Store};

use crate::problem::Problem;

/// Fewer characters of a full id fit something by chance.
const SHORTEST: usize = 8;

/// The short ids that this process has asked for, for screens that cannot wait.
static SEEN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// The id that stands for this one on the screen.
pub(crate) async fn short(store: &dyn Store, kind: IdKind, id: &str) -> Result<String, Problem> {
    let short = store.short_id(kind, id).await?;
    SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), short.clone());
    Ok(short)
}

/// Asks for the short id that [`seen`] will show. One that is not given is no reason to stop.
pub(crate) async fn learn(store: &dyn Store, kind: IdKind, id: &str) {
    let _ = short(store, kind, id).await;
}

/// The same where nothing can be waited for. An id that was never asked for is shown by its end, which is understood too:
/// ids made in the same minute begin alike.
pub(crate) fn seen(id: &str) -> String {
    let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let end = || id.get(id.len().saturating_sub(SHORTEST)..).unwrap_or(id).to_owned();
    seen.get(id).cloned().unwrap_or_else(end)
}

/// The full id of what a person has typed: a short id, a full one, or the start or end of a full one.
///
/// # Errors
/// When nothing has that id, several have it, or it belongs to something else.
pub(crate) async fn find(
    store: &dyn Store,
    kind: IdKind,
    typed: &str,
    all: impl IntoIterator<Item = String>,
) -> Result<String, Problem> {
    let what = kind.name();
    let list = match kind {
        IdKind::Run => "pintle runs",
        IdKind::Session => "pintle sessions",
        IdKind::Approval => "pintle approvals list --all",
    };
    let none =
        || Problem::not_found(format!("no {what} `{typed}`")).fix(format!("{list} lists them"));
    match store.by_short_id(typed).await? {
        Some((found, id)) if found == kind => return Ok(id),
        Some((other, _)) => {
            return Err(Problem::not_found(format!(
                "`{typed}` is {}, not {}",
                article(other),
                article(kind)
            ))
            .fix(format!("{list} lists them")));
        }
        None => {}
    }
    let fits = |id: &String| {
        id == typed || typed.len() >= SHORTEST && (id.starts_with(typed) || id.ends_with(typed))
    };
    let mut found = all.into_iter().filter(fits);
    match (found.next(), found.count()) {
        (Some(id), 0) => Ok(id),
        (Some(_), more) => {
            Err(Problem::not_found(format!("`{typed}` matches {} {what}s", more + 1))
                .fix(format!("use the short id from {list}")))
        }
        (None, _) => Err(none()),
    }
}

fn article(kind: IdKind) -> String {
    match kind {
        IdKind::Approval => "an approval".to_owned(),
        other => format!("a {}", other.name()),
    }
}
