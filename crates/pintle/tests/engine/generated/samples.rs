//! A real payload of every point of the catalogue.

use pintle::{Point, points::*};
use serde_json::{Value, json};

fn sample<P: Point>(payload: P) -> (&'static str, Value) {
    (P::NAME, serde_json::to_value(payload).unwrap())
}

fn inbound() -> InboundMessage {
    InboundMessage::default()
        .id("m1")
        .platform("telegram")
        .bot_id("b1")
        .chat_id("c1")
        .sender(Sender::default().id("u1").name("Ada"))
        .text("hello")
        .is_direct(true)
}

fn page() -> Untrusted {
    Untrusted::default().from("terminal: curl example.com")
}

fn history() -> Vec<Message> {
    let call = ToolCall::default().id("t1").name("terminal").input(json!({ "command": "ls" }));
    let result = ToolResult::default()
        .tool_call_id("t1")
        .tool_name("terminal")
        .content("a.txt")
        .untrusted(Some(page()));
    vec![
        Message::user("hi"),
        Message::assistant("", vec![call]),
        Message::tool_results(vec![result]),
    ]
}

pub(crate) fn payloads() -> Vec<(&'static str, Value)> {
    let usage =
        LlmUsage::default().input_tokens(10).output_tokens(5).cache_read_tokens(3).cost_usd(0.01);
    let result = ToolCallResult::default().error("no such file");
    let (call, name) = (|| "t1".to_string(), || "read_file".to_string());
    let args = || json!({ "path": "a.txt" });
    vec![
        sample(SessionOpened::default().resumed(true)),
        sample(BeforeLlmCall::default().model("offline").turn_number(1).request_id("q1")),
        sample(
            AfterLlmCall::default()
                .text("hi")
                .usage(usage)
                .request_id("q1")
                .finish_reason("end_turn")
                .duration_ms(12),
        ),
        sample(
            AfterToolCall::default()
                .tool_call_id(call())
                .tool_name(name())
                .args(args())
                .result(result)
                .duration_ms(3)
                .outcome(ToolOutcome::TimedOut),
        ),
        sample(ToolEndWithPath::default().tool_name(name()).file_path("a.txt").working_dir("/srv")),
        sample(
            AgentDone::default()
                .text("done")
                .turn_count(2)
                .successful_tool_calls(1)
                .total_tool_calls(1)
                .tool_names(vec![name()])
                .initial_prompt("hi")
                .outcome("end_turn"),
        ),
        sample(MessageReceived::default().message(inbound())),
        sample(MessageSent::default().chat_id("c1").message_id("m2").ok(true)),
        sample(SubagentSpawned::default().child_session_id("s2")),
        sample(SubagentEnded::default().child_session_id("s2").result("done").outcome("end_turn")),
        sample(
            AfterTicketRevision::default()
                .task_id("k1")
                .summary("did it")
                .acceptance_criteria("tests")
                .reason("no tests")
                .assignee("coder")
                .autonomy_tier(2)
                .success_ratio(0.5),
        ),
        sample(BeforePromptBuild::default().history(history()).system("You help.")),
        sample(BeforeToolCall::default().tool_call_id(call()).tool_name(name()).args(args())),
        sample(
            MessageSending::default()
                .chat_id("c1")
                .message(OutboundMessage::default().text("hi").reply_to("m1")),
        ),
        sample(PersonalitySwitched::default().to("coder")),
        sample(SubagentSpawning::default().prompt("look around")),
        sample(
            BeforeCompaction::default()
                .reason(CompactionReason::Overflow)
                .message_count(120_u32)
                .tokens(190_000_u64),
        ),
        sample(
            AfterCompaction::default()
                .summary("They mended the door.")
                .kept_messages(8_u32)
                .tokens_before(190_000_u64)
                .tokens_after(9_000_u64),
        ),
        sample(InboundClaim::default().message(inbound())),
        sample(BeforeDispatch::default().chat_id("c1").platform("telegram").text("hi")),
        sample(BeforeTicketComplete::default().task_id("k1").summary("did it").autonomy_tier(1)),
        sample(RunStart::default().model("offline").new_session(true)),
        sample(UserPromptSubmit::default().prompt("hi")),
        sample(ModelPre::default().model("offline").message_count(3)),
        sample(
            ModelPost::default()
                .model("offline")
                .stop_reason("end_turn")
                .input_tokens(1)
                .output_tokens(2)
                .tool_call_count(0),
        ),
        sample(
            ToolPre::default()
                .tool_call_id(call())
                .tool_name(name())
                .tool_input(args())
                .zone(0)
                .asks(true)
                .untrusted(page().suspicion("orders")),
        ),
        sample(
            ToolPost::default()
                .tool_call_id(call())
                .tool_name(name())
                .tool_input(args())
                .result("text")
                .duration_ms(4),
        ),
        sample(SessionEnd::default().reason("end_turn")),
        sample(ErrorRaised::default().code("overloaded").message("try later")),
    ]
}
