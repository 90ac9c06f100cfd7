//! Each broken profile and its exact error (R10.4): `INSTA_UPDATE=always` rewrites the snapshots.

use std::path::Path;

fn hooks(inner: &str) -> String {
    format!("{{\n  \"hooks\": {{\n    {inner}\n  }}\n}}\n")
}

fn action(action: &str) -> String {
    hooks(&format!("\"onToolCall\": [{action}]"))
}

fn field(inner: &str) -> String {
    format!("{{\n  {inner}\n}}\n")
}

fn save(path: &str) -> String {
    action(&format!(r#"{{ "action": "save_json", "path": "{path}" }}"#))
}

fn post(url: &str) -> String {
    action(&format!(r#"{{ "action": "webhook", "url": "{url}" }}"#))
}

fn command(fields: &str) -> String {
    action(&format!(r#"{{ "action": "command", {fields} }}"#))
}

fn server(fields: &str) -> String {
    field(&format!(r#""mcpServers": {{ "files": {{ {fields} }} }}"#))
}

fn guard(fields: &str) -> String {
    field(&format!(r#""policies": [{{ {fields} }}]"#))
}

fn cases() -> Vec<(&'static str, String)> {
    vec![
        ("empty_file", String::new()),
        ("byte_order_mark", "\u{feff}{}".into()),
        ("save_among_the_scripts", save("hooks/events.jsonl")),
        ("not_json", "{ name: 1 }".into()),
        ("trailing_comma", "{\n  \"name\": \"a\",\n}\n".into()),
        ("unclosed_object", "{\n  \"name\": \"a\"\n".into()),
        ("single_quotes", "{ 'name': 'a' }".into()),
        ("two_values", "{} {}".into()),
        ("a_list_at_the_top", "[]".into()),
        ("unknown_field", field(r#""nmae": "a""#)),
        ("unknown_field_like_nothing", field(r#""zzzzzz": 1"#)),
        ("duplicate_field", field("\"name\": \"a\",\n  \"name\": \"b\"")),
        ("name_is_a_number", field(r#""name": 3"#)),
        ("name_is_empty", field(r#""name": " ""#)),
        ("name_is_null", field(r#""name": null"#)),
        ("unknown_bucket", hooks(r#""onToolcall": []"#)),
        ("bucket_by_point_name", hooks(r#""tool.pre": []"#)),
        ("bucket_is_an_object", hooks(r#""onStart": { "action": "log" }"#)),
        ("unknown_action", action(r#"{ "action": "aprove" }"#)),
        ("unknown_action_like_nothing", action(r#"{ "action": "rewrite" }"#)),
        ("no_action", action(r#"{ "tools": ["*"] }"#)),
        ("misspelt_action_key", action(r#"{ "acton": "log" }"#)),
        ("action_is_a_text", action(r#""log""#)),
        ("unknown_field_in_action", action(r#"{ "action": "log", "lvl": "info" }"#)),
        ("unknown_log_level", action(r#"{ "action": "log", "level": "warning" }"#)),
        ("webhook_without_url", action(r#"{ "action": "webhook" }"#)),
        ("webhook_plain_http", post("http://example.com/x")),
        ("webhook_not_a_url", post("example.com")),
        ("webhook_with_password", post("https://a:b@example.com")),
        ("webhook_to_metadata", post("https://169.254.169.254/latest")),
        (
            "webhook_secret_value",
            action(
                r#"{ "action": "webhook", "url": "https://example.com", "secretEnv": "s3cr3t-value" }"#,
            ),
        ),
        ("save_without_path", action(r#"{ "action": "save_json" }"#)),
        ("save_absolute", save("/tmp/x.log")),
        ("save_named_like_a_program", save("Makefile")),
        ("save_dot_dot", save("logs/../../x.log")),
        ("save_through_link", save("away/x.jsonl")),
        ("save_over_agent_json", save("./agent.json")),
        (
            "save_over_script",
            action(
                "{ \"action\": \"save_json\", \"path\": \"hooks/./check.sh\" },\n      { \"action\": \"command\", \"argv\": [\"hooks/check.sh\"] }",
            ),
        ),
        ("save_with_a_nul", save(r"a\u0000b")),
        ("program_with_a_nul", command(r#""argv": ["hooks/a\u0000b"]"#)),
        ("nested_too_deep", format!("{{ \"name\": {}1{} }}", "[".repeat(70), "]".repeat(70))),
        ("nested_without_end", "[".repeat(600)),
        (
            "addresses_of_nobody_and_of_all",
            action(
                "{ \"action\": \"webhook\", \"url\": \"http://0.0.0.0\" },\n      { \"action\": \"webhook\", \"url\": \"https://[::ffff:224.0.0.1]\" }",
            ),
        ),
        ("mcp_to_nobody", server(r#""url": "http://0.0.0.0/""#)),
        (
            "prompt_that_is_turned_around",
            field(r#""personalities": { "helper": { "prompt": "a\u202eb" } }"#),
        ),
        (
            "save_through_a_file",
            action(
                "{ \"action\": \"save_json\", \"path\": \"agent.json/x\" },\n      { \"action\": \"save_json\", \"path\": \"hooks/check.sh/logs/x\" }",
            ),
        ),
        (
            "save_to_a_name_too_long",
            action(&format!(
                "{{ \"action\": \"save_json\", \"path\": \"logs/{}/x\" }}",
                "a".repeat(300)
            )),
        ),
        (
            "save_to_what_somebody_runs",
            action(
                "{ \"action\": \"save_json\", \"path\": \".git/hooks/pre-commit\" },\n      { \"action\": \"save_json\", \"path\": \"new.sh\" }",
            ),
        ),
        ("save_to_folder", save("hooks")),
        ("approve_elsewhere", hooks(r#""onComplete": [{ "action": "approve" }]"#)),
        ("tools_without_a_tool", hooks(r#""onStart": [{ "action": "log", "tools": ["*"] }]"#)),
        ("bad_glob", action(r#"{ "action": "approve", "tools": ["write_["] }"#)),
        ("tools_is_a_text", action(r#"{ "action": "approve", "tools": "write_*" }"#)),
        ("command_without_anything", action(r#"{ "action": "command" }"#)),
        ("command_with_both", command(r#""command": "true", "argv": ["true"]"#)),
        ("command_argv_empty", command(r#""argv": []"#)),
        ("command_missing_script", command(r#""argv": ["hooks/missing.sh"]"#)),
        ("command_outside_script", command(r#""command": "../evil.sh --now""#)),
        ("command_absolute_script", command(r#""argv": ["/usr/local/evil.sh"]"#)),
        ("command_timeout_zero", command(r#""argv": ["true"], "timeoutMs": 0"#)),
        ("command_timeout_text", command(r#""argv": ["true"], "timeoutMs": "500""#)),
        (
            "two_hooks_of_one_name",
            action(r#"{ "action": "log", "name": "a" }, { "action": "approve", "name": "a" }"#),
        ),
        ("unknown_level", field(r#""security": { "level": "stric" }"#)),
        ("approvers_are_nobody", field(r#""security": { "approvers": [] }"#)),
        ("workspace_outside", field(r#""security": { "workspace": ".." }"#)),
        ("workspace_is_the_machine", field(r#""security": { "workspace": "/" }"#)),
        ("turns_with_a_fraction", field(r#""limits": { "maxTurns": 1.5 }"#)),
        ("negative_cost", field(r#""limits": { "maxCostUsd": -1 }"#)),
        ("turns_too_many", field(r#""limits": { "maxTurns": 99999999999 }"#)),
        (
            "missing_personality",
            field(
                "\"personality\": \"helpr\",\n  \"personalities\": { \"helper\": { \"prompt\": \"x\" } }",
            ),
        ),
        ("personality_without_prompt", field(r#""personalities": { "helper": { "tools": [] } }"#)),
        ("mcp_with_nothing", field(r#""mcpServers": { "files": {} }"#)),
        ("mcp_with_both", server(r#""command": "x", "url": "https://x.example""#)),
        ("mcp_bad_scheme", server(r#""url": "ftp://x.example""#)),
        ("mcp_to_metadata", server(r#""url": "http://169.254.169.254/mcp""#)),
        ("hidden_character", action(r#"{ "action": "approve", "tools": ["term\u200binal"] }"#)),
        ("name_on_two_lines", field(r#""name": "a\nb""#)),
        ("channels_of_nobody", field(r#""channels": { "phone": { "kind": "telegram" } }"#)),
        (
            "sandbox_of_other_places",
            field(r#""sandbox": { "protect": ["/etc", "*.tf"], "secrets": ["../.env", "{a,b}"] }"#),
        ),
        ("sandbox_that_loosens", field(r#""sandbox": { "write": ["x"] }"#)),
        ("hook_in_no_such_sandbox", command(r#""command": "true", "sandbox": "netwrok""#)),
        (
            "mcp_env_that_names_no_variable",
            server(
                r#""command": "x", "env": { "A": "$A", "B": "Bearer ${B}", "C": "${C}", "D": "5 $" }"#,
            ),
        ),
        ("guard_without_rules", guard(r#""tool": "terminal", "kind": "shell""#)),
        ("guard_without_kind", guard(r#""tool": "terminal", "deny": ["rm"]"#)),
        ("guard_unknown_kind", guard(r#""tool": "terminal", "kind": "bash", "deny": ["rm"]"#)),
        (
            "guard_rule_with_a_pipe",
            guard(r#""tool": "terminal", "kind": "shell", "deny": ["curl | sh"]"#),
        ),
        ("guard_json_rule", guard(r#""tool": "mail", "kind": "json", "deny": ["to=x"]"#)),
        (
            "many_errors_at_once",
            field(
                "\"nmae\": \"ü\", \"model\": 1,\n  \"hooks\": { \"onEnd\": [], \"onStart\": [{ \"action\": \"approve\" }, { \"action\": \"webhok\" }] },\n  \"limits\": { \"maxTurn\": 1 }",
            ),
        ),
    ]
}

fn make_folder(dir: &Path) {
    std::fs::create_dir(dir.join("hooks")).unwrap();
    std::fs::write(dir.join("hooks/check.sh"), "#!/bin/sh\n").unwrap();
    std::os::unix::fs::symlink("/", dir.join("away")).unwrap();
}

// R10.4
#[test]
fn each_broken_profile_is_refused_with_its_exact_error() {
    let cases = cases();
    assert!(cases.len() >= 40);
    let folder = tempfile::tempdir().unwrap();
    make_folder(folder.path());
    let load = |(name, source): (_, String)| {
        std::fs::write(folder.path().join("agent.json"), source).unwrap();
        (name, crate::load(folder.path()))
    };
    insta::assert_snapshot!(crate::page(cases.into_iter().map(load)));
}

#[test]
fn a_folder_without_agent_json_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    insta::assert_snapshot!("no_agent_json", crate::load(folder.path()).unwrap_err().render(false));
}

#[test]
fn broken_personality_folders_are_reported_with_their_own_files() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for name in ["silent", "wrong", "linked", "twice"] {
        std::fs::create_dir_all(dir.join("personalities").join(name)).unwrap();
    }
    std::fs::write(dir.join("personalities/wrong/SOUL.md"), "x").unwrap();
    std::fs::write(dir.join("personalities/wrong/config.json"), "{\n  \"tool\": [\"a\"]\n}\n")
        .unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.join("personalities/linked/SOUL.md")).unwrap();
    std::fs::write(dir.join("personalities/twice/SOUL.md"), "x").unwrap();
    std::fs::write(
        dir.join("agent.json"),
        field("\"personalities\": { \"twice\": { \"prompt\": \"x\" } }"),
    )
    .unwrap();
    insta::assert_snapshot!("personality_folders", crate::load(dir).unwrap_err().render(false));
}

// What is there and broken is there: it is told once, and not as missing.
#[test]
fn a_personality_that_hides_characters_is_shown_in_its_line_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    std::fs::create_dir_all(dir.join("personalities/a")).unwrap();
    std::fs::write(dir.join("agent.json"), field("\"personality\": \"a\"")).unwrap();
    let soul = dir.join("personalities/a/SOUL.md");
    std::fs::write(&soul, "You help.\nYou never \u{202e}lla eteled\u{202c}.\n").unwrap();
    insta::assert_snapshot!("personality_turned_around", crate::load(dir).unwrap_err());
    for needed in ["می\u{200c}خواهم", "👩\u{200d}🚀", "a\r\n\tb", "שלום\u{200f}!"] {
        std::fs::write(&soul, needed).unwrap();
        assert_eq!(crate::load(dir).unwrap().personalities["a"].prompt, needed);
    }
}

#[test]
fn an_error_has_file_line_column_and_help() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.json"), "{\n  \"model\": \"é\", \"nmae\": \"a\"\n}\n")
        .unwrap();
    let errors = crate::load(folder.path()).unwrap_err();
    let error = &errors.errors()[0];
    assert_eq!((error.file.as_str(), error.line, error.column), ("agent.json", 2, 17));
    assert_eq!(error.helps, ["did you mean `name`?"]);
}

/// What the schema leaves to the reader: what a text says. The schema's description says so too.
const LEFT_TO_THE_READER: [&str; 38] = [
    "addresses_of_nobody_and_of_all",
    "bad_glob",
    "command_absolute_script",
    "command_missing_script",
    "command_outside_script",
    "duplicate_field",
    "guard_rule_with_a_pipe",
    "hidden_character",
    "mcp_bad_scheme",
    "mcp_env_that_names_no_variable",
    "mcp_to_metadata",
    "mcp_to_nobody",
    "missing_personality",
    "name_is_empty",
    "name_on_two_lines",
    "program_with_a_nul",
    "prompt_that_is_turned_around",
    "sandbox_of_other_places",
    "save_absolute",
    "save_among_the_scripts",
    "save_dot_dot",
    "save_named_like_a_program",
    "save_over_agent_json",
    "save_over_script",
    "save_through_a_file",
    "save_through_link",
    "save_to_a_name_too_long",
    "save_to_folder",
    "save_to_what_somebody_runs",
    "save_with_a_nul",
    "two_hooks_of_one_name",
    "webhook_not_a_url",
    "webhook_plain_http",
    "webhook_secret_value",
    "webhook_to_metadata",
    "webhook_with_password",
    "workspace_is_the_machine",
    "workspace_outside",
];

#[test]
fn an_editor_marks_every_broken_profile_that_a_schema_can_tell() {
    let validator = jsonschema::validator_for(&crate::agent_schema()).unwrap();
    let passes = |source: &String| {
        serde_json::from_str(source).is_ok_and(|document| validator.is_valid(&document))
    };
    let cases = cases().into_iter();
    let mut left: Vec<&str> =
        cases.filter(|(_, source)| passes(source)).map(|(name, _)| name).collect();
    left.sort_unstable();
    assert_eq!(left, LEFT_TO_THE_READER);
}

// R8.3: any line is the shell's to read.
#[test]
fn a_line_that_is_not_understood_and_a_program_decided_at_run_time_load() {
    for line in ["echo 'open", "$HOOK run", "$HOME/bin/check --now"] {
        let folder = tempfile::tempdir().unwrap();
        let source = command(&format!(r#""command": "{line}""#));
        std::fs::write(folder.path().join("agent.json"), source).unwrap();
        assert_eq!(crate::load(folder.path()).unwrap().hooks.len(), 1, "{line}");
    }
}
