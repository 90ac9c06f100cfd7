//! An agent: everything a run needs, put together once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use pintle::{Cx, Envelope, Hooks, RecordSink, points::PersonalitySwitched};
use tokio_util::task::TaskTracker;

use crate::{
    approver::{Approver, NoOneToAsk},
    event::RunEvent,
    hook_spending::HookSpending,
    interceptor::Interceptors,
    llm::Llm,
    memory::Memory,
    personality::{Personalities, Personality, UnknownPersonality},
    policy::{Limits, Policy},
    prompt::PromptPart,
    run::{self, Run, RunRequest, delegate_spec},
    store::{Claim, Session, Store, StoreError},
    tool::Tool,
    toolbox::{DuplicateTool, ToolBox, ToolKind},
};

/// An agent. A clone is another handle to the same one.
#[derive(Clone)]
pub struct Agent {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) hooks: Hooks,
    pub(crate) llm: Arc<dyn Llm>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tools: ToolBox,
    pub(crate) personalities: Personalities,
    pub(crate) policy: Policy,
    pub(crate) limits: Limits,
    pub(crate) interceptors: Interceptors,
    pub(crate) approver: Arc<dyn Approver>,
    /// Each with the plugin that brings it.
    pub(crate) context: Vec<(Option<String>, PromptPart)>,
    pub(crate) memory: Option<Arc<dyn Memory>>,
    pub(crate) hook_spending: HookSpending,
    pub(crate) observer: Option<Observer>,
    pub(crate) watch: Option<HandlerWatch>,
    /// What still runs after a run's `done`: the process waits for it before it exits.
    pub(crate) background: TaskTracker,
    /// The sessions this process has run already.
    pub(crate) sessions: Mutex<HashMap<String, SessionState>>,
    /// Personalities that `personality_switched` put in place of the configured one.
    pub(crate) substitutes: Mutex<HashMap<String, Personality>>,
}

/// What an agent remembers of a session while it lives.
#[derive(Default)]
pub(crate) struct SessionState {
    /// Runs of the session take turns.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Whether `session_start` was fired.
    started: bool,
}

/// Sees every event of every run.
pub type Observer = Arc<dyn Fn(&RunEvent) + Send + Sync>;

/// Hears of each handler that starts (its point and its name), and of nothing else.
pub type HandlerWatch = Arc<dyn Fn(&'static str, &str) + Send + Sync>;

/// Puts an agent together: see [`Agent::builder`].
pub struct AgentBuilder {
    inner: Inner,
    duplicate: Option<DuplicateTool>,
}

impl Agent {
    /// Starts with what no agent can do without.
    pub fn builder(
        hooks: Hooks,
        llm: Arc<dyn Llm>,
        store: Arc<dyn Store>,
        personalities: Personalities,
        policy: Policy,
    ) -> AgentBuilder {
        AgentBuilder {
            inner: Inner {
                hooks,
                llm,
                store,
                tools: ToolBox::default(),
                personalities,
                policy,
                limits: Limits::default(),
                interceptors: Interceptors::default(),
                approver: Arc::new(NoOneToAsk),
                context: Vec::new(),
                memory: None,
                hook_spending: HookSpending::default(),
                observer: None,
                watch: None,
                background: TaskTracker::new(),
                sessions: Mutex::default(),
                substitutes: Mutex::default(),
            },
            duplicate: None,
        }
    }

    /// Starts a run. It goes on by itself; dropping the [`Run`] stops it.
    ///
    /// Runs of one session take turns, in the order they were started: a run begins when the one before it is done.
    pub fn run(&self, request: RunRequest) -> Run {
        run::start(self.clone(), request)
    }

    /// Goes on with a run whose process died while a person was being asked. The call runs at most once, no matter which process
    /// resumes it (R11.6).
    pub fn resume(&self, session_id: &str) -> Run {
        self.run(RunRequest::resume(session_id))
    }

    /// The agent's registry.
    pub fn hooks(&self) -> &Hooks {
        &self.inner.hooks
    }

    /// The agent's personalities.
    pub fn personalities(&self) -> &Personalities {
        &self.inner.personalities
    }

    /// The names of all its tools, for every personality.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.inner.tools.iter().map(|known| known.spec.name.as_str())
    }

    /// Waits for the handlers that still run after their runs' `done`. Call it before the process exits.
    pub async fn settle(&self) {
        self.inner.background.close();
        self.inner.background.wait().await;
        self.inner.background.reopen();
    }

    /// Makes the session speak as another personality, and fires `personality_switched`.
    ///
    /// # Errors
    /// When there is no such personality, another process runs in the session, a handler registered fail-closed failed, or
    /// the store did.
    pub async fn switch_personality(&self, session: &Session, to: &str) -> Result<(), SwitchError> {
        let envelope = Envelope {
            platform: session.platform.clone(),
            parent_session_id: session.parent.clone(),
            trace_id: run::new_id(),
            ts: pintle::now_ms(),
            ..Envelope::default()
        };
        let _turn = self.turn_in(&session.id).lock_owned().await;
        let claim = self.inner.store.claim(session).await?;
        self.switch(&claim, session, to, envelope, None).await
    }

    /// The same within a run, whose envelope and events it then belongs to.
    pub(crate) async fn switch(
        &self,
        claim: &Claim,
        session: &Session,
        to: &str,
        envelope: Envelope,
        witness: Option<Arc<dyn RecordSink>>,
    ) -> Result<(), SwitchError> {
        let personality = self.inner.personalities.get(to)?;
        let envelope = Envelope {
            session_id: Some(session.id.clone()),
            session_key: Some(session.key.clone()),
            personality_id: Some(to.to_string()),
            ..envelope
        };
        let mut cx = Cx::new(envelope, personality.plugin_filter());
        if let Some(witness) = witness {
            cx = cx.observed_by(witness);
        }
        let from = session.personality.clone();
        let switched = || PersonalitySwitched::default().from(from).to(to);
        let merged = self.inner.hooks.fire_modifying(&cx, switched).await?;
        self.inner.store.set_personality(claim, to).await?;
        let mut substitutes = self.inner.substitutes.lock().unwrap_or_else(PoisonError::into_inner);
        match merged.patch.personality {
            Some(config) => substitutes.insert(session.id.clone(), Personality::new(to, config)?),
            None => substitutes.remove(&session.id),
        };
        Ok(())
    }

    /// The turn that a run of this session has to wait for.
    pub(crate) fn turn_in(&self, session_id: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut sessions = self.inner.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.entry(session_id.to_string()).or_default().turn.clone()
    }

    /// Whether this is the first run of the session here. It is true once: the caller fires `session_start`.
    pub(crate) fn starts(&self, session_id: &str) -> bool {
        let mut sessions = self.inner.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.entry(session_id.to_string()).or_default();
        !std::mem::replace(&mut session.started, true)
    }

    /// Who speaks in this session.
    ///
    /// # Errors
    /// When the session names a personality that this agent does not have.
    pub fn personality(&self, session: &Session) -> Result<Personality, UnknownPersonality> {
        let substitutes = self.inner.substitutes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(substitute) = substitutes.get(&session.id) {
            return Ok(substitute.clone());
        }
        let id = session.personality.as_deref().unwrap_or(self.inner.personalities.default_id());
        self.inner.personalities.get(id).cloned()
    }
}

