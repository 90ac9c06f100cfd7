//! A right profile is read whole (R10.1, R10.2, R10.4).

use pintle_policy::Level;
use pintle_profile::{Profile, Run};
use serde_json::json;
use std::path::Path;

fn sample() -> Profile {
    match crate::load(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sample")) {
        Ok(profile) => profile,
        Err(errors) => panic!("{errors}"),
    }
}

#[test]
fn the_sample_profile_is_read_with_every_field() {
    let profile = sample();
    assert_eq!(profile.name, "sample");
    assert_eq!(profile.security.level, Some(Level::Strict));
    assert_eq!(profile.security.approval_timeout_ms, Some(60_000));
    assert_eq!(profile.limits.max_turns, Some(20));
    assert_eq!(profile.personalities["helper"].tools.as_deref().unwrap(), ["read_*", "terminal"]);
    assert_eq!(profile.personalities["reviewer"].prompt, "You review.\n");
    assert_eq!(profile.mcp_servers["files"].command.as_deref(), Some("mcp-files"));
    assert_eq!(profile.mcp_servers["remote"].url.as_deref(), Some("https://mcp.example.com/v1"));
    assert_eq!(profile.guards.len(), 3);
    assert_eq!(profile.named_files(), ["hooks/check.sh".to_owned()].into());
}

// R10.1
#[test]
fn each_hook_knows_its_point_and_the_line_it_is_written_on() {
    let found: Vec<(String, &str, String)> =
        sample().hooks.iter().map(|h| (h.source.clone(), h.bucket.point, h.name.clone())).collect();
    let expected = [
        ("agent.json:27", "session.start", "hello"),
        ("agent.json:30", "tool.pre", "approve at agent.json:30"),
        ("agent.json:31", "tool.pre", "command at agent.json:31"),
        ("agent.json:32", "tool.pre", "command at agent.json:32"),
        ("agent.json:34", "tool.post", "save_json at agent.json:34"),
        ("agent.json:35", "session.end", "webhook at agent.json:35"),
        ("agent.json:36", "error", "webhook at agent.json:36"),
    ];
    assert_eq!(found, expected.map(|(at, point, name)| (at.to_owned(), point, name.to_owned())));
}

// R10.2
#[test]
fn a_command_hook_carries_its_program_its_time_and_its_tools() {
    let profile = sample();
    let hook = profile.hooks.iter().find(|h| h.source == "agent.json:31").unwrap();
    let run = Run::Argv(vec!["hooks/check.sh".into(), "--strict".into()]);
    assert_eq!(hook.uses.program.as_ref().unwrap().value, run);
    assert_eq!(hook.fields["timeoutMs"], 2000);
    assert_eq!((hook.action, hook.bucket.name), ("command", "onToolCall"));
    assert_eq!((hook.observes, hook.tools.as_slice()), (false, ["terminal".to_owned()].as_slice()));
}

#[test]
fn the_guards_of_a_profile_judge_and_name_their_line() {
    let profile = sample();
    let input = json!({ "command": "ls && git push" });
    let terminal = &crate::surprises::built_in()[0];
    let reach = pintle_policy::Reach::of(terminal, &input, &profile.dir);
    let denial = pintle_policy::guard::judge_all(&profile.guards, terminal, &input, &reach);
    assert_eq!(denial.unwrap().source, "agent.json:39");
}

#[test]
fn an_empty_object_is_a_profile_named_after_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("tiny");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("agent.json"), "{}").unwrap();
    assert_eq!(crate::load(&dir).unwrap().name, "tiny");
}

#[test]
fn a_byte_order_mark_is_named_and_so_is_deep_nesting() {
    let folder = tempfile::tempdir().unwrap();
    for (text, said) in [
        ("\u{feff}{}".to_owned(), "byte order mark"),
        ("[".repeat(100_000), "nested more than 64 deep"),
        ("{\"a\":".repeat(300), "nested more than 64 deep"),
        (format!("{}1{}", "[".repeat(200), "]".repeat(200)), "nested more than 64 deep"),
    ] {
        std::fs::write(folder.path().join("agent.json"), text).unwrap();
        let error = crate::load(folder.path()).unwrap_err().render(false);
        assert!(error.contains(said), "{error}");
    }
}

// P6
#[test]
fn a_refusal_names_the_line_of_the_rule_that_decided() {
    let folder = tempfile::tempdir().unwrap();
    let agent = r#"{ "policies": [
  { "tool": "terminal", "kind": "shell",
    "allow": ["ls", "git *"],
    "deny": [
      "rm",
      "git push *",
      "git push *"
    ] }
] }"#;
    std::fs::write(folder.path().join("agent.json"), agent).unwrap();
    let guards = crate::load(folder.path()).unwrap().guards;
    let line = |command: &str| {
        let input = serde_json::json!({ "command": command });
        let terminal = &crate::surprises::built_in()[0];
        let reach = pintle_policy::Reach::of(terminal, &input, folder.path());
        guards[0].judge(terminal, &input, &reach).unwrap().source
    };
    assert_eq!(line("rm x"), "agent.json:5");
    assert_eq!(line("git push"), "agent.json:6");
    assert_eq!(line("make"), "agent.json:2", "no rule alone");
    assert_eq!(line("$X"), "agent.json:2", "no rule at all");
}

#[test]
fn the_schema_in_the_repository_is_the_one_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/agent.schema.json");
    let current = format!("{}\n", serde_json::to_string_pretty(&crate::agent_schema()).unwrap());
    if std::env::var_os("PINTLE_UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &current).unwrap();
    }
    // Compared by meaning: the order of keys depends on what else the build contains.
    let kept: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap_or_default())
            .unwrap_or_default();
    assert!(
        kept == crate::agent_schema(),
        "schemas/agent.schema.json is stale: run `cargo xtask update`"
    );
}

proptest::proptest! {
    #![proptest_config(crate::random::cases(150))]

    #[test]
    fn no_damage_to_a_profile_makes_the_loader_panic(
        from in 0_usize..2200,
        length in 0_usize..60,
        piece in proptest::sample::select(vec!["", "{", "]", "\"", "null", "é\u{1f600}", ",", "\n", "[[", "\\u0000", "-1e999", "\"x\": 1,"])
    ) {
        let whole = include_str!("../sample/agent.json");
        let cut = |at: usize| (at..).find(|i| whole.is_char_boundary(*i)).unwrap().min(whole.len());
        let (start, end) = (cut(from.min(whole.len())), cut((from + length).min(whole.len())));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("agent.json"), format!("{}{piece}{}", &whole[..start], &whole[end..])).unwrap();
        if let Err(errors) = crate::load(folder.path()) {
            proptest::prop_assert!(!errors.render(false).is_empty() && !errors.render(true).is_empty());
        }
    }
}
