//! A plugin can do only what its manifest declares and the operator granted: on this machine, in a running gateway, and when it means
//! harm (§13).

use serde_json::{Value, json};

use crate::{
    serving::Served,
    support::{Said, World},
};

const PYTHON: &str = include_str!("../../../../examples/workers/pintle_worker.py");
const NODE: &str = include_str!("../../../../examples/workers/pintle-worker.mjs");

/// Adds a process plugin with all that it asks for. `WORK` in its source is the workspace.
fn add(world: &World, id: &str, manifest: &Value, source: &str) {
    let source = source.replace("WORK", world.file("").display().to_string().trim_end_matches('/'));
    let (program, file) = match source.contains("import {") {
        true => ("node", "p.mjs"),
        false => ("python3", "p.py"),
    };
    let mut whole = json!({
        "id": id, "version": "1", "apiVersion": 1, "kind": "process", "entry": [program, file],
    });
    for (key, value) in manifest.as_object().unwrap() {
        whole[key] = value.clone();
    }
    world.write(&format!("{id}/plugin.json"), whole.to_string());
    world.write(&format!("{id}/{file}"), source);
    world.write(&format!("{id}/pintle_worker.py"), PYTHON);
    world.write(&format!("{id}/pintle-worker.mjs"), NODE);
    let said = world.run(&["plugins", "add", id, "--yes"]);
    assert_eq!(said.code, Some(0), "{said}");
}

fn name(world: &World, ids: &[&str]) {
    world.write("agent.json", json!({ "name": "clerk", "plugins": ids }).to_string());
    let said = world.run(&["trust", "--accept"]);
    assert_eq!(said.code, Some(0), "{said}");
}

const COUNTS_RUNS: &str = r#"
from pintle_worker import Plugin
plugin = Plugin()

@plugin.on("before_prompt_build")
def build(event):
    with open("WORK/runs", "a") as runs:
        runs.write("x")

plugin.serve()
"#;

/// A world whose plugin `p` appends to the file `runs` of the workspace at each run, and has these capabilities.
pub(crate) fn with_writer(capabilities: &[&str]) -> World {
    let world = World::new();
    let manifest = json!({ "points": ["before_prompt_build"], "capabilities": capabilities });
    add(&world, "p", &manifest, COUNTS_RUNS);
    name(&world, &["p"]);
    world
}

pub(crate) fn runs(world: &World) -> usize {
    std::fs::read_to_string(world.file("runs")).unwrap_or_default().len()
}

const HOG_IN_PYTHON: &str = r#"
from pintle_worker import Plugin
plugin = Plugin()

@plugin.on("before_prompt_build")
def build(event):
    kept = []
    try:
        while True:
            kept.append(bytearray(64 * 1024 * 1024))
    except MemoryError:
        return {"prependSystem": "python got %d parts." % len(kept)}

plugin.serve()
"#;

const HOG_IN_NODE: &str = r#"
import { plugin } from "./pintle-worker.mjs";

plugin({
  on: {
    before_prompt_build: () => {
      const kept = [new WebAssembly.Memory({ initial: 1 })];
      try {
        for (;;) kept.push(Buffer.alloc(64 * 1024 * 1024));
      } catch {
        return { prependSystem: `node got ${kept.length - 1} parts.` };
      }
    },
  },
});
"#;

/// It does not give up when it gets no more, and takes the little that is left.
const HOG_THAT_DIES: &str = r#"
import { plugin } from "./pintle-worker.mjs";

plugin({
  on: {
    before_prompt_build: () => {
      const kept = [];
      for (;;) kept.push(new Array(1000000).fill(kept.length + 0.5));
    },
  },
});
"#;

const NEIGHBOUR: &str = r#"
from pintle_worker import Plugin
plugin = Plugin()

@plugin.on("before_prompt_build")
def build(event):
    return {"appendSystem": "the neighbour is well."}

plugin.serve()
"#;

