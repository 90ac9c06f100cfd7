//! Webhook observers (R10.5): they get events over HTTP, in order, and never delay the run.

mod address;
mod deliver;
mod endpoint;
mod event_body;
mod journal;
mod send;

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::{BoxFuture, join, join_all, ready};
use pintle::{DynEvent, DynHandler, Failure};
use serde_json::Value;
use tokio::{runtime::Handle, task::JoinHandle, time::timeout};

use self::{
    address::Target,
    deliver::deliver,
    endpoint::Endpoint,
    event_body::{Origin, PendingEvent},
    journal::{Journal, make_folder},
    send::Sender,
};
use crate::spec::Scrub;

pub use self::{
    address::{Lookup, webhook_url},
    event_body::event_body,
    journal::{KeptWebhooks, kept_webhooks},
};

/// How a [`WebhookQueue`] works. The defaults are for one agent with a few endpoints.
#[derive(Clone)]
pub struct WebhookOptions {
    /// The folder that messages are kept in until they are delivered. Without one, messages that are not
    /// delivered are lost (and counted) when the queue closes. Several processes may share it: each takes over the messages of
    /// dead ones.
    pub spool: Option<PathBuf>,
    /// Whose messages these are. In a shared folder, an owner sends only its own messages: others would be signed with
    /// the wrong secret.
    pub owner: String,
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
    /// After so many failures of a message at an endpoint that can be reached (5xx, no answer) others are tried before
    /// it. When it fails as often again, each time right after another has arrived, it is refused. The default is
    /// 5. An endpoint that accepts no message at all is retried forever.
    pub suspect_after: u32,
    /// Another way to resolve names.
    pub lookup: Option<Lookup>,
}

