//! The same answer in each provider's streaming protocol.

use serde_json::{Value, json};

/// A part of an answer.
#[derive(Clone, Copy)]
pub(crate) enum Say {
    Text(&'static str),
    /// Id, tool, arguments as the model wrote them.
    Call(&'static str, &'static str, &'static str),
}

/// Why the model stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Normally,
    TokenLimit,
    Refusing,
}

/// How a provider speaks.
pub(crate) struct Dialect {
    pub(crate) provider: &'static str,
    pub(crate) model: &'static str,
    /// Whether calls have ids, and arguments that can be malformed.
    pub(crate) raw_calls: bool,
    /// The body, message by message. Only with the last one is it complete.
    pub(crate) frames: fn(&[Say], Stop) -> Vec<String>,
}

pub(crate) const ALL: [Dialect; 5] = [ANTHROPIC, OPENAI, OPENAI_RESP, OLLAMA, GEMINI];

pub(crate) const ANTHROPIC: Dialect = Dialect {
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    raw_calls: true,
    frames: anthropic,
};
pub(crate) const OPENAI: Dialect =
    Dialect { provider: "openai", model: "gpt-4o", raw_calls: true, frames: openai };
pub(crate) const OPENAI_RESP: Dialect =
    Dialect { provider: "openai_resp", model: "gpt-5", raw_calls: true, frames: openai_resp };
pub(crate) const OLLAMA: Dialect =
    Dialect { provider: "ollama", model: "qwen3", raw_calls: false, frames: ollama };
pub(crate) const GEMINI: Dialect =
    Dialect { provider: "gemini", model: "gemini-2.5-flash", raw_calls: false, frames: gemini };

impl Dialect {
    /// The whole body, cut into pieces of so many bytes, wherever that is.
    pub(crate) fn pieces(&self, say: &[Say], stop: Stop, bytes: usize) -> Vec<Vec<u8>> {
        let body = (self.frames)(say, stop).concat();
        body.as_bytes().chunks(bytes).map(<[u8]>::to_vec).collect()
    }
}

/// A text in two, in the middle of it; models never send it in one.
fn halves(text: &str) -> [&str; 2] {
    let middle = (text.len() / 2..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap();
    let (first, second) = text.split_at(middle);
    [first, second]
}

fn event(name: &str, mut data: Value) -> String {
    data["type"] = name.into();
    format!("event: {name}\ndata: {data}\n\n")
}

fn calls(say: &[Say]) -> bool {
    say.iter().any(|part| matches!(part, Say::Call(..)))
}

fn anthropic(say: &[Say], stop: Stop) -> Vec<String> {
    let usage = json!({"input_tokens": 10, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 1});
    let mut frames = vec![
        event(
            "message_start",
            json!({"message": {"id": "msg_1", "role": "assistant", "content": [], "usage": usage}}),
        ),
        event("ping", json!({})),
    ];
    for (index, part) in say.iter().enumerate() {
        let (block, deltas) = match part {
            Say::Text(text) => (
                json!({"type": "text", "text": ""}),
                halves(text).map(|half| json!({"type": "text_delta", "text": half})),
            ),
            Say::Call(id, name, arguments) => (
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                halves(arguments)
                    .map(|half| json!({"type": "input_json_delta", "partial_json": half})),
            ),
        };
        frames.push(event("content_block_start", json!({"index": index, "content_block": block})));
        frames
            .extend(deltas.map(|delta| {
                event("content_block_delta", json!({"index": index, "delta": delta}))
            }));
        frames.push(event("content_block_stop", json!({"index": index})));
    }
    let reason = match stop {
        Stop::Normally if calls(say) => "tool_use",
        Stop::Normally => "end_turn",
        Stop::TokenLimit => "max_tokens",
        Stop::Refusing => "refusal",
    };
    frames.push(event(
        "message_delta",
        json!({"delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}),
    ));
    frames.push(event("message_stop", json!({})));
    frames
}

fn openai(say: &[Say], stop: Stop) -> Vec<String> {
    let frame = |data: Value| format!("data: {data}\n\n");
    let delta = |delta: Value| {
        frame(
            json!({"id": "c1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}),
        )
    };
    let mut frames = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut index = 0;
    for part in say {
        match part {
            Say::Text(text) => {
                frames.extend(halves(text).map(|half| delta(json!({"content": half}))))
            }
            Say::Call(id, name, arguments) => {
                let function = json!({"name": name, "arguments": ""});
                frames.push(delta(
                    json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}),
                ));
                frames.extend(halves(arguments).map(|half| {
                    delta(
                        json!({"tool_calls": [{"index": index, "function": {"arguments": half}}]}),
                    )
                }));
                index += 1;
            }
        }
    }
    let reason = match stop {
        Stop::Normally if calls(say) => "tool_calls",
        Stop::Normally => "stop",
        Stop::TokenLimit => "length",
        Stop::Refusing => "content_filter",
    };
    frames.push(frame(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})));
    let usage = json!({"prompt_tokens": 17, "completion_tokens": 9, "total_tokens": 26, "prompt_tokens_details": {"cached_tokens": 4}});
    frames.push(frame(json!({"choices": [], "usage": usage})));
    frames.push("data: [DONE]\n\n".to_owned());
    frames
}

fn openai_resp(say: &[Say], stop: Stop) -> Vec<String> {
    let mut frames =
        vec![event("response.created", json!({"response": {"id": "r1", "status": "in_progress"}}))];
    let mut output = Vec::new();
    for (index, part) in say.iter().enumerate() {
        match part {
            Say::Text(text) => {
                frames.extend(halves(text).map(|half| {
                    event("response.output_text.delta", json!({"output_index": index, "content_index": 0, "item_id": "m", "delta": half}))
                }));
                output.push(json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]}));
            }
            Say::Call(id, name, arguments) => {
                let item = |arguments: &str| json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": arguments});
                frames.push(event(
                    "response.output_item.added",
                    json!({"output_index": index, "item": item("")}),
                ));
                frames.extend(halves(arguments).map(|half| {
                    event("response.function_call_arguments.delta", json!({"output_index": index, "item_id": format!("fc_{id}"), "delta": half}))
                }));
                frames.push(event(
                    "response.function_call_arguments.done",
                    json!({"output_index": index, "item_id": format!("fc_{id}"), "arguments": arguments}),
                ));
                frames.push(event(
                    "response.output_item.done",
                    json!({"output_index": index, "item": item(arguments)}),
                ));
                output.push(item(arguments));
            }
        }
    }
    let usage = json!({"input_tokens": 17, "output_tokens": 9, "total_tokens": 26, "input_tokens_details": {"cached_tokens": 4}});
    let (name, status, details) = match stop {
        Stop::Normally => ("response.completed", "completed", json!(null)),
        Stop::TokenLimit => {
            ("response.incomplete", "incomplete", json!({"reason": "max_output_tokens"}))
        }
        Stop::Refusing => {
            ("response.incomplete", "incomplete", json!({"reason": "content_filter"}))
        }
    };
    let response = json!({"id": "r1", "model": "gpt-5", "status": status, "incomplete_details": details, "output": output, "usage": usage});
    frames.push(event(name, json!({"response": response})));
    frames
}

