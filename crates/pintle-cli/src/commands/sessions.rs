//! `pintle sessions`: look at conversations.

use std::process::ExitCode;

use pintle::similar::nearest;
use pintle_agent::{Message, Session, Store, StoredMessage, store::IdKind, unfenced};
use serde_json::json;

use crate::{
    args::{Sessions, SessionsCommand},
    chat::now_ms,
    environment::Environment,
    ids,
    out::{say, say_json, say_line, say_pretty_json, tell},
    problem::Problem,
    shown::{Show, bold, cyan, dim, paragraph, text},
    store,
    term::{Column, Glyph, Table, ago, call, count, width, wrap},
};

/// The indent of a message's text.
const INDENT: usize = 7;

pub(crate) async fn run(
    environment: &Environment,
    sessions: Sessions,
) -> Result<ExitCode, Problem> {
    let store = store::open(environment).await?;
    match sessions.command.unwrap_or(SessionsCommand::List) {
        SessionsCommand::List => list(environment, &*store).await?,
        SessionsCommand::Show { session } => show(environment, &*store, &session).await?,
        SessionsCommand::Export { session } => export(&*store, &session).await?,
        SessionsCommand::Delete { session } => delete(environment, &*store, &session).await?,
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn list(environment: &Environment, store: &dyn Store) -> Result<(), Problem> {
    let sessions = store.sessions().await?;
    if environment.json {
        return say_pretty_json(&sessions);
    }
    if sessions.is_empty() {
        say!("No conversations yet.");
        return Ok(());
    }
    let mut table = Table::new([
        Column::new("ID"),
        Column::new("KEY").loses_middle(),
        Column::new("MESSAGES").right().below(),
        Column::new("LAST"),
        Column::new("PERSONALITY").below(),
    ]);
    for Session { id, key, message_count, updated_at, personality, .. } in sessions {
        table.row([
            cyan(ids::short(store, IdKind::Session, &id).await?),
            key.shown(),
            count(message_count).shown(),
            ago(updated_at, now_ms()).shown(),
            dim(personality.unwrap_or_default()),
        ]);
    }
    table.lines(width()).iter().for_each(say_line);
    if environment.stdout_is_terminal {
        let next = dim("pintle sessions show ID · pintle chat --session KEY");
        tell!("{}", wrap(&next, width(), 2));
    }
    Ok(())
}

async fn show(environment: &Environment, store: &dyn Store, named: &str) -> Result<(), Problem> {
    let session = find(store, named).await?;
    if environment.json {
        return export(store, named).await;
    }
    let short = ids::short(store, IdKind::Session, &session.id).await?;
    let begun = text!("{} · begun {}", short, ago(session.created_at, now_ms()));
    say!("{} {}", bold(&session.key), dim(begun));
    let summary = store.conversation(&session.id).await?.summary;
    for (place, StoredMessage { message, .. }) in (0_u64..).zip(store.history(&session.id).await?) {
        if let Some(summary) = summary.as_ref().filter(|summary| summary.covers == place) {
            let stands = "the model gets this summary instead of the messages above";
            say!("\n{}\n       {}", dim(stands), paragraph(&summary.text, INDENT));
        }
        match message {
            Message::User { text, .. } => {
                say!("\n{}    {}", cyan("you"), paragraph(&unfenced(&text), INDENT))
            }
            Message::Assistant { text, tool_calls, .. } => {
                if !text.is_empty() {
                    say!("\n{}  {}", bold("agent"), paragraph(&text, INDENT));
                }
                for made in tool_calls {
                    say!("       {}", dim(text!("→ {}", call(&made.name, &made.input))));
                }
            }
            Message::ToolResults { results, .. } => {
                for result in results {
                    let mark = if result.is_error { Glyph::Failed } else { Glyph::Ok };
                    let first = result.content.lines().next().unwrap_or_default();
                    say!("       {} {}", mark, dim(text!("{}: {}", result.tool_name, first)));
                }
            }
        }
    }
    Ok(())
}

async fn export(store: &dyn Store, named: &str) -> Result<(), Problem> {
    let session = find(store, named).await?;
    let messages = store.history(&session.id).await?;
    let mut whole = json!({ "session": session, "messages": messages });
    if let (Some(summary), Some(whole)) =
        (store.conversation(&session.id).await?.summary, whole.as_object_mut())
    {
        whole.insert("summary".into(), json!(summary));
    }
    say_pretty_json(&whole)
}

async fn delete(environment: &Environment, store: &dyn Store, named: &str) -> Result<(), Problem> {
    let session = find(store, named).await?;
    // A session in use by a run is not deleted.
    let claim = store.claim(&session).await?;
    // Its own questions are deleted with it; those of its sub-agents are withdrawn.
    store.withdraw_approvals(&claim, "its conversation was deleted").await?;
    store.delete(&claim).await?;
    if environment.json {
        return say_json(&json!({ "deleted": session.id }));
    }
    let Session { id, key, message_count, .. } = session;
    let id = ids::short(store, IdKind::Session, &id).await?;
    say!("deleted {} ({}, {} messages)", id, key, message_count);
    Ok(())
}

/// By id, by the start or end of one, or by key (then the newest).
async fn find(store: &dyn Store, named: &str) -> Result<Session, Problem> {
    let sessions = store.sessions().await?;
    if let Some(session) =
        sessions.iter().find(|session| session.id == named || session.key == named)
    {
        return Ok(session.clone());
    }
    let all = sessions.iter().map(|session| session.id.clone());
    let found = ids::find(store, IdKind::Session, named, all).await;
    let near = nearest(named, sessions.iter().map(|session| session.key.as_str()));
    let id = found.map_err(|problem| match near {
        Some(key) => problem.fix(format!("did you mean `{key}`?")),
        None => problem,
    })?;
    let gone = || Problem::not_found(format!("the session `{named}` was deleted"));
    store.session(&id).await?.ok_or_else(gone)
}
