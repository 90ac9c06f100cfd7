//! What a fire needs to know besides its payload.

use std::{fmt, sync::Arc};

use tokio_util::sync::CancellationToken;

use crate::{Envelope, OnHandlerStart, PluginFilter, RecordSink};

/// The context of a fire: its envelope, whose handlers it may reach, and how it can be cancelled or watched.
///
/// Both arguments of [`Cx::new`] are required: a fire that does not say which plugins it reaches cannot be
/// written.
///
/// ```
/// use pintle::{Cx, Envelope, PluginFilter};
///
/// let cx = Cx::new(Envelope { platform: "cli".into(), ..Envelope::default() }, PluginFilter::BuiltinsOnly);
/// assert_eq!(cx.envelope().platform, "cli");
/// ```
#[derive(Clone)]
pub struct Cx {
    pub(crate) envelope: Arc<Envelope>,
    pub(crate) plugins: PluginFilter,
    pub(crate) cancel: Option<CancellationToken>,
    pub(crate) sink: Option<Arc<dyn RecordSink>>,
    pub(crate) on_start: Option<OnHandlerStart>,
}

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx")
            .field("envelope", &self.envelope)
            .field("plugins", &self.plugins)
            .finish_non_exhaustive()
    }
}

impl Cx {
    /// A context with this envelope, reaching these plugins.
    pub fn new(envelope: impl Into<Arc<Envelope>>, plugins: PluginFilter) -> Self {
        Self { envelope: envelope.into(), plugins, cancel: None, sink: None, on_start: None }
    }

    /// A context for a test: an empty envelope, and every plugin's handlers fire.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pintle::{Cx, Event, Hooks, Verdict, points::UserPromptSubmit};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_gate(|_: Event<UserPromptSubmit>| Verdict::block("closed"))?;
    /// assert!(hooks.fire_gate(&Cx::test(), || UserPromptSubmit::default().prompt("hi")).await.blocked().is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn test() -> Self {
        Self::new(Envelope::default(), PluginFilter::All)
    }

    /// Cancelling `token` drops the handlers a fire has started (R4.11).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pintle::{Cx, Event, FireError, Hooks, points::SessionOpened};
    /// use tokio_util::sync::CancellationToken;
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(|_: Event<SessionOpened>| std::future::pending::<()>())?;
    ///
    /// let token = CancellationToken::new();
    /// let cx = Cx::test().cancelled_by(token.clone());
    /// let fire = hooks.fire_void(&cx, SessionOpened::default);
    /// token.cancel();
    /// assert_eq!(fire.await, Err(FireError::Cancelled { point: "session_start" }));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cancelled_by(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Sends the record of each fire to `sink` too, besides the registry's own sink.
    ///
    /// See [`FireRecord`](crate::FireRecord) for an example.
    #[must_use]
    pub fn observed_by(mut self, sink: Arc<dyn RecordSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Calls `on_start` with the names of the point and the handler whenever a handler starts: for a display of what is
    /// being waited for.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::sync::{Arc, mpsc};
    /// use pintle::{Cx, Event, Hooks, points::SessionOpened};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("greeter").register_void(async |_: Event<SessionOpened>| {})?;
    ///
    /// let (started, names) = mpsc::channel();
    /// let cx = Cx::test()
    ///     .on_handler_start(Arc::new(move |_, handler: &str| started.send(handler.to_string()).unwrap()));
    /// hooks.fire_void(&cx, SessionOpened::default).await?;
    /// assert_eq!(names.recv()?, "greeter");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn on_handler_start(mut self, on_start: OnHandlerStart) -> Self {
        self.on_start = Some(on_start);
        self
    }

    /// Whether a fire has to be recorded for this context.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.sink.is_some() || self.on_start.is_some()
    }

    /// The same context with another envelope.
    ///
    /// ```
    /// use pintle::{Cx, Envelope, PluginFilter};
    ///
    /// let cx = Cx::new(Envelope::default(), PluginFilter::only(["weather"]));
    /// let next = cx.with_envelope(Envelope { turn_index: Some(1), ..Envelope::default() });
    /// assert_eq!((next.envelope().turn_index, next.plugins()), (Some(1), cx.plugins()));
    /// ```
    #[must_use]
    pub fn with_envelope(&self, envelope: impl Into<Arc<Envelope>>) -> Self {
        Self { envelope: envelope.into(), ..self.clone() }
    }

    /// The circumstances every payload carries.
    pub fn envelope(&self) -> &Arc<Envelope> {
        &self.envelope
    }

    /// Whose handlers are reached.
    pub fn plugins(&self) -> &PluginFilter {
        &self.plugins
    }
}
