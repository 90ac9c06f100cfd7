use pintle_agent::ToolError;
use pintle_policy::Zone;
use serde_json::{Value, json};
use tempfile::tempdir;

use super::{LIMITS, call, connect, folder, holds, message, path, shell, stdio, unconfined};
use crate::{
    mcp::{McpLimits, McpServer, McpTransport, tool},
    testing::{all_gone, cx, pids},
};

#[tokio::test]
async fn the_tools_of_a_server_become_tools_of_the_agent() {
    let server = connect(stdio()).await;
    assert_eq!(server.name(), "every thing");
    let tools = server.tools();
    let echo = tools
        .iter()
        .find(|tool| tool.spec().name == "mcp__every_thing__echo")
        .expect("an echo tool");
    assert_eq!(echo.spec().description, "Echoes back the input string");
    assert_eq!(echo.spec().input_schema["properties"]["message"]["type"], "string");
    assert_eq!(echo.spec().input_schema["required"], json!(["message"]));
    // R11.3
    assert!(tools.iter().all(|tool| tool.spec().zone == Zone::External));
    assert!(tools.len() >= 10, "{}", tools.len());
    server.shutdown().await;
}

#[tokio::test]
async fn a_call_returns_the_text_of_the_answer() {
    let server = connect(stdio()).await;
    assert_eq!(
        call(&server, "echo", json!({"message": "grüß dich"})).await.unwrap(),
        "Echo: grüß dich"
    );
    assert_eq!(
        call(&server, "get-sum", json!({"a": 2, "b": 40})).await.unwrap(),
        "The sum of 2 and 40 is 42."
    );

    let image = call(&server, "get-tiny-image", Value::Null).await.unwrap();
    assert!(image.contains("\n[image of type image/png, "), "{image}");
    assert!(image.len() < 500, "no base64 for the model: {image}");

    let structured =
        call(&server, "get-structured-content", json!({"location": "New York"})).await.unwrap();
    assert!(structured.contains("\"temperature\":"), "{structured}");

    let resource = json!({"resourceType": "Text", "resourceId": 1});
    let resource = call(&server, "get-resource-reference", resource).await.unwrap();
    assert!(resource.contains("[resource demo://resource/dynamic/text/1]\n"), "{resource}");

    let links = call(&server, "get-resource-links", json!({"count": 2})).await.unwrap();
    assert!(links.contains(": demo://resource/"), "{links}");
    server.shutdown().await;
}

#[tokio::test]
async fn an_error_of_the_tool_is_an_error_of_the_call() {
    let server = connect(stdio()).await;
    let bad = json!({"resourceType": "Text", "resourceId": -1});
    let refused = message(call(&server, "get-resource-reference", bad).await);
    assert!(refused.contains("resourceId"), "{refused}");
    let refused = message(call(&server, "get-sum", json!({"a": "two"})).await);
    assert!(refused.contains("expected number"), "{refused}");
    let unknown = message(call(&server, "no-such-tool", json!({})).await);
    assert!(unknown.contains("no-such-tool not found"), "{unknown}");
    let array = message(call(&server, "echo", json!(["a"])).await);
    assert_eq!(array, "echo: the arguments must be a JSON object");
    server.shutdown().await;
}

#[tokio::test]
async fn many_calls_at_once_each_get_their_own_answer() {
    let server = connect(stdio()).await;
    let calls = (0..30).map(|number| call(&server, "get-sum", json!({"a": number, "b": 1})));
    for (number, answer) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(answer.unwrap(), format!("The sum of {number} and 1 is {}.", number + 1));
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_server_sees_only_the_environment_it_was_given() {
    let server = connect(stdio()).await;
    let env: Value =
        serde_json::from_str(&call(&server, "get-env", json!({})).await.unwrap()).unwrap();
    let names: Vec<&String> = env.as_object().unwrap().keys().collect();
    assert_eq!(names, ["PATH", "PINTLE_PROCESS_TAG"]);
    server.shutdown().await;
}

#[tokio::test]
async fn a_slow_answer_runs_into_the_limit_and_the_server_stays_usable() {
    let dir = tempdir().unwrap();
    let limits = McpLimits { call: std::time::Duration::from_secs(6), ..LIMITS };
    let server =
        McpServer::connect("slow", shell("tee in.log | node \"$0\" stdio", dir.path()), limits)
            .await
            .unwrap();
    let slow =
        call(&server, "trigger-long-running-operation", json!({"duration": 600, "steps": 1})).await;
    let expected = "the MCP server `slow` did not answer `trigger-long-running-operation` within its time limit \
                    of 6000 ms";
    assert_eq!(slow, Err(ToolError::TimedOut(expected.into())));
    holds(dir.path().join("in.log"), "notifications/cancelled").await;
    assert_eq!(
        call(&server, "echo", json!({"message": "still there"})).await.unwrap(),
        "Echo: still there"
    );
    server.shutdown().await;
}

#[tokio::test]
async fn cancelling_the_run_ends_the_call_and_tells_the_server() {
    let dir = tempdir().unwrap();
    let server = connect(shell("tee in.log | node \"$0\" stdio", dir.path())).await;
    let cx = cx(dir.path());
    let cancel = async {
        holds(dir.path().join("in.log"), "trigger-long-running-operation").await;
        cx.cancel.cancel();
    };
    let args = json!({"duration": 600, "steps": 1});
    let slow = tool::execute(&server.shared, "trigger-long-running-operation", &args, cx.clone());
    let (result, ()) = tokio::join!(slow, cancel);
    assert!(matches!(result, Err(ToolError::Cancelled(_))), "{result:?}");
    holds(dir.path().join("in.log"), "notifications/cancelled").await;
    server.shutdown().await;
}

/// The server, the shell before it and a daemon that ignores SIGTERM; their ids go to a file (R8.8).
const FAMILY: &str = "setsid sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 1; done' <&- >&- 2>&- & \
    echo $$ >> pids; node \"$0\" stdio; exit";

#[tokio::test]
async fn shutting_down_leaves_no_process_and_no_way_to_call() {
    let dir = tempdir().unwrap();
    let server = connect(shell(FAMILY, dir.path())).await;
    let family = || pids(&std::fs::read_to_string(dir.path().join("pids")).unwrap_or_default());
    while family().len() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    server.shutdown().await;
    all_gone(&family()).await;
    assert_eq!(
        message(call(&server, "echo", json!({"message": "?"})).await),
        "the MCP server `every thing` was shut down"
    );
    server.shutdown().await;
}

#[tokio::test]
async fn dropping_a_server_leaves_no_process() {
    let dir = tempdir().unwrap();
    let server = connect(shell(FAMILY, dir.path())).await;
    let family = || pids(&std::fs::read_to_string(dir.path().join("pids")).unwrap_or_default());
    while family().len() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    drop(server);
    all_gone(&family()).await;
}

#[tokio::test]
async fn a_server_starts_in_its_folder() {
    let relative = McpTransport::Stdio {
        command: "node".into(),
        args: vec![
            "node_modules/@modelcontextprotocol/server-everything/dist/index.js".into(),
            "stdio".into(),
        ],
        env: vec![path()],
        cwd: folder(),
        confinement: unconfined(),
    };
    let server = connect(relative).await;
    assert_eq!(call(&server, "echo", json!({"message": "here"})).await.unwrap(), "Echo: here");
    server.shutdown().await;
}
