//! What hooks outside the process cost, as ratios measured side by side. Prints one JSON object per line.
//!
//! `cargo run --release -p pintle-exec --example bench_exec`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    missing_docs
)]

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use pintle::{DynEvent, DynHandler, Envelope, ModelKind};
use pintle_exec::{
    CommandHook, CommandSpec, Unconfined, WebhookOptions, WebhookQueue, WebhookSpec, Worker,
    WorkerSpec,
};
use serde_json::json;

const RUNS: usize = 300;

fn event() -> DynEvent {
    let envelope = Envelope { session_id: Some("s".into()), ..Envelope::default() };
    let json = json!({
        "toolCallId": "t1", "toolName": "terminal", "toolInput": { "command": "make" }, "zone": 2
    });
    DynEvent::new("tool.pre", ModelKind::Gate, envelope, json)
}

async fn bare() {
    let status = tokio::process::Command::new("/bin/sh")
        .args(["-c", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.await.unwrap().success());
}

async fn call(handler: &impl DynHandler) {
    handler.call(event()).await.unwrap();
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Medians of two things done in turns, so that whatever else the machine does hits both.
async fn compare<A, B>(mut a: impl FnMut() -> A, mut b: impl FnMut() -> B) -> (Duration, Duration)
where
    A: Future<Output = ()>,
    B: Future<Output = ()>,
{
    let (mut times_a, mut times_b) = (Vec::new(), Vec::new());
    for run in 0..RUNS + 20 {
        let started = Instant::now();
        a().await;
        let between = Instant::now();
        b().await;
        // The first runs warm up.
        if run >= 20 {
            times_a.push(between - started);
            times_b.push(between.elapsed());
        }
    }
    (median(times_a), median(times_b))
}

fn report(row: &str, against: &str, hold: &str, (time, base): (Duration, Duration)) {
    // "≥" asks how many times cheaper it is, "≤" how many times dearer.
    let ratio = match hold.starts_with('≥') {
        true => base.as_secs_f64() / time.as_secs_f64(),
        false => time.as_secs_f64() / base.as_secs_f64(),
    };
    let line = json!({
        "row": row, "value": time.as_nanos(), "unit": "ns", "against": against, "base": base.as_nanos(),
        "ratio": ratio, "hold": hold,
    });
    println!("{line}");
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let spec = |line: &str| {
        CommandSpec::shell("/", line, Unconfined::by("this benchmark"))
            .env("PATH", "/usr/bin:/bin")
            .timeout(Duration::from_secs(60))
    };
    let hook = CommandHook::new(spec("true"));
    report("command hook", "bare sh -c true", "≤ 1.25×", compare(|| call(&hook), bare).await);

    let resident = vec![1_u8; 2 << 30];
    let measured = compare(|| call(&hook), bare).await;
    report("command hook, 2 GiB resident", "bare sh -c true, 2 GiB resident", "≤ 1.25×", measured);
    assert_eq!(std::hint::black_box(&resident)[1 << 30], 1);
    drop(resident);

    let workers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workers");
    let python = CommandSpec::argv(
        workers,
        ["python3", "-B", "no_force_push.py"],
        Unconfined::by("this benchmark"),
    );
    let worker = Worker::new(WorkerSpec::new(python.inherit(std::env::vars_os())));
    // Ten at a time: a worker is for those who ask often.
    let ten = async || {
        for _ in 0..10 {
            call(&worker).await;
        }
    };
    let (ten, one) = compare(ten, || call(&hook)).await;
    report("worker hook, ten calls in a row", "command hook", "≥ 15×", (ten / 10, one));
    worker.shutdown().await;

    // Port 9 discards, where anybody listens at all.
    let kept = tempfile::tempdir().unwrap();
    let queue = WebhookQueue::open(WebhookOptions {
        spool: Some(kept.path().into()),
        // Room for those that are measured as well.
        max_messages: 10_000,
        ..WebhookOptions::default()
    })
    .unwrap();
    let dead = queue.webhook(WebhookSpec::new("http://127.0.0.1:9/", "bench")).unwrap();
    for _ in 0..1_000 {
        call(&dead).await;
    }
    report(
        "webhook to a dead endpoint",
        "command hook",
        "≥ 15×",
        compare(|| call(&dead), || call(&hook)).await,
    );
    let stats = queue.close(Duration::ZERO).await;
    assert_eq!((stats[0].dropped, stats[0].lost), (0, 0), "all of them were queued");
}
