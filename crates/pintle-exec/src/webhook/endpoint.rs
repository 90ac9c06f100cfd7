//! One endpoint's queue: events come in, are written down a moment later, on disk too, and leave when they are
//! delivered.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, task::spawn_blocking, time::sleep};

use super::{
    EndpointStats, WebhookOptions, WebhookSpec,
    event_body::PendingEvent,
    journal::{Journal, Left, Line, Message},
    send::Sender,
};

/// What comes within this time is written down together: the run that tells is not disturbed for each event, and a
/// process that is killed loses no more than this.
const GATHER: Duration = Duration::from_millis(50);

pub(super) struct Endpoint {
    url: Arc<str>,
    owner: Arc<str>,
    /// Whether messages that were not delivered are sent next time.
    keeps: bool,
    /// Locked while messages are written, so that they are written in order. Locked before the state.
    journal: Mutex<Option<Journal>>,
    state: Mutex<State>,
    max_messages: usize,
    max_bytes: usize,
    /// Notified when there is something to write to the journal.
    bell: Notify,
    /// Notified when there is something to send.
    pub(super) ready: Notify,
    /// Notified when there is a reason to retry early.
    pub(super) hurry: Notify,
    /// Notified when nothing is left to send, or nothing more will be sent.
    over: Notify,
}

/// A message in the queue, and how it is sent now.
pub(super) struct Waiting {
    pub(super) message: Message,
    pub(super) sender: Arc<Sender>,
}

#[derive(Default)]
struct State {
    /// Events behind those in the queue. Writing them takes longer than anything else a run does for a webhook, so another
    /// thread does it.
    unwritten: Vec<PendingEvent>,
    /// How many are unwritten or being written, and their size as far as it is known.
    coming: usize,
    coming_bytes: usize,
    queue: VecDeque<Message>,
    /// One for each secret.
    senders: Vec<Arc<Sender>>,
    /// An event has come, or none will: every secret is known by then.
    begun: bool,
    bytes: usize,
    /// What happened since the journal was last written to.
    news: Vec<Line>,
    /// `bell` was notified, and the writer has not woken yet.
    rung: bool,
    /// When the last message was accepted.
    last: u64,
    closed: bool,
    /// What is left will not be sent this time.
    given_up: bool,
    stats: Counts,
}

#[derive(Default)]
struct Counts {
    delivered: u64,
    refused: u64,
    dropped: u64,
    lost: u64,
    damaged: u64,
    last_refusal: Option<String>,
    last_error: Option<String>,
}

impl Endpoint {
    pub(super) fn new(
        url: Arc<str>,
        journal: Option<(Journal, Left)>,
        options: &WebhookOptions,
    ) -> Arc<Self> {
        let (journal, left) = journal.unzip();
        let endpoint = Self {
            url,
            owner: options.owner.as_str().into(),
            keeps: journal.is_some(),
            journal: Mutex::new(journal),
            state: Mutex::default(),
            max_messages: options.max_messages,
            max_bytes: options.max_bytes,
            bell: Notify::new(),
            ready: Notify::new(),
            hurry: Notify::new(),
            over: Notify::new(),
        };
        {
            let Left { messages, damaged } = left.unwrap_or_default();
            let mut state = endpoint.lock();
            state.stats.damaged = damaged;
            state.last = messages.last().map_or(0, |message| message.at);
            for message in messages {
                let gone = message.id.clone();
                if !endpoint.admit(&mut state, message) {
                    state.news.push(Line::Gone { gone });
                }
            }
            endpoint.ring(state);
        }
        Arc::new(endpoint)
    }

    /// Whether messages are sent as this asks already.
    pub(super) fn serves(&self, spec: &WebhookSpec) -> bool {
        self.lock().senders.iter().any(|sender| sender.serves(spec))
    }

    /// From now on this is how messages with its secret are sent.
    pub(super) fn send_by(&self, sender: Sender) {
        let mut state = self.lock();
        state.senders.retain(|other| other.secret_name() != sender.secret_name());
        state.senders.push(Arc::new(sender));
        self.notify(state);
    }

