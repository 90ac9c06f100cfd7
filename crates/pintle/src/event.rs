//! What a handler receives.

use std::{
    fmt, io,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use serde_json::{Map, Value};

use crate::{Envelope, Modifying, Patch, Point, model::View};

/// One occurrence of a point, as a handler receives it: owned, cheap to clone, read-only.
///
/// It derefs to the payload, so a handler reads `e.tool_name`; the envelope's fields are behind [`Event::envelope`]. The
/// payload is shared by all handlers of the fire and cannot be changed by any (R4.4).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pintle::{Cx, Envelope, Event, Hooks, PluginFilter, points::SessionOpened};
///
/// let hooks = Hooks::new();
/// hooks.options().fail_closed().register_void(async |e: Event<SessionOpened>| {
///     assert!(!e.resumed);
///     assert_eq!(e.envelope().session_id.as_deref(), Some("s-1"));
///     assert_eq!((&*e.envelope().platform, e.envelope().ts), ("cli", 0));
/// })?;
///
/// let envelope = Envelope { session_id: Some("s-1".into()), platform: "cli".into(), ..Envelope::default() };
/// let cx = Cx::new(envelope, PluginFilter::BuiltinsOnly);
/// hooks.fire_void(&cx, SessionOpened::default).await?;
/// # Ok(())
/// # }
/// ```
pub struct Event<P: Point> {
    shared: Arc<Shared<P>>,
}

/// One pointer for all that a handler sees: it is cloned for each.
struct Shared<P: Point> {
    fact: Fact<P>,
    /// What earlier handlers have said.
    view: View<P>,
}

enum Fact<P: Point> {
    Own(Occurrence<P>),
    /// Behind the event in which the fire began: see [`Event::amend_view`].
    Of(Arc<Shared<P>>),
}

struct Occurrence<P> {
    payload: P,
    envelope: Arc<Envelope>,
    /// Serialised once per fire, and only if somebody reads it.
    json: OnceLock<Value>,
}

impl<P: Point> Shared<P> {
    #[inline]
    fn occurrence(&self) -> &Occurrence<P> {
        match &self.fact {
            Fact::Own(occurrence) => occurrence,
            Fact::Of(first) => first.occurrence(),
        }
    }
}

impl<P: Point> Event<P> {
    #[inline]
    pub(crate) fn new(payload: P, envelope: Arc<Envelope>) -> Self {
        let fact = Fact::Own(Occurrence { payload, envelope, json: OnceLock::new() });
        Self { shared: Arc::new(Shared { fact, view: Default::default() }) }
    }

    pub(crate) fn view(&self) -> &View<P> {
        &self.shared.view
    }

    /// Changes what later handlers see. In place, unless a handler kept its event: that one sees what it always saw.
    pub(crate) fn amend_view<R>(&mut self, amend: impl FnOnce(&mut View<P>) -> R) -> R {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            return amend(&mut shared.view);
        }
        let first = match &self.shared.fact {
            Fact::Own(_) => &self.shared,
            Fact::Of(first) => first,
        };
        let mut view = self.shared.view.clone();
        let amended = amend(&mut view);
        self.shared = Arc::new(Shared { fact: Fact::Of(first.clone()), view });
        amended
    }

    pub(crate) fn shared_envelope(&self) -> &Arc<Envelope> {
        &self.shared.occurrence().envelope
    }

    /// The circumstances of this fire.
    pub fn envelope(&self) -> &Envelope {
        self.shared_envelope()
    }

    /// Payload and envelope as one JSON object, as they go over the wire. It is made when it is first read.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::SessionOpened};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<SessionOpened>| {
    ///     let json = e.to_json();
    ///     println!("{} {}", json["sessionId"], json["resumed"]);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn to_json(&self) -> EventJson {
        EventJson(self.shared.clone())
    }
}

/// An event as JSON, made when it is first read and then shared by all handlers of the fire: who only passes it on, as a
/// queue does, pays nothing for it. It derefs to the [`Value`].
///
/// ```
/// use pintle::{DynEvent, Failure, Hooks, ModelKind};
/// use serde_json::json;
///
/// let hooks = Hooks::new();
/// hooks.register_dyn("tool.pre", ModelKind::Gate, |mut e: DynEvent| async move {
///     let is_far = e.json["zone"].as_u64() > Some(2);
///     e.json = json!({ "made": "by hand" }).into();
///     Ok::<_, Failure>(json!({ "continue": !is_far, "reason": "too far" }))
/// })?;
/// # Ok::<(), pintle::RegisterError>(())
/// ```
#[derive(Clone)]
pub struct EventJson(Arc<dyn AsJson>);

trait AsJson: Send + Sync {
    fn json(&self) -> &Value;
    fn write_payload(&self, to: &mut dyn io::Write) -> serde_json::Result<()>;
}

impl EventJson {
    /// Writes the payload as text, without making the JSON value: a queue can keep to a bound in bytes before an event was
    /// read.
    ///
    /// ```
    /// use pintle::EventJson;
    ///
    /// let mut text = Vec::new();
    /// EventJson::from(serde_json::json!({ "a": [1, 2] })).write_payload(&mut text)?;
    /// assert_eq!(text, br#"{"a":[1,2]}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    /// When `to` cannot be written.
    pub fn write_payload(&self, to: &mut dyn io::Write) -> serde_json::Result<()> {
        self.0.write_payload(to)
    }
}

impl<P: Point> AsJson for Shared<P> {
    fn json(&self) -> &Value {
        let Occurrence { payload, envelope, json } = self.occurrence();
        json.get_or_init(|| {
            let mut object = object_of(serde_json::to_value(&**envelope));
            object.extend(object_of(serde_json::to_value(payload)));
            Value::Object(object)
        })
    }

    fn write_payload(&self, to: &mut dyn io::Write) -> serde_json::Result<()> {
        serde_json::to_writer(to, &self.occurrence().payload)
    }
}

impl AsJson for Value {
    fn json(&self) -> &Value {
        self
    }

    fn write_payload(&self, to: &mut dyn io::Write) -> serde_json::Result<()> {
        serde_json::to_writer(to, self)
    }
}

impl From<Value> for EventJson {
    fn from(value: Value) -> Self {
        Self(Arc::new(value))
    }
}

impl Deref for EventJson {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.0.json()
    }
}

impl fmt::Debug for EventJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
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
    /// hooks.register_modifying(async |e: Event<BeforePromptBuild>| {
    ///     let taken = e.merged().is_some_and(|merged| merged.append_system.is_some());
    ///     (!taken).then(|| PromptPatch::default().append_system("Be brief."))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn merged(&self) -> Option<&T> {
        self.view().as_ref()
    }
}

impl<P: Point + fmt::Debug> fmt::Debug for Event<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("payload", &**self)
            .field("envelope", self.envelope())
            .finish_non_exhaustive()
    }
}

impl<P: Point> Deref for Event<P> {
    type Target = P;

    #[inline]
    fn deref(&self) -> &P {
        &self.shared.occurrence().payload
    }
}

impl<P: Point> Clone for Event<P> {
    #[inline]
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}
