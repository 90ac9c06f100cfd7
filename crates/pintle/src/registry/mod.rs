//! Who is bound to what. One table, swapped whole: a reader takes no lock and never sees half a change.

mod entry;
mod error;
mod options;
mod register;
mod registration;
mod staged;

use std::{
    any::TypeId,
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;

pub(crate) use entry::{AnyHandlerList, Entry, HandlerList, Meta};
pub use entry::{HandlerInfo, Source};
pub use error::RegisterError;
pub use options::Registrar;
pub use registration::{Registration, RegistrationGuard};
pub use staged::Staged;

use crate::{PluginFilter, Point, RecordSink, dynamic::ErasedPoint, points};

/// The hook registry: bind handlers to points, fire points, look at both.
///
/// A clone is another handle to the same registry. Any number of threads may fire, register and unregister at
/// once; firing takes no lock (R4.16).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pintle::{Cx, Envelope, Event, Hooks, PluginFilter, Verdict, points::UserPromptSubmit};
///
/// let hooks = Hooks::new();
/// let registration = hooks.named("no-secrets").register_gate(async |e: Event<UserPromptSubmit>| {
///     if e.prompt.contains("password") { Verdict::block("no passwords, please") } else { Verdict::allow() }
/// })?;
///
/// let cx = Cx::new(Envelope::default(), PluginFilter::BuiltinsOnly);
/// let prompt = || UserPromptSubmit::default().prompt("my password is 1234");
/// assert!(hooks.fire_gate(&cx, prompt).await.blocked().is_some());
///
/// registration.unregister();
/// assert!(hooks.fire_gate(&cx, prompt).await.blocked().is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Hooks {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    /// One bit per point that somebody may listen to: what an empty fire looks at, and all it looks at.
    occupied: [AtomicU64; 4],
    table: ArcSwap<Table>,
    /// The number of the last removal that is in force: see [`Entry::is_live`].
    removals: Arc<AtomicU64>,
    /// Writers queue here; readers never do.
    writer: Mutex<Writer>,
    sink: Option<Arc<dyn RecordSink>>,
    default_deadline: Option<Duration>,
}

#[derive(Clone, Default)]
pub(crate) struct Table {
    /// By the index of the point.
    lists: Vec<Option<Arc<dyn AnyHandlerList>>>,
    points: BTreeMap<&'static str, Arc<dyn ErasedPoint>>,
}

#[derive(Default)]
struct Writer {
    /// How many handlers each point has ever had, for names.
    counters: BTreeMap<&'static str, u64>,
    next_id: u64,
    removals: u64,
}

/// Sets up a registry: see [`Hooks::builder`].
///
/// ```
/// use std::time::Duration;
/// use pintle::{Event, Hooks, points::SessionOpened};
///
/// let hooks = Hooks::builder().default_deadline(Duration::from_secs(30)).build();
/// hooks.register_void(async |_: Event<SessionOpened>| {})?;
/// assert_eq!(hooks.list()[0].deadline, Some(Duration::from_secs(30)));
/// # Ok::<(), pintle::RegisterError>(())
/// ```
#[derive(Default)]
pub struct HooksBuilder {
    sink: Option<Arc<dyn RecordSink>>,
    default_deadline: Option<Duration>,
}

