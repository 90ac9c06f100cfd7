//! `pintle approvals`: what waits for a person's yes, and answering it.

use std::process::ExitCode;

use pintle_agent::{Finished, RunOutcome, Store};
use pintle_store::{
    Answer, AnswerResult, Approval, ApprovalFilter, ApprovalState, Decision, OPERATOR, Origin,
    Scope, SqliteStore,
};
use serde_json::json;

use crate::{
    args::{Approvals, ApprovalsCommand, Who},
    assembly::{Assembled, Extras},
    chat::now_ms,
    environment::Environment,
    origin::{ask, assemble, known},
    out::{say, say_json, say_pretty_json, tell},
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
        ApprovalsCommand::Show { id } => show(environment, &store, &find(&store, &id).await?).await,
        ApprovalsCommand::Approve { id, session, by, who } => {
            let scope = if session { Scope::Session } else { Scope::Once };
            let said = Said { decision: Decision::Approve(scope), reason: None, by: name(by) };
            answer(environment, store, &id, said, who).await
        }
        ApprovalsCommand::Deny { id, reason, by, who } => {
            let said = Said { decision: Decision::Deny, reason, by: name(by) };
            answer(environment, store, &id, said, who).await
        }
    }
}

fn name(by: Option<String>) -> String {
    by.unwrap_or_else(|| OPERATOR.to_string())
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
        let state = yellow(text!("{:<9}", approval.state.as_str()));
        let (id, tool) = (cyan(short(&approval.id)), bold(&approval.tool));
        say!("{}  {} {} {}", id, state, tool, approval.args);
        let (folder, profile) = place(approval);
        let session = key_of(store, approval).await?;
        let lapses = lapses(approval);
        let about =
            text!("in {} · profile {} · conversation {} · {}", folder, profile, session, lapses);
        say!("          {}", dim(about));
    }
    Ok(ExitCode::SUCCESS)
}

/// Ids made in the same minute begin alike: people see the end.
fn short(id: &str) -> &str {
    id.get(id.len().saturating_sub(8)..).unwrap_or(id)
}

