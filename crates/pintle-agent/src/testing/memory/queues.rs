//! The queues in memory, for tests and embedders. They last as long as the process.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::FutureExt;
use pintle::points::OutboundMessage;

use crate::store::{
    Accepted, ClaimedMessage, LaneClaim, MessageEnd, MessageState, NewInbound, NewOutgoing,
    OutgoingFilter, OutgoingKind, OutgoingMessage, OutgoingState, QueuedMessage, Queues, SendEnd,
    Stopped, Stored,
};
use crate::{now_ms, run::new_id};

/// [`Queues`] in memory.
#[derive(Default)]
pub struct MemoryQueues(Mutex<Tables>);

#[derive(Default)]
struct Tables {
    seen: HashMap<String, (String, u64)>,
    lanes: BTreeMap<String, Lane>,
    inbox: BTreeMap<u64, QueuedMessage>,
    outbox: Vec<Row>,
    values: HashMap<String, (String, u64)>,
    next: u64,
}

#[derive(Default)]
struct Lane {
    epoch: u64,
    claim: Option<String>,
    lease_until: u64,
    ready_at: u64,
}

struct Row {
    message: OutgoingMessage,
    due_at: u64,
    lease_until: u64,
    settled_at: u64,
}

impl MemoryQueues {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> Stored<'a, T> {
    std::future::ready(Ok(value)).boxed()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Tables {
    /// The message at the head of a lane.
    fn head(&mut self, lane: &str) -> Option<&mut QueuedMessage> {
        let waits = |state| matches!(state, MessageState::Queued | MessageState::Parked);
        self.inbox.values_mut().find(|message| message.lane == lane && waits(message.state))
    }

    fn push(&mut self, outgoing: Vec<NewOutgoing>) {
        let row = |new| Row {
            message: OutgoingMessage {
                id: new_id(),
                claim: String::new(),
                new,
                state: OutgoingState::Prepared,
                interrupted: false,
                attempts: 0,
                platform_id: None,
                reason: None,
            },
            due_at: 0,
            lease_until: 0,
            settled_at: 0,
        };
        self.outbox.extend(outgoing.into_iter().map(row));
    }

    fn row(&mut self, id: &str, claim: &str) -> Option<&mut Row> {
        let is_claimed = |row: &&mut Row| row.message.id == id && row.message.claim == claim;
        self.outbox.iter_mut().find(is_claimed).filter(|_| !claim.is_empty())
    }

    fn holds(&self, claim: &LaneClaim) -> bool {
        self.lanes
            .get(&claim.lane)
            .is_some_and(|lane| lane.epoch == claim.epoch && lane.claim.as_ref() == Some(&claim.id))
    }
}

impl Queues for MemoryQueues {
    fn seen(&self, dedup_key: &str) -> Stored<'_, Option<String>> {
        ready(self.tables().seen.get(dedup_key).map(|(run_id, _)| run_id.clone()))
    }

