//! What a complete answer becomes.

use std::collections::HashSet;

use pintle_agent::{FinishReason, Message, ToolCall};
use serde_json::json;

use super::{
    ask,
    dialect::{ALL, ANTHROPIC, GEMINI, OLLAMA, OPENAI, Say, Stop},
    model, outcome, response,
    server::{Reply, Server},
};

const HELLO: Say = Say::Text("Grüße, 世界 🦀!");
const LS: Say = Say::Call("t1", "terminal", r#"{"command": "ls 🦀"}"#);
const PWD: Say = Say::Call("t2", "terminal", r#"{"command": "pwd"}"#);

/// Sizes of pieces: one that splits characters and everything else, an odd one, and all at once.
const SIZES: [usize; 3] = [1, 7, usize::MAX];

#[tokio::test]
async fn text_arrives_in_deltas_however_the_body_is_split() {
    for dialect in &ALL {
        for size in SIZES {
            let server =
                Server::start(vec![Reply::ok(dialect.pieces(&[HELLO], Stop::Normally, size))])
                    .await;
            let outcome = outcome(&*model(dialect, &server), ask("hello")).await;
            let response =
                outcome.result.unwrap_or_else(|error| panic!("{}: {error}", dialect.provider));
            assert_eq!(response.text, "Grüße, 世界 🦀!", "{}", dialect.provider);
            assert!(outcome.deltas.len() >= 2, "{}: {:?}", dialect.provider, outcome.deltas);
            assert_eq!(response.finish, FinishReason::EndTurn, "{}", dialect.provider);
            assert_eq!(response.tool_calls, [], "{}", dialect.provider);
        }
    }
}

#[tokio::test]
async fn a_tool_call_split_across_chunks_is_put_together() {
    for dialect in &ALL {
        for size in SIZES {
            let server =
                Server::start(vec![Reply::ok(dialect.pieces(&[HELLO, LS], Stop::Normally, size))])
                    .await;
            let response = response(&*model(dialect, &server), ask("list")).await;
            assert_eq!(response.finish, FinishReason::ToolUse, "{}", dialect.provider);
            assert_eq!(response.text, "Grüße, 世界 🦀!", "{}", dialect.provider);
            let [call] = response.tool_calls.as_slice() else {
                panic!("{:?}", response.tool_calls)
            };
            assert_eq!(call.name, "terminal");
            assert_eq!(call.input, json!({"command": "ls 🦀"}));
            assert_eq!(call.malformed, None);
        }
    }
}

// R6.1
#[tokio::test]
async fn two_tool_calls_keep_their_order_and_have_ids_of_their_own() {
    for dialect in &ALL {
        let server =
            Server::start(vec![Reply::ok(dialect.pieces(&[LS, PWD], Stop::Normally, 5))]).await;
        let response = response(&*model(dialect, &server), ask("list")).await;
        let commands: Vec<_> =
            response.tool_calls.iter().map(|call| &call.input["command"]).collect();
        assert_eq!(commands, ["ls 🦀", "pwd"], "{}", dialect.provider);
        let ids: HashSet<_> = response.tool_calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids.len(), 2, "{}: {:?}", dialect.provider, response.tool_calls);
        if dialect.provider != GEMINI.provider {
            assert_eq!(ids, HashSet::from(["t1", "t2"]), "{}", dialect.provider);
        }
    }
}

// R6.1
#[tokio::test]
async fn an_id_that_an_earlier_call_has_is_not_given_again() {
    let server = Server::start(vec![Reply::ok(GEMINI.pieces(&[LS], Stop::Normally, 50))]).await;
    let llm = model(&GEMINI, &server);
    let first = response(&*llm, ask("list")).await;
    let mut request = ask("list");
    request.messages.push(Message::assistant("", first.tool_calls.clone()));
    let second = response(&*llm, request).await;
    assert_ne!(first.tool_calls[0].id, second.tool_calls[0].id);
}

#[tokio::test]
async fn malformed_arguments_are_kept_as_text_with_the_reason() {
    let broken = Say::Call("t1", "terminal", r#"{"command": "rm -rf"#);
    for dialect in &ALL {
        let server =
            Server::start(vec![Reply::ok(dialect.pieces(&[broken], Stop::Normally, 9))]).await;
        let response = response(&*model(dialect, &server), ask("list")).await;
        let [ToolCall { input, malformed, .. }] = response.tool_calls.as_slice() else {
            panic!("{}: {:?}", dialect.provider, response.tool_calls)
        };
        assert_eq!(input, r#"{"command": "rm -rf"#, "{}", dialect.provider);
        assert!(
            malformed.as_ref().unwrap().contains("not JSON"),
            "{}: {malformed:?}",
            dialect.provider
        );
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_are_malformed() {
    for (raw, reason) in [(r#"["ls"]"#, "an array"), ("7", "a number"), (r#""ls""#, "not")] {
        let server = Server::start(vec![Reply::ok(OPENAI.pieces(
            &[Say::Call("t1", "terminal", raw)],
            Stop::Normally,
            9,
        ))])
        .await;
        let response = response(&*model(&OPENAI, &server), ask("list")).await;
        let malformed = response.tool_calls[0].malformed.as_ref().unwrap();
        assert!(malformed.contains(reason), "{malformed}");
        assert!(response.tool_calls[0].input.is_string());
    }
}

#[tokio::test]
async fn a_call_without_arguments_has_an_empty_object() {
    for dialect in ALL.iter().filter(|dialect| dialect.raw_calls) {
        let server = Server::start(vec![Reply::ok(dialect.pieces(
            &[Say::Call("t1", "now", "")],
            Stop::Normally,
            9,
        ))])
        .await;
        let response = response(&*model(dialect, &server), ask("now")).await;
        assert_eq!(response.tool_calls[0].input, json!({}), "{}", dialect.provider);
        assert_eq!(response.tool_calls[0].malformed, None, "{}", dialect.provider);
    }
}

#[tokio::test]
async fn a_call_that_the_token_limit_cuts_before_its_arguments_is_malformed() {
    // Anthropic then sends no end of the block, OpenAI just stops.
    let frames = (ANTHROPIC.frames)(&[Say::Call("t1", "terminal", "")], Stop::TokenLimit);
    let without_block_end: String = frames
        .into_iter()
        .filter(|frame| !frame.contains("block_stop") && !frame.contains("block_delta"))
        .collect();
    let openai = (OPENAI.frames)(&[Say::Call("t1", "terminal", "")], Stop::TokenLimit).concat();
    for (dialect, body) in [(&ANTHROPIC, without_block_end), (&OPENAI, openai)] {
        let server = Server::start(vec![Reply::ok(vec![body.into_bytes()])]).await;
        let response = response(&*model(dialect, &server), ask("list")).await;
        assert_eq!(response.finish, FinishReason::MaxTokens, "{}", dialect.provider);
        assert!(response.tool_calls[0].malformed.is_some(), "{}", dialect.provider);
    }
}

#[tokio::test]
async fn a_server_that_counts_calls_from_1_gets_no_call_that_it_did_not_make() {
    let body = (OPENAI.frames)(&[LS], Stop::Normally)
        .concat()
        .replace(r#""index":0,"id""#, r#""index":1,"id""#);
    let body = body.replace(r#""tool_calls":[{"index":0"#, r#""tool_calls":[{"index":1"#);
    let server = Server::start(vec![Reply::ok(vec![body.into_bytes()])]).await;
    let response = response(&*model(&OPENAI, &server), ask("list")).await;
    assert_eq!(response.tool_calls.len(), 1, "{:?}", response.tool_calls);
    assert_eq!(response.tool_calls[0].input, json!({"command": "ls 🦀"}));
}

#[tokio::test]
async fn the_reason_for_stopping_is_passed_on() {
    for dialect in &ALL {
        let server =
            Server::start(vec![Reply::ok(dialect.pieces(&[HELLO], Stop::TokenLimit, 99))]).await;
        let response = response(&*model(dialect, &server), ask("hello")).await;
        assert_eq!(response.finish, FinishReason::MaxTokens, "{}", dialect.provider);
    }
    for dialect in [&ANTHROPIC, &OPENAI, &GEMINI] {
        let server =
            Server::start(vec![Reply::ok(dialect.pieces(&[HELLO, LS], Stop::Refusing, 99))]).await;
        let response = response(&*model(dialect, &server), ask("hello")).await;
        assert_eq!(response.finish, FinishReason::Refusal, "{}", dialect.provider);
        assert_eq!(response.tool_calls, [], "{}", dialect.provider);
    }
}

#[tokio::test]
async fn usage_counts_all_tokens_read_and_those_from_the_cache() {
    for dialect in &ALL {
        let server =
            Server::start(vec![Reply::ok(dialect.pieces(&[HELLO], Stop::Normally, 99))]).await;
        let usage = response(&*model(dialect, &server), ask("hello")).await.usage;
        assert_eq!((usage.input_tokens, usage.output_tokens), (17, 9), "{}", dialect.provider);
        assert_eq!(usage.cache_read_tokens, Some(4), "{}", dialect.provider);
        let creation = (dialect.provider == ANTHROPIC.provider).then_some(3);
        assert_eq!(usage.cache_creation_tokens, creation, "{}", dialect.provider);
        // A gateway charges what it likes; one's own machine charges nothing.
        let cost = (dialect.provider == OLLAMA.provider).then_some(0.0);
        assert_eq!(usage.cost_usd, cost, "{}", dialect.provider);
    }
}

#[tokio::test]
async fn comments_that_keep_a_stream_awake_are_not_part_of_it() {
    for dialect in [&ANTHROPIC, &OPENAI, &GEMINI] {
        let frames = (dialect.frames)(&[HELLO, LS], Stop::Normally);
        let body: String =
            frames.iter().map(|frame| format!(": still thinking\n\n{frame}")).collect();
        let server = Server::start(vec![Reply::ok(vec![body.into_bytes()])]).await;
        let response = response(&*model(dialect, &server), ask("hello")).await;
        assert_eq!(response.text, "Grüße, 世界 🦀!", "{}", dialect.provider);
        assert_eq!(response.tool_calls.len(), 1, "{}", dialect.provider);
    }
}
