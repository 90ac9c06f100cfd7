//! What providers answer when they do not answer.

use std::time::Duration;

use pintle_agent::LlmError;
use serde_json::json;
use tokio::net::TcpListener;

use super::{
    KEY, ask,
    dialect::{ALL, ANTHROPIC, Dialect, GEMINI, OPENAI, Say, Stop},
    failure, model, model_with, outcome,
    server::{Reply, Server},
    settings,
};

async fn fails(dialect: &Dialect, reply: Reply) -> LlmError {
    let server = Server::start(vec![reply]).await;
    failure(&*model(dialect, &server), ask("hello")).await
}

#[tokio::test]
async fn every_status_has_its_code() {
    let body = r#"{"type": "error", "error": {"type": "some_error", "message": "the provider's own words"}}"#;
    let table = [
        (429, "rate_limited", true),
        (503, "overloaded", true),
        (529, "overloaded", true),
        (500, "server_error", true),
        (502, "server_error", true),
        (504, "server_error", true),
        (401, "auth", false),
        (403, "auth", false),
        (400, "bad_request", false),
        (404, "bad_request", false),
        (422, "bad_request", false),
    ];
    for dialect in &ALL {
        let server =
            Server::start(table.iter().map(|(status, ..)| Reply::error(*status, body)).collect())
                .await;
        let llm = model(dialect, &server);
        for (status, code, retryable) in table {
            let error = failure(&*llm, ask("hello")).await;
            let context = format!("{} {status}: {error:?}", dialect.provider);
            assert_eq!((error.code.as_str(), error.retryable), (code, retryable), "{context}");
            assert!(error.message.contains("the provider's own words"), "{context}");
            assert!(error.message.contains(dialect.model), "{context}");
            assert_eq!(error.retry_after, None, "{context}");
        }
    }
}

// R6.7
#[tokio::test]
async fn a_request_that_is_too_long_has_a_code_of_its_own() {
    for (dialect, status, words) in [
        (&ANTHROPIC, 400, "prompt is too long: 212345 tokens > 200000 maximum"),
        (
            &ANTHROPIC,
            400,
            "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
        ),
        (
            &OPENAI,
            400,
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
        ),
        (&OPENAI, 400, "Your input exceeds the context window of this model."),
        (&OPENAI, 400, "the request exceeds the available context size. try increasing it"),
        (
            &GEMINI,
            400,
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
        (&OPENAI, 413, "prompt is too long"),
    ] {
        let body = json!({"error": {"message": words}}).to_string();
        let error = fails(dialect, Reply::error(status, &body)).await;
        assert_eq!((error.code.as_str(), error.retryable), (LlmError::TOO_LONG, false), "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    let other = fails(&OPENAI, Reply::error(400, r#"{"error": {"message": "bad schema"}}"#)).await;
    assert_eq!(other.code, "bad_request");
}

#[tokio::test]
async fn a_rate_limit_says_how_long_to_wait() {
    let limited = || Reply::error(429, r#"{"error": {"message": "slow down"}}"#);
    for dialect in &ALL {
        let error = fails(dialect, limited().header("retry-after", "7")).await;
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)), "{}", dialect.provider);
    }
    let error =
        fails(&OPENAI, limited().header("retry-after", "7").header("retry-after-ms", "250")).await;
    assert_eq!(error.retry_after, Some(Duration::from_millis(250)));
    let error =
        fails(&OPENAI, limited().header("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")).await;
    assert_eq!((error.code.as_str(), error.retry_after), ("rate_limited", None));
    let error = fails(&OPENAI, limited().header("retry-after", "-1")).await;
    assert_eq!(error.retry_after, None);
}

#[tokio::test]
async fn an_empty_account_is_not_worth_a_retry() {
    let body = r#"{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}"#;
    let error = fails(&OPENAI, Reply::error(429, body)).await;
    assert_eq!((error.code.as_str(), error.retryable), ("rate_limited", false), "{error}");
}

#[tokio::test]
async fn a_wrong_key_names_the_variable_and_not_the_key() {
    for (dialect, variable) in [
        (&ANTHROPIC, "ANTHROPIC_API_KEY"),
        (&OPENAI, "OPENAI_API_KEY"),
        (&GEMINI, "GEMINI_API_KEY"),
    ] {
        let body = json!({"error": {"message": format!("Incorrect API key provided: {KEY}.")}})
            .to_string();
        let error = fails(dialect, Reply::error(401, &body)).await;
        assert_eq!(error.code, "auth");
        assert!(error.message.contains(variable), "{error}");
        assert!(!error.message.contains(KEY), "{error}");
    }
}

#[tokio::test]
async fn an_error_body_of_any_shape_gives_its_sentence() {
    for body in [
        r#"{"error": "just a sentence"}"#,
        r#"{"message": "just a sentence"}"#,
        r#"[{"error": {"code": 400, "message": "just a sentence"}}]"#,
        r#"{"detail": "just a sentence"}"#,
        "just a sentence",
    ] {
        let error = fails(&OPENAI, Reply::error(400, body)).await;
        assert_eq!(error.message, "openai/gpt-4o: just a sentence", "{body}");
    }
    let error = fails(&OPENAI, Reply::error(400, "")).await;
    assert!(error.message.contains("400"), "{error}");
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_has_the_code_of_its_kind() {
    let anthropic = |kind: &str| {
        format!(
            "event: error\ndata: {}\n\n",
            json!({"type": "error", "error": {"type": kind, "message": "their words"}})
        )
    };
    let openai = |kind: &str| {
        format!("data: {}\n\n", json!({"error": {"type": kind, "message": "their words"}}))
    };
    let gemini = |code: u16, status: &str| {
        format!(
            "data: {}\n\n",
            json!({"error": {"code": code, "status": status, "message": "their words"}})
        )
    };
    for (dialect, frame, code, retryable) in [
        (&ANTHROPIC, anthropic("overloaded_error"), "overloaded", true),
        (&ANTHROPIC, anthropic("rate_limit_error"), "rate_limited", true),
        (&ANTHROPIC, anthropic("api_error"), "server_error", true),
        (&ANTHROPIC, anthropic("authentication_error"), "auth", false),
        (&ANTHROPIC, anthropic("invalid_request_error"), "bad_request", false),
        (&OPENAI, openai("server_error"), "server_error", true),
        (&OPENAI, openai("invalid_request_error"), "bad_request", false),
        (&GEMINI, gemini(503, "UNAVAILABLE"), "overloaded", true),
        (&GEMINI, gemini(429, "RESOURCE_EXHAUSTED"), "rate_limited", true),
    ] {
        let mut frames = (dialect.frames)(&[Say::Text("Half of")], Stop::Normally);
        // After some text, and with an end that must no longer count.
        let at = frames.len() - if dialect.provider == "openai" { 3 } else { 2 };
        frames.insert(at.max(1), frame);
        let pieces = frames.into_iter().map(String::into_bytes).collect();
        let server = Server::start(vec![Reply::ok(pieces)]).await;
        let outcome = outcome(&*model(dialect, &server), ask("hello")).await;
        let error = outcome.result.unwrap_err();
        assert_eq!((error.code.as_str(), error.retryable), (code, retryable), "{error}");
        assert!(error.message.contains("their words"), "{error}");
        assert!(!outcome.deltas.is_empty());
    }
}

#[tokio::test]
async fn a_function_call_that_gemini_calls_malformed_can_be_tried_again() {
    let frame = json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}], "usageMetadata": {}});
    let error = fails(&GEMINI, Reply::ok(vec![format!("data: {frame}\n\n").into_bytes()])).await;
    assert_eq!((error.code.as_str(), error.retryable), ("server_error", true), "{error}");
}

