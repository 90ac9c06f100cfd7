//! What is sent.

use pintle_agent::{LlmRequest, Message, ToolCall, ToolResult};
use serde_json::{Value, json};

use super::{
    KEY, ask,
    dialect::{ALL, Dialect, GEMINI, OPENAI, Say, Stop},
    model, outcome,
    server::{Reply, Seen, Server},
};

async fn sent(dialect: &Dialect, request: LlmRequest) -> Seen {
    let server =
        Server::start(vec![Reply::ok(dialect.pieces(&[Say::Text("ok")], Stop::Normally, 999))])
            .await;
    outcome(&*model(dialect, &server), request).await.result.unwrap();
    let mut seen = server.seen();
    assert_eq!(seen.len(), 1);
    seen.remove(0)
}

fn call(id: &str, input: Value, malformed: Option<&str>) -> ToolCall {
    ToolCall::default().id(id).name("terminal").input(input).malformed(malformed.map(str::to_owned))
}

fn result(id: &str, content: &str, is_error: bool) -> ToolResult {
    ToolResult::default().tool_call_id(id).tool_name("terminal").content(content).is_error(is_error)
}

/// A conversation with everything in it: two calls of one message, one of them blocked, and a malformed one.
fn long_conversation() -> LlmRequest {
    let mut request = ask("Tidy up.");
    request.messages.extend([
        Message::assistant(
            "I look first.",
            vec![
                call("t1", json!({"command": "ls"}), None),
                call("t2", json!({"command": "rm -rf /"}), None),
            ],
        ),
        Message::tool_results(vec![
            result("t1", "a.txt", false),
            result("t2", "blocked by `no-rm`", true),
        ]),
        Message::assistant("", vec![call("t3", json!("{\"comm"), Some("not JSON"))]),
        Message::tool_results(vec![result("t3", "the arguments are not JSON", true)]),
        Message::assistant("", Vec::new()),
        Message::user("And now?"),
    ]);
    request.max_tokens = Some(1000);
    request
}

// R6.1: a rejected call is replayed as an error.
#[tokio::test]
async fn a_conversation_with_results_and_errors() {
    for dialect in &ALL {
        let seen = sent(dialect, long_conversation()).await;
        let auth =
            ["x-api-key", "authorization", "x-goog-api-key"].map(|name| (name, seen.header(name)));
        let auth: Vec<String> = auth
            .iter()
            .filter_map(|(name, value)| {
                Some(format!("{name}: {}", (*value)?.replace(KEY, "[key]")))
            })
            .collect();
        let request = json!({"request": seen.target, "auth": auth, "body": seen.body});
        insta::assert_json_snapshot!(format!("conversation_{}", dialect.provider), request);
    }
}

// R7.4
#[tokio::test]
async fn the_same_request_is_sent_as_the_same_bytes() {
    for dialect in &ALL {
        let first = sent(dialect, long_conversation()).await.raw;
        let second = sent(dialect, long_conversation()).await.raw;
        assert!(first == second, "{}", dialect.provider);
    }
}

#[tokio::test]
async fn a_request_without_tools_and_prompt_sends_neither() {
    for dialect in &ALL {
        let request = LlmRequest {
            system: String::new(),
            messages: ask("hi").messages,
            tools: Vec::new(),
            max_tokens: None,
        };
        let body = sent(dialect, request).await.body;
        assert_eq!(body.get("tools"), None, "{}", dialect.provider);
        assert!(!body.to_string().contains("system"), "{}: {body}", dialect.provider);
    }
}

// P2: a call that a provider runs by itself would pass no gate.
#[tokio::test]
async fn a_tool_named_like_a_providers_own_stays_ours() {
    const GEMINI_IX: Dialect = Dialect { provider: "gemini_ix", ..GEMINI };
    for dialect in ALL.iter().chain([&GEMINI_IX]) {
        let server = Server::start(vec![Reply::error(500, "")]).await;
        let llm = model(dialect, &server);
        for name in [
            "WebSearch",
            "web_search",
            "google_search",
            "googleSearch",
            "code_execution",
            "codeExecution",
            "url_context",
        ] {
            let mut request = ask("search");
            request.tools[0].name = name.into();
            outcome(&*llm, request).await.result.unwrap_err();
            let body = server.seen().last().unwrap().body.to_string();
            assert!(body.contains("Runs a shell command."), "{}: {body}", dialect.provider);
        }
    }
}

#[tokio::test]
async fn a_call_of_such_a_tool_comes_back_under_its_own_name() {
    for dialect in &ALL {
        let say = [Say::Call("t1", "web_search_", "{}")];
        let server =
            Server::start(vec![Reply::ok(dialect.pieces(&say, Stop::Normally, 999))]).await;
        let mut request = ask("search");
        request.tools[0].name = "web_search".into();
        let response = outcome(&*model(dialect, &server), request).await.result.unwrap();
        assert!(server.seen()[0].body.to_string().contains("web_search_"), "{}", dialect.provider);
        assert_eq!(response.tool_calls[0].name, "web_search", "{}", dialect.provider);
    }
}

#[tokio::test]
async fn a_path_in_the_base_url_is_kept() {
    let server =
        Server::start(vec![Reply::ok(OPENAI.pieces(&[Say::Text("ok")], Stop::Normally, 999))])
            .await;
    for (suffix, target) in [
        ("", "POST /v1/chat/completions"),
        ("/", "POST /v1/chat/completions"),
        ("/proxy/v2", "POST /proxy/v2/chat/completions"),
        ("/proxy/v2/", "POST /proxy/v2/chat/completions"),
    ] {
        let settings = super::settings(&OPENAI, &format!("{}{suffix}", server.url));
        outcome(&*super::model_with(&OPENAI, &settings), ask("hi")).await.result.unwrap();
        assert_eq!(server.seen().last().unwrap().target, target);
    }
}

#[tokio::test]
async fn a_key_is_sent_without_the_line_break_it_came_with() {
    let server =
        Server::start(vec![Reply::ok(OPENAI.pieces(&[Say::Text("ok")], Stop::Normally, 999))])
            .await;
    let mut settings = super::settings(&OPENAI, &server.url);
    settings.providers.get_mut("openai").unwrap().api_key = Some(format!("{KEY}\n"));
    outcome(&*super::model_with(&OPENAI, &settings), ask("hi")).await.result.unwrap();
    assert_eq!(server.seen()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
}
