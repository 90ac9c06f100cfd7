//! What the program makes of its environment and of where it is started.

use serde_json::Value;

use crate::support::World;

#[test]
fn an_empty_variable_counts_as_not_set() {
    let world = World::new();
    let empty = [
        "PINTLE_DATA",
        "PINTLE_MODEL",
        "PINTLE_ALLOW_COMMAND_HOOKS",
        "PINTLE_DISABLE_HOOKS",
        "PINTLE_WEBHOOK_ALLOWLIST",
        "OPENAI_BASE_URL",
        "TMPDIR",
        "XDG_DATA_HOME",
    ];
    for arguments in [&["chat", "-q", "list ."][..], &["demo", "--yes"], &["doctor"]] {
        let said = world.bare(arguments, &empty.map(|name| (name, "")));
        assert_eq!(said.code, Some(0), "{arguments:?} {said}");
        let left: Vec<_> = std::fs::read_dir(world.file("")).unwrap().collect();
        assert!(left.is_empty(), "{arguments:?} {left:?}");
    }
}

#[test]
fn an_empty_key_is_a_missing_one() {
    let world = World::new();
    let arguments = ["chat", "-q", "hello", "--model", "openai/gpt-5"];
    let unset = world.bare(&arguments, &[]);
    let empty = world.bare(&arguments, &[("OPENAI_API_KEY", "")]);
    assert_eq!((empty.code, &empty.err), (Some(1), &unset.err));
}

#[test]
fn the_demo_works_in_a_folder_that_is_gone() {
    let world = World::new();
    world.write("gone/file", "");
    let script =
        format!("cd gone && rm -r ../gone && exec {} demo --yes", env!("CARGO_BIN_EXE_pintle"));
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &script]).env_clear().envs(world.environment()).current_dir(world.file(""));
    let said = world.said(command.output().unwrap());
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.out.contains("0 ran unjudged"), "{said}");
}

const README: &str = include_str!("../../../../README.md");

// The first command of the README has to work without a key, a network or a home folder.
#[test]
fn the_first_command_of_the_readme_works_offline() {
    let (_, after) =
        README.split_once("```sh\ncargo install ").expect("it begins with the install");
    let typed = after.lines().nth(1).unwrap().split('#').next().unwrap().trim();
    let arguments = typed.strip_prefix("pintle ").expect(typed);
    let arguments: Vec<_> = arguments.split_whitespace().collect();
    assert_eq!(arguments[0], "demo");
    let world = World::new();
    // A request would fail at this proxy.
    let nowhere =
        ["http_proxy", "https_proxy", "all_proxy"].map(|name| (name, "http://127.0.0.1:9"));
    let said = world.bare(&arguments, &nowhere);
    assert_eq!(said.code, Some(0), "{said}");
    for shown in ["blocked", "(--yes)", "0 ran unjudged"] {
        assert!(format!("{}{}", said.out, said.err).contains(shown), "{shown}: {said}");
    }
}

#[test]
fn the_requests_of_the_readme_work_offline_at_once() {
    let (_, tried) = README.split_once("works offline at once (try ").expect("it says what to try");
    let tried = tried.split_once(')').unwrap().0;
    let requests: Vec<_> = tried.split('`').skip(1).step_by(2).collect();
    assert_eq!(requests, ["run ls", "write notes.txt: hello"]);
    let world = World::new();
    world.write("a.txt", "");
    for (request, shown) in requests.into_iter().zip(["a.txt", "notes.txt"]) {
        let said = world.run(&["chat", "-q", request]);
        assert_eq!(said.code, Some(0), "{said}");
        assert!(said.out.contains(shown), "{said}");
    }
    assert_eq!(std::fs::read_to_string(world.file("notes.txt")).unwrap(), "hello");
}

#[test]
fn the_hook_of_the_readme_guards_once_it_is_allowed_and_trusted() {
    let (_, block) = README.split_once("```json agent.json\n").expect("it shows a profile");
    let (block, rest) = block.split_once("```").unwrap();
    let world = World::new();
    world.write("agent.json", block);
    let refuse = "#!/bin/sh\ngrep -q secret || exit 0\necho 'no secrets' >&2\nexit 1\n";
    world.executable("hooks/check.sh", refuse);
    assert_ne!(world.pasted("pintle chat -q 'run ls'", &[]).code, Some(0));

    let quoted = |start| rest.split('`').find(|text| text.starts_with(start)).expect(start);
    let allowed = format!("{}; {}", quoted("export "), quoted("pintle trust "));
    let does = |request: &str| {
        let said = world.pasted(&format!("{allowed} >&2; pintle chat -q '{request}'"), &[]);
        assert_eq!(said.code, Some(0), "{request}: {said}");
        said.out
    };
    assert!(does("run ls").contains("agent.json"));
    assert!(does("run git push origin main").contains("denied by the rule `git push *`"));
    assert!(does("run cat secret").contains("no secrets"));
    does("write notes.txt: hello");
    assert!(!world.file("notes.txt").exists(), "a person is asked, and there is none");
}

// The slips of docs/others.md: each takes the guards of other agents away.
#[test]
fn a_slip_in_the_profile_keeps_every_tool_from_running() {
    let guard = r#"{ "action": "approve", "tools": ["write_*"] }"#;
    let slips = [
        format!(r#"{{ "hooks": {{ "onToolCall": [{guard}] }} }}{{"#),
        format!(
            r#"{{ "hooks": {{ "onToolCall": [{}] }} }}"#,
            guard.replace("}", r#", "timeout": "5s" }"#)
        ),
        format!(
            r#"{{ "hooks": {{ "onToolCall": [{guard}, {{ "matcher": 7, "hooks": "x" }}] }} }}"#
        ),
    ];
    for slip in slips {
        let world = World::new();
        world.write("agent.json", &slip);
        let said = world.run(&["chat", "-q", "run touch ran", "--profile", "."]);
        assert_eq!(said.code, Some(1), "{slip}: {said}");
        assert!(
            said.err.contains("does not load") && !world.file("ran").exists(),
            "{slip}: {said}"
        );
    }
}

#[test]
fn a_question_may_begin_with_a_dash() {
    let world = World::new();
    let said = world.run(&["chat", "-q", "-5 plus 3"]);
    assert_eq!(said.code, Some(0), "{said}");
    let exported: Value = world.exported();
    assert_eq!(exported["messages"][0]["message"]["text"], "-5 plus 3");
}

#[test]
fn what_cannot_be_written_is_a_failure_and_said_to_be() {
    let world = World::new();
    assert_eq!(world.run(&["chat", "-q", "list .", "--session", "full"]).code, Some(0));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = world.command(&["sessions", "export", "full"]);
    let said = world.said(command.stdout(full).output().unwrap());
    assert_eq!(said.code, Some(1), "{said}");
    assert!(said.err.contains("cannot write to standard output"), "{said}");
    // Whoever has read enough is told nothing.
    let mut command = world.command(&["sessions", "export", "full"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let said = world.said(command.stdout(writer).output().unwrap());
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""), "{said}");
}
