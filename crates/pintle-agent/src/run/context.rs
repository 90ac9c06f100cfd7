//! What a run knows and has done so far. It outlives the run's body, so that an ending can make good what the body
//! left open when it was dropped.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pintle::{Cx, Envelope, HandlerVerdict, PluginFilter, RecordSink, now_ms};
use tokio::sync::{OwnedMutexGuard, SetOnce};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Ending, Run, RunError, RunRequest,
    emitter::Emitter,
    ledger::{CallLedger, CallTotals},
    new_id,
};
use crate::{
    Agent, LlmUsage, Message, ToolSpec,
    agent::Inner,
    event::{RunEvent, RunEventKind, RunOutcome},
    memory::Notebook,
    personality::Personality,
    reminders::Reminders,
    store::{Begun, CallEnd, Claim, Intent, NewMessage, NoteScope, Session, StoreError},
    tool::OutsideMark,
    untrusted::ReadOutside,
};

pub(crate) struct RunContext {
    agent: Agent,
    pub(crate) request: RunRequest,
    pub(crate) run_id: String,
    trace_id: String,
    pub(crate) emitter: Arc<Emitter>,
    opened: OnceLock<OpenSession>,
    state: Mutex<RunState>,
    /// What the conversation has read from outside.
    pub(crate) outside: ReadOutside,
    /// The tool calls.
    pub(crate) calls: CallLedger,
    /// The newest envelope. Fires and events come in bursts: those of one millisecond share it.
    envelope: Mutex<Arc<Envelope>>,
    /// Held while it is this run's turn in its session.
    turn: Mutex<Option<Turn>>,
    /// Messages on their way to the store. They get there even if the run's body is dropped.
    writes: TaskTracker,
    /// Set when it is this run's turn, to what is cancelled when the run loses its claim. The time limit counts from then
    /// on.
    pub(crate) begun: SetOnce<CancellationToken>,
    /// Cancelled when the run's body is over.
    pub(crate) over: CancellationToken,
}

/// A run's turn in its session, among this agent's runs and among processes.
pub(crate) struct Turn {
    pub(crate) _among_runs: OwnedMutexGuard<()>,
    pub(crate) claim: Arc<Claim>,
}

/// What step 1 settles for the whole run.
pub(crate) struct OpenSession {
    pub(crate) session: Session,
    pub(crate) personality: Personality,
    pub(crate) plugins: PluginFilter,
    /// The parent's personalities: what they may not use, a sub-agent may not use either (R6.3).
    pub(crate) ancestors: Vec<Personality>,
}

/// What changes from turn to turn.
#[derive(Default)]
pub(crate) struct RunState {
    pub(crate) turn: u32,
    /// Model requests that were answered.
    pub(crate) rounds: u32,
    pub(crate) usage: LlmUsage,
    /// Tokens that the provider counted for each one that was estimated.
    pub(crate) token_ratio: Option<f64>,
    /// A request was answered whose cost is unknown.
    pub(crate) unpriced: bool,
    pub(crate) reminders: Reminders,
    /// The questions a person is being asked.
    pub(crate) open_approvals: Vec<String>,
    /// Sub-agents under way.
    pub(crate) children: Vec<SubAgent>,
}

/// A sub-agent under way.
pub(crate) struct SubAgent {
    pub(crate) session_id: String,
    /// The call that started it.
    pub(crate) tool_call_id: String,
    pub(crate) run: Run,
}

/// What a sub-agent inherits.
#[derive(Clone)]
pub(crate) struct Lineage {
    pub(crate) parent_session: String,
    pub(crate) trace_id: String,
    /// What its ancestors had spent when it began: the limit is for all of them together.
    pub(crate) spent_usd: f64,
    pub(crate) plugins: PluginFilter,
    pub(crate) ancestors: Vec<Personality>,
    pub(crate) emitter: Arc<Emitter>,
    pub(crate) outside: ReadOutside,
}

