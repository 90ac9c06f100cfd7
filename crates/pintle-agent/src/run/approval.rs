//! The last question of step 10: does a person have to approve the call, and does one?

use std::{panic::AssertUnwindSafe, path::Path, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use pintle::{HandlerVerdict, now_ms, points::Untrusted};
use pintle_policy::Floor;

use super::{RunContext, judge::Rejection, new_id, static_checks::Cleared};
use crate::{
    approver::{ApprovalOutcome, ApprovalRequest, Prepared},
    call::FinalCall,
    event::RunEventKind,
    rule::{ApprovalRule, StandingRule},
};

/// How long an approver has to notice by itself that a question has lapsed, and to pass on an answer that came in time.
const GRACE: Duration = Duration::from_secs(5);

/// What a person has to approve.
pub(super) struct ApprovalNeed {
    /// Why, each reason in words. Without any, no one is asked.
    pub(super) reasons: Vec<String>,
    /// Whether the zone alone asks: then a rule may answer (R11.7).
    pub(super) by_zone_alone: bool,
    /// The standing rule that answers.
    pub(super) standing: Option<StandingRule>,
}

impl ApprovalNeed {
    /// What a person has to be asked, if anything: about the zone, and what hooks want; then what the agent has read and where a
    /// link leads, for the words of the call do not say.
    pub(super) fn of(
        cleared: &Cleared<'_>,
        questions: Vec<HandlerVerdict>,
        untrusted: Option<&Untrusted>,
    ) -> Self {
        let by_zone = (cleared.floor == Floor::Ask).then(|| cleared.judged.why.clone());
        let by_zone_alone = by_zone.is_some()
            && questions.is_empty()
            && cleared.granted.is_none()
            && !cleared.is_restricted;
        let read = untrusted.filter(|_| questions.is_empty());
        let wanted = questions.into_iter().map(by_hook);
        let granted = cleared.granted.clone().into_iter();
        let mut reasons: Vec<String> = granted.chain(by_zone).chain(wanted).collect();
        if !reasons.is_empty() {
            let from =
                |it: &Untrusted| format!("the agent has read text from outside ({})", it.from);
            reasons.extend(read.map(from));
            let led = |(written, real): (&str, &Path)| format!("{written} is {}", real.display());
            reasons.extend(cleared.reach.linked().map(led));
        }
        Self { reasons, by_zone_alone, standing: None }
    }
}

/// The hook is named, also where its own words do not.
fn by_hook(HandlerVerdict { handler, reason, .. }: HandlerVerdict) -> String {
    match reason.contains(&*handler) {
        true => reason,
        false => format!("hook `{handler}` asks: {reason}"),
    }
}

impl Cleared<'_> {
    /// The first rule that covers the call.
    pub(super) fn covered_by(
        &self,
        call: &FinalCall,
        rules: Vec<StandingRule>,
    ) -> Option<StandingRule> {
        rules
            .into_iter()
            .find(|it| it.rule.covers(&self.tool.spec, call, &self.reach, self.judged.zone))
    }

    /// The rule that would cover calls like this one.
    pub(super) fn offered_rule(&self, call: &FinalCall) -> Option<ApprovalRule> {
        ApprovalRule::offered(&self.tool.spec, call, &self.reach, self.judged.zone)
    }
}

