//! Webhooks of a profile, through the program (R10.5).

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{World, until};

/// Somebody who listens, and says yes to everything unless told otherwise.
pub(crate) struct Endpoint {
    address: String,
    requests: mpsc::Receiver<Request>,
    hangs: Arc<AtomicBool>,
}

struct Request {
    head: String,
    body: String,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Endpoint {
    pub(crate) fn open() -> Self {
        Self::answering("200 OK")
    }

    fn answering(status: &'static str) -> Self {
        Self::at("127.0.0.1:0", status)
    }

    fn at(address: &str, status: &'static str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, requests) = mpsc::channel();
        let hangs = Arc::new(AtomicBool::new(false));
        let hanging = hangs.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (sender, hanging) = (sender.clone(), hanging.clone());
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    while let Some(request) = read(&mut reader) {
                        if hanging.load(Ordering::Relaxed) {
                            // Until the other side has had enough.
                            let _ = std::io::copy(&mut reader, &mut std::io::sink());
                            return;
                        }
                        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                        let _ = (&stream).write_all(answer.as_bytes());
                        let _ = sender.send(request);
                    }
                });
            }
        });
        Self { address, requests, hangs }
    }

    /// Takes requests and never answers, or answers again.
    fn hang(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::Relaxed);
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn request(&self) -> Request {
        self.requests.recv_timeout(Duration::from_secs(60)).expect("a webhook arrives")
    }

    pub(crate) fn body(&self) -> String {
        self.request().body
    }

    fn prompt(&self) -> String {
        let body: Value = serde_json::from_str(&self.body()).unwrap();
        body["context"]["prompt"].as_str().unwrap().into()
    }

    fn heard_nothing(&self) -> bool {
        self.requests.try_recv().is_err()
    }
}

/// The next request; `None` when there is none any more.
fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let mut request = Request { head, body: String::new() };
    let length = request.header("content-length").unwrap().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.body = String::from_utf8(body).unwrap();
    Some(request)
}

/// An address nobody listens at, until later.
fn nobody() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// Each prompt is told.
fn prompts_to(url: &str, more: Value) -> Value {
    let mut hook = json!({ "action": "webhook", "url": url, "name": "tell" });
    hook.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    json!({ "hooks": { "onPrompt": [hook] } })
}

// R10.5, R10.6
#[test]
fn a_saved_line_is_the_object_that_a_webhook_posts() {
    let endpoint = Endpoint::open();
    let mut agent = prompts_to(&endpoint.url("/in"), json!({}));
    let save = json!({ "action": "save_json", "path": "log.jsonl" });
    agent["hooks"]["onPrompt"].as_array_mut().unwrap().push(save);
    let world = World::new(&agent).operator("DEPLOY_TOKEN", "t0p-s3cret");
    world.ask("hello t0p-s3cret");
    let posted: Value = serde_json::from_str(&endpoint.body()).unwrap();
    let saved: Value = serde_json::from_str(&world.read("profile/log.jsonl")).unwrap();
    assert_eq!(saved, posted);
    let mut fields: Vec<_> = saved.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["context", "event", "profile", "ts", "v"]);
    assert!(!saved.to_string().contains("t0p-s3cret"), "{saved}");
}

/// The files that messages are kept in.
fn files(world: &World) -> Vec<std::path::PathBuf> {
    let folders = std::fs::read_dir(world.data("webhooks")).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
    let paths = files.map(|file| file.path());
    paths.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect()
}

