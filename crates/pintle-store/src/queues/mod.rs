//! The gateway's queues: `inbox.rs` for what comes in and its lanes, `outbox.rs` for what goes out.

mod inbox;
mod outbox;
mod values;

use std::time::Duration;

use futures_util::FutureExt;
use pintle::points::OutboundMessage;
use pintle_agent::store::{
    Accepted, ClaimedMessage, LaneClaim, MessageEnd, MessageState, NewInbound, NewOutgoing,
    OutgoingFilter, OutgoingMessage, QueuedMessage, Queues, SendEnd, Stopped, Stored,
};

use crate::store::SqliteStore;

/// A write or a read on the store's thread: `$conn` is its connection.
macro_rules! on_thread {
    ($self:ident, $kind:ident, $doing:literal, |$conn:ident| $work:expr) => {
        $self.worker().$kind($doing, move |$conn| $work).boxed()
    };
}

impl Queues for SqliteStore {
    fn seen(&self, dedup_key: &str) -> Stored<'_, Option<String>> {
        let key = dedup_key.to_owned();
        on_thread!(self, read, "looking for a message", |conn| inbox::seen(conn, &key))
    }

    fn accept(&self, new: NewInbound, bound: u32) -> Stored<'_, Accepted> {
        on_thread!(self, write, "accepting a message", |conn| inbox::accept(conn, &new, bound))
    }

    fn note(&self, key: &str, run_id: &str, answers: Vec<NewOutgoing>) -> Stored<'_, bool> {
        let (key, run_id) = (key.to_owned(), run_id.to_owned());
        on_thread!(self, write, "noting a message", |conn| {
            let is_new = inbox::note(conn, &key, &run_id)?;
            if is_new {
                outbox::enqueue(conn, &answers)?;
            }
            Ok(is_new)
        })
    }

    fn claim_lane(&self, owner: &str, lease: Duration) -> Stored<'_, Option<ClaimedMessage>> {
        let owner = owner.to_owned();
        on_thread!(self, write, "claiming a lane", |conn| inbox::claim(conn, &owner, lease))
    }

    fn renew_lane(&self, claim: &LaneClaim, lease: Duration) -> Stored<'_, bool> {
        let claim = claim.clone();
        on_thread!(self, write, "renewing a lease", |conn| inbox::renew(conn, &claim, lease))
    }

    fn settle_lane(
        &self,
        claim: &LaneClaim,
        end: MessageEnd,
        outgoing: Vec<NewOutgoing>,
    ) -> Stored<'_, bool> {
        let claim = claim.clone();
        on_thread!(self, write, "settling a message", |conn| {
            let holds = inbox::settle(conn, &claim, &end)?;
            if holds {
                outbox::enqueue(conn, &outgoing)?;
            }
            Ok(holds)
        })
    }

    fn wake(&self, approval_id: &str) -> Stored<'_, bool> {
        let id = approval_id.to_owned();
        on_thread!(self, write, "waking a lane", |conn| inbox::wake(conn, &id))
    }

    fn stop_lane(&self, lane: &str) -> Stored<'_, Stopped> {
        let lane = lane.to_owned();
        on_thread!(self, write, "stopping a lane", |conn| inbox::stop(conn, &lane))
    }

    fn message(&self, run_id: &str) -> Stored<'_, Option<QueuedMessage>> {
        let run_id = run_id.to_owned();
        on_thread!(self, read, "reading a message", |conn| inbox::by_run(conn, &run_id))
    }

    fn messages(&self, state: MessageState) -> Stored<'_, Vec<QueuedMessage>> {
        on_thread!(self, read, "listing messages", |conn| inbox::in_state(conn, state))
    }

    fn retry_dead(&self, run_id: &str) -> Stored<'_, bool> {
        let run_id = run_id.to_owned();
        on_thread!(self, write, "trying a dead letter again", |conn| inbox::retry(conn, &run_id))
    }

    fn enqueue(&self, outgoing: Vec<NewOutgoing>) -> Stored<'_, ()> {
        on_thread!(self, write, "preparing a message", |conn| outbox::enqueue(conn, &outgoing))
    }

    fn claim_outgoing(&self, lease: Duration) -> Stored<'_, Option<OutgoingMessage>> {
        on_thread!(self, write, "claiming a message to send", |conn| outbox::claim(conn, lease))
    }

    fn renew_outgoing(&self, id: &str, claim: &str, lease: Duration) -> Stored<'_, bool> {
        let (id, claim) = (id.to_owned(), claim.to_owned());
        on_thread!(self, write, "renewing a lease", |conn| outbox::renew(conn, &id, &claim, lease))
    }

    fn begin_outgoing(&self, id: &str, claim: &str, message: &OutboundMessage) -> Stored<'_, bool> {
        let (id, claim, message) = (id.to_owned(), claim.to_owned(), message.clone());
        on_thread!(self, write, "noting what is sent", |conn| {
            outbox::begin(conn, &id, &claim, &message)
        })
    }

    fn settle_outgoing(&self, id: &str, claim: &str, end: SendEnd) -> Stored<'_, bool> {
        let (id, claim) = (id.to_owned(), claim.to_owned());
        on_thread!(self, write, "settling a sent message", |conn| {
            outbox::settle(conn, &id, &claim, &end)
        })
    }

    fn outgoing(&self, filter: OutgoingFilter) -> Stored<'_, Vec<OutgoingMessage>> {
        on_thread!(self, read, "listing sent messages", |conn| outbox::list(conn, &filter))
    }

    fn release_claims(&self) -> Stored<'_, ()> {
        on_thread!(self, write, "releasing claims", |conn| {
            conn.execute("UPDATE lanes SET claim = NULL, lease_until = 0", [])?;
            conn.execute("UPDATE outbox SET claim = NULL, lease_until = 0", [])?;
            Ok(())
        })
    }

    fn prune(&self, before: u64) -> Stored<'_, ()> {
        on_thread!(self, write, "forgetting old messages", |conn| values::prune(conn, before))
    }

    fn put_value(&self, key: &str, value: &str, expires_at: u64) -> Stored<'_, ()> {
        let (key, value) = (key.to_owned(), value.to_owned());
        on_thread!(self, write, "keeping a value", |conn| {
            values::put(conn, &key, &value, expires_at)
        })
    }

    fn value(&self, key: &str) -> Stored<'_, Option<String>> {
        let key = key.to_owned();
        on_thread!(self, read, "reading a value", |conn| values::get(conn, &key))
    }

    fn take_value(&self, key: &str) -> Stored<'_, bool> {
        let key = key.to_owned();
        on_thread!(self, write, "taking a value", |conn| values::take(conn, &key))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
