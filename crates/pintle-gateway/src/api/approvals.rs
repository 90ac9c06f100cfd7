//! Questions to people.

use axum::http::StatusCode;
use pintle_agent::store::{AnswerResult, Approval, ApprovalFilter, ApprovalState, Decision, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Api, ApiError,
    routes::{Call, Nothing, Reply},
};
use crate::{
    approvals::{ApprovalReply, ReplyResult},
    questions::readable,
};

/// Which questions to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// Only those in this state.
    state: Option<State>,
    /// At most this many.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Pending,
    Approved,
    Denied,
    Expired,
    Cancelled,
}

impl From<State> for ApprovalState {
    fn from(state: State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::Approved => Self::Approved,
            State::Denied => Self::Denied,
            State::Expired => Self::Expired,
            State::Cancelled => Self::Cancelled,
        }
    }
}

/// A question.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalView {
    id: String,
    session_id: String,
    run_id: String,
    tool_call_id: String,
    tool: String,
    /// The exact arguments that run after an approval.
    args: Value,
    /// An answer names this hash.
    args_hash: String,
    /// The arguments as a person reads them.
    shown: String,
    reason: String,
    approvers: Vec<String>,
    requested_by: String,
    /// In milliseconds since 1970.
    created_at: u64,
    expires_at: u64,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_at: Option<u64>,
    /// What may be approved beyond this call, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
}

impl From<Approval> for ApprovalView {
    fn from(approval: Approval) -> Self {
        Self {
            shown: readable(&approval.tool, &approval.args),
            id: approval.id,
            session_id: approval.session_id,
            run_id: approval.run_id,
            tool_call_id: approval.tool_call_id,
            tool: approval.tool,
            args: approval.args,
            args_hash: approval.args_hash,
            reason: approval.reason,
            approvers: approval.approvers,
            requested_by: approval.requested_by,
            created_at: approval.created_at,
            expires_at: approval.expires_at,
            state: approval.state.as_str().into(),
            scope: approval.scope.map(|scope| scope.as_str().into()),
            answered_by: approval.answered_by,
            answer_reason: approval.answer_reason,
            answered_at: approval.answered_at,
            rule: approval.rule.map(|rule| rule.to_string()),
        }
    }
}

pub(super) async fn list(
    api: Api,
    call: Call<Which>,
) -> Result<Reply<Vec<ApprovalView>>, ApiError> {
    let store = api.gateway.store();
    store.expire_approvals().await?;
    let filter = ApprovalFilter {
        state: call.query.state.map(ApprovalState::from),
        limit: Some(call.query.limit.unwrap_or(100).clamp(1, 1000)),
        ..ApprovalFilter::default()
    };
    let approvals = store.approvals(filter).await?;
    Ok(approvals.into_iter().map(ApprovalView::from).collect::<Vec<_>>().into())
}

pub(super) async fn show(api: Api, call: Call<Nothing>) -> Result<Reply<ApprovalView>, ApiError> {
    Ok(ApprovalView::from(known(&api, &call.id).await?).into())
}

async fn known(api: &Api, id: &str) -> Result<Approval, ApiError> {
    api.gateway.store().expire_approvals().await?;
    let approval = api.gateway.store().approval(id).await?;
    approval.ok_or_else(|| ApiError::not_found(format!("there is no question `{id}`")))
}

/// An answer to a question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewAnswer {
    answer: Word,
    /// The hash of the arguments that were looked at.
    args_hash: String,
    /// Words for the model.
    reason: Option<String>,
    /// Approves the rule that the question offers, and not this call alone.
    rule: Option<Rule>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    Approve,
    Deny,
}

/// How long a rule holds.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rule {
    Session,
    Always,
}

pub(super) async fn answer(
    api: Api,
    call: Call<Nothing, NewAnswer>,
) -> Result<Reply<ApprovalView>, ApiError> {
    let NewAnswer { answer, args_hash, reason, rule } = call.body;
    let decision = match (answer, rule) {
        (Word::Deny, _) => Decision::Deny,
        (Word::Approve, None) => Decision::Approve(Scope::Once),
        (Word::Approve, Some(Rule::Session)) => Decision::Approve(Scope::Session),
        (Word::Approve, Some(Rule::Always)) => Decision::Approve(Scope::Always),
    };
    let reply = ApprovalReply { id: call.id.clone(), args_hash, decision, reason };
    let answered = api.gateway.answer(&api.config.operator, reply).await?;
    let words = answered.in_words();
    match answered {
        ReplyResult::By(AnswerResult::Accepted(approval)) => {
            Ok(ApprovalView::from(*approval).into())
        }
        ReplyResult::By(AnswerResult::Unknown) => Err(ApiError::not_found(words)),
        ReplyResult::By(AnswerResult::NotAllowed) | ReplyResult::Requester => {
            Err(ApiError::new(StatusCode::FORBIDDEN, "not_allowed", words))
        }
        ReplyResult::By(AnswerResult::AlreadyAnswered(_)) => {
            Err(ApiError::conflict("answered", words))
        }
        ReplyResult::By(AnswerResult::Expired) => Err(ApiError::conflict("expired", words)),
        ReplyResult::By(AnswerResult::WrongHash) => Err(ApiError::conflict("wrong_hash", words)),
        ReplyResult::By(AnswerResult::NoRule) => Err(ApiError::conflict("no_rule", words)),
    }
}
