//! One endpoint's queue, and the task that empties it in order.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, Hasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{select, sync::Notify, time::sleep};

use super::{
    EndpointStats, WebhookOptions,
    send::{Sender, Sent},
    spool::{Message, Spool},
    telling::Telling,
};

/// After so many events that nobody has written down, the endpoint's task is woken from its rest to do it.
const ENOUGH_TO_WRITE: usize = 256;

/// When the task does not come round to it, whoever adds an event does: what is not written has no known size.
const MOST_UNWRITTEN: usize = 512;

pub(super) struct Endpoint {
    /// Tells endpoints apart, on disk too: same URL and same secret, same queue.
    key: String,
    url: String,
    state: Mutex<State>,
    spool: Option<Arc<Spool>>,
    max_messages: usize,
    max_bytes: usize,
    /// Rung when there is something to send. While the endpoint is given a rest nobody listens, and ringing it
    /// wakes nobody.
    bell: Notify,
    /// Rung when there is a reason to try again before time.
    hurry: Notify,
    /// Rung when the queue has become empty.
    empty: Notify,
}

#[derive(Default)]
struct State {
    /// Behind those in the queue. Writing them down takes longer than all else a run does for a webhook, so the
    /// endpoint's task does it.
    unwritten: VecDeque<Telling>,
    queue: VecDeque<Message>,
    bytes: usize,
    /// The queue is not what is on disk.
    unsaved: bool,
    closed: bool,
    delivered: u64,
    refused: u64,
    dropped: u64,
    last_error: Option<String>,
}

impl Endpoint {
    pub(super) fn new(
        key: String,
        url: String,
        spool: Option<Arc<Spool>>,
        options: &WebhookOptions,
    ) -> Arc<Self> {
        let endpoint = Self {
            state: Mutex::default(),
            max_messages: options.max_messages,
            max_bytes: options.max_bytes,
            bell: Notify::new(),
            hurry: Notify::new(),
            empty: Notify::new(),
            key,
            url,
            spool,
        };
        let left = endpoint.spool.as_ref().map(|spool| spool.load(&endpoint.key));
        {
            let mut state = endpoint.lock();
            for message in left.into_iter().flatten() {
                endpoint.queue(&mut state, message);
            }
        }
        Arc::new(endpoint)
    }

    /// Takes an event, or counts it as dropped when the queue is full. Never waits.
    pub(super) fn push(&self, telling: Telling) {
        let mut state = self.lock();
        if state.closed || state.waiting() >= self.max_messages {
            state.dropped += 1;
            return;
        }
        state.unwritten.push_back(telling);
        state.unsaved = true;
        if state.unwritten.len() >= MOST_UNWRITTEN {
            self.write(&mut state);
        }
        let wake = state.queue.is_empty() || state.unwritten.len() == ENOUGH_TO_WRITE;
        drop(state);
        if wake {
            self.bell.notify_one();
        }
    }

    fn write(&self, state: &mut State) {
        for telling in std::mem::take(&mut state.unwritten) {
            self.queue(state, telling.write());
        }
    }

    /// Takes a message, or counts it as dropped when the queue is full.
    fn queue(&self, state: &mut State, message: Message) {
        let bytes = state.bytes + message.body.len();
        if state.queue.len() >= self.max_messages || bytes > self.max_bytes {
            state.dropped += 1;
            return;
        }
        state.bytes = bytes;
        state.queue.push_back(message);
    }

    pub(super) fn stats(&self) -> EndpointStats {
        let mut state = self.lock();
        // Only what is written is known to fit.
        self.write(&mut state);
        EndpointStats {
            url: self.url.clone(),
            queued: state.waiting(),
            delivered: state.delivered,
            refused: state.refused,
            dropped: state.dropped,
            last_error: state.last_error.clone(),
        }
    }

