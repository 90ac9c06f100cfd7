//! MCP against a real, published server.

mod failures;
mod http;
mod stdio;

use std::{path::PathBuf, time::Duration};

use pintle_agent::ToolError;
use pintle_sandbox::{Confinement, Unconfined};
use serde_json::Value;

use super::{McpLimits, McpServer, McpTransport, tool};
use crate::testing::cx;

const LIMITS: McpLimits =
    McpLimits { connect: Duration::from_secs(120), call: Duration::from_secs(120) };

/// The folder with the server's package.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/mcp")
}

/// The server's program.
fn everything() -> String {
    let program =
        folder().join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    assert!(
        program.exists(),
        "the MCP server of the tests is not installed: run `cargo xtask test`, which runs `npm ci` in {}",
        folder().display()
    );
    program.display().to_string()
}

fn path() -> (String, String) {
    ("PATH".into(), std::env::var("PATH").unwrap())
}

fn unconfined() -> Confinement {
    Unconfined::by("this test").into()
}

fn stdio() -> McpTransport {
    McpTransport::Stdio {
        command: "node".into(),
        args: vec![everything(), "stdio".into()],
        env: vec![path()],
        cwd: folder(),
        confinement: unconfined(),
    }
}

/// A server behind a shell script, in which `$0` is the server's program.
fn shell(script: &str, cwd: &std::path::Path) -> McpTransport {
    McpTransport::Stdio {
        command: "/bin/sh".into(),
        args: vec!["-c".into(), script.into(), everything()],
        env: vec![path()],
        cwd: cwd.to_owned(),
        confinement: unconfined(),
    }
}

async fn connect(transport: McpTransport) -> McpServer {
    McpServer::connect("every thing", transport, LIMITS).await.unwrap()
}

async fn call(server: &McpServer, name: &str, args: Value) -> Result<String, ToolError> {
    tool::execute(&server.shared, name, &args, cx("/".as_ref())).await
}

fn message(result: Result<String, ToolError>) -> String {
    match result {
        Err(ToolError::Failed(message)) => message,
        other => panic!("expected a failure, got {other:?}"),
    }
}

/// Waits until a file holds a text.
async fn holds(file: PathBuf, needle: &str) {
    let started = std::time::Instant::now();
    loop {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if text.contains(needle) {
            return;
        }
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "`{needle}` is not in {}: {text}",
            file.display()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
