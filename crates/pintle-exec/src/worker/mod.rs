//! Worker hooks: one long-lived process that serves many events (R8.7).

mod backoff;
mod lines;
mod process;
mod state;
mod supervisor;

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use pintle::{DynEvent, DynHandler, Failure, FailureKind};
use pintle_sandbox::{HostLog, HostUse, Report, Sweep, TERM_GRACE};
use serde::Serialize;
use serde_json::Value;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
    time::{Instant, timeout_at},
};

use crate::{context::Context, spec::CommandSpec};

/// How many requests may wait for a worker before new ones wait for a place in the queue.
const QUEUE: usize = 256;

/// A worker and how it is started again when it dies.
///
/// After a death the next request starts it anew, at once. When it dies again without having answered anything in
/// between, it has to wait, twice as long each time; requests in that time fail as `Gone` without waiting.
#[derive(Debug, Clone)]
pub struct WorkerSpec {
    /// What is started. Its timeout is for one request.
    pub process: CommandSpec,
    /// The first wait; the default is 200 ms.
    pub first_backoff: Duration,
    /// The longest wait; the default is 30 s.
    pub longest_backoff: Duration,
}

impl WorkerSpec {
    /// The default waits.
    pub fn new(process: CommandSpec) -> Self {
        Self {
            process,
            first_backoff: Duration::from_millis(200),
            longest_backoff: Duration::from_secs(30),
        }
    }
}

/// A handler that asks a long-lived process, one JSON line in, one JSON line out.
///
/// It gets `{"id": 5083…, "event": "tool.pre", "context": {…}}` and answers `{"id": 5083…, "result": {…}}` (what a
/// command hook would write to stdout, or null) or `{"id": 5083…, "error": "why"}`, with nothing beside it. It may say
/// `{"ready": true, "concurrent": true}` once: then it gets requests while others are under way, and answers them in any order.
/// Otherwise it gets them one at a time. What it writes to stderr is kept for the message of its failure.
///
/// An id is a number that cannot be guessed: output of a program that the worker runs, such as a line of a file on the same
/// stdout, answers nothing. An answer to an id that was not requested, or a second one to the same id, harms no
/// request; it only counts as noise.
///
/// It is started on first use. How a request can fail: `Spawn`; `Gone` (it died, or is waiting to be started
/// again); `TimedOut`; `Errored` (its own words); `BadOutput` (garbage); `TooMuchOutput` (a line over
/// [`OUTPUT_CAP`](crate::OUTPUT_CAP), or a flood). Where it cannot be told which of several requests a line was meant
/// for, none of them fails by it. A worker that lets a deadline pass is ended and started anew; one that serves
/// concurrently, after three in a row, or when it has not even read the request; one that floods, on stdout or stderr,
/// at once.
///
/// Clones are handles on the same process. When the last one is dropped, or at [`shutdown`](Self::shutdown), the
/// process ends with everything it started.
#[derive(Debug, Clone)]
pub struct Worker {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    spec: Arc<WorkerSpec>,
    closed: AtomicBool,
    supervisor: Mutex<Option<Supervisor>>,
    /// The hosts that its processes asked for and no record has yet.
    hosts: HostLog,
}

/// The task that looks after the process.
#[derive(Debug)]
struct Supervisor {
    inbox: mpsc::Sender<Request>,
    stop: Arc<Notify>,
    task: JoinHandle<()>,
}

/// One event on its way to the process.
struct Request {
    id: u64,
    line: Vec<u8>,
    deadline: Instant,
    /// A mistake of the worker meanwhile, for the failure if no answer comes.
    oddity: Arc<OnceLock<&'static str>>,
    answer: oneshot::Sender<Result<Value, Failure>>,
}

impl Request {
    /// The caller may be gone, which is fine.
    fn fail(self, failure: Failure) {
        let _ = self.answer.send(Err(failure));
    }
}

