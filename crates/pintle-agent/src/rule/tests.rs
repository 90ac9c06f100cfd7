//! R11.7: what a rule covers, and which one is offered.

use std::path::Path;

use proptest::{prelude::*, sample::select};
use serde_json::json;

use super::*;
use crate::{call::ProposedCall, random::cases};

/// Tools like those that every agent has.
fn spec(name: &str) -> ToolSpec {
    let spec = ToolSpec::new(name, "", json!({}));
    match name {
        "terminal" => spec.in_zone(Zone::Build).running_commands(),
        name if name.ends_with("_file") => spec.in_zone(Zone::Workspace).with_paths(["path"]),
        _ => spec,
    }
}

fn call(tool: &ToolSpec, args: Value) -> (FinalCall, Reach) {
    let reach = Reach::of(tool, &args, Path::new("/usr"));
    (ProposedCall { id: "t1".into(), tool: tool.name.clone(), args }.freeze(), reach)
}

fn covers(rule: &ApprovalRule, tool: &str, args: Value, zone: Zone) -> bool {
    let tool = spec(tool);
    let (call, reach) = call(&tool, args);
    rule.covers(&tool, &call, &reach, zone)
}

fn offered(tool: &str, args: Value, zone: Zone) -> Option<String> {
    let tool = spec(tool);
    let (call, reach) = call(&tool, args);
    ApprovalRule::offered(&tool, &call, &reach, zone).map(|rule| rule.to_string())
}

fn pushing() -> ApprovalRule {
    let allow = Some("git push *".to_owned());
    let kind = Some(GuardKind::Shell);
    ApprovalRule { tool: "terminal".into(), allow, kind, zone: Zone::Network }
}

fn covers_line(line: &str) -> bool {
    covers(&pushing(), "terminal", json!({ "command": line }), Zone::Network)
}

const FITS: &[&str] = &["git push", "git push origin main", "git push --tags 2>&1", "git 'push' x"];

const OTHERS: &[&str] = &[
    "rm -rf src",
    "git",
    "git pull",
    "git pushy",
    "git -C . push",
    "/usr/bin/git push",
    "X=1 git push",
    "git push > out",
    "sudo git push",
    "env git push",
    "xargs git push",
    "$X push",
    "git $X",
    "eval git pull",
    "cd src",
    "export PATH=.",
    "alias git=rm",
];

/// Places in which a command stands.
const AROUND: &[(&str, &str)] = &[
    ("", ""),
    ("( ", " )"),
    ("{ ", "; }"),
    ("git push $(", ")"),
    ("git push \"$(", ")\""),
    ("git push `", "`"),
    ("git push <(", ")"),
    ("if ", "; then git push; fi"),
    ("while ", "; do git push; done"),
    ("git() { ", "; }; git push"),
    ("! ", ""),
    ("sh -c \"", "\""),
    ("git push <<E\n$(", ")\nE\n"),
];

const JOINS: &[&str] = &[" && ", " || ", "; ", " | ", " & ", "\n"];

fn line(commands: &[&str], places: &[(&str, &str)], joins: &[&str]) -> String {
    let mut line = String::new();
    for (at, command) in commands.iter().enumerate() {
        let (before, after) = places.get(at).copied().unwrap_or_default();
        // What follows a here-document stands on a line of its own.
        let join = joins.get(at).filter(|_| at > 0 && !line.ends_with('\n')).unwrap_or(&"");
        line.push_str(&format!("{join}{before}{command}{after}"));
    }
    line
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn a_line_with_one_command_that_does_not_fit_is_not_covered(
        mut commands in prop::collection::vec(select(FITS), 1..5),
        places in prop::collection::vec(select(AROUND), 5),
        joins in prop::collection::vec(select(JOINS), 5),
        other in select(OTHERS),
        at in any::<prop::sample::Index>(),
    ) {
        let fitting = line(&commands, &[], &joins);
        prop_assert!(covers_line(&fitting), "{fitting}");
        let at = at.index(commands.len());
        if let Some(command) = commands.get_mut(at) {
            *command = other;
        }
        let line = line(&commands, &places, &joins);
        prop_assert!(!covers_line(&line), "{line}");
    }

    // The question shows what it offers, and a person approves this call with it.
    #[test]
    fn an_offered_rule_covers_its_own_call_and_names_no_program_that_runs_others(
        commands in prop::collection::vec(prop_oneof![select(FITS), select(OTHERS)], 1..3),
        places in prop::collection::vec(select(AROUND), 3),
        joins in prop::collection::vec(select(JOINS), 3),
    ) {
        let command = line(&commands, &places, &joins);
        let tool = spec("terminal");
        let (call, reach) = call(&tool, json!({ "command": command }));
        if let Some(rule) = ApprovalRule::offered(&tool, &call, &reach, Zone::Network) {
            prop_assert!(rule.covers(&tool, &call, &reach, Zone::Network), "{command}: {rule}");
            let harmless = ["git push *", "git pull *", "git pushy *", "/usr/bin/git push *", "rm *", "cd *", "alias *", "export *"];
            prop_assert!(harmless.contains(&rule.to_string().as_str()), "{command}: {rule}");
        }
    }
}

#[test]
fn a_rule_holds_for_its_zone_and_no_higher() {
    let push = json!({ "command": "git push" });
    for (zone, holds) in [
        (Zone::Build, true),
        (Zone::Network, true),
        (Zone::External, false),
        (Zone::Machine, false),
    ] {
        assert_eq!(covers(&pushing(), "terminal", push.clone(), zone), holds, "{zone:?}");
    }
    let wide = ApprovalRule { zone: Zone::Machine, ..pushing() };
    let elsewhere = json!({ "command": "git push", "cwd": "/etc" });
    assert!(!covers(&wide, "terminal", elsewhere, Zone::Machine), "only in the workspace");
    assert!(!covers(&wide, "mcp__shell__run", push, Zone::External), "only its own tool");
}

#[test]
fn a_rule_for_a_file_is_its_folder_in_the_workspace_and_the_file_elsewhere() {
    let edit = |path: &str, zone| offered("edit_file", json!({ "path": path }), zone);
    assert_eq!(edit("src/deep/a.rs", Zone::Workspace).as_deref(), Some("edit_file src/deep/**"));
    assert_eq!(edit("a.rs", Zone::Workspace).as_deref(), Some("edit_file a.rs"));
    assert_eq!(edit("/etc/hosts", Zone::Machine).as_deref(), Some("edit_file /etc/hosts"));
    assert_eq!(edit("src/x*/a.rs", Zone::Workspace), None, "a star would make it wider");
    let rule = ApprovalRule {
        tool: "edit_file".into(),
        allow: Some("src/**".into()),
        kind: Some(GuardKind::Path),
        zone: Zone::Workspace,
    };
    let fits = |path: &str| covers(&rule, "edit_file", json!({ "path": path }), Zone::Workspace);
    assert!(fits("src/a.rs") && fits("src/deep/a.rs"));
    assert!(!fits("srcs/a.rs") && !fits("src/../b.rs") && !fits("/etc/hosts"));
}

#[test]
fn a_rule_for_another_tool_is_its_name() {
    let close = |zone| offered("mcp__tracker__close", json!({ "id": 7 }), zone);
    assert_eq!(close(Zone::External).as_deref(), Some("mcp__tracker__close"));
    assert_eq!(close(Zone::Machine), None, "its name does not say where it would reach");
    let bare = ApprovalRule { allow: None, ..pushing() };
    assert!(!covers(&bare, "terminal", json!({ "command": "git push" }), Zone::Build));
}
