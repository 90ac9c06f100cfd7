//! Questions in memory.

use futures_util::future::{BoxFuture, FutureExt};

use super::{MemoryStore, Tables, now};
use crate::{
    run::new_id,
    store::{
        Answer, AnswerResult, Approval, ApprovalFilter, ApprovalState, Approvals, Claim, Decision,
        NewApproval, Stored,
    },
};

impl Approvals for MemoryStore {
    fn request_approval(&self, claim: &Claim, new: NewApproval) -> Stored<'_, Approval> {
        self.fenced(claim, |tables, session_id| {
            let approval = Approval::pending(new_id(), session_id.to_owned(), new, now());
            tables.approvals.push(approval.clone());
            Ok(approval)
        })
    }

    fn approval(&self, id: &str) -> Stored<'_, Option<Approval>> {
        self.read(|tables| tables.approvals.iter().find(|it| it.id == id).cloned())
    }

    fn approvals(&self, filter: ApprovalFilter) -> Stored<'_, Vec<Approval>> {
        let fits = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|it| it == is);
        let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
        self.read(|tables| {
            let fitting = tables.approvals.iter().rev().filter(|it| {
                fits(&filter.session_id, &it.session_id)
                    && fits(&filter.run_id, &it.run_id)
                    && fits(&filter.tool_call_id, &it.tool_call_id)
                    && filter.state.is_none_or(|state| state == it.state)
            });
            fitting.take(limit).cloned().collect()
        })
    }

    fn answer_approval(&self, answer: Answer) -> Stored<'_, AnswerResult> {
        self.write(|tables| {
            expire(tables);
            let Some(approval) = tables.approvals.iter_mut().find(|it| it.id == answer.id) else {
                return Ok(AnswerResult::Unknown);
            };
            if let Some(refused) = approval.refuses(&answer) {
                return Ok(refused);
            }
            (approval.state, approval.scope) = match answer.decision {
                Decision::Approve(scope) => (ApprovalState::Approved, Some(scope)),
                Decision::Deny => (ApprovalState::Denied, None),
            };
            approval.answered_by = Some(answer.by);
            approval.answer_reason = answer.reason;
            approval.answered_at = Some(now());
            Ok(AnswerResult::Accepted(Box::new(approval.clone())))
        })
    }

    fn expire_approvals(&self) -> Stored<'_, Vec<Approval>> {
        self.write(|tables| Ok(expire(tables)))
    }

    fn cancel_approval(&self, claim: &Claim, id: &str, reason: &str) -> Stored<'_, bool> {
        self.fenced(claim, |tables, session_id| {
            let mut own = tables.approvals.iter_mut().filter(|it| it.session_id == session_id);
            let pending = own.find(|it| it.id == id && it.state == ApprovalState::Pending);
            Ok(pending.map(|approval| cancel(approval, reason)).is_some())
        })
    }

    fn withdraw_approvals(&self, claim: &Claim, reason: &str) -> Stored<'_, ()> {
        self.fenced(claim, |tables, session_id| {
            let is_below = |it: &Approval| {
                tables.with_parents(&it.session_id).any(|session| session.id == session_id)
            };
            let below: Vec<bool> = tables.approvals.iter().map(is_below).collect();
            for (approval, is_below) in tables.approvals.iter_mut().zip(below) {
                if is_below && approval.waits_for_its_run() {
                    approval.consumed_at = Some(now());
                } else if is_below && approval.state == ApprovalState::Pending {
                    cancel(approval, reason);
                }
            }
            Ok(())
        })
    }

    fn acknowledge_denial(&self, claim: &Claim, id: &str) -> Stored<'_, ()> {
        self.fenced(claim, |tables, session_id| {
            let mut own = tables.approvals.iter_mut().filter(|it| it.session_id == session_id);
            if let Some(denied) = own.find(|it| it.id == id && it.state == ApprovalState::Denied) {
                denied.consumed_at.get_or_insert(now());
            }
            Ok(())
        })
    }

    fn approvals_changed(&self) -> BoxFuture<'_, ()> {
        self.shared.changed.notified().boxed()
    }
}

fn cancel(approval: &mut Approval, reason: &str) {
    approval.state = ApprovalState::Cancelled;
    approval.answer_reason = Some(reason.to_owned());
    approval.answered_at = Some(now());
}

/// Marks what is over; also run before each answer, so that a late one finds the truth.
fn expire(tables: &mut Tables) -> Vec<Approval> {
    let now = now();
    let over = |it: &&mut Approval| it.state == ApprovalState::Pending && it.expires_at <= now;
    let expired = tables.approvals.iter_mut().filter(over).map(|approval| {
        approval.state = ApprovalState::Expired;
        approval.answered_at = Some(now);
        approval.clone()
    });
    expired.collect()
}
