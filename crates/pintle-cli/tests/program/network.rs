//! R17.7: zone `network` goes through the proxy, which reaches public hosts only and records each of them; a process plugin reaches
//! only the hosts that it was granted (R13.3).
//!
//! The public hosts are in a network namespace that the test makes: nothing leaves the machine.

use std::process::Command;

use serde_json::{Value, json};

use crate::{
    confined::{call, server, trust, world_of},
    support::{Said, World},
};

const PUBLIC: &str = "93.184.216.34";
const CLIENT: &str = "93.184.216.1";

/// Runs a shell line on a machine whose neighbour is a web server at a public address, with two names. The server logs its requests in
/// `served.log`.
fn beside_a_server(world: &World, line: &str) -> Said {
    world.write("hosts", format!("{PUBLIC} granted.example other.example\n"));
    // Two machines with a cable between them: the proxy refuses a machine's own addresses, public ones too.
    let machine = "mount --bind hosts /etc/hosts && \
                   ip link set lo up && ip link add here type veth peer name there && \
                   { unshare --net sh -c 'until ip link set there up 2>/dev/null; do sleep 0.02; done; \
                       ip addr add \"$PUBLIC/24\" dev there; \
                       exec python3 -u -m http.server 80 --bind \"$PUBLIC\" --directory site' >/dev/null 2>served.log & } && server=$! && \
                   until [ \"$(readlink /proc/$server/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ]; do sleep 0.02; done; \
                   ip link set there netns $server && ip addr add \"$CLIENT/24\" dev here && ip link set here up && \
                   until python3 -c \"import socket; socket.create_connection(('$PUBLIC', 80), 1)\" 2>/dev/null; do sleep 0.05; done; \
                   eval \"$1\"; kill $server";
    let mut unshare = Command::new("unshare");
    unshare.args(["--net", "--mount", "--map-root-user", "sh", "-c", machine, "sh", line]);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_pintle")).parent().unwrap().display();
    unshare
        .env_clear()
        .envs(world.environment())
        .env("PATH", format!("{program}:{}", std::env::var("PATH").unwrap()))
        .env("PINTLE_DATA", world.data())
        .envs([("PUBLIC", PUBLIC), ("CLIENT", CLIENT)])
        .current_dir(world.file(""));
    world.said(unshare.output().unwrap())
}

fn events(lines: &str) -> Vec<Value> {
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Plays one command in zone `network` beside the server, and gives its events.
fn fetch(world: &World, url: &str, settings: &str) -> Vec<Value> {
    world.write("site/hello.txt", "hello from outside\n");
    std::fs::create_dir_all(world.data()).unwrap();
    std::fs::write(world.data().join("pintle.toml"), format!("level = \"permissive\"\n{settings}"))
        .unwrap();
    let get = format!(
        "python3 -c \"import urllib.request as u; print(u.urlopen('{url}', timeout=10).read().decode())\""
    );
    let input = json!({ "command": get, "zone": "network", "why": "the test" });
    let call = json!({ "toolCalls": [{ "id": "t1", "name": "terminal", "input": input }] });
    let model = world.script("script.json", &json!([call, { "text": "done" }]));
    let said = beside_a_server(world, &format!("pintle chat --json -q go --model {model}"));
    let events = events(&said.out);
    assert!(events.iter().any(|event| event["type"] == "tool.end"), "{said:?}");
    events
}

fn of<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    events.iter().find(|event| event["type"] == kind).unwrap()
}

#[test]
fn a_public_host_is_reached_through_the_proxy_and_recorded() {
    let world = World::new();
    let events = fetch(&world, &format!("http://{PUBLIC}/hello.txt"), "");
    let end = of(&events, "tool.end");
    assert!(
        end["content"].as_str().is_some_and(|text| text.contains("hello from outside")),
        "{end}"
    );
    assert_eq!(
        of(&events, "sandbox")["hosts"],
        json!([{ "host": format!("{PUBLIC}:80"), "allowed": true }])
    );
}

#[test]
fn a_host_that_the_operator_does_not_list_is_refused_and_recorded() {
    let world = World::new();
    let settings = "[sandbox]\nhosts = [\"example.org\"]\n";
    let events = fetch(&world, &format!("http://{PUBLIC}/hello.txt"), settings);
    assert_eq!(of(&events, "tool.end")["ok"], false);
    assert_eq!(
        of(&events, "sandbox")["hosts"],
        json!([{ "host": format!("{PUBLIC}:80"), "allowed": false }])
    );
}

#[test]
fn no_private_address_is_reached_whatever_the_list_says() {
    let world = World::new();
    let settings = "[sandbox]\nhosts = [\"127.0.0.1:80\"]\n";
    // Around `no_proxy`, which keeps programs from asking the proxy for this machine.
    let events = fetch(&world, "http://[::ffff:127.0.0.1]:80/hello.txt", settings);
    assert_eq!(of(&events, "tool.end")["ok"], false, "{events:?}");
    assert_eq!(of(&events, "sandbox")["hosts"][0]["allowed"], false, "{events:?}");
}

