//! Asking people: every question is written down first, then put to whoever is there. The first valid answer counts,
//! wherever it comes from (R11.4–R11.6).

use std::{sync::Arc, time::SystemTime};

use futures_util::future::{BoxFuture, FutureExt};
use pintle_agent::{ApprovalOutcome, ApprovalRequest, Approver, Prepared, Store, StoreError};
use pintle_store::{
    Answer, AnswerResult, Approval, ApprovalFilter, ApprovalState, Decision, NewApproval, OPERATOR,
    Origin, Scope, SqliteStore,
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    out::tell,
    shown::{Shown, text, yellow},
};

pub(crate) type Question = (ApprovalRequest, oneshot::Sender<TerminalAnswer>);
pub(crate) type Questions = mpsc::UnboundedReceiver<Question>;

/// What the person at the terminal said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TerminalAnswer {
    Yes,
    YesForThisSession,
    No(Option<String>),
}

/// Who can be asked.
#[derive(Default)]
pub(crate) struct Ears {
    /// The person at this terminal.
    pub(crate) terminal: Option<mpsc::UnboundedSender<Question>>,
    /// Whoever answers with `pintle approvals`, from somewhere else.
    pub(crate) elsewhere: bool,
}

/// A way to put questions to the person at this terminal, and where they come out.
pub(crate) fn terminal() -> (mpsc::UnboundedSender<Question>, Questions) {
    mpsc::unbounded_channel()
}

#[derive(Clone)]
pub(crate) struct StoredApprover(Arc<Inner>);

struct Inner {
    store: SqliteStore,
    ears: Ears,
    /// Who may answer; empty is the operator.
    approvers: Vec<String>,
    /// What the agent is made of; its personality and platform are those of a session that has none of its own.
    origin: Origin,
}

impl StoredApprover {
    pub(crate) fn new(
        store: SqliteStore,
        ears: Ears,
        approvers: Vec<String>,
        origin: Origin,
    ) -> Self {
        Self(Arc::new(Inner { store, ears, approvers, origin }))
    }
}

impl Approver for StoredApprover {
    fn prepare(&self, request: &ApprovalRequest) -> BoxFuture<'static, Prepared> {
        let (inner, request) = (self.0.clone(), request.clone());
        // What cannot be written down is not asked: nobody could answer it.
        async move {
            inner.prepare(request).await.unwrap_or(Prepared::Settled(ApprovalOutcome::NoOneToAsk))
        }
        .boxed()
    }

    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
        let inner = self.0.clone();
        async move { inner.ask(request).await.unwrap_or(ApprovalOutcome::Cancelled) }.boxed()
    }

    fn consume(&self, approval_id: &str, args_hash: &str) -> BoxFuture<'static, bool> {
        let (inner, id, hash) = (self.0.clone(), approval_id.to_string(), args_hash.to_string());
        async move { inner.store.consume_approval(&id, &hash).await.unwrap_or(false) }.boxed()
    }

    fn open_calls(&self, session_id: &str) -> BoxFuture<'static, Vec<String>> {
        let (inner, session_id) = (self.0.clone(), session_id.to_string());
        async move {
            let open = inner.open(&session_id).await.unwrap_or_default();
            open.into_iter().map(|approval| approval.tool_call_id).collect()
        }
        .boxed()
    }

    fn withdraw(&self, session_id: &str) -> BoxFuture<'static, ()> {
        let (inner, session_id) = (self.0.clone(), session_id.to_string());
        async move {
            let _ = inner.store.withdraw_approvals(&session_id, "the conversation went on").await;
        }
        .boxed()
    }
}

impl Inner {
    async fn prepare(&self, request: ApprovalRequest) -> Result<Prepared, StoreError> {
        let ApprovalRequest { session_id, tool_name, args_hash, tool_call_id, reason, .. } =
            &request;
        let workspace = &self.origin.workspace;
        // The reason counts as well: it names the places that the arguments lead to, and links can be turned.
        let allowed =
            self.store.session_allows(session_id, tool_name, args_hash, reason, workspace);
        if allowed.await? {
            let by = "an earlier answer for this session".to_string();
            return Ok(Prepared::Settled(ApprovalOutcome::Approved { by }));
        }
        // The same call may have been asked about by a run that died, made of the same.
        let asked = self.open(session_id).await?;
        let before = asked.iter().find(|open| {
            open.tool_call_id == *tool_call_id
                && open.args_hash == *args_hash
                && open.reason == *reason
                && open.origin.as_ref().is_some_and(|origin| {
                    origin.workspace == *workspace && origin.profile == self.origin.profile
                })
        });
        if let Some(before) = before {
            return Ok(Prepared::AskAs(before.id.clone()));
        }
        if self.ears.terminal.is_none() && !self.ears.elsewhere {
            return Ok(Prepared::Settled(ApprovalOutcome::NoOneToAsk));
        }
        let origin = self.origin_of(session_id).await?;
        let stored = self.store.request_approval(NewApproval {
            session_id: request.session_id,
            run_id: request.run_id,
            tool_call_id: request.tool_call_id,
            tool: request.tool_name,
            args: request.args,
            reason: request.reason,
            approvers: self.approvers.clone(),
            requested_by: "cli".into(),
            expires_at: request.expires_at,
            origin: Some(origin),
        });
        Ok(Prepared::AskAs(stored.await?.id))
    }

