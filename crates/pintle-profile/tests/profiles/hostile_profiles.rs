//! A downloaded profile may be anything at all: none of it hangs the program, leads it astray or fools whoever reads.

use crate::surprises::{built_in, tool};
use pintle_policy::ToolSpec;
use pintle_profile::{declared_hooks, read_inside};
use pintle_profile::{on_one_line, visible};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Puts something in the place of a file.
type Make<'a> = &'a dyn Fn(&Path);

/// The errors of the profile, in one text. It has to come back at all.
fn refused(dir: &Path) -> String {
    crate::load(dir).map(|profile| panic!("{} was loaded", profile.name)).unwrap_err().to_string()
}

#[test]
fn an_agent_json_that_is_no_file_of_the_folder_is_refused_at_once() {
    let outside = folder();
    std::fs::write(outside.path().join("secret"), "{ \"hunter2\": 1 }").unwrap();
    let make: [(&str, Make<'_>); 5] = [
        ("not an ordinary file", &|file| fifo(file)),
        ("not an ordinary file", &|file| std::fs::create_dir(file).unwrap()),
        ("leads out of the profile's folder", &|file| symlink("/dev/zero", file).unwrap()),
        ("leads out", &|file| symlink(outside.path().join("secret"), file).unwrap()),
        ("larger than 1 MiB", &|file| {
            std::fs::File::create(file).unwrap().set_len(1 << 40).unwrap();
        }),
    ];
    for (reason, make) in make {
        let folder = folder();
        make(&folder.path().join("agent.json"));
        let said = refused(folder.path());
        assert!(said.contains(reason) && !said.contains("hunter2"), "{reason}: {said}");
    }
}

#[test]
fn a_prompt_that_is_no_file_of_the_folder_never_reaches_the_model() {
    for make in [
        (|file| fifo(file)) as fn(&Path),
        |file| symlink("/etc/passwd", file).unwrap(),
        |file| symlink("/dev/zero", file).unwrap(),
        |file| std::fs::write(file, b"\xff\xfe").unwrap(),
    ] {
        for name in ["SOUL.md", "config.json"] {
            let folder = folder();
            let of_personality = folder.path().join("personalities/guide");
            std::fs::create_dir_all(&of_personality).unwrap();
            std::fs::write(folder.path().join("agent.json"), "{}").unwrap();
            std::fs::write(of_personality.join("SOUL.md"), "You guide.").unwrap();
            std::fs::remove_file(of_personality.join(name)).ok();
            make(&of_personality.join(name));
            let said = refused(folder.path());
            assert!(said.contains(name) && said.contains("cannot be read"), "{said}");
        }
    }
}

#[test]
fn a_personalities_folder_that_leads_elsewhere_is_refused() {
    let (folder, outside) = (folder(), folder());
    std::fs::create_dir(outside.path().join("private")).unwrap();
    std::fs::write(outside.path().join("private/SOUL.md"), "hunter2").unwrap();
    std::fs::write(folder.path().join("agent.json"), "{}").unwrap();
    symlink(outside.path(), folder.path().join("personalities")).unwrap();
    let said = refused(folder.path());
    assert!(
        said.contains("leads out of the profile's folder") && !said.contains("hunter2"),
        "{said}"
    );
}

#[test]
fn more_than_anybody_writes_is_refused_and_more_than_anybody_reads_is_counted() {
    let folder = folder();
    let write = |text: String| std::fs::write(folder.path().join("agent.json"), text).unwrap();
    let list = |one: &str, n: usize| vec![one; n].join(",");
    write(format!(
        "{{ \"hooks\": {{ \"onStart\": [{}] }} }}",
        list("{\"action\":\"log\"}", 20_000)
    ));
    assert!(refused(folder.path()).contains("20000 entries, and at most 256 are read"));
    let keys: Vec<String> = (0..60_000).map(|n| format!("\"k{n}\": 1")).collect();
    write(format!("{{ {} }}", keys.join(",\n")));
    assert!(refused(folder.path()).contains("60000 entries"));
    // Within those bounds, as much wrong as there can be, all on one line.
    let policy = format!("{{ {} }}", keys[..200].join(","));
    write(format!("{{ \"policies\": [{}] }}", list(&policy, 250)));
    let errors = crate::load(folder.path()).unwrap_err();
    assert!(errors.errors().len() > 50_000);
    let said = errors.to_string();
    assert!(said.contains("errors, of which 50 are shown") && said.len() < 100_000);
}

// R10.4
#[test]
fn what_a_profile_is_called_looks_like_what_it_is() {
    let sources = [
        r#"{ "name": "a\u001b[2Jb" }"#,
        r#"{ "name": "a\nb" }"#,
        r#"{ "name": "x\u202eevil" }"#,
        r#"{ "hooks": { "onStart": [{ "action": "log", "name": "a\u009b31m" }] } }"#,
        r#"{ "hooks": { "onToolCall": [{ "action": "approve", "tools": ["term\u200binal"] }] } }"#,
        r#"{ "policies": [{ "tool": "terminal", "kind": "shell", "deny": ["r\u00adm *"] }] }"#,
        r#"{ "security": { "approvers": ["oper\u2060ator"] } }"#,
        r#"{ "personalities": { "gu\u001bide": { "prompt": "x" } } }"#,
        r#"{ "personalities": { "guide": { "prompt": "x\u001b[31m" } } }"#,
        r#"{ "hooks": { "onStart": [{ "action": "save_json", "path": "a\nb" }] } }"#,
        r#"{ "mcpServers": { "x\u0007": { "command": "y" } } }"#,
        // and in what is wrong for another reason
        r#"{ "na\u001b[31mme": "x", "hooks": { "onStart": [{ "action": "l\u001bog" }] } }"#,
        r#"{ "tools": { "allow": "a\u001b[31m" } }"#,
        "{ \"name\": \"raw \u{1b}[2J\" }",
    ];
    for source in sources {
        let folder = folder();
        std::fs::write(folder.path().join("agent.json"), source).unwrap();
        let errors = crate::load(folder.path()).unwrap_err();
        let shown = errors.render(false);
        let acts = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{200b}');
        assert!(!shown.contains(acts), "{source}: {shown:?}");
        assert!(errors.errors().iter().all(|e| !e.message.contains(acts)), "{source}");
    }
    // Pages may have lines, tabs and the marks that scripts need.
    let folder = folder();
    let page =
        r#"{ "personalities": { "a": { "prompt": "one\n\ttwo می\u200cخواهم 👩\u200d🚀" } } }"#;
    std::fs::write(folder.path().join("agent.json"), page).unwrap();
    assert!(crate::load(folder.path()).is_ok());
}

#[test]
fn a_folder_with_a_name_that_acts_on_a_terminal_is_shown_spelled_out() {
    let folder = folder();
    std::fs::create_dir_all(folder.path().join("personalities/a\u{1b}[31m\nb")).unwrap();
    std::fs::write(folder.path().join("agent.json"), "{}").unwrap();
    let said = refused(folder.path());
    assert!(said.contains("a\\u{1b}[31m\\nb") && !said.contains('\u{1b}'), "{said:?}");
}

#[test]
fn texts_of_strangers_are_spelled_out() {
    assert_eq!(visible("a\tb\r\nc"), "a\tb\nc");
    assert_eq!(visible("\u{1b}[2J\rhi\u{9b}"), "\\u{1b}[2J\\rhi\\u{9b}");
    assert_eq!(on_one_line("a\nb\u{202e}"), "a\\nb\\u{202e}");
    assert!(matches!(visible("plain é 漢 👍"), std::borrow::Cow::Borrowed(_)));
}

#[test]
fn a_file_is_read_only_inside_the_folder_and_only_so_far() {
    let folder = folder();
    std::fs::write(folder.path().join("ten"), "0123456789").unwrap();
    assert_eq!(read_inside(folder.path(), "ten", 10).unwrap(), b"0123456789");
    assert!(read_inside(folder.path(), "ten", 9).unwrap_err().to_string().contains("9 bytes"));
    for outside in ["../ten", "/etc/passwd", "a/../../x"] {
        assert!(read_inside(folder.path(), outside, 10).is_err(), "{outside}");
    }
}

// P6
#[test]
fn every_declared_hook_is_known_right_or_wrong() {
    let folder = folder();
    let source = r#"{
  "hooks": {
    "onToolCal": [{ "action": "log", "name": "lost" }],
    "onStart": [
      { "action": "log", "name": "fine" },
      { "action": "lgo" },
      { "action": "approve", "name": "misplaced" }
    ]
  }
}"#;
    std::fs::write(folder.path().join("agent.json"), source).unwrap();
    let errors = crate::load(folder.path()).unwrap_err();
    let found: Vec<_> = declared_hooks(folder.path(), &errors, &[])
        .into_iter()
        .map(|hook| (hook.name, hook.point, hook.source, hook.errors.first().map(|e| e.line)))
        .collect();
    let row = |name: &str, point, line: usize, wrong: bool| {
        (name.to_owned(), point, format!("agent.json:{line}"), wrong.then_some(line))
    };
    let expected = [
        row("lost", None, 3, true),
        row("fine", Some("session.start"), 5, false),
        row("lgo at agent.json:6", Some("session.start"), 6, true),
        row("misplaced", Some("session.start"), 7, true),
    ];
    assert_eq!(found, expected);
    std::fs::write(folder.path().join("agent.json"), "{ broken").unwrap();
    let errors = crate::load(folder.path()).unwrap_err();
    assert!(declared_hooks(folder.path(), &errors, &[]).is_empty());
}

