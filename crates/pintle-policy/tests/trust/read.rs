//! What the lines of hooks and servers read, and what they run by a name (R10.9).

use crate::support::profile;
use pintle_policy::Profile;
use pintle_policy::profile::Scripts;
use serde_json::{Value, json};
use std::path::Path;

const FILES: [&str; 12] = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/index",
    ".npmrc",
    "etc/c.json",
    "etc/deny.txt",
    "log",
    "node_modules/a/index.js",
    "package.json",
    "seen",
    "src/main.py",
    "x.sh",
];

fn scripts(agent: &Value, more: &[(&str, &str)]) -> Scripts {
    let files: Vec<(&str, &str)> =
        FILES.map(|file| (file, "")).into_iter().chain(more.iter().copied()).collect();
    let folder = profile(&agent.to_string(), &files);
    Profile::load(folder.path()).unwrap_or_else(|e| panic!("{e}")).scripts
}

fn counts(agent: &Value) -> Vec<String> {
    scripts(agent, &[]).files.into_iter().collect()
}

fn line(command: &str) -> Value {
    json!({ "hooks": { "onToolCall": [{ "action": "command", "command": command }] } })
}

fn argv(words: &[&str]) -> Value {
    json!({ "hooks": { "onToolCall": [{ "action": "command", "argv": words }] } })
}

fn server(program: &str, args: &[&str]) -> Value {
    json!({ "mcpServers": { "x": { "command": program, "args": args } } })
}

// Whoever can change what a gate reads can disarm it.
#[test]
fn every_file_that_a_line_reads_counts_whatever_reads_it() {
    for command in [
        "! grep -qf etc/deny.txt",
        "! grep -qfetc/deny.txt",
        "! grep -q --file=etc/deny.txt",
        "! grep -qf \"$PINTLE_PROFILE_DIR/etc/deny.txt\"",
        "! grep -qf \"$PINTLE_PROFILE_DIR\"/etc/deny.txt",
        "! grep -qf ./etc/'deny'.txt",
        "! grep -qf etc/d*.txt",
        "cd etc && ! grep -qf deny.txt",
        "while read -r no; do [ \"$no\" != x ] || exit 2; done < etc/deny.txt",
        "no=$(cat etc/deny.txt); test \"$no\" != x",
        "for f in etc/*.txt; do grep -qf \"$f\" && exit 2; done",
        "for f in etc/deny.txt; do grep -qf \"$f\" && exit 2; done",
        "timeout 5 grep -qf etc/deny.txt",
        "curl -sf http://127.0.0.1:9/ -d @etc/deny.txt",
        "sort etc/deny.txt | tee -a log > seen",
        "cp etc/deny.txt seen",
        "curl -sd @etc/deny.txt -o seen http://127.0.0.1:9/",
    ] {
        assert_eq!(counts(&line(command)), ["etc/deny.txt"], "{command}");
    }
    let variable = counts(&line("list=etc/deny.txt; ! grep -qf \"$list\""));
    assert!(variable.contains(&"etc/deny.txt".to_owned()), "a variable may be for any program");
    assert_eq!(counts(&line("jq -e --slurpfile d etc/c.json '.x'")), ["etc/c.json"]);
    assert_eq!(counts(&argv(&["grep", "-qf", "etc/deny.txt"])), ["etc/deny.txt"]);
    assert_eq!(counts(&argv(&["sh", "-c", "grep -qf etc/deny.txt"])), ["etc/deny.txt"]);
}

// What says "no" to a file is not made of the files that it only lists, writes to or saves.
#[test]
fn what_a_line_writes_to_lists_or_saves_does_not_count() {
    for command in [
        "cat >> log",
        "date | tee -a log",
        "touch seen; rm -f log",
        "ls .",
        "ls src etc",
        "find . -name '*.txt'",
        "grep -rq secret src",
        "cat agent.json",
        "cat etc/../../etc/hosts ../* /etc/hosts",
        "grep -q '.*' ",
    ] {
        assert!(counts(&line(command)).is_empty(), "{command}");
    }
    let saves = json!({ "hooks": { "onToolCall": [
        { "action": "save_json", "path": "log.txt" },
        { "action": "command", "command": "tail -n 1 log.txt" }
    ] } });
    assert!(counts(&saves).is_empty());
}

// A list that a hook keeps cannot be trusted as it was; that the agent asks before it writes there is another matter.
#[test]
fn what_a_line_keeps_or_asks_for_is_no_part_of_trust_and_the_agent_has_to_ask() {
    for (command, file) in [
        ("grep -qx a seen || { echo a >> seen; exit 2; }", "seen"),
        ("n=$(cat log); echo \"x$n\" > log", "log"),
        ("[ ! -e etc/open ] || exit 0; exit 2", "etc/open"),
        ("test -f etc/deny.txt && exit 2", "etc/deny.txt"),
        ("cat later; date > later", "later"),
    ] {
        let found = scripts(&line(command), &[]);
        assert_eq!(found, scripts(&argv(&["sh", "-c", command]), &[]), "{command}");
        assert!(found.files.is_empty(), "{command}: {:?}", found.files);
        assert!(found.places().any(|place| place == Path::new(file)), "{command}");
    }
}

