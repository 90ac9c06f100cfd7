//! What the store knows of the calls that a dead run has left: a call runs at most once, and never silently (R11.6).

use pintle::points::ToolOutcome;
use pintle_sandbox::Grant;

use super::{
    RunContext, RunError,
    after_call::{after_tool_call, emit_end},
    judge::comes_from_outside,
    ledger::EndedCall,
};
use crate::{
    ToolCall,
    call::{ProposedCall, second_attempt},
    store::{Approval, ApprovalFilter, CallEnd, StoredCall},
};

pub(super) const UNKNOWN: &str = "This call was begun, and the run ended before its result was stored: the outcome is \
                                  unknown. It may have taken effect. It was not run again: check before you repeat it.";
const NOT_RUN: &str = "The run was interrupted before this call ran. It had no effect.";
const ONLY_READS: &str = "The run was interrupted before this call's result was stored. It changes nothing: call it \
                          again if you need the result.";

/// The calls and questions of the session that no result has settled.
pub(super) struct Interrupted {
    calls: Vec<StoredCall>,
    questions: Vec<Approval>,
}

/// How far a call has come.
pub(super) enum Progress {
    /// It is judged again, and runs if it may.
    NotRun,
    /// It is over, and this is what became of it. A person may have been asked whether it runs once more, with these
    /// grants on top (R11.8).
    Ended(EndedCall, Vec<Grant>),
}

impl Interrupted {
    pub(super) async fn read(ctx: &RunContext) -> Result<Self, RunError> {
        let (store, session_id) = (&ctx.agent().store, ctx.session_id());
        store.expire_approvals().await?;
        let calls = store.open_calls(&session_id).await?;
        let filter = ApprovalFilter { session_id: Some(session_id), ..ApprovalFilter::default() };
        let mut questions = store.approvals(filter).await?;
        questions.retain(Approval::is_open);
        Ok(Self { calls, questions })
    }

    /// Whether every judge but a person had allowed the call.
    pub(super) fn was_judged(&self, call: &ToolCall) -> bool {
        self.begun(call).is_some() || self.questions.iter().any(|it| it.tool_call_id == call.id)
    }

    /// The newest attempt at the call.
    fn begun(&self, call: &ToolCall) -> Option<&StoredCall> {
        let second = second_attempt(&call.id);
        self.calls.iter().rfind(|it| it.tool_call_id == call.id || it.tool_call_id == second)
    }

    /// What a run that goes on with the answer has to do about the call.
    pub(super) async fn progress(
        &self,
        ctx: &RunContext,
        call: &ToolCall,
    ) -> Result<Progress, RunError> {
        let Some(begun) = self.begun(call) else { return Ok(Progress::NotRun) };
        let repeatable = ctx.agent().tools.is_repeatable(&call.name);
        if begun.end.is_none() && repeatable {
            return Ok(Progress::NotRun);
        }
        let end = self.end(ctx, call).await?;
        let second = second_attempt(&call.id);
        let asked = self.questions.iter().find(|it| it.tool_call_id == second);
        let grants = asked.and_then(|it| it.args.get("grants"));
        let grants = grants.and_then(|grants| serde_json::from_value(grants.clone()).ok());
        Ok(Progress::Ended(end, grants.unwrap_or_default()))
    }

    /// What became of the call. An outcome that is not known is stored, and the hooks and the person learn of it.
    pub(super) async fn end(
        &self,
        ctx: &RunContext,
        call: &ToolCall,
    ) -> Result<EndedCall, RunError> {
        let with = |end| EndedCall { call: ProposedCall::from_model(call).freeze(), end };
        let at_once =
            |outcome, text: &str| with(CallEnd { outcome, text: text.to_owned(), duration_ms: 0 });
        let Some(begun) = self.begun(call) else {
            return Ok(at_once(ToolOutcome::Cancelled, NOT_RUN));
        };
        if let Some(end) = &begun.end {
            let mut ended = with(end.clone());
            if comes_from_outside(ctx, &ended.call) {
                ended.call = ended.call.marked_outside();
            }
            return Ok(ended);
        }
        if ctx.agent().tools.is_repeatable(&call.name) {
            return Ok(at_once(ToolOutcome::Cancelled, ONLY_READS));
        }
        let ended = at_once(ToolOutcome::Unknown, UNKNOWN);
        ctx.end_call(&begun.id, ended.end.clone()).await?;
        emit_end(ctx, &ended);
        after_tool_call(ctx, &ended).await?;
        Ok(ended)
    }
}
