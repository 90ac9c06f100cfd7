//! `pintle serve`: the gateway, its channels, the HTTP API and the web page.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use pintle_actions::trust::Trust;
use pintle_agent::{Agent, Channel, Store, store::Program};
use pintle_gateway::{
    ChannelSafety, Gateway, GatewayApprover, GatewayConfig, InWords, LiveEvent, Renewal,
    SafetyRules,
    api::{self, ApiConfig, Server, Token},
    channels::{
        ConsoleChannel, HttpChannel, TelegramChannel, TelegramConfig, TelegramMode,
        TelegramWebhook, Webhook,
    },
};
use pintle_plugins::PLUGINS_FILE;
use pintle_profile::{Channels, Consumer, variable_of};
use rustix::fs::{FlockOperation, flock};
use tokio::{
    io::BufReader,
    sync::{
        broadcast::{self, error::RecvError},
        mpsc, oneshot,
    },
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    args::{Serve, Who},
    assembly::{AgentOptions, Assembled},
    chat::{AskVia, Interrupts, Question},
    environment::Environment,
    out::{say, tell},
    plugins,
    problem::Problem,
    profile::Plan,
    secrets,
    shown::{bold, dim, yellow},
    store,
};

pub(crate) async fn run(environment: &Environment, serve: Serve) -> Result<ExitCode, Problem> {
    let mut interrupts = Interrupts::listen();
    let data = environment.create_data_dir()?;
    let _only_one = lock(&data).await?;
    let (token, token_file) = token(&data)?;
    let (store, queues) = store::open_with_queues(environment).await?;
    let mut current = Current::new(environment, serve.who, store.clone()).await?;
    let assembled = &current.assembled;
    let Some(approver) = current.approver.get().cloned() else {
        return Err(Problem::new("the agent has no approver"));
    };
    let channels = match &assembled.profile {
        Some(profile) => profile.channels.clone(),
        None => Channels::default(),
    };
    let served = Served::new(environment, &channels, serve.console)?;
    let mut open_to_strangers = Vec::new();
    if assembled.operator.consumers.is_on(Consumer::ChannelSafety) {
        let safety = ChannelSafety::new(served.rules, queues.clone());
        safety.register(assembled.agent.hooks()).map_err(Problem::new)?;
        current.safety = Some(safety);
    } else {
        let off = "`channel_safety` is off in pintle.toml: anyone who finds a channel may write to the agent";
        tell!("{}: {}", yellow("warning"), off);
        open_to_strangers.extend(served.rules.into_keys());
    }
    let server = Server::bind(serve.addr, true).await.map_err(Problem::new)?;
    let address = server.address();

    let config = GatewayConfig {
        questions_in_group: channels.questions_in_group,
        open_to_strangers,
        ..GatewayConfig::default()
    };
    let (asks, mut asked) = mpsc::channel(64);
    let mut builder = Gateway::builder(assembled.agent.clone(), store, queues, approver)
        .config(config)
        .renewed_by(renewal(asks.clone()))
        .questions_in_words(in_words(environment, assembled)?);
    for channel in served.channels {
        builder = builder.channel(channel);
    }
    let gateway = builder.start().await?;
    let telling = tokio::spawn(tell_trouble(gateway.events().subscribe()));
    let has_no_host = serve.hosts.is_empty();
    let config = ApiConfig {
        token,
        operator: environment.names(),
        hosts: serve.hosts,
        listed: listed(asks),
    };
    let router = api::router(gateway.clone(), config, address, served.telegram);
    let stop = CancellationToken::new();
    let listening = tokio::spawn(server.run(router, stop.clone()));
    match environment.json {
        true => say!("{}", serde_json::json!({ "address": address.to_string() })),
        false => {
            tell!("serving {} on {}", assembled.model, bold(format!("http://{address}")));
            tell!("the page asks for the token, which is in {}", token_file.display());
            if address.ip().is_unspecified() && has_no_host {
                tell!(
                    "warning: requests from other machines are refused until `--host` names the host that they ask for"
                );
            }
        }
    }
    let wish = loop {
        tokio::select! {
            wish = interrupts.next() => break wish,
            Some(asked) = asked.recv() => current.answer(asked).await,
        }
    };
    tell!("stopping; accepted messages that are not done are processed after the next start");
    stop.cancel();
    gateway.stop().await;
    drop(asked);
    let _ = listening.await;
    telling.abort();
    current.close().await;
    Ok(wish.code().into())
}

