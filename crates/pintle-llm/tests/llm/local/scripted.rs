//! The scripted model (§16).

use std::time::Duration;

use pintle_agent::{FinishReason, Llm, LlmError, LlmEvent, LlmUsage};
use pintle_llm::Scripted;
use serde_json::json;
use tokio::time::Instant;

use super::{events, request};

fn script(text: &str) -> Scripted {
    Scripted::from_json("test.json", text).unwrap()
}

async fn play(script: &Scripted) -> Vec<Result<LlmEvent, LlmError>> {
    events(script, request(Vec::new())).await
}

fn delta(text: &str) -> Result<LlmEvent, LlmError> {
    Ok(LlmEvent::TextDelta(text.into()))
}

#[tokio::test]
async fn each_request_takes_the_next_element_and_then_it_is_an_error() {
    let script = script(r#"[{"text": "one two"}, {"text": "three"}]"#);
    assert_eq!(script.name(), "scripted:test.json");
    let first = play(&script).await;
    assert_eq!(first[..2], [delta("one "), delta("two")]);
    let Ok(LlmEvent::End(response)) = &first[2] else { panic!("{first:?}") };
    assert_eq!((response.text.as_str(), response.finish), ("one two", FinishReason::EndTurn));
    assert_eq!(play(&script).await[0], delta("three"));
    for _ in 0..2 {
        let Err(error) = &play(&script).await[0] else { panic!() };
        assert_eq!((error.code.as_str(), error.retryable), ("script_exhausted", false));
        assert!(error.message.contains("test.json has 2 elements"), "{error}");
    }
}

#[tokio::test]
async fn tool_calls_usage_and_finish_are_as_written() {
    let script = script(
        r#"[{
            "toolCalls": [
                {"id": "t1", "name": "terminal", "input": {"command": "ls"}},
                {"name": "terminal", "inputRaw": "{\"command\": "},
                {"id": "t3", "name": "now"}
            ],
            "usage": {"inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3, "cacheCreationTokens": 4, "costUsd": 0.5}
        }, {"text": "Half of", "finish": "max_tokens"}, {"finish": "refusal"}]"#,
    );
    let Ok(LlmEvent::End(response)) = play(&script).await.remove(0) else { panic!() };
    assert_eq!(response.finish, FinishReason::ToolUse);
    let usage = LlmUsage::default()
        .input_tokens(1)
        .output_tokens(2)
        .cache_read_tokens(3)
        .cache_creation_tokens(4)
        .cost_usd(0.5);
    assert_eq!(response.usage, usage);
    let [ls, broken, now] = response.tool_calls.as_slice() else { panic!() };
    assert_eq!(
        (ls.id.as_str(), &ls.input, &ls.malformed),
        ("t1", &json!({"command": "ls"}), &None)
    );
    assert_eq!((broken.id.as_str(), &broken.input), ("scripted-0-1", &json!("{\"command\": ")));
    assert!(broken.malformed.as_ref().unwrap().contains("not JSON"));
    assert_eq!((now.input.clone(), &now.malformed), (json!({}), &None));
    for finish in [FinishReason::MaxTokens, FinishReason::Refusal] {
        let Some(Ok(LlmEvent::End(response))) = play(&script).await.pop() else { panic!() };
        assert_eq!(response.finish, finish);
    }
}

#[tokio::test]
async fn errors_come_after_the_text() {
    let script = script(
        r#"[{"error": {"code": "overloaded", "retryable": true, "retryAfterMs": 1500}},
            {"text": "Half of", "error": {"code": "network", "message": "gone"}}]"#,
    );
    let Err(error) = play(&script).await.remove(0) else { panic!() };
    assert_eq!((error.code.as_str(), error.retryable), ("overloaded", true));
    assert_eq!(error.retry_after, Some(Duration::from_millis(1500)));
    let second = play(&script).await;
    assert_eq!(second[..2], [delta("Half "), delta("of")]);
    let Err(error) = &second[2] else { panic!() };
    assert_eq!(
        (error.code.as_str(), error.message.as_str(), error.retryable),
        ("network", "gone", false)
    );
}

#[tokio::test]
async fn a_cut_stops_without_an_end() {
    assert_eq!(
        play(&script(r#"[{"text": "Half of", "cut": true}]"#)).await,
        [delta("Half "), delta("of")]
    );
}

#[tokio::test(start_paused = true)]
async fn a_delay_comes_before_everything() {
    let script = script(r#"[{"delayMs": 5000, "text": "Late."}]"#);
    let start = Instant::now();
    assert_eq!(play(&script).await[0], delta("Late."));
    assert!(start.elapsed() >= Duration::from_millis(5000));
}

#[tokio::test]
async fn the_order_of_elements_is_the_order_of_requests() {
    let script = script(r#"[{"text": "first"}, {"text": "second"}]"#);
    let (first, second) = (script.stream(request(Vec::new())), script.stream(request(Vec::new())));
    let collect = |stream| async { futures_util::StreamExt::collect::<Vec<_>>(stream).await };
    assert_eq!(collect(second).await[0], delta("second"));
    assert_eq!(collect(first).await[0], delta("first"));
}

#[test]
fn mistakes_are_named_with_element_and_field() {
    let mistakes = [
        "{}",
        "[",
        "[1]",
        r#"[{}, {"txet": "typo"}]"#,
        r#"[{"text": 1}]"#,
        r#"[{"delayMs": -1}]"#,
        r#"[{"toolCalls": {}}]"#,
        r#"[{"toolCalls": [{}]}]"#,
        r#"[{"toolCalls": [{"name": "a"}, {"name": "b", "input": []}]}]"#,
        r#"[{"toolCalls": [{"name": "a", "arguments": {}}]}]"#,
        r#"[{"toolCalls": [{"name": "a", "input": {}, "inputRaw": ""}]}]"#,
        r#"[{"toolCalls": [{"id": "x", "name": "a"}, {"id": "x", "name": "a"}]}]"#,
        r#"[{"usage": {"inputTokens": "1"}}]"#,
        r#"[{"usage": {"costUsd": "free"}}]"#,
        r#"[{"finish": "stop"}]"#,
        r#"[{"error": {"retryable": true}}]"#,
        r#"[{"error": {"code": "x"}, "toolCalls": []}]"#,
        r#"[{"error": {"code": "x"}, "cut": true}]"#,
    ];
    let messages = mistakes
        .map(|text| format!("{text}\n  {}", Scripted::from_json("test.json", text).unwrap_err()));
    insta::assert_snapshot!(messages.join("\n"));
}
