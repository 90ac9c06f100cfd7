//! Each broken pintle.toml and its exact error (R10.4, R10.8): `INSTA_UPDATE=always` rewrites the snapshots.

use pintle_profile::{Operator, OperatorEnv};

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
    insta::assert_snapshot!(Operator::new(file, OperatorEnv::default()).unwrap_err());
}

const CASES: &[(&str, &str)] = &[
    // R10.5: what cannot be a proxy is told before a webhook is sent.
    ("no_url_as_a_proxy", "webhook_proxy = \"not a url\"\n"),
    ("a_proxy_of_another_kind", "webhook_proxy = \"ftp://x\"\n"),
    ("a_proxy_without_a_scheme", "webhook_proxy = \"proxy.example.com:3128\"\n"),
    ("a_blank_as_a_proxy", "webhook_proxy = \" \"\n"),
    ("metadata_as_a_proxy", "webhook_proxy = \"http://169.254.169.254/\"\n"),
    // R10.5: an entry that covers nothing is no entry.
    (
        "stars_in_an_allowlist",
        r#"webhook_allowlist = ["https://*", "https://*.a.example/", "https://a.example/*", "https://a.example:8443/x/y*z/"]
"#,
    ),
    // Checked as far as it can be read.
    ("no_toml", "level: strict\napprovers = [\"alice\"\nmax_turn = 3\ndisable_hooks = yes\n"),
    ("a_key_twice", "level = \"strict\"\nlevel = \"paranoid\"\nmax_turns = 0\n"),
    ("no_approvers", "approvers = []\n"),
    ("an_approver_without_a_name", "approvers = [\"alice\", \" \"]\n"),
    // R17.3, R17.7
    (
        "everything_in_the_sandbox",
        r#"[sandbox]
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
"#,
    ),
];

#[test]
fn each_broken_file_and_environment_is_refused_with_its_exact_error() {
    let of_file =
        |(name, file): &(&'static str, &str)| (*name, Operator::new(file, OperatorEnv::default()));
    let stars = Some("https://a.example/*");
    let stars = OperatorEnv { webhook_allowlist: stars, ..OperatorEnv::default() };
    let both = OperatorEnv {
        allow_command_hooks: Some("yes please"),
        disable_hooks: Some("on"),
        webhook_allowlist: Some("https://a.example, ftp://b.example"),
        tools: &[],
    };
    let alone = OperatorEnv { disable_hooks: Some("on"), ..OperatorEnv::default() };
    let of_environment = [
        ("stars_in_the_environment", Operator::new("", stars)),
        ("file_and_environment", Operator::new("levl = \"strict\"\n", both)),
        ("the_environment_alone", Operator::new("", alone)),
    ];
    insta::assert_snapshot!(crate::page(CASES.iter().map(of_file).chain(of_environment)));
}

#[test]
fn a_proxy_may_have_a_user() {
    let file = "webhook_proxy = \"http://user:word@proxy.example.com:3128\"\n";
    Operator::new(file, OperatorEnv::default()).unwrap();
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
