//! A plugin that brings a tool, a slash command and a text for the prompt, met by a person and a model (§13).

use serde_json::{Value, json};

use crate::{
    server::{Server, Streamed},
    support::World,
    terminal::{keys, play_with, wait, wait_for_prompt, wait_for_question},
};

const SOURCE: &str = r#"
from pintle_worker import Plugin
plugin = Plugin()

@plugin.tool("add")
def add(args):
    return "the sum is %d" % (args["a"] + args["b"])

@plugin.command("sum")
def sum(text):
    return "the sum is %d" % (int(text[0]) + int(text[2]))

plugin.serve()
"#;

/// Writes `p/plugin.json`, adds it, and names it in a profile.
fn add_own(world: &World, kind: &str, entry: &Value) {
    let schema = json!({
        "type": "object", "required": ["a", "b"],
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
    });
    let manifest = json!({
        "id": "p", "version": "1", "apiVersion": 1, "kind": kind, "entry": entry,
        "capabilities": ["tools", "commands", "amend:prompt"],
        "context": "Never add in your head.",
        "tools": [{ "name": "add", "description": "Adds two numbers.", "inputSchema": schema }],
        "commands": [{ "name": "sum", "description": "adds the numbers that follow" }],
    });
    world.write("p/plugin.json", manifest.to_string());
    let said = world.run(&["plugins", "add", "p", "--yes"]);
    assert_eq!(said.code, Some(0), "{said}");
    name(world, "p");
}

/// Writes a profile that names the plugin.
fn name(world: &World, id: &str) {
    world.write("agent.json", json!({ "name": "clerk", "plugins": [id] }).to_string());
    let said = world.run(&["trust", "--accept"]);
    assert_eq!(said.code, Some(0), "{said}");
}

/// The model is told of the tool and of the context, calls the tool and reads its result; a person completes the command with Tab.
fn is_met(world: &World, id: &str) {
    let name = format!("{id}__add");
    let server = Server::start(vec![
        Streamed::new().call("c1", &name, &json!({ "a": 1, "b": 2 })).end("tool_calls"),
        Streamed::new().text("It is three.").end("stop"),
    ]);
    let steps = [
        wait_for_prompt(),
        keys("what is one and two?\r"),
        // A tool of a plugin is in zone `external`.
        wait_for_question(),
        keys("y"),
        wait("It is three."),
        wait_for_prompt(),
        keys("/su\t"),
        wait("/sum "),
        keys("1 2\r"),
        wait("the sum is 3"),
        wait_for_prompt(),
        keys("/help\r"),
        wait("adds the numbers"),
        wait_for_prompt(),
        keys("/summ\r"),
        wait("did you mean `/sum`?"),
        wait_for_prompt(),
        keys("/quit\r"),
    ];
    let provider = [("OPENAI_BASE_URL", server.url.as_str()), ("OPENAI_API_KEY", "sk-test-only")];
    let screen = play_with(world, &["chat", "--model", "openai/gpt-4o"], &steps, &provider);
    assert_eq!(screen.code, 0, "{}", screen.text);
    let seen = server.seen();
    let requests: Vec<Value> =
        seen.iter().map(|it| serde_json::from_slice(&it.body).unwrap()).collect();
    let [first, second] = &requests[..] else { panic!("{requests:#?}") };
    let system = first["messages"][0]["content"].to_string();
    assert!(system.contains("Never add in your head."), "{system}");
    let tools = first["tools"].as_array().unwrap();
    let tool = tools.iter().find(|it| it["function"]["name"] == name).unwrap();
    assert_eq!(tool["function"]["description"], "Adds two numbers.");
    let result = second["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&result["role"], &result["tool_call_id"]),
        (&json!("tool"), &json!("c1")),
        "{second:#}"
    );
    assert!(result["content"].to_string().contains("the sum is 3"), "{result}");
}

#[test]
fn a_process_plugin_brings_a_tool_a_command_and_context() {
    let world = World::new();
    world.write("p/p.py", SOURCE);
    world
        .write("p/pintle_worker.py", include_str!("../../../../examples/workers/pintle_worker.py"));
    add_own(&world, "process", &json!(["python3", "p.py"]));
    is_met(&world, "p");
}

#[cfg(feature = "wasm")]
#[path = "../../../pintle-wasm/tests/wasm/guest.rs"]
#[allow(dead_code, reason = "the tests of pintle-wasm use all of it")]
mod guest;

#[cfg(feature = "wasm")]
#[path = "../../../pintle-wasm/tests/wasm/built.rs"]
mod built;

#[cfg(feature = "wasm")]
#[test]
fn a_component_brings_a_tool_a_command_and_context() {
    let world = World::new();
    let answer = r#""the sum is 3""#;
    world.write("p/p.wasm", guest::handling(&[answer], &guest::says("ok", 1, answer)));
    add_own(&world, "wasm", &json!("p.wasm"));
    is_met(&world, "p");
}

/// The example of `examples/plugins` in the program, built and added with the commands of docs/plugins.md.
#[cfg(feature = "wasm")]
fn example_is_met(language: &built::Language) {
    let world = World::new();
    let built = language.built();
    std::fs::create_dir(world.data()).unwrap();
    // Compiled once for all tests.
    std::fs::create_dir_all(&built.cache).unwrap();
    std::os::unix::fs::symlink(&built.cache, world.data().join("wasm-cache")).unwrap();
    let (_, add) = language.commands();
    let said = world.pasted(&format!("set -e; cd '{}'\n{add}", built.folder.display()), &[]);
    assert_eq!(said.code, Some(0), "{said}");
    let listed = world.run(&["plugins", "--json"]).json();
    let id = listed[0]["id"].as_str().unwrap();
    // A person is asked for the grants; here nobody is.
    let granted = world.run(&["plugins", "grant", id]);
    assert_eq!(granted.code, Some(0), "{granted}");
    name(&world, id);
    // The first start compiles the component: minutes with a busy compiler that has debug assertions.
    let doctor = world.run(&["doctor"]);
    assert!(doctor.out.contains("wasm · activated"), "{doctor}");
    is_met(&world, id);
}

#[cfg(feature = "wasm")]
#[test]
fn the_example_in_javascript_brings_a_tool_a_command_and_context() {
    example_is_met(&built::JAVASCRIPT);
}

#[cfg(feature = "wasm")]
#[test]
fn the_example_in_python_brings_a_tool_a_command_and_context() {
    example_is_met(&built::PYTHON);
}