    /// Takes an event, or counts it as dropped when the queue is full. Never waits.
    pub(super) fn push(&self, mut event: PendingEvent) {
        let mut state = self.lock();
        let bytes = state.bytes + state.coming_bytes + event.size;
        if state.closed || state.waiting() >= self.max_messages || bytes > self.max_bytes {
            state.stats.dropped += 1;
            return;
        }
        state.begun = true;
        event.now = event.now.max(state.last);
        state.last = event.now;
        state.coming += 1;
        state.coming_bytes += event.size;
        state.unwritten.push(event);
        self.ring(state);
    }

    /// One notification is enough: the writer takes every event that waits.
    fn ring(&self, mut state: MutexGuard<'_, State>) {
        if !std::mem::replace(&mut state.rung, true) {
            drop(state);
            self.bell.notify_one();
        }
    }

    /// Takes a message, or counts it as dropped when the queue is full.
    fn admit(&self, state: &mut State, message: Message) -> bool {
        let bytes = state.bytes + message.body.len();
        let fits = state.queue.len() < self.max_messages && bytes <= self.max_bytes;
        if fits {
            state.bytes = bytes;
            state.queue.push_back(message);
        } else {
            state.stats.dropped += 1;
        }
        fits
    }

    /// Writes down what comes, for as long as it lives.
    pub(super) async fn keep_writing(self: Arc<Self>) {
        loop {
            self.bell.notified().await;
            sleep(GATHER).await;
            let endpoint = self.clone();
            let _ = spawn_blocking(move || endpoint.write()).await;
        }
    }

    /// Puts what is new into the queue and on disk. What cannot be kept there stays in memory; the error can be read.
    fn write(&self) {
        let mut journal = self.journal();
        let mut state = self.lock();
        state.rung = false;
        let events = std::mem::take(&mut state.unwritten);
        drop(state);
        let (count, bytes) = (events.len(), events.iter().map(|it| it.size).sum::<usize>());
        let written: Vec<Message> =
            events.into_iter().map(|it| it.write(&self.url, &self.owner)).collect();

        let mut state = self.lock();
        state.coming -= count;
        state.coming_bytes -= bytes;
        let mut news = std::mem::take(&mut state.news);
        for message in written {
            if self.admit(&mut state, message.clone()) {
                news.push(Line::Message(message));
            }
        }
        let worn = journal.as_ref().is_some_and(Journal::is_worn);
        let all = (worn || state.queue.is_empty()).then(|| state.messages());
        self.notify(state);
        let Some(journal) = journal.as_mut().filter(|_| !news.is_empty()) else { return };
        let kept = match all {
            Some(messages) => journal.replace(&messages),
            None => journal.append(&news),
        };
        if let Err(error) = kept {
            self.lock().stats.last_error = Some(cannot_be_kept(&error));
        }
    }

    /// The queue has changed.
    fn notify(&self, state: MutexGuard<'_, State>) {
        let waiting = state.waiting();
        drop(state);
        match waiting {
            0 => self.over.notify_waiters(),
            _ => self.ready.notify_one(),
        }
    }

    /// The oldest message, once it is known how it is sent.
    pub(super) fn front(&self) -> Option<Waiting> {
        self.first_tried_less(u32::MAX)
    }

    pub(super) fn delivered(&self, message: &Message) {
        self.done(message, |counts| {
            counts.delivered += 1;
            counts.last_error = None;
        });
    }

    pub(super) fn refused(&self, message: &Message, why: String) {
        self.done(message, |counts| {
            counts.refused += 1;
            counts.last_refusal = Some(why);
        });
    }

    fn done(&self, message: &Message, count: impl FnOnce(&mut Counts)) {
        let mut state = self.lock();
        count(&mut state.stats);
        if let Some(at) = state.position(message)
            && let Some(message) = state.queue.remove(at)
        {
            state.bytes -= message.body.len();
            state.news.push(Line::Gone { gone: message.id });
        }
        if state.waiting() == 0 {
            self.over.notify_waiters();
        }
        self.ring(state);
    }

