//! `pintle serve` as a process: its API, its token, answers from the command line, and `kill -9` in the middle.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    process::Child,
    time::Instant,
};

use serde_json::{Value, json};

use crate::support::{PATIENCE, World};

pub(crate) struct Served {
    process: Child,
    pub(crate) address: String,
    pub(crate) token: String,
}

impl Served {
    pub(crate) fn start(world: &World) -> Self {
        Self::start_with(world, &[])
    }

    /// Without a profile, unless one is named.
    pub(crate) fn start_with(world: &World, more: &[&str]) -> Self {
        let own: &[&str] = if more.contains(&"--profile") { &[] } else { &["--no-profile"] };
        Self::start_as(world, &[own, more].concat())
    }

    /// At a free port, and otherwise with these arguments alone.
    pub(crate) fn start_as(world: &World, arguments: &[&str]) -> Self {
        let arguments = [&["serve", "--json", "--addr", "127.0.0.1:0"], arguments].concat();
        let mut process = world.start(&arguments);
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_default();
        let address = said["address"].as_str().map(str::to_string).unwrap_or_else(|| {
            let mut told = String::new();
            process.stderr.take().unwrap().read_to_string(&mut told).unwrap();
            panic!("it did not start: {line}{told}")
        });
        let token = std::fs::read_to_string(world.data().join("token")).unwrap();
        Self { process, address, token }
    }

    fn call(&self, method: &str, path: &str, more: &str, body: Option<&Value>) -> (u16, Value) {
        let (status, body) = self.send(method, path, more, body);
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    /// What is at this address, as it comes.
    pub(crate) fn text(&self, path: &str) -> String {
        self.send("GET", path, "", None).1
    }

    fn send(&self, method: &str, path: &str, more: &str, body: Option<&Value>) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let body = body.map(Value::to_string).unwrap_or_default();
        let (address, token, length) = (&self.address, &self.token, body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_string())
    }

    /// The ids of the events in a stream that ends.
    fn event_ids(&self, path: &str, last: &str) -> Vec<u64> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (address, token) = (&self.address, &self.token);
        write!(
            stream,
            "GET {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Accept: text/event-stream\r\n{last}\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
    }

