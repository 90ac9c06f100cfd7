//! The operator sets the floor; a profile can only tighten (R10.5, R10.8, R11.3).

use pintle_policy::Level;
use pintle_policy::Zone;
use pintle_profile::{
    Operator, OperatorEnv, Profile, SandboxMode, SandboxNetwork, SandboxOfServer, SandboxSettings,
};

fn operator(file: &str) -> Operator {
    Operator::new(file, OperatorEnv::default()).unwrap()
}

fn profile(source: &str) -> (tempfile::TempDir, Profile) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("hooks")).unwrap();
    std::fs::write(folder.path().join("hooks/check.sh"), "exit 0\n").unwrap();
    std::fs::write(folder.path().join("agent.json"), source).unwrap();
    let profile = crate::load(folder.path()).unwrap_or_else(|errors| panic!("{errors}"));
    (folder, profile)
}

#[test]
fn without_a_file_the_floor_is_standard_and_commands_are_off() {
    let operator = operator("");
    assert_eq!(operator.level, Level::Standard);
    assert!(!operator.allow_command_hooks && !operator.disable_hooks);
    let (_folder, profile) = profile("{}");
    let effective = operator.judge(&profile).unwrap();
    assert_eq!(
        (effective.level, effective.approval_timeout_ms, effective.approvers),
        (Level::Standard, 1_800_000, vec!["operator".to_owned()])
    );
}

// R11.3
#[test]
fn a_profile_may_tighten_the_level_and_never_loosen_it() {
    for floor in Level::ALL {
        for wanted in Level::ALL {
            let (_folder, profile) =
                profile(&format!("{{ \"security\": {{ \"level\": \"{}\" }} }}", wanted.name()));
            let judged = operator(&format!("level = \"{}\"", floor.name())).judge(&profile);
            assert_eq!(judged.is_ok(), wanted >= floor, "{floor:?} {wanted:?}");
            if let Ok(effective) = judged {
                assert_eq!(effective.level, wanted);
            }
        }
    }
}

// R11.4: a question that waits for a year is answered by somebody who has forgotten what it was about.
#[test]
fn a_profile_cannot_have_questions_wait_longer_than_the_operator_says_or_the_default() {
    let rows = [("", 1_800_000), ("approval_timeout_ms = 5000", 5000)];
    let rows = rows.into_iter().chain([("approval_timeout_ms = 86400000", 86_400_000)]);
    for (file, most) in rows {
        let asking = |wanted: u64| {
            let source = format!("{{ \"security\": {{ \"approvalTimeoutMs\": {wanted} }} }}");
            let (_folder, profile) = profile(&source);
            operator(file).judge(&profile).map(|effective| effective.approval_timeout_ms).ok()
        };
        assert_eq!((asking(most), asking(most + 1)), (Some(most), None), "{file}");
    }
}

// R10.8
#[test]
fn everything_a_profile_asks_too_much_of_is_shown_at_once() {
    let (_folder, profile) = profile(
        r#"{
  "security": { "level": "permissive", "approvers": ["ada", "mallory"], "approvalTimeoutMs": 90000 },
  "hooks": {
    "onToolCall": [{ "action": "command", "argv": ["hooks/check.sh"] }],
    "onComplete": [
      { "action": "webhook", "url": "https://hooks.example.com.evil.example/in" },
      { "action": "webhook", "url": "https://hooks.example.com/in/x" },
      { "action": "webhook", "url": "http://localhost:9000/x" }
    ]
  }
}
"#,
    );
    let strict = operator(
        "level = \"strict\"\napprovers = [\"ada\"]\napproval_timeout_ms = 60000\nwebhook_allowlist = [\"https://hooks.example.com/in\"]\n",
    );
    insta::assert_snapshot!("operator_refuses", strict.judge(&profile).unwrap_err().render(false));
    let generous = Operator::new(
        "level = \"permissive\"\napprovers = [\"ada\", \"mallory\"]",
        OperatorEnv {
            allow_command_hooks: Some("1"),
            webhook_allowlist: Some(
                "https://hooks.example.com, https://hooks.example.com.evil.example, http://localhost:9000",
            ),
            ..OperatorEnv::default()
        },
    )
    .unwrap();
    let effective = generous.judge(&profile).unwrap();
    assert_eq!((effective.level, effective.approval_timeout_ms), (Level::Permissive, 90_000));
}

