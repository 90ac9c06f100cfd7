//! What happened in a fire, handler by handler.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use serde::Serialize;

use crate::{Envelope, Failure, FailureKind, ModelKind, guarded::quietly, registry::Meta};

/// Receives one record per fire (R4.15). Closures from `Arc<FireRecord>` are sinks.
///
/// A sink is called on the firing task when the fire ends, however it ends: keep it short, hand the record
/// to a channel or a queue. A sink that panics is ignored.
///
/// ```
/// use std::sync::{Arc, mpsc};
/// use pintle::{FireRecord, Hooks};
///
/// let (records, received) = mpsc::channel();
/// let hooks = Hooks::builder().sink(Arc::new(move |record: Arc<FireRecord>| drop(records.send(record)))).build();
/// # let _ = (hooks, received);
/// ```
pub trait RecordSink: Send + Sync + 'static {
    /// Takes the record of a fire that has just ended.
    fn record(&self, record: Arc<FireRecord>);
}

impl<F: Fn(Arc<FireRecord>) + Send + Sync + 'static> RecordSink for F {
    fn record(&self, record: Arc<FireRecord>) {
        self(record);
    }
}

/// Called with the names of a point and a handler when the handler starts: see [`Cx::on_handler_start`](crate::Cx::on_handler_start).
pub type OnHandlerStart = Arc<dyn Fn(&'static str, &str) + Send + Sync>;

/// One fire.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::{Arc, mpsc};
/// use pintle::{Cx, Event, FireRecord, Hooks, points::SessionOpened};
///
/// let hooks = Hooks::new();
/// hooks.named("greeter").register_void(async |_: Event<SessionOpened>| {})?;
///
/// let (records, received) = mpsc::channel();
/// let cx = Cx::test().observed_by(Arc::new(move |record: Arc<FireRecord>| records.send(record).unwrap()));
/// hooks.fire_void(&cx, SessionOpened::default).await?;
///
/// let record = received.recv()?;
/// assert_eq!(record.point, "session_start");
/// assert_eq!((&*record.handlers[0].name, record.handlers[0].outcome.name()), ("greeter", "finished"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FireRecord {
    /// The point that was fired.
    pub point: &'static str,
    /// Its execution model.
    pub model: ModelKind,
    /// The circumstances.
    pub envelope: Arc<Envelope>,
    /// The handlers the fire reached, in the order they were started.
    pub handlers: Vec<HandlerRecord>,
}

/// One handler's part in a fire.
///
/// ```
/// use pintle::{FireRecord, HandlerRecord};
///
/// fn line(handler: &HandlerRecord) -> String {
///     format!("{} {} in {:?}, won {:?}", handler.name, handler.outcome.name(), handler.duration, handler.won)
/// }
///
/// fn lines(record: &FireRecord) -> Vec<String> {
///     record.handlers.iter().map(line).collect()
/// }
/// # let _ = lines;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HandlerRecord {
    /// The handler's name.
    pub name: Arc<str>,
    /// Its plugin; a built-in has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<Arc<str>>,
    /// What it said, or how it failed.
    pub outcome: HandlerOutcome,
    /// How long it took.
    #[serde(rename = "durationMs", serialize_with = "as_millis")]
    pub duration: Duration,
    /// The keys of its patch that were taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub won: Vec<&'static str>,
    /// The keys of its patch that an earlier handler had set already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<&'static str>,
    /// What a reader should know besides: ignored fields, deprecated spellings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What it said had no effect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
}

impl HandlerRecord {
    /// The record of a handler that won and lost no key, for code that calls handlers of its own beside a fire's.
    ///
    /// ```
    /// use std::time::Duration;
    /// use pintle::{HandlerOutcome, HandlerRecord};
    ///
    /// let record = HandlerRecord::new("formatter", HandlerOutcome::Patched, Duration::from_millis(3));
    /// assert_eq!((&*record.name, record.plugin), ("formatter", None));
    /// ```
    pub fn new(name: impl Into<Arc<str>>, outcome: HandlerOutcome, duration: Duration) -> Self {
        Self {
            name: name.into(),
            plugin: None,
            outcome,
            duration,
            won: Vec::new(),
            lost: Vec::new(),
            notes: Vec::new(),
            shadow: false,
        }
    }
}

fn as_millis<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((duration.as_secs_f64() * 1e6).round() / 1e3)
}

/// What one handler said, or how it failed.
///
/// ```
/// use pintle::{Failure, FailureKind, HandlerOutcome};
///
/// let outcome = HandlerOutcome::Failed(Failure::new(FailureKind::TimedOut, "no answer within 5s"));
/// assert_eq!(outcome.name(), "timed_out");
/// assert_eq!(HandlerOutcome::Blocked("off limits".into()).name(), "blocked");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HandlerOutcome {
    /// Void: it finished.
    Finished,
    /// Modifying: it returned a patch.
    Patched,
    /// Modifying or Claiming: it had nothing to say.
    Passed,
    /// Claiming: it claimed.
    Claimed,
    /// Gate: it allowed.
    Allowed,
    /// Gate: it allowed if a person agrees, who is to be asked for this reason.
    Asked(String),
    /// Gate: it blocked, for this reason.
    Blocked(String),
    /// It failed. The model and its policy say what that did.
    Failed(Failure),
    /// It was unregistered while the fire was under way and was not started (R4.8).
    Removed,
}

