//! Approvals over chats and HTTP. A question is stored first, then sent to the approvers, and answered once. The run that asked
//! is parked and continues with the answer (R11.4–R11.6, R12.5).

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, OnceLock, Weak},
    time::Duration,
};

use crate::{
    clock::utc,
    gateway::{Gateway, Inner, lock},
    questions::{button_key, question_key},
};
use futures_util::future::{BoxFuture, FutureExt};
use pintle_agent::{
    ApprovalOutcome, ApprovalRequest, Approver, ButtonPress, Prepared, SendError, StandingRule,
    Store,
    store::{
        Answer, AnswerResult, Approval, ApprovalFilter, ApprovalState, Claim, Decision,
        NewApproval, NewOutgoing, Origin, OutgoingFilter, OutgoingMessage, OutgoingState, Scope,
        StoreError,
    },
};

/// Stores the rules that a person approved beyond one call (R11.7).
pub trait RuleBook: Send + Sync + 'static {
    /// The rules that apply in this session.
    fn rules(&self, session_id: Option<&str>) -> BoxFuture<'static, Vec<StandingRule>>;
    /// Stores the rule of this answered question, for as long as the answer says.
    fn keep(&self, request: &ApprovalRequest, approval: &Approval) -> BoxFuture<'static, ()>;
    /// The origin of the run that asks: folder, profile, model and level.
    fn origin(&self, session_id: &str) -> BoxFuture<'static, Option<Origin>>;
}

/// Asks approvers through the gateway. A run that waits for an answer is parked.
#[derive(Clone)]
pub struct GatewayApprover(Arc<State>);

struct State {
    store: Arc<dyn Store>,
    approvers: Vec<String>,
    rules: Option<Arc<dyn RuleBook>>,
    gateway: OnceLock<Weak<Inner>>,
    runs: Mutex<HashMap<String, Waiting>>,
    /// Questions whose runs wait in place: they may be stopped at any time.
    in_place: Mutex<HashSet<String>>,
}

/// The state of a running run.
struct Waiting {
    requester: String,
    /// The question for whose answer it was parked.
    resumed: Option<String>,
    /// The questions for which it is to be parked, and when they lapse.
    parked: Vec<(String, u64)>,
}

impl GatewayApprover {
    /// Asks these people, by identity: `telegram:42`, or a user of this machine.
    pub fn new(store: Arc<dyn Store>, approvers: Vec<String>) -> Self {
        Self::with(store, approvers, None)
    }

    /// With rules that outlive one call.
    #[must_use]
    pub fn rule_book(self, rules: Arc<dyn RuleBook>) -> Self {
        let (store, approvers) = (self.0.store.clone(), self.0.approvers.clone());
        Self::with(store, approvers, Some(rules))
    }

    fn with(
        store: Arc<dyn Store>,
        approvers: Vec<String>,
        rules: Option<Arc<dyn RuleBook>>,
    ) -> Self {
        let (runs, in_place) = (Mutex::default(), Mutex::default());
        Self(Arc::new(State { store, approvers, rules, gateway: OnceLock::new(), runs, in_place }))
    }

    pub(crate) fn connect(&self, gateway: &Gateway) {
        let _ = self.0.gateway.set(Arc::downgrade(&gateway.inner));
    }

    /// A run begins; `resumed` is the question it waited for.
    pub(crate) fn begin(&self, run_id: &str, requester: String, resumed: Option<String>) {
        let waiting = Waiting { requester, resumed, parked: Vec::new() };
        lock(&self.0.runs).insert(run_id.to_string(), waiting);
    }

    /// A run has ended. Returns the questions for which it is to be parked.
    pub(crate) fn end(&self, run_id: &str) -> Vec<(String, u64)> {
        lock(&self.0.runs).remove(run_id).map(|run| run.parked).unwrap_or_default()
    }
}

