//! Step 10: may this very call run? The cheapest question first, a person last; the first "no" ends it.

use std::time::Duration;

use pintle::{Point, points::ToolPre};
use pintle_policy::{Reach, Zone};
use pintle_sandbox::Confinement;

use super::{
    Live,
    ground::{Asked, Ground},
    new_id, now_ms,
};
use crate::{
    approver::{ApprovalOutcome, ApprovalRequest, Prepared},
    call::FinalCall,
    event::RunEventKind,
    tool::ToolError,
    toolbox::Kind,
};

/// How long an approver has to notice by itself that a question has lapsed, and to pass on an answer that came in time.
const GRACE: Duration = Duration::from_secs(5);

/// A call that every judge allowed: the only thing a tool accepts.
///
/// It has no public constructor. Code that did not go through the judge cannot run a tool (R6.2).
#[derive(Debug)]
pub struct PermittedCall {
    call: FinalCall,
    /// Where its paths lead, as every judge saw it.
    reach: Reach,
    /// How far it reaches.
    zone: Zone,
    /// How its process is held, if it starts one.
    confinement: Option<Confinement>,
    /// The question a person said yes to. The yes is used up right before the tool runs.
    approval: Option<String>,
}

impl PermittedCall {
    /// Where the paths in the arguments lead, as it was when the call was judged (P3).
    ///
    /// A tool opens these, not the paths in [`FinalCall::args`]: a symlink may have been swapped since, and a person may
    /// have thought about the call for half an hour. There was no symlink in a path given here; open it so that none
    /// is followed (`O_NOFOLLOW` on each part, or Linux's `RESOLVE_NO_SYMLINKS`) and fail if there is one now.
    ///
    /// ```
    /// # use pintle_agent::{PermittedCall, ToolError};
    /// # fn body(call: PermittedCall) -> Result<(), ToolError> {
    /// let file = match call.reach().path("path") {
    ///     Some(Ok(real)) => real,
    ///     Some(Err(unresolved)) => return Err(ToolError::Failed(unresolved.to_string())),
    ///     None => return Err(ToolError::Failed("the argument `path` is missing".into())),
    /// };
    /// # let _ = file; Ok(())
    /// # }
    /// ```
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// How far the call reaches.
    pub fn zone(&self) -> Zone {
        self.zone
    }

    /// How a process of this call is held: by a sandbox that holds its zone, or outside after a person agreed to that.
    /// There is no other way to start one (R17.1).
    ///
    /// # Errors
    /// When the call is not one that may start a process.
    pub fn confinement(&self) -> Result<&Confinement, ToolError> {
        let refused = || ToolError::Failed("this call may not start a process".into());
        self.confinement.as_ref().ok_or_else(refused)
    }

    /// Uses up the yes, if one was needed: only the first use counts, and only for these very arguments.
    pub(super) async fn use_approval(&self, live: &Live) -> bool {
        match &self.approval {
            Some(id) => live.agent().approver.consume(id, &self.call.args_hash()).await,
            None => true,
        }
    }
}

impl std::ops::Deref for PermittedCall {
    type Target = FinalCall;

    fn deref(&self) -> &FinalCall {
        &self.call
    }
}

/// The permit, and what it is for; or why there is none.
pub(super) async fn judge(live: &Live, call: FinalCall) -> Result<(PermittedCall, Kind), String> {
    let agent = live.agent();
    let Some(opened) = live.opened() else { return Err("the session is not open".into()) };
    let lineage: Vec<_> = opened.ancestors.iter().chain([&opened.personality]).collect();
    let ground = agent.ground(&lineage, &call, &mut Vec::new())?;

    let mut outcome = agent.hooks.fire_gate(&live.cx(), || ground.tool_pre(&call)).await;
    let questions = outcome.take_questions();
    live.heed(ToolPre::NAME, &outcome, Some(call.id()));
    if let Some(block) = outcome.blocked() {
        return Err(block.reason.clone());
    }

    let asked = ground.asked(questions);
    let approved = match asked.reasons.is_empty() {
        true => None,
        false => Some(approval(live, &call, &ground, asked).await?),
    };
    let decided_by = approved.as_ref().map(|approved| approved.decided_by.as_str());
    let (zone, confinement) = (ground.zone(), ground.confinement(decided_by));
    let approval = approved.and_then(|approved| approved.used_up);
    let kind = ground.known.kind.clone();
    Ok((PermittedCall { call, reach: ground.reach, zone, confinement, approval }, kind))
}

