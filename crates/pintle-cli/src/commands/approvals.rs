//! `pintle approvals`: lists and answers open questions.

mod listing;
mod resume;
mod rules;

use std::{path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use pintle_agent::Claim;
use pintle_agent::store::{
    Answer, AnswerResult, Approval, ApprovalFilter, ApprovalState, Decision, IdKind, MessageState,
    Scope, Store,
};
use serde_json::json;
use tokio::time::{Instant, sleep};

use self::{
    listing::{list, show},
    resume::{Late, ResumedRun},
};
use crate::{
    agents::refuse_agents,
    args::{Approvals, ApprovalsCommand, Who},
    assembly::{AgentOptions, Assembled},
    chat::{Input, RunView, Screen, settled_already, terminal},
    environment::Environment,
    ids,
    origin::{assemble, known},
    out::{say, say_json, tell},
    problem::Problem,
    shown::{dim, green, text},
    store,
    term::call,
};

/// How long a run that waits has to use an approval, before `pintle approvals` exits.
const TAKES_UP_WITHIN: Duration = Duration::from_secs(5);
/// A run that continues may ask its next question.
const ONE_AT_A_TIME: &str =
    "ask the agent again with `pintle chat`: `pintle approvals` answers one question at a time";
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub(crate) async fn run(
    environment: &Environment,
    approvals: Approvals,
) -> Result<ExitCode, Problem> {
    let (_, nothing_is_asked_here) = terminal();
    let input = Input::open(false, PathBuf::new());
    let screen = Screen::quiet(environment).when_unasked(ONE_AT_A_TIME);
    let mut view = RunView::new(screen, input, nothing_is_asked_here);
    match view.interrupts.or_stopped(look_or_answer(environment, approvals)).await {
        Err(code) => Ok(code.into()),
        Ok(done) => match done? {
            Done::Printed => Ok(ExitCode::SUCCESS),
            Done::Resumes(resumed) => resumed.play(environment, view).await,
        },
    }
}

/// The open questions, for `/approvals`.
pub(crate) async fn list_open(environment: &Environment, store: &dyn Store) -> Result<(), Problem> {
    store.expire_approvals().await?;
    list(environment, store, false).await
}

/// The next step after an answer.
enum Done {
    Printed,
    Resumes(Box<ResumedRun>),
}

async fn look_or_answer(environment: &Environment, approvals: Approvals) -> Result<Done, Problem> {
    let (store, queues) = store::open_with_queues(environment).await?;
    store.expire_approvals().await?;
    let command = approvals.command.unwrap_or(ApprovalsCommand::List { all: false });
    let (id, answer, who) = match command {
        ApprovalsCommand::List { all } => {
            list(environment, &*store, all).await?;
            return Ok(Done::Printed);
        }
        ApprovalsCommand::Show { id } => {
            show(environment, &*store, &find(&*store, &id).await?).await?;
            return Ok(Done::Printed);
        }
        ApprovalsCommand::Rules { revoke } => {
            rules::list_or_revoke(environment, &*store, revoke).await?;
            return Ok(Done::Printed);
        }
        ApprovalsCommand::Approve { id, session, always, who } => {
            let scope = match (session, always) {
                (true, _) => Scope::Session,
                (_, true) => Scope::Always,
                _ => Scope::Once,
            };
            (id, OperatorAnswer { decision: Decision::Approve(scope), reason: None }, who)
        }
        ApprovalsCommand::Deny { id, reason, who } => {
            (id, OperatorAnswer { decision: Decision::Deny, reason }, who)
        }
    };
    refuse_agents("answer a question")?;
    let approval = find(&*store, &id).await?;
    ids::learn(&*store, IdKind::Approval, &approval.id).await;
    let by = answers_as(environment, &approval)?;
    if approval.origin.is_some() {
        known(&approval, &who)?;
    }
    let message = queues.message(&approval.run_id).await?;
    let is_the_gateways = message.is_some_and(|message| {
        matches!(message.state, MessageState::Queued | MessageState::Parked)
    });
    // A waiting run holds its session. If the session is free, the run's process is gone, and the run continues here. The
    // gateway continues runs of chats, now or after its next start.
    let claim = match is_the_gateways {
        true => None,
        false => store.try_claim(&approval.session_id).await?,
    };
    let answering = Answering { environment, store, by, answer, who };
    if is_the_gateways {
        return answering.to_the_gateway(approval).await;
    }
    match claim {
        Some(claim) => answering.in_its_place(&approval.id, claim).await,
        None => answering.to_its_run(approval).await,
    }
}

async fn find(store: &dyn Store, typed: &str) -> Result<Approval, Problem> {
    let all = store.approvals(ApprovalFilter::default()).await?.into_iter().map(|it| it.id);
    let id = ids::find(store, IdKind::Approval, typed, all).await?;
    match store.approval(&id).await? {
        Some(approval) if approval.shows_what_runs() => Ok(approval),
        Some(_) => Err(shows_something_else(&ids::short(store, IdKind::Approval, &id).await?)),
        None => Err(Problem::not_found(format!("{typed} was deleted with its session"))),
    }
}

/// The arguments shown are the ones that would run (P3).
fn shows_something_else(id: &str) -> Problem {
    Problem::new(format!("{id} cannot be answered: its arguments were changed in the database"))
        .cause("another program wrote to the database, so another call would run than is shown")
        .fix("stop its run, or send a message in its conversation: that cancels the question")
}

/// The name under which the person at this command line may answer: one of their names that pintle.toml lists now.
fn answers_as(environment: &Environment, approval: &Approval) -> Result<String, Problem> {
    let today = environment.operator()?.approvers;
    let may = |name: &String| approval.may_be_answered_by(name) && today.contains(name);
    let names = environment.names();
    if let Some(name) = names.iter().find(|name| may(name)) {
        return Ok(name.clone());
    }
    let who: Vec<_> = approval.approvers.iter().filter(|name| may(name)).cloned().collect();
    let who = if who.is_empty() { "no one any more".to_string() } else { who.join(", ") };
    Err(not_allowed(names.first().map_or("no one", String::as_str), &who))
}

fn not_allowed(by: &str, who: &str) -> Problem {
    Problem::new(format!("`{by}` may not answer this; nothing was changed"))
        .cause(format!("pintle.toml lets these answer: {who}"))
        .fix("run pintle approvals as one of these users")
}

/// The answer on the command line.
struct OperatorAnswer {
    decision: Decision,
    reason: Option<String>,
}

struct Answering<'e> {
    environment: &'e Environment,
    store: Arc<dyn Store>,
    by: String,
    answer: OperatorAnswer,
    who: Who,
}

