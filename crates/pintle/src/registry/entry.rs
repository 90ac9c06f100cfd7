//! One registration, and the ordered list of them that a point has.

use std::{
    any::Any,
    fmt,
    panic::Location,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::Context,
    time::Duration,
};

use arc_swap::ArcSwapOption;
use glob::Pattern;
use serde::Serialize;

use crate::{
    Event, Failure, FailureKind, FailurePolicy, Model, ModelKind, PluginFilter, Point,
    breaker::Breaker, calls::Answer, future_pool::Started, guarded::drop_quietly, model::Reply,
};

/// Calls a handler and polls it once: it answers, or it waits.
pub(crate) type Call<P> =
    Box<dyn Fn(Event<P>, &mut Context<'_>) -> Started<Answer<P>> + Send + Sync>;

/// A handler bound to a point.
pub(crate) struct Entry<P: Point> {
    pub(crate) meta: Meta,
    /// There until it is dropped.
    call: Option<Call<P>>,
    /// The removal that took it out; 0 while there is none.
    removed_by: AtomicU64,
    /// The registry's last removal in force. All that one removal takes out goes at this one store (R4.13).
    removals: Arc<AtomicU64>,
    /// Used at gates only.
    pub(crate) breaker: Breaker,
}

impl<P: Point> Entry<P> {
    pub(crate) fn new(meta: Meta, call: Call<P>, removals: Arc<AtomicU64>) -> Self {
        let (removed_by, breaker) = (AtomicU64::new(0), Breaker::default());
        Self { meta, call: Some(call), removed_by, removals, breaker }
    }

    #[inline]
    pub(crate) fn call(&self, event: Event<P>, cx: &mut Context<'_>) -> Started<Answer<P>> {
        match &self.call {
            Some(call) => call(event, cx),
            None => Started::Replied(Reply::failed(Failure::new(FailureKind::Gone, "was removed"))),
        }
    }

    /// Whether it may still be started: a fire under way starts no handler that was removed meanwhile (R4.8).
    #[inline]
    pub(crate) fn is_live(&self) -> bool {
        match self.removed_by.load(Ordering::Relaxed) {
            0 => true,
            removal => removal > self.removals.load(Ordering::Acquire),
        }
    }
}

impl<P: Point> Drop for Entry<P> {
    fn drop(&mut self) {
        // What the handler captured may be dropped by a fire, which must not fall with it.
        drop_quietly(self.call.take());
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
    /// What it says has no effect.
    pub(crate) shadow: bool,
    pub(crate) source: Source,
}

impl Meta {
    #[inline]
    pub(crate) fn wants<'a>(&self, tool: impl FnOnce() -> Option<&'a str>) -> bool {
        let Some(globs) = &self.tools else { return true };
        tool().is_some_and(|tool| globs.iter().any(|glob| glob.matches(tool)))
    }
}

/// Where a registration was written down.
///
/// ```
/// use pintle::{Event, Hooks, points::SessionOpened};
///
/// let hooks = Hooks::new();
/// hooks.options().source("agent.json:14").register_void(async |_: Event<SessionOpened>| {})?;
/// assert_eq!(hooks.list()[0].source.to_string(), "agent.json:14");
/// # Ok::<(), pintle::RegisterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
///
/// ```
/// use pintle::{Event, Hooks, Verdict, points::ToolPre};
///
/// let hooks = Hooks::new();
/// hooks.named("no-prod").plugin("safety").tools(["write_*"]).register_gate(async |_: Event<ToolPre>| {
///     Verdict::allow()
/// })?;
/// let info = &hooks.list()[0];
/// assert_eq!((info.point, &*info.name, info.plugin.as_deref()), ("tool.pre", "no-prod", Some("safety")));
/// assert_eq!(info.deadline.unwrap().as_secs(), 5, "the default of a gate");
/// # Ok::<(), pintle::RegisterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
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
    /// What it says is recorded and has no effect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
    /// Where it was written down.
    pub source: Source,
    /// Of a gate's handler that is failing: since when, and when it is tried again. Until then its calls block at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failure>,
}

impl HandlerInfo {
    /// A gate's handler is failing after so many timeouts without an answer between them.
    ///
    /// It is then tried again every 30 seconds; the calls between block without waiting for it. One answer ends this.
    pub const FAILING_AFTER: u32 = 3;
}

/// The handlers of one point, in the order they run. Never changed: a new one takes its place.
pub(crate) struct HandlerList<P: Point> {
    pub(crate) entries: Vec<Arc<Entry<P>>>,
    /// What the last plugin filter left of it: a run fires with one filter many times.
    filtered: ArcSwapOption<Filtered<P>>,
}

