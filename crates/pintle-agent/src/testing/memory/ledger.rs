//! The ledger of tool calls in memory.

use futures_util::FutureExt;

use super::{Access, CallRow, MemoryStore, Tables, now};
use crate::store::{
    ApprovalState, Begun, CallEnd, CallFilter, Claim, FencingToken, Intent, Ledger, StoreError,
    Stored, StoredCall,
};

impl Ledger for MemoryStore {
    fn begin_call(&self, claim: &Claim, intent: Intent) -> Stored<'_, Begun> {
        let (delay, token) = (self.delay(Access::BeginCall(&intent)), claim.token().clone());
        async move {
            delay.await;
            let mut tables = self.tables();
            tables.fence(&token)?;
            Ok(begin(&mut tables, &token, intent))
        }
        .boxed()
    }

    fn end_call(&self, claim: &Claim, id: &str, end: CallEnd) -> Stored<'_, ()> {
        self.fenced(claim, |tables, session_id| {
            let mut own = tables.calls.iter_mut().filter(|row| row.call.session_id == session_id);
            match own.find(|row| row.call.id == id) {
                Some(row) => row.call.end = Some(end),
                None => {
                    let detail = format!("the session has no call `{id}`");
                    return Err(StoreError::Failed { doing: "ending a tool call", detail });
                }
            }
            Ok(())
        })
    }

    fn open_calls(&self, session_id: &str) -> Stored<'_, Vec<StoredCall>> {
        self.read(|tables| {
            let open = |row: &&CallRow| row.call.session_id == session_id && !row.settled;
            tables.calls.iter().filter(open).map(|row| row.call.clone()).collect()
        })
    }

    fn calls(&self, filter: CallFilter) -> Stored<'_, Vec<StoredCall>> {
        let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
        let fits = |call: &&StoredCall| {
            let outcome = call.end.as_ref().map(|end| end.outcome);
            filter.session_id.as_ref().is_none_or(|id| *id == call.session_id)
                && filter.outcome.is_none_or(|wanted| outcome == Some(wanted))
        };
        self.read(|tables| {
            let calls = tables.calls.iter().rev().map(|row| &row.call);
            calls.filter(fits).take(limit).cloned().collect()
        })
    }
}

impl Tables {
    /// Their results are in the conversation now.
    pub(super) fn settle_calls(&mut self, session_id: &str) {
        for row in self.calls.iter_mut().filter(|row| row.call.session_id == session_id) {
            row.settled = true;
            if let Some(end) = &mut row.call.end {
                end.text.clear();
            }
        }
    }
}

fn begin(tables: &mut Tables, token: &FencingToken, intent: Intent) -> Begun {
    if let Some(id) = &intent.approval_id {
        let unused = tables.approvals.iter_mut().find(|it| {
            it.id == *id
                && it.session_id == token.session_id
                && it.args_hash == intent.args_hash
                && it.state == ApprovalState::Approved
                && it.consumed_at.is_none()
        });
        match unused {
            Some(approval) => approval.consumed_at = Some(now()),
            None => return Begun::ApprovalUsed,
        }
    }
    let call = StoredCall {
        id: intent.id,
        session_id: token.session_id.clone(),
        run_id: intent.run_id,
        tool_call_id: intent.tool_call_id,
        tool: intent.tool,
        args_hash: intent.args_hash,
        epoch: token.epoch,
        begun_at: now(),
        end: None,
    };
    tables.calls.push(CallRow { call, settled: false });
    Begun::Started
}
