//! `pintle hooks`: look at hooks.

use insta::assert_snapshot;
use pintle::Hooks;

use crate::support::World;

#[test]
fn every_point_of_the_catalogue_is_listed_and_has_schemas() {
    let world = World::new();
    let said = world.run(&["hooks", "schema"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert_snapshot!(said.out);
    let points: Vec<_> = said.out.lines().filter_map(|l| l.split_whitespace().next()).collect();
    assert_eq!(points.len(), Hooks::new().known_points().len());
    for point in points {
        let schemas = world.run(&["hooks", "schema", point]).json();
        assert_eq!(schemas["payload"]["type"], "object", "{point}");
        assert!(schemas.get("result").is_some(), "{point}");
        let gate = schemas["model"] == "gate";
        assert_eq!(schemas["binding"].is_boolean(), gate, "whether it can stop anything: {point}");
    }
}

#[test]
fn the_points_are_listed_for_machines() {
    let world = World::new();
    let points = world.run(&["hooks", "schema", "--json"]).json();
    let points = points.as_array().unwrap();
    assert_eq!(points.len(), Hooks::new().known_points().len());
    assert!(points.iter().all(|point| point["name"].is_string() && point["model"].is_string()));
}

#[test]
fn what_is_bound_is_listed_with_point_model_source_and_order() {
    let world = World::new();
    let list = world.run(&["hooks", "list", "--json"]).json();
    let guard = list.as_array().unwrap().iter().find(|hook| hook["name"] == "terminal guard");
    let guard = guard.expect("the terminal guard is bound");
    assert_eq!((&guard["point"], &guard["source"]), (&"tool.pre".into(), &"built-in".into()));
    assert!(guard["priority"].is_i64() && guard["model"].is_string(), "{guard}");
    assert!(world.run(&["hooks", "list"]).out.contains("terminal guard"));
}

// §14: each consumer can be switched off, and that is not silent.
#[test]
fn a_consumer_that_is_switched_off_is_listed_as_disabled_and_the_rest_still_works() {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    let file = world.data().join("pintle.toml");
    std::fs::write(&file, "[consumers]\noff = [\"terminal_gard\"]\n").unwrap();
    let said = world.run(&["hooks", "list"]);
    assert!(said.err.contains("terminal_guard"), "the nearest switch is named: {said}");
    std::fs::write(&file, "[consumers]\noff = [\"terminal_guard\"]\n").unwrap();
    let said = world.run(&["hooks", "list"]);
    assert!(said.out.contains("disabled") && said.out.contains("[consumers]"), "{said}");
    let explain = ["explain", "--json", "--", "rm", "-rf", "/"];
    let said = world.run(&explain);
    assert!(!said.out.contains("terminal guard"), "{said}");
    std::fs::remove_file(&file).unwrap();
    assert!(world.run(&explain).out.contains("terminal guard"));
    // Each of them, also those that the program binds itself.
    for consumer in pintle_profile::Consumer::ALL {
        let name = consumer.name();
        std::fs::write(&file, format!("[consumers]\noff = [\"{name}\"]\n")).unwrap();
        let said = world.run(&["chat", "-q", "write a.txt: x then read a.txt"]);
        assert_eq!(
            (said.code, said.out.contains("`a.txt` says")),
            (Some(0), true),
            "{name}: {said}"
        );
        let rows = world.run(&["hooks", "list", "--json"]).json();
        let rows = rows.as_array().unwrap().iter();
        let off: Vec<_> = rows.filter(|row| row["state"] == "disabled").collect();
        assert_eq!(off.len(), 1, "{name}: {off:?}");
    }
}

// §14
#[test]
fn without_observability_nothing_is_recorded_and_the_rest_still_works() {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    let file = world.data().join("pintle.toml");
    let off = "[consumers]\noff = [\"observability\"]\n";
    std::fs::write(&file, off).unwrap();
    let said = world.run(&["chat", "-q", "write a.txt: x"]);
    assert_eq!(said.code, Some(0), "{said}");
    assert!(world.file("a.txt").exists());
    assert_eq!(world.run(&["runs", "--json"]).out, "");
    let list = world.run(&["hooks", "list"]);
    assert!(list.out.contains("off = [\"observability\"]"), "{list}");
    std::fs::write(&file, format!("otlp = \"http://localhost:4318\"\n{off}")).unwrap();
    let said = world.run(&["chat", "-q", "hello"]);
    assert_eq!(said.code, Some(1), "traces are made of records: {said}");
    assert!(said.err.contains("take `observability` out of `off`"), "{said}");
}

// §14, circuit breaker
#[test]
fn a_hook_that_timed_out_again_and_again_stands_out_until_it_answers() {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    std::fs::write(world.data().join("pintle.toml"), "allow_command_hooks = true\n").unwrap();
    let hooks = r#"{"onToolCall": [{"action": "command", "name": "slow", "argv": ["hooks/slow.sh"], "timeoutMs": 300}]}"#;
    world.write("shop/agent.json", format!(r#"{{"name": "shop", "hooks": {hooks}}}"#));
    let input = serde_json::json!({"path": "ran", "content": ""});
    let call = |id: &str| serde_json::json!({"id": id, "name": "write_file", "input": input});
    let calls = ["t1", "t2", "t3", "t4"].map(call);
    let calls = serde_json::json!([{ "toolCalls": calls }, {"text": "Done."}]);
    let script = world.script("script.json", &calls);
    let state = || {
        let list = world.run(&["hooks", "list", "--profile", "shop", "--json"]).json();
        let slow = list.as_array().unwrap().iter().find(|hook| hook["name"] == "slow").cloned();
        slow.unwrap()["state"].clone()
    };
    let chat = |program: &str| {
        world.executable("shop/hooks/slow.sh", program);
        assert_eq!(world.run(&["trust", "shop", "--accept"]).code, Some(0));
        world.run(&["chat", "--profile", "shop", "--model", &script, "-q", "go"])
    };
    let said = chat("#!/bin/sh\nsleep 300\n");
    assert!(said.err.contains("the hook is failing, so it was not called"), "{said}");
    assert!(!world.file("ran").exists());
    assert_eq!(state(), "failing");
    let list = world.run(&["hooks", "list", "--profile", "shop"]);
    assert!(list.out.contains("FAILING") && list.out.contains("timeoutMs"), "{list}");
    let doctor = world.run(&["doctor", "--profile", "shop"]);
    assert_eq!(doctor.code, Some(1), "{doctor}");
    assert!(doctor.out.contains("`slow` at tool.pre is failing"), "{doctor}");
    chat("#!/bin/sh\n");
    assert!(world.file("ran").exists());
    assert_eq!(state(), "active");
}

// R10.4
#[test]
fn everything_that_is_wrong_with_a_profile_is_said_at_once() {
    let world = World::new();
    world.write(
        "bad/agent.json",
        r#"{
  "name": "bad",
  "hooks": {
    "onToolCal": [{"action": "log"}],
    "onStart": [{"action": "approve"}, {"action": "webhook", "url": "http://example.com/x"}]
  },
  "policies": [{"tool": "terminal", "kind": "shel", "deny": ["sudo"]}]
}
"#,
    );
    let said = world.run(&["hooks", "lint", "bad"]);
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said}");
    assert_snapshot!(said.to_string());
}

// R10.4: what is odd is told in the same go as what is wrong, except of what is wrong itself.
#[test]
fn what_is_odd_about_a_profile_is_told_after_what_is_wrong_with_it() {
    let world = World::new();
    world.write(
        "odd/agent.json",
        r#"{
  "nmae": "odd",
  "hooks": { "onToolCall": [{"action": "approve", "tools": ["browser_*"]}] },
  "policies": [
    {"tool": "terminal", "kind": "path", "deny": [".env"]},
    {"tool": "terminal", "kind": "shel", "deny": ["rm.*"]}
  ],
  "security": {"workspace": "nothere"}
}
"#,
    );
    world.write("odd/pintle.toml", "level = \"strict\"\n");
    let said = world.run(&["hooks", "lint", "odd"]);
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said}");
    let (errors, warnings) = said.err.split_once("2 errors: the profile was not loaded").unwrap();
    assert!(errors.contains("`nmae`") && !errors.contains("warning"), "{said}");
    for told in ["agent.json:3: `browser_*`", "agent.json:5: ", "agent.json:8: ", "is not read"] {
        assert_eq!(warnings.matches(told).count(), 1, "{told}: {said}");
    }
    assert_eq!(warnings.matches("warning: ").count(), 4, "{said}");
    let json = world.run(&["hooks", "lint", "odd", "--json"]).json();
    assert_eq!(json["error"]["warnings"].as_array().unwrap().len(), 4, "{json}");
    // What nobody has to load a profile for is told as well: that nobody could answer.
    std::fs::create_dir_all(world.data()).unwrap();
    std::fs::write(world.data().join("pintle.toml"), "approvers = [\"no-such-user\"]\n").unwrap();
    let said = world.run(&["hooks", "lint", "odd"]);
    for told in ["pintle.toml:1:14: ", "no one can answer"] {
        assert!(said.err.contains(told), "{told}: {said}");
    }
}

