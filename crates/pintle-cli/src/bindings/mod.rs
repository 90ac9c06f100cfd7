//! The hooks of a profile, bound to their points: every action is an ordinary handler.

mod kept;
mod log;
mod save_json;
mod secrets;
mod state;
mod trusted;

use std::{sync::Arc, time::Duration};

use pintle::{DynEvent, DynHandler, Failure, Hooks, ModelKind, RegisterError, Registrar};
use pintle_exec::{
    CommandHook, CommandSpec, EndpointStats, KeptWebhooks, Program, WebhookOptions, WebhookQueue,
    WebhookSecret, WebhookSpec, Worker, WorkerSpec,
};
use pintle_profile::{Action, Hook, HookSandbox, Operator, Profile, Run, Scrubber};
use serde_json::Value;

use crate::{containment::Held, environment::Environment, problem::Problem};
pub(crate) use kept::waiting;
use save_json::SaveJson;
use trusted::Trusted;
pub(crate) use trusted::{NO_BYTECODE, TRUST_FILE, Trust, accept, changes, diff};

/// How long undelivered webhooks may hold up the program's exit.
const FLUSH_LIMIT: Duration = Duration::from_secs(3);

/// The first no ends a point: whoever watches has to come before it, to see also what is refused.
const BEFORE_EVERY_GATE: i32 = i32::MAX;

/// What bound hooks need to be shut down in order.
#[derive(Default)]
pub(crate) struct Bound {
    workers: Vec<Worker>,
    webhooks: Option<WebhookQueue>,
    /// Webhooks that wait for an endpoint which no hook of the profile names any more.
    pub(crate) unclaimed: Vec<KeptWebhooks>,
    /// Observers that the operator switched off.
    pub(crate) disabled: Vec<Hook>,
    /// Hooks that run a program nobody has trusted as it is now.
    pub(crate) untrusted: Vec<String>,
}

impl Bound {
    /// The queue goes on to whoever takes this one's place: one conversation, one queue.
    pub(crate) fn hand_over_webhooks(&mut self) {
        self.webhooks = None;
    }

    pub(crate) fn webhooks(&self) -> Webhooks {
        self.webhooks.clone().map_or(Webhooks::Own, Webhooks::HandedOver)
    }

    /// Stops workers and sends what webhooks still wait; says what could not be sent.
    pub(crate) async fn close(&self) -> Vec<EndpointStats> {
        for worker in &self.workers {
            worker.shutdown().await;
        }
        match &self.webhooks {
            Some(queue) => queue.close(FLUSH_LIMIT).await,
            None => Vec::new(),
        }
    }
}

/// Where what observers tell goes: what webhooks tell is queued.
#[derive(Default)]
pub(crate) enum Webhooks {
    /// In a queue that is opened when there is need of one.
    #[default]
    Own,
    /// In the queue of the agent whose place this one takes.
    HandedOver(WebhookQueue),
    /// Nowhere, nor is anything logged or saved: who only looks tells nobody, and waits for nobody.
    Mute,
}

/// Binds every hook of the profile, or none of them.
pub(crate) fn bind(
    environment: &Environment,
    operator: &Operator,
    profile: &Profile,
    webhooks: Webhooks,
    hooks: &Hooks,
    held: &Held,
) -> Result<Bound, Problem> {
    let scrubber = Arc::new(Scrubber::new(secrets::known(environment, operator, profile)));
    let trust = Arc::new(Trust::read(environment, profile)?);
    let mute = matches!(webhooks, Webhooks::Mute);
    let mut bound = Bound::default();
    if let Webhooks::HandedOver(queue) = webhooks {
        bound.webhooks = Some(queue);
    }
    let taken = hooks.list();
    for hook in &profile.hooks {
        if operator.disable_hooks && is_observer(hook.action.name()) {
            bound.disabled.push(hook.clone());
            continue;
        }
        if taken.iter().any(|bound| *bound.name == *hook.name) {
            return Err(Problem::new(format!(
                "{}: `{}` is the name of a hook that is bound already",
                hook.source, hook.name
            ))
            .hint("give it a name of its own, so that records can tell them apart"));
        }
        let (scrubber, trust) = (&scrubber, &trust);
        let binding = Binding { environment, operator, profile, hook, scrubber, trust, held, mute };
        binding.bind(hooks, &mut bound)?;
    }
    if !mute {
        // No reason not to start; `pintle doctor` says what is wrong with the folder.
        bound.unclaimed = kept::unclaimed(environment, profile).unwrap_or_default();
    }
    Ok(bound)
}

/// Observers may be switched off; what guards may not (R10.8).
pub(crate) fn is_observer(action: &str) -> bool {
    matches!(action, "log" | "webhook" | "save_json")
}

struct Binding<'a> {
    environment: &'a Environment,
    operator: &'a Operator,
    profile: &'a Profile,
    hook: &'a Hook,
    scrubber: &'a Arc<Scrubber>,
    trust: &'a Arc<Trust>,
    held: &'a Held,
    mute: bool,
}

