//! R12.6: the page of `pintle serve`, in a real browser. The scenarios are in `browser/`; `cargo xtask test` installs Chromium,
//! playwright-core and axe-core.

use std::{
    collections::BTreeSet,
    fs,
    net::TcpListener,
    path::Path,
    process::{Command, Output},
};

use serde_json::json;

use crate::{serving::Served, support::World};

fn browse(served: &Served, script: &str, scenario: &str, more: &str) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/browser");
    let mut node = Command::new("node");
    node.current_dir(&folder)
        .args([script, &served.address, &served.token, scenario, more])
        .output()
        .unwrap()
}

#[track_caller]
fn browses(served: &Served, script: &str, scenario: &str, more: &str) {
    let seen = browse(served, script, scenario, more);
    let told = String::from_utf8_lossy(&seen.stderr);
    assert!(seen.status.success(), "{script} {scenario}: {told}");
}

#[test]
fn a_click_approves_and_the_tool_runs_a_click_denies_and_it_does_not() {
    let world = World::strict();
    let served = Served::start(&world);
    browses(&served, "approvals.mjs", "scripts-on", &world.file("").display().to_string());
    served.kill();
}

#[test]
fn approvals_are_answered_with_scripts_off() {
    let world = World::strict();
    let served = Served::start(&world);
    browses(&served, "approvals.mjs", "scripts-off", &world.file("").display().to_string());
    served.kill();
}

/// R11.7: the rule is in the label, and what is written down is that rule.
#[test]
fn always_approves_the_rule_that_the_label_shows() {
    let world = crate::rules::repository();
    let lines = ["one", "two"].map(|branch| Some(crate::rules::push(branch)));
    let [one, two] = lines;
    let model = crate::rules::running(&world, &[one, None, two, None]);
    let served = Served::start_with(&world, &["--model", &model]);
    browses(&served, "rule.mjs", "rule", "");
    served.kill();
    assert!(crate::rules::was_pushed(&world, "one") && crate::rules::was_pushed(&world, "two"));
    let written = fs::read_to_string(world.data().join("pintle.toml")).unwrap();
    assert!(written.contains("git push *"), "{written}");
}

#[test]
fn a_blocked_call_is_seen_live_in_eight_tabs_and_after_a_lost_connection() {
    let world = World::new();
    // Free now, and the test's own a moment later.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let served = Served::start_with(&world, &["--host", &format!("127.0.0.1:{port}")]);
    browses(&served, "live.mjs", "live", &port);
    served.kill();
}

/// Prompt, words, calls at the same time with their own hooks, a sub-agent, and the export.
#[test]
fn a_past_run_is_read_step_by_step_and_exported() {
    let world = World::new();
    let run = |id: &str, command: &str| json!({ "id": id, "name": "terminal", "input": { "command": command } });
    let delegate = json!({ "id": "three", "name": "delegate", "input": { "task": "see" } });
    let model = world.script("both.json", &json!([
        { "text": "I look at three things.", "toolCalls": [run("one", "echo one"), run("two", "rm -rf /"), delegate] },
        { "text": "I go and see.", "toolCalls": [run("one", "echo seen")] },
        { "text": "Seen." },
        { "text": "All is well." },
    ]));
    let served = Served::start_with(&world, &["--model", &model]);
    browses(&served, "run.mjs", "run", "");
    served.kill();
}

#[test]
fn ten_thousand_rows_keep_the_document_small() {
    let world = World::new();
    let served = Served::start(&world);
    browses(&served, "rows.mjs", "rows", "");
    served.kill();
}

/// The page asks in the words of the terminal and of `pintle approvals`.
#[test]
fn a_question_reads_the_same_on_the_page_and_on_the_command_line() {
    let strict = World::strict();
    let (command, (change, story)) = (Served::start(&strict), story());
    for (world, served, text) in
        [(&strict, &command, "run echo 'a & <b>' > made"), (&change, &story, "Fix it")]
    {
        served.say("a", "1", text, "Prefer: respond-async\r\n");
        let id = world.pending()["id"].as_str().unwrap().to_string();
        let said = world.run(&["approvals", "show", &id]);
        let page = served.text(&format!("/approvals/{id}"));
        let page = page.replace("&#38;", "&").replace("&#60;", "<").replace("&#62;", ">");
        let page = page.replace("&#39;", "'").replace("&#34;", "\"");
        let lines = said.out.lines().take_while(|line| !line.starts_with("  args"));
        for (nth, line) in lines.enumerate() {
            let words = match nth {
                0 => line.trim_start_matches("? ").split("  ").next().unwrap(),
                // Without the number and the sign of a line of a diff.
                _ => line.rsplit("│ ").next().unwrap().trim(),
            };
            assert!(!words.is_empty() && page.contains(words), "`{words}` of {said}: {page}");
        }
    }
    command.kill();
    story.kill();
}