// R13.2: the memory of a process plugin is bounded, and its neighbours do not notice.
#[test]
fn a_process_plugin_that_takes_memory_without_end_gets_a_gigabyte_and_harms_no_neighbour() {
    let world = World::new();
    let manifest = json!({
        "points": [{ "point": "before_prompt_build", "timeoutMs": 100_000 }],
        "capabilities": ["amend:prompt"],
    });
    add(&world, "neighbour", &manifest, NEIGHBOUR);
    let plugins =
        [("python-hog", HOG_IN_PYTHON), ("node-hog", HOG_IN_NODE), ("dying-hog", HOG_THAT_DIES)];
    for (id, source) in plugins {
        add(&world, id, &manifest, source);
        name(&world, &[id, "neighbour"]);
        let said = world.run(&["doctor", "--show-prompt"]);
        assert!(
            said.code == Some(0) && said.out.contains("the neighbour is well."),
            "{id}: {said}"
        );
        let got = |language: &str| -> Option<u64> {
            let (_, rest) = said.out.split_once(&format!("{language} got "))?;
            rest.split_once(" parts")?.0.parse().ok()
        };
        match id {
            // A gigabyte has sixteen parts, and the language takes one or more for itself.
            "python-hog" => assert!((8..16).contains(&got("python").unwrap()), "{said}"),
            "node-hog" => assert!((8..16).contains(&got("node").unwrap()), "{said}"),
            "dying-hog" => assert!(said.out.contains("dying-hog gone"), "{said}"),
            other => panic!("{other}"),
        }
    }
}

/// The state of a plugin on the page of hooks, and what it says about it.
fn on_page(served: &Served, id: &str) -> (String, String) {
    let page = served.text("/hooks");
    let (_, row) =
        page.split_once(&format!("id=\"plugin-{id}\"")).unwrap_or_else(|| panic!("{page}"));
    let row = row.split("</tr>").next().unwrap().to_owned();
    let (_, state) = row.split_once("<span class=\"outcome ").unwrap();
    let state = state.split(['>', '<']).nth(1).unwrap();
    (state.to_owned(), row)
}

fn ok(said: &Said) {
    assert_eq!(said.code, Some(0), "{said}");
}

// R13.1: reload without a restart. R13.4: what was taken back has no effect at the next run.
#[test]
fn a_running_gateway_takes_up_plugins_that_are_revoked_granted_removed_and_added() {
    let world = with_writer(&["observe", "amend:prompt", "zone:workspace"]);
    let served = Served::start_with(&world, &["--profile", "."]);
    let mut messages = 0;
    let mut say = || {
        messages += 1;
        let (status, reply) = served.say("c", &messages.to_string(), "list .", "");
        assert_eq!(status, 200, "{reply}");
        reply
    };
    say();
    assert_eq!((runs(&world), on_page(&served, "p").0.as_str()), (1, "active"));
    ok(&world.run(&["plugins", "revoke", "p", "zone:workspace"]));
    say();
    assert_eq!(runs(&world), 1, "the zone was taken back");
    let (state, row) = on_page(&served, "p");
    assert!(["lacks grants", "failing"].contains(&state.as_str()), "{state}");
    assert!(row.contains("zone:workspace") && row.contains("is not granted"), "{row}");
    ok(&world.run(&["plugins", "grant", "p"]));
    say();
    assert_eq!(runs(&world), 2);
    // R10.11: no run without a plugin that the profile names.
    ok(&world.run(&["plugins", "remove", "p"]));
    let refused = say();
    assert!(refused.to_string().contains("there is no plugin `p`"), "{refused}");
    assert_eq!(runs(&world), 2);
    ok(&world.run(&["plugins", "add", "p", "--yes"]));
    say();
    let (state, row) = on_page(&served, "p");
    // Its figures still have the call that failed.
    assert_eq!((runs(&world), state.as_str()), (3, "failing"));
    assert!(row.contains("zone:workspace") && !row.contains("is not granted"), "{row}");
    served.kill();
}

#[test]
fn the_page_shows_the_states_of_now_of_plugins_that_are_used_unused_refused_and_changed() {
    let world = with_writer(&["observe", "amend:prompt", "zone:workspace"]);
    let manifest = json!({ "points": ["before_prompt_build"], "capabilities": ["amend:prompt"] });
    let served = Served::start_with(&world, &["--profile", "."]);
    assert_eq!(on_page(&served, "p").0, "active");
    add(&world, "other", &manifest, NEIGHBOUR);
    assert_eq!(on_page(&served, "other").0, "not used");
    std::fs::write(world.data().join("plugins/p/p.py"), "raise SystemExit\n").unwrap();
    let (state, row) = on_page(&served, "p");
    assert_eq!(state, "unusable");
    assert!(row.contains("are not those that were added"), "{row}");
    std::fs::write(world.data().join("plugins/other/plugin.json"), "{}").unwrap();
    assert_eq!(on_page(&served, "other").0, "unusable");
    served.kill();
}