impl HooksBuilder {
    /// Sends a record of every fire to `sink`. Without one, no record is built.
    ///
    /// See [`RecordSink`] for an example.
    #[must_use]
    pub fn sink(mut self, sink: Arc<dyn RecordSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// How long a handler may take whose registration sets no deadline. It shortens the five seconds of a gate, and never
    /// lengthens them: [`Registrar::deadline`] does.
    ///
    /// ```
    /// use std::time::Duration;
    /// use pintle::{Event, Hooks, Verdict, points::ToolPre};
    ///
    /// for (default, gate) in [(2, 2), (30, 5)] {
    ///     let hooks = Hooks::builder().default_deadline(Duration::from_secs(default)).build();
    ///     hooks.register_gate(|_: Event<ToolPre>| Verdict::allow())?;
    ///     assert_eq!(hooks.list()[0].deadline, Some(Duration::from_secs(gate)));
    /// }
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    #[must_use]
    pub fn default_deadline(mut self, deadline: Duration) -> Self {
        self.default_deadline = Some(deadline);
        self
    }

    /// The registry, with the points of the catalogue known by name.
    pub fn build(self) -> Hooks {
        // With a sink, no fire is quiet: each is recorded, listened to or not.
        let bits = if self.sink.is_some() { u64::MAX } else { 0 };
        let table = Table { lists: Vec::new(), points: points::catalogue() };
        Hooks {
            inner: Arc::new(Inner {
                occupied: std::array::from_fn(|_| AtomicU64::new(bits)),
                table: ArcSwap::from_pointee(table),
                removals: Arc::default(),
                writer: Mutex::default(),
                sink: self.sink,
                default_deadline: self.default_deadline,
            }),
        }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("handlers", &self.list()).finish_non_exhaustive()
    }
}

impl Default for Hooks {
    fn default() -> Self {
        Self::new()
    }
}

impl Hooks {
    /// An empty registry that knows the catalogue's points, without sink and without default deadline.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Sets up a registry with a record sink or a default deadline.
    ///
    /// See [`HooksBuilder`] for an example.
    pub fn builder() -> HooksBuilder {
        HooksBuilder::default()
    }

    /// Makes a point of your own known by name, so that config and plugins can bind to it before the code does.
    ///
    /// Registering a typed handler does this too.
    ///
    /// ```
    /// use pintle::{DynEvent, Failure, Hooks, ModelKind, Void, point};
    ///
    /// point! {
    ///     /// A release was published.
    ///     pub struct Released = "released": Void {
    ///         /// Which.
    ///         pub version: String,
    ///     }
    /// }
    ///
    /// let hooks = Hooks::new();
    /// hooks.declare::<Released>()?;
    /// hooks.register_dyn("released", ModelKind::Void, async |e: DynEvent| {
    ///     println!("{} is out", e.json["version"]);
    ///     Ok::<_, Failure>(().into())
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// When another point has the same name.
    pub fn declare<P: Point>(&self) -> Result<(), RegisterError> {
        self.write(|table, _| table.declare::<P>())
    }

    /// Removes every registration of a plugin, under all models, in one step (R4.13). Says how many.
    ///
    /// A fire that starts after this sees none of them; one under way starts no more of them.
    ///
    /// ```
    /// use pintle::{Event, Hooks, Verdict, points::{SessionOpened, ToolPre}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.options().plugin("weather").register_void(async |_: Event<SessionOpened>| {})?;
    /// hooks.options().plugin("weather").register_gate(async |_: Event<ToolPre>| { Verdict::allow() })?;
    /// assert_eq!(hooks.unregister_plugin("weather"), 2);
    /// assert!(hooks.list().is_empty());
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn unregister_plugin(&self, plugin: &str) -> usize {
        self.remove(&|meta| meta.plugin.as_deref() == Some(plugin))
    }

    /// Whether a fire of `P` through this filter would reach anybody (R4.14).
    ///
    /// ```
    /// use pintle::{Event, Hooks, PluginFilter, points::SessionOpened};
    ///
    /// let hooks = Hooks::new();
    /// hooks.options().plugin("weather").register_void(async |_: Event<SessionOpened>| {})?;
    /// assert!(hooks.has_handlers::<SessionOpened>(&PluginFilter::All));
    /// assert!(!hooks.has_handlers::<SessionOpened>(&PluginFilter::BuiltinsOnly));
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn has_handlers<P: Point>(&self, plugins: &PluginFilter) -> bool {
        !self.is_quiet(P::index()) && self.snapshot::<P>().is_some_and(|list| list.reaches(plugins))
    }

    /// Every registration: by point, and within a point in the order they run.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::SessionOpened};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("late").priority(-1).register_void(async |_: Event<SessionOpened>| {})?;
    /// hooks.named("early").register_void(async |_: Event<SessionOpened>| {})?;
    /// let names: Vec<_> = hooks.list().iter().map(|info| info.name.to_string()).collect();
    /// assert_eq!(names, ["early", "late"]);
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn list(&self) -> Vec<HandlerInfo> {
        let table = self.inner.table.load();
        let mut all: Vec<_> = table.lists.iter().flatten().flat_map(|list| list.list()).collect();
        all.sort_by_key(|info| info.point);
        all
    }

