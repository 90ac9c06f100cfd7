//! Asks people for approval. Every question is stored first, then shown to the people who can answer. The first valid answer
//! wins, from any terminal or chat (R11.4–R11.6).

use std::sync::{Arc, OnceLock};

use futures_util::future::{BoxFuture, FutureExt};
pub(crate) use pintle_agent::now_ms;
use pintle_agent::store::{
    Answer, AnswerResult, Approval, ApprovalFilter, ApprovalState, Decision, IdKind, NewApproval,
    Origin, Program, Scope,
};
use pintle_agent::{
    ApprovalOutcome, ApprovalRequest, ApprovalRule, Approver, Claim, Prepared, StandingRule, Store,
    StoreError,
};
use pintle_gateway::RuleBook;
use tokio::sync::{mpsc, oneshot};

use super::{
    asking::AskedAbout,
    question::{Question, short},
};
use crate::{
    ids,
    out::{tell, tell_line},
    problem::Problem,
    rules_file,
    shown::{Shown, dim, text, yellow},
    term::{Glyph, ago, width, wrap},
};

/// A question, and the channel for its answer.
pub(crate) type PendingQuestion = (ApprovalRequest, oneshot::Sender<TerminalAnswer>);
pub(crate) type Questions = mpsc::UnboundedReceiver<PendingQuestion>;

/// An answer at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TerminalAnswer {
    Yes(Scope),
    No(Option<String>),
}

/// The people who can be asked.
#[derive(Default)]
pub(crate) struct AskVia {
    /// The person at this terminal.
    pub(crate) terminal: Option<mpsc::UnboundedSender<PendingQuestion>>,
    /// A person elsewhere, who answers with `pintle approvals`.
    pub(crate) elsewhere: bool,
    /// Keeps the rules of a session alive; created with the first of them.
    pub(crate) program: Arc<OnceLock<Program>>,
}

/// The people who may answer, and the names of the person at this terminal.
pub(crate) struct Approvers {
    pub(crate) approvers: Vec<String>,
    /// The names of the person at this terminal.
    pub(crate) here: Vec<String>,
}

/// A channel for questions to the person at this terminal.
pub(crate) fn terminal() -> (mpsc::UnboundedSender<PendingQuestion>, Questions) {
    mpsc::unbounded_channel()
}

#[derive(Clone)]
pub(crate) struct StoredApprover(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    ask_via: AskVia,
    asked: Approvers,
    /// The origin of the agent's runs; its personality and platform are those of a session that has none of its own.
    origin: Origin,
    about: AskedAbout,
}

impl StoredApprover {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        ask_via: AskVia,
        asked: Approvers,
        origin: Origin,
        about: AskedAbout,
    ) -> Self {
        Self(Arc::new(Inner { store, ask_via, asked, origin, about }))
    }
}

impl Approver for StoredApprover {
    fn rules(&self, session_id: Option<&str>) -> BoxFuture<'static, Vec<StandingRule>> {
        let (inner, session_id) = (self.0.clone(), session_id.map(str::to_string));
        // Rules that cannot be read cover nothing.
        async move { inner.rules(session_id.as_deref()).await.unwrap_or_default() }.boxed()
    }

    fn prepare<'a>(
        &'a self,
        claim: &'a Claim,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Prepared> {
        let request = self.0.offering(request.clone());
        // A question that cannot be stored is not asked: no one could answer it.
        async move {
            let prepared = self.0.prepare(claim, request).await;
            prepared.unwrap_or(Prepared::Settled(ApprovalOutcome::NoOneToAsk))
        }
        .boxed()
    }

    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
        let (inner, request) = (self.0.clone(), self.0.offering(request));
        async move { inner.ask(request).await.unwrap_or(ApprovalOutcome::Cancelled) }.boxed()
    }
}

impl RuleBook for StoredApprover {
    fn rules(&self, session_id: Option<&str>) -> BoxFuture<'static, Vec<StandingRule>> {
        Approver::rules(self, session_id)
    }

    fn keep(&self, request: &ApprovalRequest, approval: &Approval) -> BoxFuture<'static, ()> {
        let (inner, request, approval) = (self.0.clone(), request.clone(), approval.clone());
        async move { inner.keep_rule(&request, &approval).await }.boxed()
    }

    fn origin(&self, session_id: &str) -> BoxFuture<'static, Option<Origin>> {
        let (inner, session_id) = (self.0.clone(), session_id.to_string());
        async move { inner.origin_of(&session_id).await.ok() }.boxed()
    }
}

