//! What a hook point is.

use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::Model;

/// A named boundary that handlers can be bound to. The payload *is* the point.
///
/// The execution model is part of the type, so a handler cannot be registered, nor the point fired, under
/// another one (R3.1). Declare points with [`point!`](crate::point!) rather than by hand: one declaration
/// also gives the by-name face, the JSON Schema and the docs page.
///
/// ```
/// use pintle::{ModelKind, Point, PointInfo, points::ToolPre};
///
/// assert_eq!(ToolPre::NAME, "tool.pre");
/// let info = PointInfo::of::<ToolPre>();
/// assert!(info.fields.contains(&"toolInput"));
/// assert_eq!(info.model, ModelKind::Gate);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a hook point",
    label = "expected the payload of a hook point",
    note = "the points of the catalogue are in `pintle::points`; declare your own with `pintle::point!`"
)]
pub trait Point:
    PointStorage + Serialize + DeserializeOwned + JsonSchema + Send + Sync + Sized + 'static
{
    /// How its handlers run, what they answer and how the answers combine.
    type Model: Model;

    /// Its name on the wire, in config and in records.
    const NAME: &'static str;

    /// What the declaration's doc comment says.
    const DOC: &'static str = "";
}

/// What the engine stores about a point; [`point!`](crate::point!) implements it.
#[doc(hidden)]
pub trait PointStorage {
    /// The names of its own fields on the wire.
    fn fields() -> &'static [&'static str];

    /// Where its handlers are kept: a number of this process, given on first use.
    fn index() -> usize;

    /// Whether it is about a tool, so that handlers may be bound to some tools only.
    const HAS_TOOL: bool = false;

    /// The tool it is about, at a point that has one.
    fn about_tool(&self) -> Option<&str> {
        None
    }
}

/// Points that are about a tool: [`point!`](crate::point!) implements it for those declared with `tool = FIELD`.
///
/// ```
/// use pintle::{Point, PointAboutTool, points::ToolPre};
///
/// /// Where a call is stopped, for a log.
/// fn place<P: PointAboutTool>(payload: &P) -> String {
///     format!("{} of {}", P::NAME, payload.tool())
/// }
/// # let _ = place::<ToolPre>;
/// ```
#[diagnostic::on_unimplemented(
    message = "a person cannot be asked at `{Self}`: it is not about a tool",
    label = "`Verdict::ask` needs a `Gate<Binding>` that is about a tool, such as `tool.pre`",
    note = "block with a reason, or add `with_context` for the model"
)]
pub trait PointAboutTool: Point {
    /// The tool it is about.
    fn tool(&self) -> &str;
}

/// Hands each point its number on first use.
#[doc(hidden)]
pub struct PointIndex(AtomicUsize);

static NEXT_INDEX: AtomicUsize = AtomicUsize::new(1);

impl PointIndex {
    #[doc(hidden)]
    pub const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    #[doc(hidden)]
    #[inline]
    pub fn get(&self) -> usize {
        match self.0.load(Ordering::Relaxed) {
            0 => self.assign(),
            index => index,
        }
    }

    #[cold]
    fn assign(&self) -> usize {
        let fresh = NEXT_INDEX.fetch_add(1, Ordering::Relaxed);
        match self.0.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => fresh,
            Err(assigned) => assigned,
        }
    }
}

/// What Modifying handlers return: optional keys, merged so that the first value of each key wins.
///
/// Declare patches with [`patch!`](crate::patch!), which derives the merge.
///
/// ```
/// use pintle::{Patch, points::ToolCallPatch};
///
/// assert_eq!(ToolCallPatch::keys(), ["args", "error"]);
/// let mut merged = ToolCallPatch::default().error("");
/// let taken = merged.merge(ToolCallPatch::default().args(serde_json::json!(1)).error("later"));
/// assert_eq!((taken, merged.error.as_deref()), (0b01, Some("")), "an empty text is a value, and it was first");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a patch",
    label = "expected what the handlers of a Modifying point return",
    note = "declare it with `pintle::patch!`: that derives the first-wins merge, its names on the wire and its JSON Schema"
)]
pub trait Patch:
    Serialize + DeserializeOwned + JsonSchema + Default + Clone + Send + Sync + 'static
{
    /// The names of its keys on the wire; at most 64.
    fn keys() -> &'static [&'static str];

    /// The keys that have a value, as bits in the order of [`Patch::keys`]. `""`, `0` and `false` are values;
    /// null is not.
    fn set_keys(&self) -> u64;

    /// Takes the value of every key that has none here, and says which keys it took.
    fn merge(&mut self, later: Self) -> u64;

    /// Another spelling of a key that dynamic handlers may use.
    fn alias(_key: &str) -> Option<&'static str> {
        None
    }
}

/// What a Claiming handler returns besides "mine".
///
/// Declare claims with [`claim!`](crate::claim!).
///
/// ```
/// use pintle::{Claim, points::Handled};
///
/// assert_eq!(Handled::fields(), ["reply"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a claim",
    label = "expected what the handlers of a Claiming point return with a claim",
    note = "declare it with `pintle::claim!`: that derives its names on the wire and its JSON Schema"
)]
pub trait Claim: Serialize + DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static {
    /// The names of its fields on the wire.
    fn fields() -> &'static [&'static str];
}
