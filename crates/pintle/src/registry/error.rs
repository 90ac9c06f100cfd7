//! Everything that can be wrong with a registration.

use super::Source;
use crate::ModelKind;

/// Why a handler was not registered. Nothing has changed in the registry.
///
/// ```
/// use std::time::Duration;
/// use pintle::{Event, Hooks, points::SessionOpened};
///
/// let hooks = Hooks::new();
/// let refused = hooks.named("log").deadline(Duration::ZERO).register_void(async |_: Event<SessionOpened>| {});
/// assert_eq!(
///     refused.unwrap_err().to_string(),
///     "session_start: the deadline of `log` is zero, so it could never answer; give it some time"
/// );
/// assert!(hooks.list().is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// An empty plugin id would pass for a built-in.
    #[error("{point}: the plugin id is empty; leave it out for a built-in, or name the plugin")]
    EmptyPluginId {
        /// The point.
        point: &'static str,
    },
    /// An explicit name is empty.
    #[error("{point}: the handler's name is empty; leave it out to get one, or give one")]
    EmptyName {
        /// The point.
        point: &'static str,
    },
    /// Another handler of the point has this name.
    #[error(
        "{point}: there is a handler named `{name}` already (from {existing}); names are unique per point"
    )]
    DuplicateName {
        /// The point.
        point: &'static str,
        /// The name.
        name: String,
        /// Where the other one was written down.
        existing: Source,
    },
    /// A deadline of zero would fail every call.
    #[error(
        "{point}: the deadline{} is zero, so it could never answer; give it some time",
        of(name)
    )]
    ZeroDeadline {
        /// The point.
        point: &'static str,
        /// The handler; empty when it was given no name.
        name: String,
    },
    /// A tool glob does not parse.
    #[error("{point}: the tool glob `{glob}` does not parse: {detail}")]
    BadGlob {
        /// The point.
        point: &'static str,
        /// The glob.
        glob: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The point is not about a tool.
    #[error("{point} is not about a tool, so a handler cannot be bound to tools there")]
    NoTool {
        /// The point.
        point: &'static str,
    },
    /// A policy may be tightened, never loosened.
    #[error(
        "{point} is a Gate: a failing handler blocks there, and that cannot be loosened to fail-open"
    )]
    Loosened {
        /// The point.
        point: &'static str,
    },
    /// Only a gate can be tried without effect: elsewhere a handler's answer is not a verdict.
    #[error("{point} is not a Gate, so a handler there cannot be in shadow mode")]
    NoShadow {
        /// The point.
        point: &'static str,
    },
    /// A capability that answers at this point do not have.
    #[error("{point}: there is no capability `{capability}` here{}", there_are(known))]
    UnknownCapability {
        /// The point.
        point: &'static str,
        /// What was asked for.
        capability: String,
        /// What there is.
        known: &'static [&'static str],
    },
    /// No point has this name.
    #[error("there is no hook point `{point}`{}", nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownPoint {
        /// What was asked for.
        point: String,
        /// The nearest name there is.
        nearest: Option<&'static str>,
    },
    /// The point has another model.
    #[error("{point} is a {is} point; a {asked} handler cannot be bound to it")]
    WrongModel {
        /// The point.
        point: &'static str,
        /// Its model.
        is: ModelKind,
        /// The model that was asked for.
        asked: ModelKind,
    },
    /// A handler was staged for another plugin than the one it is to be put in force for.
    #[error("a handler of {} cannot be put in force for the plugin `{plugin}`",
        staged_for.as_ref().map_or("no plugin".to_owned(), |id| format!("the plugin `{id}`")))]
    OtherPlugin {
        /// The plugin whose handlers are replaced.
        plugin: String,
        /// The plugin that the handler was staged for.
        staged_for: Option<String>,
    },
    /// Two point types have the same name.
    #[error("another point type is already declared under the name {point}; rename one of them")]
    NameTaken {
        /// The name.
        point: &'static str,
    },
}

fn of(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" of `{name}`") }
}

fn there_are(known: &[&str]) -> String {
    if known.is_empty() {
        ": a Void handler only observes".into()
    } else {
        format!("; there are: {}", known.join(", "))
    }
}
