//! `pintle approvals`: what waits for a person's yes, and answering it.

mod heir;
mod listing;
mod rules;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use pintle_agent::Claim;
use pintle_store::{
    Answer, AnswerResult, Approval, ApprovalFilter, ApprovalState, Decision, Scope, SqliteStore,
};
use serde_json::json;
use tokio::time::{Instant, sleep};

use self::{
    heir::{Heir, Late},
    listing::{list, short, show},
};
use crate::{
    agents::refuse_agents,
    args::{Approvals, ApprovalsCommand, Who},
    assembly::{Assembled, Extras},
    chat::{Lines, Player, Screen, now_ms, settled_already, terminal},
    environment::Environment,
    origin::{assemble, known},
    out::{say, say_json, tell},
    problem::Problem,
    shown::{dim, green, text},
};

/// How long a run that waits has to take up a yes, before whoever gave it leaves.
const TAKES_UP_WITHIN: Duration = Duration::from_secs(5);
/// A run that goes on may come to its next question.
const ONE_AT_A_TIME: &str = "no one was asked: an answer to one question goes no further. Say it again in its conversation, with `pintle chat`";
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub(crate) async fn run(
    environment: &Environment,
    approvals: Approvals,
) -> Result<ExitCode, Problem> {
    let (_, nothing_is_asked_here) = terminal();
    let lines = Lines::open(false, PathBuf::new());
    let screen = Screen::quiet(environment).when_unasked(ONE_AT_A_TIME);
    let mut player = Player::new(screen, lines, nothing_is_asked_here);
    match player.interrupts.unless_told(look_or_answer(environment, approvals)).await {
        Err(code) => Ok(code.into()),
        Ok(done) => match done? {
            Done::Said => Ok(ExitCode::SUCCESS),
            Done::GoesOn(heir) => heir.go_on(environment, player).await,
        },
    }
}

/// What is left to do.
enum Done {
    Said,
    GoesOn(Box<Heir>),
}

async fn look_or_answer(environment: &Environment, approvals: Approvals) -> Result<Done, Problem> {
    let store = SqliteStore::open(environment.database()?).await?;
    store.expire_approvals(now_ms()).await?;
    let command = approvals.command.unwrap_or(ApprovalsCommand::List { all: false });
    let (id, said, who) = match command {
        ApprovalsCommand::List { all } => {
            list(environment, &store, all).await?;
            return Ok(Done::Said);
        }
        ApprovalsCommand::Show { id } => {
            show(environment, &store, &find(&store, &id).await?).await?;
            return Ok(Done::Said);
        }
        ApprovalsCommand::Rules { revoke } => {
            rules::list_or_revoke(environment, &store, revoke).await?;
            return Ok(Done::Said);
        }
        ApprovalsCommand::Approve { id, session, always, who } => {
            let scope = match (session, always) {
                (true, _) => Scope::Session,
                (_, true) => Scope::Always,
                _ => Scope::Once,
            };
            (id, Said { decision: Decision::Approve(scope), reason: None }, who)
        }
        ApprovalsCommand::Deny { id, reason, who } => {
            (id, Said { decision: Decision::Deny, reason }, who)
        }
    };
    refuse_agents("answers a question")?;
    let approval = find(&store, &id).await?;
    let by = answers_as(environment, &approval)?;
    if approval.origin.is_some() {
        known(&approval, &who)?;
    }
    // A run that waits holds its session. When nobody does, its process is gone: it goes on here.
    let claim = store.try_claim(&approval.session_id)?;
    let answering = Answering { environment, store, by, said, who };
    match claim {
        Some(claim) => answering.in_its_place(&approval.id, claim).await,
        None => answering.to_its_run(approval).await,
    }
}

/// Fewer characters fit a question by chance, and a yes must not.
const SHORTEST: usize = 4;

async fn find(store: &SqliteStore, part: &str) -> Result<Approval, Problem> {
    if part.len() < SHORTEST {
        return Err(Problem::new(format!("`{part}` is too little of an id"))
            .hint(format!("give at least {SHORTEST} characters of its start or its end")));
    }
    let mut found = store.find_approval(part).await?;
    match (found.pop(), found.len()) {
        (Some(approval), 0) if approval.shows_what_runs() => Ok(approval),
        (Some(approval), 0) => Err(shows_something_else(&approval)),
        (Some(_), more) => Err(Problem::new(format!("`{part}` fits {} questions", more + 1))
            .hint("give more of the id")),
        (None, _) => Err(Problem::new(format!("there is no question `{part}`"))
            .hint("`pintle approvals list --all` shows all")),
    }
}

