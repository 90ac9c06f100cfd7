//! Two programs, one data folder: a conversation belongs to one run at a time (R6.1).

use std::process::{Child, Command};

use serde_json::{Value, json};

use crate::support::{Said, World, assert_whole};

const ASKING: [&str; 4] = ["chat", "-q", "run echo ran >> marker", "--wait-for-approval"];

fn assert_in_use(said: &Said, owner: &Child) {
    assert_eq!(said.code, Some(1), "{said}");
    for words in
        ["in use by another pintle", &format!("process {}", owner.id()), "--session", "--new"]
    {
        assert!(said.err.contains(words), "{words}: {said}");
    }
}

fn results(world: &World) -> Vec<Value> {
    let exported = world.exported();
    assert_whole(&exported);
    let messages = exported["messages"].as_array().unwrap();
    messages
        .iter()
        .filter(|message| message["message"]["role"] == "tool_results")
        .cloned()
        .collect()
}

#[test]
fn a_run_that_waits_for_a_person_is_left_alone() {
    let world = World::strict();
    let owner = world.start(&ASKING);
    let question = world.pending();
    assert_in_use(&world.run(&["chat", "--continue", "-q", "hello"]), &owner);
    assert_in_use(&world.run(&["chat", "-c", "-q", "hello", "--personality", "default"]), &owner);
    let json = world.run(&["chat", "-c", "-q", "hello", "--json"]).lines();
    assert!(json.iter().any(|event| event["code"] == "session_in_use"), "{json:?}");
    let session = question["sessionId"].as_str().unwrap();
    let delete = world.run(&["sessions", "delete", session]);
    assert!(delete.code == Some(1) && delete.err.contains("in use"), "{delete}");
    assert_eq!(world.run(&["approvals", "list", "--json"]).json()[0]["id"], question["id"]);
    for free in [["--session", "another"].as_slice(), &["--new"]] {
        // A new conversation takes the folder's name; the old one is still there by its id.
        assert_eq!(world.run(&[&["chat", "-q", "hello"], free].concat()).code, Some(0));
    }

    // Answered from elsewhere while it lives: the owner goes on.
    let yes = world.run(&["approvals", "approve", question["id"].as_str().unwrap()]);
    assert_eq!(yes.code, Some(0), "{yes}");
    assert!(!yes.out.contains("went on here"), "{yes}");
    let owner = world.said(owner.wait_with_output().unwrap());
    assert_eq!(owner.code, Some(0), "{owner}");
    let exported = world.run(&["sessions", "export", session]).json();
    assert_whole(&exported);
    assert!(!exported.to_string().contains("interrupted"), "{exported}");
}

#[test]
fn a_run_whose_tool_is_at_work_is_left_alone() {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    std::fs::write(world.data().join("pintle.toml"), "level = \"permissive\"\n").unwrap();
    let command = "touch begun; until [ -e go ]; do sleep 0.05; done; echo ran >> marker";
    let call = json!({"id": "t1", "name": "terminal", "input": {"command": command}});
    let model = world.script("s.json", &json!([{"toolCalls": [call]}, {"text": "Done."}]));
    let owner = world.start(&["chat", "-q", "go", "--model", &model]);
    world.wait_for("begun");
    assert_in_use(&world.run(&["chat", "--continue", "-q", "hello"]), &owner);
    world.write("go", "");
    let owner = world.said(owner.wait_with_output().unwrap());
    assert_eq!((owner.code, owner.out.as_str()), (Some(0), "Done.\n"), "{owner}");
    let results = results(&world);
    assert_eq!(results.len(), 1, "{results:?}");
    assert_eq!(results[0]["message"]["results"][0]["isError"], false);
    assert_eq!(std::fs::read_to_string(world.file("marker")).unwrap(), "ran\n");
    assert_eq!(world.run(&["chat", "-c", "-q", "list ."]).code, Some(0), "and it goes on");
}

#[test]
fn a_conversation_is_free_again_when_its_owner_is_killed() {
    let world = World::strict();
    let mut owner = world.start(&ASKING);
    world.pending();
    owner.kill().unwrap();
    owner.wait().unwrap();
    let next = world.run(&["chat", "-c", "-q", "list ."]);
    assert_eq!(next.code, Some(0), "{next}");
    assert_eq!(results(&world).len(), 2, "the dead call has a result, and so has the next");
}

#[test]
fn every_folder_has_a_conversation_of_its_own() {
    let world = World::new();
    world.write("../other/work/here.txt", "");
    let elsewhere = |mut command: Command| {
        let output = command.current_dir(world.file("../other/work")).output().unwrap();
        assert_eq!(world.said(output).code, Some(0));
    };
    assert_eq!(world.run(&["chat", "-q", "read a"]).code, Some(0));
    elsewhere(world.command(&["chat", "-q", "read b"]));
    assert_eq!(world.run(&["chat", "-c", "-q", "read c"]).code, Some(0));
    // Named, it is the same from everywhere.
    assert_eq!(world.run(&["chat", "-q", "read d", "--session", "cli:default"]).code, Some(0));
    elsewhere(world.command(&["chat", "-q", "read e", "--session", "cli:default"]));
    let sessions = world.run(&["sessions", "list", "--json"]).json();
    let sessions = sessions.as_array().unwrap();
    assert_eq!(sessions.len(), 3, "{sessions:?}");
    let said = |session: &Value| -> Vec<String> {
        let exported = world.run(&["sessions", "export", session["id"].as_str().unwrap()]).json();
        let messages = exported["messages"].as_array().unwrap().clone();
        let user = messages.iter().filter(|message| message["message"]["role"] == "user");
        user.map(|message| message["message"]["text"].as_str().unwrap().to_string()).collect()
    };
    let mut all: Vec<_> = sessions.iter().map(said).collect();
    all.sort();
    assert_eq!(all, [vec!["read a", "read c"], vec!["read b"], vec!["read d", "read e"]]);
    let key =
        sessions.iter().filter(|session| session["key"].as_str().unwrap().starts_with("cli:work-"));
    assert_eq!(key.count(), 2, "one name, two folders: {sessions:?}");
}