// R10.8
#[test]
fn the_environment_wins_over_the_file() {
    let env = |value| OperatorEnv { allow_command_hooks: Some(value), ..OperatorEnv::default() };
    assert!(Operator::new("", env("1")).unwrap().allow_command_hooks);
    assert!(!Operator::new("allow_command_hooks = true", env("0")).unwrap().allow_command_hooks);
    assert!(Operator::new("allow_command_hooks = true", env("")).unwrap().allow_command_hooks);
    assert!(Operator::new("", env("yes please")).is_err());
}

// R11.5: who says yes is not the profile's to say.
#[test]
fn a_profile_cannot_name_its_own_approvers() {
    let (_folder, profile) = profile(r#"{ "security": { "approvers": ["telegram:666"] } }"#);
    let errors = operator("").judge(&profile).unwrap_err();
    assert!(errors.errors()[0].message.contains("`telegram:666` is not among"), "{errors}");
    let named = operator("approvers = [\"telegram:666\", \"operator\"]").judge(&profile).unwrap();
    assert_eq!(named.approvers, ["telegram:666"]);
}

// R11.5: a list that names nobody is not a list that is left out.
#[test]
fn nobody_is_no_approver_for_the_operator_either() {
    for nobody in ["[]", "[\"\"]", "[\"alice\", \" \"]"] {
        let file = format!("approvers = {nobody}");
        let error = Operator::new(&file, OperatorEnv::default()).unwrap_err();
        assert!(error.to_string().contains("is empty"), "{nobody}: {error}");
    }
    let (_folder, profile) = profile("{}");
    let named = operator("approvers = [\"alice\", \"bob\"]").judge(&profile).unwrap();
    assert_eq!(named.approvers, ["alice", "bob"]);
}

// R10.8: what is in force already is cut down to what the operator allows now.
#[test]
fn a_profile_in_force_is_held_to_a_floor_that_rises() {
    let (_folder, profile) = profile(
        r#"{
  "security": { "level": "standard", "approvers": ["ada", "bob"], "approvalTimeoutMs": 90000 },
  "limits": { "maxTurns": 9, "maxSeconds": 5 }
}"#,
    );
    let risen = operator(
        "level = \"paranoid\"\napprovers = [\"bob\", \"carol\"]\napproval_timeout_ms = 1000\nmax_turns = 3\nmax_cost_usd = 0.5\nmax_seconds = 60",
    );
    assert!(risen.judge(&profile).is_err());
    let held = risen.hold(&profile).unwrap();
    assert_eq!((held.level, held.approval_timeout_ms), (Level::Paranoid, 1000));
    assert_eq!(held.approvers, ["bob"]);
    let limits = held.limits;
    assert_eq!(
        (limits.max_turns, limits.max_cost_usd, limits.max_seconds),
        (Some(3), Some(0.5), Some(5))
    );
    let nobody = operator("approvers = [\"carol\"]").hold(&profile).unwrap_err();
    assert!(nobody.errors()[0].message.contains("`ada` is not among"), "{nobody}");
}

#[test]
fn what_cannot_be_had_in_part_is_not_held() {
    let allowed = "allow_command_hooks = true\nwebhook_allowlist = [\"https://a.example\"]";
    for agent in [
        r#"{ "hooks": { "onToolCall": [{ "action": "command", "argv": ["hooks/check.sh"] }] } }"#,
        r#"{ "hooks": { "onStart": [{ "action": "webhook", "url": "https://a.example" }] } }"#,
        r#"{ "mcpServers": { "files": { "command": "mcp-files" } } }"#,
    ] {
        let (_folder, profile) = profile(agent);
        assert!(operator(allowed).hold(&profile).is_ok(), "{agent}");
        assert!(operator("").hold(&profile).is_err(), "{agent}");
    }
}

