//! Asking people: every question is written down first, then put to whoever is there. The first valid answer counts,
//! wherever it comes from (R11.4–R11.6).

use std::{
    fs::File,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use futures_util::future::{BoxFuture, FutureExt};
use pintle_agent::{ApprovalOutcome, ApprovalRequest, Approver, Prepared, StoreError};
use pintle_store::{
    Answer, AnswerResult, Approval, ApprovalFilter, ApprovalState, Decision, NewApproval, OPERATOR,
    Scope, SqliteStore,
};
use tokio::sync::{mpsc, oneshot};

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
    locks: PathBuf,
    /// Held as long as this process may still act on an answer: whoever answers sees by them whether somebody waits.
    held: Mutex<Vec<File>>,
}

impl StoredApprover {
    pub(crate) fn new(
        store: SqliteStore,
        ears: Ears,
        approvers: Vec<String>,
        data: &std::path::Path,
    ) -> Self {
        let locks = data.join("locks");
        Self(Arc::new(Inner { store, ears, approvers, locks, held: Mutex::default() }))
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
            for approval in inner.open(&session_id).await.unwrap_or_default() {
                let _ = inner.store.cancel_approval(&approval.id, "the conversation went on").await;
            }
        }
        .boxed()
    }
}

impl Inner {
    async fn prepare(&self, request: ApprovalRequest) -> Result<Prepared, StoreError> {
        let ApprovalRequest { session_id, tool_name, args_hash, tool_call_id, .. } = &request;
        if self.store.session_allows(session_id, tool_name, args_hash).await? {
            let by = "an earlier answer for this session".to_string();
            return Ok(Prepared::Settled(ApprovalOutcome::Approved { by }));
        }
        // The same call may have been asked about by a run that died.
        let asked = self.open(session_id).await?;
        let before = asked
            .iter()
            .find(|open| open.tool_call_id == *tool_call_id && open.args_hash == *args_hash);
        if let Some(before) = before {
            self.hold(&before.id);
            return Ok(Prepared::AskAs(before.id.clone()));
        }
        if self.ears.terminal.is_none() && !self.ears.elsewhere {
            return Ok(Prepared::Settled(ApprovalOutcome::NoOneToAsk));
        }
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
        });
        let id = stored.await?.id;
        self.hold(&id);
        Ok(Prepared::AskAs(id))
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

    fn hold(&self, id: &str) {
        if let Some(lock) = lock(&self.locks, id) {
            self.held.lock().unwrap_or_else(PoisonError::into_inner).push(lock);
        }
    }

    async fn ask(&self, request: ApprovalRequest) -> Result<ApprovalOutcome, StoreError> {
        let mut stopped =
            Withdraw { store: self.store.clone(), id: Some(request.approval_id.clone()) };
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
            AnswerResult::Accepted(approval) | AnswerResult::AlreadyAnswered(approval) => {
                outcome_of(&approval)
            }
            AnswerResult::Expired => ApprovalOutcome::Expired,
            AnswerResult::WrongHash | AnswerResult::NotAllowed | AnswerResult::Unknown => {
                ApprovalOutcome::Cancelled
            }
        })
    }
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

/// The lock of a question, unless another process holds it.
pub(crate) fn lock(folder: &std::path::Path, id: &str) -> Option<File> {
    std::fs::create_dir_all(folder).ok()?;
    let file = File::create(folder.join(id)).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
