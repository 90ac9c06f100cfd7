//! Step 10: may this very call run? The cheapest question first, a person last; the first "no" ends it.

use pintle::{
    Cx, HandlerVerdict, Hooks, Point,
    points::{ToolPre, Untrusted},
};
use pintle_policy::{Reach, Zone};
use pintle_sandbox::{Confinement, Unconfined};

use super::{
    RunContext,
    approval::{ApprovalNeed, ask_person, caught},
    new_id,
    static_checks::{Cleared, Finding, JudgedStep, static_checks},
    trail::{JudgedCall, NO_QUESTION, RULE, Trail},
};
use crate::{
    agent::Inner, call::FinalCall, event::RunEventKind, personality::Personality, store::Intent,
    tool::ToolError, toolbox::ToolKind,
};

/// A call that every judge allowed: the only thing a tool accepts.
///
/// It has no public constructor. Code that did not go through the judge cannot run a tool (R6.2).
#[derive(Debug)]
pub struct PermittedCall {
    call: FinalCall,
    /// What it runs.
    tool: ToolKind,
    /// Where its paths lead, as every judge saw it.
    reach: Reach,
    /// How far it reaches.
    zone: Zone,
    /// How its process is held, if it starts one.
    confinement: Option<Confinement>,
    /// The stored approval of a person. It is used up right before the tool runs.
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

    pub(super) fn tool_kind(&self) -> &ToolKind {
        &self.tool
    }

    /// What the store keeps of it before it runs.
    pub(super) fn intent(&self, run_id: &str) -> Intent {
        Intent {
            id: new_id(),
            run_id: run_id.to_string(),
            tool_call_id: self.call.id().to_string(),
            tool: self.call.tool().to_string(),
            args_hash: self.call.args_hash(),
            approval_id: self.approval.clone(),
        }
    }
}

impl std::ops::Deref for PermittedCall {
    type Target = FinalCall;

    fn deref(&self) -> &FinalCall {
        &self.call
    }
}

/// A call that does not run.
#[derive(Debug)]
pub(super) struct Rejected {
    pub(super) call: FinalCall,
    pub(super) why: Rejection,
}

/// Why a call does not run.
#[derive(Debug)]
pub(crate) enum Rejection {
    /// The model made a mistake: there is no such tool, or the arguments do not fit it.
    Invalid(String),
    /// A guard, the zone, a gate or a person refused it.
    Denied(String),
    /// A person is asked, and the run does not wait for the answer: it is parked.
    Parked,
}

impl Rejection {
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Invalid(reason) | Self::Denied(reason) => reason,
            Self::Parked => "a person is asked",
        }
    }

    pub(super) fn into_reason(self) -> String {
        match self {
            Self::Invalid(reason) | Self::Denied(reason) => reason,
            Self::Parked => "a person is asked".into(),
        }
    }
}

/// A call that everything but a person allows.
pub(super) struct Judgement<'c> {
    call: FinalCall,
    cleared: Cleared<'c>,
    need: ApprovalNeed,
}

/// The part of the judgement that needs no person; or why the call does not run.
pub(super) async fn judge(ctx: &RunContext, call: FinalCall) -> Result<Judgement<'_>, Rejected> {
    match check(ctx, &call).await {
        Ok((cleared, need)) => Ok(Judgement { call, cleared, need }),
        Err(why) => Err(Rejected { call, why }),
    }
}

async fn check<'c>(
    ctx: &'c RunContext,
    call: &FinalCall,
) -> Result<(Cleared<'c>, ApprovalNeed), Rejection> {
    let agent = ctx.agent();
    let Some(opened) = ctx.opened() else {
        return Err(Rejection::Denied("the session is not open".into()));
    };
    let lineage: Vec<_> = opened.ancestors.iter().chain([&opened.personality]).collect();
    let (cx, session) = (ctx.call_cx(call.id()), Some(opened.session.id.as_str()));
    let untrusted = ctx.outside.so_far();
    let (hooks, lineage) = (&agent.hooks, &lineage);
    let bench = Bench { agent, hooks, cx: &cx, lineage, session, untrusted };
    let mut trail = Trail::default();
    let (said, weighed) = weigh(&bench, call, &mut trail).await;
    ctx.apply_verdicts(ToolPre::NAME, &said, Some(call.id()));
    record(ctx, call, &trail.steps, bench.untrusted);
    weighed
}

/// Whether the result of a call that ran earlier comes from outside; also if that is not known any more.
pub(super) fn comes_from_outside(ctx: &RunContext, call: &FinalCall) -> bool {
    let Some(opened) = ctx.opened() else { return true };
    let lineage: Vec<_> = opened.ancestors.iter().chain([&opened.personality]).collect();
    match static_checks(ctx.agent(), &lineage, call, &mut Vec::new()) {
        Ok(cleared) => cleared.reaches_others || matches!(cleared.tool.kind, ToolKind::Delegate),
        Err(_) => true,
    }
}