/// Nobody is shown arguments that are not those that run, nor answers about them (P3).
fn shows_something_else(approval: &Approval) -> Problem {
    let id = short(&approval.id);
    Problem::new(format!(
        "the arguments of the question {id} were changed in the database: others would run"
    ))
    .hint("it cannot be answered: stop its run, or say something in its conversation, and it is called off")
    .hint("whoever can write to the database can do more than that: look who did")
}

/// Who the person at this command line is to the question: one of their own names, and the operator of today agrees.
fn answers_as(environment: &Environment, approval: &Approval) -> Result<String, Problem> {
    let today = environment.operator()?.approvers;
    let may = |name: &String| approval.may_be_answered_by(name) && today.contains(name);
    let names = environment.names();
    if let Some(name) = names.iter().find(|name| may(name)) {
        return Ok(name.clone());
    }
    let who: Vec<_> = approval.approvers.iter().filter(|name| may(name)).cloned().collect();
    let who = if who.is_empty() { "nobody any more".to_string() } else { who.join(", ") };
    Err(not_allowed(names.first().map_or("nobody", String::as_str), &who))
}

fn not_allowed(by: &str, who: &str) -> Problem {
    Problem::new(format!("`{by}` may not answer this; nothing was changed"))
        .hint(format!("it may be answered by: {who}"))
        .hint("who that is goes by the system's user who runs `pintle approvals`")
}

/// What somebody said on the command line.
struct Said {
    decision: Decision,
    reason: Option<String>,
}

struct Answering<'e> {
    environment: &'e Environment,
    store: SqliteStore,
    by: String,
    said: Said,
    who: Who,
}