/// A gateway with something to see: a hook that blocks, one that fails, one that never fires, a question.
fn story() -> (World, Served) {
    let world = World::new();
    fs::create_dir(world.data()).unwrap();
    fs::write(world.data().join("pintle.toml"), "allow_command_hooks = true\n").unwrap();
    world.write(
        "src/retry.rs",
        "pub fn delay(attempt: u32) -> u64 {\n    100 * 2u64.pow(attempt)\n}\n",
    );
    let force = "#!/bin/sh\ncase \"$(cat)\" in\n  *--force*) echo 'force push to main is not allowed' >&2; exit 2 ;;\nesac\n";
    world.executable("hooks/no-prod.sh", force);
    world.executable("hooks/lint.sh", "#!/bin/sh\necho 'lint: no such rule' >&2\nexit 1\n");
    world.executable("hooks/audit.sh", "#!/bin/sh\ncat > /dev/null\n");
    let hook = |name: &str, tools: &[&str]| {
        let argv = [format!("hooks/{name}.sh")];
        json!({ "action": "command", "name": name, "argv": argv, "tools": tools })
    };
    let hooks = json!({
        "onToolCall": [
            hook("no-prod", &["terminal"]),
            { "action": "approve", "name": "ask-edits", "tools": ["edit_file"] },
        ],
        "onToolEnd": [hook("lint", &["terminal"]), hook("audit", &["terminal"])],
        "onError": [{ "action": "command", "name": "page-someone", "argv": ["hooks/audit.sh"] }],
    });
    world.write("agent.json", json!({ "name": "coder", "hooks": hooks }).to_string());
    assert_eq!(world.run(&["trust", ".", "--accept"]).code, Some(0));
    let run = |command: &str| json!({ "name": "terminal", "input": { "command": command } });
    let usage = json!({ "inputTokens": 6204, "outputTokens": 311 });
    let edit = json!({
        "path": "src/retry.rs",
        "old": "    100 * 2u64.pow(attempt)\n",
        "new": "    100u64.saturating_mul(2u64.saturating_pow(attempt)).min(60_000)\n",
    });
    let model = world.script("story.json", &json!([
        { "delayMs": 240, "usage": usage, "toolCalls": [run("git push --force origin main")] },
        { "delayMs": 180, "usage": usage, "toolCalls": [run("cat src/retry.rs"), run("sleep 0.3; echo 11 passed")] },
        { "delayMs": 200, "usage": usage, "toolCalls": [{ "name": "edit_file", "input": edit }] },
        { "delayMs": 20, "text": "Two fixes and a new retry policy." },
    ]));
    let notes =
        ["--criteria", "The notes name every change of the API.", "--check", "test -s NOTES.md"];
    for ticket in [
        ["tickets", "create", "Write the release notes"].as_slice(),
        &["tickets", "create", "Retry uploads"],
    ] {
        let more = if ticket[2].starts_with("Write") { notes.as_slice() } else { &[] };
        assert_eq!(world.run(&[ticket, more].concat()).code, Some(0));
    }
    world.run(&["tickets", "take", "1"]);
    world.run(&["tickets", "complete", "1", "--summary", "The notes are written."]);
    let served = Served::start_with(&world, &["--profile", ".", "--model", &model]);
    (world, served)
}

/// Pictures of every page, and no serious finding of axe on any of them. `cargo xtask pictures` keeps the pictures, those of the docs
/// with their words beside them, which are compared with the page.
#[test]
fn every_page_is_readable_on_a_desk_and_on_a_phone_in_light_and_dark() {
    let (world, served) = story();
    let folder = world.file("pictures");
    fs::create_dir(&folder).unwrap();
    browses(&served, "pictures.mjs", "pictures", &folder.display().to_string());
    served.kill();
    let made = fs::read_dir(&folder).unwrap().count();
    assert_eq!(made, 40, "ten pages on two screens, each with its words");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (kept, all) = (root.join("docs/pictures"), root.join("target/pictures"));
    let in_docs = [("live-desktop", "live"), ("question-phone", "question")];
    if std::env::var_os("PINTLE_UPDATE").is_some_and(|value| value == "1") {
        fs::create_dir_all(&all).unwrap();
        for picture in fs::read_dir(&folder).unwrap() {
            let picture = picture.unwrap().path();
            fs::copy(&picture, all.join(picture.file_name().unwrap())).unwrap();
        }
        for ((from, to), kind) in in_docs.iter().flat_map(|it| [(it, "png"), (it, "txt")]) {
            let to = kept.join(format!("{to}.{kind}"));
            fs::copy(folder.join(format!("{from}.{kind}")), to).unwrap();
        }
    }
    for (page, name) in in_docs {
        let text = |path: std::path::PathBuf| fs::read_to_string(path).unwrap_or_default();
        let drawn = words_of_a_page(&text(folder.join(format!("{page}.txt"))));
        let is_old = format!("{name}.png is out of date: `cargo xtask pictures` draws it anew");
        assert_eq!(words_of_a_page(&text(kept.join(format!("{name}.txt")))), drawn, "{is_old}");
        assert!(drawn.len() > 20, "{name}.png shows nothing: {drawn:?}");
    }
}

/// The words of a page in the order of the alphabet, without figures, units and ids: rows of calls at the same time change places.
fn words_of_a_page(text: &str) -> BTreeSet<String> {
    let differs = |word: &&str| {
        let is_short_id =
            word.len() == 4 && word.chars().all(|c| "bcdfghjkmnpqrstvwxz".contains(c));
        is_short_id
            || word.contains(|c: char| c.is_ascii_digit())
            || ["ms", "s", "µs", "min", "now", "just", "ago"].contains(word)
    };
    text.split_whitespace().filter(|word| !differs(word)).map(str::to_owned).collect()
}
