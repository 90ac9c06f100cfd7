//! Which commands reach outside the workspace from wherever they run, and which everyday ones do not (R11.2).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use pintle_policy::Zone::{Build, Machine, Network};
use pintle_policy::{Floor, Judged, Level, Reach, Zone, zone_of};
use serde_json::json;
use std::path::{Path, PathBuf};

fn judged(command: &str, workspace: &Path) -> Judged {
    let input = json!({ "command": command });
    zone_of("terminal", Build, &input, &Reach::of(&input, workspace), Default::default())
}

/// A workspace with a few folders in it.
fn workspace(folder: &Path) -> PathBuf {
    let work = folder.join("work");
    for inside in ["src", "sub/deep"] {
        std::fs::create_dir_all(work.join(inside)).unwrap();
    }
    work
}

fn all_are(zone: Zone, commands: &[String], workspace: &Path) {
    let wrong: Vec<String> = commands
        .iter()
        .map(|command| (command, judged(command, workspace)))
        .filter(|(_, judged)| judged.zone != zone)
        .map(|(command, judged)| format!("{command:?} is {}: {}", judged.zone.name(), judged.why))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), commands.len(), wrong.join("\n"));
}

// R11.2, R11.3
#[test]
fn everyday_commands_run_unasked_at_permissive() {
    let folder = tempfile::tempdir().unwrap();
    let work = workspace(folder.path());
    // As in any repository, this is its top.
    std::fs::create_dir(work.join(".git")).unwrap();
    for table in [include_str!("everyday.json"), include_str!("unasked.json")] {
        let table: serde_json::Value = serde_json::from_str(table).unwrap();
        for (zone, name, at_least) in [(Build, "build", 120), (Network, "network", 8)] {
            let commands: Vec<String> = serde_json::from_value(table[name].clone()).unwrap();
            assert!(commands.len() >= at_least);
            assert_eq!(Level::Permissive.floor(zone), Floor::Run);
            all_are(zone, &commands, &work);
        }
    }
}

// R11.2: what is installed or set for the person, credentials, other processes, the desktop, the system.
#[test]
fn what_acts_on_the_machine_needs_no_place_to_be_seen() {
    let folder = tempfile::tempdir().unwrap();
    let work = workspace(folder.path());
    let table: serde_json::Value = serde_json::from_str(include_str!("machine.json")).unwrap();
    let lines = |name: &str| serde_json::from_value::<Vec<String>>(table[name].clone()).unwrap();
    assert!(lines("machine").len() >= 100 && lines("others").len() >= 40);
    all_are(Machine, &lines("machine"), &work);
    let asked = |line: &String| Level::Permissive.floor(judged(line, &work).zone) != Floor::Run;
    let asked: Vec<String> = lines("others").into_iter().filter(asked).collect();
    assert!(asked.is_empty(), "{asked:#?}");
}

// R11.2: the same place, dressed in many ways.
#[test]
fn a_place_outside_is_seen_however_the_command_gets_there() {
    let folder = tempfile::tempdir().unwrap();
    let work = workspace(folder.path());
    std::os::unix::fs::symlink("/etc/hostname", work.join("sub/link")).unwrap();
    std::os::unix::fs::symlink("/etc", work.join("out")).unwrap();
    let commands: Vec<String> = serde_json::from_str(include_str!("outside.json")).unwrap();
    assert!(commands.len() >= 100);
    all_are(Machine, &commands, &work);
}

