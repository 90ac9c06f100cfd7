//! R5.2: a JSON Schema of every payload and result, made from the types and kept in `schemas/points`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use crate::common::cx;
use crate::generated::{assert_folder, canonical, repository};
use pintle::{DynEvent, Failure, HandlerOutcome, Hooks, ModelKind};
use serde_json::{Value, json};

// R5.2
#[test]
fn the_schemas_in_the_repository_are_those_of_the_types() {
    let points = Hooks::new().known_points();
    let mut files = BTreeMap::new();
    for info in &points {
        files.insert(format!("{}.payload.json", info.name), canonical(&info.payload_schema()));
        if let Some(result) = info.result_schema() {
            files.insert(format!("{}.result.json", info.name), canonical(&result));
        }
    }
    assert_eq!(
        files.len(),
        points.len() + points.iter().filter(|info| info.model != ModelKind::Void).count(),
        "every point has a payload, every point but the Void ones a result"
    );
    assert_folder(&repository().join("schemas/points"), &files);
}

// R5.2
#[test]
fn every_schema_is_a_schema() {
    for info in Hooks::new().known_points() {
        for schema in [Some(info.payload_schema()), info.result_schema()].into_iter().flatten() {
            if let Err(error) = jsonschema::meta::validate(&schema) {
                panic!("{}: {error}\n{schema:#}", info.name);
            }
        }
    }
}

/// What a dynamic handler of the point receives for this payload: the event, as it goes over the wire.
async fn on_the_wire(point: &str, payload: Value) -> Value {
    let hooks = Hooks::new();
    let info = hooks.known_points().into_iter().find(|info| info.name == point).unwrap();
    let seen = Arc::new(Mutex::new(None));
    let keep = seen.clone();
    hooks
        .register_dyn(point, info.model, move |e: DynEvent| {
            *keep.lock().unwrap() = Some((*e.json).clone());
            async { Ok::<_, Failure>(Value::Null) }
        })
        .unwrap();
    hooks.fire_dyn(point, &cx(), payload).await.unwrap();
    seen.lock().unwrap().take().expect("it was called")
}

// R5.2
#[tokio::test]
async fn a_real_event_of_every_point_fits_its_schema() {
    let samples = crate::generated::samples::payloads();
    let points = Hooks::new().known_points();
    let sampled: BTreeSet<_> = samples.iter().map(|(name, _)| *name).collect();
    assert_eq!(sampled, points.iter().map(|info| info.name).collect(), "a sample of every point");
    for (point, payload) in samples {
        let info = points.iter().find(|info| info.name == point).unwrap();
        let validator = jsonschema::validator_for(&info.payload_schema()).unwrap();
        let event = on_the_wire(point, payload).await;
        if let Err(error) = validator.validate(&event) {
            panic!("{point}: {error}\n{event:#}");
        }
        for field in info.fields {
            let mut without = event.clone();
            without.as_object_mut().unwrap().remove(*field);
            let required =
                info.payload_schema()["required"].as_array().unwrap().contains(&json!(field));
            assert_eq!(validator.is_valid(&without), !required, "{point} without {field}");
        }
    }
}

// R5.2: what the engine accepts as an answer and what the schema accepts is the same; only that an answer of unknown
// fields alone does not say enough where a block binds (R8.2), a schema cannot tell.
#[tokio::test]
async fn a_result_fits_its_schema_exactly_when_the_engine_understands_it() {
    let payloads: BTreeMap<_, _> = crate::generated::samples::payloads().into_iter().collect();
    let answers = [
        json!(null),
        json!({}),
        json!({ "handled": true }),
        json!({ "handled": false }),
        json!({ "handled": true, "reason": "x", "reply": "y" }),
        json!({ "handled": "yes" }),
        json!({ "continue": false, "reason": "x" }),
        json!({ "continue": true, "output": "x", "additionalContext": "y" }),
        json!({ "continue": "no" }),
        json!({ "decision": "deny" }),
        json!({ "decision": "no" }),
        json!({ "hookSpecificOutput": { "permissionDecision": "ask" } }),
        json!({ "hookSpecificOutput": { "permissionDecision": true } }),
        json!({ "systemMessage": "x" }),
        json!({ "reason": 7 }),
        json!({ "appendSystem": "x", "prependSystem": null }),
        json!({ "appendSystem": 3 }),
        json!({ "args": { "path": "b" }, "error": "" }),
        json!({ "error": false }),
        json!({ "message": { "text": "x" } }),
        json!({ "message": "x" }),
        json!({ "personality": { "prompt": "x", "tools": ["a"] } }),
        json!({ "prompt": "x", "personalityId": "y" }),
        json!("text"),
        json!(true),
        json!([]),
    ];
    for info in Hooks::new().known_points() {
        let Some(schema) = info.result_schema() else { continue };
        let validator = jsonschema::validator_for(&schema).unwrap();
        for answer in &answers {
            let hooks = Hooks::new();
            let records = Arc::new(crate::common::Records::default());
            let said = answer.clone();
            hooks
                .register_dyn(info.name, info.model, move |_: DynEvent| {
                    let said = said.clone();
                    async move { Ok::<_, Failure>(said) }
                })
                .unwrap();
            let cx = cx().observed_by(records.clone());
            hooks.fire_dyn(info.name, &cx, payloads[info.name].clone()).await.unwrap();
            let said = records.only()[0].outcome.clone();
            let understood = said.name() != "bad_output" || is_about(&said, "cannot be asked");
            let fits = validator.is_valid(answer) && !is_about(&said, "no decision");
            assert_eq!(fits, understood, "{} and {answer}", info.name);
        }
    }
    assert!(
        Hooks::new()
            .known_points()
            .iter()
            .all(|info| (info.model == ModelKind::Void) == info.result_schema().is_none())
    );
}

fn is_about(said: &HandlerOutcome, words: &str) -> bool {
    matches!(said, HandlerOutcome::Failed(failure) if failure.message.contains(words))
}
