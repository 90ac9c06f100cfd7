//! One registration, and the ordered list of them that a point has.

use std::{
    any::Any,
    fmt,
    panic::Location,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use glob::Pattern;
use serde::Serialize;

use crate::{Event, Failure, FailurePolicy, Model, ModelKind, PluginGate, Point, model::Said};

type Answer<P> = <<P as Point>::Model as Model>::Answer;
pub(crate) type BoxedAnswer<A> = Pin<Box<dyn Future<Output = Result<Said<A>, Failure>> + Send>>;
pub(crate) type Call<P> = Box<dyn Fn(Event<P>) -> BoxedAnswer<Answer<P>> + Send + Sync>;

/// A handler bound to a point.
pub(crate) struct Entry<P: Point> {
    pub(crate) meta: Meta,
    pub(crate) call: Call<P>,
    /// Cleared on removal, so that a fire under way does not start it any more (R4.8).
    live: AtomicBool,
}

impl<P: Point> Entry<P> {
    pub(crate) fn new(meta: Meta, call: Call<P>) -> Self {
        Self { meta, call, live: AtomicBool::new(true) }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.live.load(Ordering::Acquire)
    }
}

/// What is known of a registration besides its code.
pub(crate) struct Meta {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    pub(crate) plugin: Option<Arc<str>>,
    pub(crate) priority: i32,
    pub(crate) deadline: Option<Duration>,
    pub(crate) policy: FailurePolicy,
    /// The tools it is bound to; `None` is all of them.
    pub(crate) tools: Option<Vec<Pattern>>,
    pub(crate) capabilities: Option<Vec<String>>,
    pub(crate) source: Source,
}

impl Meta {
    pub(crate) fn wants(&self, tool: Option<&str>) -> bool {
        match (&self.tools, tool) {
            (None, _) => true,
            (Some(globs), Some(tool)) => globs.iter().any(|glob| glob.matches(tool)),
            (Some(_), None) => false,
        }
    }
}

/// Where a registration was written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// In code, here.
    Code(&'static Location<'static>),
    /// Somewhere else, such as `agent.json:14`.
    Named(Arc<str>),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(location) => write!(f, "{}:{}", location.file(), location.line()),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl Serialize for Source {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A registration as [`Hooks::list`](crate::Hooks::list) shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HandlerInfo {
    /// The point it is bound to.
    pub point: &'static str,
    /// The point's model.
    pub model: ModelKind,
    /// Its name.
    pub name: Arc<str>,
    /// Its plugin; a built-in has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<Arc<str>>,
    /// Higher runs earlier.
    pub priority: i32,
    /// How long it may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// What its failure does.
    pub policy: FailurePolicy,
    /// The tools it is bound to, when not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// What its answers may do, when not everything the point allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// Where it was written down.
    pub source: Source,
}

/// The handlers of one point, in the order they run. Never changed: a new one takes its place.
#[doc(hidden)]
pub struct Slot<P: Point> {
    pub(crate) entries: Vec<Arc<Entry<P>>>,
}

impl<P: Point> Slot<P> {
    pub(crate) fn empty() -> Self {
        Self { entries: Vec::new() }
    }

    pub(crate) fn reaches(&self, plugins: &PluginGate) -> bool {
        self.entries.iter().any(|entry| plugins.allows(entry.meta.plugin.as_deref()))
    }

    /// Higher priority first; ties in registration order.
    pub(crate) fn with(&self, entry: Entry<P>) -> Self {
        let mut entries = self.entries.clone();
        let place = entries.partition_point(|other| other.meta.priority >= entry.meta.priority);
        entries.insert(place, Arc::new(entry));
        Self { entries }
    }
}

/// A slot without its type: what the table is made of.
pub(crate) trait AnySlot: Any + Send + Sync {
    fn list(&self) -> Vec<HandlerInfo>;

    /// The slot without the entries that match (`None` when none is left), and how many went.
    #[expect(clippy::type_complexity, reason = "said in the sentence above")]
    fn without(&self, matches: &dyn Fn(&Meta) -> bool)
    -> Option<(Option<Arc<dyn AnySlot>>, usize)>;
}

impl dyn AnySlot {
    pub(crate) fn typed<P: Point>(self: Arc<Self>) -> Option<Arc<Slot<P>>> {
        (self as Arc<dyn Any + Send + Sync>).downcast().ok()
    }
}

impl<P: Point> AnySlot for Slot<P> {
    fn list(&self) -> Vec<HandlerInfo> {
        let info = |entry: &Arc<Entry<P>>| HandlerInfo {
            point: P::NAME,
            model: P::Model::KIND,
            name: entry.meta.name.clone(),
            plugin: entry.meta.plugin.clone(),
            priority: entry.meta.priority,
            deadline: entry.meta.deadline,
            policy: entry.meta.policy,
            tools: entry
                .meta
                .tools
                .as_ref()
                .map(|globs| globs.iter().map(ToString::to_string).collect()),
            capabilities: entry.meta.capabilities.clone(),
            source: entry.meta.source.clone(),
        };
        self.entries.iter().map(info).collect()
    }

    fn without(
        &self,
        matches: &dyn Fn(&Meta) -> bool,
    ) -> Option<(Option<Arc<dyn AnySlot>>, usize)> {
        let (gone, kept): (Vec<_>, Vec<_>) =
            self.entries.iter().cloned().partition(|entry| matches(&entry.meta));
        if gone.is_empty() {
            return None;
        }
        for entry in &gone {
            entry.live.store(false, Ordering::Release);
        }
        let kept = (!kept.is_empty()).then(|| Arc::new(Self { entries: kept }) as Arc<dyn AnySlot>);
        Some((kept, gone.len()))
    }
}