async fn show(
    environment: &Environment,
    store: &SqliteStore,
    approval: &Approval,
) -> Result<ExitCode, Problem> {
    if environment.json {
        say_pretty_json(approval)?;
        return Ok(ExitCode::SUCCESS);
    }
    say!("{} {}", bold(&approval.tool), dim(&approval.id));
    say!("{}", pretty_json(&approval.args).map_err(Problem::new)?);
    let (folder, profile) = place(approval);
    let mut facts = vec![
        ("why", approval.reason.clone()),
        ("folder", folder),
        ("profile", profile),
        ("session", key_of(store, approval).await?),
        ("hash", approval.args_hash.clone()),
        ("state", format!("{}, {}", approval.state.as_str(), lapses(approval))),
        ("asked", who_may(approval)),
    ];
    if let Some(by) = &approval.answered_by {
        let words = approval.answer_reason.as_deref().unwrap_or_default();
        facts.push(("by", format!("{by} {words}")));
    }
    for (name, fact) in facts {
        say!("{}", dim(text!("{:<8} {}", name, fact)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder it is about, and the profile.
fn place(approval: &Approval) -> (String, String) {
    let Some(origin) = &approval.origin else { return ("?".into(), "?".into()) };
    let profile = origin.profile.as_ref().map_or("none".into(), |dir| dir.display().to_string());
    (origin.workspace.display().to_string(), profile)
}

async fn key_of(store: &SqliteStore, approval: &Approval) -> Result<String, Problem> {
    let session = store.session(&approval.session_id).await?;
    Ok(session.map_or_else(|| approval.session_id.clone(), |session| session.key))
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

/// What somebody said on the command line.
struct Said {
    decision: Decision,
    reason: Option<String>,
    by: String,
}

async fn answer(
    environment: &Environment,
    store: SqliteStore,
    id: &str,
    said: Said,
    who: Who,
) -> Result<ExitCode, Problem> {
    let approval = find(&store, id).await?;
    if !approval.may_be_answered_by(&said.by) {
        return Err(not_allowed(&approval, &said.by));
    }
    if approval.origin.is_some() {
        known(&approval, &who)?;
    }
    // A run that waits holds its session. When nobody does, its process is gone: it goes on here, and before anything
    // is answered it must be sure that it can.
    let claim = store.try_claim(&approval.session_id)?;
    let unsettled = match approval.state {
        ApprovalState::Pending => true,
        ApprovalState::Approved => approval.consumed_at.is_none(),
        _ => false,
    };
    let heir = match claim.is_some() && unsettled {
        true => Some(heir(environment, &store, &approval, &who).await),
        false => None,
    };
    let (heir, lost) = match heir {
        None => (None, None),
        Some(Ok(heir)) => (Some(heir), None),
        // A no needs nobody to go on: nothing runs either way.
        Some(Err(problem)) if said.decision == Decision::Deny => (None, Some(problem)),
        Some(Err(problem)) => {
            return Err(problem.hint("nothing ran, and the question can still be answered"));
        }
    };
    let answered = record(&store, &approval, said, heir.is_some()).await;
    let approval = match (answered, heir) {
        (Ok(approval), Some((heir, origin))) => {
            say_answered(environment, &approval);
            // The run takes it itself.
            drop(claim);
            return resume(environment, &approval, &origin, heir).await;
        }
        (Err(problem), Some((heir, _))) => {
            heir.close().await;
            return Err(problem);
        }
        (answered, None) => answered?,
    };
    say_answered(environment, &approval);
    if let Some(problem) = lost {
        let goes_on =
            "its run had stopped and does not go on; the conversation does, with its next message";
        tell!("{}\n{}", problem, dim(goes_on));
    }
    if environment.json {
        say_json(&json!({ "answered": approval.id, "resumed": false }))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The agent that goes on with the run.
async fn heir(
    environment: &Environment,
    store: &SqliteStore,
    approval: &Approval,
    who: &Who,
) -> Result<(Assembled, Origin), Problem> {
    let origin = known(approval, who)?;
    let (model, store) = (who.model.as_deref(), store.clone());
    let assembled = assemble(environment, origin, model, store, Extras::default()).await?;
    Ok((assembled, origin.clone()))
}

/// Answers; the question as it stands then.
async fn record(
    store: &SqliteStore,
    approval: &Approval,
    said: Said,
    nobody_waits: bool,
) -> Result<Approval, Problem> {
    let Said { decision, reason, by } = said;
    let (id, args_hash) = (approval.id.clone(), approval.args_hash.clone());
    let answer = Answer { id, args_hash, by: by.clone(), decision, reason };
    match store.answer_approval(answer, now_ms()).await? {
        AnswerResult::Accepted(approval) => Ok(*approval),
        // Whoever answered died before the call ran: the answer stands, and the run goes on here.
        AnswerResult::AlreadyAnswered(approval)
            if matches!(decision, Decision::Approve(_))
                && approval.state == ApprovalState::Approved
                && approval.consumed_at.is_none()
                && nobody_waits =>
        {
            Ok(*approval)
        }
        AnswerResult::AlreadyAnswered(approval) => {
            let state = approval.state.as_str();
            let who = approval.answered_by.as_deref().unwrap_or("nobody");
            Err(Problem::new(format!("it was {state} already, by {who}; nothing was changed")))
        }
        AnswerResult::Expired => {
            Err(Problem::new("it lapsed before it was answered; nothing was changed"))
        }
        AnswerResult::NotAllowed => Err(not_allowed(approval, &by)),
        AnswerResult::WrongHash | AnswerResult::Unknown => {
            Err(Problem::new("the question changed meanwhile; nothing was changed"))
        }
    }
}

fn say_answered(environment: &Environment, approval: &Approval) {
    if !environment.json {
        let word = if approval.state == ApprovalState::Approved { "approved" } else { "denied" };
        say!("{} {} {}", green(word), approval.tool, short(&approval.id));
    }
}

async fn resume(
    environment: &Environment,
    approval: &Approval,
    origin: &Origin,
    assembled: Assembled,
) -> Result<ExitCode, Problem> {
    let ask = ask(&assembled, approval, origin).await?;
    let Finished { text, outcome, .. } = assembled.agent.run(ask).finish().await;
    assembled.close().await;
    if environment.json {
        let done =
            json!({ "answered": approval.id, "resumed": true, "outcome": outcome, "text": text });
        say_json(&done)?;
    } else {
        let folder = origin.workspace.display();
        let here = dim(text!("its run had stopped; it went on here, in {}:", folder));
        say!("{}\n{}", here, lines(&text));
    }
    Ok(if outcome == RunOutcome::EndTurn { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn not_allowed(approval: &Approval, by: &str) -> Problem {
    Problem::new(format!("`{by}` may not answer this; nothing was changed"))
        .hint(format!("it may be answered by: {}", who_may(approval)))
}

fn who_may(approval: &Approval) -> String {
    if approval.approvers.is_empty() { OPERATOR.to_string() } else { approval.approvers.join(", ") }
}
