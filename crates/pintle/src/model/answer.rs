//! What handlers return.

use std::future::{Future, Ready, ready};

use serde_json::Value;

use super::Verdict;
use crate::Failure;

/// What a handler returns: its answer, or a future of it. `M` tells the two apart and is inferred.
///
/// ```
/// use pintle::{Event, Hooks, Verdict, points::ToolPre};
///
/// let hooks = Hooks::new();
/// hooks.register_gate(|e: Event<ToolPre>| if e.zone > 2 { Verdict::block("too far") } else { Verdict::allow() })?;
/// hooks.register_gate(async |e: Event<ToolPre>| {
///     let far = tokio::task::spawn_blocking(move || e.zone > 2).await?; // an error here is a failure, and blocks
///     Ok::<_, pintle::Failure>(if far { Verdict::block("too far") } else { Verdict::allow() })
/// })?;
/// # Ok::<(), pintle::RegisterError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a handler returns its answer or a future of it, not `{Self}`",
    label = "neither the answer of a point nor a future",
    note = "Void handlers return `()`, Modifying `Option<patch>`, Claiming `Option<claim>`, Gate `Verdict`; or a `Result` of it"
)]
pub trait HandlerOutput<M> {
    /// What comes of it: see [`IntoAnswer`].
    type Answer;
    /// The future that is polled.
    type Future: Future<Output = Self::Answer>;
    /// Makes a future of an answer; leaves a future as it is.
    fn into_future(self) -> Self::Future;
}

/// Marks a handler that returns a future.
pub enum Async {}
/// Marks a handler that returns its answer.
pub enum Sync {}

impl<Fut: Future> HandlerOutput<Async> for Fut {
    type Answer = Fut::Output;
    type Future = Fut;

    #[inline]
    fn into_future(self) -> Fut {
        self
    }
}

impl<A: Plain> HandlerOutput<Sync> for A {
    type Answer = A;
    type Future = Ready<A>;

    #[inline]
    fn into_future(self) -> Ready<A> {
        ready(self)
    }
}

/// What handlers return that are not async. Futures are not among it: so the compiler can tell the two apart.
pub trait Plain {}
impl Plain for () {}
impl Plain for Verdict {}
impl Plain for Value {}
impl<T> Plain for Option<T> {}
impl<T, E> Plain for Result<T, E> {}

/// The point's answer, or a `Result` of it.
///
/// ```
/// use pintle::{Event, Failure, Hooks, Verdict, points::ToolPre};
///
/// let hooks = Hooks::new();
/// hooks.register_gate(async |_: Event<ToolPre>| Verdict::allow())?;
/// hooks.register_gate(async |e: Event<ToolPre>| {
///     let port: u16 = e.tool_input["port"].to_string().parse()?; // an error here is a failure, and blocks
///     Ok::<_, Failure>(if port < 1024 { Verdict::block("a port of the system") } else { Verdict::allow() })
/// })?;
/// # Ok::<(), pintle::RegisterError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a handler of this point answers `{A}` (or a `Result` of it), not `{Self}`",
    label = "this handler's answer does not fit its point",
    note = "Void handlers return `()`, Modifying `Option<patch>`, Claiming `Option<claim>`, Gate `Verdict`"
)]
pub trait IntoAnswer<A> {
    /// The answer, or how the handler failed.
    fn into_answer(self) -> Result<A, Failure>;
}

impl<A> IntoAnswer<A> for A {
    fn into_answer(self) -> Result<A, Failure> {
        Ok(self)
    }
}

impl<A, E: Into<Failure>> IntoAnswer<A> for Result<A, E> {
    fn into_answer(self) -> Result<A, Failure> {
        self.map_err(Into::into)
    }
}
