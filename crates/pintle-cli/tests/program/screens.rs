//! Every screen that is not a conversation, at 80 and at 50 columns, from real runs of the program.

use std::{collections::BTreeMap, fs, path::Path};

use insta::assert_snapshot;
use serde_json::json;

use crate::{
    chat::without_times,
    support::{Said, World},
    terminal::{keys, play_at, wait, wait_for_prompt},
    tiers::run_without,
};

const AGENT: &str = r#"{
  "name": "shop",
  "hooks": {
    "onStart": [{ "action": "log", "name": "hello" }],
    "onToolCall": [
      { "action": "command", "name": "scan", "argv": ["./hooks/scan.sh"] },
      { "action": "approve", "name": "ask-config", "tools": ["edit_file"] }
    ]
  },
  "policies": [{ "tool": "terminal", "kind": "shell", "deny": ["git push --force *"] }]
}
"#;

/// A profile with a hook that runs a program, and the operator's word that it may.
fn shop() -> World {
    let world = World::new();
    world.write("agent.json", AGENT);
    world.executable("hooks/scan.sh", "#!/bin/sh\ncat > /dev/null\nexit 0\n");
    fs::create_dir_all(world.data()).unwrap();
    fs::write(world.data().join("pintle.toml"), "allow_command_hooks = true\n").unwrap();
    world
}

/// The same screen in a wide and in a narrow terminal.
fn assert_screen(world: &World, name: &str, arguments: &[&str]) {
    assert_screen_of(world, name, arguments, |shown| shown);
}

/// The same, without what differs from run to run.
fn assert_screen_of(
    world: &World,
    name: &str,
    arguments: &[&str],
    without: impl Fn(String) -> String,
) {
    for columns in ["80", "50"] {
        let said = at(world, arguments, columns);
        for line in said.out.lines() {
            // A path or an id of a test is longer than what stands for it in a snapshot.
            let wide = line.chars().count() > columns.parse().unwrap();
            assert!(!wide || line.contains("TEMP"), "{columns}: {line}");
        }
        let shown: Vec<String> = said.to_string().lines().map(without_durations).collect();
        assert_snapshot!(format!("{name}_at_{columns}"), without(shown.join("\n")));
    }
}

/// The line with `N ms` in place of each duration, and with one space around it: its length differs from run to run.
fn without_durations(line: &str) -> String {
    let mut rest: Vec<&str> = line.split(' ').collect();
    let mut words: Vec<&str> = Vec::new();
    while !rest.is_empty() {
        let word = rest.remove(0);
        let is_number = word == "N"
            || !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || "<.".contains(c));
        if word == "TIME" || is_number && matches!(rest.first(), Some(&("ms" | "s"))) {
            while words.last() == Some(&"") {
                words.pop();
            }
            words.push(if word == "TIME" { word } else { "N ms" });
            rest.drain(..usize::from(word != "TIME"));
            while rest.first() == Some(&"") {
                rest.remove(0);
            }
        } else {
            words.push(word);
        }
    }
    words.join(" ")
}

/// `(<1 ms)` and `1.2 s,` as `(N ms)` and `N ms,`.
fn without_times_in_text(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_unit = |word: &str| ["ms", "s"].contains(&word.trim_end_matches([',', ':', ')']));
    let is_number = |word: &str| {
        let bare = word.trim_start_matches(['(', '<']);
        bare == "N" || !bare.is_empty() && bare.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let mut shown: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_time = is_number(word) && words.get(at + 1).is_some_and(|it| is_unit(it));
        let ends_a_time = is_unit(word) && at > 0 && is_number(words[at - 1]);
        shown.push(match () {
            () if is_time && word.starts_with('(') => "(N".to_owned(),
            () if is_time => "N".to_owned(),
            () if ends_a_time => format!("ms{}", word.trim_start_matches(['m', 's'])),
            () => (*word).to_owned(),
        });
    }
    shown.join(" ")
}

fn at(world: &World, arguments: &[&str], columns: &str) -> Said {
    world.said(world.command(arguments).env("COLUMNS", columns).output().unwrap())
}

