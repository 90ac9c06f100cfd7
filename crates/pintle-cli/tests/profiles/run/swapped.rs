//! P3 for paths: a tool goes where the call led when it was judged, whatever happens to the links meanwhile.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::{FutureExt, future::BoxFuture};
use pintle::{Event, Verdict, points::ToolPre};
use pintle_agent::{
    ApprovalOutcome, ApprovalRequest, Approver, PermittedCall, Tool, ToolCx, ToolError, ToolSpec,
};
use pintle_policy::{Guard, GuardKind, Level, Zone};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::real;
use super::support::{World, calls, of_type, play, results, says};

const ELSEWHERE: &str = "leads somewhere else now than when it was judged";

/// Every built-in tool for a file, with the arguments that would show whether it left the workspace.
fn file_tools(folder: &str) -> Vec<(&'static str, Value)> {
    let (file, new) = (format!("{folder}/a.txt"), format!("{folder}/new/b.txt"));
    vec![
        ("read_file", json!({"path": file})),
        ("write_file", json!({"path": file, "content": "stolen"})),
        ("edit_file", json!({"path": file, "old": "secret", "new": "stolen"})),
        ("write_file", json!({"path": new, "content": "stolen"})),
    ]
}

/// The same for folders.
fn folder_tools(folder: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("list_dir", json!({"path": folder})),
        ("terminal", json!({"command": "cat a.txt; echo stolen > a.txt", "cwd": folder})),
    ]
}

fn tools(folder: &str) -> Vec<(&'static str, Value)> {
    [file_tools(folder), folder_tools(folder)].concat()
}

/// A folder outside of every workspace, and the witness that nobody was there.
struct Outside(TempDir);

impl Outside {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), "a secret").unwrap();
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn assert_untouched(&self, case: &str) {
        let names: Vec<_> =
            fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["a.txt"], "{case}");
        assert_eq!(fs::read_to_string(self.0.path().join("a.txt")).unwrap(), "a secret", "{case}");
    }
}

/// `notes/a.txt` in the workspace.
async fn world(tool: &str, args: &Value) -> World {
    let world = real(json!([calls(&[("t1", tool, args.clone())]), says("Done.")])).await;
    fs::create_dir(world.file("notes")).unwrap();
    fs::write(world.file("notes/a.txt"), "no secret").unwrap();
    world
}

type Swap = fn(&Path, &Path);

fn swap_folder(workspace: &Path, outside: &Path) {
    fs::rename(workspace.join("notes"), workspace.join("before")).unwrap();
    symlink(outside, workspace.join("notes")).unwrap();
}

fn swap_file(workspace: &Path, outside: &Path) {
    fs::remove_file(workspace.join("notes/a.txt")).unwrap();
    symlink(outside.join("a.txt"), workspace.join("notes/a.txt")).unwrap();
    symlink(outside, workspace.join("notes/new")).unwrap();
}

/// The last gate before the tool runs turns out to be the attacker's chance.
fn swap_in_a_gate(world: &World, swap: Swap, outside: &Path) {
    let (workspace, outside) = (world.workspace().to_owned(), outside.to_owned());
    let gate = move |_: Event<ToolPre>| {
        swap(&workspace, &outside);
        async { Verdict::allow() }
    };
    world.hooks.named("swap").register_gate(gate).unwrap();
}

/// Says yes, after the swap.
struct Slow {
    swap: Swap,
    workspace: PathBuf,
    outside: PathBuf,
}

impl Approver for Slow {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
        (self.swap)(&self.workspace, &self.outside);
        std::future::ready(ApprovalOutcome::Approved { by: "ann".into() }).boxed()
    }
}

async fn said(world: &World) -> (bool, String) {
    let (_, failed, said) = results(&world.history().await).remove(0);
    (failed, said)
}

