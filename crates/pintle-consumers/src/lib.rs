//! The built-in consumers: handlers that make an agent safe and useful from the first minute (§14).
//!
//! Each is one file with a `register` function, and uses public hook points only. To add one, write such a file, name it in
//! [`Consumer`], and add a line to `CONSUMERS`: the switch in pintle.toml, its reference page and `pintle hooks list` follow.

mod context_files;
mod injection_rules;
mod injection_safety;
mod recorder;
mod skill_queue;
mod terminal_guard;

pub use recorder::Recorder;
pub use skill_queue::{QueuedRun, SkillQueue};

use pintle::{Hooks, RegisterError};
use pintle_agent::Llm;
use pintle_profile::{Consumer, ConsumerSettings};
use std::{path::Path, sync::Arc};

/// What the program gives to the consumers.
pub struct Host<'a> {
    /// Which are off, and how the others work.
    pub settings: &'a ConsumerSettings,
    /// The folder the agent works in.
    pub workspace: &'a Path,
    /// The folder in which state is kept.
    pub data: &'a Path,
    /// The model that looks at text from outside, if the operator named one.
    pub classifier: Option<Arc<dyn Llm>>,
}

type Register = fn(&Host<'_>, &Hooks) -> Result<(), RegisterError>;

/// Every consumer, in the order they are bound: its switch, the name of its handlers, and what registers them.
const CONSUMERS: &[(Consumer, &str, Register)] = &[
    (Consumer::TerminalGuard, terminal_guard::NAME, terminal_guard::register),
    (Consumer::InjectionSafety, injection_safety::NAME, injection_safety::register),
    (Consumer::ContextFiles, context_files::NAME, context_files::register),
    (Consumer::SkillQueue, skill_queue::NAME, skill_queue::register),
];

/// Those that the program binds itself: they need its store and its model, are a limit of its runs, or see all of their events.
const BOUND_BY_PROGRAM: &[(Consumer, &str)] = &[
    (Consumer::TicketVerifier, "ticket verifier"),
    (Consumer::ChannelSafety, "channel safety"),
    (Consumer::LoopBudget, "loop budget"),
    (Consumer::Observability, "observability"),
];

fn all() -> impl Iterator<Item = (Consumer, &'static str)> {
    let here = CONSUMERS.iter().map(|(consumer, name, _)| (*consumer, *name));
    here.chain(BOUND_BY_PROGRAM.iter().copied())
}

/// The names of their handlers, which no hook of a profile can take.
pub fn names() -> Vec<&'static str> {
    all().map(|(_, name)| name).collect()
}

/// The consumers that are switched off: the name of their handlers, and their switch.
pub fn switched_off(
    settings: &ConsumerSettings,
) -> impl Iterator<Item = (&'static str, Consumer)> + '_ {
    let off = all().filter(|(consumer, _)| !settings.is_on(*consumer));
    off.map(|(consumer, name)| (name, consumer))
}

/// Binds every consumer that is on.
///
/// # Errors
/// When the registry refuses one.
pub fn bind(host: &Host<'_>, hooks: &Hooks) -> Result<(), RegisterError> {
    let mut on = CONSUMERS.iter().filter(|(consumer, ..)| host.settings.is_on(*consumer));
    on.try_for_each(|(_, _, register)| register(host, hooks))
}