#[test]
fn the_start_and_the_help() {
    let world = World::new();
    assert_screen(&world, "alone", &[]);
    assert_screen(&world, "help", &["--help"]);
    assert_screen(&world, "unknown_command", &["aproval"]);
    assert!(!world.data().exists(), "looking creates nothing");
}

#[test]
fn a_group_alone_lists() {
    let world = World::new();
    for group in ["hooks", "sessions", "approvals", "runs"] {
        assert_eq!(world.run(&[group]).code, Some(0), "{group}");
    }
    assert_screen(&world, "no_sessions", &["sessions"]);
    assert_screen(&world, "no_approvals", &["approvals"]);
    assert_screen(&world, "no_rules", &["approvals", "rules"]);
    assert_screen(&world, "no_runs", &["runs"]);
    assert_screen(&world, "no_trace", &["trace"]);
}

#[test]
fn lists_have_rows() {
    let world = World::strict();
    let rules = "level = \"strict\"\n
[[approvals]]\ntool = \"terminal\"\nallow = \"git push origin *\"\nzone = \"network\"\n
[[approvals]]\ntool = \"write_file\"\nallow = \"docs/reference/**\"\nzone = \"workspace\"\n";
    fs::write(world.data().join("pintle.toml"), rules).unwrap();
    assert_screen(&world, "rules", &["approvals", "rules"]);
    let command = "git fetch --all && git push --force-with-lease origin main";
    let call = json!({ "id": "t1", "name": "terminal", "input": { "command": command } });
    let asks = json!([{ "toolCalls": [call] }, { "text": "Pushed." }]);
    let asks = ["chat", "-q", "publish the release", "--model", &world.script("a.json", &asks)];
    assert_eq!(world.run(&["chat", "-q", "list ."]).code, Some(0));
    assert_eq!(world.run(&asks).code, Some(0), "without a person the call is refused");
    assert_screen(&world, "runs", &["runs"]);
    let mut chat = world.start(&[&asks[..], &["--wait-for-approval"]].concat());
    let id = world.pending()["id"].as_str().unwrap().to_owned();
    assert_screen(&world, "approvals", &["approvals"]);
    assert_screen_of(&world, "approval", &["approvals", "show", &id], |shown| {
        shown.replace("29m left", "30m left")
    });
    chat.kill().unwrap();
    chat.wait().unwrap();
}

#[test]
fn a_profile_is_reviewed_and_its_hooks_are_listed() {
    let world = shop();
    assert_screen(&world, "trust_of_a_new_profile", &["trust"]);
    assert_eq!(world.run(&["trust"]).code, Some(1), "without a person it is not trusted");
    assert_eq!(world.run(&["trust", "--accept"]).code, Some(0));
    assert_screen(&world, "hooks_of_a_trusted_profile", &["hooks"]);
    world.executable("hooks/scan.sh", "#!/bin/sh\ncat > /dev/null\nexit 2\n");
    assert_screen(&world, "trust_of_a_changed_profile", &["trust"]);
    assert_screen(&world, "hooks_of_a_changed_profile", &["hooks"]);
    assert_screen(&world, "doctor_with_problems", &["doctor"]);
    world.write("agent.json", AGENT.replace("onStart", "onStrat"));
    assert_screen(&world, "hooks_of_a_broken_profile", &["hooks", "list", "--profile", "."]);
}

#[test]
fn a_call_is_explained() {
    let world = shop();
    assert_eq!(world.run(&["trust", "--accept"]).code, Some(0));
    for (name, code, command) in [
        ("explain_run", 0, &["ls"][..]),
        ("explain_ask", 3, &["git", "push", "origin", "main"]),
        ("explain_refuse", 4, &["git", "push", "--force", "origin", "main"]),
    ] {
        let arguments = [&["explain", "--no-hooks", "--"], command].concat();
        assert_screen(&world, name, &arguments);
        assert_eq!(world.run(&arguments).code, Some(code), "{name}");
        let json = world.run(&[&["--json"], &arguments[..]].concat());
        let verdict = ["run", "", "", "ask", "refuse"][usize::try_from(code).unwrap()];
        assert_eq!((json.json()["verdict"].as_str(), json.code), (Some(verdict), Some(code)));
    }
    // The times of hooks differ, and with them the ends of lines.
    let unwrapped = |shown: String| {
        let lines = shown.replace("\n            ", " ");
        lines.split('\n').map(without_times_in_text).collect::<Vec<_>>().join("\n")
    };
    for (name, command) in [
        ("explain_with_hooks", &["ls"][..]),
        ("explain_what_a_guard_refuses", &["git", "push", "--force", "origin", "main"]),
    ] {
        let arguments = [&["explain", "--"], command].concat();
        assert_screen_of(&world, name, &arguments, unwrapped);
    }
    world.executable("hooks/scan.sh", "#!/bin/sh\ncat > /dev/null\necho 'not now' >&2\nexit 2\n");
    assert_eq!(world.run(&["trust", "--accept"]).code, Some(0));
    assert_screen_of(&world, "explain_what_a_hook_blocks", &["explain", "--", "ls"], unwrapped);
}