    /// Whether the point with this index has no handler.
    #[inline]
    pub(crate) fn is_quiet(&self, index: usize) -> bool {
        let Some(word) = self.inner.occupied.get(index / 64) else { return false };
        word.load(Ordering::Acquire) & 1 << (index % 64) == 0
    }

    /// The handlers of a point as they are now.
    pub(crate) fn snapshot<P: Point>(&self) -> Option<Arc<HandlerList<P>>> {
        self.inner.table.load().handlers::<P>()
    }

    #[inline]
    pub(crate) fn sink(&self) -> Option<&Arc<dyn RecordSink>> {
        self.inner.sink.as_ref()
    }

    pub(crate) fn default_deadline(&self) -> Option<Duration> {
        self.inner.default_deadline
    }

    pub(crate) fn erased(&self, point: &str) -> Option<Arc<dyn ErasedPoint>> {
        self.inner.table.load().points.get(point).cloned()
    }

    pub(crate) fn points(&self) -> Vec<Arc<dyn ErasedPoint>> {
        self.inner.table.load().points.values().cloned().collect()
    }

    pub(crate) fn remove(&self, matches: &dyn Fn(&Meta) -> bool) -> usize {
        self.write(|table, writer| Ok::<_, std::convert::Infallible>(table.remove(writer, matches)))
            .unwrap_or_default()
    }

    /// Changes a copy of the table and swaps it in whole, or leaves everything as it was.
    fn write<T, E>(
        &self,
        change: impl FnOnce(&mut Table, &mut Writer) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut writer = self.inner.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut table = Table::clone(&self.inner.table.load());
        let done = change(&mut table, &mut writer)?;
        let occupied = table.occupied();
        let retired = self.inner.table.swap(Arc::new(table));
        // First no new fire sees what was removed, then fires under way stop starting it: all of it at once.
        self.inner.removals.store(writer.removals, Ordering::Release);
        if self.inner.sink.is_none() {
            for (word, bits) in self.inner.occupied.iter().zip(occupied) {
                word.store(bits, Ordering::Release);
            }
        }
        // What a removed handler captured may itself want to register or unregister when it is dropped.
        drop(writer);
        drop(retired);
        Ok(done)
    }
}

impl Table {
    fn handlers<P: Point>(&self) -> Option<Arc<HandlerList<P>>> {
        self.lists.get(P::index())?.clone()?.typed::<P>()
    }

    fn put<P: Point>(&mut self, list: HandlerList<P>) {
        let index = P::index();
        if self.lists.len() <= index {
            self.lists.resize(index + 1, None);
        }
        if let Some(place) = self.lists.get_mut(index) {
            *place = Some(Arc::new(list));
        }
    }

    fn remove(&mut self, writer: &mut Writer, matches: &dyn Fn(&Meta) -> bool) -> usize {
        writer.removals += 1;
        let mut removed = 0;
        for list in &mut self.lists {
            let Some((kept, gone)) =
                list.as_ref().and_then(|list| list.without(matches, writer.removals))
            else {
                continue;
            };
            removed += gone;
            *list = kept;
        }
        removed
    }

    fn declare<P: Point>(&mut self) -> Result<(), RegisterError> {
        match self.points.get(P::NAME) {
            Some(known) if known.point_type() != TypeId::of::<P>() => {
                Err(RegisterError::NameTaken { point: P::NAME })
            }
            Some(_) => Ok(()),
            None => {
                self.points.insert(P::NAME, crate::dynamic::erase::<P>());
                Ok(())
            }
        }
    }

    /// Which points have handlers, as bits by index.
    fn occupied(&self) -> [u64; 4] {
        let mut bits = [0; 4];
        for (index, list) in self.lists.iter().enumerate() {
            if list.is_some()
                && let Some(word) = bits.get_mut(index / 64)
            {
                *word |= 1 << (index % 64);
            }
        }
        bits
    }
}
