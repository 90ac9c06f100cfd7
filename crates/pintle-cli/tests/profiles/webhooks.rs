//! Webhooks of a profile, through the program (R10.5).

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::mpsc,
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::World;

/// Somebody who listens, and says yes to everything unless told otherwise.
pub(crate) struct Endpoint {
    address: String,
    bodies: mpsc::Receiver<String>,
}

impl Endpoint {
    pub(crate) fn open() -> Self {
        Self::answering("200 OK")
    }

    fn answering(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, bodies) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    while let Some(body) = request(&mut reader) {
                        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                        let _ = (&stream).write_all(answer.as_bytes());
                        let _ = sender.send(body);
                    }
                });
            }
        });
        Self { address, bodies }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn body(&self) -> String {
        self.bodies.recv_timeout(Duration::from_secs(60)).expect("a webhook arrives")
    }
}

/// The body of the next request; `None` when there is none any more.
fn request(reader: &mut impl BufRead) -> Option<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(given) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = given.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(String::from_utf8(body).unwrap())
}

fn telling(endpoint: &Endpoint) -> World {
    let hook = json!({ "action": "webhook", "url": endpoint.url("/in"), "name": "tell" });
    World::new(&json!({ "hooks": { "onComplete": [hook] } }))
}

#[test]
fn two_programs_at_once_both_tell() {
    let endpoint = Endpoint::open();
    let world = telling(&endpoint);
    let mut talk = world.talk(&[]);
    talk.settle("a.txt");
    assert!(endpoint.body().contains("session.end"));
    // The first one still runs, and keeps its folder for what it could not send.
    assert!(world.ask("list .").ok);
    assert!(endpoint.body().contains("session.end"));
    let list = world.run(&["hooks", "list", "--profile", "profile"]);
    assert!(list.ok && list.out.contains("tell"), "{list:?}");
    assert!(talk.end().ok);
}

#[test]
fn a_profile_with_webhooks_can_change_while_one_talks() {
    let (endpoint, other) = (Endpoint::open(), Endpoint::open());
    let world = telling(&endpoint);
    let mut talk = world.talk(&[]);
    talk.settle("a.txt");
    endpoint.body();
    let hook = json!({ "action": "webhook", "url": other.url("/in"), "name": "tell" });
    world.agent(&json!({ "hooks": { "onComplete": [hook] } }));
    talk.settle("b.txt");
    let body: Value = serde_json::from_str(&other.body()).unwrap();
    assert_eq!((&body["v"], &body["event"]), (&json!(1), &json!("session.end")));
    let said = talk.end();
    assert!(said.ok && said.err.contains("the new one is in force"), "{said:?}");
}

#[test]
fn the_operators_list_is_all_there_is_once_there_is_one() {
    let endpoint = Endpoint::open();
    let world = telling(&endpoint).operator("PINTLE_WEBHOOK_ALLOWLIST", "https://audit.example/in");
    let said = world.ask("list .");
    assert!(!said.ok && said.err.contains("PINTLE_WEBHOOK_ALLOWLIST"), "{said:?}");
    let world = telling(&endpoint).operator("PINTLE_WEBHOOK_ALLOWLIST", endpoint.url("/in"));
    assert!(world.ask("list .").ok);
    endpoint.body();
}

// R10.5: a proxy is the operator's to name, and the environment's never.
#[test]
fn webhooks_go_through_the_operators_proxy() {
    let proxy = Endpoint::open();
    let hook = json!({ "action": "webhook", "url": "http://localhost:1/hook" });
    let world = World::new(&json!({ "hooks": { "onStart": [hook] } }));
    std::fs::create_dir_all(world.data("")).unwrap();
    let file = format!("webhook_proxy = \"{}\"\n", proxy.url(""));
    std::fs::write(world.data("pintle.toml"), file).unwrap();
    let said = world.ask("list .");
    assert!(said.ok, "{said:?}");
    let body: Value = serde_json::from_str(&proxy.body()).unwrap();
    assert_eq!(body["event"], "session.start");
}

// P6: what does not arrive is told, with what became of it.
#[test]
fn webhooks_that_do_not_arrive_are_told_of() {
    let telling = |url: &str| {
        let hook = json!({ "action": "webhook", "url": url });
        World::new(&json!({ "hooks": { "onStart": [hook] } })).ask("list .")
    };
    let refused = telling(&Endpoint::answering("404 Not Found").url("/hook"));
    assert!(refused.ok, "it is an observer: {refused:?}");
    assert!(refused.err.contains("/hook refused: 1: "), "{refused:?}");
    assert!(refused.err.contains("404"), "{refused:?}");

    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let kept = telling(&format!("http://{nobody}/hook"));
    assert!(kept.ok, "{kept:?}");
    assert!(kept.err.contains("/hook kept, to be sent next time: 1: "), "{kept:?}");
}