/// A request of the gateway to the task that has the agent.
enum Asked {
    Agent(oneshot::Sender<Result<Agent, String>>),
    Listing(oneshot::Sender<api::Listing>),
}

fn renewal(asks: mpsc::Sender<Asked>) -> Renewal {
    Arc::new(move || {
        let asks = asks.clone();
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let _ = asks.send(Asked::Agent(answer)).await;
            answered.await.unwrap_or_else(|_| Err("the gateway is stopping".into()))
        })
    })
}

fn listed(asks: mpsc::Sender<Asked>) -> api::Listed {
    Arc::new(move || {
        let asks = asks.clone();
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let _ = asks.send(Asked::Listing(answer)).await;
            answered.await.unwrap_or_default()
        })
    })
}

/// The agent in force: with the profile of the start and the plugins of now.
struct Current<'a> {
    environment: &'a Environment,
    who: Who,
    assembled: Assembled,
    /// Shared by every agent of this gateway.
    store: Arc<dyn Store>,
    approver: Arc<OnceLock<GatewayApprover>>,
    program: Arc<OnceLock<Program>>,
    safety: Option<ChannelSafety>,
    /// The text of plugins.json that the agent was built from; none after a change that no agent could be built from.
    seen: Option<String>,
    /// Replaced agents, each until its last run has ended.
    leaving: JoinSet<()>,
}

impl<'a> Current<'a> {
    async fn new(
        environment: &'a Environment,
        who: Who,
        store: Arc<dyn Store>,
    ) -> Result<Self, Problem> {
        let seen = Some(added_plugins(environment));
        let (approver, program) = (Arc::default(), Arc::default());
        let extras = extras(&store, &approver, &program);
        let assembled = Assembled::new(environment, &who, extras).await?;
        let (safety, leaving) = (None, JoinSet::new());
        Ok(Self { environment, who, assembled, store, approver, program, safety, seen, leaving })
    }

    async fn answer(&mut self, asked: Asked) {
        match asked {
            Asked::Agent(answer) => {
                let agent = self.renew().await.map(|()| self.assembled.agent.clone());
                let _ = answer.send(agent.map_err(|problem| plugins::in_one_line(&problem)));
            }
            Asked::Listing(answer) => {
                let _ = answer.send(self.listing());
            }
        }
    }

    /// Builds the agent again if its plugins were changed. If none can be built, no run starts, and plugins that lost a capability are
    /// unloaded.
    async fn renew(&mut self) -> Result<(), Problem> {
        let now = added_plugins(self.environment);
        let Some(profile) = &self.assembled.profile else { return Ok(()) };
        if self.seen.as_ref() == Some(&now) || profile.named_plugins().is_empty() {
            return Ok(());
        }
        let plan = Plan::held(self.environment, profile.clone());
        let mut extras = extras(&self.store, &self.approver, &self.program);
        extras.webhooks = self.assembled.bound.webhooks();
        let built = async { Assembled::of_plan(self.environment, &self.who, plan?, extras).await };
        let new = match built.await {
            Ok(new) => new,
            Err(problem) => {
                self.seen = None;
                plugins::unload_withdrawn(self.environment, &self.assembled.plugins).await;
                return Err(problem);
            }
        };
        if let Some(safety) = &self.safety {
            safety.register(new.agent.hooks()).map_err(Problem::new)?;
        }
        let mut old = std::mem::replace(&mut self.assembled, new);
        old.bound.hand_over_webhooks();
        self.leaving.spawn(old.close());
        while self.leaving.try_join_next().is_some() {}
        self.seen = Some(now);
        tell!("{}", dim("the plugins changed: the next run has them as they are now"));
        Ok(())
    }

