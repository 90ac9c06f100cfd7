//! What a fire needs to know besides its payload.

use std::{fmt, sync::Arc};

use tokio_util::sync::CancellationToken;

use crate::{Envelope, PluginGate, RecordSink};

/// The context of a fire: its envelope, whose handlers it may reach, and how it can be cancelled or watched.
///
/// Both arguments of [`Cx::new`] are required: a fire that does not say which plugins it reaches cannot be
/// written.
///
/// ```
/// use pintle::{Cx, Envelope, PluginGate};
///
/// let cx = Cx::new(Envelope { platform: "cli".into(), ..Envelope::default() }, PluginGate::BuiltinsOnly);
/// assert_eq!(cx.envelope().platform, "cli");
/// ```
#[derive(Clone)]
pub struct Cx {
    pub(crate) envelope: Arc<Envelope>,
    pub(crate) plugins: PluginGate,
    pub(crate) cancel: Option<CancellationToken>,
    pub(crate) sink: Option<Arc<dyn RecordSink>>,
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
    pub fn new(envelope: impl Into<Arc<Envelope>>, plugins: PluginGate) -> Self {
        Self { envelope: envelope.into(), plugins, cancel: None, sink: None }
    }

    /// Cancelling `token` drops the handlers a fire has started (R4.11).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pintle::{Cx, Envelope, Event, FireError, Hooks, PluginGate, points::SessionStart};
    /// use tokio_util::sync::CancellationToken;
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(|_: Event<SessionStart>| std::future::pending::<()>())?;
    ///
    /// let token = CancellationToken::new();
    /// let cx = Cx::new(Envelope::default(), PluginGate::All).cancelled_by(token.clone());
    /// let fire = hooks.fire_void(&cx, || SessionStart { resumed: false });
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

    /// The same context with another envelope.
    ///
    /// ```
    /// use pintle::{Cx, Envelope, PluginGate};
    ///
    /// let cx = Cx::new(Envelope::default(), PluginGate::only(["weather"]));
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
    pub fn plugins(&self) -> &PluginGate {
        &self.plugins
    }
}