fn tools(names: &[&str]) -> Vec<ToolSpec> {
    let bare = |name: &&str| ToolSpec::new(*name, "", serde_json::json!({}));
    let spec = |name: &&str| {
        built_in().into_iter().find(|it| it.name == *name).unwrap_or_else(|| bare(name))
    };
    names.iter().map(spec).collect()
}

#[test]
fn a_guard_that_looks_at_what_its_tools_do_not_take_is_a_slip() {
    let mut known = built_in();
    known.extend([
        tool("mcp__x", &["cmd", "from"]),
        ToolSpec::new("mcp__y", "", serde_json::json!({})),
        tool("mcp__z", &[]),
    ]);
    for (guard, said) in [
        (r#""tool": "write_*", "kind": "shell", "deny": ["rm"]"#, "takes a `command`"),
        (r#""tool": "delegate", "kind": "path", "deny": ["x"]"#, "takes a path"),
        (r#""tool": "terminal", "kind": "json", "deny": ["/comand=*rm*"]"#, "takes `comand`"),
        (r#""tool": "terminal", "kind": "json", "allow": ["/cwd/x"], "deny": ["/a"]"#, "takes `a`"),
        (r#""tool": "mcp__x", "kind": "shell", "deny": ["rm"]"#, "takes a `command`"),
        (r#""tool": "mcp__z", "kind": "path", "deny": ["a"]"#, "take no arguments"),
        (r#""tool": "*", "kind": "json", "deny": ["/anything"]"#, ""),
        (r#""tool": "*", "kind": "shell", "deny": ["rm"]"#, ""),
        (r#""tool": "*", "kind": "path", "allow": ["src"]"#, ""),
        (r#""tool": "mcp__*", "kind": "shell", "deny": ["rm"]"#, ""),
        // Any of its fields may hold a path.
        (r#""tool": "mcp__x", "kind": "path", "allow": ["src"]"#, ""),
        (r#""tool": "terminal", "kind": "path", "deny": ["x"]"#, ""),
    ] {
        let folder = folder();
        std::fs::write(
            folder.path().join("agent.json"),
            format!(r#"{{ "policies": [{{ {guard} }}] }}"#),
        )
        .unwrap();
        let checked = crate::load(folder.path()).unwrap().check_tools(&known);
        match said {
            "" => assert!(checked.is_ok(), "{guard}: {checked:?}"),
            said => {
                let errors = checked.unwrap_err();
                assert_eq!(errors.errors().len(), 1, "{guard}: {errors}");
                assert!(errors.to_string().contains(said), "{guard}: {errors}");
            }
        }
    }
}

#[test]
fn every_way_of_speaking_of_tools_is_known_with_its_line() {
    let folder = folder();
    let of_folder = folder.path().join("personalities/reader");
    std::fs::create_dir_all(&of_folder).unwrap();
    std::fs::write(of_folder.join("SOUL.md"), "x").unwrap();
    std::fs::write(of_folder.join("config.json"), r#"{ "tools": ["f"] }"#).unwrap();
    let source = r#"{ "hooks": { "onToolCall": [{ "action": "approve", "tools": ["a"] }] },
  "policies": [{ "tool": "b", "kind": "path", "deny": ["x"] }],
  "personalities": { "p": { "prompt": "x", "tools": ["c"] } },
  "tools": { "allow": ["d"], "deny": ["e"] } }"#;
    std::fs::write(folder.path().join("agent.json"), source).unwrap();
    let profile = crate::load(folder.path()).unwrap();
    let idle = profile.check_tools(&tools(&["terminal"])).unwrap();
    let found: Vec<String> =
        idle.into_iter().map(|w| format!("{}: {}", w.source, w.message)).collect();
    let expected = [
        ("agent.json:1", "a"),
        ("agent.json:2", "b"),
        ("agent.json:3", "c"),
        ("agent.json:4", "d"),
        ("agent.json:4", "e"),
        ("personalities/reader/config.json:1", "f"),
    ];
    let told =
        |(place, glob)| format!("{place}: `{glob}` fits no tool there is; the tools are terminal");
    assert_eq!(found, expected.map(told));
    assert!(
        profile.check_tools(&tools(&["abcdef", "a", "b", "c", "d", "e", "f"])).unwrap().is_empty()
    );
    // Close to a tool there is: each is an error, at its place.
    let errors = profile.check_tools(&tools(&["x"])).unwrap_err();
    assert_eq!((errors.errors().len(), errors.errors()[1].line), (6, 2), "{errors}");
    assert_eq!(profile.written(&["tools", "deny"]).unwrap(), "agent.json:4");
    assert_eq!(profile.written(&["security", "level"]), None);
}

// R10.6: what somebody runs by hand is no list of events, though no hook runs it.
#[test]
fn no_event_is_saved_to_a_file_that_may_be_run() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let loads = |path: &str, text: &str, mode: u32| {
        let file = folder.path().join(path);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let agent = format!(
            r#"{{ "hooks": {{ "onToolCall": [{{ "action": "save_json", "path": "{path}" }}] }} }}"#
        );
        std::fs::write(folder.path().join("agent.json"), agent).unwrap();
        crate::load(folder.path()).map(|_| ()).map_err(|it| it.to_string())
    };
    assert_eq!(loads("events.log", "{}\n", 0o644), Ok(()));
    assert_eq!(loads("empty.jsonl", "", 0o600), Ok(()));
    for (path, text, mode) in [("build.log", "make\n", 0o755), ("run.txt", "#!/bin/sh\n", 0o644)] {
        let told = loads(path, text, mode).unwrap_err();
        assert!(told.contains(&format!("`{path}` is a program")), "{told}");
    }
    for path in
        ["build.sh", "BUILD.SH", "Makefile", ".bashrc", ".envrc", "justfile", "x.mk", "build.rs"]
    {
        let told = loads(path, "", 0o644).unwrap_err();
        assert!(told.contains(&format!("`{path}` is not named like a list of events")), "{told}");
    }
}
