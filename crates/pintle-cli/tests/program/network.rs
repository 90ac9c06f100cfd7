//! R17.7: zone `network` goes through the proxy, which reaches public hosts only and records each of them.
//!
//! The public host is in a network namespace that the test makes: nothing leaves the machine.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::World;

const PUBLIC: &str = "93.184.216.34";
const CLIENT: &str = "93.184.216.1";

/// Plays one command in zone `network` on a machine that has a web server at a public address, and gives its events.
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
    // Two machines with a cable between them: the proxy refuses a machine's own addresses, public ones too.
    let line = "ip link set lo up && ip link add here type veth peer name there && \
                { unshare --net sh -c 'until ip link set there up 2>/dev/null; do sleep 0.02; done; \
                    ip addr add \"$PUBLIC/24\" dev there; \
                    exec python3 -m http.server 80 --bind \"$PUBLIC\" --directory site' >/dev/null 2>&1 & } && server=$! && \
                until [ \"$(readlink /proc/$server/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ]; do sleep 0.02; done; \
                ip link set there netns $server && ip addr add \"$CLIENT/24\" dev here && ip link set here up && \
                until python3 -c \"import socket; socket.create_connection(('$PUBLIC', 80), 1)\" 2>/dev/null; do sleep 0.05; done; \
                \"$@\"; kill $server";
    let mut machine = Command::new("unshare");
    machine.args([
        "--net",
        "--map-root-user",
        "sh",
        "-c",
        line,
        "sh",
        env!("CARGO_BIN_EXE_pintle"),
    ]);
    machine.args(world.arguments(&["chat", "--json", "-q", "go", "--model", &model]));
    machine
        .env_clear()
        .envs(world.environment())
        .env("PUBLIC", PUBLIC)
        .env("CLIENT", CLIENT)
        .current_dir(world.file(""));
    let said = world.said(machine.output().unwrap());
    let events: Vec<Value> =
        said.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
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
