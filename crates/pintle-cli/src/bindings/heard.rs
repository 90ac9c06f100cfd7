//! A program that answers in words nobody knows says nothing, and guards nothing: whoever relies on it is told at once
//! (R8.2).

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use pintle::{DynEvent, DynHandler, Failure};
use serde_json::Value;

use crate::{
    out::tell,
    shown::{Shown, text, yellow},
};

/// What a verdict may say.
const FIELDS: [&str; 4] = ["continue", "reason", "output", "additionalContext"];
/// More of them are no more help.
const NAMED: usize = 5;

pub(super) struct Heard<H> {
    handler: H,
    hook: Arc<Hook>,
}

struct Hook {
    name: String,
    source: String,
    /// The runs in which it was told already.
    told: Mutex<BTreeSet<Option<String>>>,
}

impl<H> Heard<H> {
    pub(super) fn new(handler: H, name: &str, source: &str) -> Self {
        let (name, source) = (name.to_owned(), source.to_owned());
        Self { handler, hook: Arc::new(Hook { name, source, told: Mutex::default() }) }
    }
}

impl<H: DynHandler> DynHandler for Heard<H> {
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
        let (hook, run) = (self.hook.clone(), event.envelope.run_id.clone());
        let running = self.handler.call(event);
        Box::pin(async move {
            let answer = running.await;
            if let Some(fields) = answer.as_ref().ok().and_then(nothing_known)
                && hook.told.lock().unwrap_or_else(PoisonError::into_inner).insert(run)
            {
                tell!("{}", hook.warning(&fields));
            }
            answer
        })
    }
}

impl Hook {
    fn warning(&self, fields: &str) -> Shown {
        let warning = yellow("warning");
        let verdict = r#"{"continue": false, "reason": "why"}"#;
        text!(
            "{}: the hook `{}` ({}) blocks nothing: all it answered is {}, which means nothing here; a no is {} or a non-zero exit",
            warning,
            self.name,
            self.source,
            fields,
            verdict
        )
    }
}

/// The fields of an answer that has some, and none that is known.
fn nothing_known(answer: &Value) -> Option<String> {
    let object = answer.as_object().filter(|object| !object.is_empty())?;
    if object.keys().any(|key| FIELDS.contains(&key.as_str())) {
        return None;
    }
    let named: Vec<_> = object.keys().take(NAMED).map(|key| format!("`{key}`")).collect();
    let more = if object.len() > NAMED { ", …" } else { "" };
    Some(named.join(", ") + more)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_fields_of_a_verdict_are_those_of_its_schema() {
        let points = pintle::Hooks::new().known_points();
        let gate = points.iter().find(|point| point.name == "tool.pre").unwrap();
        let schema = serde_json::to_value(gate.result_schema()).unwrap();
        let fields: BTreeSet<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(fields, FIELDS.map(String::from).iter().collect());
    }

    #[test]
    fn only_an_answer_without_any_known_field_says_nothing() {
        for said in [
            json!(null),
            json!({}),
            json!({"output": "x"}),
            json!({"continue": true, "decision": 1}),
        ] {
            assert_eq!(nothing_known(&said), None, "{said}");
        }
        assert_eq!(nothing_known(&json!({"decision": "block"})), Some("`decision`".into()));
        let many = json!({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1});
        assert_eq!(nothing_known(&many), Some("`a`, `b`, `c`, `d`, `e`, …".into()));
    }
}
