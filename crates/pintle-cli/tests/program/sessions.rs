//! `pintle sessions`: look at conversations.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::World;

fn ids(world: &World) -> Vec<String> {
    let sessions = world.run(&["sessions", "list", "--json"]).json();
    let id = |session: &Value| session["id"].as_str().unwrap().to_string();
    sessions.as_array().unwrap().iter().map(id).collect()
}

#[test]
fn a_conversation_is_listed_shown_exported_and_deleted() {
    let world = World::new();
    world.write("notes.txt", "hooks you can rely on\nand more\n");
    assert_snapshot!(world.transcript(&[
        &["sessions", "list"],
        &["chat", "-q", "read notes.txt", "--session", "mine"],
        &["sessions", "list"],
        &["sessions", "list", "--json"],
        &["sessions", "show", "mine"],
        &["sessions", "export", "mine"],
        &["sessions", "delete", "mine"],
        &["sessions", "list", "--json"],
    ]));
}

#[test]
fn an_export_is_the_same_for_show_and_machines() {
    let world = World::new();
    world.run(&["chat", "-q", "list .", "--session", "mine"]);
    let export = world.run(&["sessions", "export", "mine"]).out;
    assert_eq!(world.run(&["sessions", "show", "mine", "--json"]).out, export);
    assert_eq!(world.run(&["sessions", "export", "mine", "--json"]).out, export);
}

#[test]
fn a_part_of_an_id_will_do_when_it_fits_one() {
    let world = World::new();
    world.run(&["chat", "-q", "list ."]);
    world.run(&["chat", "-q", "list .", "--new"]);
    let ids = ids(&world);
    assert_eq!(ids.len(), 2);
    for id in &ids {
        for part in [&id[..], &id[20..]] {
            let found = world.run(&["sessions", "export", part]).json();
            assert_eq!(found["session"]["id"], **id);
        }
    }
    // Two ids made within the same hours begin alike.
    let both = world.run(&["sessions", "show", &ids[0][..8]]);
    assert_eq!(both.code, Some(1));
    assert!(both.err.contains("matches 2 sessions"), "{both}");
}

#[test]
fn a_key_means_the_newest_conversation_of_that_name() {
    let world = World::new();
    world.run(&["chat", "-q", "read a", "--session", "mine"]);
    world.run(&["chat", "-q", "read b", "--session", "mine", "--new"]);
    let found = world.run(&["sessions", "export", "mine"]).json();
    assert_eq!(found["messages"][0]["message"]["text"], "read b");
}

#[test]
fn nothing_and_what_is_not_there_fit_no_conversation() {
    let world = World::new();
    world.run(&["chat", "-q", "list ."]);
    for command in ["show", "export", "delete"] {
        for named in ["nobody", ""] {
            let said = world.run(&["sessions", command, named]);
            assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{command} {named:?} {said}");
            assert!(said.err.contains(&format!("no session `{named}`")), "{said}");
        }
    }
    assert_eq!(ids(&world).len(), 1);
}

#[test]
fn what_was_deleted_for_machines_is_named() {
    let world = World::new();
    world.run(&["chat", "-q", "list .", "--session", "mine"]);
    let ids = ids(&world);
    let said = world.run(&["sessions", "delete", "mine", "--json"]);
    assert_eq!(said.json(), json!({"deleted": ids[0]}));
}

#[test]
fn a_sub_agents_conversation_is_listed_with_its_parents() {
    let world = World::new();
    world.run(&["chat", "-q", "delegate: list ."]);
    let sessions = world.run(&["sessions", "list", "--json"]).json();
    let sessions = sessions.as_array().unwrap();
    let parent = sessions.iter().find(|session| session["parent"].is_null()).unwrap();
    let child = sessions.iter().find(|session| !session["parent"].is_null()).unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(child["parent"], parent["id"]);
}

// §14: a run that did real work waits in the skill queue.
#[test]
fn a_substantive_run_is_listed_shown_and_dropped_by_skills() {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    let file = "[consumers.skill_queue]\nmin_tool_calls = 1\n";
    std::fs::write(world.data().join("pintle.toml"), file).unwrap();
    assert!(world.run(&["skills"]).out.contains("There are no runs to look at"));
    world.run(&["chat", "-q", "list ."]);
    let pending = world.run(&["skills", "pending", "--json"]).json();
    assert_eq!(
        (&pending[0]["prompt"], &pending[0]["toolNames"][0]),
        (&"list .".into(), &"list_dir".into())
    );
    let id = pending[0]["runId"].as_str().unwrap();
    assert!(world.run(&["skills"]).out.contains("list ."));
    assert!(world.run(&["skills", "show", id]).out.contains("list_dir"));
    assert_eq!(world.run(&["skills", "drop", id]).code, Some(0));
    let gone = world.run(&["skills", "show", id]);
    assert_eq!(gone.code, Some(1), "{gone}");
}
