//! Builds an agent from the command line, the environment and the profile.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::future::BoxFuture;
use pintle::{Event, Hooks, points::SubagentEnded};
use pintle_actions::{
    BUILT_IN, Bound, Host, LogLevel, NO_BYTECODE, StandIn, Webhooks, trust::Trust,
};
use pintle_agent::store::JudgedBy;
use pintle_agent::{
    Agent, Approver, HandlerWatch, HookSpending, Llm, NoteMemory, Policy, Store, SwitchError,
    TicketVerifier, Tool, ToolSpec,
};
use pintle_consumers as consumers;
use pintle_exec::KeptWebhooks;
use pintle_gateway::GatewayApprover;
use pintle_plugins::Plugins;
use pintle_policy::Zone;
use pintle_profile::{Consumer, ConsumerSettings, Operator, Profile, variable_of};
use pintle_tools::{Background, McpLimits, McpServer, McpTransport, TerminalConfig};

use crate::{
    agents::mark_as_agent,
    args::Who,
    chat::{Approvers, AskVia, AskedAbout, StoredApprover, tell_of_the_end},
    containment,
    environment::{DATABASE, Environment},
    exporter::Exporter,
    origin::origin_of,
    out::{self, tell},
    plugins,
    problem::Problem,
    profile::{self, Plan},
    secrets,
    shown::{dim, red, text, yellow},
    store,
    term::{width_of_messages, wrap},
    undelivered::trouble,
};

/// An agent, with the parts that outlive its runs.
pub(crate) struct Assembled {
    pub(crate) agent: Agent,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) model: String,
    servers: Vec<McpServer>,
    pub(crate) plugins: Plugins,
    pub(crate) bound: Bound,
    /// The profile it was built from, with the operator's settings.
    pub(crate) profile: Option<Profile>,
    pub(crate) operator: Operator,
    /// The sandbox of the processes it starts.
    pub(crate) held: containment::Held,
    /// Sends its runs as traces.
    exporter: Option<Arc<Exporter>>,
    /// Facts that its questions show.
    pub(crate) asked_about: AskedAbout,
}

/// The options of a command for the agent it builds.
#[derive(Default)]
pub(crate) struct AgentOptions {
    /// The people who can be asked; none by default.
    pub(crate) ask_via: AskVia,
    pub(crate) watch: Option<HandlerWatch>,
    pub(crate) hooks: Option<Hooks>,
    /// Starts no server: for commands that only look.
    pub(crate) only_looks: bool,
    /// Creates no file or folder that stays.
    pub(crate) leaves_no_trace: bool,
    pub(crate) webhooks: Webhooks,
    /// For a demo, which changes nothing of the operator's.
    pub(crate) keeps_no_rules: bool,
    /// Answers in place of the profile's programs, which are then not started.
    pub(crate) stand_in: Option<StandIn>,
    /// The store, when the caller has opened it.
    pub(crate) store: Option<Arc<dyn Store>>,
    /// Set when questions go through the gateway: receives its approver.
    pub(crate) gateway: Option<Arc<OnceLock<GatewayApprover>>>,
}

impl AgentOptions {
    /// For a command that looks at hooks and sends no webhooks.
    pub(crate) fn mute() -> Self {
        Self { webhooks: Webhooks::Mute, ..Self::default() }
    }

    pub(crate) fn without_trace() -> Self {
        Self { leaves_no_trace: true, ..Self::mute() }
    }
}

impl Assembled {
    pub(crate) async fn new(
        environment: &Environment,
        who: &Who,
        extras: AgentOptions,
    ) -> Result<Self, Problem> {
        let model = profile::Model::by(environment, who);
        let plan = Plan::read(environment, who.profile.as_deref(), model)?;
        if let Some(profile) = &plan.profile {
            who.found.check(environment, profile)?;
        }
        Self::of_plan(environment, who, plan, extras).await
    }

    /// With a profile that was read before.
    pub(crate) async fn of_plan(
        environment: &Environment,
        who: &Who,
        plan: Plan,
        extras: AgentOptions,
    ) -> Result<Self, Problem> {
        if let Some(asked) = &who.personality {
            plan.personalities.get(asked)?;
        }
        let model = match who.model.clone().or_else(|| environment.model.clone()) {
            Some(model) => {
                if let Some(warning) = plan.profile.as_ref().and_then(profile::unused_model) {
                    tell!("{}: {} (`{}` is used instead)", yellow("warning"), warning, model);
                }
                Some(model)
            }
            None => plan.profile.as_ref().map(profile::model).transpose()?.flatten(),
        };
        let model = model.as_deref().unwrap_or("offline");
        let llm = pintle_llm::open(model, &environment.llm_settings())?;
        let exists = || environment.data().is_some_and(|data| data.join(DATABASE).exists());
        let store = match &extras.store {
            Some(store) => store.clone(),
            None if extras.leaves_no_trace && !exists() => store::in_memory(),
            None => store::open(environment).await?,
        };
        Self::from_parts(environment, plan, (model, llm), store, extras).await
    }

