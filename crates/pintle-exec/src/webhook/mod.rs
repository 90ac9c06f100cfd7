//! Webhook observers (R10.5): told over HTTP, in order, without the run noticing.

mod address;
mod endpoint;
mod send;
mod spool;
mod telling;

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::{BoxFuture, join_all, ready};
use pintle::{DynEvent, DynHandler, Failure};
use serde_json::Value;
use tokio::{runtime::Handle, task::JoinHandle, time::timeout};

use self::{
    address::Target,
    endpoint::Endpoint,
    send::Sender,
    spool::Spool,
    telling::{About, Telling},
};
use crate::spec::Scrub;

pub use self::address::Lookup;

/// How a [`WebhookQueue`] works. The defaults are for one agent with a few endpoints.
#[derive(Clone)]
pub struct WebhookOptions {
    /// The folder for what could not be delivered. Without one it is lost (and counted) when the queue closes.
    /// Several processes may share it: each has a part of its own, and takes over what dead ones left.
    pub spool: Option<PathBuf>,
    /// How many messages wait for one endpoint, in memory and on disk; the default is 1,000.
    pub max_messages: usize,
    /// How many bytes wait for one endpoint, in memory and on disk; the default is 8 MiB.
    pub max_bytes: usize,
    /// How long one attempt may take; the default is 10 s.
    pub request_timeout: Duration,
    /// The pause after a first failed attempt; the default is 250 ms. It doubles each time.
    pub first_retry: Duration,
    /// The longest pause; the default is 60 s.
    pub longest_retry: Duration,
    /// How often a message is tried at an endpoint that *answers*, but not well (5xx, 429); then it counts as
    /// refused, and the next one has its turn. The default is 12. An endpoint nobody answers at is tried for ever.
    pub max_attempts: u32,
    /// A proxy the operator wants to be used. Proxies named in the environment are not. It resolves names itself:
    /// what a name leads to is then the proxy's to check.
    pub proxy: Option<String>,
    /// Another way to resolve names.
    pub lookup: Option<Lookup>,
}

impl Default for WebhookOptions {
    fn default() -> Self {
        Self {
            spool: None,
            max_messages: 1_000,
            max_bytes: 8 * 1024 * 1024,
            request_timeout: Duration::from_secs(10),
            first_retry: Duration::from_millis(250),
            longest_retry: Duration::from_secs(60),
            max_attempts: 12,
            proxy: None,
            lookup: None,
        }
    }
}

impl fmt::Debug for WebhookOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookOptions")
            .field("spool", &self.spool)
            .field("max_messages", &self.max_messages)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

/// Who is told, and as whom.
#[derive(Clone)]
pub struct WebhookSpec {
    /// Where to: https, or http to loopback.
    pub url: String,
    /// The profile's name, for the body.
    pub profile: String,
    /// Signs each body: `X-Pintle-Signature: sha256=…`, the HMAC-SHA256 of the body's bytes.
    pub secret: Option<String>,
    /// Takes secrets out of the context.
    pub scrub: Option<Scrub>,
}

impl WebhookSpec {
    /// An unsigned webhook.
    pub fn new(url: impl Into<String>, profile: impl Into<String>) -> Self {
        Self { url: url.into(), profile: profile.into(), secret: None, scrub: None }
    }
}

impl fmt::Debug for WebhookSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSpec").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Why a webhook cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The URL is none a webhook may go to.
    #[error("a webhook cannot go to `{url}`: {detail}")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The folder for undelivered messages cannot be used.
    #[error("the folder `{}` for undelivered webhooks cannot be used: {source}", path.display())]
    Spool {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The HTTP client cannot be made; perhaps the proxy is none.
    #[error("webhooks cannot be sent: {detail}")]
    Client {
        /// What the client said.
        detail: String,
    },
    /// There is no tokio runtime to send from.
    #[error("webhooks are sent in the background of a tokio runtime; there is none here")]
    NoRuntime,
}

/// What became of an endpoint's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointStats {
    /// The endpoint.
    pub url: String,
    /// Waiting; after the queue was closed: kept on disk.
    pub queued: usize,
    /// Received by the endpoint.
    pub delivered: u64,
    /// Given up: the endpoint said no, or led somewhere it may not.
    pub refused: u64,
    /// Lost because the queue was full, or could not be kept at the end.
    pub dropped: u64,
    /// What last went wrong.
    pub last_error: Option<String>,
}