/// How many messages are kept.
fn kept(world: &World) -> usize {
    let texts = files(world).into_iter().filter_map(|file| std::fs::read(file).ok());
    texts.map(|text| String::from_utf8_lossy(&text).matches("\"body\"").count()).sum()
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
    assert!(said.ok && said.err.contains("the new version is in force"), "{said:?}");
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
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let hook = json!({ "action": "webhook", "url": "https://hooks.example.com/hook" });
    let world = World::new(&json!({ "hooks": { "onStart": [hook] } }));
    std::fs::create_dir_all(world.data("")).unwrap();
    let file = format!(
        "webhook_proxy = \"http://{}\"\nwebhook_allowlist = [\"https://hooks.example.com/\"]\n",
        proxy.local_addr().unwrap()
    );
    std::fs::write(world.data("pintle.toml"), file).unwrap();
    let asked = std::thread::spawn(move || {
        let mut first = String::new();
        BufReader::new(proxy.accept().unwrap().0).read_line(&mut first).unwrap();
        first
    });
    let said = world.ask("list .");
    assert!(said.ok, "{said:?}");
    assert!(asked.join().unwrap().starts_with("CONNECT hooks.example.com:443 "));
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

    let kept = telling(&format!("http://{}/hook", nobody()));
    assert!(kept.ok, "{kept:?}");
    assert!(kept.err.contains("/hook kept, to be sent next time: 1: "), "{kept:?}");
}

// R10.5: with what docs/webhooks.md says to check it with.
#[test]
fn a_signature_can_be_checked_as_the_documentation_says() {
    let endpoint = Endpoint::open();
    let world = World::new(&prompts_to(&endpoint.url("/in"), json!({ "secretEnv": "HOOK_SIGN" })))
        .operator("HOOK_SIGN", "a secret of ours");
    assert!(world.ask("list . «ü»").ok);
    let request = endpoint.request();
    let docs = include_str!("../../../../docs/webhooks.md");
    let (_, code) = docs.split_once("```python\n").unwrap();
    let (code, _) = code.split_once("```").unwrap();
    let program = format!(
        "{code}\nimport sys\nbody = sys.stdin.buffer.read()\nsignature = sys.argv[1]\n\
         assert is_ours(b'a secret of ours', body, signature)\n\
         assert not is_ours(b'another', body, signature)\n\
         assert not is_ours(b'a secret of ours', body + b' ', signature)\n"
    );
    let signature = request.header("x-pintle-signature").expect("it is signed");
    let mut python = Command::new("python3")
        .args(["-c", &program, signature])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(request.body.as_bytes()).unwrap();
    assert!(python.wait().unwrap().success());
}

#[test]
fn an_endpoint_that_never_answers_holds_up_the_end_no_longer_than_the_limit() {
    let endpoint = Endpoint::open();
    endpoint.hang(true);
    let world = World::new(&prompts_to(&endpoint.url("/in"), json!({})));
    let started = Instant::now();
    let said = world.ask("list .");
    // Without a limit it would try for ever.
    assert!(started.elapsed() < Duration::from_secs(30));
    assert!(said.ok && said.err.contains("/in kept, to be sent next time: 1"), "{said:?}");
}

#[test]
fn what_is_queued_outlives_kill_9() {
    let endpoint = Endpoint::open();
    endpoint.hang(true);
    let world = World::new(&prompts_to(&endpoint.url("/in"), json!({})));
    let mut talk = world.talk(&[]);
    for name in ["a", "b", "c"] {
        talk.settle(name);
    }
    // Long before the first attempt is given up.
    let limit = Instant::now() + Duration::from_secs(8);
    while kept(&world) < 3 {
        assert!(Instant::now() < limit, "only {} are on disk", kept(&world));
        std::thread::sleep(Duration::from_millis(10));
    }
    talk.child.kill().unwrap();
    talk.child.wait().unwrap();
    endpoint.hang(false);
    let said = world.ask("list .");
    assert!(said.ok && !said.err.contains("webhooks"), "{said:?}");
    let prompts = [0; 4].map(|_| endpoint.prompt());
    assert_eq!(prompts, ["write a: x", "write b: x", "write c: x", "list ."]);
    assert_eq!(kept(&world), 0);
}

#[test]
fn what_was_kept_is_signed_with_a_new_secret() {
    let address = nobody();
    let agent = prompts_to(&format!("http://{address}/in"), json!({ "secretEnv": "HOOK_SIGN" }));
    let world = World::new(&agent).operator("HOOK_SIGN", "the old secret");
    assert!(world.ask("list . one").err.contains("kept, to be sent next time: 1"));
    let world = world.operator("HOOK_SIGN", "the new secret");
    let endpoint = Endpoint::at(&address, "200 OK");
    let said = world.ask("list . two");
    assert!(said.ok && !said.err.contains("webhooks"), "{said:?}");
    assert_eq!([0; 2].map(|_| endpoint.prompt()), ["list . one", "list . two"]);
}

