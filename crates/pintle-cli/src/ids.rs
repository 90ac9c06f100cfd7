//! Ids as people see and type them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use pintle_agent::store::{IdKind, Store};

use crate::problem::Problem;

/// Fewer characters of a full id could match by chance.
const SHORTEST: usize = 8;

/// The short ids that this process has asked for, for screens that cannot wait.
static SEEN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// The short id of this one.
pub(crate) async fn short(store: &dyn Store, kind: IdKind, id: &str) -> Result<String, Problem> {
    let short = store.short_id(kind, id).await?;
    SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), short.clone());
    Ok(short)
}

/// Asks for the short id that [`seen`] will show. An error is ignored.
pub(crate) async fn learn(store: &dyn Store, kind: IdKind, id: &str) {
    let _ = short(store, kind, id).await;
}

/// The same, without waiting. An id that was not asked for is shown by its end, which commands accept too: ids made in the same
/// minute begin alike.
pub(crate) fn seen(id: &str) -> String {
    let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let end = || id.get(id.len().saturating_sub(SHORTEST)..).unwrap_or(id).to_owned();
    seen.get(id).cloned().unwrap_or_else(end)
}

/// The full id for a typed one: a short id, a full id, or the start or end of a full id.
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