#[tokio::test]
async fn a_prompt_that_gemini_blocks_is_not_tried_again() {
    let frame =
        json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}});
    let error = fails(&GEMINI, Reply::ok(vec![format!("data: {frame}\n\n").into_bytes()])).await;
    assert_eq!((error.code.as_str(), error.retryable), ("bad_request", false), "{error}");
}

#[tokio::test]
async fn a_body_that_is_no_stream_is_an_error() {
    for dialect in &ALL {
        let page = b"<html><body>Welcome to the hotel's network</body></html>\n\n".to_vec();
        let error = fails(dialect, Reply::ok(vec![page])).await;
        assert!(
            ["cut", "server_error"].contains(&error.code.as_str()),
            "{}: {error}",
            dialect.provider
        );
    }
}

#[tokio::test]
async fn nobody_at_the_address_is_a_network_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for dialect in &ALL {
        let error = failure(&*model_with(dialect, &settings(dialect, &url)), ask("hello")).await;
        assert_eq!(
            (error.code.as_str(), error.retryable),
            ("network", true),
            "{}: {error}",
            dialect.provider
        );
        let reason = format!("cannot reach {url}: connection refused");
        assert!(error.message.contains(&reason), "{}: {error}", dialect.provider);
    }
}

#[tokio::test]
async fn a_key_that_no_header_can_hold_is_not_tried_again() {
    let server = Server::start(vec![Reply::error(500, "")]).await;
    for dialect in ALL.iter().filter(|dialect| dialect.provider != "ollama") {
        let mut settings = settings(dialect, &server.url);
        settings.providers.get_mut(dialect.provider).unwrap().api_key =
            Some("two\nlines".to_owned());
        let error = failure(&*model_with(dialect, &settings), ask("hello")).await;
        assert_eq!(
            (error.code.as_str(), error.retryable),
            ("bad_request", false),
            "{}: {error}",
            dialect.provider
        );
    }
    assert_eq!(server.seen().len(), 0);
}