#[tokio::test]
async fn a_folder_swapped_for_a_symlink_after_the_judgement_leads_nowhere() {
    for (tool, args) in tools("notes") {
        let (world, outside) = (world(tool, &args).await, Outside::new());
        swap_in_a_gate(&world, swap_folder, &outside.path());
        play(&world.agent(), "go").await;
        let (failed, said) = said(&world).await;
        assert!(failed && said.contains(ELSEWHERE), "{tool}: {said}");
        outside.assert_untouched(tool);
    }
}

#[tokio::test]
async fn a_file_swapped_for_a_symlink_after_the_judgement_leads_nowhere() {
    for (tool, args) in file_tools("notes") {
        let (world, outside) = (world(tool, &args).await, Outside::new());
        swap_in_a_gate(&world, swap_file, &outside.path());
        play(&world.agent(), "go").await;
        let (failed, said) = said(&world).await;
        assert!(failed && said.contains(ELSEWHERE), "{tool}: {said}");
        outside.assert_untouched(tool);
    }
}

#[tokio::test]
async fn a_person_who_takes_their_time_approves_the_place_they_were_asked_about() {
    let swaps: [(Swap, _); 2] = [(swap_folder, tools("notes")), (swap_file, file_tools("notes"))];
    for (swap, tools) in swaps {
        for (tool, args) in tools {
            let (world, outside) = (world(tool, &args).await, Outside::new());
            world
                .hooks
                .named("ask")
                .register_gate(|e: Event<ToolPre>| Verdict::ask(&e, "sure?"))
                .unwrap();
            let (workspace, out) = (world.workspace().to_owned(), outside.path());
            let approver = Arc::new(Slow { swap, workspace, outside: out });
            let events = play(&world.builder().approver(approver).build().unwrap(), "go").await;
            assert_eq!(of_type(&events, "approval.resolved")[0]["outcome"], "approved");
            let (failed, said) = said(&world).await;
            assert!(failed && said.contains(ELSEWHERE), "{tool}: {said}");
            outside.assert_untouched(tool);
        }
    }
}

// A link that is swapped, not put in: the call goes on to where the link led when it was judged.
#[tokio::test]
async fn a_symlink_turned_round_after_the_judgement_changes_nothing() {
    for (tool, args) in tools("link") {
        let (world, outside) = (world(tool, &args).await, Outside::new());
        fs::write(world.file("notes/a.txt"), "my own secret").unwrap();
        symlink("notes", world.file("link")).unwrap();
        let turn: Swap = |workspace, outside| {
            fs::remove_file(workspace.join("link")).unwrap();
            symlink(outside, workspace.join("link")).unwrap();
        };
        swap_in_a_gate(&world, turn, &outside.path());
        play(&world.agent(), "go").await;
        let (failed, said) = said(&world).await;
        assert!(!failed, "{tool}: {said}");
        assert!(!said.contains("a secret"), "{tool}: {said}");
        outside.assert_untouched(tool);
    }
}

#[tokio::test]
async fn ordinary_symlinks_inside_the_workspace_go_on_working() {
    for (tool, args) in tools("one") {
        let world = world(tool, &args).await;
        fs::write(world.file("notes/a.txt"), "my secret").unwrap();
        symlink("two", world.file("one")).unwrap();
        symlink(world.file("notes"), world.file("two")).unwrap();
        play(&world.agent(), "go").await;
        let (failed, said) = said(&world).await;
        assert!(!failed, "{tool}: {said}");
        assert!(world.file("one").is_symlink() && world.file("two").is_symlink(), "{tool}");
        let changed = fs::read_to_string(world.file("notes/a.txt")).unwrap() != "my secret";
        let made = world.file("notes/new/b.txt").exists();
        let writes = ["write_file", "edit_file", "terminal"].contains(&tool);
        assert_eq!(changed || made, writes, "{tool}");
    }
}

