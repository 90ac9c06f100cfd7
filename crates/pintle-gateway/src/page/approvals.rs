//! The page of questions. Its forms work without scripts.

use askama::Template;
use axum::{
    Form,
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use pintle_agent::store::{AnswerResult, Approval, ApprovalFilter, ApprovalState, Decision, Scope};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Problem, Shell,
    format::{one_line, roughly},
    html,
    row::Mark,
    to,
};
use crate::{
    api::Api,
    approvals::{ApprovalReply, ReplyResult},
    clock::now_ms,
    questions::QuestionText,
};

/// How many answered questions are listed.
const ANSWERED: u32 = 30;

/// A question on the page.
struct Question {
    approval: Approval,
    text: QuestionText,
    zone: String,
    /// The rule that may be approved beyond this call.
    rule: Option<String>,
    left: String,
    asked_ago: String,
    /// Whether the holder of the token may answer.
    is_yours: bool,
    settled: Option<Settled>,
}

/// The outcome of a question.
struct Settled {
    mark: Mark,
    word: &'static str,
    by: String,
    reason: String,
    ago: String,
}

impl Question {
    async fn new(api: &Api, approval: Approval) -> Result<Self, Problem> {
        let now = now_ms();
        let zone = zone_of(api, &approval).await?;
        let operator = &api.config.operator;
        Ok(Self {
            text: api.gateway.question_text(&approval),
            zone,
            rule: approval.rule.as_ref().map(ToString::to_string),
            left: roughly(approval.expires_at.saturating_sub(now)),
            asked_ago: roughly(now.saturating_sub(approval.created_at)),
            is_yours: operator.iter().any(|name| approval.may_be_answered_by(name)),
            settled: settled(&approval, now),
            approval,
        })
    }

    /// The call on one line.
    fn line(&self) -> String {
        let text = self.text.lines.first().map_or(self.text.title.as_str(), |line| &line.text);
        one_line(text, 120)
    }
}

fn settled(approval: &Approval, now: u64) -> Option<Settled> {
    let (mark, word) = match approval.state {
        ApprovalState::Pending => return None,
        ApprovalState::Approved => (Mark::Ok, "approved"),
        ApprovalState::Denied => (Mark::Block, "denied"),
        ApprovalState::Expired => (Mark::Idle, "expired"),
        ApprovalState::Cancelled => (Mark::Idle, "cancelled"),
    };
    let at = approval.answered_at.unwrap_or(approval.expires_at);
    Some(Settled {
        mark,
        word,
        by: approval.answered_by.clone().unwrap_or_default(),
        reason: approval.answer_reason.clone().unwrap_or_default(),
        ago: roughly(now.saturating_sub(at)),
    })
}

/// The zone is in the event of the question.
async fn zone_of(api: &Api, approval: &Approval) -> Result<String, Problem> {
    if let Some(rule) = &approval.rule {
        return Ok(rule.zone.name().to_string());
    }
    if approval.state != ApprovalState::Pending {
        return Ok(String::new());
    }
    let events = api.gateway.store().events(&approval.run_id).await?;
    let asked = events.iter().rev().filter(|event| event.kind == "approval.requested");
    let asked = asked.filter_map(|event| serde_json::from_str::<Value>(&event.json).ok());
    let about =
        |event: &Value| event.get("approvalId").and_then(Value::as_str) == Some(&approval.id);
    let zone = asked.filter(about).find_map(|event| Some(event.get("zone")?.as_str()?.to_string()));
    Ok(zone.unwrap_or_default())
}

#[derive(Template)]
#[template(path = "approvals.html")]
struct Page {
    shell: Shell,
    title: String,
    problem: String,
    pending: Vec<Question>,
    answered: Vec<Question>,
    /// Whether this is the page of one question.
    is_one: bool,
}

impl Page {
    /// Whether a question on it waits for an answer.
    fn is_open(&self) -> bool {
        self.pending.iter().any(|question| question.settled.is_none())
    }
}

pub(super) async fn all(State(api): State<Api>) -> Result<Response, Problem> {
    let page = list(&api, String::new()).await?;
    Ok(html(StatusCode::OK, &page))
}

async fn list(api: &Api, problem: String) -> Result<Page, Problem> {
    let shell = Shell::new(api, "approvals").await?;
    let store = api.gateway.store();
    let pending =
        ApprovalFilter { state: Some(ApprovalState::Pending), ..ApprovalFilter::default() };
    let mut asked = Vec::new();
    for approval in store.approvals(pending).await? {
        asked.push(Question::new(api, approval).await?);
    }
    let newest = ApprovalFilter { limit: Some(ANSWERED), ..ApprovalFilter::default() };
    let mut answered = Vec::new();
    for approval in store.approvals(newest).await? {
        if approval.state != ApprovalState::Pending {
            answered.push(Question::new(api, approval).await?);
        }
    }
    let title = match asked.len() {
        0 => "No open questions".to_string(),
        1 => "One question waits".to_string(),
        count => format!("{count} questions wait"),
    };
    Ok(Page { shell, title, problem, pending: asked, answered, is_one: false })
}

pub(super) async fn one(
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let page = single(&api, &id, String::new()).await?;
    Ok(html(StatusCode::OK, &page))
}

async fn single(api: &Api, id: &str, problem: String) -> Result<Page, Problem> {
    let shell = Shell::new(api, "approvals").await?;
    let approval = api.gateway.store().approval(id).await?;
    let approval =
        approval.ok_or_else(|| Problem::not_found(format!("There is no question {id}.")))?;
    let question = Question::new(api, approval).await?;
    let title = match &question.settled {
        None => "One question waits".to_string(),
        Some(settled) => format!("This question was {}", settled.word),
    };
    Ok(Page { shell, title, problem, pending: vec![question], answered: Vec::new(), is_one: true })
}

/// What a form sends.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Filled {
    answer: String,
    args_hash: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    rule: String,
    /// Set when the form is on the page of one question.
    one: Option<String>,
}

pub(super) async fn answer(
    State(api): State<Api>,
    Path(id): Path<String>,
    Form(filled): Form<Filled>,
) -> Result<Response, Problem> {
    let decision = match (filled.answer.as_str(), filled.rule.as_str()) {
        ("approve", "") => Decision::Approve(Scope::Once),
        ("approve", "session") => Decision::Approve(Scope::Session),
        ("approve", "always") => Decision::Approve(Scope::Always),
        ("deny", _) => Decision::Deny,
        _ => {
            let words = "An answer is `approve` or `deny`. Nothing was answered.";
            return Err(Problem::new(StatusCode::BAD_REQUEST, words));
        }
    };
    let reason = Some(filled.reason.trim().to_string()).filter(|reason| !reason.is_empty());
    let reply = ApprovalReply { id: id.clone(), args_hash: filled.args_hash, decision, reason };
    let answered = api.gateway.answer(&api.config.operator, reply).await?;
    let problem = answered.in_words();
    let status = match answered {
        ReplyResult::By(AnswerResult::Accepted(_)) => {
            return Ok(to(&match filled.one {
                Some(_) => format!("/approvals/{id}"),
                None => "/approvals".to_string(),
            }));
        }
        ReplyResult::By(AnswerResult::Unknown) => return Err(Problem::not_found(problem)),
        ReplyResult::By(AnswerResult::NotAllowed) | ReplyResult::Requester => StatusCode::FORBIDDEN,
        ReplyResult::By(_) => StatusCode::CONFLICT,
    };
    let page = match filled.one {
        Some(_) => single(&api, &id, problem).await?,
        None => list(&api, problem).await?,
    };
    Ok(html(status, &page))
}
