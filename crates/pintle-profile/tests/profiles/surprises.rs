//! What lint tells of guards that load and may not do what somebody thinks (R11.1, P6).

use insta::assert_snapshot;
use pintle_policy::{ToolSpec, Zone};
use pintle_profile::Bounds;
use pintle_profile::Profile;

/// A tool that declares nothing but its fields, as an MCP server's.
pub(crate) fn tool(name: &str, fields: &[&str]) -> ToolSpec {
    let properties: serde_json::Map<_, _> =
        fields.iter().map(|field| (field.to_string(), serde_json::json!({}))).collect();
    ToolSpec::new(name, "", serde_json::json!({ "properties": properties }))
}

/// Tools like those that every agent has.
pub(crate) fn built_in() -> Vec<ToolSpec> {
    vec![
        tool("terminal", &["command", "cwd"])
            .in_zone(Zone::Build)
            .running_commands()
            .with_aliases(["bash"]),
        tool("write_file", &["path", "content"]).in_zone(Zone::Workspace).with_paths(["path"]),
        tool("edit_file", &["path", "old", "new"])
            .in_zone(Zone::Workspace)
            .with_paths(["path"])
            .with_aliases(["edit"]),
        tool("delegate", &["task"]).in_zone(Zone::Safe).with_paths([]),
    ]
}

fn load(agent: &str, tools: &[ToolSpec]) -> Result<Profile, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.json"), agent).unwrap();
    let bounds = Bounds { tools, ..Bounds::default() };
    crate::load_within(folder.path(), bounds).map_err(|errors| errors.to_string())
}

const GUARDS: &str = r#""policies": [
  { "tool": "*", "kind": "shell", "deny": ["rm"] },
  { "tool": "mcp__*", "kind": "shell", "deny": ["rm"] },
  { "tool": "*", "kind": "path", "allow": ["src"] },
  { "tool": "*", "kind": "path", "deny": ["src"] },
  { "tool": "write_*", "kind": "path", "deny": ["src"] },
  { "tool": "*", "kind": "json", "allow": ["/path=src/*", "/cwd"] },
  { "tool": "*", "kind": "json", "deny": ["/path=src/*"] }
]"#;

fn told(profile: &Profile, tools: &[ToolSpec]) -> String {
    let warnings = profile.surprises(tools);
    let line = |w: pintle_profile::Warning| format!("{}: {}", w.source, w.message);
    warnings.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_a_guard_refuses_whatever_it_is_and_what_it_does_not_see_is_told() {
    let mut tools = built_in();
    tools.push(tool("mcp__a__run", &["cmd"]));
    tools.push(tool("mcp__a__look", &["for"]));
    tools.push(tool("mcp__a__sh", &["command"]));
    let profile = load(&format!("{{ {GUARDS} }}"), &tools).unwrap();
    assert_snapshot!(told(&profile, &tools));
}

#[test]
fn of_servers_that_do_not_run_yet_it_is_told_in_general() {
    let servers = r#""mcpServers": { "a": { "command": "true" } }"#;
    let profile = load(&format!("{{ {servers}, {GUARDS} }}"), &built_in()).unwrap();
    assert_snapshot!(told(&profile, &built_in()));
}

// R11.1: rules are globs.
#[test]
fn a_rule_that_reads_like_a_regular_expression_is_told() {
    let agent = r#"{ "policies": [
  { "tool": "terminal", "kind": "shell", "deny": ["rm .*", "^sudo", "cat /home/.*", "git push *", "ls ."] },
  { "tool": "terminal", "kind": "json", "deny": ["/command=.*rm.*", "/command=*.rm"] },
  { "tool": "write_file", "kind": "path", "deny": [".*"] }
] }"#;
    let profile = load(agent, &built_in()).unwrap();
    assert_snapshot!(told(&profile, &built_in()));
}