#[test]
fn a_profile_without_fault_is_said_to_have_none() {
    let world = World::new();
    world.write("good/agent.json", r#"{"name": "good"}"#);
    assert_snapshot!(
        world.transcript(&[&["hooks", "lint", "good"], &["hooks", "lint", "good", "--json"]])
    );
}

// R10.4: what would not start, or not work, is no secret until then.
#[test]
fn what_is_not_there_for_a_profile_is_said_by_lint() {
    let world = World::new();
    let taken = r#"{"model": "anthropc/x", "hooks": {"onStart": [{"action": "log", "name": "terminal guard"}]}}"#;
    world.write("taken/agent.json", taken);
    let unready = r#"{"security": {"workspace": "nothere"}, "hooks": {"onStart": [
  {"action": "webhook", "url": "http://127.0.0.1:9/", "secretEnv": "A_KEY_THAT_NOBODY_SETS"}
]}}"#;
    world.write("unready/agent.json", unready);
    assert_snapshot!(
        world.transcript(&[&["hooks", "lint", "taken"], &["hooks", "lint", "unready"]])
    );
}

#[test]
fn every_name_of_a_bucket_is_answered_with_its_point() {
    let world = World::new();
    world.write("payload.json", "{}");
    for (bucket, point) in [
        ("onToolCall", "tool.pre"),
        ("onToolEnd", "tool.post"),
        ("onStart", "session.start"),
        ("onComplete", "session.end"),
    ] {
        let said = world.run(&["hooks", "fire", bucket, "--payload", "payload.json"]);
        let told = format!("`{bucket}` in agent.json is the point `{point}`");
        assert!(said.code == Some(1) && said.err.contains(&told), "{said}");
    }
}
