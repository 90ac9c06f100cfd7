//! What hooks cost a whole run, and what many conversations at once cost. Prints one JSON object per line.
//!
//! `cargo run --release -p pintle-cli --example bench_run`
//!
//! A run here is two rounds of the offline model with one tool call between them. Runs are timed one by one, with
//! hooks and without in turns, so that whatever else the machine does hits both. Memory is measured in a process of
//! its own for each number of conversations, because an allocator keeps what it once had.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    missing_docs
)]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{StreamExt, future::join_all, stream::BoxStream};
use pintle::{
    Cx, DynEvent, Envelope, Event, Failure, Hooks, ModelKind, PluginFilter, Verdict, points::*,
};
use pintle_agent::{
    Agent, AgentBuilder, Llm, LlmError, LlmEvent, LlmRequest, Message, NewMessage, NewSession,
    Personalities, Personality, Policy, RunOutcome, RunRequest, Session, Store,
    store::{JudgedBy, Summary},
    testing::MemoryStore,
};
use pintle_consumers::{Host, Recorder};
use pintle_exec::{WebhookOptions, WebhookQueue, WebhookSpec};
use pintle_llm::Offline;
use pintle_profile::{ConsumerSettings, RecordSettings};
use pintle_store::SqliteStore;
use pintle_tools::{Background, TerminalConfig, builtin};
use serde_json::{Value, json};
use tokio::sync::watch;

const AT_ONCE: [usize; 4] = [1, 10, 100, 1000];

/// Runs of each conversation.
const RUNS: usize = 2;

/// A few conversations say little about a second: at least so many are measured.
const CONVERSATIONS: usize = 60;

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match std::env::args().nth(1) {
        Some(sessions) => {
            println!("{}", runtime.block_on(kib_per_session(sessions.parse().unwrap())));
        }
        // On one of the runtime's own threads, as in a server: waking this one for each event would cost more than
        // the hooks.
        None => runtime.block_on(runtime.spawn(measure())).unwrap(),
    }
}

async fn measure() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "hooks you can rely on\n").unwrap();

    // With no disk to wait for, hooks have nothing to hide behind.
    let in_memory: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let sqlite: Arc<dyn Store> =
        Arc::new(SqliteStore::open(folder.path().join("hooks.db")).await.unwrap());
    let none = ("the same run with no hooks", Hooks::new());
    let times = side_by_side(folder.path(), all_bound(), &none.1, sqlite.clone(), 2000).await;
    print_cost("a run with all points bound, kept in SQLite", none.0, times, Some("≤ 1.05×"));
    let equipped = equipped(folder.path(), sqlite.clone());
    let bare = agent(folder.path(), Hooks::new(), Arc::new(Offline), sqlite.clone());
    let times = alternately(&equipped, &bare, 2000).await;
    let row = "a run with all consumers and records on, kept in SQLite";
    print_cost(row, "the same run with neither", times, Some("≤ 1.10×"));
    // The worst case: no disk and no model to wait for, so the hooks are all that takes time.
    let times = side_by_side(folder.path(), all_bound(), &none.1, in_memory, 6000).await;
    print_cost("a run with all points bound, kept in memory", none.0, times, None);

    let times = beside_queued_webhooks(folder.path(), sqlite.clone()).await;
    let queued = "a run while 1,000 webhooks wait for a dead endpoint";
    print_cost(queued, "the same run with none waiting", times, Some("≤ 1.01×"));

    let webhooks = "a run that tells a dead endpoint of everything, 1,000 waiting";
    // Any handler is fired; against idle ones, what is left is what a webhook costs.
    let idle = ("the same run with idle handlers there", lifecycle_bound());
    for ((against, others), hold) in [(&none, "≤ 1.05×"), (&idle, "≤ 1.02×")] {
        let kept = tempfile::tempdir().unwrap();
        let (queue, hooks) = webhooks_to_nobody(kept.path()).await;
        let times = side_by_side(folder.path(), hooks, others, sqlite.clone(), 2000).await;
        print_cost(webhooks, against, times, Some(hold));
        let stats = queue.close(Duration::ZERO).await;
        assert_eq!((stats[0].dropped, stats[0].lost, stats[0].delivered), (0, 0, 0), "{stats:?}");
    }
    // What the same measurement says of nothing at all is how much of the others to believe.
    let times = side_by_side(folder.path(), Hooks::new(), &none.1, sqlite, 2000).await;
    print_cost("a run with no hooks, kept in SQLite", none.0, times, None);

    let times = long_session(folder.path()).await;
    let long = "until a run of a session of 10,000 messages asks its model";
    print_cost(long, "a session of 10 messages", times, Some("≤ 2×"));

    let mut alone = None;
    for sessions in AT_ONCE {
        let speed = runs_per_second(folder.path(), sessions).await.round();
        let base = *alone.get_or_insert(speed);
        print_growth("runs of", sessions, speed, "runs/s", base);
    }
    let mut alone = None;
    for sessions in AT_ONCE {
        let own_process = std::process::Command::new(std::env::current_exe().unwrap())
            .arg(sessions.to_string())
            .output()
            .unwrap();
        let kib: f64 = String::from_utf8(own_process.stdout).unwrap().trim().parse().unwrap();
        let base = *alone.get_or_insert(kib);
        print_growth("memory of each of", sessions, kib, "KiB", base);
    }
}

