//! Answers that stop too soon. None of them may pass for a complete one.

use std::time::Duration;

use futures_util::StreamExt;
use pintle_agent::LlmEvent;
use pintle_llm::Settings;

use super::{
    ask,
    dialect::{ALL, ANTHROPIC, Say, Stop},
    failure, model, model_with, outcome, response,
    server::{Close, Framing, Reply, Server},
    settings,
};

const ANSWER: [Say; 3] = [
    Say::Text("Ja, grün."),
    Say::Call("t1", "terminal", r#"{"command": "ls"}"#),
    Say::Call("t2", "terminal", r#"{"command": "pwd"}"#),
];

#[tokio::test]
async fn a_stream_cut_after_any_of_its_messages_is_an_error() {
    for dialect in &ALL {
        let frames = (dialect.frames)(&ANSWER, Stop::Normally);
        for framing in [Framing::Chunked, Framing::UntilClose] {
            let reply = |kept: usize| {
                let pieces =
                    frames[..kept].iter().map(|frame| frame.clone().into_bytes()).collect();
                Reply::ok(pieces).framed(framing).closed(Close::Early)
            };
            let server = Server::start((0..frames.len()).map(reply).collect()).await;
            let llm = model(dialect, &server);
            // Also after a tool call that looks complete, and after the last one.
            for kept in 0..frames.len() {
                let error = failure(&*llm, ask("list")).await;
                let context =
                    format!("{} {framing:?} {kept}/{}: {error}", dialect.provider, frames.len());
                assert_eq!(error.code, "cut", "{context}");
                assert!(error.retryable, "{context}");
            }
        }
    }
}

/// The body may end anywhere. It is then an error, unless everything that matters had arrived.
#[tokio::test]
async fn a_body_that_ends_inside_a_message_never_passes_for_another_answer() {
    for dialect in &ALL {
        let body = (dialect.frames)(&ANSWER, Stop::Normally).concat().into_bytes();
        let server = Server::start(vec![Reply::ok(vec![body.clone()])]).await;
        let whole = response(&*model(dialect, &server), ask("list")).await;

        // Every byte of the end, where it matters most, and every seventh before.
        let ends: Vec<usize> =
            (1..body.len()).filter(|end| end % 7 == 0 || body.len() - end < 120).collect();
        let reply =
            |end: &usize| Reply::ok(vec![body[..*end].to_vec()]).framed(Framing::UntilClose);
        let server = Server::start(ends.iter().map(reply).collect()).await;
        let llm = model(dialect, &server);
        for end in ends {
            match outcome(&*llm, ask("list")).await.result {
                Ok(response) => assert_eq!(response, whole, "{} at {end}", dialect.provider),
                Err(error) => assert!(error.retryable, "{} at {end}: {error}", dialect.provider),
            }
        }
    }
}

#[tokio::test]
async fn a_stream_that_goes_silent_is_stalled() {
    for dialect in &ALL {
        let frames = (dialect.frames)(&ANSWER, Stop::Normally);
        let pieces =
            frames[..frames.len() - 1].iter().map(|frame| frame.clone().into_bytes()).collect();
        let server = Server::start(vec![Reply::ok(pieces).closed(Close::Never)]).await;
        let settings =
            Settings { stall_after: Duration::from_millis(300), ..settings(dialect, &server.url) };
        let outcome = outcome(&*model_with(dialect, &settings), ask("list")).await;
        assert!("Ja, grün.".starts_with(&outcome.deltas.concat()), "{}", dialect.provider);
        let error = outcome.result.unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.retryable),
            ("stalled", true),
            "{}: {error}",
            dialect.provider
        );
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_stalled() {
    let server = Server::start(vec![Reply::ok(Vec::new()).closed(Close::BeforeHeaders)]).await;
    let settings =
        Settings { stall_after: Duration::from_millis(300), ..settings(&ANTHROPIC, &server.url) };
    let error = failure(&*model_with(&ANTHROPIC, &settings), ask("list")).await;
    assert_eq!((error.code.as_str(), error.retryable), ("stalled", true), "{error}");
}

#[tokio::test]
async fn dropping_the_stream_hangs_up() {
    let frames = (ANTHROPIC.frames)(&ANSWER, Stop::Normally);
    let pieces = frames[..5].iter().map(|frame| frame.clone().into_bytes()).collect();
    let server = Server::start(vec![Reply::ok(pieces).closed(Close::Never)]).await;
    let mut stream = model(&ANTHROPIC, &server).stream(ask("list"));
    assert!(matches!(stream.next().await, Some(Ok(LlmEvent::TextDelta(_)))));
    drop(stream);
    tokio::time::timeout(Duration::from_secs(60), server.hung_up())
        .await
        .expect("the connection stayed open");
}