impl Answering<'_> {
    /// The run that asked is gone, and nobody else goes on with it while this has its session.
    async fn in_its_place(&self, id: &str, claim: Claim) -> Result<Done, Problem> {
        // What was read before the claim may have been acted on since.
        let approval = find(&self.store, id).await?;
        let approves = self.approves();
        if approval.state == ApprovalState::Approved && approval.waits_for_its_run() {
            // The run died before it heard the yes, which stands: whoever repeats it goes on with the run.
            if !approves {
                let how = "its run stopped before that: `pintle approvals approve` goes on with it, a new message in its conversation calls it off";
                return Err(already(&approval).hint(how));
            }
            let heir = self.heir(approval, claim).await;
            let heir = heir.map_err(|problem| problem.hint("nothing ran; the yes still stands"))?;
            let settled = settled_already(&heir.approval);
            tell!("{}", dim(text!("{}: its run goes on", settled)));
            return Ok(Done::GoesOn(heir));
        }
        if approval.state != ApprovalState::Pending {
            return Err(already(&approval));
        }
        // Before a yes it must be sure that the run can go on. A no needs nobody to: nothing runs either way.
        let ready = match approves {
            false => None,
            true => Some(self.assemble(&approval).await.map_err(|problem| {
                problem.hint("nothing ran, and the question can still be answered")
            })?),
        };
        let (approval, late) = match self.record(&approval).await {
            Ok(AnswerResult::Accepted(approval)) => {
                say_answered(self.environment, &approval);
                (*approval, None)
            }
            // Somebody was first, and left the run to whoever has its session.
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
                    tell!("{}", dim(text!("{}: its run goes on", settled_already(&approval))));
                }
                Ok(Done::GoesOn(Box::new(Heir { assembled, claim, approval, late })))
            }
            (Err(_), Some(Late::AndDisagrees(late))) => Err(late),
            (Err(problem), _) => {
                let goes_on = "its run had stopped and does not go on; the conversation does, with its next message";
                tell!("{}\n{}", problem, dim(goes_on));
                self.not_resumed(&approval)
            }
        }
    }

    /// The run that asked, or somebody who goes on with it, has the session and acts on the answer.
    async fn to_its_run(&self, approval: Approval) -> Result<Done, Problem> {
        let approval = match self.record(&approval).await {
            Ok(AnswerResult::Accepted(approval)) => *approval,
            other => return Err(self.refused(&approval, other)),
        };
        if self.approves()
            && let Some(claim) = self.left_behind(&approval).await?
        {
            let again = "your yes stands: `pintle approvals approve` again goes on with the run";
            let heir = self.heir(approval, claim).await.map_err(|problem| problem.hint(again))?;
            say_answered(self.environment, &heir.approval);
            return Ok(Done::GoesOn(heir));
        }
        say_answered(self.environment, &approval);
        self.not_resumed(&approval)
    }

    /// The session, if whoever had it left without acting on the yes.
    async fn left_behind(&self, approval: &Approval) -> Result<Option<Claim>, Problem> {
        let until = Instant::now() + TAKES_UP_WITHIN;
        let waits = async || {
            let now = self.store.approval(&approval.id).await?;
            // A run that asks about its next call has heard the answer about this one.
            let (session_id, state) =
                (Some(approval.session_id.clone()), Some(ApprovalState::Pending));
            let next = ApprovalFilter { session_id, state, ..ApprovalFilter::default() };
            let heard = !self.store.approvals(next).await?.is_empty();
            Ok::<_, Problem>(!heard && now.is_some_and(|now| now.waits_for_its_run()))
        };
        while waits().await? && Instant::now() < until {
            if let Some(claim) = self.store.try_claim(&approval.session_id)? {
                return Ok(waits().await?.then_some(claim));
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(None)
    }

    fn approves(&self) -> bool {
        matches!(self.said.decision, Decision::Approve(_))
    }

    async fn record(&self, approval: &Approval) -> Result<AnswerResult, Problem> {
        let Said { decision, reason } = &self.said;
        let (id, args_hash) = (approval.id.clone(), approval.args_hash.clone());
        let (by, decision, reason) = (self.by.clone(), *decision, reason.clone());
        let answer = Answer { id, args_hash, by, decision, reason };
        Ok(self.store.answer_approval(answer, now_ms()).await?)
    }

    /// Why an answer did not count.
    fn refused(&self, approval: &Approval, result: Result<AnswerResult, Problem>) -> Problem {
        match result {
            Err(problem) => problem,
            Ok(AnswerResult::AlreadyAnswered(approval)) => already(&approval),
            Ok(AnswerResult::Expired) => lapsed(),
            Ok(AnswerResult::NotAllowed) => not_allowed(&self.by, &approval.approvers.join(", ")),
            Ok(AnswerResult::NoRule) => Problem::new(
                "this question offers no rule: only the call itself can be approved; nothing was changed",
            )
            .hint("leave `--session` and `--always` out"),
            Ok(_) => Problem::new("the question changed meanwhile; nothing was changed"),
        }
    }

    /// The agent that asked, again.
    async fn assemble(&self, approval: &Approval) -> Result<Assembled, Problem> {
        let origin = known(approval, &self.who)?;
        let (model, store) = (self.who.model.as_deref(), self.store.clone());
        assemble(self.environment, origin, model, store, Extras::default()).await
    }

    async fn heir(&self, approval: Approval, claim: Claim) -> Result<Box<Heir>, Problem> {
        let assembled = self.assemble(&approval).await?;
        Ok(Box::new(Heir { assembled, claim, approval, late: None }))
    }

    fn not_resumed(&self, approval: &Approval) -> Result<Done, Problem> {
        if self.environment.json {
            say_json(&json!({ "answered": approval.id, "resumed": false }))?;
        }
        Ok(Done::Said)
    }
}

fn already(approval: &Approval) -> Problem {
    if approval.state == ApprovalState::Expired {
        return lapsed();
    }
    Problem::new(format!("{}; nothing was changed", settled_already(approval)))
}

fn lapsed() -> Problem {
    Problem::new("it lapsed before it was answered; nothing was changed")
}

fn say_answered(environment: &Environment, approval: &Approval) {
    if !environment.json {
        let word = if approval.state == ApprovalState::Approved { "approved" } else { "denied" };
        let covers = match (&approval.rule, approval.scope) {
            (Some(rule), Some(Scope::Session)) => format!(", and all `{rule}` in its session"),
            (Some(rule), Some(Scope::Always)) => format!(", and all `{rule}` always"),
            _ => String::new(),
        };
        say!("{} {} {}{}", green(word), approval.tool, short(&approval.id), covers);
    }
}