impl Approver for GatewayApprover {
    fn rules(&self, session_id: Option<&str>) -> BoxFuture<'static, Vec<StandingRule>> {
        match &self.0.rules {
            Some(rules) => rules.rules(session_id),
            None => std::future::ready(Vec::new()).boxed(),
        }
    }

    fn prepare<'a>(
        &'a self,
        claim: &'a Claim,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Prepared> {
        // A question that cannot be stored is not asked: it could not be answered.
        async move {
            let prepared = self.0.prepare(claim, request).await;
            prepared.unwrap_or(Prepared::Settled(ApprovalOutcome::NoOneToAsk))
        }
        .boxed()
    }

    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
        let state = self.0.clone();
        async move { state.ask(request).await.unwrap_or(ApprovalOutcome::Cancelled) }.boxed()
    }
}

impl State {
    async fn prepare(
        &self,
        claim: &Claim,
        request: &ApprovalRequest,
    ) -> Result<Prepared, StoreError> {
        if self.approvers.is_empty() {
            return Ok(Prepared::Settled(ApprovalOutcome::NoOneToAsk));
        }
        self.store.expire_approvals().await?;
        let resumed = lock(&self.runs).get_mut(&request.run_id).and_then(|run| run.resumed.clone());
        let filter = ApprovalFilter {
            session_id: Some(request.session_id.clone()),
            tool_call_id: Some(request.tool_call_id.clone()),
            ..ApprovalFilter::default()
        };
        // The same call was asked about before the run was parked or its process ended.
        let before = self.store.approvals(filter).await?.into_iter().find(|it| {
            it.args_hash == request.args_hash
                && it.reason == request.reason
                && (it.is_open() || resumed.as_ref() == Some(&it.id))
        });
        if let Some(before) = before {
            if let Some(run) = lock(&self.runs).get_mut(&request.run_id) {
                run.resumed.take_if(|id| *id == before.id);
            }
            return Ok(Prepared::Stored(before.id));
        }
        let requester = lock(&self.runs).get(&request.run_id).map(|run| run.requester.clone());
        let origin = match &self.rules {
            Some(rules) => rules.origin(&request.session_id).await,
            None => None,
        };
        let new = NewApproval {
            run_id: request.run_id.clone(),
            tool_call_id: request.tool_call_id.clone(),
            tool: request.tool_name.clone(),
            args: request.args.clone(),
            reason: request.reason.clone(),
            approvers: self.approvers.clone(),
            requested_by: requester.unwrap_or_else(|| "sub-agent".into()),
            expires_at: request.expires_at,
            origin,
            rule: request.rule.clone(),
        };
        Ok(Prepared::Stored(self.store.request_approval(claim, new).await?.id))
    }

    async fn ask(&self, request: ApprovalRequest) -> Result<ApprovalOutcome, StoreError> {
        let id = &request.approval_id;
        let Some(mut approval) = self.store.approval(id).await? else {
            return Ok(ApprovalOutcome::Cancelled);
        };
        if approval.state == ApprovalState::Pending {
            if request.can_park && self.park(&request.run_id, &approval) {
                return Ok(ApprovalOutcome::Parked);
            }
            // Tools of this run, or of the run that delegated to it, are still running: it waits instead of being parked.
            let gateway = self.gateway.get().and_then(Weak::upgrade).map(|inner| Gateway { inner });
            if let Some(gateway) = &gateway {
                lock(&self.in_place).insert(id.clone());
                gateway.ask_approvers(&approval).await?;
            }
            approval = self.store.wait_for_answer(id).await?;
        }
        if let (Some(rules), ApprovalState::Approved) = (&self.rules, approval.state) {
            rules.keep(&request, &approval).await;
        }
        Ok(ApprovalOutcome::from(&approval))
    }

    /// `false` when the run is not one of the gateway's own.
    fn park(&self, run_id: &str, approval: &Approval) -> bool {
        let mut runs = lock(&self.runs);
        let Some(run) = runs.get_mut(run_id) else { return false };
        run.parked.push((approval.id.clone(), approval.expires_at));
        true
    }
}

/// An answer that is not yet tied to an approver.
pub(crate) struct ApprovalReply {
    pub(crate) id: String,
    pub(crate) args_hash: String,
    pub(crate) decision: Decision,
    pub(crate) reason: Option<String>,
}

/// The result of an answer.
pub(crate) enum ReplyResult {
    By(AnswerResult),
    /// The person who asked for the call cannot approve it.
    Requester,
}