fn print_cost(row: &str, against: &str, (bound, bare): (Duration, Duration), hold: Option<&str>) {
    let mut row = json!({
        "row": row,
        "value": bound.as_nanos(),
        "unit": "ns",
        "against": against,
        "base": bare.as_nanos(),
        "ratio": bound.as_secs_f64() / bare.as_secs_f64(),
    });
    if let Some(hold) = hold {
        row["hold"] = json!(hold);
    }
    println!("{row}");
}

fn print_growth(what: &str, sessions: usize, value: f64, unit: &str, base: f64) {
    let named = match sessions {
        1 => "1 session".to_string(),
        1000 => "1,000 sessions at once".to_string(),
        several => format!("{several} sessions at once"),
    };
    let mut row = json!({"row": format!("{what} {named}"), "value": value, "unit": unit});
    if sessions > 1 {
        row["against"] = json!("1 session");
        row["base"] = json!(base);
        row["ratio"] = json!(value / base);
    }
    println!("{row}");
}

fn agent(workspace: &Path, hooks: Hooks, llm: Arc<dyn Llm>, store: Arc<dyn Store>) -> Agent {
    builder(workspace, hooks, llm, store).build().unwrap()
}

fn builder(
    workspace: &Path,
    hooks: Hooks,
    llm: Arc<dyn Llm>,
    store: Arc<dyn Store>,
) -> AgentBuilder {
    let config = PersonalityConfig::default().prompt("You are brief.");
    let personalities = Personalities::new(Personality::new("default", config).unwrap());
    Agent::builder(hooks, llm, store, personalities, Policy::standard(workspace))
        .tools(builtin(TerminalConfig::default(), &Background::default()))
}

/// An agent with every built-in consumer, whose runs are recorded.
fn equipped(workspace: &Path, store: Arc<dyn Store>) -> Agent {
    let hooks = Hooks::new();
    let settings = ConsumerSettings::default();
    pintle_consumers::bind(
        &Host { settings: &settings, workspace, data: workspace, classifier: None },
        &hooks,
    )
    .unwrap();
    let recorder = Recorder::new(store.clone(), JudgedBy::default(), RecordSettings::default());
    let builder = builder(workspace, hooks, Arc::new(Offline), store);
    builder.observer(move |event| recorder.record(event)).build().unwrap()
}

/// A handler that does nothing on every point that a run can fire.
fn all_bound() -> Hooks {
    let hooks = Hooks::new();
    macro_rules! bind {
        ($register:ident, $answer:expr, $($Point:ident),*) => {
            $(hooks.$register(|_: Event<$Point>| async { $answer }).unwrap();)*
        };
    }
    bind!(register_void, (), SessionOpened, BeforeLlmCall, AfterLlmCall, AfterToolCall);
    bind!(register_void, (), ToolEndWithPath, AgentDone, SubagentSpawned, SubagentEnded);
    bind!(register_modifying, None, BeforePromptBuild, BeforeToolCall, PersonalitySwitched);
    bind!(register_modifying, None, SubagentSpawning);
    bind!(register_modifying, None, BeforeCompaction);
    bind!(register_gate, Verdict::allow(), RunStart, UserPromptSubmit, ModelPre, ModelPost);
    bind!(register_gate, Verdict::allow(), ToolPre, ToolPost, SessionEnd, ErrorRaised);
    hooks
}

/// One run in a new conversation, its last handlers included.
async fn timed(agent: &Agent) -> Duration {
    let started = Instant::now();
    let finished = agent.run(RunRequest::in_new_session("bench", "read notes.txt")).finish().await;
    let took = started.elapsed();
    assert_eq!(finished.outcome, RunOutcome::EndTurn, "{}", finished.text);
    took
}

