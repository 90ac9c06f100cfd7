//! Listing and showing questions.

use std::path::Path;

use pintle_agent::store::{Approval, ApprovalFilter, ApprovalState, IdKind};
use pintle_agent::{Message, Store};

use super::shows_something_else;
use crate::{
    chat::{Question, now_ms},
    environment::Environment,
    ids,
    out::{say, say_line, say_pretty_json, tell},
    problem::Problem,
    secrets,
    shown::{Show, Shown, cyan, dim, text},
    term::{Column, Glyph, Table, call, left, plural, width, wrap},
};

pub(super) async fn list(
    environment: &Environment,
    store: &dyn Store,
    all: bool,
) -> Result<(), Problem> {
    let in_state =
        async |state| store.approvals(ApprovalFilter { state, ..ApprovalFilter::default() }).await;
    let approvals = match all {
        true => in_state(None).await?,
        false => {
            let mut open = in_state(Some(ApprovalState::Pending)).await?;
            for approved in in_state(Some(ApprovalState::Approved)).await? {
                if was_left(store, &approved).await? {
                    open.push(approved);
                }
            }
            open
        }
    };
    let (approvals, forged): (Vec<_>, Vec<_>) =
        approvals.into_iter().partition(Approval::shows_what_runs);
    if environment.json {
        say_pretty_json(&approvals)?;
    } else {
        print_list(environment, store, &approvals, forged.is_empty()).await?;
    }
    match forged.first() {
        Some(forged) => Err(shows_something_else(&short(store, forged).await?)),
        None => Ok(()),
    }
}

async fn short(store: &dyn Store, approval: &Approval) -> Result<String, Problem> {
    ids::short(store, IdKind::Approval, &approval.id).await
}

async fn print_list(
    environment: &Environment,
    store: &dyn Store,
    approvals: &[Approval],
    is_complete: bool,
) -> Result<(), Problem> {
    if approvals.is_empty() && is_complete {
        say!("No questions are waiting.");
    }
    if approvals.is_empty() {
        return Ok(());
    }
    let mut table = Table::new([
        Column::new("ID"),
        Column::new("WAITING"),
        Column::new("LEFT"),
        Column::new("ASKS").loses_middle(),
        Column::new("WHY").loses_end().below(),
    ]);
    for approval in approvals {
        let waits = approval.state == ApprovalState::Pending;
        let since = now_ms().saturating_sub(approval.created_at);
        let left = match waits {
            true => left(approval.expires_at.saturating_sub(now_ms())),
            false => approval.state.as_str().to_owned(),
        };
        table.row([
            cyan(short(store, approval).await?),
            if waits { waiting(since).shown() } else { Shown::default() },
            left.shown(),
            call(&approval.tool, &approval.args),
            dim(&approval.reason),
        ]);
    }
    table.lines(width()).iter().for_each(say_line);
    for approval in approvals {
        if was_left(store, approval).await? {
            let id = &short(store, approval).await?;
            let line = text!(
                "{} {}: approved, but its run ended before it acted · fix: pintle approvals approve {}",
                Glyph::Warning,
                *id,
                *id
            );
            say!("{}", wrap(&line, width(), 2));
        }
    }
    let waits: Vec<_> = approvals.iter().filter(|it| it.state == ApprovalState::Pending).collect();
    if let Some(first) = waits.first()
        && environment.stdout_is_terminal
    {
        let (id, number) = (&short(store, first).await?, plural(waits.len() as u64, "question"));
        let how = text!(
            "{} · pintle approvals show {} · approve {} · deny {} --reason …",
            number,
            *id,
            *id,
            *id
        );
        tell!("{}", dim(wrap(&how, width(), 2)));
    }
    Ok(())
}

/// `40 s`, `2 min`, `3 h`
fn waiting(ms: u64) -> String {
    match ms / 1000 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

/// Whether the question was approved and its run died before the call: the call still waits, and the session is free.
async fn was_left(store: &dyn Store, approval: &Approval) -> Result<bool, Problem> {
    if approval.state != ApprovalState::Approved || !approval.waits_for_its_run() {
        return Ok(false);
    }
    let newest = store.newest_message(&approval.session_id).await?;
    let waits = newest.is_some_and(|newest| match newest.message {
        Message::Assistant { tool_calls, .. } => {
            tool_calls.iter().any(|call| call.id == approval.tool_call_id)
        }
        _ => false,
    });
    Ok(waits && !store.is_claimed(&approval.session_id).await?)
}

pub(super) async fn show(
    environment: &Environment,
    store: &dyn Store,
    approval: &Approval,
) -> Result<(), Problem> {
    if environment.json {
        return say_pretty_json(approval);
    }
    short(store, approval).await?;
    let (folder, profile) = place(approval);
    let scrubber = secrets::scrubber(environment, &environment.operator()?, None);
    let question = Question::of_stored(approval, Path::new(&folder), &scrubber);
    let text = question.text(now_ms(), width(), true);
    text.lines.iter().chain(&question.details(width())).for_each(say_line);
    let mut facts = vec![
        ("profile", profile),
        ("session", key_of(store, &approval.session_id).await?),
        ("state", format!("{}, {}", approval.state.as_str(), lapses(approval))),
        ("asked", approval.approvers.join(", ")),
    ];
    if let Some(rule) = &approval.rule {
        let how = "`--session` or `--always` approves it too";
        facts.push(("rule", format!("all `{rule}`: {how}")));
    }
    if let Some(by) = &approval.answered_by {
        let words = approval.answer_reason.as_deref().unwrap_or_default();
        facts.push(("by", format!("{by} {words}")));
    }
    for (name, fact) in facts {
        say!("  {}", dim(text!("{:<9} {}", name, fact)));
    }
    Ok(())
}

/// The folder it is about, and the profile.
fn place(approval: &Approval) -> (String, String) {
    let Some(origin) = &approval.origin else { return ("?".into(), "?".into()) };
    let profile = origin.profile.as_ref().map_or("none".into(), |dir| dir.display().to_string());
    (origin.workspace.display().to_string(), profile)
}

/// The conversation that the person knows. For a sub-agent, this is the conversation that started it.
pub(super) async fn key_of(store: &dyn Store, session_id: &str) -> Result<String, Problem> {
    let Some(mut session) = store.session(session_id).await? else {
        return Ok(session_id.to_owned());
    };
    let is_sub_agent = session.parent.is_some();
    while let Some(id) = &session.parent
        && let Some(parent) = store.session(id).await?
    {
        session = parent;
    }
    Ok(if is_sub_agent { format!("{}, a sub-agent of it", session.key) } else { session.key })
}

fn lapses(approval: &Approval) -> String {
    match approval.state {
        ApprovalState::Pending => {
            format!("{} left", left(approval.expires_at.saturating_sub(now_ms())))
        }
        ApprovalState::Expired => "no answer in time".into(),
        _ => "answered".into(),
    }
}