#[test]
fn a_program_that_takes_data_makes_no_other_file_count() {
    for command in [
        "notify-send 'Pintle' done",
        "say done",
        "osascript -e 'display notification \"done\"'",
        "tput bel",
        "paplay /usr/share/sounds/x.oga",
        "pbcopy < /dev/null",
        "xclip -selection clipboard",
        "mail -s done me@example.com",
        "wall done",
        "logger done",
        "gofmt -l .",
        "sort -u",
        "base64 -d",
        "[[ -n $X ]]",
    ] {
        assert!(counts(&line(command)).is_empty(), "{command}: {:?}", counts(&line(command)));
    }
    assert_eq!(counts(&line("shellcheck x.sh")), ["x.sh"]);
    for command in ["osascript -e 'do shell script \"make\"'", "osascript", "make", "npx eslint ."]
    {
        assert!(counts(&line(command)).contains(&"src/main.py".to_owned()), "{command}");
    }
}

#[test]
fn of_a_repository_counts_what_git_runs() {
    let git = [".git/hooks/pre-commit"];
    for command in
        ["git diff --quiet", "git status --porcelain", "git rev-parse HEAD", "git log -1 | cat"]
    {
        assert_eq!(counts(&line(command)), git, "{command}");
    }
    let config = "[core]\n\thooksPath = .husky\n[diff \"x\"]\n\ttextconv = tools/conv\n[branch \"src\"]\n\tmerge = refs/heads/src\n";
    let more = [
        (".git/config", config),
        (".husky/pre-push", "sh src/push.sh\n"),
        ("tools/conv", ""),
        ("src/push.sh", ""),
    ];
    let found = scripts(&line("git status"), &more).files;
    for file in [".git/config", ".husky/pre-push", "tools/conv", "src/push.sh"] {
        assert!(found.contains(file), "{file}");
    }
    assert!(!found.contains("src/main.py"));
    let elsewhere = counts(&line("git -C src status"));
    assert_eq!(elsewhere, [".git/hooks/pre-commit", "src/main.py"]);
    assert!(counts(&line("git bisect run make")).contains(&"seen".to_owned()));
}

#[test]
fn what_is_fetched_by_its_name_takes_data() {
    let node = [".npmrc", "node_modules/a/index.js", "package.json"];
    for (program, args) in [
        ("npx", &["-y", "@modelcontextprotocol/server-filesystem", "."][..]),
        ("npx", &["-y", "@modelcontextprotocol/server-filesystem@1.2.3", "src", "etc/c.json"]),
        ("bunx", &["some-server", "."]),
        ("pnpm", &["dlx", "some-server", "."]),
        ("npx", &["-y", "-p", "some-server", "serve", "."]),
    ] {
        assert_eq!(counts(&server(program, args)), node, "{program} {args:?}");
    }
    for (program, args) in [
        ("uvx", &["mcp-server-git", "--repository", "."][..]),
        ("uvx", &["--from", "some-server", "serve", "."]),
        ("pipx", &["run", "some-server", "."]),
        ("docker", &["run", "-i", "--rm", "-v", ".:/x", "mcp/filesystem", "/x"]),
    ] {
        assert!(counts(&server(program, args)).is_empty(), "{program} {args:?}");
    }
    // What runs files of the profile is not a program of others alone.
    for (program, args) in [
        ("npx", &["tsx", "server"][..]),
        ("npx", &["."]),
        ("npx", &["-c", "make"]),
        ("npx", &["some-proxy", "--", "make"]),
        ("uvx", &["--from", "./src", "serve"]),
        ("docker", &["compose", "up"]),
        ("npm", &["start"]),
    ] {
        assert!(counts(&server(program, args)).contains(&"seen".to_owned()), "{program} {args:?}");
    }
    let found = counts(&server("uvx", &["mcp", "run", "src/main.py"]));
    assert_eq!(found, ["src/main.py"]);
    let agent = json!({ "mcpServers": { "x": {
        "command": "npx", "args": ["-y", "some-server"], "env": { "NODE_OPTIONS": "--require ./src/x.js" }
    } } });
    assert!(counts(&agent).contains(&"seen".to_owned()), "a variable that steers it");
}

// A variable that the line begins by setting is known.
#[test]
fn what_a_line_runs_by_a_variable_of_its_own_counts() {
    let more = [("lib/x.sh", ""), ("lib/y.sh", "")];
    for command in [
        "f=lib/x.sh; sh $f",
        "f=lib/x.sh && sh \"$f\"",
        "f='lib/x.sh'\nbash ${f}",
        "d=lib; n=y.sh; sh $d/$n",
        "D=\"lib\"; sh \"$D/x.sh\" && echo 'no $D'",
    ] {
        let all = scripts(&line(command), &more);
        let found = &all.files;
        assert_eq!(all.unnamed, None, "{command}");
        assert!(found.contains("lib/x.sh") && found.contains("lib/y.sh"), "{command}: {found:?}");
        assert!(!found.contains("src/main.py"), "{command}: {found:?}");
    }
    for command in [
        "f=lib/x.sh; read f; sh $f",
        "f=lib/x.sh; f=$(cat); sh $f",
        "true; f=$x; sh $f",
        "for f in lib/*; do sh $f; done",
        "f=lib/x.sh; sh -c 'sh $f'",
    ] {
        let folder = profile(&line(command).to_string(), &more);
        let error = Profile::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("decided at run time"), "{command}: {error}");
    }
}
