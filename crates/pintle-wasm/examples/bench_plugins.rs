//! What a handler of each kind of plugin costs, side by side. Prints one JSON object per line.
//!
//! `cargo run --release -p pintle-wasm --example bench_plugins`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    dead_code,
    missing_docs
)]

#[path = "../tests/wasm/guest.rs"]
mod guest;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use pintle::{
    Cx, DynHandler, Envelope, Event, Hooks, PluginFilter,
    points::{BeforePromptBuild, PersonalityConfig, PromptPatch},
};
use pintle_agent::{
    Agent, Personalities, Personality, Policy, RunRequest,
    testing::{Answer, MemoryStore, llm_fn},
};
use pintle_exec::{CommandHook, CommandSpec, Unconfined};
use pintle_plugins::{Entry, Grants, GuestPlugin, Kind, Manifest, Plugins, process_plugin};
use pintle_wasm::{Limits, WasmHost};
use serde_json::json;

const RUNS: usize = 300;
const PATCH: &str = r#"{"appendSystem":"Be brief."}"#;

fn manifest(id: &str, kind: Kind, entry: Option<Entry>) -> Manifest {
    let mut manifest = Manifest::native(id, "1").point("before_prompt_build");
    (manifest.kind, manifest.entry) = (kind, entry);
    manifest.capability("amend:prompt").unwrap()
}

async fn fire(hooks: &Hooks, plugins: &PluginFilter) {
    let cx = Cx::new(Envelope::default(), plugins.clone());
    let payload = || BeforePromptBuild::default().system("You are here.");
    let merged = hooks.fire_modifying(&cx, payload).await.unwrap();
    assert_eq!(merged.append_system.as_deref(), Some("Be brief."));
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Medians of two things done in turns, each many times in a row.
async fn compare(
    times: u32,
    mut a: impl AsyncFnMut(),
    mut b: impl AsyncFnMut(),
) -> (Duration, Duration) {
    let (mut times_a, mut times_b) = (Vec::new(), Vec::new());
    for run in 0..RUNS + 20 {
        let started = Instant::now();
        for _ in 0..times {
            a().await;
        }
        let between = Instant::now();
        b().await;
        if run >= 20 {
            times_a.push((between - started) / times);
            times_b.push(between.elapsed());
        }
    }
    (median(times_a), median(times_b))
}

fn report(row: &str, against: &str, hold: &str, (time, base): (Duration, Duration)) {
    let (time, base) = (time.as_secs_f64() * 1e6, base.as_secs_f64() * 1e6);
    let ratio = if hold.starts_with('≥') { base / time } else { time / base };
    let line = json!({
        "row": row, "value": time, "unit": "µs", "against": against, "base": base, "ratio": ratio, "hold": hold,
    });
    println!("{line}");
}

/// A registry with one plugin.
async fn with(plugin: GuestPlugin) -> (Hooks, Plugins) {
    let hooks = Hooks::new();
    let plugins = Plugins::new(hooks.clone());
    plugins.load(Arc::new(plugin), &Grants::All).await.unwrap();
    (hooks, plugins)
}

fn in_process() -> Hooks {
    let hooks = Hooks::new();
    let says =
        |_: Event<BeforePromptBuild>| Some(PromptPatch::default().append_system("Be brief."));
    hooks.register_modifying(says).unwrap();
    hooks
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let all = PluginFilter::All;
    let native = in_process();
    let host = WasmHost::new(Limits::default(), None, |_, _| {}).unwrap();
    let bytes = guest::handling(&[PATCH], &guest::says("ok", 1, PATCH));
    let of_wasm = |id: &str| manifest(id, Kind::Wasm, Some(Entry::File("guest.wasm".into())));
    let wasm = || host.plugin(of_wasm("p"), &bytes, &Grants::All).unwrap();
    let (pooled, _wasm) = with(wasm()).await;
    let measured =
        compare(1, async || fire(&pooled, &all).await, async || fire(&native, &all).await);
    report(
        "WASM plugin, an instance from the pool",
        "a handler in the process",
        "≤ 30 µs",
        measured.await,
    );

    let workers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workers");
    let source = "from pintle_worker import Plugin\np = Plugin()\np.on('before_prompt_build')(lambda e: {'appendSystem': 'Be brief.'})\np.serve()\n";
    let argv = ["python3", "-B", "-c", source].map(String::from).to_vec();
    let spec = CommandSpec::argv(workers, ["true"], Unconfined::by("this benchmark"))
        .inherit(std::env::vars_os());
    let (hooks, process) =
        with(process_plugin(manifest("p", Kind::Process, Some(Entry::Argv(argv))), spec)).await;
    let command = CommandHook::new(
        CommandSpec::shell("/", "true", Unconfined::by("this benchmark"))
            .env("PATH", "/usr/bin:/bin"),
    );
    let run = async || {
        let (kind, json) = (pintle::ModelKind::Void, json!({ "resumed": false }));
        let event = pintle::DynEvent::new("session_start", kind, pintle::Envelope::default(), json);
        command.call(event).await.unwrap();
    };
    let measured = compare(10, async || fire(&hooks, &all).await, run).await;
    report("process plugin, ten calls in a row", "command hook", "≥ 15×", measured);
    let measured =
        compare(1, async || fire(&pooled, &all).await, async || fire(&hooks, &all).await).await;
    report("WASM plugin, an instance from the pool", "process plugin", "≥ 3×", measured);
    process.shutdown().await;

    let (crowded, alone) = (in_process(), in_process());
    let plugins = Plugins::new(crowded.clone());
    for number in 0..100 {
        let id = format!("p{number}");
        let plugin = host.plugin(of_wasm(&id), &bytes, &Grants::All).unwrap();
        plugins.load(Arc::new(plugin), &Grants::All).await.unwrap();
    }
    let others = PluginFilter::only(["another"]);
    let many = async |hooks: &Hooks| {
        for _ in 0..1_000 {
            fire(hooks, &others).await;
        }
    };
    let measured = compare(1, async || many(&crowded).await, async || many(&alone).await).await;
    report(
        "1,000 fires beside 100 plugins of other personalities",
        "the same without them",
        "≤ 1.05×",
        measured,
    );
    let (crowded, alone) = (agent(crowded), agent(alone));
    let measured = compare(1, async || idle_run(&crowded).await, async || idle_run(&alone).await);
    report(
        "an idle run beside 100 plugins of other personalities",
        "the same without them",
        "≤ 1.05×",
        measured.await,
    );
}

/// An agent whose personality has none of the plugins, and whose model answers at once.
fn agent(hooks: Hooks) -> Agent {
    let config = PersonalityConfig::default().prompt("You help.").plugins(vec!["another".into()]);
    let personality = Personality::new("main", config).unwrap();
    let llm = llm_fn(|_| Answer::text("Done."));
    let policy = Policy::standard(std::env::temp_dir());
    let store = Arc::new(MemoryStore::default());
    Agent::builder(hooks, llm, store, Personalities::new(personality), policy).build().unwrap()
}

/// A run in a new session, to its end.
async fn idle_run(agent: &Agent) {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let key = format!("run {}", RUNS.fetch_add(1, Ordering::Relaxed));
    let mut run = agent.run(RunRequest::new(key, "hello"));
    while run.next().await.is_some() {}
}
