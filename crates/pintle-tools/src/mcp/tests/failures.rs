use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use tempfile::tempdir;

use super::{LIMITS, call, connect, holds, message, path, shell, stdio, unconfined};
use crate::{
    mcp::{McpError, McpLimits, McpServer, McpTransport, State},
    testing::{all_gone, pids},
};

async fn fails(transport: McpTransport, limits: McpLimits) -> McpError {
    match McpServer::connect("broken", transport, limits).await {
        Err(error) => error,
        Ok(_) => panic!("it should not have connected"),
    }
}

async fn pid(server: &McpServer) -> i32 {
    match &*server.shared.state.lock().await {
        State::Up(connection) => connection.pid(),
        _ => panic!("the server is not up"),
    }
}

fn kill(pid: i32) {
    kill_process_group(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// Kills the server and waits until we know of it.
async fn dies(server: &McpServer) -> i32 {
    let pid = pid(server).await;
    kill(pid);
    while matches!(&*server.shared.state.lock().await, State::Up(connection) if connection.is_up())
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    pid
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let missing = McpTransport::Stdio {
        command: "no-such-mcp-server".into(),
        args: vec![],
        env: vec![path()],
        cwd: "/".into(),
        confinement: unconfined(),
    };
    let error = fails(missing, LIMITS).await.to_string();
    assert!(
        error.starts_with(
            "the MCP server `broken` did not start: `no-such-mcp-server`: No such file"
        ),
        "{error}"
    );
}

#[tokio::test]
async fn the_last_words_of_a_server_that_exits_are_in_the_message() {
    let dir = tempdir().unwrap();
    let script = "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo 'API_KEY is not set' >&2; exit 1";
    let error = fails(shell(script, dir.path()), LIMITS).await;
    assert!(matches!(error, McpError::Handshake { .. }), "{error}");
    let error = error.to_string();
    assert!(error.starts_with("the MCP server `broken` did not get ready: "), "{error}");
    assert!(
        error.contains("; its last words were:\n[") && error.ends_with("\nAPI_KEY is not set"),
        "{error}"
    );
    assert!(error.len() < 5000, "only the last words: {}", error.len());
}

#[tokio::test]
async fn what_went_wrong_is_said_without_the_names_of_types() {
    // A server that is gone before it is spoken to, one that is not there, and one that hangs up.
    let dir = tempdir().unwrap();
    let exits = shell("exit 3", dir.path());
    let refused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{refused}/mcp");
    let hangs_up = shell("read line; exit 0", dir.path());
    for transport in [exits, McpTransport::Http { url, headers: vec![] }, hangs_up] {
        let error = fails(transport, LIMITS).await.to_string();
        assert!(!error.contains("::") && !error.contains('['), "{error}");
        assert!(error.contains("it cannot be spoken to: ") || error.contains("closed"), "{error}");
    }
}

#[tokio::test]
async fn a_program_that_does_not_speak_mcp_is_an_error() {
    let dir = tempdir().unwrap();
    let error = fails(shell("echo hello; echo world", dir.path()), LIMITS).await;
    assert!(matches!(error, McpError::Handshake { .. }), "{error}");
}

#[tokio::test]
async fn a_program_that_says_nothing_runs_into_the_limit_and_is_stopped() {
    let dir = tempdir().unwrap();
    let limits = McpLimits { connect: Duration::from_secs(5), ..LIMITS };
    let script = "echo $$ > pids; echo waiting for a licence >&2; exec sleep 1000";
    let error = fails(shell(script, dir.path()), limits).await.to_string();
    assert_eq!(
        error,
        "the MCP server `broken` was not ready within 5000 ms; its last words were:\nwaiting for a licence"
    );
    let pids = pids(&std::fs::read_to_string(dir.path().join("pids")).unwrap());
    assert_eq!(pids.len(), 1);
    all_gone(&pids).await;
}

#[tokio::test]
async fn a_name_that_leaves_nothing_to_call_by_is_refused() {
    let error = McpServer::connect("…", stdio(), LIMITS).await.err().unwrap();
    assert!(matches!(error, McpError::Name(_)), "{error}");
}

#[tokio::test]
async fn a_server_that_dies_fails_the_call_under_way_and_comes_back_for_the_next() {
    let dir = tempdir().unwrap();
    let server =
        connect(shell("echo 'state lost' >&2; tee in.log | node \"$0\" stdio", dir.path())).await;
    let first = pid(&server).await;
    let dies = async {
        holds(dir.path().join("in.log"), "trigger-long-running-operation").await;
        kill(first);
    };
    let slow =
        call(&server, "trigger-long-running-operation", json!({"duration": 600, "steps": 1}));
    let (result, ()) = tokio::join!(slow, dies);
    let failure = message(result);
    assert!(
        failure.starts_with(
            "the MCP server `every thing` went away during `trigger-long-running-operation` (the next call \
             connects anew): "
        ),
        "{failure}"
    );
    assert!(failure.contains("; its last words were:\nstate lost"), "{failure}");

    assert_eq!(call(&server, "echo", json!({"message": "again"})).await.unwrap(), "Echo: again");
    assert_ne!(pid(&server).await, first);
    server.shutdown().await;
}

#[tokio::test]
async fn a_server_that_died_while_nobody_called_is_back_for_the_next_call() {
    let server = connect(stdio()).await;
    let first = dies(&server).await;
    let calls = (0..5).map(|number| call(&server, "echo", json!({"message": format!("{number}")})));
    for (number, answer) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(answer.unwrap(), format!("Echo: {number}"));
    }
    assert_ne!(pid(&server).await, first);
    server.shutdown().await;
}

#[tokio::test]
async fn a_server_that_cannot_come_back_says_why() {
    let dir = tempdir().unwrap();
    let script = "if [ -e started ]; then echo 'no second time' >&2; exit 1; fi; touch started; exec node \"$0\" stdio";
    let server = connect(shell(script, dir.path())).await;
    dies(&server).await;
    for _ in 0..2 {
        let failure = message(call(&server, "echo", json!({"message": "?"})).await);
        assert!(
            failure.starts_with("the MCP server `every thing` did not get ready: "),
            "{failure}"
        );
        assert!(failure.ends_with("no second time"), "{failure}");
    }
}
