use std::{
    ffi::OsStr,
    sync::{Arc, Mutex},
    time::Duration,
};

use pintle_agent::ToolError;
use pintle_sandbox::{Command, Folder, Output, Process, Stdin, find_program};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

use super::{LIMITS, call, everything, folder, message, path, unconfined};
use crate::mcp::{McpError, McpLimits, McpServer, McpTransport};

/// The published server, speaking HTTP on a loopback port of its own.
struct Backend {
    port: u16,
    process: Process,
}

impl Backend {
    async fn start() -> Self {
        let (name, value) = path();
        let loopback = folder().join("loopback.mjs").display().to_string();
        let args = ["--import".into(), loopback, everything(), "streamableHttp".into()];
        let command = Command {
            program: find_program(OsStr::new("node"), &folder(), OsStr::new(&value)).unwrap(),
            args: args.map(Into::into).into(),
            env: vec![(name.into(), value.into())],
            folder: Folder::Path(folder()),
            stdin: Stdin::Null,
            output: Output::Merged,
        };
        let (process, streams) = Process::start(&command, &unconfined()).unwrap();
        let mut lines = BufReader::new(streams.stdout).lines();
        loop {
            let line = lines.next_line().await.unwrap();
            let line = line.expect("the server ended before it listened");
            if let Some(port) = line.trim().strip_prefix("port=") {
                let port = port.parse().unwrap();
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return Self { port, process };
            }
        }
    }

    async fn kill(self) {
        self.process.end().await;
    }
}

/// A door with a fixed address, behind which the server can be replaced. It notes what goes in.
#[derive(Clone)]
struct Door {
    address: String,
    behind: Arc<Mutex<Option<u16>>>,
    seen: Arc<Mutex<String>>,
}

impl Door {
    async fn open(behind: Option<u16>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/mcp", listener.local_addr().unwrap());
        let door = Self { address, behind: Arc::new(Mutex::new(behind)), seen: Arc::default() };
        let doorman = door.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(doorman.clone().pass(client));
            }
        });
        door
    }

    async fn pass(self, client: TcpStream) {
        let Some(port) = *self.behind.lock().unwrap() else { return };
        let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let inwards = async {
            let mut chunk = vec![0; 64 * 1024];
            while let Ok(length @ 1..) = from_client.read(&mut chunk).await {
                self.seen.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk[..length]));
                if to_server.write_all(&chunk[..length]).await.is_err() {
                    return;
                }
            }
        };
        // When either side goes, so does the other.
        tokio::select! {
            () = inwards => {}
            _ = tokio::io::copy(&mut from_server, &mut to_client) => {}
        }
    }

    fn leads_to(&self, port: Option<u16>) {
        *self.behind.lock().unwrap() = port;
    }

    fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    fn transport(&self) -> McpTransport {
        McpTransport::Http {
            url: self.address.clone(),
            headers: vec![
                ("Authorization".into(), "Bearer t0ken".into()),
                ("X-Team".into(), "blue".into()),
            ],
        }
    }
}

async fn connect(door: &Door, limits: McpLimits) -> McpServer {
    McpServer::connect("web", door.transport(), limits).await.unwrap()
}

#[tokio::test]
async fn a_server_over_http_lists_answers_refuses_and_is_told_goodbye() {
    let backend = Backend::start().await;
    let door = Door::open(Some(backend.port)).await;
    let server = connect(&door, LIMITS).await;
    assert!(server.tools().iter().any(|tool| tool.spec().name == "mcp__web__echo"));
    assert_eq!(
        call(&server, "echo", json!({"message": "over HTTP"})).await.unwrap(),
        "Echo: over HTTP"
    );
    let refused = message(call(&server, "get-sum", json!({"a": "two"})).await);
    assert!(refused.contains("expected number"), "{refused}");
    let seen = door.seen().to_lowercase();
    assert!(
        seen.contains("authorization: bearer t0ken\r\n") && seen.contains("x-team: blue\r\n"),
        "{seen}"
    );

    server.shutdown().await;
    assert!(door.seen().contains("DELETE /mcp"), "{}", door.seen());
    assert_eq!(
        message(call(&server, "echo", json!({"message": "?"})).await),
        "the MCP server `web` was shut down"
    );
    backend.kill().await;
}

