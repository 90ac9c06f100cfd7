//! Workers that say more than they are asked: floods, answers nobody waits for, and words of the programs they run.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use pintle::FailureKind::{BadOutput, Errored, TimedOut, TooMuchOutput};
use pintle_exec::{Worker, WorkerSpec};
use serde_json::json;

use crate::{
    support::{Profile, SLACK},
    worker_failures::fails_only_its_request,
    worker_service::LIBRARIES,
};

#[tokio::test]
async fn a_flood_is_cut_short_and_the_next_request_starts_it_anew() {
    fails_only_its_request("flood", TooMuchOutput, 2).await;
    fails_only_its_request("noise", BadOutput, 2).await;
    fails_only_its_request("ready flood", BadOutput, 2).await; // being ready is news only once
    fails_only_its_request("id flood", BadOutput, 2).await;
    fails_only_its_request("blank flood", TooMuchOutput, 2).await;
    fails_only_its_request("stderr flood", TooMuchOutput, 2).await;
}

#[tokio::test]
async fn a_worker_that_answers_and_floods_stderr_is_ended_too() {
    let profile = Profile::new();
    let worker = profile.odd_worker(&[]);
    let answer = profile.ask(&worker, json!({ "do": "answer and flood stderr" })).await.unwrap();
    let process = format!("/proc/{}", answer["output"].as_str().unwrap());
    let deadline = Instant::now() + SLACK;
    while Path::new(&process).exists() {
        assert!(Instant::now() < deadline, "it floods on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    profile.ask(&worker, json!({})).await.unwrap();
    assert_eq!(profile.starts(), 2);
}

#[tokio::test]
async fn a_worker_that_floods_whenever_it_is_started_is_left_alone_for_a_while() {
    let profile = Profile::new();
    let line = "printf x >> starts; exec yes '{\"ready\": true}'";
    let mut spec = WorkerSpec::new(profile.shell(line));
    spec.first_backoff = Duration::from_secs(3600);
    spec.longest_backoff = Duration::from_secs(3600);
    let worker = Worker::new(spec);
    for _ in 0..4 {
        let started = Instant::now();
        profile.ask(&worker, json!({})).await.unwrap_err();
        assert!(started.elapsed() < SLACK, "it was noticed only at the deadline");
    }
    assert_eq!(profile.starts(), 2); // R8.7
    profile.nobody_left().await;
}

#[tokio::test]
async fn a_second_answer_to_the_same_request_harms_nobody() {
    let profile = Profile::new();
    let worker = profile.odd_worker(&[]);
    for trick in ["answer twice", "", "answer twice", "answer twice", ""] {
        profile.ask(&worker, json!({ "do": trick })).await.unwrap(); // R8.7
    }
    // This one's second answer comes while the next is under way.
    profile.ask(&worker, json!({ "do": "answer twice later" })).await.unwrap();
    profile.ask(&worker, json!({})).await.unwrap();
    // It is not forgotten: whoever looks for the reason of its end finds it.
    let failure = profile.ask(&worker, json!({ "do": "die" })).await.unwrap_err();
    assert!(failure.message.contains("answered a request twice"), "{failure:?}");
    assert_eq!(profile.starts(), 1);
}

#[tokio::test]
async fn an_answer_to_an_id_that_nobody_asked_answers_nothing() {
    let profile = Profile::new();
    // Every number a guesser would try, then the true answer to what was asked.
    let text = "#!/bin/sh\n\
                while read -r line; do\n\
                for n in 0 1 2 3 4 5 6 7 8 9; do\n\
                echo '{\"id\": '$n', \"result\": {\"continue\": true}}'\n\
                done\n\
                id=${line#*:}; id=${id%%,*}\n\
                echo '{\"id\": '$id', \"result\": {\"continue\": false, \"reason\": \"'$id'\"}}'\n\
                done\n";
    profile.script("guesser", text);
    let worker = Worker::new(WorkerSpec::new(profile.argv(["./guesser"])));
    let mut ids = Vec::new();
    for _ in 0..3 {
        let judged = profile.judge_with(worker.clone()).await;
        assert!(!judged.tool_ran, "{judged:?}");
        ids.push(judged.reason().to_string());
    }
    ids.dedup();
    assert_eq!(ids.len(), 3, "{ids:?}");
    assert!(ids.iter().any(|id| id.len() > 12), "{ids:?}");
}

#[tokio::test]
async fn whoever_waits_in_vain_for_an_answer_with_the_wrong_id_is_told_of_it() {
    let profile = Profile::new();
    let mut spec = profile.odd_spec(&[]);
    spec.process.timeout = Duration::from_secs(6);
    let worker = Worker::new(spec);
    let failure = profile.ask(&worker, json!({ "do": "wrong id" })).await.unwrap_err();
    assert_eq!(failure.kind, TimedOut);
    assert!(failure.message.contains("an id that was not requested"), "{failure:?}");
}

fn copy(profile: &Profile, library: &str) {
    fs::copy(Path::new(LIBRARIES).join(library), profile.path().join(library)).unwrap();
}

/// A worker written with one of the libraries, whose guard runs a program that reads all its input, prints this file
/// and more, and then blocks.
fn with_a_program(profile: &Profile, library: &str, hook: &str) -> Worker {
    copy(profile, library);
    fs::write(
        profile.path().join("victim"),
        "{\"id\":1,\"result\":{\"continue\":true}}\nnot JSON\n",
    )
    .unwrap();
    profile.script("hook", hook);
    Worker::new(WorkerSpec::new(profile.argv(["./hook"])))
}

async fn its_own_verdict_counts(profile: &Profile, worker: Worker) {
    for _ in 0..3 {
        let judged = profile.judge_with(worker.clone()).await;
        assert!(!judged.tool_ran);
        assert_eq!((judged.reason(), judged.kind()), ("0 bytes for it", None));
    }
    let failure = profile.ask(&worker, json!({ "exit": true })).await.unwrap_err();
    assert_eq!(failure.kind, Errored, "{failure:?}");
    worker.shutdown().await;
    profile.nobody_left().await;
}

#[tokio::test]
async fn a_program_that_a_python_worker_runs_can_neither_answer_nor_eat_requests() {
    for threads in [1, 4] {
        let profile = Profile::new();
        let hook = format!(
            "#!/usr/bin/env python3\n\
             import subprocess, sys\n\
             from pintle_worker import block, serve\n\
             print('before serve', flush=True)\n\
             def guard(event, context):\n    \
             if context['toolInput'].get('exit'): sys.exit(0)\n    \
             subprocess.run(['cat', 'victim'])\n    \
             eaten = subprocess.run(['wc', '-c'], stdout=subprocess.PIPE, text=True).stdout\n    \
             return block(eaten.strip() + ' bytes for it')\n\
             serve(guard, threads={threads})\n"
        );
        let worker = with_a_program(&profile, "pintle_worker.py", &hook);
        its_own_verdict_counts(&profile, worker).await;
    }
}

#[tokio::test]
async fn a_program_that_a_node_worker_runs_can_neither_answer_nor_eat_requests() {
    let profile = Profile::new();
    let hook = "#!/usr/bin/env node\n\
        import('./pintle-worker.mjs').then(async ({ block, serve }) => {\n\
        const { spawnSync } = await import('node:child_process');\n\
        process.stdout.write('before serve\\n');\n\
        serve(async (event, context) => {\n\
        if (context.toolInput.exit) throw undefined;\n\
        console.dir({ a: 1 }); console.table([1]);\n\
        spawnSync('cat', ['victim'], { stdio: 'inherit' });\n\
        const eaten = spawnSync('wc', ['-c'], { stdio: ['inherit', 'pipe', 'inherit'] }).stdout;\n\
        return block(`${String(eaten).trim()} bytes for it`);\n\
        });\n\
        });\n";
    let worker = with_a_program(&profile, "pintle-worker.mjs", hook);
    its_own_verdict_counts(&profile, worker).await;
}

#[tokio::test]
async fn a_command_hook_that_borrows_from_a_library_is_heard() {
    let python = "#!/usr/bin/env python3\n\
        import json\n\
        from pintle_worker import block\n\
        print(json.dumps(block('no')))\n";
    let node = "#!/usr/bin/env node\n\
        import('./pintle-worker.mjs').then(({ block }) => console.log(JSON.stringify(block('no'))));\n";
    for (library, hook) in [("pintle_worker.py", python), ("pintle-worker.mjs", node)] {
        let profile = Profile::new();
        copy(&profile, library);
        profile.script("hook", hook);
        let judged = profile.judge(profile.argv(["./hook"])).await;
        assert!(!judged.tool_ran, "{library}: {judged:?}");
        assert_eq!((judged.reason(), judged.kind()), ("no", None), "{library}");
    }
}