/// Plays these calls beside the server with this profile, and gives the hosts that are recorded of each.
fn hosts_of(world: &World, mut calls: Vec<Value>) -> Vec<Value> {
    world.write("site/hello.txt", "hello from outside\n");
    calls.push(json!({ "text": "done" }));
    let model = world.script("script.json", &json!(calls));
    let said = beside_a_server(world, &format!("pintle chat --json -q go --model {model}"));
    let recorded: Vec<Value> =
        events(&said.out).into_iter().filter(|event| event["type"] == "sandbox").collect();
    assert!(!recorded.is_empty(), "{said:?}");
    recorded
        .iter()
        .filter(|it| !it["hosts"].is_null())
        .map(|it| json!([it["toolCallId"], it["hosts"]]))
        .collect()
}

#[test]
fn the_hosts_of_a_server_of_the_profile_are_recorded_with_each_call() {
    let served = json!({ "command": "python3", "args": ["hooks/serve.py"] });
    let world = world_of(&json!({ "name": "clerk", "mcpServers": { "marker": served } }), "");
    let get = format!("return urlopen('http://{PUBLIC}/hello.txt', timeout=10).read()");
    world.write("hooks/serve.py", server(&get));
    trust(&world);
    let mark = |id| call(id, "mcp__marker__mark", &json!({}));
    let public = asked_for(PUBLIC, true);
    let recorded = hosts_of(&world, vec![mark("t1"), mark("t2")]);
    assert_eq!(recorded, [json!(["t1", public]), json!(["t2", public])]);
}

#[test]
fn the_hosts_of_a_background_command_are_recorded_when_it_is_looked_at_or_stopped() {
    let world = world_of(&json!({ "name": "clerk" }), "level = \"permissive\"\n");
    trust(&world);
    let get = |file: &str| {
        format!(
            "until [ -e {file} ]; do sleep 0.02; done; python3 -c \"import urllib.request as u; u.urlopen('http://{PUBLIC}/hello.txt', timeout=10)\"; touch {file}.done; "
        )
    };
    let serve = format!("{}{}exec sleep 60", get("first"), get("second"));
    let start =
        json!({ "command": serve, "background": true, "zone": "network", "why": "the test" });
    let wait = |file: &str| json!({ "command": format!("touch {file}; until [ -e {file}.done ]; do sleep 0.02; done") });
    let look = |action: &str| json!({ "action": action, "number": 1 });
    let calls = vec![
        call("start", "terminal", &start),
        call("w1", "terminal", &wait("first")),
        call("output", "processes", &look("output")),
        call("w2", "terminal", &wait("second")),
        call("stop", "processes", &look("stop")),
    ];
    let public = asked_for(PUBLIC, true);
    assert_eq!(hosts_of(&world, calls), [json!(["output", public]), json!(["stop", public])]);
}

const PLUGIN: &str = r#"
from urllib.request import urlopen
from pintle_worker import Plugin
plugin = Plugin()

def get(host, path):
    return urlopen("http://%s/%s" % (host, path), timeout=10).read().decode()

@plugin.on("before_prompt_build")
def build(event):
    return {"appendSystem": get("granted.example", "prompt")}

@plugin.on("agent_done")
def done(event):
    get("other.example", "done")

@plugin.tool("get")
def tool(args):
    return get(args["host"], "tool-at-" + args["host"])

plugin.serve()
"#;

/// Adds the plugin `p`, which may reach `granted.example` and tries to reach `other.example` too; with the model that calls its tool for both.
fn with_plugin(settings: &str) -> (World, String) {
    let world = World::new();
    for page in ["prompt", "done", "tool-at-granted.example", "tool-at-other.example"] {
        world.write(&format!("site/{page}"), format!("hello from {page}"));
    }
    world.write("p/p.py", PLUGIN);
    world
        .write("p/pintle_worker.py", include_str!("../../../../examples/workers/pintle_worker.py"));
    let schema = json!({ "type": "object", "properties": { "host": { "type": "string" } } });
    let manifest = json!({
        "id": "p", "version": "1", "apiVersion": 1, "kind": "process", "entry": ["python3", "p.py"],
        "points": ["before_prompt_build", "agent_done"],
        "capabilities": ["amend:prompt", "observe", "tools", "zone:network", "network:granted.example"],
        "tools": [{ "name": "get", "description": "Gets a page.", "inputSchema": schema }],
    });
    world.write("p/plugin.json", manifest.to_string());
    world.write("agent.json", json!({ "name": "clerk", "plugins": ["p"] }).to_string());
    for arguments in [&["plugins", "add", "p", "--yes"][..], &["trust", "--accept"]] {
        let said = world.run(arguments);
        assert_eq!(said.code, Some(0), "{said}");
    }
    let rule = "[[approvals]]\ntool = \"p__get\"\nzone = \"external\"\n";
    std::fs::write(world.data().join("pintle.toml"), format!("{rule}{settings}")).unwrap();
    let call = |host: &str| {
        let input = json!({ "host": host });
        json!({ "toolCalls": [{ "id": host, "name": "p__get", "input": input }] })
    };
    let script = json!([call("granted.example"), call("other.example"), { "text": "done" }]);
    let model = world.script("script.json", &script);
    (world, model)
}

