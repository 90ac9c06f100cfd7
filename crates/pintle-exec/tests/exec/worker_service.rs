//! Workers that do what they are asked.

use std::{fs, path::Path, time::Duration};

use futures_util::future::join_all;
use pintle::{FailureKind, Hooks, ModelKind};
use pintle_exec::{Worker, WorkerSpec};
use serde_json::{Value, json};

use crate::support::{Profile, cx, tool_call};

pub(crate) const LIBRARIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workers");

/// A worker of the sample files, copied into a profile as a user would.
fn sample(profile: &Profile, file: &str) -> Worker {
    let hooks = profile.path().join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    for entry in fs::read_dir(LIBRARIES).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, hooks.join(path.file_name().unwrap())).unwrap();
    }
    Worker::new(WorkerSpec::new(profile.argv([&format!("hooks/{file}")])))
}

async fn gate(hooks: &Hooks, command: &str) -> Option<String> {
    let call = || tool_call().tool_input(json!({ "command": command }));
    hooks.fire_gate(&cx(), call).await.blocked().map(|block| block.reason.clone())
}

async fn no_force_push(file: &str) {
    let profile = Profile::new();
    let worker = sample(&profile, file);
    let hooks = Hooks::new();
    hooks
        .named("no-force-push")
        .deadline(worker.deadline())
        .register_dyn("tool.pre", ModelKind::Gate, worker.clone())
        .unwrap();
    for forced in [
        "git push -f origin main",
        "git push -f origin HEAD:main",
        "git push --force-with-lease origin HEAD:refs/heads/main",
        "git push origin +main",
        "git push -uf origin 'HEAD:main'; ls",
        "cd sub && git -c a=b push origin main --force",
    ] {
        let reason = gate(&hooks, forced).await;
        let expected = "force-pushing main rewrites what others build on";
        assert_eq!(reason.as_deref(), Some(expected), "{forced}");
    }
    for fine in ["git push origin main", "git push -f origin fix/main-menu", "ls -f main", "ls «ü»"]
    {
        assert_eq!(gate(&hooks, fine).await, None, "{fine}");
    }
    worker.shutdown().await;
    profile.nobody_left().await;
}

#[tokio::test]
async fn the_python_sample_guards_with_a_function_and_nothing_else() {
    no_force_push("no_force_push.py").await;
}

#[tokio::test]
async fn the_node_sample_guards_with_a_function_and_nothing_else() {
    no_force_push("no-force-push.mjs").await;
}

async fn python(profile: &Profile, text: &str) -> Worker {
    fs::copy(
        Path::new(LIBRARIES).join("pintle_worker.py"),
        profile.path().join("pintle_worker.py"),
    )
    .unwrap();
    profile.script("hook.py", text);
    Worker::new(WorkerSpec::new(profile.argv(["python3", "hook.py"])))
}

#[tokio::test]
async fn in_the_python_library_printing_is_safe_and_an_exception_is_one_requests_error() {
    let profile = Profile::new();
    let text = "from pintle_worker import allow, serve\n\
                def guard(event, context):\n    print('debugging')\n    \
                if context['toolInput'].get('bad'):\n        raise ValueError('bad input')\n    \
                return allow(output=event)\n\
                serve(guard)\n";
    let worker = python(&profile, text).await;
    let failure = profile.ask(&worker, json!({ "bad": true })).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Errored);
    assert_eq!(failure.message, "ValueError: bad input");
    let answer = profile.ask(&worker, json!({})).await.unwrap();
    assert_eq!(answer, json!({ "continue": true, "output": "tool.pre" }));
}

