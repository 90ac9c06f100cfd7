//! `pintle sessions`: look at conversations.

use std::process::ExitCode;

use pintle_agent::{Message, Session, Store, StoredMessage};
use pintle_policy::nearest;
use pintle_store::SqliteStore;
use serde_json::json;

use crate::{
    args::{Sessions, SessionsCommand},
    environment::Environment,
    out::{say, say_json, say_pretty_json},
    problem::Problem,
    shown::{bold, cyan, dim, paragraph, red, text},
};

/// How far in the text of a message stands.
const INDENT: usize = 7;

pub(crate) async fn run(
    environment: &Environment,
    sessions: Sessions,
) -> Result<ExitCode, Problem> {
    let store = SqliteStore::open(environment.database()?).await?;
    match sessions.command {
        SessionsCommand::List => list(environment, &store).await?,
        SessionsCommand::Show { session } => show(environment, &store, &session).await?,
        SessionsCommand::Export { session } => export(&store, &session).await?,
        SessionsCommand::Delete { session } => delete(environment, &store, &session).await?,
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn list(environment: &Environment, store: &SqliteStore) -> Result<(), Problem> {
    let sessions = store.sessions().await?;
    if environment.json {
        return say_pretty_json(&sessions);
    }
    if sessions.is_empty() {
        say!("no conversations yet; `pintle chat` begins one");
    }
    for Session { id, key, message_count, updated_at, personality, .. } in sessions {
        let who = personality.unwrap_or_default();
        let (id, who, when) = (cyan(id), dim(who), when(updated_at));
        say!("{}  {:<24} {:>4} messages  {}  {}", id, key, message_count, when, who);
    }
    Ok(())
}

async fn show(environment: &Environment, store: &SqliteStore, named: &str) -> Result<(), Problem> {
    let session = find(store, named).await?;
    if environment.json {
        return export(store, named).await;
    }
    let begun = text!("{} · begun {}", session.id, when(session.created_at));
    say!("{} {}", bold(&session.key), dim(begun));
    for StoredMessage { message, .. } in store.history(&session.id).await? {
        match message {
            Message::User { text } => say!("\n{}    {}", cyan("you"), paragraph(&text, INDENT)),
            Message::Assistant { text, tool_calls } => {
                if !text.is_empty() {
                    say!("\n{}  {}", bold("agent"), paragraph(&text, INDENT));
                }
                for call in tool_calls {
                    say!("       {}", dim(text!("→ {} {}", call.name, call.input)));
                }
            }
            Message::ToolResults { results } => {
                for result in results {
                    let mark = if result.is_error { red("✗") } else { text!("✓") };
                    let first = result.content.lines().next().unwrap_or_default();
                    say!("       {} {}", mark, dim(text!("{}: {}", result.tool_name, first)));
                }
            }
        }
    }
    Ok(())
}

async fn export(store: &SqliteStore, named: &str) -> Result<(), Problem> {
    let session = find(store, named).await?;
    let messages = store.history(&session.id).await?;
    let whole = json!({ "session": session, "messages": messages });
    say_pretty_json(&whole)
}

async fn delete(
    environment: &Environment,
    store: &SqliteStore,
    named: &str,
) -> Result<(), Problem> {
    let session = find(store, named).await?;
    // Not under the feet of a run that uses it.
    let _claim = store.claim(&session).await?;
    // Its own questions go with it; nobody is to answer those of its sub-agents any more.
    store.withdraw_approvals(&session.id, "its conversation was deleted").await?;
    store.delete(&session.id).await?;
    if environment.json {
        return say_json(&json!({ "deleted": session.id }));
    }
    let Session { id, key, message_count, .. } = session;
    say!("deleted {} ({}, {} messages)", id, key, message_count);
    Ok(())
}

/// By id, by the start or end of one, or by key (then the newest).
async fn find(store: &SqliteStore, named: &str) -> Result<Session, Problem> {
    let sessions = store.sessions().await?;
    if let Some(session) =
        sessions.iter().find(|session| session.id == named || session.key == named)
    {
        return Ok(session.clone());
    }
    let by_part = |session: &&Session| session.id.starts_with(named) || session.id.ends_with(named);
    let mut found: Vec<_> = sessions.iter().filter(|_| !named.is_empty()).filter(by_part).collect();
    match (found.pop(), found.is_empty()) {
        (Some(session), true) => Ok(session.clone()),
        (Some(_), false) => {
            Err(Problem::new(format!("`{named}` fits {} conversations", found.len() + 1))
                .hint("give more of the id"))
        }
        (None, _) => {
            let near = nearest(named, sessions.iter().map(|session| session.key.as_str()));
            let near = near.map(|key| format!("; did you mean `{key}`?")).unwrap_or_default();
            Err(Problem::new(format!("there is no conversation `{named}`{near}"))
                .hint("`pintle sessions list` shows all"))
        }
    }
}

/// How long ago, in words.
fn when(at: u64) -> String {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
        .as_millis();
    let seconds = now.saturating_sub(u128::from(at)) / 1000;
    match seconds {
        0..60 => "just now".to_string(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}
