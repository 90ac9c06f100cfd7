//! What a handler receives.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use serde_json::{Map, Value};

use crate::{Envelope, Model, Modifying, Patch, Point};

/// One occurrence of a point, as a handler receives it: owned, cheap to clone, read-only.
///
/// It derefs to the payload, so a handler reads `e.tool_name`; the envelope is behind [`Event::envelope`],
/// with shortcuts for what handlers ask most. The payload is shared by all handlers of the fire and cannot
/// be changed by any (R4.4).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pintle::{Cx, Envelope, Event, Hooks, PluginGate, points::SessionStart};
///
/// let hooks = Hooks::new();
/// hooks.options().fail_closed().register_void(|e: Event<SessionStart>| async move {
///     assert_eq!((e.session_id(), e.run_id(), e.platform(), e.resumed), ("s-1", "", "cli", false));
///     assert_eq!(e.envelope().ts, 0);
/// })?;
///
/// let envelope = Envelope { session_id: Some("s-1".into()), platform: "cli".into(), ..Envelope::default() };
/// let cx = Cx::new(envelope, PluginGate::BuiltinsOnly);
/// hooks.fire_void(&cx, || SessionStart { resumed: false }).await?;
/// # Ok(())
/// # }
/// ```
pub struct Event<P: Point> {
    pub(crate) shared: Arc<Shared<P>>,
    pub(crate) view: <P::Model as Model>::View,
}

pub(crate) struct Shared<P> {
    pub(crate) payload: P,
    pub(crate) envelope: Arc<Envelope>,
    /// Serialised once per fire, and only if a dynamic handler is reached.
    json: OnceLock<Arc<Value>>,
}

impl<P: Point> Event<P> {
    pub(crate) fn new(payload: P, envelope: Arc<Envelope>) -> Self {
        let shared = Shared { payload, envelope, json: OnceLock::new() };
        Self { shared: Arc::new(shared), view: Default::default() }
    }

    /// The circumstances of this fire.
    pub fn envelope(&self) -> &Envelope {
        &self.shared.envelope
    }

    /// The session's id; empty where there is none yet.
    pub fn session_id(&self) -> &str {
        self.envelope().session_id.as_deref().unwrap_or_default()
    }

    /// The run's id; empty where there is none.
    pub fn run_id(&self) -> &str {
        self.envelope().run_id.as_deref().unwrap_or_default()
    }

    /// Where it happens.
    pub fn platform(&self) -> &str {
        &self.envelope().platform
    }

    /// Payload and envelope as one JSON object, as they go over the wire.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::SessionStart};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(|e: Event<SessionStart>| async move {
    ///     let json = e.to_json();
    ///     println!("{} {}", json["sessionId"], json["resumed"]);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn to_json(&self) -> Arc<Value> {
        self.shared
            .json
            .get_or_init(|| {
                let mut object = object_of(serde_json::to_value(&*self.shared.envelope));
                object.extend(object_of(serde_json::to_value(&self.shared.payload)));
                Arc::new(Value::Object(object))
            })
            .clone()
    }
}

fn object_of(value: serde_json::Result<Value>) -> Map<String, Value> {
    match value {
        Ok(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

impl<P, T> Event<P>
where
    P: Point<Model = Modifying<T>>,
    T: Patch,
{
    /// What earlier handlers of this fire have set (R4.5). The payload itself stays the original.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::{BeforePromptBuild, PromptPatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_modifying(|e: Event<BeforePromptBuild>| async move {
    ///     let taken = e.merged().is_some_and(|merged| merged.append_system.is_some());
    ///     (!taken).then(|| PromptPatch { append_system: Some("Be brief.".into()), ..Default::default() })
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn merged(&self) -> Option<&T> {
        self.view.as_deref()
    }
}

impl<P: Point + fmt::Debug> fmt::Debug for Event<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("payload", &self.shared.payload)
            .field("envelope", &self.shared.envelope)
            .finish_non_exhaustive()
    }
}

impl<P: Point> Deref for Event<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.shared.payload
    }
}

impl<P: Point> Clone for Event<P> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), view: self.view.clone() }
    }
}
