//! How a handler can fail, which is never the same thing as what it decides.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The ways a handler can fail (R3.2).
///
/// A failure is not a verdict: the point's model maps it to an effect. At a gate every one of these blocks.
///
/// ```
/// use pintle::FailureKind;
///
/// assert_eq!(FailureKind::Exit(3).to_string(), "exited with code 3");
/// assert_eq!(serde_json::to_value(FailureKind::TimedOut).unwrap(), "timed_out");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// It panicked, before or after its first await.
    Panicked,
    /// It returned an error.
    Errored,
    /// Its deadline passed; it was dropped.
    TimedOut,
    /// The fire it belonged to was cancelled or dropped.
    Cancelled,
    /// Its process could not be started.
    Spawn,
    /// Its process ended with this exit code.
    Exit(i32),
    /// Its process was killed by this signal.
    Signal(i32),
    /// It answered something that cannot be understood.
    BadOutput,
    /// It wrote more than it may.
    TooMuchOutput,
    /// Its definition or script changed since somebody trusted it; it was not run.
    Untrusted,
    /// The process that should answer is no longer there.
    Gone,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked => f.write_str("panicked"),
            Self::Errored => f.write_str("returned an error"),
            Self::TimedOut => f.write_str("timed out"),
            Self::Cancelled => f.write_str("was cancelled"),
            Self::Spawn => f.write_str("could not be started"),
            Self::Exit(code) => write!(f, "exited with code {code}"),
            Self::Signal(number) => write!(f, "was killed by signal {number}"),
            Self::BadOutput => f.write_str("gave an answer that cannot be understood"),
            Self::TooMuchOutput => f.write_str("wrote too much output"),
            Self::Untrusted => f.write_str("is not trusted"),
            Self::Gone => f.write_str("is no longer there"),
        }
    }
}

/// A handler's failure: which kind, and what is known about it.
///
/// Any [`std::error::Error`] converts into an `Errored` failure, so `?` works in a handler that returns
/// `Result<_, Failure>`. (That is why `Failure` is not an `Error` itself.)
///
/// ```
/// use pintle::{Failure, FailureKind};
///
/// let from_error: Failure = "x".parse::<u8>().unwrap_err().into();
/// assert_eq!(from_error.kind, FailureKind::Errored);
///
/// let failure = Failure::new(FailureKind::TimedOut, "after 2s");
/// assert_eq!(failure.to_string(), "timed out: after 2s");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Failure {
    /// Which kind of failure.
    pub kind: FailureKind,
    /// What is known about it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Failure {
    /// A failure of `kind`, with what is known about it.
    ///
    /// ```
    /// use pintle::{Failure, FailureKind};
    ///
    /// assert_eq!(Failure::new(FailureKind::Signal(9), "").to_string(), "was killed by signal 9");
    /// ```
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The handler's own error, in words.
    ///
    /// ```
    /// assert_eq!(pintle::Failure::errored("no disk").to_string(), "returned an error: no disk");
    /// ```
    pub fn errored(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Errored, message)
    }

    /// An answer that does not fit.
    ///
    /// ```
    /// use pintle::{Failure, FailureKind};
    ///
    /// assert_eq!(Failure::bad_output("not JSON").kind, FailureKind::BadOutput);
    /// ```
    pub fn bad_output(message: impl Into<String>) -> Self {
        Self::new(FailureKind::BadOutput, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::errored(error.to_string())
    }
}

/// What a handler's failure does to the fire.
///
/// A registration may tighten its model's default (open to closed), never loosen it (R3.3).
///
/// ```
/// use pintle::{Event, FailurePolicy, Hooks, RegisterError, Verdict, points::{SessionOpened, ToolPre}};
///
/// let hooks = Hooks::new();
/// hooks.options().failure_policy(FailurePolicy::FailClosed).register_void(async |_: Event<SessionOpened>| {})?;
///
/// let loosened = hooks
///     .options()
///     .failure_policy(FailurePolicy::FailOpen)
///     .register_gate(async |_: Event<ToolPre>| { Verdict::allow() });
/// assert_eq!(loosened.unwrap_err(), RegisterError::Loosened { point: "tool.pre" });
/// # Ok::<(), RegisterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailurePolicy {
    /// The failure is recorded and the fire goes on.
    FailOpen,
    /// The failure stops what the point guards: the fire returns an error, a gate blocks.
    FailClosed,
}

/// A fire that did not come to an outcome. Gates never return this: they block instead.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pintle::{Cx, Event, Failure, FireError, Hooks, points::SessionOpened};
///
/// let hooks = Hooks::new();
/// hooks.named("audit").fail_closed().register_void(async |_: Event<SessionOpened>| {
///     Err::<(), _>(Failure::errored("the disk is full"))
/// })?;
///
/// let cx = Cx::test();
/// match hooks.fire_void(&cx, SessionOpened::default).await {
///     Err(FireError::FailClosed { handler, failure, .. }) => {
///         assert_eq!((&*handler, &*failure.message), ("audit", "the disk is full"));
///     }
///     other => panic!("{other:?}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FireError {
    /// A handler registered `fail-closed` failed.
    #[error("`{handler}` at {point} {failure}, and it is registered fail-closed")]
    FailClosed {
        /// The point that was fired.
        point: &'static str,
        /// The handler's name.
        handler: Arc<str>,
        /// How it failed.
        failure: Failure,
    },
    /// The fire's cancellation token was cancelled; its handlers were dropped.
    #[error("firing {point} was cancelled")]
    Cancelled {
        /// The point that was fired.
        point: &'static str,
    },
}
