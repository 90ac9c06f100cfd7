//! The hooks of a profile, bound to their points: every action is an ordinary handler.

use std::{ffi::OsString, fmt, io, path::Path, sync::Arc, time::Duration};

use pintle::{DynEvent, Hooks, IntoDynHandler, ModelKind, Registrar};
use pintle_exec::{EndpointStats, KeptWebhooks, WebhookQueue, Worker};
use pintle_policy::Zone;
use pintle_profile::{Hook, Operator, Profile};
use pintle_sandbox::Confinement;
use serde_json::Value;

use crate::{Kind, LogLevel, Scrubber, trust::Trust, undelivered};

/// How long undelivered webhooks may hold up the program's exit.
const FLUSH_LIMIT: Duration = Duration::from_secs(3);

/// The first gate that refuses ends a point: observers come before it, to see also what is refused.
const BEFORE_EVERY_GATE: i32 = i32::MAX;

/// Why a profile's hooks cannot be bound, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct BindError {
    message: String,
    /// What to do about it.
    pub hints: Vec<String>,
}

impl BindError {
    /// An error with this message.
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), hints: Vec::new() }
    }

    /// The same with one more thing to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<io::Error> for BindError {
    fn from(error: io::Error) -> Self {
        Self::new(error)
    }
}

/// Where the lines of `log` go.
pub type LogSink = Arc<dyn Fn(LogLevel, &str) + Send + Sync>;

/// Confines a program of the profile to a zone, with its state folder.
pub type Confine<'a> = dyn Fn(Zone, Option<&Path>) -> Result<Confinement, BindError> + 'a;

/// Answers for the program of the hook with this name.
pub type StandIn = Arc<dyn Fn(&str, &DynEvent) -> Value + Send + Sync>;

/// What the program gives to the actions of a profile.
pub struct Host<'a> {
    /// The actions there are.
    pub actions: &'a [Kind],
    /// Whose hooks are bound.
    pub profile: &'a Profile,
    /// What the operator allows.
    pub operator: &'a Operator,
    /// The folder in which trust, undelivered webhooks and the state of hooks are kept.
    pub data: &'a Path,
    /// Values that must not leave the process (R10.7).
    pub secrets: Vec<String>,
    /// The environment from which the allowlist is passed on to programs, and keys are taken.
    pub variables: Vec<(OsString, OsString)>,
    /// Where the lines of `log` go.
    pub log: LogSink,
    /// Confines a program of the profile to a zone, with its state folder.
    pub confine: &'a Confine<'a>,
    /// Answers in place of the profile's programs, which are then not started.
    pub stand_in: Option<StandIn>,
}

impl<'a> Host<'a> {
    /// A host without secrets, environment, log and sandbox: it can start no program.
    #[must_use]
    pub fn new(
        actions: &'a [Kind],
        profile: &'a Profile,
        operator: &'a Operator,
        data: &'a Path,
    ) -> Self {
        Self {
            actions,
            profile,
            operator,
            data,
            secrets: Vec::new(),
            variables: Vec::new(),
            log: Arc::new(|_, _| {}),
            confine: &|_, _| Err(BindError::new("this program confines no hooks")),
            stand_in: None,
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let (_, value) = self.variables.iter().find(|(it, _)| it == name)?;
        value.to_str().filter(|value| !value.is_empty()).map(str::to_owned)
    }
}

/// What bound hooks need to be shut down in order.
#[derive(Default)]
pub struct Bound {
    pub(crate) workers: Vec<Worker>,
    pub(crate) webhooks: Option<WebhookQueue>,
    /// Webhooks that wait for an endpoint which no hook of the profile names any more.
    pub unclaimed: Vec<KeptWebhooks>,
    /// Observers that the operator switched off.
    pub disabled: Vec<Hook>,
    /// Hooks that run a program which is not trusted as it is now.
    pub untrusted: Vec<String>,
}

impl Bound {
    /// Leaves the queue to the agent that takes this one's place: one conversation, one queue.
    pub fn hand_over_webhooks(&mut self) {
        self.webhooks = None;
    }

    /// The queue, for the agent that takes this one's place.
    #[must_use]
    pub fn webhooks(&self) -> Webhooks {
        self.webhooks.clone().map_or(Webhooks::Own, Webhooks::HandedOver)
    }

