//! The gateway and its settings.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use futures_util::future::BoxFuture;
use pintle::{Cx, Envelope, Hooks, PluginFilter, points::OutboundMessage};
use pintle_agent::{
    Agent, Channel, Personality, Session, Store,
    store::{NewOutgoing, OutgoingKind, Queues, StoreError},
};
use tokio::sync::{Notify, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    approvals::GatewayApprover,
    clock::{millis, new_id, now_ms},
    events::EventHub,
    questions::InWords,
};

/// How long settled messages are kept: longer than any platform redelivers a message.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The settings of a gateway.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// How many runs may go on at once.
    pub max_runs: usize,
    /// How many messages of one chat may wait.
    pub lane_bound: u32,
    /// How long a claim lasts without being renewed.
    pub lease: Duration,
    /// How often a message is tried before it is a dead letter.
    pub max_attempts: u32,
    /// How often an outgoing message is tried before the gateway gives up.
    pub send_attempts: u32,
    /// Questions also go to the chat in which they came up.
    pub questions_in_group: bool,
    /// Platforms on which anyone may write. Their messages are untrusted text.
    pub open_to_strangers: Vec<String>,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            max_runs: 8,
            lane_bound: 20,
            lease: Duration::from_secs(30),
            max_attempts: 3,
            send_attempts: 8,
            questions_in_group: false,
            open_to_strangers: Vec::new(),
        }
    }
}

/// Gives the agent of the next run: the one of before, or another one after a change of its plugins. An error keeps the run from
/// starting.
pub type Renewal = Arc<dyn Fn() -> BoxFuture<'static, Result<Agent, String>> + Send + Sync>;

/// A running gateway. Clones are handles to the same gateway.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    agent: RwLock<Agent>,
    renewal: Option<Renewal>,
    /// One renewal at a time.
    renewing: tokio::sync::Mutex<()>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) queues: Arc<dyn Queues>,
    pub(crate) channels: BTreeMap<String, Arc<dyn Channel>>,
    pub(crate) approver: GatewayApprover,
    pub(crate) config: GatewayConfig,
    pub(crate) hub: EventHub,
    pub(crate) in_words: Option<InWords>,
    /// The cancellation token of each run, by its id.
    pub(crate) running: Mutex<HashMap<String, CancellationToken>>,
    /// Messages of one lane are received one after the other.
    pub(crate) arriving: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    /// Messages as the hooks left them, until they are sent.
    pub(crate) prepared: Mutex<HashMap<String, OutboundMessage>>,
    /// Notified when a lane may be ready.
    pub(crate) work: Notify,
    /// Notified when a message may be due to be sent.
    pub(crate) sends: Notify,
    /// Changes when a message or an outgoing message is settled.
    pub(crate) settled: watch::Sender<u64>,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
    pub(crate) owner: String,
}

/// Puts a gateway together: see [`Gateway::builder`].
pub struct GatewayBuilder {
    agent: Agent,
    store: Arc<dyn Store>,
    queues: Arc<dyn Queues>,
    approver: GatewayApprover,
    channels: BTreeMap<String, Arc<dyn Channel>>,
    config: GatewayConfig,
    hub: EventHub,
    in_words: Option<InWords>,
    renewal: Option<Renewal>,
}

impl GatewayBuilder {
    /// One more channel.
    #[must_use]
    pub fn channel(mut self, channel: Arc<dyn Channel>) -> Self {
        self.channels.insert(channel.platform().to_string(), channel);
        self
    }

    /// With these settings.
    #[must_use]
    pub fn config(mut self, config: GatewayConfig) -> Self {
        self.config = config;
        self
    }

    /// With an event hub that other parts of the program share.
    #[must_use]
    pub fn events(mut self, hub: EventHub) -> Self {
        self.hub = hub;
        self
    }

    /// With a function that words the questions on the page.
    #[must_use]
    pub fn questions_in_words(mut self, in_words: InWords) -> Self {
        self.in_words = Some(in_words);
        self
    }

