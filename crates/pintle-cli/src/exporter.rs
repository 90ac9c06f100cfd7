//! Sends recorded runs as OpenTelemetry traces: while they go on, or afterwards.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use pintle_agent::{RunEvent, Store};
use pintle_exec::{EndpointStats, Posts, WebhookOptions, WebhookQueue};
use pintle_otlp::{CONTENT_TYPE, Ended, Event};

use crate::problem::Problem;

/// How often the spans that have ended are sent while runs go on.
const EVERY: Duration = Duration::from_secs(2);
/// How long undelivered spans may hold up the program's exit.
const FLUSH_LIMIT: Duration = Duration::from_secs(3);
/// How long the end of a run is remembered, so that its last hooks are sent and nothing is sent twice.
const REMEMBERED: Duration = Duration::from_secs(600);
/// So many spans go into one message.
const SPANS_IN_A_MESSAGE: usize = 512;

/// Sends spans to a collector.
pub(crate) struct Exporter {
    store: Arc<dyn Store>,
    queue: WebhookQueue,
    posts: Posts,
    content: bool,
    runs: Mutex<HashMap<String, Progress>>,
}

/// How far a run was sent.
struct Progress {
    /// The place of the last event whose spans were sent.
    sent: u64,
    /// Whether an event came since then.
    is_dirty: bool,
    touched: Instant,
}

impl Exporter {
    /// Sends to this URL. What is not delivered is kept in the folder, if there is one, and sent next time.
    pub(crate) fn open(
        store: Arc<dyn Store>,
        url: &str,
        content: bool,
        spool: Option<&Path>,
    ) -> Result<Self, Problem> {
        let options = WebhookOptions {
            spool: spool.map(Path::to_path_buf),
            owner: "otlp".into(),
            ..WebhookOptions::default()
        };
        let wrong = |error: pintle_exec::WebhookError| {
            Problem::new(format!("traces cannot be sent to {url}"))
                .cause(error)
                .fix("name an OTLP/HTTP endpoint, like http://localhost:4318")
        };
        let queue = WebhookQueue::open(options).map_err(wrong)?;
        let posts = queue.posts(&pintle_otlp::endpoint(url), CONTENT_TYPE).map_err(wrong)?;
        Ok(Self { store, queue, posts, content, runs: Mutex::default() })
    }

    /// Sends ended spans every few seconds, until it is dropped.
    pub(crate) fn keep_sending(self: &Arc<Self>) {
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(EVERY).await;
                let Some(exporter) = weak.upgrade() else { return };
                exporter.send_new().await;
            }
        });
    }

    /// Notes that something happened in a run. Never waits.
    pub(crate) fn saw(&self, event: &RunEvent) {
        let Some(run_id) = &event.envelope.run_id else { return };
        let touched = Instant::now();
        let mut runs = self.lock();
        match runs.get_mut(run_id) {
            Some(run) => (run.is_dirty, run.touched) = (true, touched),
            None => {
                runs.insert(run_id.clone(), Progress { sent: 0, is_dirty: true, touched });
            }
        }
    }

    async fn send_new(&self) {
        let mut dirty = Vec::new();
        {
            let mut runs = self.lock();
            runs.retain(|_, run| run.is_dirty || run.touched.elapsed() < REMEMBERED);
            for (run_id, run) in runs.iter_mut().filter(|(_, run)| run.is_dirty) {
                run.is_dirty = false;
                dirty.push((run_id.clone(), run.sent));
            }
        }
        for (run_id, sent) in dirty {
            // If the store fails, the next event tries again.
            let Ok(ended) = self.ended(&run_id).await else { continue };
            let last = ended.last().map_or(sent, |span| span.seq);
            self.post(ended.into_iter().filter(|span| span.seq > sent).collect());
            if let Some(run) = self.lock().get_mut(&run_id) {
                run.sent = run.sent.max(last);
            }
        }
    }

    /// Sends a whole run.
    pub(crate) async fn send(&self, run_id: &str) -> Result<(), Problem> {
        self.post(self.ended(run_id).await?);
        Ok(())
    }

    async fn ended(&self, run_id: &str) -> Result<Vec<Ended>, Problem> {
        let events = self.store.events(run_id).await?;
        let events: Vec<Event> = events
            .iter()
            .filter_map(|it| {
                let json = serde_json::from_str(&it.json).ok()?;
                Some(Event { seq: it.seq, at: it.at, json })
            })
            .collect();
        Ok(pintle_otlp::spans(&events, self.content))
    }

    fn post(&self, spans: Vec<Ended>) {
        let mut spans: Vec<_> = spans.into_iter().map(|ended| ended.span).collect();
        while !spans.is_empty() {
            let rest = spans.split_off(spans.len().min(SPANS_IN_A_MESSAGE));
            self.posts.send(pintle_otlp::encode(spans, env!("CARGO_PKG_VERSION")));
            spans = rest;
        }
    }

    /// Sends the remaining spans and returns the figures of all deliveries. Call it when no run is active.
    pub(crate) async fn close(&self) -> Vec<EndpointStats> {
        self.send_new().await;
        self.queue.close(FLUSH_LIMIT).await
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Progress>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