#[test]
fn a_damaged_file_loses_what_is_damaged_and_says_so() {
    let address = nobody();
    let world = World::new(&prompts_to(&format!("http://{address}/in"), json!({})));
    assert!(world.ask("list . one").err.contains("kept, to be sent next time: 1"));
    let file = files(&world).remove(0);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.extend(b"{\"id\":\"x\",\"body\":\"\xc3");
    std::fs::write(&file, bytes).unwrap();
    let endpoint = Endpoint::at(&address, "200 OK");
    let said = world.ask("list . two");
    assert!(said.ok && said.err.contains("where they were kept, and skipped: 1"), "{said:?}");
    assert_eq!([0; 2].map(|_| endpoint.prompt()), ["list . one", "list . two"]);
}

// R10.5: in order, across reloads and across programs.
#[test]
fn order_is_kept_when_the_profile_changes_while_one_talks() {
    let address = nobody();
    let url = format!("http://{address}/in");
    let world = World::new(&prompts_to(&url, json!({})));
    let mut talk = world.talk(&[]);
    for name in ["a", "b", "c", "d"] {
        let mut agent = prompts_to(&url, json!({}));
        agent["name"] = json!(format!("profile-{name}"));
        world.agent(&agent);
        talk.settle(name);
    }
    until(|| kept(&world) == 4, "four on disk");
    assert_eq!(files(&world).len(), 1, "one conversation, one queue");
    // Killed, so that another one has to take over.
    talk.child.kill().unwrap();
    talk.child.wait().unwrap();
    let endpoint = Endpoint::at(&address, "200 OK");
    let mut talk = world.talk(&[]);
    talk.settle("e");
    world.agent(&json!({}));
    talk.settle("f");
    assert!(talk.end().ok);
    let prompts = [0; 5].map(|_| endpoint.prompt());
    assert_eq!(prompts, ["a", "b", "c", "d", "e"].map(|name| format!("write {name}: x")));
    assert_eq!(kept(&world), 0);
}

#[test]
fn who_only_looks_tells_nobody() {
    let address = nobody();
    let world = World::new(&json!({ "hooks": {
        "onPrompt": [{ "action": "webhook", "url": format!("http://{address}/in"), "name": "tell" }],
        "onToolCall": [{ "action": "webhook", "url": format!("http://{address}/in") }],
    } }));
    assert!(world.ask("hello").err.contains("kept, to be sent next time: 1"));
    let endpoint = Endpoint::at(&address, "200 OK");
    let explain = ["hooks", "explain", "--tool", "read_file", "--args", "{\"path\":\"a\"}"];
    let profile = ["--profile", "profile"];
    for command in [&["hooks", "list"][..], &explain, &["doctor"], &["doctor", "--show-prompt"]] {
        let said = world.run(&[command, &profile].concat());
        assert!(said.ok && !said.err.contains("webhooks"), "{said:?}");
        assert!(endpoint.heard_nothing() && kept(&world) == 1, "{command:?}");
    }
    let said = world.run(&["doctor", "--profile", "profile"]);
    assert!(said.out.contains(&format!("1 message waits for http://{address}/in")), "{said:?}");
}

#[test]
fn what_nobody_would_send_is_told() {
    let address = nobody();
    let world = World::new(&prompts_to(&format!("http://{address}/in"), json!({})));
    assert!(world.ask("list .").err.contains("kept, to be sent next time: 1"));
    world.agent(&json!({}));
    let said = world.ask("list .");
    let warning =
        format!("webhooks to http://{address}/in are waiting, but no hook of the profile");
    assert!(said.ok && said.err.contains(&warning), "{said:?}");
    assert_eq!(kept(&world), 1);
}