    pub(crate) fn say(&self, chat: &str, id: &str, text: &str, more: &str) -> (u16, Value) {
        let body = json!({ "chat": chat, "messageId": id, "sender": "ann", "text": text });
        self.call("POST", "/v1/messages", more, Some(&body))
    }

    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[test]
fn a_message_over_http_is_answered_and_the_token_is_the_owners_alone() {
    let world = World::new();
    let served = Served::start(&world);
    let mode = std::fs::metadata(world.data().join("token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (status, reply) = served.say("c", "1", "run echo hello", "");
    assert_eq!((status, &reply["outcome"]), (200, &json!("end_turn")), "{reply}");
    let (_, runs) = served.call("GET", "/v1/runs", "", None);
    assert_eq!(runs[0]["runId"], reply["runId"]);
    let path = format!("/v1/runs/{}/events", reply["runId"].as_str().unwrap());
    let (_, events) = served.call("GET", &path, "", None);
    assert!(events.as_array().unwrap().iter().any(|it| it["event"]["type"] == "done"), "{events}");
    let all = served.event_ids(&path, "");
    assert_eq!(all.len(), events.as_array().unwrap().len());
    assert_eq!(served.event_ids(&path, "Last-Event-ID: 3\r\n"), all[3..]);
    served.kill();
}

/// The token is what keeps others out, so a token that others can read is none.
#[test]
fn it_does_not_listen_with_a_token_that_others_can_read() {
    let world = World::new();
    Served::start(&world).kill();
    let token = world.data().join("token");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = world.run(&["serve", "--no-profile", "--addr", "127.0.0.1:0"]);
    assert!(format!("{refused:?}").contains("others can read the token"), "{refused:?}");
}

#[test]
fn a_second_gateway_on_the_same_data_folder_is_refused() {
    let world = World::new();
    let served = Served::start(&world);
    let second = world.run(&["serve", "--no-profile", "--addr", "127.0.0.1:0"]);
    assert!(format!("{second:?}").contains("another `pintle serve`"), "{second:?}");
    served.kill();
}

/// R12.5: a parked run is answered with `pintle approvals`, and the gateway goes on with it.
#[test]
fn an_approval_on_the_command_line_wakes_a_parked_run_of_the_gateway() {
    let world = World::strict();
    let served = Served::start(&world);
    let (status, queued) =
        served.say("c", "1", "run echo hello > made", "Prefer: respond-async\r\n");
    assert_eq!(status, 202, "{queued}");
    let began = Instant::now();
    let id = loop {
        let (_, pending) = served.call("GET", "/v1/approvals?state=pending", "", None);
        if let Some(approval) = pending.as_array().and_then(|pending| pending.first()) {
            break approval["id"].as_str().unwrap().to_string();
        }
        assert!(began.elapsed() < PATIENCE, "no question was asked");
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    assert!(!world.file("made").exists());
    // R11.6: the question, and the run that waits for it, survive this.
    served.kill();
    let served = Served::start(&world);
    let answered = world.run(&["approvals", "approve", &id]);
    let (status, reply) = served.say("c", "1", "run echo hello > made", "");
    assert_eq!(status, 200, "{reply} {answered:?}");
    assert_eq!(std::fs::read_to_string(world.file("made")).unwrap(), "hello\n", "{answered:?}");
    served.kill();
}

/// R11.6, R12.3: everything accepted is answered in order, and no tool runs twice.
#[test]
fn after_kill_9_everything_accepted_is_answered_in_order_and_no_tool_runs_twice() {
    const CHATS: usize = 4;
    const MESSAGES: usize = 5;
    let world = World::new();
    let mut served = Served::start(&world);
    let later = "Prefer: respond-async\r\n";
    let say = |served: &Served, n: usize, chat: usize, how: &str| {
        let text = format!("run echo {n} >> log{chat}; sleep 0.05");
        served.say(&format!("c{chat}"), &n.to_string(), &text, how)
    };
    for n in 0..MESSAGES {
        for chat in 0..CHATS {
            let (status, reply) = say(&served, n, chat, later);
            assert_eq!(status, 202, "{reply}");
        }
        // In the middle of runs, twice.
        if n == 1 || n == 3 {
            served.kill();
            served = Served::start(&world);
        }
    }
    // A message that three kills interrupt is a dead letter: those that two may have interrupted are waited for.
    for (n, chat) in (0..2).flat_map(|n| (0..CHATS).map(move |chat| (n, chat))) {
        say(&served, n, chat, "");
    }
    served.kill();
    let served = Served::start(&world);
    for n in 0..MESSAGES {
        for chat in 0..CHATS {
            let (status, reply) = say(&served, n, chat, "");
            assert_eq!((status, &reply["outcome"]), (200, &json!("end_turn")), "{reply}");
            assert!(reply["reply"].is_string(), "{reply}");
        }
    }
    for chat in 0..CHATS {
        let log = std::fs::read_to_string(world.file(&format!("log{chat}"))).unwrap_or_default();
        let ran: Vec<usize> = log.lines().map(|line| line.parse().unwrap()).collect();
        let mut once = ran.clone();
        once.dedup();
        assert_eq!(ran, once, "chat {chat}: a tool ran twice");
        assert!(ran.is_sorted(), "chat {chat}: {ran:?}");
    }
    served.kill();
}

/// A fuzzer that reads `/openapi.json`: whatever it sends, no call answers with a server error, and every answer has the
/// shape that the document promises.
#[test]
fn no_request_that_the_description_allows_or_forbids_is_a_server_error() {
    let world = World::new();
    let served = Served::start(&world);
    // Something to find: a run with events.
    served.say("c", "1", "run echo hello", "");
    let fuzzer = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/schemathesis/.venv/bin/schemathesis");
    let fuzzed = std::process::Command::new(&fuzzer)
        .current_dir(world.data())
        .args(["run", &format!("http://{}/openapi.json", served.address)])
        .args(["-H", &format!("Authorization: Bearer {}", served.token)])
        .args(["--seed", "1", "--max-examples", "5", "--phases", "coverage,fuzzing"])
        .args([
            "--checks",
            "not_a_server_error,response_schema_conformance,status_code_conformance",
        ])
        // It never ends.
        .args(["--exclude-path", "/v1/events"])
        .args([
            "--workers",
            "2",
            "--no-shrink",
            "--request-timeout",
            "30",
            "--suppress-health-check",
            "all",
            "--no-color",
        ])
        .output()
        .unwrap_or_else(|error| {
            panic!("{}: {error}; `cargo xtask test` installs it", fuzzer.display())
        });
    let told = String::from_utf8_lossy(&fuzzed.stdout);
    assert!(fuzzed.status.success(), "{told}");
    assert_eq!(served.call("GET", "/healthz", "", None).0, 200);
    served.kill();
}