impl Binding<'_> {
    fn bind(&self, hooks: &Hooks, bound: &mut Bound) -> Result<(), Problem> {
        let registrar = match is_observer(self.hook.action.name()) {
            true => self.registrar(hooks).priority(BEFORE_EVERY_GATE),
            false => self.registrar(hooks),
        };
        let tells_nobody = |_: DynEvent| async { Ok::<_, Failure>(Value::Null) };
        match &self.hook.action {
            Action::Log { .. } | Action::SaveJson { .. } if self.mute => {
                self.register(registrar, tells_nobody)
            }
            Action::Log { level } => self.register(
                registrar,
                log::handler(self.hook.name.clone(), *level, self.scrubber.clone()),
            ),
            Action::SaveJson { path } => {
                let file = SaveJson::new(self.profile, path, self.scrubber.clone())
                    .map_err(|error| Problem::new(format!("{}: {error}", self.hook.source)))?;
                self.register(registrar, move |event| file.clone().append(event))
            }
            Action::Webhook { url, secret_env } => {
                let scrubber = self.scrubber.clone();
                let spec = WebhookSpec {
                    url: url.clone(),
                    profile: self.profile.name.clone(),
                    secret: secret_env.as_deref().map(|name| self.secret(name)).transpose()?,
                    scrub: Some(Arc::new(move |text| scrubber.scrub(text).into_owned())),
                    proxy: self.operator.webhook_proxy.clone(),
                };
                if self.mute {
                    spec.check().map_err(Problem::new)?;
                    return self.register(registrar, tells_nobody);
                }
                let queue = match &bound.webhooks {
                    Some(queue) => queue,
                    None => bound.webhooks.insert(self.open_queue()?),
                };
                self.register(registrar, queue.webhook(spec).map_err(Problem::new)?)
            }
            Action::Approve => self.approve(hooks),
            Action::Command { run, timeout, worker, sandbox } => {
                if self.trust.check().is_err() {
                    bound.untrusted.push(self.hook.name.clone());
                }
                let spec = self.command(run, *timeout, *sandbox)?;
                if *worker {
                    let worker = Worker::new(WorkerSpec::new(spec));
                    bound.workers.push(worker.clone());
                    let deadline = worker.deadline();
                    self.register(
                        registrar.deadline(deadline),
                        Trusted::lasting(self.trust.clone(), worker),
                    )
                } else {
                    let command = CommandHook::new(spec);
                    let deadline = command.deadline();
                    self.register(
                        registrar.deadline(deadline),
                        Trusted::new(self.trust.clone(), command),
                    )
                }
            }
        }
    }

    fn secret(&self, name: &str) -> Result<WebhookSecret, Problem> {
        Ok(WebhookSecret { name: name.into(), value: self.environment.secret(name)? })
    }

    fn registrar(&self, hooks: &Hooks) -> Registrar {
        let registrar = hooks.named(&self.hook.name).source(&self.hook.source);
        if self.hook.tools.is_empty() {
            registrar
        } else {
            registrar.tools(self.hook.tools.clone())
        }
    }

    fn register(&self, registrar: Registrar, handler: impl DynHandler) -> Result<(), Problem> {
        let registered = registrar.register_dyn(self.hook.bucket.point(), ModelKind::Gate, handler);
        self.done(registered.map(drop))
    }

    fn done(&self, registered: Result<(), RegisterError>) -> Result<(), Problem> {
        registered.map_err(|error| Problem::new(format!("{}: {error}", self.hook.source)))
    }

    /// Asks after everything else had its say: nobody is asked about a call that could not run.
    fn approve(&self, hooks: &Hooks) -> Result<(), Problem> {
        let name = self.hook.name.clone();
        let ask = move |_: pintle::Event<pintle::points::ToolPre>| {
            let reason = format!("the profile's hook `{name}` asks about it");
            async move { pintle::Verdict::ask(reason) }
        };
        self.done(self.registrar(hooks).priority(i32::MIN).register_gate(ask).map(drop))
    }

    fn command(
        &self,
        run: &Run,
        timeout: Option<Duration>,
        sandbox: HookSandbox,
    ) -> Result<CommandSpec, Problem> {
        let program = match run {
            Run::Shell(line) => Program::Shell(line.clone()),
            Run::Argv(argv) => Program::Argv(argv.iter().map(Into::into).collect()),
        };
        let scrubber = self.scrubber.clone();
        let state = state::folder(self.environment, self.profile, self.hook);
        let confinement =
            self.held.of_program(self.profile, sandbox.zone(), state.as_deref(), None)?;
        let mut spec = CommandSpec::new(&self.profile.dir, program)
            .inherit(self.environment.variables())
            .confinement(confinement)
            .scrub(move |text| scrubber.scrub(text).into_owned())
            .env(NO_BYTECODE.0, NO_BYTECODE.1);
        spec.state_dir = state;
        for (name, value) in &self.operator.hook_env {
            spec = spec.env(name, value);
        }
        Ok(match timeout {
            Some(timeout) => spec.timeout(timeout),
            None => spec,
        })
    }

    fn open_queue(&self) -> Result<WebhookQueue, Problem> {
        let spool = Some(kept::folder(self.environment)?);
        let owner = kept::owner(self.profile);
        let options = WebhookOptions { spool, owner, ..WebhookOptions::default() };
        WebhookQueue::open(options).map_err(Problem::new)
    }
}