// R11.2: what follows a `cd` is judged from where it leads, no further.
#[test]
fn a_step_into_a_folder_and_back_stays_inside() {
    let folder = tempfile::tempdir().unwrap();
    let work = workspace(folder.path());
    let inside = [
        "cd sub; cat ../x",
        "cd sub/deep && cat ../../x",
        "cd nosuch && cd .. && cat x",
        "cd nosuch || exit 1; cd ..; cat x",
        "cd src && ls .. && cd - && ls",
        "(cd sub && cat ../x); ls",
        "sh -c 'cd sub; cat ../x'",
        "x=$(cd sub/deep && cat ../../x)",
        "cd sub; cd deep; cd ../..; ls",
        "if true; then cd sub && cat ../x; fi",
        "cd sub >/dev/null 2>&1; cat ../x",
        "cd -P sub; cat ../x",
        "cd -- sub && cat ../x",
        "cd -LP -- sub && cat ../x",
        "cd src && cd -- - && ls",
        "shopt -s nullglob; for d in */; do (cd \"$d\" && ls); done",
        "for d in *; do (cd \"$d\" && ls); done",
        "env -C sub cat x",
        "cat {1..9} {1..1000} {01..10}",
        "for d in */; do (cd \"$d\" && ls); done",
        "for i in 1 2; do (cd sub && cat ../x); done",
        "for i in 1 2; do x=$(cd sub/deep && ls ../..); done; ls",
    ];
    all_are(Build, &inside.map(str::to_owned), &work);
    let outside = [
        "cd sub; cat ../../x",
        "cd -e sub; cat ../x",
        "(cd sub && ls); cat ../x",
        "cd sub; rm -r ../src; cd ../src; cd ../..",
        "cd sub < nosuch; cd ..",
        "for i in 1 2; do (cd src; cd ..; ls); rm -r src; done",
        "for i in 1 2; do cat ../x; cd sub; done",
        "for i in 1 2; do (ls); cd sub; (cat ../../x); done",
        "for i in 1 2; do (for j in 1 2; do cat ../x; cd sub; done); done",
        "while (cd ..; cat x); do cd sub; done",
        "f() { (cd src; cd ..; ls); rm -r src; }; f; f",
        "mkdir a; chmod 0 a; cd sub; cd ../..",
        "if true; then cd sub; fi; cat ../x",
        "cd sub || cat ../x; cd ../..",
        "f() { cd sub; cat ../x; }; f",
        "cd sub/deep; cd $X; ls",
        "git -C \"$X\" log",
    ];
    all_are(Machine, &outside.map(str::to_owned), &work);
}

// A shell takes `..` off the name of the folder it is in, a program goes up from where that is.
#[test]
fn a_linked_folder_has_two_ways_up() {
    let folder = tempfile::tempdir().unwrap();
    let work = workspace(folder.path());
    std::os::unix::fs::symlink("sub/deep", work.join("short")).unwrap();
    all_are(Build, &["cd short; cat ../../x".into(), "cd short; cd ..; ls".into()], &work);
    all_are(
        Machine,
        &["cd short; cd ..; cd ..; ls".into(), "cd short; cd ../..; ls".into()],
        &work,
    );
}

// R11.2: who follows links goes where they lead; most trees have none that leads away.
#[test]
fn links_that_stay_inside_are_followed_unasked_in_a_tree_of_any_size() {
    let folder = tempfile::tempdir().unwrap();
    let work = workspace(folder.path());
    for package in 0..100 {
        let place = work.join(format!("node_modules/p{package}/lib"));
        std::fs::create_dir_all(&place).unwrap();
        for file in 0..100 {
            std::fs::write(place.join(format!("{file}.js")), "").unwrap();
        }
    }
    let link = |to: &str, at: &str| {
        std::fs::create_dir_all(work.join(at).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, work.join(at)).unwrap();
    };
    link("../p1/lib/1.js", "node_modules/.bin/one");
    link("../p2", "node_modules/round/two");
    link("../../node_modules", "node_modules/p2/again");
    link("/bin/sh", ".venv/bin/python3");
    let commands = ["grep -R foo .", "zip -r x.zip .", "rg -L x", "cp -rL node_modules t2"];
    all_are(Build, &commands.map(str::to_owned), &work);
    all_are(Machine, &["find -L . -type f -exec sed -i s/a/b/ {} +".to_owned()], &work);
    link("/etc", "node_modules/p99/lib/out");
    all_are(Machine, &commands.map(str::to_owned), &work);
    let stay = ["grep -r foo .", "zip -ry x.zip .", "cp -L src/a b", "ls -lL", "cp -a . t2"];
    all_are(Build, &stay.map(str::to_owned), &work);
}

// R11.2: what is listed is opened by whoever is given the names.
#[test]
fn a_link_among_the_names_that_a_program_lists_leads_where_it_leads() {
    let folder = tempfile::tempdir().unwrap();
    let work = workspace(folder.path());
    let lines = [
        "ls | xargs cat",
        "find . | xargs cat",
        "find . -name 'h*' -exec cat {} +",
        "git ls-files | xargs wc -l",
        "git diff --name-only | while read f; do head \"$f\"; done",
        "for f in $(ls); do cat $f; done",
        "cat $(ls)",
        "fd -x cat",
    ]
    .map(str::to_owned);
    all_are(Build, &lines, &work);
    std::os::unix::fs::symlink("/etc/hostname", work.join("host")).unwrap();
    all_are(Machine, &lines, &work);
    let others = [
        "ls",
        "find . -name '*.rs' | xargs cat",
        "find . -type f | xargs cat",
        "ls src | xargs echo",
        "grep -rl x . | xargs cat",
        "git commit -m \"$(git rev-parse HEAD)\"",
        "find . -name '*.rs' -exec cat {} +",
    ];
    all_are(Build, &others.map(str::to_owned), &work);
}