    /// Questions that are not settled, or whose answer nobody has acted on.
    async fn open(&self, session_id: &str) -> Result<Vec<Approval>, StoreError> {
        self.store.expire_approvals(now_ms()).await?;
        let filter = ApprovalFilter {
            session_id: Some(session_id.to_string()),
            ..ApprovalFilter::default()
        };
        let mut all = self.store.approvals(filter).await?;
        let answerable = |state| {
            matches!(
                state,
                ApprovalState::Pending | ApprovalState::Approved | ApprovalState::Denied
            )
        };
        all.retain(|approval| approval.consumed_at.is_none() && answerable(approval.state));
        Ok(all)
    }

    /// What this run is made of: stored with its question, so that whoever goes on with it makes the same again.
    async fn origin_of(&self, session_id: &str) -> Result<Origin, StoreError> {
        let session = self.store.session(session_id).await?;
        let session = session.ok_or_else(|| StoreError::NoSuchSession(session_id.to_string()))?;
        let mut origin = Origin { platform: session.platform, ..self.origin.clone() };
        if let Some(personality) = session.personality {
            origin.personality = personality;
        }
        Ok(origin)
    }

    async fn ask(&self, request: ApprovalRequest) -> Result<ApprovalOutcome, StoreError> {
        let mut stopped =
            Withdraw { store: self.store.clone(), id: Some(request.approval_id.clone()) };
        let stored = self.store.approval(&request.approval_id).await?;
        if self.ears.terminal.is_none()
            && stored.is_some_and(|asked| asked.state == ApprovalState::Pending)
        {
            // Nobody here is asked: whoever started this has to know that somebody is.
            let (tool, id) = (&request.tool_name, &request.approval_id);
            tell!("{} waits for an answer: pintle approvals show {}", tool, id);
        }
        let elsewhere = self.store.wait_for_answer(&request.approval_id, request.expires_at);
        let outcome = tokio::select! {
            approval = elsewhere => outcome_of(&approval?),
            answer = self.ask_terminal(&request) => self.answer(&request, answer).await?,
        };
        stopped.id = None;
        Ok(outcome)
    }

    /// Never comes back when nobody answers here: then the answer comes from elsewhere.
    async fn ask_terminal(&self, request: &ApprovalRequest) -> TerminalAnswer {
        let may_answer =
            self.approvers.is_empty() || self.approvers.iter().any(|approver| approver == OPERATOR);
        if let Some(terminal) = self.ears.terminal.as_ref().filter(|_| may_answer) {
            let (reply, answer) = oneshot::channel();
            if terminal.send((request.clone(), reply)).is_ok()
                && let Ok(answer) = answer.await
            {
                return answer;
            }
        }
        std::future::pending().await
    }

    async fn answer(
        &self,
        request: &ApprovalRequest,
        answer: TerminalAnswer,
    ) -> Result<ApprovalOutcome, StoreError> {
        let (decision, reason) = match answer {
            TerminalAnswer::Yes => (Decision::Approve(Scope::Once), None),
            TerminalAnswer::YesForThisSession => (Decision::Approve(Scope::Session), None),
            TerminalAnswer::No(reason) => (Decision::Deny, reason),
        };
        let (id, args_hash) = (request.approval_id.clone(), request.args_hash.clone());
        let answer = Answer { id, args_hash, by: OPERATOR.into(), decision, reason };
        Ok(match self.store.answer_approval(answer, now_ms()).await? {
            AnswerResult::Accepted(approval) => outcome_of(&approval),
            AnswerResult::AlreadyAnswered(approval) => {
                let (state, by) = (approval.state.as_str(), approval.answered_by.as_deref());
                let late = text!("it was {} already, by {}", state, by.unwrap_or("nobody"));
                too_late(&late);
                outcome_of(&approval)
            }
            AnswerResult::Expired => {
                too_late(&text!("the question lapsed"));
                ApprovalOutcome::Expired
            }
            AnswerResult::WrongHash | AnswerResult::NotAllowed | AnswerResult::Unknown => {
                ApprovalOutcome::Cancelled
            }
        })
    }
}

fn too_late(why: &Shown) {
    tell!("  {}", yellow(text!("too late: {}; your answer changed nothing", why)));
}

/// A run that is stopped while it waits takes its question back.
struct Withdraw {
    store: SqliteStore,
    id: Option<String>,
}

impl Drop for Withdraw {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) {
            let store = self.store.clone();
            runtime.spawn(async move { store.cancel_approval(&id, "the run was stopped").await });
        }
    }
}

fn outcome_of(approval: &Approval) -> ApprovalOutcome {
    let by = approval.answered_by.clone().unwrap_or_default();
    match approval.state {
        ApprovalState::Approved => ApprovalOutcome::Approved { by },
        ApprovalState::Denied => {
            ApprovalOutcome::Denied { by, reason: approval.answer_reason.clone() }
        }
        ApprovalState::Cancelled => ApprovalOutcome::Cancelled,
        ApprovalState::Expired | ApprovalState::Pending => ApprovalOutcome::Expired,
    }
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
