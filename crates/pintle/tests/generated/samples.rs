//! A real payload of every point of the catalogue.

use pintle::{Point, points::*};
use serde_json::{Value, json};

fn sample<P: Point>(payload: P) -> (&'static str, Value) {
    (P::NAME, serde_json::to_value(payload).unwrap())
}

fn inbound() -> InboundMessage {
    InboundMessage {
        id: "m1".into(),
        platform: "telegram".into(),
        bot_id: Some("b1".into()),
        chat_id: "c1".into(),
        thread_id: None,
        sender: Sender { id: "u1".into(), name: Some("Ada".into()) },
        text: "hello".into(),
        is_direct: true,
        mentions_agent: false,
    }
}

fn history() -> Vec<HistoryMessage> {
    vec![
        HistoryMessage {
            role: HistoryRole::User,
            text: "hi".into(),
            tool_calls: vec![],
            tool_call_id: None,
            is_error: None,
        },
        HistoryMessage {
            role: HistoryRole::Assistant,
            text: String::new(),
            tool_calls: vec![HistoryToolCall {
                id: "t1".into(),
                name: "terminal".into(),
                input: json!({ "command": "ls" }),
            }],
            tool_call_id: None,
            is_error: None,
        },
        HistoryMessage {
            role: HistoryRole::Tool,
            text: "a.txt".into(),
            tool_calls: vec![],
            tool_call_id: Some("t1".into()),
            is_error: Some(false),
        },
    ]
}

pub(crate) fn payloads() -> Vec<(&'static str, Value)> {
    let usage = LlmUsage {
        input_tokens: 10,
        output_tokens: 5,
        cache_read_tokens: Some(3),
        cache_creation_tokens: None,
        cost_usd: Some(0.01),
    };
    let result =
        ToolCallResult { ok: false, content: String::new(), error: Some("no such file".into()) };
    let (call, name) = (|| "t1".to_string(), || "read_file".to_string());
    let args = || json!({ "path": "a.txt" });
    vec![
        sample(SessionStart { resumed: true }),
        sample(BeforeLlmCall { model: "offline".into(), turn_number: 1, request_id: "q1".into() }),
        sample(AfterLlmCall {
            text: "hi".into(),
            usage,
            request_id: "q1".into(),
            finish_reason: "end_turn".into(),
            duration_ms: 12,
        }),
        sample(AfterToolCall {
            tool_call_id: call(),
            tool_name: name(),
            args: args(),
            result,
            duration_ms: 3,
            outcome: ToolOutcome::TimedOut,
        }),
        sample(ToolEndWithPath {
            tool_name: name(),
            file_path: "a.txt".into(),
            working_dir: "/srv".into(),
        }),
        sample(AgentDone {
            text: "done".into(),
            turn_count: 2,
            successful_tool_calls: 1,
            total_tool_calls: 1,
            tool_names: vec![name()],
            initial_prompt: "hi".into(),
            outcome: "end_turn".into(),
        }),
        sample(MessageReceived { message: inbound() }),
        sample(MessageSent { chat_id: "c1".into(), message_id: Some("m2".into()), ok: true }),
        sample(SubagentSpawned { child_session_id: "s2".into() }),
        sample(SubagentEnded {
            child_session_id: "s2".into(),
            result: "done".into(),
            outcome: "end_turn".into(),
        }),
        sample(AfterTicketRevision {
            task_id: "k1".into(),
            summary: "did it".into(),
            acceptance_criteria: Some("tests".into()),
            reason: "no tests".into(),
            assignee: "coder".into(),
            autonomy_tier: Some(2),
            success_ratio: Some(0.5),
        }),
        sample(BeforePromptBuild { history: history(), system: "You help.".into() }),
        sample(BeforeToolCall { tool_call_id: call(), tool_name: name(), args: args() }),
        sample(MessageSending {
            chat_id: "c1".into(),
            message: OutboundMessage {
                text: "hi".into(),
                thread_id: None,
                reply_to: Some("m1".into()),
            },
        }),
        sample(PersonalitySwitched { from: None, to: "coder".into() }),
        sample(SubagentSpawning { prompt: "look around".into() }),
        sample(InboundClaim { message: inbound() }),
        sample(BeforeDispatch {
            chat_id: "c1".into(),
            platform: "telegram".into(),
            text: "hi".into(),
        }),
        sample(BeforeTicketComplete {
            task_id: "k1".into(),
            summary: "did it".into(),
            acceptance_criteria: None,
            autonomy_tier: Some(1),
        }),
        sample(SessionStarted { model: "offline".into(), new_session: true }),
        sample(UserPromptSubmit { prompt: "hi".into() }),
        sample(ModelPre { model: "offline".into(), message_count: 3 }),
        sample(ModelPost {
            model: "offline".into(),
            stop_reason: "end_turn".into(),
            input_tokens: 1,
            output_tokens: 2,
            cost_usd: None,
            tool_call_count: 0,
        }),
        sample(ToolPre { tool_call_id: call(), tool_name: name(), tool_input: args(), zone: 0 }),
        sample(ToolPost {
            tool_call_id: call(),
            tool_name: name(),
            tool_input: args(),
            result: "text".into(),
            is_error: false,
            duration_ms: 4,
        }),
        sample(SessionEnd { reason: "end_turn".into() }),
        sample(ErrorRaised { code: "overloaded".into(), message: "try later".into() }),
    ]
}