#[test]
fn without_a_sandbox_explain_and_the_banner_say_so() {
    let world = World::new();
    fs::create_dir_all(world.data()).unwrap();
    fs::write(world.data().join("pintle.toml"), "[sandbox]\nmode = \"off\"\n").unwrap();
    assert_screen(&world, "explain_with_the_sandbox_off", &["explain", "--no-hooks", "--", "ls"]);
    let screen = |name: &str, chat: &[&str]| {
        for columns in [80, 50] {
            let steps = [wait("session"), wait_for_prompt(), keys("/quit\r")];
            let screen = play_at(&world, columns, &[&["chat"], chat].concat(), &steps);
            assert_eq!(screen.code, 0, "{}", screen.text);
            let seen = without_times(&screen.rendered, &world);
            let short = world.run(&["sessions"]).out;
            let short = short.lines().nth(1).and_then(|row| row.split(' ').next());
            let seen = seen.replace(short.unwrap_or("no session"), "IDID");
            assert_snapshot!(format!("{name}_at_{columns}"), seen);
        }
    };
    screen("banner_with_the_sandbox_off", &[]);
    fs::remove_file(world.data().join("pintle.toml")).unwrap();
    assert_eq!(world.run(&["chat", "-q", "list ."]).code, Some(0));
    screen("banner_of_a_resumed_conversation", &["--continue"]);
    world.write("agent.json", AGENT);
    world.executable("hooks/scan.sh", "#!/bin/sh\ncat > /dev/null\nexit 0\n");
    screen("banner_of_an_untrusted_profile", &["--profile", "."]);
}

/// A machine without a sandbox is this one without the system calls that make one.
#[test]
fn on_a_machine_without_a_sandbox_explain_and_chat_say_so() {
    let world = World::new();
    let run = |arguments: &[&str]| {
        let nothing = [libc::SYS_unshare, libc::SYS_landlock_create_ruleset];
        run_without(&world, &nothing, arguments).to_string()
    };
    assert_snapshot!("explain_without_a_sandbox", run(&["explain", "--no-hooks", "--", "ls"]));
    assert_snapshot!("chat_without_a_sandbox", run(&["chat"]));
}