    fn accept(&self, new: NewInbound, bound: u32) -> Stored<'_, Accepted> {
        let mut tables = self.tables();
        if let Some((run_id, _)) = tables.seen.get(&new.dedup_key) {
            return ready(Accepted::Duplicate(run_id.clone()));
        }
        let waits = |message: &&QueuedMessage| {
            message.lane == new.lane
                && matches!(message.state, MessageState::Queued | MessageState::Parked)
        };
        let pending = tables.inbox.values().filter(waits).count();
        if u32::try_from(pending).unwrap_or(u32::MAX) >= bound {
            return ready(Accepted::Busy);
        }
        let now = now_ms();
        tables.next += 1;
        let seq = tables.next;
        tables.seen.insert(new.dedup_key, (new.run_id.clone(), now));
        let lane = tables.lanes.entry(new.lane.clone()).or_default();
        if pending == 0 {
            lane.ready_at = now;
        }
        let message = QueuedMessage {
            run_id: new.run_id,
            lane: new.lane,
            session_id: new.session_id,
            personality: new.personality,
            message: new.message,
            state: MessageState::Queued,
            attempts: 0,
            waiting_on: None,
            outcome: None,
            error: None,
            accepted_at: now,
        };
        tables.inbox.insert(seq, message);
        ready(Accepted::Queued)
    }

    fn note(&self, dedup_key: &str, run_id: &str, answers: Vec<NewOutgoing>) -> Stored<'_, bool> {
        let mut tables = self.tables();
        if tables.seen.contains_key(dedup_key) {
            return ready(false);
        }
        tables.seen.insert(dedup_key.to_string(), (run_id.to_string(), now_ms()));
        tables.push(answers);
        ready(true)
    }

    fn claim_lane(&self, _owner: &str, lease: Duration) -> Stored<'_, Option<ClaimedMessage>> {
        let now = now_ms();
        let mut tables = self.tables();
        let free = |lane: &Lane| lane.lease_until <= now && lane.ready_at <= now;
        let mut free: Vec<_> = tables.lanes.iter().filter(|(_, lane)| free(lane)).collect();
        free.sort_by_key(|(_, lane)| lane.ready_at);
        let keys: Vec<String> = free.into_iter().map(|(key, _)| key.clone()).collect();
        for key in keys {
            let Some(head) = tables.head(&key) else { continue };
            head.attempts += u32::from(head.state == MessageState::Queued);
            head.state = MessageState::Queued;
            let message = head.clone();
            let lane = tables.lanes.entry(key.clone()).or_default();
            let id = new_id();
            lane.epoch += 1;
            lane.claim = Some(id.clone());
            lane.lease_until = now.saturating_add(millis(lease));
            let claim = LaneClaim { lane: key, epoch: lane.epoch, id };
            return ready(Some(ClaimedMessage { claim, message }));
        }
        ready(None)
    }

    fn renew_lane(&self, claim: &LaneClaim, lease: Duration) -> Stored<'_, bool> {
        let mut tables = self.tables();
        let holds = tables.holds(claim);
        if let Some(lane) = tables.lanes.get_mut(&claim.lane).filter(|_| holds) {
            lane.lease_until = now_ms().saturating_add(millis(lease));
        }
        ready(holds)
    }

    fn settle_lane(
        &self,
        claim: &LaneClaim,
        end: MessageEnd,
        outgoing: Vec<NewOutgoing>,
    ) -> Stored<'_, bool> {
        let now = now_ms();
        let mut tables = self.tables();
        if !tables.holds(claim) {
            return ready(false);
        }
        let mut ready_at = now;
        if let Some(head) = tables.head(&claim.lane) {
            let waited_on = head.waiting_on.take();
            match end {
                MessageEnd::Done { outcome } => {
                    head.state = MessageState::Done;
                    head.outcome = Some(outcome);
                }
                MessageEnd::Parked { approval_id, until } => {
                    head.state = MessageState::Parked;
                    head.waiting_on = Some(approval_id);
                    ready_at = until;
                }
                MessageEnd::Retry { error, at } => {
                    head.error = Some(error);
                    ready_at = at;
                }
                MessageEnd::Dead { error } => {
                    head.state = MessageState::Dead;
                    head.error = Some(error);
                }
                MessageEnd::Released => {
                    head.waiting_on = waited_on;
                    head.attempts = head.attempts.saturating_sub(1);
                }
            }
        }
        if let Some(lane) = tables.lanes.get_mut(&claim.lane) {
            (lane.claim, lane.lease_until, lane.ready_at) = (None, 0, ready_at);
        }
        tables.push(outgoing);
        ready(true)
    }

    fn wake(&self, approval_id: &str) -> Stored<'_, bool> {
        let mut tables = self.tables();
        let waits = |message: &&QueuedMessage| {
            message.state == MessageState::Parked
                && message.waiting_on.as_deref() == Some(approval_id)
        };
        let Some(lane) = tables.inbox.values().find(waits).map(|message| message.lane.clone())
        else {
            return ready(false);
        };
        if let Some(lane) = tables.lanes.get_mut(&lane) {
            lane.ready_at = now_ms();
        }
        ready(true)
    }

    fn stop_lane(&self, lane: &str) -> Stored<'_, Stopped> {
        let now = now_ms();
        let mut tables = self.tables();
        let is_claimed = tables.lanes.get(lane).is_some_and(|lane| lane.lease_until > now);
        let Some(head) = tables.head(lane) else { return ready(Stopped::Nothing) };
        if is_claimed {
            return ready(Stopped::Claimed(head.clone()));
        }
        let stopped = head.clone();
        head.state = MessageState::Done;
        head.outcome = Some("aborted".into());
        head.waiting_on = None;
        if let Some(lane) = tables.lanes.get_mut(lane) {
            lane.ready_at = now;
        }
        ready(Stopped::Ended(stopped))
    }

    fn message(&self, run_id: &str) -> Stored<'_, Option<QueuedMessage>> {
        let tables = self.tables();
        ready(tables.inbox.values().find(|message| message.run_id == run_id).cloned())
    }

    fn messages(&self, state: MessageState) -> Stored<'_, Vec<QueuedMessage>> {
        let tables = self.tables();
        ready(tables.inbox.values().filter(|message| message.state == state).cloned().collect())
    }

    fn retry_dead(&self, run_id: &str) -> Stored<'_, bool> {
        let now = now_ms();
        let mut tables = self.tables();
        let is_dead = |(_, message): &(&u64, &QueuedMessage)| {
            message.run_id == run_id && message.state == MessageState::Dead
        };
        let Some(seq) = tables.inbox.iter().find(is_dead).map(|(seq, _)| *seq) else {
            return ready(false);
        };
        if let Some(mut message) = tables.inbox.remove(&seq) {
            (message.state, message.attempts) = (MessageState::Queued, 0);
            let lane = message.lane.clone();
            if tables.head(&lane).is_none() {
                tables.lanes.entry(lane).or_default().ready_at = now;
            }
            tables.next += 1;
            let seq = tables.next;
            tables.inbox.insert(seq, message);
        }
        ready(true)
    }

    fn enqueue(&self, outgoing: Vec<NewOutgoing>) -> Stored<'_, ()> {
        self.tables().push(outgoing);
        ready(())
    }

    fn claim_outgoing(&self, lease: Duration) -> Stored<'_, Option<OutgoingMessage>> {
        let now = now_ms();
        let mut tables = self.tables();
        let mut held = std::collections::HashSet::new();
        for row in &mut tables.outbox {
            let is_open = row.message.state == OutgoingState::Prepared;
            if !is_open || !held.insert(row.message.new.lane.clone()) {
                continue;
            }
            if row.due_at <= now && row.lease_until <= now {
                row.message.claim = new_id();
                row.lease_until = now.saturating_add(millis(lease));
                return ready(Some(row.message.clone()));
            }
        }
        ready(None)
    }

    fn renew_outgoing(&self, id: &str, claim: &str, lease: Duration) -> Stored<'_, bool> {
        let mut tables = self.tables();
        let row = tables.row(id, claim);
        let holds = row.is_some();
        if let Some(row) = row {
            row.lease_until = now_ms().saturating_add(millis(lease));
        }
        ready(holds)
    }

    fn begin_outgoing(&self, id: &str, claim: &str, out: &OutboundMessage) -> Stored<'_, bool> {
        let mut tables = self.tables();
        let row = tables.row(id, claim);
        let holds = row.is_some();
        if let Some(row) = row {
            let new = &mut row.message.new;
            new.text.clone_from(&out.text);
            new.thread_id.clone_from(&out.thread_id);
            new.reply_to.clone_from(&out.reply_to);
            row.message.interrupted = true;
            row.message.attempts += 1;
        }
        ready(holds)
    }

    fn settle_outgoing(&self, id: &str, claim: &str, end: SendEnd) -> Stored<'_, bool> {
        let now = now_ms();
        let mut tables = self.tables();
        let Some(row) = tables.row(id, claim) else { return ready(false) };
        row.message.claim.clear();
        row.message.interrupted = false;
        row.lease_until = 0;
        match end {
            SendEnd::Settled { state, platform_id, reason } => {
                row.message.state = state;
                row.message.platform_id = platform_id;
                row.message.reason = reason;
                row.settled_at = now;
            }
            SendEnd::Later { at, reason } => {
                row.due_at = at;
                row.message.reason = Some(reason);
            }
        }
        ready(true)
    }

    fn outgoing(&self, filter: OutgoingFilter) -> Stored<'_, Vec<OutgoingMessage>> {
        let tables = self.tables();
        let fits = |message: &&OutgoingMessage| {
            let about = match &message.new.kind {
                OutgoingKind::Question { approval_id, .. } => Some(approval_id),
                _ => None,
            };
            filter.run_id.as_ref().is_none_or(|run_id| *run_id == message.new.run_id)
                && filter.approval_id.as_ref().is_none_or(|id| Some(id) == about)
                && filter.state.is_none_or(|state| state == message.state)
        };
        ready(tables.outbox.iter().map(|row| &row.message).filter(fits).cloned().collect())
    }

    fn release_claims(&self) -> Stored<'_, ()> {
        let mut tables = self.tables();
        for lane in tables.lanes.values_mut() {
            (lane.claim, lane.lease_until) = (None, 0);
        }
        for row in &mut tables.outbox {
            row.message.claim.clear();
            row.lease_until = 0;
        }
        ready(())
    }

    fn prune(&self, before: u64) -> Stored<'_, ()> {
        let mut tables = self.tables();
        tables.seen.retain(|_, (_, at)| *at >= before);
        tables.inbox.retain(|_, message| {
            message.state != MessageState::Done || message.accepted_at >= before
        });
        let is_kept =
            |row: &Row| row.message.state == OutgoingState::Prepared || row.settled_at >= before;
        tables.outbox.retain(is_kept);
        let now = now_ms();
        tables.values.retain(|_, (_, expires_at)| *expires_at > now);
        ready(())
    }

    fn put_value(&self, key: &str, value: &str, expires_at: u64) -> Stored<'_, ()> {
        self.tables().values.insert(key.to_string(), (value.to_string(), expires_at));
        ready(())
    }

    fn value(&self, key: &str) -> Stored<'_, Option<String>> {
        let tables = self.tables();
        let kept = tables.values.get(key).filter(|(_, expires_at)| *expires_at > now_ms());
        ready(kept.map(|(value, _)| value.clone()))
    }

    fn take_value(&self, key: &str) -> Stored<'_, bool> {
        let kept = self.tables().values.remove(key);
        ready(kept.is_some_and(|(_, expires_at)| expires_at > now_ms()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::future::BoxFuture;

    use super::*;
    use crate::testing::QueuesPlace;

    struct InMemory(Arc<MemoryQueues>);

    impl QueuesPlace for InMemory {
        fn fresh() -> Self {
            Self(Arc::default())
        }

        fn open(&self) -> BoxFuture<'_, Arc<dyn Queues>> {
            std::future::ready(self.0.clone() as Arc<dyn Queues>).boxed()
        }
    }

    crate::queues_conformance!(InMemory);
}