impl Default for WebhookOptions {
    fn default() -> Self {
        Self {
            spool: None,
            owner: String::new(),
            max_messages: 1_000,
            max_bytes: 8 * 1024 * 1024,
            request_timeout: Duration::from_secs(10),
            first_retry: Duration::from_millis(250),
            longest_retry: Duration::from_secs(60),
            suspect_after: 5,
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

/// Where events are sent, and in whose name.
#[derive(Clone)]
pub struct WebhookSpec {
    /// Where to: https, or http to loopback.
    pub url: String,
    /// The profile's name, for the body.
    pub profile: String,
    /// Signs each body: `X-Pintle-Signature: sha256=…`, the HMAC-SHA256 of the body's bytes.
    pub secret: Option<WebhookSecret>,
    /// Takes secrets out of the context.
    pub scrub: Option<Scrub>,
    /// A proxy the operator wants to be used. Proxies named in the environment are not. It resolves names itself:
    /// what a name leads to is then the proxy's to check.
    pub proxy: Option<String>,
}

impl WebhookSpec {
    /// An unsigned webhook.
    pub fn new(url: impl Into<String>, profile: impl Into<String>) -> Self {
        Self { url: url.into(), profile: profile.into(), secret: None, scrub: None, proxy: None }
    }

    /// Whether a webhook may go there, as far as that can be told without looking up its name.
    ///
    /// # Errors
    /// When it may not, with the reason.
    pub fn check(&self) -> Result<(), WebhookError> {
        Target::parse(&self.url).map(drop)
    }

    /// Whether this is the URL it goes to, however it was written.
    pub fn goes_to(&self, url: &str) -> bool {
        Target::parse(&self.url).is_ok_and(|target| target.url.as_str() == url)
    }
}

impl fmt::Debug for WebhookSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSpec").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A secret that signs. By its name, what one process left is signed with the right one by the next, and with the value
/// it has then. Several secrets of one name are one secret, whose value has changed.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret {
    /// Where it is from, such as the variable it is in. This is written down.
    pub name: String,
    /// This is not.
    pub value: String,
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSecret").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Why a webhook cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The URL is none a webhook may go to.
    #[error("nothing can be sent to `{url}`: {detail}")]
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
    /// Given up: the endpoint said no, or led somewhere it may not, or takes others but not these.
    pub refused: u64,
    /// Not taken because the queue was full, or closed.
    pub dropped: u64,
    /// Neither delivered nor kept on disk when the queue closed.
    pub lost: u64,
    /// Lines on disk that could not be read when the queue was opened.
    pub damaged: u64,
    /// Why the last refused one was refused.
    pub last_refusal: Option<String>,
    /// What is in the way of those that wait, or of keeping them.
    pub last_error: Option<String>,
}

/// Messages on their way to webhooks: bounded, in order for each endpoint, retried with growing pauses, and kept on
/// disk until they are delivered.
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

/// Each endpoint by its URL, with the task that empties its queue; none after closing.
type Endpoints = BTreeMap<String, (Arc<Endpoint>, Option<JoinHandle<()>>)>;

struct Inner {
    options: Arc<WebhookOptions>,
    endpoints: Mutex<Endpoints>,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Endpoints> {
        self.endpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where this sends to, with what was left for it last time.
    fn endpoint(&self, spec: &WebhookSpec) -> Result<Arc<Endpoint>, WebhookError> {
        let target = Target::parse(&spec.url)?;
        let runtime = Handle::try_current().map_err(|_| WebhookError::NoRuntime)?;
        let url = target.url.to_string();
        let mut endpoints = self.lock();
        let known = endpoints.get(&url).map(|(endpoint, _)| endpoint.clone());
        if let Some(endpoint) = known.clone().filter(|endpoint| endpoint.serves(spec)) {
            return Ok(endpoint);
        }
        let sender = Sender::new(target, spec, &self.options)?;
        let endpoint = match known {
            Some(endpoint) => endpoint,
            None => self.open(url, &mut endpoints, &runtime)?,
        };
        endpoint.send_by(sender);
        Ok(endpoint)
    }

    fn open(
        &self,
        url: String,
        endpoints: &mut Endpoints,
        runtime: &Handle,
    ) -> Result<Arc<Endpoint>, WebhookError> {
        let options = self.options.clone();
        let journal = options.spool.as_ref().map(|path| {
            Journal::open(path, &options.owner, &url).map_err(|error| unusable(path, error))
        });
        let endpoint = Endpoint::new(url.as_str().into(), journal.transpose()?, &options);
        let its = endpoint.clone();
        let task = runtime.spawn(async move {
            join(its.clone().keep_writing(), deliver(&its, &options)).await;
        });
        endpoints.insert(url, (endpoint.clone(), Some(task)));
        Ok(endpoint)
    }
}

fn unusable(path: &Path, source: io::Error) -> WebhookError {
    WebhookError::Spool { path: path.into(), source }
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
        if let Some(path) = &options.spool {
            make_folder(path).map_err(|error| unusable(path, error))?;
        }
        let inner = Inner { options: Arc::new(options), endpoints: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// An observer that queues each event for this endpoint. Messages that this owner left for the same URL are sent first,
    /// signed with the secret of the same name, or with a current one if that name is gone.
    ///
    /// # Errors
    /// When a webhook may not go to the URL, there is no runtime to send from, or the messages on disk cannot be read.
    pub fn webhook(&self, spec: WebhookSpec) -> Result<Webhook, WebhookError> {
        let endpoint = self.inner.endpoint(&spec)?;
        let WebhookSpec { profile, secret, scrub, .. } = spec;
        let profile = scrub.as_ref().map_or_else(|| profile.clone(), |scrub| scrub(&profile));
        let origin = Origin { profile, secret: secret.map(|secret| secret.name.into()), scrub };
        Ok(Webhook { endpoint, origin: Arc::new(origin), _queue: self.inner.clone() })
    }

    /// Sends messages other than events to this endpoint, as they are: unsigned, and with this content type.
    ///
    /// # Errors
    /// As [`WebhookQueue::webhook`].
    pub fn posts(&self, url: &str, content_type: &'static str) -> Result<Posts, WebhookError> {
        let endpoint = self.inner.endpoint(&WebhookSpec::new(url, ""))?;
        Ok(Posts { endpoint, content_type, _queue: self.inner.clone() })
    }

    /// What became of the messages, endpoint by endpoint. Readable at any time, after closing too.
    pub fn stats(&self) -> Vec<EndpointStats> {
        self.inner.lock().values().map(|(endpoint, _)| endpoint.stats()).collect()
    }

    /// Sends what there is within this limit, keeps the rest on disk, and takes no more. With a folder to keep the rest
    /// in, an endpoint that fails now is not tried again: the limit is for those that are slow.
    pub async fn close(&self, limit: Duration) -> Vec<EndpointStats> {
        let endpoints: Vec<_> =
            self.inner.lock().values().map(|(endpoint, _)| endpoint.clone()).collect();
        for endpoint in &endpoints {
            endpoint.close();
        }
        let _ = timeout(limit, join_all(endpoints.iter().map(|endpoint| endpoint.flushed()))).await;
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

/// Queues messages other than events: see [`WebhookQueue::posts`].
#[derive(Clone)]
pub struct Posts {
    endpoint: Arc<Endpoint>,
    content_type: &'static str,
    /// Keeps the queue open while this handle can add to it.
    _queue: Arc<Inner>,
}

impl Posts {
    /// Queues a message, or counts it as dropped when the queue is full. Never waits.
    pub fn send(&self, body: Vec<u8>) {
        self.endpoint.push(PendingEvent::bytes(self.content_type, body));
    }
}

impl fmt::Debug for Posts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Posts").field("endpoint", &self.endpoint.stats()).finish()
    }
}

/// A handler that queues each event and is done: it never waits, never fails, never blocks.
#[derive(Clone)]
pub struct Webhook {
    endpoint: Arc<Endpoint>,
    origin: Arc<Origin>,
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
        self.endpoint.push(PendingEvent::new(event, self.origin.clone()));
        Box::pin(ready(Ok(Value::Null)))
    }
}