fn ollama(say: &[Say], stop: Stop) -> Vec<String> {
    let frame = |data: Value| format!("{data}\n");
    let mut frames = Vec::new();
    for part in say {
        match part {
            Say::Text(text) => frames.extend(halves(text).map(|half| {
                frame(json!({"model": "qwen3", "message": {"role": "assistant", "content": half}, "done": false}))
            })),
            Say::Call(id, name, arguments) => {
                let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
                let call = json!({"id": id, "function": {"name": name, "arguments": arguments}});
                frames.push(frame(
                    json!({"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": false}),
                ));
            }
        }
    }
    let reason = if stop == Stop::TokenLimit { "length" } else { "stop" };
    frames.push(frame(json!({
        "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
        "prompt_eval_count": 17, "prompt_eval_cached_count": 4, "eval_count": 9,
    })));
    frames
}

fn gemini(say: &[Say], stop: Stop) -> Vec<String> {
    let usage = json!({"promptTokenCount": 17, "candidatesTokenCount": 9, "totalTokenCount": 26, "cachedContentTokenCount": 4});
    let frame = |candidate: Value| {
        format!("data: {}\r\n\r\n", json!({"candidates": [candidate], "usageMetadata": usage}))
    };
    let mut frames = Vec::new();
    for part in say {
        match part {
            Say::Text(text) => frames.extend(halves(text).map(|half| {
                frame(json!({"content": {"role": "model", "parts": [{"text": half}]}, "index": 0}))
            })),
            // Gemini's calls have no ids.
            Say::Call(_, name, arguments) => {
                let args: Value =
                    serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
                let part = json!({"functionCall": {"name": name, "args": args}});
                frames.push(frame(
                    json!({"content": {"role": "model", "parts": [part]}, "index": 0}),
                ));
            }
        }
    }
    let reason = match stop {
        Stop::Normally => "STOP",
        Stop::TokenLimit => "MAX_TOKENS",
        Stop::Refusing => "SAFETY",
    };
    frames.push(frame(json!({"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": reason, "index": 0})));
    frames
}