/// Nobody is asked about a call that could not run: this comes last.
///
/// Only an approval gives one.
async fn approval(
    live: &Live,
    call: &FinalCall,
    ground: &Ground<'_>,
    asked: Asked,
) -> Result<Approved, String> {
    let Some(opened) = live.opened() else { return Err("the session is not open".into()) };
    let timeout =
        u64::try_from(live.agent().policy.approval_timeout.as_millis()).unwrap_or(u64::MAX);
    let approver = &live.agent().approver;
    let session_id = opened.session.id.clone();
    let (standing, rule) = match asked.by_zone_alone {
        true => {
            let standing = ground.covered_by(call, approver.rules(Some(&session_id)).await);
            (standing, ground.offered_rule(call))
        }
        false => (None, None),
    };
    let mut request = ApprovalRequest {
        approval_id: new_id(),
        session_id,
        run_id: live.run_id.clone(),
        tool_call_id: call.id().to_string(),
        tool_name: call.tool().to_string(),
        args: call.question(),
        args_hash: call.args_hash(),
        reason: asked.reasons.join("; "),
        expires_at: now_ms().saturating_add(timeout),
        rule,
    };
    let by_rule = standing.map(|rule| rule.to_string());
    let prepared = match &by_rule {
        Some(by) => Prepared::Settled(ApprovalOutcome::Approved { by: by.clone() }),
        None => approver.prepare(&request).await,
    };
    if let Prepared::AskAs(id) = &prepared {
        request.approval_id.clone_from(id);
    }
    live.emit(RunEventKind::ApprovalRequested {
        approval_id: request.approval_id.clone(),
        tool_call_id: request.tool_call_id.clone(),
        tool_name: request.tool_name.clone(),
        args: request.args.clone(),
        args_hash: request.args_hash.clone(),
        expires_at: request.expires_at,
    });
    if let Prepared::Settled(outcome) = prepared {
        resolved(live, request.approval_id.clone(), &outcome);
        let decided_by = by_rule.unwrap_or_else(|| format!("approval {}", request.approval_id));
        return verdict(outcome, &request.reason).map(|()| Approved { decided_by, used_up: None });
    }
    let approval_id = request.approval_id.clone();
    live.progress().open_approval = Some(approval_id.clone());
    let why = request.reason.clone();
    // An approver lets a question lapse itself: only there is it known which answer came in time, however late it is
    // heard of here. Whatever it does: some time after that the question has no answer any more.
    let asked = approver.ask(request);
    let limit = live.agent().policy.approval_timeout.saturating_add(GRACE);
    let outcome = tokio::time::timeout(limit, asked).await.unwrap_or(ApprovalOutcome::Expired);
    resolved(live, approval_id.clone(), &outcome);
    let decided_by = format!("approval {approval_id}");
    verdict(outcome, &why).map(|()| Approved { decided_by, used_up: Some(approval_id) })
}

/// What a person said yes to.
struct Approved {
    /// The approval or the rule, in words.
    decided_by: String,
    /// The approval that the call uses up; a rule stands for the next call too.
    used_up: Option<String>,
}

/// Everything but a yes is a no, each in its own words.
fn verdict(outcome: ApprovalOutcome, why: &str) -> Result<(), String> {
    match outcome {
        ApprovalOutcome::Approved { .. } => Ok(()),
        ApprovalOutcome::Denied { by, reason: Some(reason) } => {
            Err(format!("{by} said no: {reason}"))
        }
        ApprovalOutcome::Denied { by, reason: None } => Err(format!("{by} said no")),
        ApprovalOutcome::Expired => Err("a person was asked and nobody answered in time".into()),
        ApprovalOutcome::Cancelled => Err("the question to a person was withdrawn".into()),
        ApprovalOutcome::NoOneToAsk => {
            Err(format!("this call needs a person's approval ({why}), and there is no one to ask"))
        }
    }
}

/// Says what became of a question. Every question that was asked is resolved, also when the run is stopped meanwhile.
pub(super) fn resolved(live: &Live, approval_id: String, outcome: &ApprovalOutcome) {
    live.progress().open_approval = None;
    let (by, reason) = match outcome {
        ApprovalOutcome::Approved { by } => (Some(by.clone()), None),
        ApprovalOutcome::Denied { by, reason } => (Some(by.clone()), reason.clone()),
        _ => (None, None),
    };
    let outcome = outcome.name().to_string();
    live.emit(RunEventKind::ApprovalResolved { approval_id, outcome, by, reason });
}