impl ReplyResult {
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Requester => "You asked for this, so another approver has to approve it.".into(),
            Self::By(AnswerResult::Accepted(approval)) => settled_words(approval),
            Self::By(AnswerResult::AlreadyAnswered(approval)) => {
                format!("Too late: {} Your answer changed nothing.", settled_words(approval))
            }
            Self::By(AnswerResult::Expired) => "Too late: the question has expired.".into(),
            Self::By(AnswerResult::WrongHash) => {
                "These are not the arguments that would run. Look at the question again.".into()
            }
            Self::By(AnswerResult::NotAllowed) => "You may not answer this question.".into(),
            Self::By(AnswerResult::NoRule) => "The question offers no rule.".into(),
            Self::By(AnswerResult::Unknown) => "No question has this id.".into(),
        }
    }
}

/// The decision, who made it, and when.
pub(crate) fn settled_words(approval: &Approval) -> String {
    let by = approval.answered_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let reason = approval.answer_reason.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    let (state, tool) = (approval.state.as_str(), &approval.tool);
    let at = approval.answered_at.map(|at| format!(" at {}", utc(at))).unwrap_or_default();
    format!("{tool} was {state}{by}{at}{reason}.")
}

impl Gateway {
    /// Answers a question as the first of these identities that may answer it. Chats, the page and the API all call this.
    pub(crate) async fn answer(
        &self,
        identities: &[String],
        reply: ApprovalReply,
    ) -> Result<ReplyResult, StoreError> {
        let store = &self.inner.store;
        store.expire_approvals().await?;
        let Some(approval) = store.approval(&reply.id).await? else {
            return Ok(ReplyResult::By(AnswerResult::Unknown));
        };
        let by = identities.iter().find(|identity| approval.may_be_answered_by(identity));
        let Some(by) = by else { return Ok(ReplyResult::By(AnswerResult::NotAllowed)) };
        if matches!(reply.decision, Decision::Approve(_)) && *by == approval.requested_by {
            return Ok(ReplyResult::Requester);
        }
        let (id, by) = (reply.id.clone(), by.clone());
        let answer = Answer {
            id: reply.id,
            args_hash: reply.args_hash,
            by,
            decision: reply.decision,
            reason: reply.reason,
        };
        let result = store.answer_approval(answer).await?;
        if let AnswerResult::Accepted(_) = &result {
            self.close_questions(&id).await?;
            self.inner.queues.wake(&id).await?;
            self.inner.work.notify_one();
        }
        Ok(ReplyResult::By(result))
    }

    /// A person pressed a button under a question.
    pub(crate) async fn pressed(&self, press: ButtonPress) -> Result<String, StoreError> {
        let Some(meant) = self.inner.queues.value(&button_key(&press.token)).await? else {
            return Ok("This button is not valid any more.".into());
        };
        let (word, id) = meant.split_once(' ').unwrap_or_default();
        let Some(approval) = self.inner.store.approval(id).await? else {
            return Ok("No question has this id.".into());
        };
        let reply = ApprovalReply {
            id: id.to_string(),
            args_hash: approval.args_hash.clone(),
            decision: match word {
                "approve" => Decision::Approve(Scope::Once),
                _ => Decision::Deny,
            },
            reason: None,
        };
        let identity = format!("{}:{}", press.platform, press.sender_id);
        Ok(self.answer(&[identity], reply).await?.in_words())
    }

    pub(crate) async fn is_pending(&self, approval_id: &str) -> Result<bool, StoreError> {
        let approval = self.inner.store.approval(approval_id).await?;
        Ok(approval.is_some_and(|approval| approval.state == ApprovalState::Pending))
    }

    /// Whether a question was sent to this chat.
    pub(crate) async fn was_asked_in(
        &self,
        approval_id: &str,
        platform: &str,
        chat_id: &str,
    ) -> Result<bool, StoreError> {
        let filter = OutgoingFilter {
            approval_id: Some(approval_id.to_string()),
            state: Some(OutgoingState::Accepted),
            ..OutgoingFilter::default()
        };
        let is_here =
            |it: &OutgoingMessage| it.new.platform == platform && it.new.chat_id == chat_id;
        Ok(self.inner.queues.outgoing(filter).await?.iter().any(is_here))
    }

