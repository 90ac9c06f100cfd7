//! What decides about a call, and where it is written; and what is asked in the wrong words.

use serde_json::Value;

use crate::support::World;

const AGENT: &str = r#"{
  "name": "guide",
  "personality": "guide",
  "personalities": {
    "inline": {
      "prompt": "Short.",
      "tools": ["list_dir"]
    },
    "free": { "prompt": "Any." }
  },
  "tools": {
    "allow": ["read_file", "terminal", "list_dir"],
    "deny": ["list_*"]
  },
  "security": {
    "level": "strict"
  },
  "policies": [
    { "tool": "*", "kind": "path", "deny": ["secret"] },
    { "tool": "*", "kind": "path", "deny": ["hidden"] }
  ]
}
"#;

fn world() -> World {
    let world = World::new();
    world.write("guide/agent.json", AGENT);
    world.write("guide/personalities/guide/SOUL.md", "You guide.");
    world.write(
        "guide/personalities/guide/config.json",
        "{\n\n  \"tools\": [\n    \"read_*\"\n  ]\n}",
    );
    world
}

/// The step of this name, of what `hooks explain` says.
fn step(world: &World, name: &str, tool: &str, args: &str, more: &[&str]) -> Value {
    let call = ["hooks", "explain", "--json", "--tool", tool, "--args", args];
    let steps = world.run(&[&call, more].concat()).json()["steps"].take();
    let found = steps.as_array().unwrap().iter().find(|step| step["step"] == name).cloned();
    found.unwrap_or_else(|| panic!("no {name} in {steps:#}"))
}

const LS: &str = r#"{"command": "ls"}"#;
const HERE: &str = r#"{"path": "."}"#;

#[test]
fn a_refused_tool_is_refused_where_the_selection_is_written() {
    let world = world();
    let toolset = |tool: &str, args: &str, more: &[&str]| {
        let found = step(&world, "toolset", tool, args, &[&["--profile", "guide"], more].concat());
        (found["finding"].as_str().unwrap().to_string(), found["source"].clone())
    };
    let stops = |at: &str| ("stops".to_string(), Value::from(at));
    assert_eq!(toolset("terminal", LS, &[]), stops("personalities/guide/config.json:3"));
    assert_eq!(toolset("terminal", LS, &["--personality", "inline"]), stops("agent.json:7"));
    assert_eq!(toolset("list_dir", HERE, &["--personality", "inline"]), stops("agent.json:13"));
    let write = r#"{"path": "a", "content": ""}"#;
    assert_eq!(toolset("write_file", write, &["--personality", "free"]), stops("agent.json:12"));
    // What lets it pass is written somewhere too.
    let passes = |at: &str| ("passes".to_string(), Value::from(at));
    assert_eq!(toolset("read_file", HERE, &[]), passes("personalities/guide/config.json:3"));
    assert_eq!(toolset("terminal", LS, &["--personality", "free"]), passes("agent.json:12"));
    let nowhere = step(&world, "toolset", "terminal", LS, &[]);
    assert_eq!(nowhere.get("source"), None, "{nowhere}");
}

// R11.3
#[test]
fn a_level_is_where_the_stricter_word_is_written() {
    let world = world();
    let zone = |more: &[&str]| step(&world, "zone", "read_file", HERE, more)["source"].clone();
    let profile = ["--profile", "guide"];
    assert_eq!((zone(&[]), zone(&profile)), ("the default level".into(), "agent.json:16".into()));
    std::fs::create_dir_all(world.data()).unwrap();
    let operator = |text: &str| std::fs::write(world.data().join("pintle.toml"), text).unwrap();
    // Also when it is the default that is written.
    operator("# ours\nlevel = \"standard\"\n");
    assert_eq!((zone(&[]), zone(&profile)), ("pintle.toml:2".into(), "agent.json:16".into()));
    operator("level = \"strict\"\n");
    assert_eq!((zone(&[]), zone(&profile)), ("pintle.toml:1".into(), "pintle.toml:1".into()));
}

