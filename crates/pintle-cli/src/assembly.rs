//! An agent put together from what the command line, the environment and the profile say.

use std::{path::PathBuf, sync::Arc, time::Duration};

use pintle::{Event, Hooks, Verdict, points::ToolPre};
use pintle_agent::{Agent, HandlerWatch, Llm, SwitchError};
use pintle_policy::shell;
use pintle_store::SqliteStore;
use pintle_tools::{McpLimits, McpServer, McpTransport, TerminalConfig};

use crate::{
    args::Who,
    bindings::{self, Bound},
    chat::{Ears, StoredApprover},
    environment::Environment,
    out::{self, tell},
    problem::Problem,
    profile::Plan,
    recorder::Recorder,
    shown::{text, yellow},
};

/// An agent, with what outlives its runs.
pub(crate) struct Assembled {
    pub(crate) agent: Agent,
    pub(crate) store: SqliteStore,
    pub(crate) model: String,
    servers: Vec<McpServer>,
    pub(crate) bound: Bound,
}

/// What a command adds to the agent it needs.
#[derive(Default)]
pub(crate) struct Extras {
    /// Who can be asked; nobody unless said.
    pub(crate) ears: Ears,
    pub(crate) watch: Option<HandlerWatch>,
    pub(crate) hooks: Option<Hooks>,
    /// Where questions are locked; the data folder unless said.
    pub(crate) state: Option<PathBuf>,
}

impl Assembled {
    pub(crate) async fn new(
        environment: &Environment,
        who: &Who,
        extras: Extras,
    ) -> Result<Self, Problem> {
        let plan = Plan::read(environment, who.profile.as_deref())?;
        if let Some(asked) = &who.personality {
            plan.personalities.get(asked)?;
        }
        let profile_model = plan.profile.as_ref().and_then(|profile| profile.model.clone());
        let model = who.model.clone().or_else(|| environment.model.clone()).or(profile_model);
        let llm =
            pintle_llm::open(model.as_deref().unwrap_or("offline"), &environment.llm_settings())?;
        let store = SqliteStore::open(environment.database()?).await?;
        Self::from_parts(environment, plan, llm, store, extras).await
    }

    pub(crate) async fn from_parts(
        environment: &Environment,
        plan: Plan,
        llm: Arc<dyn Llm>,
        store: SqliteStore,
        extras: Extras,
    ) -> Result<Self, Problem> {
        let hooks = extras.hooks.unwrap_or_default();
        bind_built_ins(&hooks)?;
        let bound = match &plan.profile {
            Some(profile) => bindings::bind(environment, &plan.operator, profile, &hooks)?,
            None => Bound::default(),
        };
        if !bound.disabled.is_empty() {
            let names = bound.disabled.join(", ");
            tell!(
                "{}: PINTLE_DISABLE_HOOKS switches off {}; what guards stays on",
                yellow("warning"),
                names
            );
        }
        let servers = connect_servers(environment, &plan).await?;
        let model = llm.name().to_string();
        let approvers = plan.approvers.unwrap_or_default();
        let state = match extras.state {
            Some(state) => state,
            None => environment.data_dir()?,
        };
        let approver = StoredApprover::new(store.clone(), extras.ears, approvers, &state);
        let recorder = Recorder::new(store.clone());
        let terminal = TerminalConfig {
            env: environment.passed_on(),
            default_timeout: Duration::from_secs(120),
        };
        let mut builder =
            Agent::builder(hooks, llm, Arc::new(store.clone()), plan.personalities, plan.policy)
                .limits(plan.limits)
                .approver(Arc::new(approver))
                .tools(pintle_tools::builtin(terminal))
                .tools(servers.iter().flat_map(McpServer::tools))
                .observer(move |event| recorder.record(event));
        if let Some(watch) = extras.watch {
            builder = builder.watch_handlers(move |point, handler| watch(point, handler));
        }
        let agent = builder.build().map_err(Problem::new)?;
        Ok(Self { agent, store, model, servers, bound })
    }

    /// Waits for everything that still runs, in order.
    pub(crate) async fn close(self) {
        self.release().await;
    }

    /// The same, for an agent whose place another takes.
    pub(crate) async fn release(&self) {
        self.agent.settle().await;
        for server in &self.servers {
            server.shutdown().await;
        }
        for stats in self.bound.close().await {
            if stats.dropped > 0 {
                let (dropped, url) = (stats.dropped, &stats.url);
                tell!("{}: {} webhooks to {} were dropped", yellow("warning"), dropped, url);
            }
        }
        self.store.flush_records().await;
    }
}

/// The terminal guard: an ordinary handler on a public point.
fn bind_built_ins(hooks: &Hooks) -> Result<(), Problem> {
    let guard = |e: Event<ToolPre>| async move {
        match e
            .tool_input
            .get("command")
            .and_then(serde_json::Value::as_str)
            .and_then(shell::destructive)
        {
            Some(reason) => Verdict::block(reason),
            None => Verdict::allow(),
        }
    };
    let registrar =
        hooks.named("terminal guard").source("built-in").tools(["terminal"]).priority(100);
    registrar.register_gate(guard).map(drop).map_err(Problem::new)
}

async fn connect_servers(
    environment: &Environment,
    plan: &Plan,
) -> Result<Vec<McpServer>, Problem> {
    let mut servers = Vec::new();
    let Some(profile) = &plan.profile else { return Ok(servers) };
    for (name, server) in &profile.mcp_servers {
        let transport = match (&server.command, &server.url) {
            (Some(command), _) => {
                let mut env = environment.passed_on();
                env.extend(server.env.iter().map(|(name, value)| (name.clone(), value.clone())));
                let (command, args) = (command.clone(), server.args.clone());
                McpTransport::Stdio { command, args, env, cwd: Some(profile.dir.clone()) }
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