    /// Builds an agent from its parts. The model comes with the name that opened it.
    pub(crate) async fn from_parts(
        environment: &Environment,
        plan: Plan,
        (said, llm): (&str, Arc<dyn Llm>),
        store: Arc<dyn Store>,
        extras: AgentOptions,
    ) -> Result<Self, Problem> {
        mark_as_agent();
        can_hold_the_cost_limit(environment, &plan, said)?;
        let workspace = &plan.policy.workspace;
        let mut held =
            containment::Held::new(environment, &plan.operator, plan.profile.as_ref(), workspace)?;
        held.leaves_no_trace = extras.leaves_no_trace;
        let looks = extras.only_looks || extras.leaves_no_trace;
        let is_mute = matches!(extras.webhooks, Webhooks::Mute);
        let hooks = extras.hooks.unwrap_or_default();
        let data = environment.data_dir()?;
        let settings = &plan.operator.consumers;
        let classifier = classifier(environment, settings, extras.only_looks)?;
        let host = consumers::Host { settings, workspace, data: &data, classifier };
        consumers::bind(&host, &hooks).map_err(Problem::new)?;
        let bound = match &plan.profile {
            Some(profile) => {
                let confine = |zone: Zone, state: Option<&Path>| {
                    held.of_program(profile, zone, state, None).map_err(Problem::into_bind_error)
                };
                let host = Host {
                    secrets: secrets::known(environment, &plan.operator, Some(profile)),
                    variables: environment.variables().collect(),
                    log: Arc::new(log),
                    confine: &confine,
                    stand_in: extras.stand_in,
                    ..Host::new(&BUILT_IN, profile, &plan.operator, &data)
                };
                pintle_actions::bind(&host, extras.webhooks, &hooks)?
            }
            None => Bound::default(),
        };
        if !bound.disabled.is_empty() {
            let names: Vec<_> = bound.disabled.iter().map(|hook| hook.name.as_str()).collect();
            tell!(
                "{}: {} switched off by the operator (PINTLE_DISABLE_HOOKS, or disable_hooks in pintle.toml); gates stay on",
                yellow("warning"),
                names.join(", ")
            );
        }
        for KeptWebhooks { url, messages, file, .. } in &bound.unclaimed {
            tell!(
                "{}: webhooks to {} are waiting, but no hook of the profile names that address any more: {} in {}",
                yellow("warning"),
                url,
                messages,
                file.display()
            );
        }
        let plugins = plugins::load(environment, &plan, &held, &hooks, extras.only_looks).await?;
        let servers = match extras.only_looks {
            true => Ok(Vec::new()),
            false => connect_servers(environment, &plan, &held).await,
        };
        let servers = match servers {
            Ok(servers) => servers,
            Err(problem) => {
                plugins.shutdown().await;
                return Err(problem);
            }
        };
        let model = llm.name().to_string();
        let origin = origin_of(&plan, said);
        let asked = Approvers { approvers: plan.approvers, here: environment.names() };
        let rules_file = environment.operator_file().filter(|_| !extras.keeps_no_rules);
        let scrubber = secrets::scrubber(environment, &plan.operator, plan.profile.as_ref());
        let asked_about = AskedAbout {
            workspace: plan.policy.workspace.clone(),
            scrubber: Arc::new(scrubber),
            rules_file,
        };
        let approvers = asked.approvers.clone();
        let judged_by = JudgedBy {
            profile: origin.profile.clone(),
            profile_hash: plan.profile.as_ref().and_then(profile::hash),
            workspace: Some(origin.workspace.clone()),
        };
        let about = asked_about.clone();
        let stored = StoredApprover::new(store.clone(), extras.ask_via, asked, origin, about);
        let approver: Arc<dyn Approver> = match &extras.gateway {
            None => Arc::new(stored),
            Some(place) => {
                let approver = GatewayApprover::new(store.clone(), approvers);
                let approver = approver.rule_book(Arc::new(stored));
                Arc::new(place.get_or_init(|| approver).clone())
            }
        };
        let records = plan.operator.consumers.is_on(Consumer::Observability);
        if !records && plan.operator.otlp.is_some() {
            return Err(Problem::new(
                "`otlp` in pintle.toml sends recorded runs, and runs are not recorded",
            )
            .fix(
                "take `observability` out of `off` under [consumers], or `otlp` out of pintle.toml",
            ));
        }
        // With `--json` the reader has all events.
        let exporter = match &plan.operator.otlp {
            Some(url) if !looks && !is_mute => {
                let spool = environment.data_dir()?.join("otlp");
                let content = plan.operator.otlp_content;
                let exporter = Exporter::open(store.clone(), url, content, Some(&spool))?;
                let exporter = Arc::new(exporter);
                exporter.keep_sending();
                Some(exporter)
            }
            _ => None,
        };
        let keep = plan.operator.records;
        let recorder = records.then(|| consumers::Recorder::new(store.clone(), judged_by, keep));
        let (json, live) = (environment.json, exporter.clone());
        let terminal = TerminalConfig {
            env: environment.passed_on(),
            default_timeout: Duration::from_secs(120),
        };
        let background = Background::default();
        end_with_sub_agents(&hooks, &background)?;
        let mut tools = pintle_tools::builtin(terminal, &background);
        tools.extend(servers.iter().flat_map(McpServer::tools));
        tools.extend(plugins.tools());
        if let Some(profile) = &plan.profile
            && servers.len() == profile.mcp_servers.len()
        {
            for warning in profile::check_tools(profile, &known(&tools))? {
                tell!("{}: {}", yellow("warning"), warning);
            }
        }
        let policy = held.applied_to(plan.policy);
        let spending = HookSpending::default();
        if plan.operator.consumers.is_on(Consumer::TicketVerifier) {
            bind_verifier(&hooks, environment, &policy, &store, &llm, &spending)?;
        }
        let memory = NoteMemory::new(store.clone(), policy.workspace.display().to_string());
        let mut builder = Agent::builder(hooks, llm, store.clone(), plan.personalities, policy)
            .limits(plan.limits)
            .hook_spending(spending)
            .approver(approver)
            .memory(Arc::new(memory))
            .tools(tools)
            .observer(move |event| {
                if let Some(recorder) = &recorder {
                    recorder.record(event);
                }
                if let Some(exporter) = &live {
                    exporter.saw(event);
                }
                if !json {
                    tell_of_the_end(event);
                }
            });
        for (plugin, text) in plugins.context() {
            builder = builder.plugin_context(plugin, text);
        }
        if let Some(watch) = extras.watch {
            builder = builder.watch_handlers(move |point, handler| watch(point, handler));
        }
        let agent = builder.build().map_err(Problem::new)?;
        if !looks && !is_mute {
            held.warn();
        }
        let (profile, operator) = (plan.profile, plan.operator);
        Ok(Self {
            agent,
            store,
            model,
            servers,
            plugins,
            bound,
            profile,
            operator,
            held,
            exporter,
            asked_about,
        })
    }