/// Every lifecycle event goes to an endpoint that does not answer, and a thousand messages wait already; all of them
/// are kept on disk, as in the program.
async fn webhooks_to_nobody(folder: &Path) -> (WebhookQueue, Hooks) {
    let queue = queue_in(folder);
    let hooks = Hooks::new();
    for point in hooks.known_points().iter().filter(|point| point.model == ModelKind::Gate) {
        let webhook = queue.webhook(WebhookSpec::new("http://127.0.0.1:9/", "bench")).unwrap();
        hooks.register_dyn(point.name, ModelKind::Gate, webhook).unwrap();
    }
    let cx = Cx::new(Envelope::default(), PluginFilter::All);
    for _ in 0..1000 {
        let _ = hooks.fire_gate(&cx, || SessionEnd::default().reason("end_turn")).await;
    }
    (queue, hooks)
}

fn queue_in(folder: &Path) -> WebhookQueue {
    WebhookQueue::open(WebhookOptions {
        spool: Some(folder.into()),
        // Room for everything: what is dropped at the bound would cost less than what is queued.
        max_messages: 100_000,
        max_bytes: 1 << 30,
        ..WebhookOptions::default()
    })
    .unwrap()
}

/// The same run while a thousand messages wait, and while none does: in blocks, because what waits is there for every
/// run of the process.
async fn beside_queued_webhooks(workspace: &Path, store: Arc<dyn Store>) -> (Duration, Duration) {
    const BLOCKS: usize = 40;
    const RUNS_EACH: usize = 50;
    let kept = tempfile::tempdir().unwrap();
    let agent = agent(workspace, Hooks::new(), Arc::new(Offline), store);
    webhooks_to_nobody(kept.path()).await.0.close(Duration::ZERO).await;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for block in 0..BLOCKS {
        let queue = (block % 2 == 0).then(|| queue_in(kept.path()));
        if let Some(queue) = &queue {
            let _ = queue.webhook(WebhookSpec::new("http://127.0.0.1:9/", "bench")).unwrap();
            while queue.stats()[0].queued < 1000 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        let times = if queue.is_some() { &mut with } else { &mut without };
        for _ in 0..RUNS_EACH {
            times.push(timed(&agent).await);
        }
        if let Some(queue) = queue {
            queue.close(Duration::ZERO).await;
        }
    }
    (median(with), median(without))
}

/// Every lifecycle event goes to a handler that does nothing.
fn lifecycle_bound() -> Hooks {
    let hooks = Hooks::new();
    for point in hooks.known_points().iter().filter(|point| point.model == ModelKind::Gate) {
        let idle = |_: DynEvent| async { Ok::<_, Failure>(Value::Null) };
        hooks.register_dyn(point.name, ModelKind::Gate, idle).unwrap();
    }
    hooks
}

async fn side_by_side(
    workspace: &Path,
    hooks: Hooks,
    others: &Hooks,
    store: Arc<dyn Store>,
    rounds: usize,
) -> (Duration, Duration) {
    let bound = agent(workspace, hooks, Arc::new(Offline), store.clone());
    let bare = agent(workspace, others.clone(), Arc::new(Offline), store);
    alternately(&bound, &bare, rounds).await
}

async fn alternately(bound: &Agent, bare: &Agent, rounds: usize) -> (Duration, Duration) {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for round in 0..rounds + 50 {
        // Who goes first changes, so that neither always finds the other's warm caches.
        let (w, wo) = if round % 2 == 0 {
            let w = timed(bound).await;
            (w, timed(bare).await)
        } else {
            let wo = timed(bare).await;
            (timed(bound).await, wo)
        };
        // The first rounds warm up.
        if round >= 50 {
            with.push(w);
            without.push(wo);
        }
    }
    (median(with), median(without))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// How long a run takes until it asks its model: in a session of 10,000 messages, of which all but the newest ten are
/// summarised, and in one of ten messages.
async fn long_session(workspace: &Path) -> (Duration, Duration) {
    const ROUNDS: usize = 300;
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(workspace.join("long.db")).await.unwrap());
    let mut sessions = Vec::new();
    for count in [10_000, 10] {
        let new = NewSession { key: format!("bench:{count}"), ..NewSession::default() };
        let session = store.open(new).await.unwrap();
        let claim = store.claim(&session).await.unwrap();
        let said = |n: usize| NewMessage { run_id: "bench".into(), message: message(n) };
        store.append(&claim, (0..count).map(said).collect()).await.unwrap();
        sessions.push(session);
    }
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for place in [round % 2, 1 - round % 2] {
            let session = &sessions[place];
            keep_ten(&*store, session).await;
            let (go, wait) = watch::channel(true);
            let (arrived, mut arrivals) = watch::channel(0);
            let llm = Arc::new(Parked { arrived, wait });
            let agent = agent(workspace, Hooks::new(), llm, store.clone());
            let started = Instant::now();
            let run = agent.run(RunRequest::in_session(&session.id, "hello"));
            arrivals.wait_for(|arrived| *arrived == 1).await.unwrap();
            times[place].push(started.elapsed());
            assert_eq!(run.finish().await.outcome, RunOutcome::EndTurn);
            drop(go);
        }
    }
    let [long, short] = times;
    (median(long), median(short))
}