impl HandlerOutcome {
    /// The names of the outcomes that are no failure of the handler.
    ///
    /// ```
    /// assert!(pintle::HandlerOutcome::NO_FAILURE.contains(&"blocked"));
    /// ```
    pub const NO_FAILURE: [&'static str; 9] = [
        "finished",
        "patched",
        "passed",
        "claimed",
        "allowed",
        "asked",
        "blocked",
        "removed",
        "cancelled",
    ];

    /// Why it blocked or asked, or how it failed.
    ///
    /// ```
    /// assert_eq!(pintle::HandlerOutcome::Blocked("off limits".into()).reason().as_deref(), Some("off limits"));
    /// ```
    pub fn reason(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Asked(reason) | Self::Blocked(reason) => Some(reason.into()),
            Self::Failed(failure) => Some(failure.to_string().into()),
            _ => None,
        }
    }

    /// The outcome's name on the wire: `finished`, `blocked`, `timed_out`, …
    ///
    /// ```
    /// assert_eq!(pintle::HandlerOutcome::Removed.name(), "removed");
    /// ```
    pub fn name(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Patched => "patched",
            Self::Passed => "passed",
            Self::Claimed => "claimed",
            Self::Allowed => "allowed",
            Self::Asked(_) => "asked",
            Self::Blocked(_) => "blocked",
            Self::Removed => "removed",
            Self::Failed(failure) => match failure.kind {
                FailureKind::Panicked => "panicked",
                FailureKind::Errored => "errored",
                FailureKind::TimedOut => "timed_out",
                FailureKind::Cancelled => "cancelled",
                FailureKind::Spawn => "spawn",
                FailureKind::Exit(_) => "exit",
                FailureKind::Signal(_) => "signal",
                FailureKind::BadOutput => "bad_output",
                FailureKind::TooMuchOutput => "too_much_output",
                FailureKind::Untrusted => "untrusted",
                FailureKind::Gone => "gone",
            },
        }
    }
}

/// Builds the record of a fire under way; hands it over when dropped, so that a fire that is cancelled or
/// dropped half-way is recorded too.
pub(crate) struct Recorder {
    sinks: [Option<Arc<dyn RecordSink>>; 2],
    on_start: Option<OnHandlerStart>,
    record: FireRecord,
    /// The handler that was started last, while it runs: most are over before the next one starts.
    newest: Option<(usize, Instant)>,
    /// Those that still run although others were started after them.
    others: BTreeMap<usize, Instant>,
}

impl Recorder {
    pub(crate) fn new(
        sinks: [Option<Arc<dyn RecordSink>>; 2],
        on_start: Option<OnHandlerStart>,
        point: &'static str,
        model: ModelKind,
        envelope: Arc<Envelope>,
        handlers: usize,
    ) -> Self {
        let record = FireRecord { point, model, envelope, handlers: Vec::with_capacity(handlers) };
        Self { sinks, on_start, record, newest: None, others: BTreeMap::new() }
    }

    /// Notes that a handler starts; the ticket it returns is for [`Recorder::finish`].
    #[cold]
    pub(crate) fn start(&mut self, meta: &Meta) -> usize {
        if let Some(on_start) = &self.on_start {
            quietly(|| on_start(self.record.point, &meta.name));
        }
        let ticket = self.record.handlers.len();
        self.record.handlers.push(HandlerRecord {
            plugin: meta.plugin.clone(),
            shadow: meta.shadow,
            // Until it ends, or the fire does.
            ..HandlerRecord::new(meta.name.clone(), HandlerOutcome::Removed, Duration::ZERO)
        });
        self.others.extend(self.newest.replace((ticket, Instant::now())));
        ticket
    }

    #[cold]
    pub(crate) fn finish(&mut self, ticket: usize, finish: impl FnOnce(&mut HandlerRecord)) {
        let started = match self.newest {
            Some((newest, at)) if newest == ticket => {
                self.newest = None;
                Some(at)
            }
            _ => self.others.remove(&ticket),
        };
        if let Some(handler) = self.record.handlers.get_mut(ticket) {
            handler.duration = started.map_or(Duration::ZERO, |at| at.elapsed());
            finish(handler);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        for (ticket, at) in std::mem::take(&mut self.others).into_iter().chain(self.newest) {
            if let Some(handler) = self.record.handlers.get_mut(ticket) {
                handler.duration = at.elapsed();
                handler.outcome = HandlerOutcome::Failed(Failure::new(
                    FailureKind::Cancelled,
                    "the fire ended before it did",
                ));
            }
        }
        let handlers = std::mem::take(&mut self.record.handlers);
        let envelope = self.record.envelope.clone();
        let record = Arc::new(FireRecord { handlers, envelope, ..self.record });
        for sink in self.sinks.iter().flatten() {
            // The run must not fall because its observer did.
            quietly(|| sink.record(record.clone()));
        }
    }
}