impl RunContext {
    pub(crate) fn new(agent: Agent, request: RunRequest, run_id: String, emitter: Emitter) -> Self {
        let trace_id =
            request.lineage.as_ref().map_or_else(new_id, |lineage| lineage.trace_id.clone());
        let outside =
            request.lineage.as_ref().map(|lineage| lineage.outside.clone()).unwrap_or_default();
        Self {
            agent,
            request,
            outside,
            run_id,
            trace_id,
            emitter: Arc::new(emitter),
            opened: OnceLock::new(),
            state: Mutex::default(),
            calls: CallLedger::default(),
            envelope: Mutex::default(),
            turn: Mutex::default(),
            writes: TaskTracker::new(),
            begun: SetOnce::new(),
            over: CancellationToken::new(),
        }
    }

    pub(crate) fn agent(&self) -> &Inner {
        &self.agent.inner
    }

    pub(crate) fn handle(&self) -> &Agent {
        &self.agent
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn open(&self, opened: OpenSession) {
        let _ = self.opened.set(opened);
    }

    /// `None` only before step 1 is done.
    pub(crate) fn opened(&self) -> Option<&OpenSession> {
        self.opened.get()
    }

    /// The session's id; empty only before step 1 is done.
    pub(crate) fn session_id(&self) -> String {
        self.opened().map(|opened| opened.session.id.clone()).unwrap_or_default()
    }

    pub(crate) fn take_turn(&self, turn: Turn) {
        let lost = turn.claim.lost().clone();
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = Some(turn);
        let _ = self.begun.set(lost);
    }

    /// What every write of the run takes. `None` before it is the run's turn, and after.
    pub(crate) fn claim(&self) -> Option<Arc<Claim>> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        turn.as_ref().map(|turn| turn.claim.clone())
    }

    /// What a write came to. A run that has lost its claim stops, with everything it started.
    pub(crate) fn written_under_claim<T>(
        &self,
        written: Result<T, StoreError>,
    ) -> Result<T, RunError> {
        if let (Err(StoreError::ClaimLost { .. }), Some(claim)) = (&written, self.claim()) {
            claim.lost().cancel();
        }
        Ok(written?)
    }