impl Inner {
    /// The rules of this session and of the file. A rule applies only while the person who gave it may still approve.
    async fn rules(&self, session_id: Option<&str>) -> Result<Vec<StandingRule>, StoreError> {
        let (workspace, approvers) = (&self.origin.workspace, &self.asked.approvers);
        let mut rules = Vec::new();
        if let (Some(session_id), Some(program)) = (session_id, self.ask_via.program.get()) {
            let own = self.store.rules_in(program, session_id).await?.into_iter();
            let own = own.filter(|it| it.workspace == *workspace && approvers.contains(&it.by));
            rules.extend(own.map(|it| StandingRule { rule: it.rule, written: None }));
        }
        if let Some(file) = &self.about.rules_file {
            rules.extend(rules_file::standing(file, workspace, approvers));
        }
        Ok(rules)
    }

    /// The question as it is shown. Where nothing is stored, as in the demo, it offers no rule.
    fn offering(&self, request: ApprovalRequest) -> ApprovalRequest {
        let rule = request.rule.filter(|_| self.about.rules_file.is_some());
        ApprovalRequest { rule, ..request }
    }

    /// Stores the rule that the answer approves, for as long as the answer says. It is the rule that this program asked about.
    async fn keep_rule(&self, request: &ApprovalRequest, approval: &Approval) {
        let kept = match (approval.scope, &request.rule, &approval.answered_by) {
            (Some(Scope::Session | Scope::Always), asked, _) if *asked != approval.rule => {
                Err(Problem::new("the question now offers another rule"))
            }
            (Some(Scope::Session), Some(rule), Some(by)) => {
                self.keep_for_session(request, rule, by).await
            }
            (Some(Scope::Always), Some(rule), Some(by)) => self.keep_always(rule, by),
            _ => return,
        };
        match (kept, &request.rule) {
            (Ok(words), Some(rule)) => {
                let rule = rule.to_string();
                let kept = text!(
                    "`{}` is not asked about again {} · `pintle approvals rules` takes it back",
                    rule,
                    words
                );
                tell!("  {}", dim(kept));
            }
            (Err(problem), _) => {
                tell!("  {}", yellow("only this call is approved; the rule was not saved"));
                tell!("{}", problem);
            }
            (Ok(_), None) => {}
        }
    }