/// Messages on their way to webhooks: bounded, in order for each endpoint, retried with growing pauses, and kept on
/// disk when they cannot be delivered.
///
/// A message is delivered at least once: after a crash perhaps twice, with the same `X-Pintle-Delivery` header.
/// Clones are handles on the same queue.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use pintle::{Hooks, ModelKind};
/// use pintle_exec::{WebhookOptions, WebhookQueue, WebhookSpec};
///
/// let queue = WebhookQueue::open(WebhookOptions::default())?;
/// let hooks = Hooks::new();
/// let observer = queue.webhook(WebhookSpec::new("https://example.com/hooks", "my-profile"))?;
/// hooks.named("tell-ops").register_dyn("agent_done", ModelKind::Void, observer)?;
///
/// let elsewhere = queue.webhook(WebhookSpec::new("http://169.254.169.254/latest", "my-profile"));
/// assert!(elsewhere.is_err());
///
/// queue.close(Duration::from_secs(2)).await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct WebhookQueue {
    inner: Arc<Inner>,
}

/// Each endpoint with the task that empties its queue; none after closing.
type Endpoints = BTreeMap<String, (Arc<Endpoint>, Option<JoinHandle<()>>)>;

struct Inner {
    options: Arc<WebhookOptions>,
    spool: Option<Arc<Spool>>,
    endpoints: Mutex<Endpoints>,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Endpoints> {
        self.endpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for (endpoint, task) in self.lock().values() {
            if let Some(task) = task {
                task.abort();
                endpoint.settle();
            }
        }
    }
}

impl WebhookQueue {
    /// A queue with no endpoints yet.
    ///
    /// # Errors
    /// When the folder for undelivered messages cannot be used.
    pub fn open(options: WebhookOptions) -> Result<Self, WebhookError> {
        let spool = match &options.spool {
            None => None,
            Some(path) => Some(Arc::new(
                Spool::open(path)
                    .map_err(|source| WebhookError::Spool { path: path.clone(), source })?,
            )),
        };
        let inner =
            Inner { options: Arc::new(options), spool, endpoints: Mutex::new(BTreeMap::new()) };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// An observer that queues each event for this endpoint. What was left for the same URL and secret last time is
    /// sent first.
    ///
    /// # Errors
    /// When the URL is none a webhook may go to, or there is no runtime to send from.
    pub fn webhook(&self, spec: WebhookSpec) -> Result<Webhook, WebhookError> {
        let target = Target::parse(&spec.url)?;
        let runtime = Handle::try_current().map_err(|_| WebhookError::NoRuntime)?;
        let secret: Option<Arc<str>> = spec.secret.clone().map(Into::into);
        let key = format!("{}\n{}", target.url, secret.as_deref().unwrap_or_default());
        let mut endpoints = self.inner.lock();
        let endpoint = match endpoints.get(&key) {
            Some((endpoint, _)) => endpoint.clone(),
            None => {
                let options = self.inner.options.clone();
                let url = target.url.to_string();
                let sender = Sender::new(target, secret, &options)?;
                let endpoint = Endpoint::new(key.clone(), url, self.inner.spool.clone(), &options);
                let task = runtime.spawn(endpoint.clone().deliver(sender, options));
                endpoints.insert(key, (endpoint.clone(), Some(task)));
                endpoint
            }
        };
        drop(endpoints);
        let from = About { profile: spec.profile, scrub: spec.scrub };
        Ok(Webhook { endpoint, about: Arc::new(from), _queue: self.inner.clone() })
    }

    /// What became of the messages, endpoint by endpoint. Readable at any time, after closing too.
    pub fn stats(&self) -> Vec<EndpointStats> {
        self.inner.lock().values().map(|(endpoint, _)| endpoint.stats()).collect()
    }

    /// Sends what there is within this limit, keeps the rest on disk, and takes no more.
    pub async fn close(&self, limit: Duration) -> Vec<EndpointStats> {
        let endpoints: Vec<_> =
            self.inner.lock().values().map(|(endpoint, _)| endpoint.clone()).collect();
        for endpoint in &endpoints {
            endpoint.close();
        }
        let _ = timeout(limit, join_all(endpoints.iter().map(|endpoint| endpoint.emptied()))).await;
        let tasks: Vec<_> =
            self.inner.lock().values_mut().filter_map(|(_, task)| task.take()).collect();
        for task in tasks {
            task.abort();
            // What is under way must be over before what is left is counted.
            let _ = task.await;
        }
        for endpoint in &endpoints {
            endpoint.settle();
        }
        self.stats()
    }
}

impl fmt::Debug for WebhookQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookQueue").field("endpoints", &self.stats()).finish()
    }
}

/// A handler that queues each event and is done: it never waits, never fails, never blocks.
#[derive(Clone)]
pub struct Webhook {
    endpoint: Arc<Endpoint>,
    about: Arc<About>,
    /// The queue lives for as long as somebody may add to it.
    _queue: Arc<Inner>,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("endpoint", &self.endpoint.stats()).finish()
    }
}

impl DynHandler for Webhook {
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
        self.endpoint.push(Telling::new(event, self.about.clone()));
        Box::pin(ready(Ok(Value::Null)))
    }
}