    /// Waits for everything that still runs, in order.
    pub(crate) async fn close(self) {
        self.agent.settle().await;
        for server in &self.servers {
            server.shutdown().await;
        }
        self.plugins.shutdown().await;
        let webhooks = self.bound.close().await;
        self.store.flush_records().await;
        let traces = match &self.exporter {
            Some(exporter) => exporter.close().await,
            None => Vec::new(),
        };
        let webhooks = webhooks.iter().flat_map(|stats| trouble("webhooks", stats));
        for trouble in webhooks.chain(traces.iter().flat_map(|stats| trouble("traces", stats))) {
            tell!("{}: {}", yellow("warning"), trouble);
        }
    }
}

/// All tools, including the agent's own `delegate`.
pub(crate) fn known(tools: &[Arc<dyn Tool>]) -> Vec<ToolSpec> {
    tools.iter().map(|tool| tool.spec()).chain([pintle_agent::delegate_spec()]).collect()
}

/// A limit on cost needs a price. Without one the limit would have no effect, so the agent does not start.
fn can_hold_the_cost_limit(
    environment: &Environment,
    plan: &Plan,
    model: &str,
) -> Result<(), Problem> {
    match plan.limits.max_cost_usd {
        Some(limit) if !pintle_llm::has_price(model, &environment.llm_settings()) => Err(
            Problem::new(format!("cannot limit the cost of `{model}` to {limit} USD (maxCostUsd)"))
                .cause("the price of this model is not known")
                .fix("use a model with a list price, at its provider's own address")
                .fix("or replace `maxCostUsd` in agent.json by `maxTurns` or `maxSeconds`"),
        ),
        _ => Ok(()),
    }
}

/// Ends the background processes of a sub-agent with its session.
fn end_with_sub_agents(hooks: &Hooks, background: &Background) -> Result<(), Problem> {
    let background = background.clone();
    let end = move |e: Event<SubagentEnded>| {
        background.end_session(&e.child_session_id);
        std::future::ready(())
    };
    let registrar = hooks.named("background processes").source("built-in");
    registrar.register_void(end).map(drop).map_err(Problem::new)
}