    /// Sends what there is, oldest first, for as long as it lives. A message that does not get through holds up
    /// the ones behind it: order is kept.
    pub(super) async fn deliver(self: Arc<Self>, sender: Sender, options: Arc<WebhookOptions>) {
        let mut attempts = 0_u32;
        loop {
            let Some(message) = self.next() else {
                self.bell.notified().await;
                continue;
            };
            let sent = sender.send(&message).await;
            attempts += 1;
            match sent {
                Sent::Delivered => self.done(|state| state.delivered += 1),
                Sent::Refused(why) => self.give_up(why),
                Sent::Unwell(why) if attempts >= options.max_attempts => self.give_up(why),
                Sent::Unwell(why) | Sent::Unreachable(why) => {
                    self.lock().last_error = Some(why);
                    self.save();
                    select! {
                        () = sleep(pause(attempts, &options)) => {}
                        () = self.hurry.notified() => {}
                        () = self.keep_writing() => {}
                    }
                    continue;
                }
            }
            attempts = 0;
        }
    }

    /// The oldest message.
    fn next(&self) -> Option<Message> {
        let mut state = self.lock();
        self.write(&mut state);
        state.queue.front().cloned()
    }

    async fn keep_writing(&self) {
        loop {
            self.bell.notified().await;
            self.write(&mut self.lock());
        }
    }

    fn give_up(&self, why: String) {
        self.done(|state| {
            state.refused += 1;
            state.last_error = Some(why);
        });
    }

    fn done(&self, count: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        if let Some(message) = state.queue.pop_front() {
            state.bytes -= message.body.len();
            state.unsaved = true;
        }
        count(&mut state);
        if state.waiting() == 0 {
            drop(state);
            self.save();
            self.empty.notify_waiters();
        }
    }

    /// Takes no more messages, and wakes the task up for a last attempt.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.hurry.notify_one();
    }

    pub(super) async fn emptied(&self) {
        loop {
            let emptied = self.empty.notified();
            if self.lock().waiting() == 0 {
                return;
            }
            emptied.await;
        }
    }

    /// Keeps what is queued on disk. What cannot be kept stays in memory; the error can be read.
    ///
    /// Nobody is kept waiting meanwhile: whoever adds a message needs the lock only for the copy.
    fn save(&self) {
        let Some(spool) = &self.spool else { return };
        let mut state = self.lock();
        if !std::mem::take(&mut state.unsaved) {
            return;
        }
        self.write(&mut state);
        let messages: Vec<Message> = state.queue.iter().cloned().collect();
        drop(state);
        if let Err(error) = spool.save(&self.key, &messages) {
            let mut state = self.lock();
            state.unsaved = true;
            state.last_error =
                Some(format!("undelivered messages cannot be kept on disk: {error}"));
        }
    }

    /// After the last attempt: what stays is on disk now, or lost and counted.
    pub(super) fn settle(&self) {
        self.save();
        let mut state = self.lock();
        let lost = state.waiting();
        if lost > 0 && (self.spool.is_none() || state.unsaved) {
            state.dropped += lost as u64;
            state.unwritten.clear();
            state.queue.clear();
            state.bytes = 0;
            let why = state.last_error.take().unwrap_or_else(|| "no folder to keep them in".into());
            state.last_error = Some(format!("{lost} undelivered messages were lost: {why}"));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn waiting(&self) -> usize {
        self.queue.len() + self.unwritten.len()
    }
}

/// Doubles with each attempt, up to the longest; then between half of it and all of it, so that many hosts that
/// lost the same endpoint do not come back all at once.
fn pause(attempts: u32, options: &WebhookOptions) -> Duration {
    let factor = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
    let full = options.first_retry.saturating_mul(factor).min(options.longest_retry);
    let random = RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64;
    full.mul_f64(0.5 + random / 2.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_and_no_two_hosts_wait_alike() {
        let options = WebhookOptions::default();
        let (first, longest) = (options.first_retry, options.longest_retry);
        for attempts in [1, 2, 3, 8, 9, 40, u32::MAX] {
            let doublings = (attempts - 1).min(20);
            let full = first.saturating_mul(1 << doublings).min(longest);
            let pauses: BTreeSet<_> = (0..32).map(|_| pause(attempts, &options)).collect();
            assert!(pauses.iter().all(|pause| (full / 2..=full).contains(pause)), "{attempts}");
            assert!(pauses.len() > 16, "{attempts}: {pauses:?}");
        }
    }
}