/// Why a session could not switch its personality.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// There is no such personality.
    #[error(transparent)]
    Unknown(#[from] UnknownPersonality),
    /// A handler registered fail-closed failed.
    #[error(transparent)]
    Hook(#[from] pintle::FireError),
    /// A handler put in place a personality with a bad tool glob.
    #[error("a handler of personality_switched gave a tool glob that does not parse: {0}")]
    Glob(#[from] glob::PatternError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AgentBuilder {
    /// More tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        for tool in tools {
            if let Err(duplicate) = self.inner.tools.add(tool) {
                self.duplicate.get_or_insert(duplicate);
            }
        }
        self
    }

    /// When runs end by themselves.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.inner.limits = limits;
        self
    }

    /// What rewrites tool input and output.
    #[must_use]
    pub fn interceptors(mut self, interceptors: Interceptors) -> Self {
        self.inner.interceptors = interceptors;
        self
    }

    /// Who is asked. Without one there is no one to ask, and what needs asking is denied.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.inner.approver = approver;
        self
    }

    /// A standing part of the system prompt, from a named source.
    #[must_use]
    pub fn context(mut self, by: impl Into<String>, text: impl Into<String>) -> Self {
        let part = PromptPart { part: "context", by: by.into(), text: text.into() };
        self.inner.context.push((None, part));
        self
    }

    /// The same from a plugin: it is part of the prompt of every run for which the plugin fires.
    #[must_use]
    pub fn plugin_context(mut self, plugin: impl Into<String>, text: impl Into<String>) -> Self {
        let plugin = plugin.into();
        let by = format!("plugin {plugin}");
        let part = PromptPart { part: "context", by, text: text.into() };
        self.inner.context.push((Some(plugin), part));
        self
    }

    /// Where memory comes from.
    #[must_use]
    pub fn memory(mut self, memory: Arc<dyn Memory>) -> Self {
        self.inner.memory = Some(memory);
        self
    }

    /// Where hooks note what their own model requests cost: it is part of the cost of their run.
    #[must_use]
    pub fn hook_spending(mut self, spending: HookSpending) -> Self {
        self.inner.hook_spending = spending;
        self
    }

    /// Who sees every event of every run, besides the runs' own callers.
    #[must_use]
    pub fn observer(mut self, observer: impl Fn(&RunEvent) + Send + Sync + 'static) -> Self {
        self.inner.observer = Some(Arc::new(observer));
        self
    }

    /// Who hears of handlers that start, so that a display can name the one being waited for.
    #[must_use]
    pub fn watch_handlers(
        mut self,
        watch: impl Fn(&'static str, &str) + Send + Sync + 'static,
    ) -> Self {
        self.inner.watch = Some(Arc::new(watch));
        self
    }

    /// The agent, with `delegate` among its tools.
    ///
    /// # Errors
    /// When two tools have one name.
    pub fn build(mut self) -> Result<Agent, DuplicateTool> {
        self.inner.tools.insert(ToolKind::Delegate, delegate_spec())?;
        match self.duplicate {
            Some(duplicate) => Err(duplicate),
            None => Ok(Agent { inner: Arc::new(self.inner) }),
        }
    }
}