#[test]
fn a_sub_agent_is_below_the_run_that_started_it() {
    let world = World::new();
    let call = |name: &str, input: serde_json::Value| json!([{ "id": "t1", "name": name, "input": input }]);
    let usage = json!({ "inputTokens": 9100, "outputTokens": 212, "costUsd": 0.048 });
    let model = world.script(
        "delegates.json",
        &json!([
            { "usage": usage, "toolCalls": call("delegate", json!({ "task": "find callers" })) },
            { "usage": usage, "toolCalls": call("list_dir", json!({ "path": "." })) },
            { "usage": usage, "text": "None." },
            { "usage": usage, "text": "There are none." },
        ]),
    );
    fs::create_dir_all(world.data()).unwrap();
    let off = "[consumers]\noff = [\"injection_safety\"]\n";
    fs::write(world.data().join("pintle.toml"), off).unwrap();
    assert_eq!(world.run(&["stats"]).out, "No runs in this time.\n");
    let chat = ["chat", "-q", "fix the tax bug", "--model", &model];
    assert_eq!(world.run(&chat).code, Some(0));
    assert_screen(&world, "runs_with_a_sub_agent", &["runs"]);
    // Bars and their axis have the lengths of times.
    let without_bars = |shown: String| -> String {
        let row = |line: &str| {
            line.split(['█', '▒', '░', '▏', '┊']).next().unwrap().trim_end().to_owned()
        };
        let is_axis = |line: &&str| {
            let line = line.trim_start();
            ["N ms", "0 ", "▒", "█", "▏", "instant"].iter().any(|it| line.starts_with(it))
        };
        shown.lines().filter(|it| !is_axis(it)).map(row).collect::<Vec<_>>().join("\n")
    };
    assert_screen_of(&world, "trace_of_a_sub_agent", &["trace"], without_bars);
    let stats: Vec<_> = world.run(&["stats"]).to_string().lines().map(without_durations).collect();
    let without_dates = {
        let word = |word: &str| match word.chars().all(|c| c.is_ascii_digit() || c == '-') {
            true if word.matches('-').count() == 2 => "DATE".to_owned(),
            _ => word.replace('█', ""),
        };
        let row = |line: &str| {
            line.split_whitespace().map(word).collect::<Vec<_>>().join(" ").trim_end().to_owned()
        };
        // A long name is cut, at a length that the times decide.
        let named = |line: &String| match line.find("subagent_ended") {
            Some(at) => format!("background… {}", &line[at..]),
            None => line.clone(),
        };
        stats.iter().map(|line| row(&named(line))).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!("stats", without_dates);
}

/// Every file of a folder, with its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => {
                    files.insert(format!("{}/", path.display()), Vec::new());
                    open.push(path);
                }
                false => {
                    files.insert(path.display().to_string(), fs::read(&path).unwrap());
                }
            }
        }
    }
    files
}

#[test]
fn doctor_creates_and_changes_nothing() {
    let empty = World::new();
    assert_screen(&empty, "doctor_of_an_empty_machine", &["doctor"]);
    assert!(!empty.data().exists(), "the data folder was not there");
    let world = shop();
    assert_eq!(world.run(&["trust", "--accept"]).code, Some(0));
    assert_eq!(world.run(&["chat", "-q", "list ."]).code, Some(0));
    let (data, work) = (files(&world.data()), files(&world.file("")));
    for arguments in [&["doctor"][..], &["doctor", "--json"], &["doctor", "--show-prompt"]] {
        assert_eq!(world.run(arguments).code, Some(0), "{arguments:?}");
        assert_eq!(files(&world.data()), data, "{arguments:?}");
        assert_eq!(files(&world.file("")), work, "{arguments:?}");
    }
}

#[test]
fn the_same_short_id_stands_everywhere() {
    let world = World::new();
    assert_eq!(world.run(&["chat", "-q", "list ."]).code, Some(0));
    let run = world.run(&["runs", "--json"]).json();
    let (short, id) = (run["shortId"].as_str().unwrap(), run["runId"].as_str().unwrap());
    assert!(world.run(&["runs"]).out.contains(short));
    for named in [short, id] {
        let trace = world.run(&["trace", named]);
        assert!(trace.out.starts_with(&format!("run {short} ")), "{trace}");
    }
    let wrong = world.run(&["approvals", "show", short]);
    assert!(wrong.err.contains("is a run, not an approval"), "{wrong}");
    assert!(wrong.code == Some(1) && wrong.err.contains("fix: "), "{wrong}");
}

#[test]
fn ascii_and_colours_are_chosen() {
    let world = World::new();
    let seen = |arguments: &[&str], name: &str, value: &str| {
        world.said(world.command(arguments).env(name, value).output().unwrap()).out
    };
    for (name, value) in [("PINTLE_ASCII", "1"), ("LC_ALL", "C")] {
        let plain = seen(&["doctor"], name, value);
        assert!(plain.is_ascii() && plain.contains("+ sandbox"), "{plain}");
    }
    let coloured = seen(&["doctor", "--color", "always"], "TERM", "xterm");
    assert!(coloured.contains("\u{1b}[32m✓"), "{coloured:?}");
    for plain in [
        seen(&["doctor", "--color", "never"], "CLICOLOR_FORCE", "1"),
        seen(&["doctor"], "NO_COLOR", "1"),
    ] {
        assert!(!plain.contains('\u{1b}'), "{plain:?}");
    }
}