    /// With a function that is asked for the agent before each message and each run.
    #[must_use]
    pub fn renewed_by(mut self, renewal: Renewal) -> Self {
        self.renewal = Some(renewal);
        self
    }

    /// Starts receiving, running and sending.
    ///
    /// # Errors
    /// When the queues cannot be used.
    pub async fn start(self) -> Result<Gateway, StoreError> {
        // Only one gateway uses these queues, so the owner of every old claim has ended.
        self.queues.release_claims().await?;
        self.queues.prune(now_ms().saturating_sub(millis(KEPT))).await?;
        let inner = Inner {
            agent: RwLock::new(self.agent),
            renewal: self.renewal,
            renewing: tokio::sync::Mutex::default(),
            store: self.store,
            queues: self.queues,
            channels: self.channels,
            approver: self.approver,
            config: self.config,
            hub: self.hub,
            in_words: self.in_words,
            running: Mutex::default(),
            arriving: Mutex::default(),
            prepared: Mutex::default(),
            work: Notify::new(),
            sends: Notify::new(),
            settled: watch::Sender::new(0),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            owner: new_id(),
        };
        let gateway = Gateway { inner: Arc::new(inner) };
        gateway.inner.approver.connect(&gateway);
        gateway.spawn(gateway.clone().process_lanes());
        gateway.spawn(gateway.clone().send_all());
        gateway.spawn(gateway.clone().watch_approvals());
        gateway.spawn(gateway.clone().prune_daily());
        for channel in gateway.inner.channels.values() {
            gateway.spawn(gateway.clone().receive_from(channel.clone()));
        }
        Ok(gateway)
    }
}

impl Gateway {
    /// A builder with the required parts. The agent asks `approver`.
    pub fn builder(
        agent: Agent,
        store: Arc<dyn Store>,
        queues: Arc<dyn Queues>,
        approver: GatewayApprover,
    ) -> GatewayBuilder {
        GatewayBuilder {
            agent,
            store,
            queues,
            approver,
            channels: BTreeMap::new(),
            config: GatewayConfig::default(),
            hub: EventHub::default(),
            in_words: None,
            renewal: None,
        }
    }

