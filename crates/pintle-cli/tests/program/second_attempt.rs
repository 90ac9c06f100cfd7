//! R11.8: what the kernel refused is one question, bound to the arguments and to what is granted. The witness is a file outside
//! the workspace.

use std::{path::PathBuf, time::Instant};

use serde_json::{Value, json};

use crate::support::{PATIENCE, World};

/// A workspace with a script that writes outside, and the file that it writes.
fn installer() -> (World, PathBuf) {
    let world = World::new();
    let bin = world.file("../home/bin");
    std::fs::create_dir_all(&bin).unwrap();
    world.write("install.sh", "echo run >> runs.txt\necho tool > ../home/bin/tool\n");
    (world, bin.join("tool"))
}

/// The question that comes up.
fn question(world: &World) -> Value {
    let asked = Instant::now();
    loop {
        let open = world.run(&["approvals", "list", "--json"]).json();
        if let Some(question) = open.as_array().and_then(|open| open.first()) {
            return question.clone();
        }
        assert!(asked.elapsed() < PATIENCE, "there is no question");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn runs(world: &World) -> usize {
    std::fs::read_to_string(world.file("runs.txt")).unwrap().lines().count()
}

#[test]
fn a_person_grants_what_was_refused_and_it_runs_once_more_with_exactly_that() {
    let (world, tool) = installer();
    let chat = world.start(&["chat", "-q", "run sh install.sh", "--wait-for-approval"]);
    let question = question(&world);
    let bin = tool.parent().unwrap().canonicalize().unwrap();
    assert_eq!(question["args"]["command"], "sh install.sh");
    assert_eq!(question["args"]["grants"], json!([{ "write": bin }]));
    assert!(question["reason"].as_str().unwrap().contains("the kernel refused: write"));
    assert!(!tool.exists() && runs(&world) == 1, "nothing runs again before the answer");

    assert_eq!(
        world.run(&["approvals", "approve", question["id"].as_str().unwrap()]).code,
        Some(0)
    );
    let said = world.said(chat.wait_with_output().unwrap());
    assert!(tool.exists() && runs(&world) == 2, "{said:?}");
    // It was for this call: the next one is asked about again.
    let said = world.run(&["chat", "-q", "run sh install.sh"]);
    assert!(said.out.contains("it was not run again") && runs(&world) == 3, "{said:?}");
}

#[test]
fn a_refusal_that_a_person_does_not_lift_stays_one() {
    let (world, tool) = installer();
    let chat = world.start(&["chat", "-q", "run sh install.sh", "--wait-for-approval"]);
    let id = question(&world)["id"].as_str().unwrap().to_owned();
    assert_eq!(world.run(&["approvals", "deny", &id, "--reason", "not there"]).code, Some(0));
    let said = world.said(chat.wait_with_output().unwrap());
    assert!(
        said.out.contains("it was not run again") && said.out.contains("not there"),
        "{said:?}"
    );
    assert!(!tool.exists() && runs(&world) == 1);
}

#[test]
fn without_a_person_the_result_says_what_was_refused_and_nothing_runs_again() {
    let (world, tool) = installer();
    let said = world.run(&["chat", "-q", "run sh install.sh"]);
    assert!(said.out.contains("the sandbox of zone `build` did not let it write"), "{said:?}");
    assert!(said.out.contains("there is no one to ask"), "{said:?}");
    assert!(!tool.exists() && runs(&world) == 1);
}

// A secret is never offered.
#[test]
fn no_question_is_asked_about_a_secret() {
    let world = World::new();
    let key = world.file("../home/.ssh/id");
    std::fs::create_dir_all(key.parent().unwrap()).unwrap();
    std::fs::write(&key, "hunter2\n").unwrap();
    let said = world.run(&["chat", "-q", "run cat ../home/.ssh/id"]);
    assert!(
        said.out.contains("closed to every command") && !said.out.contains("hunter2"),
        "{said:?}"
    );
    assert_eq!(world.run(&["approvals", "list", "--json"]).json(), json!([]));
}
