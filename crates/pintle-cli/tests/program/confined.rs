//! R8.8: the programs of a profile are confined. The witness is a file outside, and the reason of a failure names the field that would
//! allow it.

use serde_json::{Value, json};

use crate::support::{Said, World};

/// A server with one tool, which runs this Python.
pub(crate) fn server(does: &str) -> String {
    format!(
        r#"import json, os, sys
from urllib.request import urlopen

def does():
    {does}

for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call:
        continue
    result = {{}}
    if call["method"] == "initialize":
        result = {{"protocolVersion": call["params"]["protocolVersion"], "capabilities": {{"tools": {{}}}},
                  "serverInfo": {{"name": "marker", "version": "1"}}}}
    elif call["method"] == "tools/list":
        result = {{"tools": [{{"name": "mark", "inputSchema": {{"type": "object"}}}}]}}
    elif call["method"] == "tools/call":
        try:
            text, failed = str(does()), False
        except OSError as error:
            text, failed = str(error), True
        result = {{"content": [{{"type": "text", "text": text}}], "isError": failed}}
    print(json.dumps({{"jsonrpc": "2.0", "id": call["id"], "result": result}}), flush=True)
"#
    )
}

/// A workspace with this trusted profile, whose server needs no answer of a person.
pub(crate) fn world_of(agent: &Value, settings: &str) -> World {
    let world = World::new();
    world.write("agent.json", agent.to_string());
    let server = "[[approvals]]\ntool = \"mcp__marker__mark\"\nzone = \"external\"\n";
    std::fs::create_dir_all(world.data()).unwrap();
    let settings = format!("allow_command_hooks = true\n{settings}{server}");
    std::fs::write(world.data().join("pintle.toml"), settings).unwrap();
    world
}

pub(crate) fn trust(world: &World) {
    let said = world.run(&["trust", "--accept"]);
    assert_eq!(said.code, Some(0), "{said:?}");
}

pub(crate) fn call(id: &str, tool: &str, input: &Value) -> Value {
    json!({ "toolCalls": [{ "id": id, "name": tool, "input": input }] })
}

fn ask(world: &World, message: &str) -> Said {
    world.run(&["chat", "-q", message])
}

const OUTSIDE: &str = "../home/out";

fn hooks(hook: Value) -> Value {
    json!({ "name": "clerk", "hooks": { "onToolCall": [hook] }, "sandbox": { "protect": ["infra"] } })
}

#[test]
fn a_hook_writes_nothing_outside_and_nothing_protected_and_its_reason_names_the_field() {
    for place in [OUTSIDE, "infra/out", ".pintle/out", "agent.json"] {
        let mut hook = json!({ "action": "command", "argv": ["sh", "hooks/gate.sh"], "tools": ["write_file"] });
        let world = world_of(&hooks(hook.clone()), "");
        world.write("hooks/gate.sh", format!("cat >/dev/null; touch ran; echo x > {place}"));
        world.write("infra/main.tf", "");
        world.write(".pintle/notes", "");
        trust(&world);
        let before = std::fs::read(world.file(place)).ok();
        let said = ask(&world, "write a.txt: x");
        assert!(world.file("ran").exists(), "{place}: {said:?}");
        assert_eq!(std::fs::read(world.file(place)).ok(), before, "{place}: {said:?}");
        assert!(!world.file("a.txt").exists(), "{place}: {said:?}");
        let reason = said.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = "`\"sandbox\": \"network\"` or `\"none\"` on the hook widens that";
        assert!(reason.contains(expected), "{place}: {said:?}");

        hook["sandbox"] = json!("none");
        if place == OUTSIDE {
            world.write("agent.json", hooks(hook).to_string());
            trust(&world);
            let said = ask(&world, "write a.txt: x");
            assert!(world.file(place).exists() && world.file("a.txt").exists(), "{said:?}");
        }
    }
}

#[test]
fn a_worker_writes_nothing_outside_and_its_reason_names_the_field() {
    let mut hook = json!({
        "action": "command", "argv": ["python3", "hooks/worker.py"], "worker": true, "tools": ["write_file"]
    });
    let world = world_of(&hooks(hook.clone()), "");
    let library = include_str!("../../../../examples/workers/pintle_worker.py");
    world.write("hooks/pintle_worker.py", library);
    let worker = format!(
        "from pintle_worker import serve\ndef gate(event, context):\n    open('ran', 'w')\n    open('{OUTSIDE}', 'w')\nserve(gate)\n"
    );
    world.write("hooks/worker.py", worker);
    trust(&world);
    let said = ask(&world, "write a.txt: x");
    assert!(world.file("ran").exists(), "{said:?}");
    assert!(!world.file(OUTSIDE).exists() && !world.file("a.txt").exists(), "{said:?}");
    let reason = said.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "`\"sandbox\": \"network\"` or `\"none\"` on the hook widens that";
    assert!(reason.contains(expected), "{said:?}");

    hook["sandbox"] = json!("none");
    world.write("agent.json", hooks(hook).to_string());
    trust(&world);
    let said = ask(&world, "write a.txt: x");
    assert!(world.file(OUTSIDE).exists() && world.file("a.txt").exists(), "{said:?}");
}

/// Plays these calls with the server, and gives how each ended.
fn play(world: &World, mut calls: Vec<Value>) -> Vec<Value> {
    calls.push(json!({ "text": "done" }));
    let model = world.script("script.json", &json!(calls));
    let said = world.run(&["chat", "--json", "-q", "go", "--model", &model]);
    let events = said.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ends: Vec<Value> = events.filter(|event| event["type"] == "tool.end").collect();
    assert!(!ends.is_empty(), "{said:?}");
    ends
}

fn with_server(zone: &str) -> Value {
    let server = json!({ "command": "python3", "args": ["hooks/serve.py"], "zone": zone });
    json!({ "name": "clerk", "mcpServers": { "marker": server } })
}

#[test]
fn a_server_writes_nothing_outside_and_its_error_names_the_field() {
    let world = world_of(&with_server("network"), "");
    world.write("hooks/serve.py", server(&format!("open('ran', 'w'); open('{OUTSIDE}', 'w')")));
    trust(&world);
    let mark = || vec![call("t1", "mcp__marker__mark", &json!({}))];
    let ends = play(&world, mark());
    assert!(world.file("ran").exists() && !world.file(OUTSIDE).exists(), "{ends:?}");
    let error = ends[0]["error"].as_str().unwrap();
    assert!(error.contains("a wider `zone` of the server allows more"), "{error}");

    world.write("agent.json", with_server("machine").to_string());
    trust(&world);
    let ends = play(&world, mark());
    assert!(world.file(OUTSIDE).exists(), "{ends:?}");
}

// R11.2
#[test]
fn a_server_and_the_commands_of_the_agent_have_a_temporary_folder_each() {
    let world = world_of(&with_server("build"), "");
    let lists = "open('/tmp/of-server', 'w'); return sorted(os.listdir('/tmp'))";
    world.write("hooks/serve.py", server(lists));
    trust(&world);
    let ends = play(
        &world,
        vec![
            call("t1", "terminal", &json!({ "command": "touch /tmp/of-command" })),
            call("t2", "mcp__marker__mark", &json!({})),
            call("t3", "terminal", &json!({ "command": "ls /tmp" })),
        ],
    );
    let content = |at: usize| ends[at]["content"].as_str().unwrap_or_else(|| panic!("{ends:?}"));
    assert!(content(1).contains("of-server") && !content(1).contains("of-command"), "{ends:?}");
    assert!(content(2).contains("of-command") && !content(2).contains("of-server"), "{ends:?}");
}