    /// Shows the decision in every chat that has the question, and removes its buttons.
    pub(crate) async fn close_questions(&self, approval_id: &str) -> Result<(), StoreError> {
        let Some(approval) = self.inner.store.approval(approval_id).await? else { return Ok(()) };
        // An answer here or the check for answers from elsewhere closes it, whichever comes first.
        if approval.state == ApprovalState::Pending
            || !self.inner.queues.take_value(&question_key(approval_id)).await?
        {
            return Ok(());
        }
        let filter = OutgoingFilter {
            approval_id: Some(approval_id.to_string()),
            state: Some(OutgoingState::Accepted),
            ..OutgoingFilter::default()
        };
        for sent in self.inner.queues.outgoing(filter).await? {
            if let Some(message_id) = &sent.platform_id {
                self.close_question(&sent.new, message_id, &approval);
            }
        }
        Ok(())
    }

    /// The same in one chat. If the platform fails, it is tried again.
    pub(crate) fn close_question(&self, sent: &NewOutgoing, message_id: &str, approval: &Approval) {
        let Some(channel) = self.inner.channels.get(&sent.platform).cloned() else { return };
        // The decision comes first: a platform that cuts the text cuts off the question.
        let text = format!("{}\n\n{}", settled_words(approval), sent.text);
        let (chat_id, message_id) = (sent.chat_id.clone(), message_id.to_string());
        let gateway = self.clone();
        self.spawn(async move {
            let mut pause = Duration::from_secs(1);
            for _ in 0..gateway.inner.config.send_attempts {
                let edited = tokio::select! {
                    () = gateway.inner.stop.cancelled() => return,
                    edited = channel.edit(&chat_id, &message_id, &text) => edited,
                };
                let wait = match edited {
                    Ok(()) => return,
                    Err(SendError::Rejected(reason)) => {
                        let trouble = format!("a question stays open: {reason}");
                        return gateway.inner.hub.trouble(channel.platform(), &trouble);
                    }
                    Err(SendError::RetryAfter(wait)) => wait,
                    Err(SendError::Temporary(_) | SendError::Unknown(_)) => pause,
                };
                pause *= 2;
                tokio::select! {
                    () = gateway.inner.stop.cancelled() => return,
                    () = tokio::time::sleep(wait) => {}
                }
            }
            gateway.inner.hub.trouble(channel.platform(), "a question stays open");
        });
    }

    /// Wakes runs whose question was answered elsewhere or has expired.
    pub(crate) async fn watch_approvals(self) {
        loop {
            tokio::select! {
                () = self.inner.stop.cancelled() => return,
                () = self.inner.store.approvals_changed() => {}
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
            let looked = async {
                self.close_in_place().await?;
                self.wake_answered().await
            };
            if let Err(error) = looked.await {
                self.inner.hub.trouble("approvals", &error.to_string());
            }
        }
    }

    /// Closes the questions of runs that were not parked, even when the run was stopped.
    async fn close_in_place(&self) -> Result<(), StoreError> {
        let in_place = &self.inner.approver.0.in_place;
        let open: Vec<String> = lock(in_place).iter().cloned().collect();
        for id in open {
            if !self.is_pending(&id).await? {
                self.close_questions(&id).await?;
                lock(in_place).remove(&id);
            }
        }
        Ok(())
    }

    async fn wake_answered(&self) -> Result<(), StoreError> {
        use pintle_agent::store::MessageState;

        let parked = self.inner.queues.messages(MessageState::Parked).await?;
        if parked.is_empty() {
            return Ok(());
        }
        self.inner.store.expire_approvals().await?;
        let filter = ApprovalFilter { state: Some(ApprovalState::Pending), ..Default::default() };
        let pending: std::collections::HashSet<String> =
            self.inner.store.approvals(filter).await?.into_iter().map(|it| it.id).collect();
        for id in parked.into_iter().filter_map(|message| message.waiting_on) {
            if !pending.contains(&id) {
                self.close_questions(&id).await?;
                self.inner.queues.wake(&id).await?;
                self.inner.work.notify_one();
            }
        }
        Ok(())
    }
}
