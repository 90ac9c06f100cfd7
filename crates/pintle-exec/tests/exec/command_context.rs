//! What a command is told, and what it is not.

use std::{collections::BTreeMap, ffi::OsString, fs, time::Duration};

use pintle::{Cx, DynOutcome, FailureKind::Spawn, Hooks, ModelKind};
use pintle_exec::{CommandHook, CommandSpec, Unconfined, default_environment};
use serde_json::{Value, json};

use crate::support::{Profile, cx};

#[tokio::test]
async fn the_context_arrives_as_one_json_object_on_stdin() {
    let profile = Profile::new();
    profile.judge(profile.shell("cat > context.json")).await.allowed();
    let text = fs::read_to_string(profile.path().join("context.json")).unwrap();
    let context: Value = serde_json::from_str(&text).unwrap(); // R8.1
    assert_eq!(
        context,
        json!({
            "event": "tool.pre",
            "toolCallId": "call-1",
            "toolName": "terminal",
            "toolInput": { "command": "make deploy" },
            "zone": 2,
            "sessionId": "s-1",
            "platform": "test",
            "traceId": "t-1",
            "ts": 1_700_000_000_000_u64,
        })
    );
}

#[tokio::test]
async fn the_environment_is_an_allowlist_plus_what_the_operator_adds() {
    let profile = Profile::new();
    let host = [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/home/me"),
        ("LC_ALL", "C.UTF-8"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
        ("LD_PRELOAD", "/evil.so"),
        ("PINTLE_ALLOW_COMMAND_HOOKS", "1"),
    ];
    let host = host.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let spec =
        CommandSpec::shell(profile.path(), "env > env; pwd > pwd", Unconfined::by("this test"))
            .inherit(host)
            .env("TEAM", "payments");
    profile.judge(spec).await.allowed(); // R8.6
    let read = |name: &str| fs::read_to_string(profile.path().join(name)).unwrap();
    let text = read("env");
    let env: BTreeMap<_, _> = text.lines().filter_map(|line| line.split_once('=')).collect();
    let folder = profile.path().to_str().unwrap();
    assert_eq!(env["PATH"], "/usr/bin:/bin");
    assert_eq!(env["HOME"], "/home/me");
    assert_eq!(env["LC_ALL"], "C.UTF-8");
    assert_eq!(env["TEAM"], "payments");
    assert_eq!(env["PINTLE_EVENT"], "tool.pre");
    assert_eq!(env["PINTLE_SESSION_ID"], "s-1");
    assert_eq!(env["PINTLE_PROFILE_DIR"], folder);
    assert_eq!(read("pwd").trim(), fs::canonicalize(folder).unwrap().to_str().unwrap());
    for absent in ["AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "PINTLE_ALLOW_COMMAND_HOOKS"] {
        assert!(!env.contains_key(absent), "{absent} leaked in");
    }
}

// R8.6
#[tokio::test]
async fn a_hook_keeps_things_in_a_private_folder_that_is_made_on_first_use() {
    let profile = Profile::new();
    let state = profile.path().join("data/hooks/mine");
    let line = "echo >> \"$PINTLE_STATE_DIR/runs\"; ls -ld \"$PINTLE_STATE_DIR\" | cut -c1-10";
    let spec = profile.shell(line).state_dir(&state);
    assert!(!state.exists());
    for runs in 1..=2 {
        let judged = profile.judge(spec.clone()).await.allowed();
        assert_eq!(judged.output(), Some("drwx------"));
        assert_eq!(fs::read(state.join("runs")).unwrap().len(), runs);
    }
    let taken = profile.path().join("file");
    fs::write(&taken, "").unwrap();
    let judged = profile.judge(profile.shell("exit 0").state_dir(&taken)).await.failed(Spawn);
    assert!(judged.reason().contains("its state folder"), "{judged:?}");
    let judged = profile.judge(profile.shell("echo ${PINTLE_STATE_DIR-none}")).await.allowed();
    assert_eq!(judged.output(), Some("none"));
}

#[test]
fn the_default_environment_is_exactly_the_allowlist() {
    let names =
        ["PATH", "HOME", "LANG", "LC_TIME", "TMPDIR", "TERM", "PATHX", "LC", "path", "USER"];
    let vars = names.map(|name| (OsString::from(name), OsString::from("x")));
    let kept: Vec<_> = default_environment(vars).map(|(name, _)| name).collect();
    assert_eq!(kept, ["PATH", "HOME", "LANG", "LC_TIME", "TMPDIR", "TERM"]); // R8.6
}

#[tokio::test]
async fn argv_is_no_shell() {
    let profile = Profile::new();
    let spec = profile.argv(["printf", "%s", "$HOME; `id` * \"quoted\""]);
    let judged = profile.judge(spec).await.allowed(); // R8.3
    assert_eq!(judged.output(), Some("$HOME; `id` * \"quoted\""));
}

#[tokio::test]
async fn a_relative_folder_on_the_path_finds_nothing() {
    let profile = Profile::new();
    profile.script("innocent", "#!/bin/sh\nexit 0\n");
    let spec = CommandSpec::argv(profile.path(), ["innocent"], Unconfined::by("this test"))
        .env("PATH", ".::");
    assert!(!profile.judge(spec).await.tool_ran);
}

#[tokio::test]
async fn known_secrets_are_scrubbed_from_stdin_even_with_quotes_in_them() {
    let profile = Profile::new();
    let secret = "p\"ss\\word";
    let spec = profile
        .shell("cat > context.json")
        .scrub(move |text| text.replace(secret, "[secret]").replace("make deploy", "[cmd]"));
    profile.judge(spec.clone()).await.allowed(); // R10.7
    let text = fs::read_to_string(profile.path().join("context.json")).unwrap();
    assert!(text.contains("[cmd]") && !text.contains("make deploy"));

    let hooks = Hooks::new();
    hooks.register_dyn("user.prompt.submit", ModelKind::Gate, CommandHook::new(spec)).unwrap();
    let payload = json!({ "prompt": format!("log in with {secret}") });
    hooks.fire_dyn("user.prompt.submit", &cx(), payload).await.unwrap();
    let text = fs::read_to_string(profile.path().join("context.json")).unwrap();
    let context: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(context["prompt"], "log in with [secret]");
}

// R10.7: a secret of digits alone is one in a number too.
#[tokio::test]
async fn a_secret_number_is_scrubbed_and_other_numbers_stay_numbers() {
    let profile = Profile::new();
    let spec = profile.shell("cat > context.json").scrub(|text| text.replace("86753091", "***"));
    let hooks = Hooks::new();
    hooks.register_dyn("tool.pre", ModelKind::Gate, CommandHook::new(spec)).unwrap();
    let input = json!({ "pin": 86753091, "list": [1.5, -86753091, true, null] });
    let payload = json!({ "toolCallId": "t", "toolName": "x", "toolInput": input, "zone": 1 });
    hooks.fire_dyn("tool.pre", &cx(), payload).await.unwrap();
    let text = fs::read_to_string(profile.path().join("context.json")).unwrap();
    let context: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(context["toolInput"], json!({ "pin": "***", "list": [1.5, "-***", true, null] }));
    assert_eq!(context["zone"], 1);
}

// R8.3
#[tokio::test]
async fn no_shell_of_a_hook_is_a_login_shell() {
    let profile = Profile::new();
    fs::write(profile.path().join(".profile"), "touch logged-in\n").unwrap();
    let spec = profile.shell("touch ran").env("HOME", profile.path());
    profile.judge(spec).await.allowed();
    assert!(profile.path().join("ran").exists());
    assert!(!profile.path().join("logged-in").exists());
}

// R8.3, R4.10
#[test]
fn a_hook_has_five_seconds_unless_told_otherwise() {
    let spec = CommandSpec::shell("/", "true", Unconfined::by("this test"));
    assert_eq!(spec.timeout, Duration::from_secs(5));
    let hook = CommandHook::new(spec);
    let hooks = Hooks::new();
    let deadline = hook.deadline();
    hooks.options().deadline(deadline).register_dyn("tool.pre", ModelKind::Gate, hook).unwrap();
    let given = hooks.list()[0].deadline.unwrap();
    assert!(given > Duration::from_secs(5), "the hook's own clock comes first: {given:?}");
    assert!(given < Duration::from_secs(8), "{given:?}");
}

async fn patch(hooks: &Hooks, cx: &Cx) -> Value {
    let payload = json!({ "history": [], "system": "be kind" });
    match hooks.fire_dyn("before_prompt_build", cx, payload).await.unwrap() {
        DynOutcome::Modifying { patch, .. } => patch,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn at_a_modifying_point_json_is_the_patch_and_text_is_a_failure() {
    let profile = Profile::new();
    let hooks = Hooks::new();
    let hook = |line: &str| CommandHook::new(profile.shell(line));
    let bind = |name: &str, line: &str| {
        hooks
            .named(name)
            .register_dyn("before_prompt_build", ModelKind::Modifying, hook(line))
            .unwrap()
    };
    bind("text", "echo just text");
    bind("silent", "true");
    bind("failing", "echo '{\"prependSystem\": \"no\"}'; exit 1");
    bind("patch", "echo '{\"appendSystem\": \"today is Monday\"}'");
    bind("curious", "cat > seen.json");
    assert_eq!(patch(&hooks, &cx()).await["appendSystem"], "today is Monday");
    assert!(patch(&hooks, &cx()).await.get("prependSystem").is_none_or(Value::is_null));
    let seen = fs::read_to_string(profile.path().join("seen.json")).unwrap();
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["merged"]["appendSystem"], "today is Monday"); // R4.5
}

#[tokio::test]
async fn at_a_claiming_point_json_is_the_claim() {
    let profile = Profile::new();
    let hooks = Hooks::new();
    let hook = |line: &str| CommandHook::new(profile.shell(line));
    let point = "before_ticket_complete";
    hooks.named("text").register_dyn(point, ModelKind::Claiming, hook("echo hi")).unwrap();
    let line = "echo '{\"handled\": true, \"reason\": \"no tests\"}'";
    hooks.named("claim").register_dyn(point, ModelKind::Claiming, hook(line)).unwrap();
    let payload = json!({ "taskId": "t", "summary": "done" });
    match hooks.fire_dyn(point, &cx(), payload).await.unwrap() {
        DynOutcome::Claiming(Some((by, claim))) => {
            assert_eq!((by.as_str(), &claim["reason"]), ("claim", &json!("no tests")));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn at_a_void_point_stdout_is_of_no_interest() {
    let profile = Profile::new();
    let hooks = Hooks::new();
    let hook = CommandHook::new(profile.shell("echo '{broken'; touch seen"));
    hooks.options().fail_closed().register_dyn("session_start", ModelKind::Void, hook).unwrap();
    let outcome = hooks.fire_dyn("session_start", &cx(), json!({ "resumed": false })).await;
    assert_eq!(outcome.unwrap(), DynOutcome::Void);
    assert!(profile.path().join("seen").exists());
}