// R10.5
#[test]
fn with_no_list_webhooks_stay_on_this_machine_and_with_one_the_list_is_all_there_is() {
    let allows = |list: &str, url: &str| {
        let file = format!("webhook_allowlist = [{list}]");
        operator(&file).allows_webhook(&url.parse().unwrap())
    };
    assert!(allows("", "http://127.0.0.1:9000/x") && allows("", "http://[::1]:9000/x"));
    assert!(!allows("", "https://example.com/x"));
    assert!(!allows("\"https://example.com\"", "http://127.0.0.1:9000/x"));
    assert!(allows("\"http://127.0.0.1:9000/hooks\"", "http://127.0.0.1:9000/hooks/in"));
    assert!(!allows("\"http://127.0.0.1:9000/hooks\"", "http://127.0.0.1:2375/hooks/in"));
}

// R10.8: a server is a program too.
#[test]
fn servers_are_the_operators_to_allow() {
    let (_folder, profile) =
        profile(r#"{ "mcpServers": { "files": { "command": "mcp-files" } } }"#);
    let errors = operator("").judge(&profile).unwrap_err();
    let found: Vec<_> = errors.errors().iter().map(|e| e.message.as_str()).collect();
    assert_eq!(found, ["this profile runs programs, which is off by default"]);
    assert!(operator("allow_command_hooks = true").judge(&profile).is_ok());
}

#[test]
fn a_run_takes_no_more_than_the_operator_allows() {
    let floor = operator("max_turns = 10\nmax_cost_usd = 0.5\nmax_seconds = 60\n");
    let (_folder, greedy) = profile(
        "{\n  \"limits\": { \"maxTurns\": 11, \"maxCostUsd\": 0.51, \"maxSeconds\": 61 }\n}\n",
    );
    let errors = floor.judge(&greedy).unwrap_err();
    let found: Vec<&str> = errors.errors().iter().map(|e| e.message.as_str()).collect();
    let expected = [
        "`maxTurns` is more than the operator's 10",
        "`maxCostUsd` is more than the operator's 0.5",
        "`maxSeconds` is more than the operator's 60",
    ];
    assert_eq!(found, expected);
    let (_folder, modest) = profile("{ \"limits\": { \"maxTurns\": 3 } }");
    let limits = floor.judge(&modest).unwrap().limits;
    assert_eq!(
        (limits.max_turns, limits.max_cost_usd, limits.max_seconds),
        (Some(3), Some(0.5), Some(60))
    );
    assert_eq!(operator("").judge(&greedy).unwrap().limits.max_turns, Some(11));
}

// R8.6, R10.5
#[test]
fn the_operator_adds_to_the_environment_of_hooks_and_names_a_proxy() {
    let it = operator("webhook_proxy = \"http://127.0.0.1:3128\"\n[hook_env]\nTEAM = \"payments\"");
    assert_eq!(it.hook_env["TEAM"], "payments");
    assert_eq!(it.webhook_proxy.as_deref(), Some("http://127.0.0.1:3128"));
    let wrong = Operator::new("[hook_env]\n\"A=B\" = \"x\"", OperatorEnv::default());
    let errors = wrong.unwrap_err();
    assert_eq!(errors.errors()[0].message, "`hook_env`: `A=B` is not the name of a variable");
}

// R17.3
#[test]
fn the_operator_says_what_confined_processes_may_read_write_and_reach() {
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let it = operator(
        r#"[sandbox]
mode = "required"
read = ["~/.pyenv"]
write = ["/srv/out"]
caches = ["~/.cargo", "~/.npm"]
hosts = ["example.com", "*.example.org:443", "127.0.0.1"]
network = "proxy"
secrets = ["~/vault"]
allow_wider_hooks = false
[sandbox.mcp.github]
zone = "network"
hosts = ["api.github.com"]
"#,
    );
    let github =
        SandboxOfServer { zone: Some(Zone::Network), hosts: Some(texts(&["api.github.com"])) };
    let expected = SandboxSettings {
        mode: SandboxMode::Required,
        read: texts(&["~/.pyenv"]),
        write: texts(&["/srv/out"]),
        caches: Some(texts(&["~/.cargo", "~/.npm"])),
        hosts: Some(texts(&["example.com", "*.example.org:443", "127.0.0.1"])),
        network: SandboxNetwork::Proxy,
        secrets: texts(&["~/vault"]),
        allow_wider_hooks: Some(false),
        mcp: [("github".to_owned(), github)].into(),
    };
    assert_eq!(it.sandbox, expected);
    let default = operator("").sandbox.clone();
    assert_eq!((default.mode, default.hosts, default.caches), (SandboxMode::Ask, None, None));
    assert_eq!(
        (default.allow_wider_hooks, operator("[sandbox]").sandbox.allow_wider_hooks),
        (None, None)
    );
    assert_eq!(operator("[sandbox]\nhosts = []").sandbox.hosts, Some(Vec::new()));
    assert_eq!(
        operator("[sandbox]\nmode = \"off\"\nnetwork = \"direct\"").sandbox.network,
        SandboxNetwork::Direct
    );
}

// R8.8
#[test]
fn the_operator_can_forbid_a_wider_sandbox() {
    let (_folder, profile) = profile(
        r#"{
  "mcpServers": {
    "files": { "command": "mcp-files", "zone": "machine" },
    "other": { "command": "mcp-other", "zone": "safe" }
  },
  "hooks": { "onToolCall": [
    { "action": "command", "argv": ["hooks/check.sh"], "sandbox": "none" },
    { "action": "command", "argv": ["hooks/check.sh"], "sandbox": "network" },
    { "action": "command", "argv": ["hooks/check.sh"], "sandbox": "build" },
    { "action": "command", "argv": ["hooks/check.sh"], "sandbox": "workspace" }
  ] }
}
"#,
    );
    let allowed = operator("allow_command_hooks = true");
    allowed.judge(&profile).unwrap();
    let strict = operator("allow_command_hooks = true\n[sandbox]\nallow_wider_hooks = false");
    insta::assert_snapshot!("wider_hooks_refused", strict.judge(&profile).unwrap_err());
    assert!(strict.hold(&profile).is_err(), "also when the operator says so meanwhile");
}