    /// The agent.
    pub fn agent(&self) -> Agent {
        self.inner.agent.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The agent for a new run, in force from now on.
    ///
    /// # Errors
    /// When there is none with the plugins of now.
    pub(crate) async fn renewed_agent(&self) -> Result<Agent, String> {
        let Some(renewal) = &self.inner.renewal else { return Ok(self.agent()) };
        let _turn = self.inner.renewing.lock().await;
        let agent = tokio::select! {
            () = self.inner.stop.cancelled() => return Err("the gateway is stopping".into()),
            agent = renewal() => agent?,
        };
        *self.inner.agent.write().unwrap_or_else(PoisonError::into_inner) = agent.clone();
        Ok(agent)
    }

    /// The store of runs and approvals.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// The queues of messages.
    pub fn queues(&self) -> &Arc<dyn Queues> {
        &self.inner.queues
    }

    /// The live events.
    pub fn events(&self) -> &EventHub {
        &self.inner.hub
    }

    /// Stops receiving and stops the runs. Accepted messages that are not done are processed after the next start.
    pub async fn stop(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// Ready when a message was settled since the last check.
    pub fn settled(&self) -> watch::Receiver<u64> {
        self.inner.settled.subscribe()
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.inner.tasks.spawn(task);
    }

    pub(crate) fn hooks(&self) -> Hooks {
        self.agent().hooks().clone()
    }

    pub(crate) fn has_settled(&self) {
        self.inner.settled.send_modify(|count| *count += 1);
    }

    /// Waits for the notification, at most a second: other processes cannot notify this one. `false` when the gateway stops.
    pub(crate) async fn wait(&self, bell: &Notify) -> bool {
        tokio::select! {
            () = self.inner.stop.cancelled() => false,
            () = bell.notified() => true,
            () = tokio::time::sleep(Duration::from_secs(1)) => true,
        }
    }

    /// The context of a fire for a message: it reaches the plugins of the personality, and the event hub records it.
    pub(crate) fn cx(
        &self,
        platform: &str,
        run_id: &str,
        speaker: Option<(&Session, &Personality)>,
    ) -> Cx {
        let envelope = Envelope {
            session_id: speaker.map(|(session, _)| session.id.clone()),
            session_key: speaker.map(|(session, _)| session.key.clone()),
            run_id: Some(run_id.to_string()),
            personality_id: speaker.map(|(_, personality)| personality.id.clone()),
            platform: platform.to_string(),
            trace_id: run_id.to_string(),
            ts: now_ms(),
            ..Envelope::default()
        };
        let plugins = match speaker {
            Some((_, personality)) => personality.plugin_filter(),
            None => PluginFilter::BuiltinsOnly,
        };
        Cx::new(envelope, plugins).observed_by(Arc::new(self.inner.hub.clone()))
    }

    /// The session and its personality.
    pub(crate) async fn speaker(
        &self,
        session_id: Option<&str>,
    ) -> Result<Option<(Session, Personality)>, StoreError> {
        let Some(id) = session_id else { return Ok(None) };
        let Some(session) = self.inner.store.session(id).await? else { return Ok(None) };
        let personality = self.agent().personality(&session).ok();
        Ok(personality.map(|personality| (session, personality)))
    }

    pub(crate) async fn enqueue(&self, outgoing: Vec<NewOutgoing>) -> Result<(), StoreError> {
        self.inner.queues.enqueue(outgoing).await?;
        self.inner.sends.notify_one();
        Ok(())
    }

    async fn prune_daily(self) {
        let a_day = Duration::from_secs(24 * 60 * 60);
        loop {
            tokio::select! {
                () = self.inner.stop.cancelled() => return,
                () = tokio::time::sleep(a_day) => {}
            }
            let _ = self.inner.queues.prune(now_ms().saturating_sub(millis(KEPT))).await;
        }
    }
}

/// The chat or thread whose messages are processed in order.
pub(crate) fn lane_key(
    platform: &str,
    bot: Option<&str>,
    chat: &str,
    thread: Option<&str>,
) -> String {
    let parts = [Some(platform), bot, Some(chat), thread];
    parts.into_iter().flatten().collect::<Vec<_>>().join(":")
}

/// The longest prefix of a part of a long text: `(123/456) `.
const PART_MARK: usize = 10;

/// A text in a chat, as one or more messages that the platform does not cut.
pub(crate) fn in_parts(whole: NewOutgoing, max_text: Option<usize>) -> Vec<NewOutgoing> {
    let Some(max) = max_text.filter(|max| whole.text.chars().count() > *max) else {
        return vec![whole];
    };
    let texts = cut(&whole.text, max.saturating_sub(PART_MARK).max(1));
    let count = texts.len();
    let part = |(at, text): (usize, &str)| NewOutgoing {
        text: format!("({}/{count}) {text}", at + 1),
        kind: if at + 1 == count { whole.kind.clone() } else { OutgoingKind::Notice },
        ..whole.clone()
    };
    texts.into_iter().enumerate().map(part).collect()
}

/// Pieces of at most this many characters, at line ends where there are any.
fn cut(text: &str, max: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let limit = rest.char_indices().nth(max).map_or(rest.len(), |(at, _)| at);
        let (head, _) = rest.split_at(limit);
        let at = match limit == rest.len() {
            true => limit,
            false => head.rfind('\n').filter(|at| *at > limit / 2).map_or(limit, |at| at + 1),
        };
        let (piece, tail) = rest.split_at(at);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// Locks a mutex, even a poisoned one.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
