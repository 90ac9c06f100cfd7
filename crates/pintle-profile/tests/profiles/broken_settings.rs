//! Each broken pintle.toml and its exact error (R10.4, R10.8): `INSTA_UPDATE=always` rewrites the snapshots.

use pintle_profile::{Operator, OperatorEnv};

fn errors(file: &str) -> String {
    Operator::new(file, OperatorEnv::default()).unwrap_err().to_string()
}

#[test]
fn every_error_of_the_file_is_shown_at_once() {
    let file = r#"# A newcomer's.
levl = "strict"
level = "loose"
allowCommandHooks = true
allow_command_hooks = "yes"
approvers = "alice"
approval_timeout_ms = 0
max_turns = "20"
max_cost_usd = -1
max_seconds = 1.5
secrets = ["sk-live-1234", 7]
webhook_allowlist = ["https://a.example/hook", "http://b.example", "https://c.example/?x=1"]

[hook_env]
"A=B" = "x"
PORT = 8080

[security]
level = "strict"
"#;
    insta::assert_snapshot!(errors(file));
}

// R10.5: what cannot be a proxy is told before a webhook is sent.
#[test]
fn a_proxy_has_an_address() {
    let wrong = ["not a url", "ftp://x", "proxy.example.com:3128", " ", "http://169.254.169.254/"];
    let told = wrong.map(|wrong| errors(&format!("webhook_proxy = \"{wrong}\"\n")));
    insta::assert_snapshot!(told.join("\n\n"));
    let file = "webhook_proxy = \"http://user:word@proxy.example.com:3128\"\n";
    Operator::new(file, OperatorEnv::default()).unwrap();
}

// R10.5: an entry that covers nothing is no entry.
#[test]
fn an_allowlist_has_no_stars() {
    let stars = r#"webhook_allowlist = ["https://*", "https://*.a.example/", "https://a.example/*", "https://a.example:8443/x/y*z/"]
"#;
    insta::assert_snapshot!(errors(stars));
    let env =
        OperatorEnv { webhook_allowlist: Some("https://a.example/*"), ..OperatorEnv::default() };
    insta::assert_snapshot!(Operator::new("", env).unwrap_err());
}

#[test]
fn a_file_that_is_no_toml_is_checked_as_far_as_it_can_be_read() {
    let file = "level: strict\napprovers = [\"alice\"\nmax_turn = 3\ndisable_hooks = yes\n";
    insta::assert_snapshot!(errors(file));
}

#[test]
fn a_key_that_is_written_twice_is_no_toml() {
    insta::assert_snapshot!(errors("level = \"strict\"\nlevel = \"paranoid\"\nmax_turns = 0\n"));
}

#[test]
fn nobody_can_be_named_in_no_way() {
    let named = ["[]", "[\"alice\", \" \"]"].map(|who| errors(&format!("approvers = {who}\n")));
    insta::assert_snapshot!(named.join("\n\n"));
}

#[test]
fn what_is_wrong_with_the_environment_is_shown_with_the_file() {
    let env = OperatorEnv {
        allow_command_hooks: Some("yes please"),
        disable_hooks: Some("on"),
        webhook_allowlist: Some("https://a.example, ftp://b.example"),
        tools: &[],
    };
    insta::assert_snapshot!(Operator::new("levl = \"strict\"\n", env).unwrap_err());
    let env = OperatorEnv { disable_hooks: Some("on"), ..OperatorEnv::default() };
    insta::assert_snapshot!(Operator::new("", env).unwrap_err());
}

// R11.5: who can be asked is somebody.
#[test]
fn an_approver_that_is_no_user_is_told_with_the_nearest() {
    let file = "\napprovers = [\"alcie\", \"bob\", \"zzz\", \"Operator\", \"operator\"]\n";
    let operator = Operator::new(file, OperatorEnv::default()).unwrap();
    let users = ["alice", "bob", "root"].map(str::to_owned);
    let is_user = |name: &str| users.iter().any(|user| user == name);
    let told = operator.strangers(&operator.approvers, &users, is_user);
    let lines: Vec<String> =
        told.into_iter().map(|told| format!("{}: {}", told.source, told.message)).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

// R17.3, R17.7
#[test]
fn every_error_of_the_sandbox_is_shown_at_once() {
    let file = r#"[sandbox]
mode = "on"
read = ["pyenv", "~ada/x", "/opt/../etc"]
caches = "~/.cargo"
network = "direct"
hosts = ["https://example.com", "ex ample.com", "*", "a.*.example", "example.com.", "example.com:0", "exämple.com", "a_b.example", "-a.example"]
wider = true

[sandbox.mcp.github]
zone = "external"
hosts = ["api.github.com:https"]

[sandbox.mcp.files]
zone = "build"
hosts = ["example.com"]
"#;
    insta::assert_snapshot!(errors(file));
}
