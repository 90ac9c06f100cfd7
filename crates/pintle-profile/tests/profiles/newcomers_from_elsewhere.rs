//! What somebody writes who comes from another program, and the exact answer (R10.4): `INSTA_UPDATE=always` rewrites the
//! snapshots. Files in another encoding or under another name are answered too.

use pintle_profile::Profile;

const CASES: &[(&str, &str)] = &[
    (
        "settings_of_another_agent",
        r#"{
  "permissions": {
    "allow": ["Bash(npm run lint)", "Read(~/.zshrc)"],
    "deny": ["Bash(curl:*)", "Read(./.env)"]
  },
  "env": { "FOO": "1" },
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash|Write", "hooks": [{ "type": "command", "command": "./check.sh", "timeout": 5 }] }
    ]
  }
}
"#,
    ),
    (
        "an_assistant",
        r#"{
  "name": "helper",
  "instructions": "You are helpful.",
  "temperature": 0.7,
  "tools": [{ "type": "function", "function": { "name": "terminal" } }]
}
"#,
    ),
    (
        "moments_of_other_programs",
        r#"{
  "hooks": {
    "onToolcall": [], "pre_tool_use": [], "onToolStart": [], "beforeTool": [], "on_prompt": [],
    "onFinish": [], "SessionStart": [], "onFailure": [], "Notification": []
  }
}
"#,
    ),
    (
        "hooks_with_their_moment_inside",
        "{\n  \"hooks\": [\n    { \"on\": \"onToolCall\", \"action\": \"approve\" },\n    { \"on\": \"onStart\", \"action\": \"log\" }\n  ]\n}\n",
    ),
    (
        "one_hook_without_a_list",
        "{\n  \"hooks\": { \"onToolCall\": { \"action\": \"approve\", \"tools\": \"terminal\" } }\n}\n",
    ),
    (
        "written_twice",
        "{\n  \"name\": \"a\",\n  \"security\": { \"level\": \"strict\", \"level\": \"permissive\" },\n  \"name\": \"b\"\n}\n",
    ),
    (
        "a_profile_in_a_profile",
        "{\n  \"agent\": { \"name\": \"a\", \"hooks\": { \"onStart\": [{ \"action\": \"log\" }] } }\n}\n",
    ),
    (
        "times_with_their_unit",
        r#"{
  "limits": { "maxTurns": "20", "maxSeconds": "10m" },
  "security": { "approvalTimeoutMs": "30 min", "approvers": "alice" },
  "hooks": { "onToolCall": [
    { "action": "command", "command": "true", "timeoutMs": "5s", "worker": "yes" },
    { "action": "log", "level": "warning", "tools": "terminal" }
  ] }
}
"#,
    ),
    (
        "guards_by_tool",
        r#"{
  "policies": { "terminal": { "deny": ["rm -rf"] } },
  "guards": [{ "tool": "terminal", "kind": "shell", "deny": ["sudo"] }]
}
"#,
    ),
    (
        "everything_in_security",
        r#"{
  "security": {
    "level": "Strict",
    "policies": [{ "tool": "terminal", "kind": "shell", "deny": ["sudo"] }],
    "allowedTools": ["read_file"],
    "sandbox": true
  }
}
"#,
    ),
    (
        "servers_of_another_program",
        r#"{
  "mcpServers": {
    "github": { "type": "stdio", "command": "npx", "args": "-y server-github", "disabled": false },
    "remote": { "url": "https://mcp.example/sse", "headers": { "Authorization": "Bearer x" } }
  }
}
"#,
    ),
    (
        "refusing_by_an_action",
        r#"{
  "security": { "level": 3, "zones": { "network": "ask" } },
  "hooks": { "onToolCall": [
    { "action": "deny", "tools": ["terminal"] }, { "action": "block" }, "approve", { "action": ["log", "approve"] }
  ] }
}
"#,
    ),
    ("nothing_but_a_comment", "// nothing yet\n"),
    ("lines_of_windows", "{\r\n  \"name\": \"a\",\r\n  \"hoks\": {}\r\n}\r\n"),
    (
        "written_by_python",
        "{'name': 'a', 'hooks': {'onToolCall': [{'action': 'approve', 'tools': None}]}}\n",
    ),
    ("yaml_with_a_list", "name: sample\nhooks:\n  onToolCall:\n    - action: log\n"),
];

fn told(name: &str, file: &str, bytes: &[u8]) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    let _bound = settings.bind_to_scope();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(file), bytes).unwrap();
    let errors = Profile::load(folder.path()).expect_err(name);
    insta::assert_snapshot!(name, errors.render(false));
    for error in errors.errors() {
        assert!(!error.helps.is_empty(), "{name}: no way out: {}", error.message);
    }
}

#[test]
fn whoever_comes_from_another_program_is_told_what_to_write() {
    for (name, source) in CASES {
        told(name, "agent.json", source.as_bytes());
    }
}

#[test]
fn a_file_in_another_encoding_is_told_from_one_that_is_not_there() {
    let in_utf_16 = |bytes: fn(u16) -> [u8; 2], mark: &str| -> Vec<u8> {
        format!("{mark}{{ \"name\": \"a\" }}\n").encode_utf16().flat_map(bytes).collect()
    };
    told("utf_16", "agent.json", &in_utf_16(u16::to_le_bytes, "\u{feff}"));
    told("utf_16_without_a_mark", "agent.json", &in_utf_16(u16::to_be_bytes, ""));
    told("latin_1", "agent.json", b"{\n  \"name\": \"J\xfcrgen\"\n}\n");
}

#[test]
fn a_file_under_another_name_is_found() {
    told("another_name", "agent.jsonc", b"{}\n");
}