// R8.7
#[tokio::test]
async fn in_the_libraries_whatever_is_thrown_and_half_a_letter_are_one_requests_trouble() {
    let profile = Profile::new();
    let text = "from pintle_worker import allow, block, serve\n\
                class Wordless(Exception):\n    def __str__(self): raise ValueError\n\
                def guard(event, context):\n    case = context['toolInput'].get('case')\n    \
                if case == 'half': return block('caf\\udce9')\n    \
                if case == 'wordless': raise Wordless\n    \
                if case == 'long': raise ValueError('x' * 100_000)\n    \
                return allow()\n\
                serve(guard)\n";
    let python = python(&profile, text).await;
    let library = "pintle-worker.mjs";
    fs::copy(Path::new(LIBRARIES).join(library), profile.path().join(library)).unwrap();
    let text = "import { allow, block, serve } from './pintle-worker.mjs';\n\
                serve((event, { toolInput: { case: what } }) => {\n\
                if (what === 'half') return block('caf\\udce9');\n\
                if (what === 'wordless') throw Object.create(null);\n\
                if (what === 'long') throw 'x'.repeat(100_000);\n\
                if (what === 'undefined') return { continue: undefined };\n\
                return allow(); });\n";
    profile.script("hook.mjs", text);
    let node = Worker::new(WorkerSpec::new(profile.argv(["node", "hook.mjs"])));
    for (worker, cases) in [
        (&python, ["wordless", "long"].as_slice()),
        (&node, ["wordless", "long", "undefined"].as_slice()),
    ] {
        let answer = profile.ask(worker, json!({ "case": "half" })).await.unwrap();
        assert_eq!(answer["continue"], false);
        assert!(answer["reason"].as_str().unwrap().starts_with("caf"), "{answer}");
        for case in cases {
            let failure = profile.ask(worker, json!({ "case": case })).await.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Errored, "{case}: {failure}");
        }
        let answer = profile.ask(worker, json!({})).await.unwrap();
        assert_eq!(answer, json!({ "continue": true }));
    }
}

#[tokio::test]
async fn a_worker_that_says_it_can_serves_concurrently() {
    let profile = Profile::new();
    // Nobody passes the barrier before all four are there.
    let text = "import threading\nfrom pintle_worker import allow, serve\n\
                barrier = threading.Barrier(4)\n\
                def guard(event, context):\n    barrier.wait()\n    \
                return allow(output=context['toolInput']['who'])\n\
                serve(guard, threads=4)\n";
    let worker = python(&profile, text).await;
    let names = ["a", "b", "c", "d"];
    let answers = join_all(names.map(|who| profile.ask(&worker, json!({ "who": who })))).await;
    for (who, answer) in names.into_iter().zip(answers) {
        assert_eq!(answer.unwrap()["output"], who); // R8.7
    }
}

#[tokio::test]
async fn a_worker_that_does_not_say_so_gets_one_request_at_a_time() {
    let profile = Profile::new();
    let worker = profile.odd_worker(&[]);
    let answers = join_all((0..8).map(|_| profile.ask(&worker, json!({ "do": "alone?" })))).await;
    for answer in answers {
        assert_eq!(answer.unwrap()["output"], "alone"); // R8.7
    }
    assert_eq!(profile.starts(), 1);
}

#[tokio::test]
async fn a_worker_is_started_on_first_use_and_serves_from_then_on() {
    let profile = Profile::new();
    let worker = profile.odd_worker(&[]);
    assert_eq!((profile.starts(), profile.alive()), (0, 0)); // R8.7
    let first = profile.ask(&worker, json!({})).await.unwrap();
    for _ in 0..20 {
        assert_eq!(profile.ask(&worker, json!({})).await.unwrap(), first);
    }
    assert_eq!(profile.starts(), 1);
}

#[tokio::test]
async fn a_shut_down_worker_leaves_nothing_behind_and_answers_no_more() {
    let profile = Profile::new();
    let worker = profile.odd_worker(&[]);
    profile.ask(&worker, json!({ "do": "daemon" })).await.unwrap();
    profile.ask(&worker, json!({ "do": "wiped daemon" })).await.unwrap();
    assert!(profile.alive() >= 2);
    worker.shutdown().await;
    assert_eq!(profile.alive(), 0);
    profile.gone("daemon").await;
    let failure = profile.ask(&worker, json!({})).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Gone);
    worker.shutdown().await;
}

#[tokio::test]
async fn a_busy_worker_can_be_shut_down_and_whoever_waits_is_told() {
    let profile = Profile::new();
    let worker = profile.odd_worker(&[]);
    profile.ask(&worker, json!({})).await.unwrap();
    let waiting = profile.ask(&worker, json!({ "do": "silence" }));
    let shutdown = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        worker.shutdown().await;
    };
    let (waiting, ()) = tokio::join!(waiting, shutdown);
    assert_eq!(waiting.unwrap_err().kind, FailureKind::Gone);
    profile.nobody_left().await;
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_worker() {
    let profile = Profile::new();
    let worker = profile.odd_worker(&[]);
    profile.ask(&worker, json!({ "do": "daemon" })).await.unwrap();
    drop(worker);
    profile.nobody_left().await;
}

#[test]
fn a_worker_outlives_no_runtime_and_is_started_again_in_the_next() {
    let profile = Profile::new();
    let worker = profile.odd_worker(&[]);
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(profile.ask(&worker, json!({}))).unwrap()
    };
    let (first, second): (Value, Value) = (ask(), ask());
    assert_ne!(first, second);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(profile.nobody_left());
}