impl Answering<'_> {
    /// The run that asked is gone, and this process holds its session, so no other continues it.
    async fn in_its_place(&self, id: &str, claim: Claim) -> Result<Done, Problem> {
        // The state may have changed since it was read without the claim.
        let approval = find(&*self.store, id).await?;
        let approves = self.approves();
        if approval.state == ApprovalState::Approved && approval.waits_for_its_run() {
            // The run died before it got the approval, which still stands: approving again continues the run.
            if !approves {
                let how = "pintle approvals approve continues its run; a new message in its conversation cancels it";
                return Err(already(&approval).fix(how));
            }
            let resumed = self.resumed(approval, claim).await;
            let resumed = resumed.map_err(|problem| {
                problem.fix("then approve again: nothing ran, and the approval still stands")
            })?;
            let settled = settled_already(&resumed.approval);
            tell!("{}", dim(text!("{}; its run continues", settled)));
            return Ok(Done::Resumes(resumed));
        }
        if approval.state != ApprovalState::Pending {
            return Err(already(&approval));
        }
        // Before an approval it must be sure that the run can continue. A denial runs nothing either way.
        let ready = match approves {
            false => None,
            true => Some(self.assemble(&approval).await.map_err(|problem| {
                problem.fix("then answer again: nothing ran, and the question still waits")
            })?),
        };
        let (approval, late) = match self.record(&approval).await {
            Ok(AnswerResult::Accepted(approval)) => {
                self.say_answered(&approval).await?;
                (*approval, None)
            }
            // Another answer was first, and left the run to the holder of its session.
            Ok(AnswerResult::AlreadyAnswered(approval)) if approval.waits_for_its_run() => {
                let agrees = approves == (approval.state == ApprovalState::Approved);
                let late = match agrees {
                    true => Late::AndAgrees,
                    false => Late::AndDisagrees(already(&approval)),
                };
                (*approval, Some(late))
            }
            other => {
                if let Some(ready) = ready {
                    ready.close().await;
                }
                return Err(self.refused(&approval, other));
            }
        };
        let ready = match ready {
            Some(ready) => Ok(ready),
            None => self.assemble(&approval).await,
        };
        match (ready, late) {
            (Ok(assembled), late) => {
                if let Some(Late::AndAgrees) = late {
                    tell!("{}", dim(text!("{}; its run continues", settled_already(&approval))));
                }
                Ok(Done::Resumes(Box::new(ResumedRun { assembled, claim, approval, late })))
            }
            (Err(_), Some(Late::AndDisagrees(late))) => Err(late),
            (Err(problem), _) => {
                let goes_on = "its run had ended and cannot continue; the next message in its conversation will";
                tell!("{}\n{}", problem, dim(goes_on));
                self.not_resumed(&approval)
            }
        }
    }

    /// Another process holds the session and acts on the answer.
    async fn to_its_run(&self, approval: Approval) -> Result<Done, Problem> {
        let approval = match self.record(&approval).await {
            Ok(AnswerResult::Accepted(approval)) => *approval,
            other => return Err(self.refused(&approval, other)),
        };
        if self.approves()
            && let Some(claim) = self.left_behind(&approval).await?
        {
            let again = "then pintle approvals approve again: the approval still stands";
            let resumed =
                self.resumed(approval, claim).await.map_err(|problem| problem.fix(again))?;
            self.say_answered(&resumed.approval).await?;
            return Ok(Done::Resumes(resumed));
        }
        self.say_answered(&approval).await?;
        self.not_resumed(&approval)
    }

    async fn to_the_gateway(&self, approval: Approval) -> Result<Done, Problem> {
        match self.record(&approval).await {
            Ok(AnswerResult::Accepted(approval)) => self.say_answered(&approval).await?,
            other => return Err(self.refused(&approval, other)),
        }
        tell!("{}", dim("`pintle serve` goes on with its run"));
        Ok(Done::Printed)
    }

    /// The session, if its holder exited without acting on the approval.
    async fn left_behind(&self, approval: &Approval) -> Result<Option<Claim>, Problem> {
        let until = Instant::now() + TAKES_UP_WITHIN;
        let waits = async || {
            let now = self.store.approval(&approval.id).await?;
            // A run that asks about its next call has received the answer about this one.
            let (session_id, state) =
                (Some(approval.session_id.clone()), Some(ApprovalState::Pending));
            let next = ApprovalFilter { session_id, state, ..ApprovalFilter::default() };
            let heard = !self.store.approvals(next).await?.is_empty();
            Ok::<_, Problem>(!heard && now.is_some_and(|now| now.waits_for_its_run()))
        };
        while waits().await? && Instant::now() < until {
            if let Some(claim) = self.store.try_claim(&approval.session_id).await? {
                return Ok(waits().await?.then_some(claim));
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(None)
    }

    fn approves(&self) -> bool {
        matches!(self.answer.decision, Decision::Approve(_))
    }

    async fn record(&self, approval: &Approval) -> Result<AnswerResult, Problem> {
        let OperatorAnswer { decision, reason } = &self.answer;
        let (id, args_hash) = (approval.id.clone(), approval.args_hash.clone());
        let (by, decision, reason) = (self.by.clone(), *decision, reason.clone());
        let answer = Answer { id, args_hash, by, decision, reason };
        Ok(self.store.answer_approval(answer).await?)
    }

    /// Why an answer was refused.
    fn refused(&self, approval: &Approval, result: Result<AnswerResult, Problem>) -> Problem {
        match result {
            Err(problem) => problem,
            Ok(AnswerResult::AlreadyAnswered(approval)) => already(&approval),
            Ok(AnswerResult::Expired) => lapsed(),
            Ok(AnswerResult::NotAllowed) => not_allowed(&self.by, &approval.approvers.join(", ")),
            Ok(AnswerResult::NoRule) => {
                Problem::usage("this question offers no rule; nothing was changed")
                    .fix("leave --session and --always out to approve this one call")
            }
            Ok(_) => Problem::new("the question has just changed; nothing was changed")
                .fix("look at it again with pintle approvals show"),
        }
    }

    /// The agent that asked, again.
    async fn assemble(&self, approval: &Approval) -> Result<Assembled, Problem> {
        let origin = known(approval, &self.who)?;
        let (model, store) = (self.who.model.as_deref(), self.store.clone());
        assemble(self.environment, origin, model, store, AgentOptions::default()).await
    }

    async fn resumed(&self, approval: Approval, claim: Claim) -> Result<Box<ResumedRun>, Problem> {
        let assembled = self.assemble(&approval).await?;
        Ok(Box::new(ResumedRun { assembled, claim, approval, late: None }))
    }

    async fn say_answered(&self, approval: &Approval) -> Result<(), Problem> {
        if self.environment.json {
            return Ok(());
        }
        let word = if approval.state == ApprovalState::Approved { "approved" } else { "denied" };
        let covers = match (&approval.rule, approval.scope) {
            (Some(rule), Some(Scope::Session)) => format!(", and all `{rule}` in its session"),
            (Some(rule), Some(Scope::Always)) => format!(", and all `{rule}` always"),
            _ => String::new(),
        };
        let id = ids::short(&*self.store, IdKind::Approval, &approval.id).await?;
        say!("{} {} · {}{}", green(word), call(&approval.tool, &approval.args), dim(id), covers);
        Ok(())
    }

    fn not_resumed(&self, approval: &Approval) -> Result<Done, Problem> {
        if self.environment.json {
            say_json(&json!({ "answered": approval.id, "resumed": false }))?;
        }
        Ok(Done::Printed)
    }
}

fn already(approval: &Approval) -> Problem {
    if approval.state == ApprovalState::Expired {
        return lapsed();
    }
    Problem::new(format!("{}; your answer changed nothing", settled_already(approval)))
}

fn lapsed() -> Problem {
    Problem::new("the question has expired; your answer changed nothing")
}
