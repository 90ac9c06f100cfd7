//! What waits for a person's yes, for looking at.

use pintle_agent::{Message, Store};
use pintle_store::{Approval, ApprovalFilter, ApprovalState, SqliteStore};

use super::shows_something_else;
use crate::{
    chat::now_ms,
    environment::Environment,
    out::{say, say_pretty_json, tell},
    problem::Problem,
    shown::{bold, cyan, dim, pretty_json, text, yellow},
};

pub(super) async fn list(
    environment: &Environment,
    store: &SqliteStore,
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
        print_list(store, &approvals, forged.is_empty()).await?;
    }
    forged.first().map_or(Ok(()), |forged| Err(shows_something_else(forged)))
}

async fn print_list(
    store: &SqliteStore,
    approvals: &[Approval],
    complete: bool,
) -> Result<(), Problem> {
    if approvals.is_empty() && complete {
        say!("nothing waits for an answer");
    }
    for approval in approvals {
        let state = yellow(text!("{:<9}", approval.state.as_str()));
        let (id, tool) = (cyan(short(&approval.id)), bold(&approval.tool));
        say!("{}  {} {} {}", id, state, tool, approval.args);
        let (folder, profile) = place(approval);
        let session = key_of(store, &approval.session_id).await?;
        let lapses = lapses(approval);
        let about =
            text!("in {} · profile {} · conversation {} · {}", folder, profile, session, lapses);
        say!("          {}", dim(about));
        if was_left(store, approval).await? {
            let goes_on = text!(
                "approved, and its run stopped before it acted: `pintle approvals approve {}` goes on with it",
                short(&approval.id)
            );
            say!("          {}", goes_on);
        }
    }
    let waits: Vec<_> = approvals.iter().filter(|it| it.state == ApprovalState::Pending).collect();
    let id = match waits.as_slice() {
        [] => return Ok(()),
        [one] => short(&one.id),
        _ => "ID",
    };
    // Not among the questions: a script that cuts the ids out of the list finds only those.
    let how = text!("answer with `pintle approvals approve {}`, or `deny {} --reason '…'`", id, id);
    tell!("{}", dim(how));
    Ok(())
}

/// Whether somebody said yes and the run died before it acted on it: its call still waits, and nobody has its session.
async fn was_left(store: &SqliteStore, approval: &Approval) -> Result<bool, Problem> {
    if approval.state != ApprovalState::Approved || !approval.waits_for_its_run() {
        return Ok(false);
    }
    let newest = store.history(&approval.session_id).await?.pop();
    let waits = newest.is_some_and(|newest| match newest.message {
        Message::Assistant { tool_calls, .. } => {
            tool_calls.iter().any(|call| call.id == approval.tool_call_id)
        }
        _ => false,
    });
    Ok(waits && store.try_claim(&approval.session_id)?.is_some())
}

/// Ids made in the same minute begin alike: people see the end.
pub(super) fn short(id: &str) -> &str {
    id.get(id.len().saturating_sub(8)..).unwrap_or(id)
}

pub(super) async fn show(
    environment: &Environment,
    store: &SqliteStore,
    approval: &Approval,
) -> Result<(), Problem> {
    if environment.json {
        return say_pretty_json(approval);
    }
    say!("{} {}", bold(&approval.tool), dim(&approval.id));
    say!("{}", pretty_json(&approval.args).map_err(Problem::new)?);
    let (folder, profile) = place(approval);
    let mut facts = vec![
        ("why", approval.reason.clone()),
        ("folder", folder),
        ("profile", profile),
        ("session", key_of(store, &approval.session_id).await?),
        ("hash", approval.args_hash.clone()),
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
        say!("{}", dim(text!("{:<8} {}", name, fact)));
    }
    Ok(())
}

/// The folder it is about, and the profile.
fn place(approval: &Approval) -> (String, String) {
    let Some(origin) = &approval.origin else { return ("?".into(), "?".into()) };
    let profile = origin.profile.as_ref().map_or("none".into(), |dir| dir.display().to_string());
    (origin.workspace.display().to_string(), profile)
}

/// The conversation a person knows: a sub-agent's own says nothing to anybody.
pub(super) async fn key_of(store: &SqliteStore, session_id: &str) -> Result<String, Problem> {
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
            let seconds = approval.expires_at.saturating_sub(now_ms()) / 1000;
            if seconds < 120 {
                format!("lapses in {seconds} s")
            } else {
                format!("lapses in {} min", seconds / 60)
            }
        }
        ApprovalState::Expired => "nobody answered in time".into(),
        _ => "settled".into(),
    }
}