fn message(n: usize) -> Message {
    let text = format!("message {n}: {}", "some words ".repeat(20));
    match n % 2 {
        0 => Message::user(text),
        _ => Message::assistant(text, Vec::new()),
    }
}

/// Both sessions send their newest ten messages, however many runs they have had.
async fn keep_ten(store: &dyn Store, session: &Session) {
    let count = store.session(&session.id).await.unwrap().unwrap().message_count;
    if count > 10 {
        let claim = store.claim(session).await.unwrap();
        let summary = Summary { covers: count - 10, text: "They talked.".into() };
        store.set_summary(&claim, summary).await.unwrap();
    }
}

/// So many conversations at a time, each of a few runs, until there have been enough of them.
async fn runs_per_second(workspace: &Path, sessions: usize) -> f64 {
    let store = SqliteStore::open(workspace.join(format!("{sessions}.db"))).await.unwrap();
    let agent = agent(workspace, Hooks::new(), Arc::new(Offline), Arc::new(store));
    let next = AtomicU64::new(0);
    let conversation = || async {
        let key = format!("bench:{}", next.fetch_add(1, Ordering::Relaxed));
        for _ in 0..RUNS {
            let finished = agent.run(RunRequest::new(&key, "read notes.txt")).finish().await;
            assert_eq!(finished.outcome, RunOutcome::EndTurn, "{}", finished.text);
        }
    };
    conversation().await;
    let each = CONVERSATIONS.div_ceil(sessions);
    let one_after_another = || async {
        for _ in 0..each {
            conversation().await;
        }
    };
    let started = Instant::now();
    join_all((0..sessions).map(|_| one_after_another())).await;
    (sessions * each * RUNS) as f64 / started.elapsed().as_secs_f64()
}

/// What a conversation takes while its model is writing, with so many of them in that state.
async fn kib_per_session(sessions: usize) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("memory.db")).await.unwrap();
    let (go, wait) = watch::channel(false);
    let (arrived, mut arrivals) = watch::channel(0);
    let llm = Arc::new(Parked { arrived, wait });
    let agent = agent(folder.path(), Hooks::new(), llm, Arc::new(store));
    // Threads and caches come up with the first run, and stay.
    let first = agent.run(RunRequest::new("first", "hello"));
    arrivals.wait_for(|arrived| *arrived == 1).await.unwrap();
    let before = resident_kib();
    let runs: Vec<_> =
        (0..sessions).map(|n| agent.run(RunRequest::new(format!("bench:{n}"), "hello"))).collect();
    arrivals.wait_for(|arrived| *arrived == sessions + 1).await.unwrap();
    let after = resident_kib();
    go.send_replace(true);
    first.finish().await;
    for run in runs {
        assert_eq!(run.finish().await.outcome, RunOutcome::EndTurn);
    }
    (after - before) / sessions as f64
}

/// What the process takes of the machine's memory, as Linux tells it.
fn resident_kib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("memory is measured on Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// A model that says it was asked, and answers when it is let go.
struct Parked {
    arrived: watch::Sender<usize>,
    wait: watch::Receiver<bool>,
}

impl Llm for Parked {
    fn name(&self) -> &str {
        "parked"
    }

    fn stream(&self, request: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        self.arrived.send_modify(|arrived| *arrived += 1);
        let mut wait = self.wait.clone();
        let parked = async move { wait.wait_for(|go| *go).await.map(drop) };
        futures_util::stream::once(parked)
            .flat_map(move |_| Offline.stream(request.clone()))
            .boxed()
    }
}
