//! What an action is.

use pintle_profile::{ActionCheck, ActionKind, Hook, Node, OnlyIn};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::bind::{BindError, Binding};

/// An action of agent.json. The fields of the type are the fields of the action, and its doc comment is what an editor shows.
pub trait Action: DeserializeOwned + JsonSchema + 'static {
    /// Its name.
    const NAME: &'static str;
    /// What other programs call it, in lower case.
    const ALSO_CALLED: &'static [&'static str] = &[];
    /// Whether it only observes: the operator can switch observers off, and they come before every gate.
    const OBSERVES: bool = false;
    /// The one moment at which it has a meaning, if it has none at others.
    const ONLY_IN: Option<OnlyIn> = None;

    /// Adds what no schema can say about its fields, and what it uses beyond the process.
    fn check(_action: &Node, _check: &mut ActionCheck<'_>) {}

    /// What a hook with this action does, in two parts like `runs` and `hooks/check.sh`.
    fn does(&self, hook: &Hook) -> (&'static str, String);

    /// Binds a hook with this action to the engine.
    ///
    /// # Errors
    /// When it cannot be bound: then no hook of the profile is.
    fn bind(self, binding: &mut Binding<'_>) -> Result<(), BindError>;
}

/// An action in a list of actions.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// What the reader of profiles knows of it.
    pub in_profiles: ActionKind,
    does: fn(&Hook) -> Option<(&'static str, String)>,
    pub(crate) bind: fn(&mut Binding<'_>) -> Result<(), BindError>,
}

/// The entry of an action in a list of actions.
#[must_use]
pub const fn kind<A: Action>() -> Kind {
    Kind {
        in_profiles: ActionKind {
            name: A::NAME,
            also_called: A::ALSO_CALLED,
            observes: A::OBSERVES,
            only_in: A::ONLY_IN,
            schema: A::json_schema,
            check: A::check,
            read: |fields| serde_json::from_value::<A>(fields).map(drop),
        },
        does: |hook| Some(read::<A>(hook).ok()?.does(hook)),
        bind: |binding| {
            let action = read::<A>(binding.hook).map_err(|error| binding.error(error))?;
            action.bind(binding)
        },
    }
}

fn read<A: Action>(hook: &Hook) -> Result<A, serde_json::Error> {
    serde_json::from_value(hook.fields.clone())
}

/// What the reader of profiles knows of these actions.
#[must_use]
pub fn in_profiles(actions: &[Kind]) -> Vec<ActionKind> {
    actions.iter().map(|kind| kind.in_profiles).collect()
}

/// What a hook does, in two parts like `runs` and `hooks/check.sh`; `None` if its action is not in the list.
#[must_use]
pub fn does(actions: &[Kind], hook: &Hook) -> Option<(&'static str, String)> {
    (actions.iter().find(|kind| kind.in_profiles.name == hook.action)?.does)(hook)
}