#[tokio::test]
async fn a_slow_answer_over_http_runs_into_the_limit_and_the_server_stays_usable() {
    let backend = Backend::start().await;
    let door = Door::open(Some(backend.port)).await;
    let server = connect(&door, McpLimits { call: Duration::from_secs(6), ..LIMITS }).await;
    let slow =
        call(&server, "trigger-long-running-operation", json!({"duration": 600, "steps": 1})).await;
    assert!(
        matches!(&slow, Err(ToolError::TimedOut(message)) if message.contains("6000 ms")),
        "{slow:?}"
    );
    assert_eq!(
        call(&server, "echo", json!({"message": "still there"})).await.unwrap(),
        "Echo: still there"
    );
    server.shutdown().await;
    backend.kill().await;
}

#[tokio::test]
async fn a_web_server_that_dies_during_a_call_fails_it_and_the_next_call_finds_the_new_one() {
    let backend = Backend::start().await;
    let door = Door::open(Some(backend.port)).await;
    let server = connect(&door, LIMITS).await;
    let dies = async {
        while !door.seen().contains("trigger-long-running-operation") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        door.leads_to(None);
        backend.kill().await;
    };
    let slow =
        call(&server, "trigger-long-running-operation", json!({"duration": 600, "steps": 1}));
    let (result, ()) = tokio::join!(slow, dies);
    let failure = message(result);
    assert!(failure.starts_with("the MCP server `web` went away during"), "{failure}");

    let gone = message(call(&server, "echo", json!({"message": "?"})).await);
    assert!(gone.starts_with("the MCP server `web` "), "{gone}");

    let backend = Backend::start().await;
    door.leads_to(Some(backend.port));
    assert_eq!(call(&server, "echo", json!({"message": "again"})).await.unwrap(), "Echo: again");
    server.shutdown().await;
    backend.kill().await;
}

#[tokio::test]
async fn a_web_server_that_was_restarted_meanwhile_is_spoken_to_anew() {
    let backend = Backend::start().await;
    let door = Door::open(Some(backend.port)).await;
    let server = connect(&door, LIMITS).await;
    backend.kill().await;
    let backend = Backend::start().await;
    door.leads_to(Some(backend.port));
    // The new server does not know our session. That costs one call, not the tool.
    let forgotten = message(call(&server, "echo", json!({"message": "?"})).await);
    assert_eq!(
        forgotten,
        "the MCP server `web` refused `echo`: Bad Request: No valid session ID provided (the next call connects anew)"
    );
    assert_eq!(call(&server, "echo", json!({"message": "again"})).await.unwrap(), "Echo: again");
    server.shutdown().await;
    backend.kill().await;
}

#[tokio::test]
async fn an_address_that_nobody_answers_is_an_error_without_its_secrets() {
    let door = Door::open(None).await;
    let url = format!("{}?token=s3cret", door.address);
    let transport = McpTransport::Http { url, headers: vec![] };
    let error = McpServer::connect("web", transport, LIMITS).await.err().unwrap();
    assert!(matches!(error, McpError::Handshake { .. }), "{error}");
    assert!(error.to_string().contains("http://127.0.0.1:"), "{error}");
    assert!(!error.to_string().contains("s3cret"), "{error}");
}

#[tokio::test]
async fn a_wrong_address_or_header_is_named() {
    let wrong = |url: &str, header: &str, value: &str| {
        let headers = vec![(header.into(), value.into())];
        McpServer::connect("web", McpTransport::Http { url: url.into(), headers }, LIMITS)
    };
    for (url, header, value, expected) in [
        ("localhost mcp", "a", "b", "`localhost mcp` is not a URL: relative URL without a base"),
        ("ftp://localhost/", "a", "b", "its URL must start with http:// or https://, not ftp:"),
        ("http://localhost/", "a b", "b", "`a b` is not the name of a header"),
        (
            "http://localhost/",
            "a",
            "b\n",
            "the value of the header `a` has characters that no header may have",
        ),
    ] {
        let error = wrong(url, header, value).await.err().unwrap().to_string();
        assert_eq!(error, format!("the MCP server `web` cannot be addressed: {expected}"));
    }
}