    /// Stops workers and sends what webhooks still wait; says what could not be sent.
    pub async fn close(&self) -> Vec<EndpointStats> {
        for worker in &self.workers {
            worker.shutdown().await;
        }
        match &self.webhooks {
            Some(queue) => queue.close(FLUSH_LIMIT).await,
            None => Vec::new(),
        }
    }
}

/// Where the events of observers go.
#[derive(Default)]
pub enum Webhooks {
    /// Webhooks go to a queue that is opened when there is need of one.
    #[default]
    Own,
    /// Webhooks go to the queue of the agent whose place this one takes.
    HandedOver(WebhookQueue),
    /// No webhook is sent, nothing is logged and nothing is saved: this agent is only looked at.
    Mute,
}

/// Binds every hook of the profile, or none of them.
///
/// # Errors
/// When one of them cannot be bound.
pub fn bind(host: &Host<'_>, webhooks: Webhooks, hooks: &Hooks) -> Result<Bound, BindError> {
    let scrubber = Arc::new(Scrubber::new(&host.secrets));
    let trust = Arc::new(Trust::read(host.data, host.profile)?);
    let mute = matches!(webhooks, Webhooks::Mute);
    let mut bound = Bound::default();
    if let Webhooks::HandedOver(queue) = webhooks {
        bound.webhooks = Some(queue);
    }
    let taken = hooks.list();
    for hook in &host.profile.hooks {
        if host.operator.disable_hooks && hook.observes {
            bound.disabled.push(hook.clone());
            continue;
        }
        let mut binding = Binding {
            host,
            hook,
            hooks,
            mute,
            scrubber: &scrubber,
            trust: &trust,
            bound: &mut bound,
        };
        if taken.iter().any(|bound| *bound.name == *hook.name) {
            let what = format!("`{}` is the name of a hook that is bound already", hook.name);
            let hint = "give it a name of its own, so that records can tell them apart";
            return Err(binding.error(what).hint(hint));
        }
        match host.actions.iter().find(|kind| kind.in_profiles.name == hook.action) {
            Some(kind) => (kind.bind)(&mut binding)?,
            None => return Err(binding.error(format!("nothing binds `{}`", hook.action))),
        }
    }
    if !mute {
        // No reason not to start; `pintle doctor` says what is wrong with the folder.
        bound.unclaimed = undelivered::unclaimed(host.data, host.profile).unwrap_or_default();
    }
    Ok(bound)
}

/// One hook that is being bound, and what it can use for that.
pub struct Binding<'a> {
    /// What the program gives.
    pub host: &'a Host<'a>,
    /// The hook.
    pub hook: &'a Hook,
    hooks: &'a Hooks,
    pub(crate) mute: bool,
    /// Takes secrets out of what leaves the process.
    pub scrubber: &'a Arc<Scrubber>,
    /// Whether the profile is as a person has trusted it.
    pub trust: &'a Arc<Trust>,
    pub(crate) bound: &'a mut Bound,
}

impl Binding<'_> {
    /// Registers a handler at the hook's point, with its name, tools and place in agent.json.
    ///
    /// # Errors
    /// When the engine refuses it.
    pub fn register<M>(&self, handler: impl IntoDynHandler<M>) -> Result<(), BindError> {
        if self.mute && self.hook.observes {
            return self.register_mute();
        }
        self.register_with(self.registrar(), handler)
    }

    /// The same with a registrar that says more, such as a deadline.
    ///
    /// # Errors
    /// When the engine refuses it.
    pub fn register_with<M>(
        &self,
        registrar: Registrar,
        handler: impl IntoDynHandler<M>,
    ) -> Result<(), BindError> {
        let registered = registrar.register_dyn(self.hook.bucket.point, ModelKind::Gate, handler);
        registered.map(drop).map_err(|error| self.error(error))
    }

    /// Registers a handler that does nothing, where an observer is only looked at.
    pub(crate) fn register_mute(&self) -> Result<(), BindError> {
        self.register_with(self.registrar(), |_: DynEvent| Value::Null)
    }

    /// A registrar with the hook's name, tools and place in agent.json.
    pub fn registrar(&self) -> Registrar {
        let mut registrar =
            self.hooks.named(&self.hook.name).source(&self.hook.source).shadow(self.hook.shadow);
        if self.hook.observes {
            registrar = registrar.priority(BEFORE_EVERY_GATE);
        }
        match self.hook.tools.as_slice() {
            [] => registrar,
            tools => registrar.tools(tools.to_vec()),
        }
    }

    /// An error that says where in agent.json the hook is written.
    pub fn error(&self, message: impl fmt::Display) -> BindError {
        BindError::new(format!("{}: {message}", self.hook.source))
    }
}