// §14: the terminal guard denies what is destructive, also where the zone would run it.
#[test]
fn a_destructive_command_is_stopped_by_the_terminal_guard() {
    let world = world();
    let denied = step(&world, "tool.pre", "terminal", r#"{"command": "rm -rf /"}"#, &[]);
    assert_eq!((&denied["finding"], &denied["source"]), (&"stops".into(), &"built-in".into()));
    let detail = denied["detail"].as_str().unwrap();
    assert!(detail.contains("`rm -rf /` deletes a folder the system"), "{detail}");
    let unparsable = step(&world, "tool.pre", "terminal", r#"{"command": "ls 'unclosed"}"#, &[]);
    assert_eq!(unparsable["finding"], "passes");
}

#[test]
fn guards_are_counted_in_words() {
    let world = world();
    let guards = |more: &[&str]| step(&world, "guards", "read_file", HERE, more)["detail"].clone();
    assert_eq!(guards(&[]), "there are no rules");
    assert_eq!(guards(&["--profile", "guide"]), "no rule matches (2 rules)");
}

#[test]
fn the_profile_in_force_is_named_wherever_its_rules_are_shown() {
    let world = world();
    let explain = ["hooks", "explain", "--tool", "read_file", "--args", HERE];
    for command in [&explain[..], &["hooks", "list"], &["doctor"]] {
        let none = "none · no agent.json here, and none is named";
        assert!(world.run(command).out.contains(none), "{command:?}");
        let said = world.run(&[command, &["--profile", "guide"]].concat());
        assert!(said.out.contains("guide · ./guide/agent.json, by --profile"), "{said}");
    }
    let json = |more: &[&str]| {
        let profile = world.run(&[&explain[..], &["--json"], more].concat()).json();
        profile["profile"]["name"].clone()
    };
    assert_eq!((json(&[]), json(&["--profile", "guide"])), (Value::Null, "guide".into()));
}

#[test]
fn a_point_that_is_not_there_is_answered_with_the_one_that_was_meant() {
    let world = World::new();
    world.write("payload.json", "{}");
    let meant = [
        ("onPrompt", "`onPrompt` in agent.json is the point `user.prompt.submit`"),
        ("onToolCall", "`onToolCall` in agent.json is the point `tool.pre`"),
        ("onTolCall", "`onToolCall` in agent.json is the point `tool.pre`"),
        ("tool.pr", "did you mean `tool.pre`?"),
        ("beforeToolCall", "did you mean `before_tool_call`?"),
        ("nonsense", "pintle hooks schema lists them"),
    ];
    for (named, hint) in meant {
        let said = world.run(&["hooks", "fire", named, "--payload", "payload.json"]);
        assert_eq!(said.code, Some(1), "{said}");
        assert!(said.err.contains(hint), "{said}");
    }
}

#[test]
fn firing_the_hooks_of_a_call_says_that_more_decides_about_it() {
    let world = World::new();
    let call = br#"{"toolCallId": "1", "toolName": "terminal", "toolInput": {}, "zone": 2}"#;
    let said = world.piped(&["hooks", "fire", "tool.pre", "--payload", "-"], call);
    assert!(said.out.contains("only hooks were asked"), "{said}");
    let json = world.piped(&["hooks", "fire", "tool.pre", "--payload", "-", "--json"], call);
    assert!(json.json()["note"].as_str().unwrap().contains("pintle explain"), "{json}");
    let other = world.piped(&["hooks", "fire", "session.start", "--payload", "-"], b"{}");
    assert!(!other.out.contains("only hooks were asked"), "{other}");
}

#[test]
fn everything_that_does_not_fit_about_an_event_is_said_at_once() {
    let world = World::new();
    let event = br#"{"toolName": 3, "toolInptu": {}, "turnIndex": null}"#;
    let said = world.piped(&["hooks", "fire", "tool.pre", "--payload", "-"], event);
    assert_eq!(said.code, Some(1), "{said}");
    let unfit = [
        "missing field `toolCallId`",
        "missing field `toolInput`",
        "missing field `zone`",
        "unknown field `toolInptu` (did you mean `toolInput`?)",
        "`toolName` is not a string: 3",
    ];
    for words in unfit {
        assert!(said.err.contains(words), "{words}: {said}");
    }
    assert!(!said.err.contains("turnIndex"), "{said}");
    // Whatever does fit by this is for the point to say.
    for point in world.run(&["hooks", "schema", "--json"]).json().as_array().unwrap() {
        let point = point["name"].as_str().unwrap();
        let said = world.piped(&["hooks", "fire", point, "--payload", "-"], b"{}");
        assert!(said.code == Some(0) || said.err.contains("missing field `"), "{said}");
    }
}

// R10.7
#[test]
fn a_secret_that_is_not_set_is_told_by_doctor() {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    let settings = "level = \"strict\"\nsecrets = [\"HOME\", \"A_KYE\"]\n";
    std::fs::write(world.data().join("pintle.toml"), settings).unwrap();
    let said = world.run(&["doctor"]);
    assert!(said.out.contains("pintle.toml:2:20: `A_KYE` in `secrets` is not set"), "{said}");
    assert!(said.out.ends_with("→ 1 warning\n") && said.code == Some(0), "{said}");
}

#[test]
fn a_tool_that_is_not_there_is_answered_with_the_one_that_was_meant_and_all_there_are() {
    let world = world();
    for (named, meant) in
        [("Bash", "`terminal`"), ("Read", "`read_file`"), ("writefile", "`write_file`")]
    {
        let found = step(&world, "known tool", named, "{}", &["--profile", "guide"]);
        let detail = found["detail"].as_str().unwrap();
        assert!(detail.contains(&format!("did you mean {meant}?")), "{detail}");
        assert!(detail.contains("the tools are delegate, edit_file, list_dir,"), "{detail}");
    }
    let strange = step(&world, "known tool", "weather", "{}", &[]);
    assert!(!strange["detail"].as_str().unwrap().contains("did you mean"), "{strange}");
}

// R11.3, P6: whoever is refused by a level can find it.
#[test]
fn a_refusal_by_level_names_the_level_and_where_it_is_written() {
    let world = world();
    let refused = "level strict never allows this (agent.json:16)";
    let outside = r#"{"path": "/etc/hostname"}"#;
    let zone = step(&world, "zone", "read_file", outside, &["--profile", "guide"]);
    assert!(zone["detail"].as_str().unwrap().ends_with(refused), "{zone}");
    assert_eq!(zone["source"], "agent.json:16");
    let asks = ["chat", "-q", "read /etc/hostname", "--profile", "guide"];
    let said = world.run(&asks);
    assert!(said.out.contains(refused), "the model is told: {said}");
    let said = world.piped(&["chat", "--profile", "guide"], b"read /etc/hostname\n");
    assert!(said.err.contains("it reads outside this folder"), "{said}");
    let words = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(refused), "and so is the person: {said}");
}
