//! From a script's JSON to its steps. Strict, and precise about what is wrong.

use std::{collections::HashSet, time::Duration};

use pintle_agent::{FinishReason, LlmError, LlmResponse, LlmUsage, ToolCall};
use serde_json::{Map, Value};

use super::{Close, ScriptError, Step};
use crate::input;

/// What is wrong, beginning with the field.
type Problem = String;

/// All steps, or the first thing that is wrong.
pub(super) fn script(name: &str, text: &str) -> Result<Vec<Step>, ScriptError> {
    let json: Value = serde_json::from_str(text)
        .map_err(|error| ScriptError::NotJson { name: name.to_owned(), error })?;
    let Value::Array(elements) = json else {
        return Err(ScriptError::NotAnArray { name: name.to_owned() });
    };
    let numbered = elements.into_iter().enumerate();
    numbered
        .map(|(element, value)| {
            step(element, value).map_err(|problem| ScriptError::Element {
                name: name.to_owned(),
                element,
                problem,
            })
        })
        .collect()
}

fn step(element: usize, value: Value) -> Result<Step, Problem> {
    let mut fields = Fields::of("", value)?;
    let delay = Duration::from_millis(fields.number("delayMs")?.unwrap_or(0));
    let text = fields.text("text")?.unwrap_or_default();
    let error = fields.take("error");
    let cut = fields.flag("cut")?.unwrap_or(false);
    if error.is_some() || cut {
        let what = if error.is_some() { "error" } else { "cut" };
        if let Some(extra) = ["toolCalls", "usage", "finish"].iter().find(|field| fields.has(field))
        {
            return Err(format!("{extra}: a response that ends with `{what}` has none"));
        }
        if error.is_some() && cut {
            return Err("cut: a response ends with `error` or `cut`, not with both".to_owned());
        }
        fields.done()?;
        let close = error.map(failure).transpose()?.map_or(Close::Cut, Close::Fail);
        return Ok(Step { delay, text, close });
    }
    let tool_calls = tool_calls(element, fields.list("toolCalls")?.unwrap_or_default())?;
    let usage = fields.take("usage").map(usage).transpose()?.unwrap_or_default();
    let finish = match fields.text("finish")? {
        Some(finish) => finish_reason(&finish)?,
        None if tool_calls.is_empty() => FinishReason::EndTurn,
        None => FinishReason::ToolUse,
    };
    fields.done()?;
    let response = LlmResponse { text: text.clone(), tool_calls, usage, finish };
    Ok(Step { delay, text, close: Close::End(Box::new(response)) })
}

fn failure(value: Value) -> Result<LlmError, Problem> {
    let mut fields = Fields::of("error", value)?;
    let code = fields.text("code")?.ok_or("error.code: missing")?;
    let error = LlmError {
        message: fields.text("message")?.unwrap_or_else(|| "the script says so".to_owned()),
        retryable: fields.flag("retryable")?.unwrap_or(false),
        retry_after: fields.number("retryAfterMs")?.map(Duration::from_millis),
        code,
    };
    fields.done()?;
    Ok(error)
}

fn tool_calls(element: usize, values: Vec<Value>) -> Result<Vec<ToolCall>, Problem> {
    let mut ids = HashSet::new();
    let mut calls = Vec::new();
    for (index, value) in values.into_iter().enumerate() {
        let place = format!("toolCalls[{index}]");
        let mut fields = Fields::of(&place, value)?;
        let id = fields.text("id")?.unwrap_or_else(|| format!("scripted-{element}-{index}"));
        if !ids.insert(id.clone()) {
            return Err(format!("{place}.id: `{id}` is the id of another call of this element"));
        }
        let name = fields.text("name")?.ok_or_else(|| format!("{place}.name: missing"))?;
        let (input, malformed) = match (fields.take("input"), fields.text("inputRaw")?) {
            (Some(_), Some(_)) => {
                return Err(format!(
                    "{place}.inputRaw: a call has `input` or `inputRaw`, not both"
                ));
            }
            (Some(input @ Value::Object(_)), None) => (input, None),
            (Some(_), None) => {
                return Err(format!(
                    "{place}.input: must be an object (for anything else, use `inputRaw`)"
                ));
            }
            (None, Some(raw)) => input::from_text(&raw),
            (None, None) => (Value::Object(Map::new()), None),
        };
        fields.done()?;
        calls.push(ToolCall::default().id(id).name(name).input(input).malformed(malformed));
    }
    Ok(calls)
}

fn usage(value: Value) -> Result<LlmUsage, Problem> {
    let mut fields = Fields::of("usage", value)?;
    let usage = LlmUsage::default()
        .input_tokens(fields.number("inputTokens")?.unwrap_or(0))
        .output_tokens(fields.number("outputTokens")?.unwrap_or(0))
        .cache_read_tokens(fields.number("cacheReadTokens")?)
        .cache_creation_tokens(fields.number("cacheCreationTokens")?)
        .cost_usd(fields.read("costUsd", "a number", |value| value.as_f64())?);
    fields.done()?;
    Ok(usage)
}

fn finish_reason(name: &str) -> Result<FinishReason, Problem> {
    let reasons = [
        FinishReason::EndTurn,
        FinishReason::ToolUse,
        FinishReason::MaxTokens,
        FinishReason::Refusal,
    ];
    reasons.into_iter().find(|reason| reason.as_str() == name).ok_or_else(|| {
        let names = reasons.map(FinishReason::as_str).join(", ");
        format!("finish: `{name}` is none of {names}")
    })
}

/// An object's fields, each of which is taken once; a field that is left over is unknown.
struct Fields {
    /// Where the object is, as in `toolCalls[0]`.
    place: String,
    fields: Map<String, Value>,
}

impl Fields {
    fn of(place: &str, value: Value) -> Result<Self, Problem> {
        match value {
            Value::Object(fields) => Ok(Self { place: place.to_owned(), fields }),
            _ if place.is_empty() => Err("must be an object".to_owned()),
            _ => Err(format!("{place}: must be an object")),
        }
    }

    fn has(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }

    fn take(&mut self, field: &str) -> Option<Value> {
        self.fields.remove(field)
    }

    fn read<T>(
        &mut self,
        field: &str,
        kind: &str,
        as_kind: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        match self.take(field) {
            Some(value) => match as_kind(&value) {
                Some(read) => Ok(Some(read)),
                None => Err(format!("{}: must be {kind}, not `{value}`", self.path(field))),
            },
            None => Ok(None),
        }
    }

    fn text(&mut self, field: &str) -> Result<Option<String>, Problem> {
        self.read(field, "a string", |value| value.as_str().map(str::to_owned))
    }

    fn flag(&mut self, field: &str) -> Result<Option<bool>, Problem> {
        self.read(field, "true or false", Value::as_bool)
    }

    fn number(&mut self, field: &str) -> Result<Option<u64>, Problem> {
        self.read(field, "a whole number from 0", Value::as_u64)
    }

    fn list(&mut self, field: &str) -> Result<Option<Vec<Value>>, Problem> {
        self.read(field, "an array", |value| value.as_array().cloned())
    }

    fn done(self) -> Result<(), Problem> {
        match self.fields.keys().next() {
            Some(field) if self.place.is_empty() => Err(format!("unknown field `{field}`")),
            Some(field) => Err(format!("{}: unknown field `{field}`", self.place)),
            None => Ok(()),
        }
    }

    fn path(&self, field: &str) -> String {
        if self.place.is_empty() { field.to_owned() } else { format!("{}.{field}", self.place) }
    }
}
