//! `pintle approvals`: what waits for a person's yes, and answering it.

use std::process::ExitCode;

use pintle_agent::{Finished, RunOutcome};
use pintle_store::{
    Answer, AnswerResult, Approval, ApprovalFilter, ApprovalState, Decision, OPERATOR, Scope,
    SqliteStore,
};
use serde_json::json;

use crate::{
    args::{Approvals, ApprovalsCommand, Who},
    assembly::{Assembled, Extras},
    chat::{lock, now_ms},
    environment::Environment,
    out::{say, say_json, say_pretty_json},
    problem::Problem,
    shown::{bold, cyan, dim, green, lines, pretty_json, text, yellow},
};

pub(crate) async fn run(
    environment: &Environment,
    approvals: Approvals,
) -> Result<ExitCode, Problem> {
    let store = SqliteStore::open(environment.database()?).await?;
    store.expire_approvals(now_ms()).await?;
    match approvals.command {
        ApprovalsCommand::List { all } => list(environment, &store, all).await,
        ApprovalsCommand::Show { id } => show(environment, &find(&store, &id).await?),
        ApprovalsCommand::Approve { id, session, by, who } => {
            let scope = if session { Scope::Session } else { Scope::Once };
            answer(environment, &store, &id, Decision::Approve(scope), None, by, who).await
        }
        ApprovalsCommand::Deny { id, reason, by, who } => {
            answer(environment, &store, &id, Decision::Deny, reason, by, who).await
        }
    }
}

async fn list(
    environment: &Environment,
    store: &SqliteStore,
    all: bool,
) -> Result<ExitCode, Problem> {
    let state = (!all).then_some(ApprovalState::Pending);
    let approvals = store.approvals(ApprovalFilter { state, ..ApprovalFilter::default() }).await?;
    if environment.json {
        say_pretty_json(&approvals)?;
        return Ok(ExitCode::SUCCESS);
    }
    if approvals.is_empty() {
        say!("nothing waits for an answer");
    }
    for approval in &approvals {
        let state = format!("{:?}", approval.state).to_lowercase();
        let (id, tool) = (cyan(short(&approval.id)), bold(&approval.tool));
        say!("{}  {} {} {}", id, yellow(text!("{:<9}", state)), tool, approval.args);
    }
    Ok(ExitCode::SUCCESS)
}

/// Ids made in the same minute begin alike: people see the end.
fn short(id: &str) -> &str {
    id.get(id.len().saturating_sub(8)..).unwrap_or(id)
}

fn show(environment: &Environment, approval: &Approval) -> Result<ExitCode, Problem> {
    if environment.json {
        say_pretty_json(approval)?;
        return Ok(ExitCode::SUCCESS);
    }
    say!("{} {}", bold(&approval.tool), dim(&approval.id));
    say!("{}", pretty_json(&approval.args).map_err(Problem::new)?);
    say!("{}", dim(text!("why    {}", approval.reason)));
    say!("{}", dim(text!("hash   {}", approval.args_hash)));
    say!("{}", dim(text!("state  {}", format!("{:?}", approval.state))));
    if let Some(by) = &approval.answered_by {
        let reason = approval.answer_reason.as_deref().unwrap_or_default();
        say!("{}", dim(text!("by     {} {}", by, reason)));
    }
    Ok(ExitCode::SUCCESS)
}

async fn find(store: &SqliteStore, part: &str) -> Result<Approval, Problem> {
    let mut found = store.find_approval(part).await?;
    match (found.pop(), found.len()) {
        (Some(approval), 0) => Ok(approval),
        (Some(_), more) => Err(Problem::new(format!("`{part}` fits {} questions", more + 1))
            .hint("give more of the id")),
        (None, _) => Err(Problem::new(format!("there is no question `{part}`"))
            .hint("`pintle approvals list --all` shows all")),
    }
}

async fn answer(
    environment: &Environment,
    store: &SqliteStore,
    id: &str,
    decision: Decision,
    reason: Option<String>,
    by: Option<String>,
    who: Who,
) -> Result<ExitCode, Problem> {
    let approval = find(store, id).await?;
    let by = by.unwrap_or_else(|| OPERATOR.to_string());
    let locks = environment.data_dir()?.join("locks");
    let (id, args_hash) = (approval.id.clone(), approval.args_hash.clone());
    let result = store
        .answer_approval(Answer { id, args_hash, by: by.clone(), decision, reason }, now_ms())
        .await?;
    let approval = match result {
        AnswerResult::Accepted(approval) => approval,
        // Whoever answered died before the call ran: the answer stands, and the run goes on here.
        AnswerResult::AlreadyAnswered(approval)
            if matches!(decision, Decision::Approve(_))
                && approval.state == ApprovalState::Approved
                && approval.consumed_at.is_none()
                && lock(&locks, &approval.id).is_some() =>
        {
            approval
        }
        AnswerResult::AlreadyAnswered(approval) => {
            let state = format!("{:?}", approval.state).to_lowercase();
            let who = approval.answered_by.as_deref().unwrap_or("nobody");
            return Err(Problem::new(format!(
                "it was {state} already, by {who}; nothing was changed"
            )));
        }
        AnswerResult::Expired => {
            return Err(Problem::new("it lapsed before it was answered; nothing was changed"));
        }
        AnswerResult::NotAllowed => {
            return Err(Problem::new(format!("`{by}` may not answer this; nothing was changed"))
                .hint(format!("it may be answered by: {}", who_may(&approval))));
        }
        AnswerResult::WrongHash | AnswerResult::Unknown => {
            return Err(Problem::new("the question changed meanwhile; nothing was changed"));
        }
    };
    if !environment.json {
        let word = if approval.state == ApprovalState::Approved { "approved" } else { "denied" };
        say!("{} {} {}", green(word), approval.tool, short(&approval.id));
    }
    // Somebody who waits holds the question's lock. When nobody does, their process is gone: the run goes on here.
    let Some(_lock) = lock(&locks, &approval.id) else {
        if environment.json {
            say_json(&json!({ "answered": approval.id, "resumed": false }))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    resume(environment, &approval, who).await
}

async fn resume(
    environment: &Environment,
    approval: &Approval,
    who: Who,
) -> Result<ExitCode, Problem> {
    let assembled = Assembled::new(environment, &who, Extras::default()).await?;
    let Finished { text, outcome, .. } =
        assembled.agent.resume(&approval.session_id).finish().await;
    assembled.close().await;
    if environment.json {
        let done =
            json!({ "answered": approval.id, "resumed": true, "outcome": outcome, "text": text });
        say_json(&done)?;
    } else {
        say!("{}\n{}", dim("its run had stopped; it went on here:"), lines(&text));
    }
    Ok(if outcome == RunOutcome::EndTurn { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn who_may(approval: &Approval) -> String {
    if approval.approvers.is_empty() { OPERATOR.to_string() } else { approval.approvers.join(", ") }
}