/// Asks a person, unless a standing rule answers. Everything but an approval is a rejection.
pub(super) async fn ask_person(
    ctx: &RunContext,
    call: &FinalCall,
    cleared: &Cleared<'_>,
    need: ApprovalNeed,
) -> Result<Approved, Rejection> {
    let Some(claim) = ctx.claim() else {
        return Err(Rejection::Denied("the session is not open".into()));
    };
    let timeout =
        u64::try_from(ctx.agent().policy.approval_timeout.as_millis()).unwrap_or(u64::MAX);
    let approver = &ctx.agent().approver;
    let session_id = claim.session_id().to_string();
    let rule = cleared.offered_rule(call).filter(|_| need.by_zone_alone);
    let mut request = ApprovalRequest {
        approval_id: new_id(),
        session_id,
        run_id: ctx.run_id.clone(),
        tool_call_id: call.id().to_string(),
        tool_name: call.tool().to_string(),
        args: call.question(),
        args_hash: call.args_hash(),
        zone: cleared.zone(),
        reason: need.reasons.join("; "),
        expires_at: now_ms().saturating_add(timeout),
        rule,
        can_park: call.grants().is_empty() && ctx.request.lineage.is_none(),
    };
    let by_rule = need.standing.map(|rule| rule.to_string());
    let prepared = match &by_rule {
        Some(by) => Prepared::Settled(ApprovalOutcome::Approved { by: by.clone() }),
        None => caught(|| approver.prepare(&claim, &request)).await?,
    };
    if let Prepared::Stored(id) = &prepared {
        request.approval_id.clone_from(id);
    }
    ctx.emit(RunEventKind::ApprovalRequested {
        approval_id: request.approval_id.clone(),
        tool_call_id: request.tool_call_id.clone(),
        tool_name: request.tool_name.clone(),
        args: request.args.clone(),
        args_hash: request.args_hash.clone(),
        zone: request.zone.name(),
        expires_at: request.expires_at,
    });
    let is_stored = matches!(prepared, Prepared::Stored(_));
    if let Prepared::Settled(outcome) = prepared {
        resolved(ctx, request.approval_id.clone(), &outcome);
        let decided_by = by_rule.unwrap_or_else(|| format!("approval {}", request.approval_id));
        return answered(outcome, &request.reason).map(|()| Approved { decided_by, used_up: None });
    }
    let approval_id = request.approval_id.clone();
    ctx.state().open_approvals.push(approval_id.clone());
    let why = request.reason.clone();
    // An approver lets a question lapse itself: only there is it known which answer came in time, however late it is
    // heard of here. Whatever it does: some time after that the question has no answer any more.
    let asked = caught(|| approver.ask(request));
    let limit = ctx.agent().policy.approval_timeout.saturating_add(GRACE);
    let outcome = match tokio::time::timeout(limit, asked).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(panicked)) => {
            if is_stored {
                // It expires by itself when the store cannot be reached.
                let reason = "the approver panicked";
                let _ = ctx.agent().store.cancel_approval(&claim, &approval_id, reason).await;
            }
            resolved(ctx, approval_id, &ApprovalOutcome::Cancelled);
            return Err(panicked);
        }
        Err(_) => ApprovalOutcome::Expired,
    };
    if outcome == ApprovalOutcome::Parked {
        ctx.state().open_approvals.retain(|open| *open != approval_id);
        return Err(Rejection::Parked);
    }
    resolved(ctx, approval_id.clone(), &outcome);
    if is_stored && matches!(outcome, ApprovalOutcome::Denied { .. }) {
        let heard = ctx.agent().store.acknowledge_denial(&claim, &approval_id).await;
        ctx.written_under_claim(heard).map_err(|error| Rejection::Denied(error.message))?;
    }
    let decided_by = format!("approval {approval_id}");
    let used_up = is_stored.then_some(approval_id);
    answered(outcome, &why).map(|()| Approved { decided_by, used_up })
}

/// An approver that panics denies this call, and the run goes on.
pub(super) async fn caught<'a, T>(ask: impl FnOnce() -> BoxFuture<'a, T>) -> Result<T, Rejection> {
    let asked = AssertUnwindSafe(async move { ask().await }).catch_unwind().await;
    let panicked =
        "this call needs a person's approval, and the part that asks for it failed (it panicked)";
    asked.map_err(|_| Rejection::Denied(panicked.into()))
}

/// What a person said yes to.
pub(super) struct Approved {
    /// The approval or the rule, in words.
    pub(super) decided_by: String,
    /// The approval that the call uses up; a rule stands for the next call too.
    pub(super) used_up: Option<String>,
}

fn answered(outcome: ApprovalOutcome, why: &str) -> Result<(), Rejection> {
    Err(Rejection::Denied(match outcome {
        ApprovalOutcome::Approved { .. } => return Ok(()),
        ApprovalOutcome::Denied { by, reason: Some(reason) } => {
            format!("{by} said no: {reason} (asked because: {why})")
        }
        ApprovalOutcome::Denied { by, reason: None } => {
            format!("{by} said no (asked because: {why})")
        }
        ApprovalOutcome::Expired => "a person was asked and did not answer in time".into(),
        ApprovalOutcome::Parked => return Err(Rejection::Parked),
        ApprovalOutcome::Cancelled => "the question to a person was withdrawn".into(),
        ApprovalOutcome::NoOneToAsk => {
            format!("this call needs a person's approval ({why}), and there is no one to ask")
        }
    }))
}

/// Says what became of a question. Every question that was asked is resolved, also when the run is stopped meanwhile.
pub(super) fn resolved(ctx: &RunContext, approval_id: String, outcome: &ApprovalOutcome) {
    ctx.state().open_approvals.retain(|open| *open != approval_id);
    let (by, reason) = match outcome {
        ApprovalOutcome::Approved { by } => (Some(by.clone()), None),
        ApprovalOutcome::Denied { by, reason } => (Some(by.clone()), reason.clone()),
        _ => (None, None),
    };
    let outcome = outcome.name().to_string();
    ctx.emit(RunEventKind::ApprovalResolved { approval_id, outcome, by, reason });
}