/// The model that checks untrusted text. If it cannot be opened, the program stops: the text would not be checked.
fn classifier(
    environment: &Environment,
    settings: &ConsumerSettings,
    only_looks: bool,
) -> Result<Option<Arc<dyn Llm>>, Problem> {
    let Some(model) = &settings.injection_safety.classifier else { return Ok(None) };
    if only_looks || !settings.is_on(Consumer::InjectionSafety) {
        return Ok(None);
    }
    let cannot = |error: pintle_llm::OpenError| {
        Problem::new(format!("the classifier of injection safety, `{model}`, cannot be used"))
            .cause(error)
            .fix(
                "change or remove `classifier` under `[consumers.injection_safety]` in pintle.toml",
            )
    };
    pintle_llm::open(model, &environment.llm_settings()).map(Some).map_err(cannot)
}

/// How long the check of a ticket may run.
const CHECK_LIMIT: Duration = Duration::from_secs(600);

/// The ticket verifier. The check of a ticket runs in the workspace, as a command of zone `build`; where the kernel cannot
/// hold it there, it does not run, and the completion is rejected.
fn bind_verifier(
    hooks: &Hooks,
    environment: &Environment,
    policy: &Policy,
    store: &Arc<dyn Store>,
    llm: &Arc<dyn Llm>,
    spending: &HookSpending,
) -> Result<(), Problem> {
    let (env, policy) = (environment.passed_on(), policy.clone());
    let check = move |command: String| -> BoxFuture<'static, Result<(), String>> {
        let (env, folder) = (env.clone(), policy.workspace.clone());
        let held = policy.containment.confine(Zone::Build, &[]);
        Box::pin(async move {
            let held = (Zone::Build, held?);
            let ran = pintle_tools::run_check(&env, command, folder, held, CHECK_LIMIT).await;
            ran.map(drop).map_err(|failed| failed.to_string())
        })
    };
    let (store, llm) = (store.clone(), llm.clone());
    let spending = spending.clone();
    let verifier = TicketVerifier { store, llm, check: Arc::new(check), spending };
    verifier.register(hooks).map(drop).map_err(Problem::new)
}

/// Prints a line of the `log` action.
fn log(level: LogLevel, line: &str) {
    let line = match level {
        LogLevel::Debug => dim(text!("debug {}", line)),
        LogLevel::Info => text!("{}  {}", dim("info"), line),
        LogLevel::Warn => text!("{}  {}", yellow("warn"), line),
        LogLevel::Error => text!("{} {}", red("error"), line),
    };
    tell!("{}", wrap(&line, width_of_messages(), 6));
}

async fn connect_servers(
    environment: &Environment,
    plan: &Plan,
    held: &containment::Held,
) -> Result<Vec<McpServer>, Problem> {
    let mut servers = Vec::new();
    let Some(profile) = plan.profile.as_ref().filter(|profile| !profile.mcp_servers.is_empty())
    else {
        return Ok(servers);
    };
    // A person reviews which servers a downloaded profile starts or connects to.
    let trust = Trust::read(&environment.data_dir()?, profile)?;
    let doubted = |why| {
        Problem::new("the MCP servers of this profile are not trusted, so it does not start")
            .cause(why)
            .fix(trust.way_out())
    };
    trust.check().map_err(doubted)?;
    for (name, server) in &profile.mcp_servers {
        let transport = match (&server.command, &server.url) {
            (Some(command), _) => {
                let mut env = environment.passed_on();
                let (name, value) = NO_BYTECODE;
                env.push((name.to_owned(), value.to_owned()));
                for (name, value) in &server.env {
                    let value = match variable_of(value) {
                        Some(variable) => environment.secret(variable)?,
                        None => value.clone(),
                    };
                    env.push((name.clone(), value));
                }
                let (command, args) = (command.clone(), server.args.clone());
                let cwd = environment.absolute(&profile.dir)?;
                let said = plan.operator.sandbox.mcp.get(name);
                let zone = said.and_then(|said| said.zone).unwrap_or(server.zone);
                let hosts = said.and_then(|said| said.hosts.as_ref());
                let confinement = held.of_program(profile, zone, None, hosts)?;
                McpTransport::Stdio { command, args, env, cwd, confinement }
            }
            (None, Some(url)) => McpTransport::Http { url: url.clone(), headers: Vec::new() },
            (None, None) => continue,
        };
        let connecting = McpServer::connect(name, transport, McpLimits::default());
        let connected = match environment.shows_waiting() {
            true => out::waiting_for(&text!("starting {}…", name), connecting).await,
            false => connecting.await,
        };
        servers.push(connected.map_err(Problem::new)?);
    }
    Ok(servers)
}

impl From<SwitchError> for Problem {
    fn from(error: SwitchError) -> Self {
        Self::new(error)
    }
}