// R10.8
#[test]
fn a_switch_in_the_environment_is_1_or_0_and_nothing_else() {
    let switched = |value| {
        let env = OperatorEnv { allow_command_hooks: Some(value), ..OperatorEnv::default() };
        Operator::new("", env).map(|operator| operator.allow_command_hooks)
    };
    assert_eq!((switched("1"), switched("0"), switched("")), (Ok(true), Ok(false), Ok(false)));
    for wrong in ["true", "false", "yes", " 1", "01"] {
        let errors = switched(wrong).unwrap_err();
        assert_eq!(errors.errors()[0].label, "expected 1 or 0", "{wrong:?}");
    }
}

const RULES: &str = "# Mine.
level = \"standard\"

[[approvals]] # pushing is fine
tool = \"terminal\"
allow = \"git push *\"
zone = \"network\"
since = 2025-11-17T22:20:05Z # when

# About files.
[[approvals]]
tool = \"edit_file\"
allow = \"src/**\"
zone = \"workspace\"
workspace = \"/home/ann/project\"
by = \"ann\"
[hook_env]
TEAM = \"red\"
";

// R11.7: a rule that is taken back takes nothing else with it.
#[test]
fn each_rule_knows_its_lines_in_the_file() {
    let read = operator(RULES).approvals.clone();
    let lines: Vec<usize> = read.iter().map(|rule| rule.line).collect();
    assert_eq!(lines, [4, 11]);
    let mut text = RULES.to_owned();
    for rule in read.iter().rev() {
        text.replace_range(rule.span.clone(), "");
    }
    assert_eq!(
        text,
        "# Mine.\nlevel = \"standard\"\n\n# About files.\n[hook_env]\nTEAM = \"red\"\n"
    );
    let inline = "approvals = [{ tool = \"mcp__a__b\", zone = \"external\" }]\n";
    assert!(operator(inline).approvals[0].span.is_empty());
}

// R11.7, R10.4
#[test]
fn everything_wrong_with_a_rule_is_shown_where_it_is_written() {
    let file = "[[approvals]]
tool = \"terminal\"
zone = \"network\"

[[approvals]]
tool = \"terminal\"
allow = \"git push:*\"
zone = \"never\"
folder = \"/x\"

[[approvals]]
tool = \"termial\"
allow = \"ls\"
zone = \"build\"
workspace = \"here\"

[[approvals]]
tool = \"terminal\"
allow = \"> out.txt\"
";
    let tools = crate::surprises::built_in();
    let env = OperatorEnv { tools: &tools, ..OperatorEnv::default() };
    let errors = Operator::new(file, env).unwrap_err();
    insta::assert_snapshot!("rules_that_do_not_load", errors.render(false));
}
