//! A store that forgets which tool calls were begun: the control that shows that the soak would notice.

use std::sync::Arc;

use futures_util::FutureExt;
use pintle_agent::{forward_store, store::*};

pub(super) struct NoLedger(pub(super) Arc<dyn Store>);

impl Ledger for NoLedger {
    fn begin_call(&self, _: &Claim, _: Intent) -> Stored<'_, Begun> {
        std::future::ready(Ok(Begun::Started)).boxed()
    }

    fn end_call(&self, _: &Claim, _: &str, _: CallEnd) -> Stored<'_, ()> {
        std::future::ready(Ok(())).boxed()
    }

    fn open_calls(&self, session_id: &str) -> Stored<'_, Vec<StoredCall>> {
        self.0.open_calls(session_id)
    }

    fn calls(&self, filter: CallFilter) -> Stored<'_, Vec<StoredCall>> {
        self.0.calls(filter)
    }
}

forward_store!(NoLedger: Sessions, Claims, Approvals, Rules, Records, ShortIds, Tickets, Notes, Store);