#[tokio::test]
async fn a_folder_that_vanished_after_the_judgement_is_missed_in_words() {
    for (tool, args) in tools("notes") {
        if tool == "write_file" {
            continue;
        }
        let world = world(tool, &args).await;
        let gone: Swap = |workspace, _| fs::remove_dir_all(workspace.join("notes")).unwrap();
        swap_in_a_gate(&world, gone, Path::new(""));
        play(&world.agent(), "go").await;
        let (failed, said) = said(&world).await;
        assert!(failed && said.contains("does not exist"), "{tool}: {said}");
    }
}

// The guard, the zone and the person who is asked all hear of the place itself.
#[tokio::test]
async fn a_link_is_judged_by_where_it_leads() {
    let args = json!({"path": "link/a.txt"});
    let outside = Outside::new();
    let mut world = world("read_file", &args).await;
    world.policy.level = Level::Standard;
    symlink(outside.path(), world.file("link")).unwrap();
    let events = play(&world.agent(), "go").await;
    assert_eq!(of_type(&events, "approval.resolved")[0]["outcome"], "no_one_to_ask");
    let place = outside.path().join("a.txt");
    let told = format!("it reads outside this folder: link/a.txt is {}", place.display());
    let (failed, said_) = said(&world).await;
    assert!(failed && said_.contains(&told), "{said_}");

    let mut world = world.again(json!([calls(&[("t2", "read_file", args)]), says("Done.")]));
    let rule = outside.path().display().to_string();
    world.policy.guards =
        vec![Guard::new("*", GuardKind::Path, &[], &[rule], "agent.json:3").unwrap()];
    play(&world.agent(), "again").await;
    let (_, _, said) = results(&world.history().await).remove(1);
    assert!(said.contains(&format!("`{}` is denied", place.display())), "{said}");
}

/// Says which place an embedder's own tool gets.
struct Own;

impl Tool for Own {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("own", "For a test.", json!({"type": "object"}))
            .in_zone(Zone::Safe)
            .with_paths(["target"])
    }

    fn run(&self, call: PermittedCall, _: ToolCx) -> BoxFuture<'static, Result<String, ToolError>> {
        let told = match call.reach().path("target") {
            Some(Ok(real)) => Ok(real.display().to_string()),
            Some(Err(unresolved)) => Err(ToolError::Failed(unresolved.to_string())),
            None => Err(ToolError::Failed("no path".into())),
        };
        std::future::ready(told).boxed()
    }
}

#[tokio::test]
async fn an_embedders_tool_gets_the_judged_place_with_its_permit() {
    let outside = Outside::new();
    let world = world("own", &json!({"target": "link/a.txt"})).await;
    symlink("notes", world.file("link")).unwrap();
    let turn: Swap = |workspace, outside| {
        fs::remove_file(workspace.join("link")).unwrap();
        symlink(outside, workspace.join("link")).unwrap();
    };
    swap_in_a_gate(&world, turn, &outside.path());
    let agent = world.builder().tools([Arc::new(Own) as Arc<dyn Tool>]).build().unwrap();
    play(&agent, "go").await;
    let place = world.file("notes/a.txt").display().to_string();
    assert_eq!(said(&world).await, (false, place));
}

// Calls of one message run at once; the model expects a file to hold what it wrote last.
#[tokio::test]
async fn of_two_writes_to_one_file_in_one_message_the_last_one_stands() {
    for _ in 0..10 {
        let write = |id, content| (id, "write_file", json!({"path": "a.txt", "content": content}));
        let message = [
            write("t1", "one"),
            write("t2", "two"),
            write("t3", "three"),
            ("t4", "edit_file", json!({"path": "a.txt", "old": "three", "new": "four"})),
            ("t5", "read_file", json!({"path": "./a.txt"})),
        ];
        let world = real(json!([calls(&message), says("Done.")])).await;
        play(&world.agent(), "go").await;
        let results = results(&world.history().await);
        assert_eq!(results[4], ("t5".into(), false, "four".into()), "{results:#?}");
    }
}