    fn listing(&self) -> api::Listing {
        let Self { environment, assembled, .. } = self;
        let idle_hooks = idle_hooks(environment, assembled).unwrap_or_else(|problem| {
            vec![api::IdleHook {
                point: String::new(),
                name: "profile".into(),
                state: "invalid".into(),
                note: plugins::in_one_line(&problem),
            }]
        });
        let loaded = assembled.plugins.list().into_iter().map(|it| it.manifest.id);
        let loaded: Vec<String> = loaded.collect();
        let plugins = super::plugins::on_page(environment, &loaded).unwrap_or_else(|problem| {
            vec![api::AddedPlugin {
                id: PLUGINS_FILE.into(),
                version: String::new(),
                kind: String::new(),
                grants: Vec::new(),
                state: "unusable".into(),
                notes: vec![plugins::in_one_line(&problem)],
            }]
        });
        api::Listing { idle_hooks, plugins }
    }

    /// Waits for everything that still runs, in order.
    async fn close(self) {
        self.leaving.join_all().await;
        self.assembled.close().await;
    }
}

fn extras(
    store: &Arc<dyn Store>,
    approver: &Arc<OnceLock<GatewayApprover>>,
    program: &Arc<OnceLock<Program>>,
) -> AgentOptions {
    AgentOptions {
        ask_via: AskVia { elsewhere: true, program: program.clone(), ..AskVia::default() },
        store: Some(store.clone()),
        gateway: Some(approver.clone()),
        ..AgentOptions::default()
    }
}

/// The list of added plugins and their grants, as text.
fn added_plugins(environment: &Environment) -> String {
    let file = environment.data().map(|data| data.join(PLUGINS_FILE));
    file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default()
}