    pub(crate) fn end_turn(&self) {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Stores a message. Once begun it is carried out, and [`RunContext::written`] waits for it, even if the run's body is
    /// dropped meanwhile: what the ending reads is then all there is.
    pub(crate) async fn append(&self, run_id: &str, message: Message) -> Result<(), RunError> {
        let Some(claim) = self.claim() else { return Ok(()) };
        let store = self.agent().store.clone();
        let message = NewMessage { run_id: run_id.to_string(), message };
        let write = self.writes.spawn(async move { store.append(&claim, vec![message]).await });
        match write.await {
            Ok(written) => self.written_under_claim(written),
            Err(lost) => Err(RunError::new("store", format!("a message was not stored: {lost}"))),
        }
    }

    /// Writes down that a call is about to start. A tool whose intent is not stored does not start (R11.6).
    pub(crate) async fn begin_call(&self, intent: Intent) -> Result<Begun, RunError> {
        let claim =
            self.claim().ok_or_else(|| RunError::new("store", "the session is not open"))?;
        self.written_under_claim(self.agent().store.begin_call(&claim, intent).await)
    }

    /// Writes down what became of it.
    pub(crate) async fn end_call(&self, intent_id: &str, end: CallEnd) -> Result<(), RunError> {
        let Some(claim) = self.claim() else { return Ok(()) };
        self.written_under_claim(self.agent().store.end_call(&claim, intent_id, end).await)
    }

    /// Waits for the messages on their way to the store.
    pub(crate) async fn written(&self) {
        self.writes.close();
        self.writes.wait().await;
        self.writes.reopen();
    }

    pub(crate) fn depth(&self) -> u32 {
        let ancestors = self.opened().map_or(0, |opened| opened.ancestors.len());
        u32::try_from(ancestors).unwrap_or(u32::MAX)
    }

    fn spent_usd(&self) -> f64 {
        let inherited = self.request.lineage.as_ref().map_or(0.0, |lineage| lineage.spent_usd);
        inherited + self.state().usage.cost_usd.unwrap_or_default()
    }

    pub(crate) fn lineage_for_child(&self) -> Option<Lineage> {
        let opened = self.opened()?;
        let mut ancestors = opened.ancestors.clone();
        ancestors.push(opened.personality.clone());
        Some(Lineage {
            parent_session: opened.session.id.clone(),
            trace_id: self.trace_id.clone(),
            spent_usd: self.spent_usd(),
            plugins: opened.plugins.clone(),
            ancestors,
            emitter: self.emitter.clone(),
            outside: self.outside.clone(),
        })
    }

    /// Where and when it is now.
    pub(crate) fn envelope(&self) -> Arc<Envelope> {
        let (turn, ts) = (self.state().turn, now_ms());
        let is_open = self.opened().is_some();
        let mut newest = self.envelope.lock().unwrap_or_else(PoisonError::into_inner);
        let still_true = newest.ts == ts
            && newest.turn_index == Some(turn)
            && newest.session_id.is_some() == is_open;
        if !still_true {
            *newest = Arc::new(self.envelope_at(turn, ts));
        }
        newest.clone()
    }

    fn envelope_at(&self, turn: u32, ts: u64) -> Envelope {
        let opened = self.opened();
        let lineage = self.request.lineage.as_ref();
        Envelope {
            session_id: opened.map(|opened| opened.session.id.clone()),
            session_key: opened.map(|opened| opened.session.key.clone()),
            run_id: Some(self.run_id.clone()),
            turn_index: Some(turn),
            personality_id: opened.map(|opened| opened.personality.id.clone()),
            platform: self.request.platform.clone(),
            parent_session_id: match lineage {
                Some(lineage) => Some(lineage.parent_session.clone()),
                None => opened.and_then(|opened| opened.session.parent.clone()),
            },
            trace_id: self.trace_id.clone(),
            ts,
        }
    }

    /// The context of a fire: the run's envelope, the personality's plugins, and the run's events as a witness.
    pub(crate) fn hook_cx(&self) -> Cx {
        self.cx_observed_by(self.emitter.clone())
    }

    /// The context of a fire about a call: its events name the call.
    pub(crate) fn call_cx(&self, tool_call_id: &str) -> Cx {
        let (emitter, tool_call_id) = (self.emitter.clone(), tool_call_id.to_string());
        self.cx_observed_by(Arc::new(move |record| emitter.fired(record, Some(&tool_call_id))))
    }

    fn cx_observed_by(&self, witness: Arc<dyn RecordSink>) -> Cx {
        let plugins =
            self.opened().map_or(PluginFilter::BuiltinsOnly, |opened| opened.plugins.clone());
        let cx = Cx::new(self.envelope(), plugins).observed_by(witness);
        match &self.agent().watch {
            Some(watch) => cx.on_handler_start(watch.clone()),
            None => cx,
        }
    }

    pub(crate) fn emit(&self, kind: RunEventKind) {
        self.emitter.emit(RunEvent { kind, envelope: self.envelope() });
    }

    /// Emits an event for each block of a gate, and keeps what handlers said for the model.
    pub(crate) fn apply_verdicts(
        &self,
        point: &'static str,
        verdicts: &[HandlerVerdict],
        tool_call_id: Option<&str>,
    ) {
        for block in verdicts.iter().filter(|said| said.is_block()) {
            self.emit(RunEventKind::HookBlocked {
                point,
                handler: block.handler.to_string(),
                reason: block.reason.clone(),
                tool_call_id: tool_call_id.map(str::to_string),
            });
        }
        self.state().reminders.take_in(point, verdicts);
    }

    /// The notes of this run's personality. What is written is marked when the conversation has read text from outside.
    pub(crate) fn notebook(&self, opened: &OpenSession, outside: &OutsideMark) -> Notebook {
        let scope = NoteScope {
            personality: opened.personality.id.clone(),
            workspace: self.agent().policy.workspace.display().to_string(),
        };
        let untrusted = self.outside.so_far().is_some();
        Notebook::new(self.agent().store.clone(), scope, untrusted).marking(outside)
    }

    /// How many tokens a request may have, where that is known.
    pub(crate) fn window(&self) -> Option<u64> {
        let (said, known) = (self.agent().limits.context_tokens, self.agent().llm.context_tokens());
        said.into_iter().chain(known).min()
    }

    /// An estimate of tokens, set right by what the provider has counted in this run.
    pub(crate) fn calibrated(&self, estimate: u64) -> u64 {
        (estimate as f64 * self.state().token_ratio.unwrap_or(1.0)) as u64
    }

    /// The tools that the model may ask for.
    pub(crate) fn offered_tools(&self) -> impl Iterator<Item = &ToolSpec> {
        let offered = |tool: &&ToolSpec| {
            self.agent().policy.offers(&tool.name)
                && self.opened().is_some_and(|opened| {
                    opened.personality.may_use(tool)
                        && opened.ancestors.iter().all(|ancestor| ancestor.may_use(tool))
                })
        };
        self.agent().tools.iter().map(|known| &known.spec).filter(offered)
    }

    pub(crate) fn next_turn(&self) {
        self.state().turn += 1;
    }

    /// Takes up what hooks spent on models of their own since the last model request.
    fn count_hook_spending(&self) {
        let Some(usage) = self.agent().hook_spending.take(&self.run_id) else { return };
        {
            let mut state = self.state();
            state.unpriced |= usage.cost_usd.is_none();
            state.usage += usage;
        }
        self.emit(RunEventKind::Usage { usage, duration_ms: 0 });
    }

    pub(crate) fn limit_reached(&self) -> Option<Ending> {
        self.count_hook_spending();
        let limits = &self.agent().limits;
        if self.state().turn >= limits.max_turns {
            let text = format!(
                "The run was stopped: it took {} model rounds, which is its limit.",
                limits.max_turns
            );
            return Some(Ending::new(RunOutcome::MaxTurns, text));
        }
        let (cost, limit) = (self.spent_usd(), limits.max_cost_usd?);
        if cost >= limit {
            let text =
                format!("The run was stopped: it cost ${cost:.4}, and its limit is ${limit:.4}.");
            return Some(Ending::new(RunOutcome::BudgetExceeded, text));
        }
        // A limit that cannot be held is a gate that fails open. Who set it wants to be told, not billed: what was paid
        // for is kept, and nothing more is.
        if self.state().unpriced {
            let model = self.agent().llm.name();
            let text = format!(
                "The run was stopped: it may cost ${limit:.4} at most, and what `{model}` costs is not known. Use a \
                 model whose price is known, or take the limit away (limits on rounds and time hold for every model)."
            );
            return Some(RunError::new("cost_unknown", text).into());
        }
        None
    }

    /// Why the calls so far end the run, if they do.
    pub(crate) fn stopped_by_calls(&self) -> Option<Ending> {
        let limits = &self.agent().limits;
        if let Some(exceeded) = self.calls.exceeded() {
            return Some(exceeded.ending(limits));
        }
        let CallTotals { denials_in_a_row, last_denial, slips_in_a_row, last_slip, .. } =
            self.calls.totals();
        if denials_in_a_row >= limits.max_denials {
            let text = format!(
                "The run was stopped: {denials_in_a_row} tool calls in a row were denied. The last reason: {last_denial}"
            );
            return Some(Ending::new(RunOutcome::Refusal, text));
        }
        (slips_in_a_row >= limits.max_slips).then(|| {
            let text = format!(
                "The run was stopped: {slips_in_a_row} tool calls in a row could not be understood. The last mistake: {last_slip}"
            );
            RunError::new("invalid_calls", text).into()
        })
    }
}
