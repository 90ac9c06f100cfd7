//! Traces, received by a real OpenTelemetry collector: rotel, which `cargo xtask test` installs from PyPI.

use std::{
    io::Read,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::support::{PATIENCE, World};

/// A collector that prints every span it receives.
struct Collector {
    process: Child,
    url: String,
    printed: Arc<Mutex<String>>,
}

impl Collector {
    fn start() -> Self {
        Self::at(free_address())
    }

    fn at(http: String) -> Self {
        let grpc = free_address();
        let mut command = Command::new(rotel());
        command.args(["start", "--otlp-http-endpoint", &http, "--otlp-grpc-endpoint", &grpc]);
        command.args(["--exporter", "blackhole"]);
        command.args(["--debug-log", "traces", "--debug-log-verbosity", "detailed"]);
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env("RUST_LOG", "info")
            .spawn()
            .unwrap();
        let printed = Arc::new(Mutex::new(String::new()));
        let mut readers: [Box<dyn Read + Send>; 2] =
            [Box::new(process.stdout.take().unwrap()), Box::new(process.stderr.take().unwrap())];
        for reader in &mut readers {
            let mut reader = std::mem::replace(reader, Box::new(std::io::empty()));
            let printed = printed.clone();
            thread::spawn(move || {
                let mut chunk = [0; 8192];
                while let Ok(length) = reader.read(&mut chunk) {
                    if length == 0 {
                        return;
                    }
                    printed.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk[..length]));
                }
            });
        }
        let collector = Self { process, url: format!("http://{http}"), printed };
        collector.until("it listens", |_| TcpStream::connect(&http).is_ok());
        collector
    }

    /// Waits until what it printed has this.
    fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let since = Instant::now();
        loop {
            let printed = self.printed.lock().unwrap().clone();
            if is_so(&printed) {
                return printed;
            }
            assert!(since.elapsed() < PATIENCE, "waited for: {what}\n{printed}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn rotel() -> PathBuf {
    let libraries = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/collector/.venv/lib");
    let versions = std::fs::read_dir(libraries).expect("`cargo xtask test` installs rotel");
    let mut found = versions.map(|it| it.unwrap().path().join("site-packages/rotel/rotel-agent"));
    found.find(|path| path.exists()).expect("`cargo xtask test` installs rotel")
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn recorded(world: &World) {
    let script = world.script(
        "script.json",
        &json!([
            { "toolCalls": [
                { "id": "t1", "name": "write_file", "input": {"path": "a.txt", "content": "precious"} },
                { "id": "t2", "name": "terminal", "input": {"command": "rm -rf /"} },
            ], "usage": {"inputTokens": 1200, "outputTokens": 34} },
            { "text": "Done.", "usage": {"inputTokens": 1300, "outputTokens": 5} },
        ]),
    );
    let said = world.run(&["chat", "--model", &script, "-q", "go about it"]);
    assert_eq!(said.code, Some(0), "{said}");
}

const NAMES: [&str; 5] = [
    "invoke_agent default",
    "chat scripted",
    "execute_tool write_file",
    "execute_tool terminal",
    "pintle.hook terminal guard",
];

#[test]
fn a_recorded_run_is_sent_afterwards_and_its_content_only_if_asked_for() {
    let collector = Collector::start();
    let world = World::new();
    recorded(&world);
    let said = world.run(&["trace", "--otlp", &collector.url]);
    assert_eq!(said.code, Some(0), "{said}");
    let has_all = |printed: &str| NAMES.iter().all(|name| printed.contains(name));
    let printed = collector.until("all spans", has_all);
    for attribute in [
        "gen_ai.operation.name",
        "gen_ai.usage.input_tokens",
        "pintle.hook.outcome",
        "pintle.judge.verdict",
    ] {
        assert!(printed.contains(attribute), "{attribute}\n{printed}");
    }
    for content in ["precious", "go about it", "rm -rf"] {
        assert!(!printed.contains(content), "{content} is content\n{printed}");
    }
    let said = world.run(&["trace", "--otlp", &collector.url, "--content"]);
    assert_eq!(said.code, Some(0), "{said}");
    collector.until("content", |printed| {
        ["precious", "go about it", "rm -rf"].iter().all(|content| printed.contains(content))
    });
}

#[test]
fn a_trace_that_did_not_arrive_is_told_with_the_reason_and_the_way_out() {
    let world = World::new();
    recorded(&world);
    let url = format!("http://{}", free_address());
    let said = world.run(&["trace", "--otlp", &url]);
    assert_eq!(said.code, Some(1), "{said}");
    let told = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        [&*format!("did not arrive at {url}"), "Connection refused", "start a collector there"]
    {
        assert!(told.contains(part), "{part}: {said}");
    }
}

#[test]
fn runs_are_sent_while_they_happen_when_the_operator_names_a_collector() {
    let collector = Collector::start();
    let world = World::new();
    std::fs::create_dir(world.data()).unwrap();
    let settings = format!("otlp = \"{}\"\n", collector.url);
    std::fs::write(world.data().join("pintle.toml"), settings).unwrap();
    recorded(&world);
    let has_all = |printed: &str| NAMES.iter().all(|name| printed.contains(name));
    let printed = collector.until("all spans", has_all);
    assert_eq!(printed.matches("invoke_agent default").count(), 1, "sent once\n{printed}");
    assert!(!printed.contains("precious"), "{printed}");
}

#[test]
fn spans_wait_for_a_collector_that_is_away_and_are_sent_next_time() {
    let world = World::new();
    std::fs::create_dir(world.data()).unwrap();
    let nobody = free_address();
    let settings = world.data().join("pintle.toml");
    std::fs::write(&settings, format!("otlp = \"http://{nobody}\"\n")).unwrap();
    recorded(&world);
    let failed = world.run(&["trace", "--otlp", &format!("http://{nobody}")]);
    assert_eq!(failed.code, Some(1), "{failed}");
    assert!(failed.err.contains("did not arrive"), "{failed}");
    let collector = Collector::at(nobody);
    recorded(&world);
    let both = |printed: &str| printed.matches("invoke_agent default").count() == 2;
    collector.until("the spans of both runs", both);
    for (url, why) in [("ftp://x", "use https"), ("http://10.0.0.1:4318", "only for this machine")]
    {
        let wrong = world.run(&["trace", "--otlp", url]);
        assert!(wrong.code == Some(1) && wrong.err.contains(why), "{wrong}");
    }
}
