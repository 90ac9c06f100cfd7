//! Plugins through the program: added, granted, confined, gated by personality (§13, R10.9, R10.11).

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Said, World};

/// A world with a plugin from the template, granted everything, and a profile that names it.
fn with_template(language: &str) -> World {
    let world = World::new(&json!({ "plugins": ["today"] }));
    let written = world.run(&["plugins", "new", "today", "--language", language]);
    assert!(written.ok, "{written:?}");
    let added = world.run(&["plugins", "add", "today", "--yes"]);
    assert!(added.ok, "{added:?}");
    world
}

fn prompt(world: &World) -> Said {
    world.run(&["doctor", "--show-prompt", "--profile", "profile"])
}

fn test(world: &World, program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(world.path("today"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

// R13.4
#[test]
fn a_python_plugin_from_the_template_passes_its_test_and_amends_the_prompt() {
    let world = with_template("python");
    test(&world, "python3", &["-m", "unittest"]);
    let said = prompt(&world);
    assert!(said.out.contains("by today\nAnswer in one sentence"), "{said:?}");
    let hooks = world.run(&["hooks", "list", "--profile", "profile", "--json"]);
    let hooks: Vec<Value> = serde_json::from_str(&hooks.out).unwrap();
    let of_plugin = hooks.iter().filter(|hook| hook["plugin"] == "today");
    let listed: Vec<_> = of_plugin.map(|hook| (&hook["point"], &hook["state"])).collect();
    assert_eq!(listed, [(&json!("before_prompt_build"), &json!("never fired"))]);
    let doctor = world.run(&["doctor", "--profile", "profile"]);
    assert!(doctor.out.contains("today 0.1.0 · process, zone safe · activated"), "{doctor:?}");
    // What was taken back has no effect, and that is told.
    assert!(world.run(&["plugins", "revoke", "today", "amend:prompt"]).ok);
    let said = prompt(&world);
    assert!(!said.out.contains("Answer in one sentence"), "{said:?}");
    assert!(said.err.contains("the plugin `today` was not granted amend:prompt"), "{said:?}");
    assert!(world.run(&["plugins", "remove", "today"]).ok);
    assert!(!prompt(&world).ok);
}

#[test]
fn a_node_plugin_from_the_template_passes_its_test_and_answers_a_slash_command() {
    let world = with_template("node");
    test(&world, "node", &["--test"]);
    let mut talk = world.talk(&[]);
    talk.say("/today hello");
    talk.say("/tomorrow");
    let said = talk.end();
    assert!(said.out.contains("today is here. hello"), "{said:?}");
    assert!(said.err.contains("no command `/tomorrow`"), "{said:?}");
}

/// A plugin `p` with this source, added with all that it asks for.
fn added(agent: &Value, manifest: &Value, source: &str) -> World {
    let world = World::new(agent);
    let library = include_str!("../../../../examples/workers/pintle_worker.py");
    world.write("p/pintle_worker.py", library);
    world.write("p/p.py", source);
    let mut whole = json!({
        "id": "p", "version": "1", "apiVersion": 1, "kind": "process", "entry": ["python3", "p.py"],
    });
    for (key, value) in manifest.as_object().unwrap() {
        whole[key] = value.clone();
    }
    world.write("p/plugin.json", &whole.to_string());
    let said = world.run(&["plugins", "add", "p", "--yes"]);
    assert!(said.ok, "{said:?}");
    world
}

const WRITES: &str = r#"
from pintle_worker import Plugin
plugin = Plugin()

@plugin.on("session_start")
def start(event):
    open("WORKSPACE/marker", "w").write("x")

plugin.serve()
"#;

// R13.2: the kernel holds it to its zone, whatever it was written to do.
#[test]
fn a_process_plugin_writes_the_workspace_only_in_a_zone_that_was_granted() {
    let capabilities = ["observe", "zone:workspace"];
    let manifest = json!({ "points": ["session_start"], "capabilities": capabilities });
    let world = added(&json!({ "plugins": ["p"] }), &manifest, WRITES);
    let workspace = world.path("").canonicalize().unwrap().display().to_string();
    world.write("p/p.py", &WRITES.replace("WORKSPACE", workspace.trim_end_matches('/')));
    assert!(world.run(&["plugins", "add", "p"]).ok);
    assert!(world.run(&["plugins", "revoke", "p", "zone:workspace"]).ok);
    let said = world.ask("list .");
    assert!(said.ok && !world.path("marker").exists(), "{said:?}");
    assert!(world.run(&["plugins", "grant", "p"]).ok);
    let said = world.ask("list .");
    assert!(said.ok && world.path("marker").exists(), "{said:?}");
}

const WATCHES_AND_AMENDS: &str = r#"
from pintle_worker import Plugin
plugin = Plugin()

@plugin.on("session_start")
def start(event):
    open("WORKSPACE/marker", "w").write("x")

@plugin.on("before_prompt_build")
def build(event):
    return {"appendSystem": "still amended"}

plugin.serve()
"#;

// R10.8
#[test]
fn observers_of_plugins_can_be_switched_off_and_what_amends_stays() {
    let manifest = json!({
        "points": ["session_start", "before_prompt_build"],
        "capabilities": ["observe", "amend:prompt", "zone:workspace"],
    });
    let world = added(&json!({ "plugins": ["p"] }), &manifest, "");
    let workspace = world.path("").canonicalize().unwrap().display().to_string();
    let source = WATCHES_AND_AMENDS.replace("WORKSPACE", workspace.trim_end_matches('/'));
    world.write("p/p.py", &source);
    assert!(world.run(&["plugins", "add", "p"]).ok);
    let world = world.operator("PINTLE_DISABLE_HOOKS", "1");
    let said = world.ask("list .");
    assert!(said.ok && !world.path("marker").exists(), "{said:?}");
    let warning = "the plugin `p` does not observe session_start: switched off by the operator";
    assert!(said.err.contains(warning), "{said:?}");
    assert!(prompt(&world).out.contains("by p\nstill amended"));
    let listed = |world: &World| {
        let hooks = world.run(&["hooks", "list", "--profile", "profile", "--json"]);
        let hooks: Vec<Value> = serde_json::from_str(&hooks.out).unwrap();
        let of_plugin = hooks.into_iter().filter(|hook| hook["plugin"] == "p");
        of_plugin.map(|it| json!([it["point"], it["model"], it["state"]])).collect::<Vec<_>>()
    };
    let amends = json!(["before_prompt_build", "modifying", "active"]);
    assert_eq!(listed(&world), [amends.clone(), json!(["session_start", "void", "disabled"])]);
    let world = world.operator("PINTLE_DISABLE_HOOKS", "0");
    let said = world.ask("list .");
    assert!(said.ok && world.path("marker").exists(), "{said:?}");
    assert_eq!(listed(&world), [amends, json!(["session_start", "void", "active"])]);
}

const READS: &str = r#"
import socket
from pintle_worker import Plugin
plugin = Plugin()

@plugin.on("before_prompt_build")
def build(event):
    found = []
    for path in FILES:
        try:
            found.append(path + " is " + open(path).read(9))
        except OSError:
            found.append(path + " is closed")
    try:
        socket.create_connection(("127.0.0.1", PORT), 1)
        found.append("the network is open")
    except OSError:
        found.append("the network is closed")
    return {"appendSystem": "; ".join(found) + " " + str("history" in event)}

plugin.serve()
"#;

#[test]
fn a_process_plugin_reads_its_own_folder_and_reaches_neither_records_conversation_nor_network() {
    let manifest = json!({ "points": ["before_prompt_build"], "capabilities": ["amend:prompt"] });
    let world = added(&json!({ "plugins": ["p"] }), &manifest, READS);
    let data = world.data("").canonicalize().unwrap();
    std::fs::write(data.join("pintle.toml"), "level = \"strict\"\n").unwrap();
    let secret = data.join("pintle.toml").display().to_string();
    let list = data.join("plugins.json").display().to_string();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let files = format!("['{secret}', '{list}', 'plugin.json']");
    world.write("p/p.py", &READS.replace("FILES", &files).replace("PORT", &port));
    assert!(world.run(&["plugins", "add", "p"]).ok);
    let said = prompt(&world);
    let closed = format!("{secret} is closed; {list} is closed; plugin.json is {{");
    assert!(said.out.contains(&closed), "{said:?}");
    assert!(said.out.contains("the network is closed") && listener.accept().is_err(), "{said:?}");
    assert!(said.out.contains(" False"), "no history without `read:conversation`: {said:?}");
}

// R10.11
#[test]
fn a_plugin_that_cannot_be_loaded_keeps_the_profile_from_running() {
    let world = World::new(&json!({ "plugins": ["notes"] }));
    for command in [&["hooks", "lint", "profile"][..], &["doctor", "--profile", "profile"]] {
        let said = world.run(command);
        let told = format!("{}{}", said.out, said.err);
        assert!(!said.ok && told.contains("there is no plugin `notes`"), "{said:?}");
    }
    assert!(!world.ask("write marker: x").ok && !world.path("marker").exists());
}

// R10.9: trust is by content.
#[test]
fn a_plugin_whose_files_changed_does_not_run() {
    let manifest = json!({ "points": ["session_start"], "capabilities": ["observe"] });
    let world = added(
        &json!({ "plugins": ["p"] }),
        &manifest,
        "from pintle_worker import Plugin\nplugin = Plugin()\n@plugin.on('session_start')\ndef start(event): pass\nplugin.serve()\n",
    );
    assert!(world.ask("list .").ok);
    std::fs::write(world.data("plugins/p/p.py"), "open('/tmp/never', 'w')\n").unwrap();
    let said = world.ask("write marker: x");
    assert!(!said.ok && said.err.contains("are not those that were added"), "{said:?}");
    assert!(said.err.contains("pintle plugins add "), "{said:?}");
    assert!(!world.path("marker").exists());
    let list = world.run(&["plugins"]);
    assert!(list.out.contains("UNUSABLE"), "{list:?}");
    // A plugin that does not activate is an error too.
    world.write("p/p.py", "raise SystemExit('broken')\n");
    assert!(world.run(&["plugins", "add", "p"]).ok);
    let said = world.ask("write marker: x");
    assert!(!said.ok && said.err.contains("the plugin `p` did not activate"), "{said:?}");
    assert!(said.err.contains("broken") && !world.path("marker").exists(), "{said:?}");
}

const TOOL: &str = r#"
from pintle_worker import Plugin
plugin = Plugin()

@plugin.tool("add")
def add(args):
    return "the sum is %d" % (args["a"] + args["b"])

plugin.serve()
"#;

// R13.4
#[test]
fn a_tool_of_a_plugin_goes_with_the_personalities_that_have_the_plugin() {
    let schema = json!({
        "type": "object", "required": ["a", "b"],
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
    });
    let tool = json!({ "name": "add", "description": "Adds.", "inputSchema": schema });
    let manifest = json!({ "capabilities": ["tools"], "tools": [tool] });
    let agent = json!({
        "personality": "with",
        "personalities": {
            "with": { "prompt": "a", "plugins": ["p"] },
            "without": { "prompt": "b" },
        },
    });
    let world = added(&agent, &manifest, TOOL);
    let explain = |personality: &str| {
        let call = r#"{ "a": 1, "b": 2 }"#;
        let who = ["--profile", "profile", "--personality", personality];
        world.run(&[&["hooks", "explain", "--tool", "p__add", "--args", call][..], &who].concat())
    };
    let without = explain("without");
    assert!(without.out.contains("does not have the plugin `p`"), "{without:?}");
    let with = explain("with");
    assert!(!with.out.contains("does not have the plugin"), "{with:?}");
}

const SAYS: &str = r#"
from pintle_worker import Plugin
plugin = Plugin()

@plugin.command("version")
def version(text):
    return "this is version ONE"

plugin.serve()
"#;

// R13.1: a reload needs no restart, and one that fails leaves what was there.
#[test]
fn a_running_chat_takes_up_a_new_version_and_a_new_grant() {
    let command = json!({ "name": "version", "description": "says which one it is" });
    let manifest = json!({ "capabilities": ["commands"], "commands": [command] });
    let world = added(&json!({ "plugins": ["p"] }), &manifest, SAYS);
    let add = |source: &str| {
        world.write("p/p.py", source);
        let said = world.run(&["plugins", "add", "p"]);
        assert!(said.ok, "{said:?}");
    };
    let mut talk = world.talk(&[]);
    talk.say("/version");
    talk.settle("a.txt");
    add(&SAYS.replace("ONE", "TWO"));
    talk.say("/version");
    talk.settle("b.txt");
    add("raise SystemExit('broken')\n");
    talk.say("/version");
    talk.settle("c.txt");
    assert!(world.run(&["plugins", "revoke", "p", "commands"]).ok);
    add(&SAYS.replace("ONE", "THREE"));
    talk.say("/version");
    talk.settle("d.txt");
    let said = talk.end();
    let versions: Vec<_> = said.out.lines().filter(|it| it.starts_with("this is")).collect();
    let two = "this is version TWO";
    assert_eq!(versions, ["this is version ONE", two, two], "{said:?}");
    assert!(said.err.contains("did not activate"), "{said:?}");
    assert!(said.err.contains("no command `/version`"), "{said:?}");
}

const DIES: &str = r#"
import os
from pintle_worker import Plugin
plugin = Plugin()

@plugin.command("die")
def die(text):
    os._exit(1)

plugin.serve()
"#;

const MARKS: &str = r#"
from pintle_worker import Plugin
open("WORKSPACE/marker", "w").write("x")
plugin = Plugin()

@plugin.command("die")
def die(text):
    return "alive"

plugin.serve()
"#;

// R10.9: a process that died is not started again from files that changed.
#[test]
fn a_plugin_whose_files_changed_is_not_started_again_when_its_process_died() {
    let command = json!({ "name": "die", "description": "ends it" });
    let manifest = json!({ "capabilities": ["commands", "zone:workspace"], "commands": [command] });
    let world = added(&json!({ "plugins": ["p"] }), &manifest, DIES);
    let workspace = world.path("").canonicalize().unwrap().display().to_string();
    let marks = MARKS.replace("WORKSPACE", workspace.trim_end_matches('/'));
    let mut talk = world.talk(&[]);
    talk.say("/die");
    talk.settle("a.txt");
    std::fs::write(world.data("plugins/p/p.py"), &marks).unwrap();
    talk.say("/die");
    talk.settle("b.txt");
    let said = talk.end();
    assert!(said.err.contains("are not those that were added"), "{said:?}");
    assert!(said.err.contains("pintle plugins add "), "{said:?}");
    assert!(!world.path("marker").exists());
    let listed = world.run(&["hooks", "list", "--profile", "profile"]);
    assert!(!listed.ok && listed.err.contains("are not those that were added"), "{listed:?}");
    // The same files write the marker once a person added them.
    world.write("p/p.py", &marks);
    assert!(world.run(&["plugins", "add", "p"]).ok && world.ask("list .").ok);
    assert!(world.path("marker").exists());
}

// R13.4
#[test]
fn a_handler_of_a_plugin_fires_only_for_the_personalities_that_have_the_plugin() {
    let manifest =
        json!({ "points": ["session_start"], "capabilities": ["observe", "zone:workspace"] });
    let agent = json!({
        "personality": "without",
        "personalities": {
            "with": { "prompt": "a", "plugins": ["p"] },
            "without": { "prompt": "b" },
        },
    });
    let world = added(&agent, &manifest, "");
    let workspace = world.path("").canonicalize().unwrap().display().to_string();
    world.write("p/p.py", &WRITES.replace("WORKSPACE", workspace.trim_end_matches('/')));
    assert!(world.run(&["plugins", "add", "p"]).ok);
    let ask = |personality: &str| {
        let who = ["--profile", "profile", "--personality", personality];
        let said = world.run(&[&["chat", "-q", "list ."][..], &who].concat());
        assert!(said.ok, "{said:?}");
    };
    ask("without");
    assert!(!world.path("marker").exists());
    ask("with");
    assert!(world.path("marker").exists());
}

#[path = "../../../pintle-wasm/tests/wasm/guest.rs"]
#[allow(dead_code, reason = "the tests of pintle-wasm use all of it")]
mod guest;

/// A component that adds a line to the prompt, added with all that it asks for.
fn with_component() -> World {
    const PATCH: &str = r#"{"appendSystem":"from a component"}"#;
    let world = World::new(&json!({ "plugins": ["w"] }));
    world.write(
        "w/plugin.json",
        &json!({
            "id": "w", "version": "1", "apiVersion": 1, "kind": "wasm", "entry": "guest.wasm",
            "points": ["before_prompt_build"], "capabilities": ["amend:prompt"],
        })
        .to_string(),
    );
    let component = guest::handling(&[PATCH], &guest::says("ok", 1, PATCH));
    std::fs::write(world.path("w/guest.wasm"), component).unwrap();
    let added = world.run(&["plugins", "add", "w", "--yes"]);
    assert!(added.ok, "{added:?}");
    world
}

// R13.2
#[cfg(feature = "wasm")]
#[test]
fn a_component_amends_the_prompt_and_one_that_is_none_does_not_load() {
    let world = with_component();
    let said = prompt(&world);
    assert!(said.out.contains("by w\nfrom a component"), "{said:?}");
    world.write("w/guest.wasm", "no component");
    assert!(world.run(&["plugins", "add", "w"]).ok);
    let said = world.ask("write marker: x");
    assert!(!said.ok && said.err.contains("it is not a WASM component"), "{said:?}");
    assert!(!world.path("marker").exists());
}

// R10.11
#[cfg(not(feature = "wasm"))]
#[test]
fn without_wasm_in_the_build_a_component_keeps_the_profile_from_running() {
    let world = with_component();
    let said = world.ask("write marker: x");
    assert!(!said.ok && said.err.contains("--features wasm"), "{said:?}");
    assert!(!world.path("marker").exists());
}