/// Writes down what was judged, and which rule decided: what [`Agent::judge_again`](crate::Agent::judge_again) needs.
pub(super) fn record(
    ctx: &RunContext,
    call: &FinalCall,
    steps: &[JudgedStep],
    untrusted: Option<Untrusted>,
) {
    let ancestors = ctx.opened().map(|opened| opened.ancestors.as_slice()).unwrap_or_default();
    ctx.emit(RunEventKind::Judged {
        tool_call_id: call.id().to_string(),
        tool_name: call.tool().to_string(),
        args: call.args().clone(),
        grants: call.grants().to_vec(),
        ancestors: ancestors.iter().map(|personality| personality.id.clone()).collect(),
        untrusted,
        judged: JudgedCall::of(steps),
    });
}

/// What a call is judged by.
pub(super) struct Bench<'a, 'c> {
    pub(super) agent: &'c Inner,
    pub(super) hooks: &'a Hooks,
    pub(super) cx: &'a Cx,
    /// Who makes the call, behind those who delegated to it.
    pub(super) lineage: &'a [&'a Personality],
    /// The session, whose standing rules may answer.
    pub(super) session: Option<&'a str>,
    /// What the conversation has read from outside.
    pub(super) untrusted: Option<Untrusted>,
}

/// Everything that is asked about a frozen call before a person is: the same in a run, for `explain` and for a replay.
/// Gives what the hooks said, and what the call came to.
pub(super) async fn weigh<'c>(
    bench: &Bench<'_, 'c>,
    call: &FinalCall,
    trail: &mut Trail,
) -> (Vec<HandlerVerdict>, Result<(Cleared<'c>, ApprovalNeed), Rejection>) {
    let cleared = match static_checks(bench.agent, bench.lineage, call, &mut trail.steps) {
        Ok(cleared) => cleared,
        Err(why) => return (Vec::new(), Err(why)),
    };
    let pre = || cleared.tool_pre(call, bench.untrusted.clone());
    let mut outcome = bench.hooks.fire_gate(bench.cx, pre).await;
    trail.hooks_said(bench.hooks, ToolPre::NAME, &outcome.verdicts);
    let questions = outcome.take_questions();
    if let Some(block) = outcome.blocked() {
        let why = Rejection::Denied(block.reason.clone());
        return (outcome.verdicts, Err(why));
    }
    let mut need = ApprovalNeed::of(&cleared, questions, bench.untrusted.as_ref());
    if need.by_zone_alone {
        match caught(|| bench.agent.approver.rules(bench.session)).await {
            Ok(rules) => need.standing = cleared.covered_by(call, rules),
            Err(panicked) => return (outcome.verdicts, Err(panicked)),
        }
    }
    let (finding, detail) = match &need.standing {
        Some(rule) => (Finding::Passes, format!("covered by {rule}")),
        None if need.reasons.is_empty() => (Finding::Passes, NO_QUESTION.to_string()),
        None => (Finding::Asks, need.reasons.join("; ")),
    };
    if let Some(rule) = &need.standing {
        // Nothing but the zone asked, and the rule answers.
        trail.steps.iter_mut().for_each(|step| step.finding = Finding::Passes);
        trail.steps.push(JudgedStep::new(RULE, finding, detail, rule.written.clone()));
    } else {
        trail.steps.push(JudgedStep::new(RULE, finding, detail, None));
    }
    (outcome.verdicts, Ok((cleared, need)))
}

/// The permit of a call, or why there is none. A person is asked last: not about a call that could not run.
pub(super) async fn permit(
    ctx: &RunContext,
    Judgement { call, cleared, need }: Judgement<'_>,
) -> Result<PermittedCall, Rejected> {
    let approved = match need.reasons.is_empty() {
        true => None,
        false => match ask_person(ctx, &call, &cleared, need).await {
            Ok(approved) => Some(approved),
            Err(why) => return Err(Rejected { call, why }),
        },
    };
    let decided_by = approved.as_ref().map(|approved| approved.decided_by.as_str());
    Ok(PermittedCall {
        tool: cleared.tool.kind.clone(),
        zone: cleared.zone(),
        confinement: confinement(&cleared, decided_by),
        approval: approved.and_then(|approved| approved.used_up),
        reach: cleared.reach,
        call: if cleared.reaches_others { call.marked_outside() } else { call },
    })
}

/// How its process is held. Outside a sandbox only a person's approval lets it run (R17.1).
fn confinement(cleared: &Cleared<'_>, decided_by: Option<&str>) -> Option<Confinement> {
    let approved = |by: &str| Unconfined::by(format!("a person, by {by}")).into();
    match cleared.tool.spec.starts_processes {
        true => cleared.confinement.clone().or(decided_by.map(approved)),
        false => None,
    }
}