/// What a run with the plugin recorded: of its handlers at `before_prompt_build` and `agent_done`, and of the calls of its tool.
struct Recorded(Vec<Value>);

impl Recorded {
    fn new(world: &World, file: &str) -> Self {
        Self(events(&std::fs::read_to_string(world.file(file)).unwrap()))
    }

    fn find(&self, kind: &str, key: &str, value: &str) -> &Value {
        let found = self.0.iter().find(|event| event["type"] == kind && event[key] == value);
        found.unwrap_or_else(|| panic!("no {kind} of {value}: {:#?}", self.0))
    }

    fn handler(&self, point: &str) -> &Value {
        let handlers = self.find("hook.fired", "point", point)["handlers"].as_array().unwrap();
        handlers.iter().find(|handler| handler["plugin"] == "p").unwrap()
    }

    /// How a handler failed.
    fn reason(&self, point: &str) -> &str {
        self.handler(point)["reason"].as_str().unwrap_or_default()
    }

    /// What a call answered, and what is recorded of its host.
    fn call(&self, host: &str) -> (&str, &Value) {
        let end = self.find("tool.end", "toolCallId", host);
        let said = end["content"].as_str().or(end["error"].as_str()).unwrap();
        (said, &self.find("sandbox", "toolCallId", host)["hosts"])
    }
}

fn asked_for(host: &str, allowed: bool) -> Value {
    json!([{ "host": format!("{host}:80"), "allowed": allowed }])
}

/// The paths that the server was asked for.
fn served(world: &World) -> Vec<String> {
    let log = std::fs::read_to_string(world.file("served.log")).unwrap();
    log.lines()
        .filter_map(|line| Some(line.split_once("GET ")?.1.split_once(' ')?.0.into()))
        .collect()
}

fn reaches_only_the_granted_host(world: &World, recorded: &Recorded) {
    assert_eq!(served(world), ["/prompt", "/tool-at-granted.example"]);
    let handler = recorded.handler("before_prompt_build");
    assert_eq!(handler["notes"], json!(["reached granted.example:80"]), "{handler}");
    let parts = &recorded.0.iter().find(|event| event["type"] == "prompt").unwrap()["parts"];
    assert!(parts.to_string().contains("hello from prompt"), "{parts}");
    let (said, hosts) = recorded.call("granted.example");
    assert_eq!(said, "hello from tool-at-granted.example");
    assert_eq!(*hosts, asked_for("granted.example", true));
    let (said, hosts) = recorded.call("other.example");
    assert!(said.contains("the sandbox refused other.example:80"), "{said}");
    assert_eq!(*hosts, asked_for("other.example", false));
    let reason = recorded.reason("agent_done");
    assert!(reason.contains("the sandbox refused other.example:80"), "{reason}");
}

// R13.3
#[test]
fn a_plugin_reaches_the_host_that_it_was_granted_and_no_other_until_the_grant_is_revoked() {
    let (world, model) = with_plugin("");
    let chat = |to: &str| format!("pintle chat --json -q go --model {model} >{to}");
    let line = [
        &chat("granted"),
        "pintle plugins revoke p network:granted.example",
        &chat("revoked"),
        "pintle plugins revoke p zone:network",
        &chat("closed"),
    ];
    let said = beside_a_server(&world, &line.join(" && "));
    reaches_only_the_granted_host(&world, &Recorded::new(&world, "granted"));

    let warning = "the plugin `p` was not granted network:granted.example; \
                   `pintle plugins grant p network:granted.example` grants it";
    assert!(said.err.contains(warning), "{said:?}");
    let revoked = Recorded::new(&world, "revoked");
    let reason = revoked.reason("before_prompt_build");
    assert!(reason.contains("the sandbox refused granted.example:80"), "{reason}");
    let (said, hosts) = revoked.call("granted.example");
    let refused =
        "the sandbox refused granted.example:80; it was not granted `network:granted.example`";
    assert!(said.contains(refused), "{said}");
    assert_eq!(*hosts, asked_for("granted.example", false));

    let closed = Recorded::new(&world, "closed");
    assert_eq!(closed.handler("before_prompt_build")["outcome"], "errored");
    let (said, hosts) = closed.call("granted.example");
    let refused = "it was not granted `zone:network`, `network:granted.example`";
    assert!(said.contains(refused) && hosts.is_null(), "{said} {hosts}");
}

#[test]
fn direct_network_for_commands_does_not_widen_what_a_plugin_was_granted() {
    let (world, model) = with_plugin("[sandbox]\nnetwork = \"direct\"\n");
    let said =
        beside_a_server(&world, &format!("pintle chat --json -q go --model {model} >recorded"));
    assert_eq!(said.code, Some(0), "{said:?}");
    reaches_only_the_granted_host(&world, &Recorded::new(&world, "recorded"));
}