impl Worker {
    /// A worker that will be started on first use.
    pub fn new(spec: WorkerSpec) -> Self {
        let inner = Inner {
            spec: Arc::new(spec),
            closed: AtomicBool::new(false),
            supervisor: Mutex::new(None),
            hosts: HostLog::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The deadline to register it with: a little more than its timeout.
    pub fn deadline(&self) -> Duration {
        self.inner.spec.process.timeout.saturating_add(Duration::from_secs(1))
    }

    /// Asks with a deadline of its own, such as a longer one for a tool.
    pub fn call_within(
        &self,
        event: DynEvent,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<Value, Failure>> {
        let inner = self.inner.clone();
        Box::pin(async move { inner.ask(&event, timeout).await })
    }

    /// The hosts that it asked for and no record of a fire has: from requests outside of fires, and whatever it did between requests.
    #[must_use]
    pub fn take_hosts(&self) -> Vec<HostUse> {
        self.inner.hosts.take()
    }

    /// Ends the process and everything it started, and waits for that. Requests fail as `Gone` from now on.
    pub async fn shutdown(&self) {
        self.inner.closed.store(true, Ordering::SeqCst);
        let supervisor = self.inner.lock().take();
        if let Some(Supervisor { stop, task, .. }) = supervisor {
            stop.notify_one();
            let _ = tokio::time::timeout(TERM_GRACE * 20, task).await;
        }
    }
}

impl Inner {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Supervisor>> {
        self.supervisor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to the process's supervisor, which is started here: on first use, and again when the runtime it
    /// lived in is gone.
    fn inbox(&self) -> Result<mpsc::Sender<Request>, Failure> {
        let mut supervisor = self.lock();
        if self.closed.load(Ordering::SeqCst) {
            return Err(Failure::new(FailureKind::Gone, "the worker was shut down"));
        }
        if let Some(Supervisor { inbox, .. }) = supervisor.as_ref()
            && !inbox.is_closed()
        {
            return Ok(inbox.clone());
        }
        let (inbox, requests) = mpsc::channel(QUEUE);
        let stop = Arc::new(Notify::new());
        let task = tokio::spawn(supervisor::supervise(
            self.spec.clone(),
            self.hosts.clone(),
            requests,
            stop.clone(),
        ));
        *supervisor = Some(Supervisor { inbox: inbox.clone(), stop, task });
        Ok(inbox)
    }

    async fn ask(&self, event: &DynEvent, timeout: Duration) -> Result<Value, Failure> {
        let spec = &self.spec.process;
        let deadline = Instant::now() + timeout;
        let id = new_id()?;
        let context = Context { event, scrub: spec.scrub.as_ref() };
        let mut line = serde_json::to_vec(&Asked { id, event: event.point, context })?;
        line.push(b'\n');
        let sweep = spec.confinement.sweep_of_a_call();
        let gone = || Failure::new(FailureKind::Gone, "the worker's supervisor ended");
        let (answer, answered) = oneshot::channel();
        let oddity = Arc::new(OnceLock::new());
        let asked = async {
            let request = Request { id, line, deadline, oddity: oddity.clone(), answer };
            self.inbox()?.send(request).await.map_err(|_| gone())?;
            answered.await.map_err(|_| gone())?
        };
        let answer = timeout_at(deadline, asked).await.unwrap_or_else(|_| {
            let mut message = format!("the worker did not answer within {timeout:?}");
            if let Some(oddity) = oddity.get() {
                message.push_str(&format!("; it {oddity}"));
            }
            Err(Failure::new(FailureKind::TimedOut, message))
        });
        // R17.7: a request that no fire made leaves them to its caller.
        if event.is_recorded() {
            self.hosts.take().iter().for_each(|host| event.note(host.to_string()));
        }
        let changed = sweep.map(Sweep::after).unwrap_or_default();
        changed.iter().for_each(|change| event.note(change.to_string()));
        answer.map_err(|failure| {
            // The hosts are in the notes.
            let said = failure.message.clone();
            spec.with_refusals(failure, &said, &Report::default())
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(Supervisor { stop, .. }) = self.lock().as_ref() {
            stop.notify_one();
        }
    }
}

/// Unlike any other, and nothing that could be in a file or be guessed. As large as every language reads without loss.
fn new_id() -> Result<u64, Failure> {
    const EXACT_EVERYWHERE: u64 = (1 << 53) - 1;
    let random = getrandom::u64().map_err(|error| {
        Failure::new(FailureKind::Gone, format!("the system gives no random numbers: {error}"))
    })?;
    Ok(random & EXACT_EVERYWHERE)
}

/// A request, as its line.
#[derive(Serialize)]
struct Asked<'a> {
    id: u64,
    event: &'static str,
    context: Context<'a>,
}

impl DynHandler for Worker {
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
        self.call_within(event, self.inner.spec.process.timeout)
    }
}