/// Prints failures of a channel or the queues; the same one only once in a row.
async fn tell_trouble(mut events: broadcast::Receiver<LiveEvent>) {
    let mut last = String::new();
    loop {
        let event = match events.recv().await {
            Ok(event) if event.kind == "error" && event.run_id.is_none() => event,
            Ok(_) | Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let event: serde_json::Value = serde_json::from_str(&event.json).unwrap_or_default();
        let message = event.get("message").and_then(|it| it.as_str()).unwrap_or_default();
        if message != last {
            tell!("warning: {}", message);
            last = message.to_string();
        }
    }
}

/// Words the questions of the page as `pintle chat` and `pintle approvals` do.
fn in_words(environment: &Environment, assembled: &Assembled) -> Result<InWords, Problem> {
    let operator = environment.operator()?;
    let scrubber = secrets::scrubber(environment, &operator, assembled.profile.as_ref());
    Ok(Arc::new(move |approval| {
        let folder = approval.origin.as_ref().map(|origin| origin.workspace.as_path());
        Question::of_stored(approval, folder.unwrap_or(Path::new("?")), &scrubber).in_words()
    }))
}

/// The hooks of the profile that do not run, and why.
fn idle_hooks(
    environment: &Environment,
    assembled: &Assembled,
) -> Result<Vec<api::IdleHook>, Problem> {
    let bound = &assembled.bound;
    let mut why = String::new();
    if let Some(profile) = assembled.profile.as_ref().filter(|_| !bound.untrusted.is_empty()) {
        let trust = Trust::read(&environment.data_dir()?, profile)?;
        if let Err(reason) = trust.check() {
            why = format!("{reason}, so it blocks every call. Fix: {}", trust.way_out());
        }
    }
    let untrusted = bound.untrusted.iter().map(|name| (name, "untrusted", why.clone()));
    let off = "Switched off by PINTLE_DISABLE_HOOKS, or disable_hooks in pintle.toml.";
    let disabled = bound.disabled.iter().map(|hook| (&hook.name, "disabled", off.to_owned()));
    let hook = |(name, state, note): (&String, &str, String)| api::IdleHook {
        point: String::new(),
        name: name.clone(),
        state: state.into(),
        note,
    };
    let plugins = assembled.plugins.list();
    let silenced = plugins.iter().flat_map(|it| {
        it.silenced.iter().map(|point| api::IdleHook {
            point: point.clone(),
            name: it.manifest.id.clone(),
            state: "disabled".into(),
            note: off.to_owned(),
        })
    });
    Ok(untrusted.chain(disabled).map(hook).chain(silenced).collect())
}

/// Allows one gateway for each data folder: a gateway takes over the messages that the previous one left.
async fn lock(data: &Path) -> Result<File, Problem> {
    let path = data.join("gateway.lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file
        .map_err(|error| Problem::new(format!("{} cannot be opened: {error}", path.display())))?;
    // A process that a killed gateway was starting may hold the lock for a moment longer.
    let began = Instant::now();
    while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if began.elapsed() > Duration::from_secs(1) {
            let data = data.display();
            let what = format!("another `pintle serve` uses the data folder {data}");
            return Err(Problem::new(what).fix("stop it, or use another folder: `--data DIR`"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(file)
}

/// The token of the API, made when there is none. A file that others can read is refused.
fn token(data: &Path) -> Result<(Token, PathBuf), Problem> {
    let path = data.join("token");
    let failed = |error: std::io::Error| {
        Problem::new(format!("the token {} cannot be used: {error}", path.display()))
    };
    let mut options = File::options();
    match options.write(true).create_new(true).mode(0o600).open(&path) {
        Ok(mut file) => {
            let token = pintle_gateway::random_token().ok_or_else(|| {
                Problem::new("the system's random generator failed, so no token can be made")
            })?;
            file.write_all(token.as_bytes()).map_err(failed)?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    let mut file = File::open(&path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    let is_own = about.uid() == rustix::process::getuid().as_raw();
    if about.permissions().mode() & 0o077 != 0 || !is_own {
        return Err(Problem::new(format!("others can read the token {}", path.display()))
            .fix("remove it: the next start makes a new one"));
    }
    let mut token = String::new();
    file.read_to_string(&mut token).map_err(failed)?;
    let token = token.trim();
    if token.len() < 16 {
        return Err(Problem::new(format!("the token {} is too short", path.display()))
            .fix("remove it: the next start makes a new one"));
    }
    Ok((Token::new(token), path))
}

/// The channels of a profile, made.
struct Served {
    channels: Vec<Arc<dyn Channel>>,
    rules: BTreeMap<String, SafetyRules>,
    telegram: Option<TelegramWebhook>,
}

impl Served {
    fn new(environment: &Environment, said: &Channels, console: bool) -> Result<Self, Problem> {
        let mut served = Self { channels: Vec::new(), rules: BTreeMap::new(), telegram: None };
        let http = match said.http.as_ref().and_then(|http| http.webhook.as_ref()) {
            Some(webhook) => HttpChannel::with_webhook(Webhook {
                url: webhook.url.parse().map_err(Problem::new)?,
                secret: secret(environment, &webhook.secret)?,
            })
            .map_err(Problem::new)?,
            None => HttpChannel::new(),
        };
        served.channels.push(Arc::new(http));
        if console {
            let sender = environment.names().into_iter().next().unwrap_or_default();
            let stdin = BufReader::new(tokio::io::stdin());
            let console = ConsoleChannel::new(stdin, sender, |text| say!("{}", text));
            served.channels.push(Arc::new(console));
        }
        if let Some(telegram) = &said.telegram {
            let mode = match &telegram.webhook {
                None => TelegramMode::Polling,
                Some(webhook) => TelegramMode::Webhook {
                    url: webhook.url.clone(),
                    secret: secret(environment, &webhook.secret)?,
                },
            };
            let config = TelegramConfig {
                token: secret(environment, &telegram.token)?,
                base_url: telegram.base_url.clone(),
                mode,
            };
            let channel = Arc::new(TelegramChannel::new(config).map_err(Problem::new)?);
            served.telegram = channel.webhook();
            served.channels.push(channel);
            let rules = SafetyRules {
                allow: Some(telegram.allow.clone()),
                pairing: telegram.pairing,
                mention_in_groups: telegram.mention_in_groups,
            };
            served.rules.insert("telegram".into(), rules);
        }
        Ok(served)
    }
}

/// The value of a `${NAME}` in the profile.
fn secret(environment: &Environment, said: &str) -> Result<String, Problem> {
    let name = variable_of(said)
        .ok_or_else(|| Problem::new("a secret of a channel is named as `${NAME}`"))?;
    environment.secret(name)
}