/// A list seen through a plugin filter.
struct Filtered<P: Point> {
    filter: PluginFilter,
    list: Option<Arc<HandlerList<P>>>,
}

impl<P: Point> HandlerList<P> {
    pub(crate) fn empty() -> Self {
        Self::of(Vec::new())
    }

    fn of(entries: Vec<Arc<Entry<P>>>) -> Self {
        Self { entries, filtered: ArcSwapOption::empty() }
    }

    /// The entries that a filter lets through, if any.
    #[inline]
    pub(crate) fn through(self: Arc<Self>, filter: &PluginFilter) -> Option<Arc<Self>> {
        // A list is never empty: it goes with its last entry.
        if matches!(filter, PluginFilter::All) { Some(self) } else { self.sifted(filter) }
    }

    fn sifted(self: Arc<Self>, filter: &PluginFilter) -> Option<Arc<Self>> {
        let same = |filtered: &Filtered<P>| match (&filtered.filter, filter) {
            // The very same set: comparing what is in it would cost as much as asking it.
            (PluginFilter::Only(one), PluginFilter::Only(other)) => Arc::ptr_eq(one, other),
            (PluginFilter::BuiltinsOnly, PluginFilter::BuiltinsOnly) => true,
            _ => false,
        };
        if let Some(filtered) = &*self.filtered.load()
            && same(filtered)
        {
            return filtered.list.clone();
        }
        let allowed = |entry: &&Arc<Entry<P>>| filter.allows(entry.meta.plugin.as_deref());
        let entries: Vec<_> = self.entries.iter().filter(allowed).cloned().collect();
        let list = (!entries.is_empty()).then(|| Arc::new(Self::of(entries)));
        self.filtered
            .store(Some(Arc::new(Filtered { filter: filter.clone(), list: list.clone() })));
        list
    }

    pub(crate) fn reaches(&self, plugins: &PluginFilter) -> bool {
        self.entries.iter().any(|entry| plugins.allows(entry.meta.plugin.as_deref()))
    }

    /// Higher priority first; ties in registration order. An entry of the same name goes: if it has the same priority,
    /// the new one takes its place in the order.
    ///
    /// It is not marked as removed, so that a fire under way still calls it, once: that fire does not see the new one.
    pub(crate) fn with(&self, entry: Entry<P>) -> Self {
        let mut entries = self.entries.clone();
        let same = |other: &Arc<Entry<P>>| other.meta.name == entry.meta.name;
        let replaced = entries.iter().position(same).map(|at| (at, entries.remove(at)));
        let place = match replaced {
            Some((at, old)) if old.meta.priority == entry.meta.priority => at,
            _ => entries.partition_point(|other| other.meta.priority >= entry.meta.priority),
        };
        entries.insert(place, Arc::new(entry));
        Self::of(entries)
    }
}

/// A list without its type: what the table is made of.
pub(crate) trait AnyHandlerList: Any + Send + Sync {
    fn list(&self) -> Vec<HandlerInfo>;

    /// The list without the entries that match (`None` when none is left), and how many went.
    fn without(
        &self,
        matches: &dyn Fn(&Meta) -> bool,
        removal: u64,
    ) -> Option<(Option<Arc<dyn AnyHandlerList>>, usize)>;
}

impl dyn AnyHandlerList {
    pub(crate) fn typed<P: Point>(self: Arc<Self>) -> Option<Arc<HandlerList<P>>> {
        (self as Arc<dyn Any + Send + Sync>).downcast().ok()
    }
}

impl<P: Point> AnyHandlerList for HandlerList<P> {
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
            shadow: entry.meta.shadow,
            source: entry.meta.source.clone(),
            failing: entry.breaker.failing(),
        };
        self.entries.iter().map(info).collect()
    }

    fn without(
        &self,
        matches: &dyn Fn(&Meta) -> bool,
        removal: u64,
    ) -> Option<(Option<Arc<dyn AnyHandlerList>>, usize)> {
        let (gone, kept): (Vec<_>, Vec<_>) =
            self.entries.iter().cloned().partition(|entry| matches(&entry.meta));
        if gone.is_empty() {
            return None;
        }
        for entry in &gone {
            entry.removed_by.store(removal, Ordering::Relaxed);
        }
        let kept = (!kept.is_empty()).then(|| Arc::new(Self::of(kept)) as Arc<dyn AnyHandlerList>);
        Some((kept, gone.len()))
    }
}
