//! A program that says something in words nobody knows guards less than somebody thinks: whoever relies on it is told at
//! once (R8.2).

use std::{
    collections::BTreeSet,
    fmt,
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
/// A process that lives on remembers no more runs than these: one of them may be told a second time.
const MOST_RUNS: usize = 1000;
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
            if let Some(vain) = answer.as_ref().ok().and_then(Vain::of)
                && hook.is_news_to(run)
            {
                tell!("{}", hook.warning(&vain));
            }
            answer
        })
    }
}

impl Hook {
    /// Whether nobody was told of it in this run.
    fn is_news_to(&self, run: Option<String>) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MOST_RUNS {
            told.clear();
        }
        told.insert(run)
    }

    fn warning(&self, vain: &Vain) -> Shown {
        let verdict = r#"{"continue": false, "reason": "why"}"#;
        let (warning, what) = (yellow("warning"), vain.to_string());
        let heard =
            text!("{}: the hook `{}` ({}) answered {}", warning, self.name, self.source, what);
        match vain.blocks {
            true => heard,
            false => {
                text!("{}, so it blocks nothing: a no is {} or a non-zero exit", heard, verdict)
            }
        }
    }
}

/// What an answer says in vain.
#[derive(Debug, PartialEq, Eq)]
struct Vain {
    /// Fields that nobody knows.
    unknown: Vec<String>,
    /// A reason for a no that it does not say.
    reason: bool,
    /// The rest of it is a no all the same.
    blocks: bool,
}

impl Vain {
    fn of(answer: &Value) -> Option<Self> {
        let object = answer.as_object()?;
        let unknown = object.keys().filter(|key| !FIELDS.contains(&key.as_str()));
        let blocks = object.get("continue") == Some(&Value::Bool(false));
        let reason = !blocks && object.get("reason").is_some_and(|reason| !reason.is_null());
        let vain = Self { unknown: unknown.cloned().collect(), reason, blocks };
        (reason || !vain.unknown.is_empty()).then_some(vain)
    }
}

impl fmt::Display for Vain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<_> = self.unknown.iter().take(NAMED).map(|key| format!("`{key}`")).collect();
        let more = if self.unknown.len() > NAMED { ", …" } else { "" };
        match (named.join(", "), self.reason) {
            (fields, true) if fields.is_empty() => f.write_str(REASON_ALONE),
            (fields, true) => {
                write!(f, "{fields}{more}, which means nothing here, and {REASON_ALONE}")
            }
            (fields, false) => write!(f, "{fields}{more}, which means nothing here"),
        }
    }
}

const REASON_ALONE: &str = r#"a `reason` without `"continue": false`"#;

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
    fn all_that_is_said_in_vain_is_named() {
        for heard in [
            json!(null),
            json!({}),
            json!({"output": "x"}),
            json!({"continue": true, "reason": null}),
            json!({"continue": false, "reason": "x"}),
        ] {
            assert_eq!(Vain::of(&heard), None, "{heard}");
        }
        let said = |answer: Value| Vain::of(&answer).unwrap().to_string();
        let means_nothing = |fields: &str| format!("{fields}, which means nothing here");
        assert_eq!(said(json!({"decision": "block"})), means_nothing("`decision`"));
        assert_eq!(said(json!({"continue": false, "mood": 1})), means_nothing("`mood`"));
        let many = json!({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "output": "x"});
        assert_eq!(said(many), means_nothing("`a`, `b`, `c`, `d`, `e`, …"));
        assert_eq!(said(json!({"reason": "x"})), REASON_ALONE);
        let both = format!("{}, and {REASON_ALONE}", means_nothing("`decision`"));
        assert_eq!(said(json!({"decision": "block", "reason": "x"})), both);
    }
}
