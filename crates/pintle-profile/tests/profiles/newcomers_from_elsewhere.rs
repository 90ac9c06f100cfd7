//! What somebody writes who comes from another program, and the exact answer (R10.4): `INSTA_UPDATE=always` rewrites the
//! snapshots. Files in another encoding or under another name are answered too.

use pintle_profile::{Profile, ProfileErrors};

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

fn load(name: &str, bytes: &[u8]) -> Result<Profile, ProfileErrors> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), bytes).unwrap();
    crate::load(folder.path())
}

#[test]
fn whoever_comes_from_another_program_is_told_what_to_write() {
    let load =
        |(name, source): &(&'static str, &str)| (*name, load("agent.json", source.as_bytes()));
    insta::assert_snapshot!(crate::page(CASES.iter().map(load)));
}

#[test]
fn a_file_in_another_encoding_or_under_another_name_is_told_from_one_that_is_not_there() {
    let in_utf_16 = |bytes: fn(u16) -> [u8; 2], mark: &str| -> Vec<u8> {
        format!("{mark}{{ \"name\": \"a\" }}\n").encode_utf16().flat_map(bytes).collect()
    };
    insta::assert_snapshot!(crate::page([
        ("utf_16", load("agent.json", &in_utf_16(u16::to_le_bytes, "\u{feff}"))),
        ("utf_16_without_a_mark", load("agent.json", &in_utf_16(u16::to_be_bytes, ""))),
        ("latin_1", load("agent.json", b"{\n  \"name\": \"J\xfcrgen\"\n}\n")),
        ("another_name", load("agent.jsonc", b"{}\n")),
    ]));
}