    pub(super) fn failed(&self, why: String) {
        self.lock().stats.last_error = Some(why);
    }

    /// Notes how often the endpoint could not take this message.
    pub(super) fn tried(&self, message: &Message, tries: u32) {
        let mut state = self.lock();
        let at = state.position(message);
        let Some(waiting) = at.and_then(|at| state.queue.get_mut(at)) else { return };
        if std::mem::replace(&mut waiting.tries, tries) != tries {
            state.news.push(Line::Tries { of: message.id.clone(), tries });
            self.ring(state);
        }
    }

    /// The oldest message that could not be taken less often than this.
    pub(super) fn first_tried_less(&self, often: u32) -> Option<Waiting> {
        let state = self.lock();
        let message = state.queue.iter().find(|message| message.tries < often)?.clone();
        let sender = state.sender(&message)?.clone();
        Some(Waiting { message, sender })
    }

    pub(super) fn stats(&self) -> EndpointStats {
        let state = self.lock();
        let Counts { delivered, refused, dropped, lost, damaged, .. } = state.stats;
        EndpointStats {
            url: self.url.to_string(),
            queued: state.waiting(),
            delivered,
            refused,
            dropped,
            lost,
            damaged,
            last_refusal: state.stats.last_refusal.clone(),
            last_error: state.stats.last_error.clone(),
        }
    }

    /// Takes no more messages, and wakes the task up for a last attempt.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        (state.closed, state.begun) = (true, true);
        drop(state);
        self.write();
        self.hurry.notify_one();
    }

    /// It is closed, and what it does not take now it gets next time.
    pub(super) fn is_left(&self) -> bool {
        self.keeps && self.lock().closed
    }

    /// Nothing more is sent this time.
    pub(super) fn give_up(&self) {
        self.lock().given_up = true;
        self.over.notify_waiters();
    }

    /// Waits until nothing more is sent.
    pub(super) async fn flushed(&self) {
        loop {
            let over = self.over.notified();
            if self.lock().is_over() {
                return;
            }
            over.await;
        }
    }

    /// After the last attempt: what stays is on disk now, or lost and counted.
    pub(super) fn settle(&self) {
        self.write();
        let mut journal = self.journal();
        let mut state = self.lock();
        let messages = state.messages();
        let kept = match &mut *journal {
            // Why they did not arrive is what their sender can mend.
            None => {
                Err(state.stats.last_error.take().unwrap_or_else(|| "no answer in time".into()))
            }
            Some(journal) if !messages.is_empty() && journal.is_intact() => Ok(()),
            Some(journal) => journal.replace(&messages).map_err(|error| cannot_be_kept(&error)),
        };
        if let Err(why) = kept
            && !messages.is_empty()
        {
            state.stats.lost += messages.len() as u64;
            state.stats.last_error = Some(why);
            state.queue.clear();
            state.bytes = 0;
        }
    }

    fn journal(&self) -> MutexGuard<'_, Option<Journal>> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn waiting(&self) -> usize {
        self.queue.len() + self.coming
    }

    fn is_over(&self) -> bool {
        self.given_up || self.waiting() == 0
    }

    fn position(&self, message: &Message) -> Option<usize> {
        self.queue.iter().position(|other| other.id == message.id)
    }

    fn messages(&self) -> Vec<Message> {
        self.queue.iter().cloned().collect()
    }

    /// How this message is sent: signed with the secret of its name, or with another one if that is no longer configured.
    fn sender(&self, message: &Message) -> Option<&Arc<Sender>> {
        let its = |sender: &&Arc<Sender>| sender.secret_name() == message.secret.as_deref();
        self.senders.iter().find(its).or(self.senders.first().filter(|_| self.begun))
    }
}

fn cannot_be_kept(error: &std::io::Error) -> String {
    format!("undelivered messages cannot be kept on disk: {error}")
}