    async fn keep_for_session(
        &self,
        request: &ApprovalRequest,
        rule: &ApprovalRule,
        by: &str,
    ) -> Result<&'static str, Problem> {
        let program = match self.ask_via.program.get() {
            Some(program) => program,
            None => {
                let program = self.store.program().await?;
                self.ask_via.program.get_or_init(|| program)
            }
        };
        let folder = self.origin.workspace.to_str();
        let folder = folder.ok_or_else(|| Problem::new("the folder's name is not Unicode"))?;
        self.store.add_rule(program, &request.session_id, rule, folder, by).await?;
        Ok("in this conversation until pintle ends")
    }

    fn keep_always(&self, rule: &ApprovalRule, by: &str) -> Result<&'static str, Problem> {
        let file = self.about.rules_file.as_ref();
        let file = file.ok_or_else(|| Problem::new("no rule can be saved here"))?;
        rules_file::add(file, rule, &self.origin.workspace, by, now_ms())?;
        Ok("in this folder")
    }

    async fn prepare(
        &self,
        claim: &Claim,
        request: ApprovalRequest,
    ) -> Result<Prepared, StoreError> {
        let ApprovalRequest { session_id, run_id, args_hash, tool_call_id, reason, .. } = &request;
        let workspace = &self.origin.workspace;
        // A run that died may have asked about the same call, with the same origin. Within one run, each call is asked about
        // separately.
        let asked = self.open(session_id).await?;
        let before = asked.iter().find(|open| {
            open.run_id != *run_id
                && open.tool_call_id == *tool_call_id
                && open.args_hash == *args_hash
                && open.reason == *reason
                && open.origin.as_ref().is_some_and(|origin| {
                    origin.workspace == *workspace && origin.profile == self.origin.profile
                })
        });
        if let Some(before) = before {
            ids::learn(&*self.store, IdKind::Approval, &before.id).await;
            return Ok(Prepared::Stored(before.id.clone()));
        }
        let approver_is_here =
            self.asked.here.iter().any(|name| self.asked.approvers.contains(name));
        if !(self.ask_via.elsewhere || self.ask_via.terminal.is_some() && approver_is_here) {
            return Ok(Prepared::Settled(ApprovalOutcome::NoOneToAsk));
        }
        let origin = self.origin_of(session_id).await?;
        let new = NewApproval {
            run_id: request.run_id,
            tool_call_id: request.tool_call_id,
            tool: request.tool_name,
            args: request.args,
            reason: request.reason,
            approvers: self.asked.approvers.clone(),
            requested_by: "cli".into(),
            expires_at: request.expires_at,
            origin: Some(origin),
            rule: request.rule,
        };
        let id = self.store.request_approval(claim, new).await?.id;
        ids::learn(&*self.store, IdKind::Approval, &id).await;
        Ok(Prepared::Stored(id))
    }

    /// Questions that are open, or whose answer has not taken effect.
    async fn open(&self, session_id: &str) -> Result<Vec<Approval>, StoreError> {
        self.store.expire_approvals().await?;
        let filter = ApprovalFilter {
            session_id: Some(session_id.to_string()),
            ..ApprovalFilter::default()
        };
        let mut all = self.store.approvals(filter).await?;
        all.retain(Approval::is_open);
        Ok(all)
    }

    /// The origin of this run, stored with its question: the same agent can be built again from it.
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
        let id = &request.approval_id;
        let Some(asked) = self.store.approval(id).await? else {
            return Ok(ApprovalOutcome::Cancelled);
        };
        let by = self.asked.here.iter().find(|name| asked.may_be_answered_by(name));
        let here = self.ask_via.terminal.as_ref().zip(by);
        if here.is_none() && asked.state == ApprovalState::Pending {
            // Tells the person here that the question goes to someone else.
            let who = asked.approvers.join(", ");
            let question = Question::of_stored(&asked, &self.about.workspace, &self.about.scrubber);
            let ((call, _), id) = (question.row(), question.short_id());
            let waits = text!("{} {} · waits for an answer from {}", Glyph::Ask, call, who);
            let how = text!("  pintle approvals show {} · approve {} · deny {}", id, id, id);
            tell_line(&wrap(&waits, width(), 2));
            tell_line(&dim(wrap(&how, width(), 2)));
        }
        let elsewhere = self.store.wait_for_answer(id);
        let answered = tokio::select! {
            approval = elsewhere => Ok(Box::new(approval?)),
            (answer, by) = ask_terminal(here, &request) => self.answer(&request, answer, by).await?,
        };
        let outcome = match answered {
            Ok(approval) => {
                self.keep_rule(&request, &approval).await;
                ApprovalOutcome::from(&*approval)
            }
            Err(outcome) => outcome,
        };
        Ok(outcome)
    }

    /// The question with its answer, this one or an earlier one, or its state if it has none.
    async fn answer(
        &self,
        request: &ApprovalRequest,
        answer: TerminalAnswer,
        by: String,
    ) -> Result<Result<Box<Approval>, ApprovalOutcome>, StoreError> {
        let (decision, reason) = match answer {
            TerminalAnswer::Yes(scope) => (Decision::Approve(scope), None),
            TerminalAnswer::No(reason) => (Decision::Deny, reason),
        };
        let (id, args_hash) = (request.approval_id.clone(), request.args_hash.clone());
        let answer = Answer { id, args_hash, by, decision, reason };
        Ok(match self.store.answer_approval(answer).await? {
            AnswerResult::Accepted(approval) => Ok(approval),
            AnswerResult::AlreadyAnswered(approval) => {
                too_late(&text!("{}", settled_already(&approval)));
                Ok(approval)
            }
            AnswerResult::Expired => {
                too_late(&text!("the question expired"));
                Err(ApprovalOutcome::Expired)
            }
            AnswerResult::WrongHash
            | AnswerResult::NotAllowed
            | AnswerResult::NoRule
            | AnswerResult::Unknown => Err(ApprovalOutcome::Cancelled),
        })
    }
}

/// Never returns when no one at this terminal answers: the answer then comes from elsewhere.
async fn ask_terminal(
    here: Option<(&mpsc::UnboundedSender<PendingQuestion>, &String)>,
    request: &ApprovalRequest,
) -> (TerminalAnswer, String) {
    if let Some((terminal, by)) = here {
        let (reply, answer) = oneshot::channel();
        if terminal.send((request.clone(), reply)).is_ok()
            && let Ok(answer) = answer.await
        {
            return (answer, by.clone());
        }
    }
    std::future::pending().await
}

/// The state of a question that is no longer open, and who answered it.
pub(crate) fn settled_already(approval: &Approval) -> String {
    let by = approval.answered_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let at = approval.answered_at.map(|at| format!(" ({})", ago(at, now_ms()))).unwrap_or_default();
    format!("{} was already {}{by}{at}", short(&approval.id), approval.state.as_str())
}

fn too_late(why: &Shown) {
    tell!("  {}", yellow(text!("too late: {}; your answer changed nothing", why)));
}