// R10.4: the line, in whatever file of the profile.
#[test]
fn a_slip_in_a_personalitys_folder_is_shown_in_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let personality = folder.path().join("personalities/reader");
    std::fs::create_dir_all(&personality).unwrap();
    std::fs::write(folder.path().join("agent.json"), "{}").unwrap();
    std::fs::write(personality.join("SOUL.md"), "You read.").unwrap();
    let config = "{\n  // only these\n  \"tools\": [\"terminal\", \"writ_file\"]\n}\n";
    std::fs::write(personality.join("config.json"), config).unwrap();
    let tools = built_in();
    let bounds = Bounds { tools: &tools, ..Bounds::default() };
    assert_snapshot!(crate::load_within(folder.path(), bounds).unwrap_err());
}

// R10.4: a glob that fits nothing because of a slip is no other than a name with one.
#[test]
fn a_glob_that_nearly_fits_a_tool_does_not_load() {
    let mut tools = built_in();
    tools.extend([tool("read_file", &["path"]), tool("list_dir", &["path"])]);
    let agent = |glob: &str| {
        format!(
            r#"{{ "hooks": {{ "onToolCall": [{{ "action": "approve", "tools": ["{glob}"] }}] }} }}"#
        )
    };
    for (slip, meant) in [
        ("writ_*", "write_*"),
        ("wirte_*", "write_*"),
        ("Write*", "write*"),
        ("write_file_*", "write_file"),
        ("*_fiel", "*_file"),
        ("termnal*", "terminal"),
    ] {
        let loaded = load(&agent(slip), &tools);
        let error = loaded.unwrap_err();
        let words = [format!("no tool `{slip}`"), format!("did you mean `{meant}`?")];
        assert!(words.iter().all(|words| error.contains(words)), "{slip}: {error}");
    }
    // Tools of another day.
    for other in ["web_*", "git_*", "browser_*", "todo*", "*_issue", "*_page", "mcp__x__*"] {
        let told = load(&agent(other), &tools).unwrap().check_tools(&tools).unwrap();
        assert_eq!(told.len(), 1, "{other}: {told:?}");
    }
}

// R10.4: a profile with servers is held against the tools that every agent has, as far as no server could bring others.
#[test]
fn servers_hide_no_slip_about_what_is_built_in() {
    let agent = r#"{ "mcpServers": { "a": { "command": "true" } },
  "tools": { "deny": ["mcp__a__wrte", "*_thing", "m*"] },
  "policies": [
    { "tool": "teminal", "kind": "shell", "deny": ["rm"] },
    { "tool": "write_file", "kind": "shell", "deny": ["rm"] },
    { "tool": "delegate", "kind": "path", "deny": ["src"] },
    { "tool": "mcp__a__x", "kind": "shell", "deny": ["rm"] }
  ] }"#;
    assert_snapshot!(load(agent, &built_in()).unwrap_err());
}

// R11.1: a rule that loads and means something else to other programs.
#[test]
fn a_rule_that_other_programs_read_otherwise_is_told() {
    let agent = r#"{ "policies": [
  { "tool": "write_file", "kind": "path", "deny": ["app/[id]/page.tsx", "app/[...slug].tsx", "app/[[...all]]/x", "[user-id]"] },
  { "tool": "write_file", "kind": "path", "deny": ["app/[[]id]/x", "[ab]c/x", "[a-z]", "[!ab]/x", "[*]", "log[12]/x", "(shop)"] },
  { "tool": "terminal", "kind": "shell", "deny": ["git push.*", "rm .*"] },
  { "tool": "terminal", "kind": "shell", "deny": ["rm *.*", "git push *", "cat a.txt"] },
  { "tool": "write_file", "kind": "json", "deny": ["/content=a, b", "/content=a|b"] },
  { "tool": "write_file", "kind": "json", "deny": ["/content=curl*|*sh", "/content=*one thing, or two*"] }
] }"#;
    assert_snapshot!(told(&load(agent, &built_in()).unwrap(), &built_in()));
}
