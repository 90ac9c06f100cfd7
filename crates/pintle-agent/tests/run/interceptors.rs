//! §9: interceptors chain, rewrite and veto; they fail closed before and open after; all of it is on record.

use pintle::Failure;
use pintle_agent::{Intercepted, Interceptors, ProposedCall};
use serde_json::{Value, json};

use crate::support::{World, calls, of_type, play, results, says};

async fn world() -> World {
    let write = calls(&[("t1", "write_file", json!({"path": "a.txt", "content": "0"}))]);
    World::new(json!([write, says("Done.")])).await
}

fn append(call: ProposedCall, text: &str) -> Intercepted {
    let mut args = call.args;
    args["content"] = json!(format!("{}{text}", args["content"].as_str().unwrap()));
    Intercepted::Rewrite(args)
}

fn recorded(events: &[Value], point: &str) -> Vec<(String, String)> {
    let fired = of_type(events, "hook.fired").into_iter().find(|event| event["point"] == point);
    let handlers = fired.map(|event| event["handlers"].as_array().unwrap().clone());
    let text = |value: &Value| value.as_str().unwrap().to_string();
    handlers.unwrap_or_default().iter().map(|h| (text(&h["name"]), text(&h["outcome"]))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, outcome)| (name.to_string(), outcome.to_string())).collect()
}

#[tokio::test]
async fn interceptors_chain_in_the_order_they_were_added() {
    let world = world().await;
    let interceptors = Interceptors::default()
        .before("one", "*", |call| async { Ok(append(call, "1")) })
        .and_then(|all| {
            all.before("other tools", "read_*", |_| async { Ok(Intercepted::Veto("no".into())) })
        })
        .and_then(|all| all.before("keeps", "write_file", |_| async { Ok(Intercepted::Keep) }))
        .and_then(|all| all.before("two", "write_*", |call| async { Ok(append(call, "2")) }))
        .and_then(|all| {
            all.after("a", "*", |_, result| async move { Ok(Some(format!("{result} a"))) })
        })
        .and_then(|all| {
            all.after("b", "write_file", |_, result| async move { Ok(Some(format!("{result} b"))) })
        })
        .unwrap();
    let agent = world.builder().interceptors(interceptors).build().unwrap();
    let events = play(&agent, "write").await;
    assert_eq!(std::fs::read_to_string(world.file("a.txt")).unwrap(), "012");
    let (_, failed, said) = &results(&world.history().await)[0];
    assert!(!failed && said.ends_with(" a b"), "{said}");
    let before = [("one", "patched"), ("keeps", "passed"), ("two", "patched")];
    assert_eq!(recorded(&events, "interceptor.before"), pairs(&before));
    assert_eq!(
        recorded(&events, "interceptor.after"),
        pairs(&[("a", "patched"), ("b", "patched")])
    );
}

#[tokio::test]
async fn a_veto_or_a_failure_before_rejects_the_call_and_ends_the_chain() {
    type Before = fn(ProposedCall) -> futures_util::future::Ready<Result<Intercepted, Failure>>;
    use futures_util::future::ready;
    let ways: [(Before, &str, &str); 3] = [
        (|_| ready(Ok(Intercepted::Veto("not on my watch".into()))), "blocked", "not on my watch"),
        (
            |_| ready(Err(Failure::errored("lost"))),
            "errored",
            "interceptor `first` returned an error: lost",
        ),
        (|_| panic!("a bug"), "panicked", "interceptor `first` panicked"),
    ];
    for (way, outcome, reason) in ways {
        let world = world().await;
        let interceptors = Interceptors::default()
            .before("first", "*", way)
            .and_then(|all| all.before("second", "*", |call| async { Ok(append(call, "2")) }))
            .unwrap();
        let agent = world.builder().interceptors(interceptors).build().unwrap();
        let events = play(&agent, "write").await;
        assert!(!world.file("a.txt").exists(), "{outcome}");
        assert_eq!(recorded(&events, "interceptor.before"), pairs(&[("first", outcome)]));
        let (_, failed, said) = &results(&world.history().await)[0];
        assert!(*failed && said.contains(reason), "{outcome}: {said}");
        assert_eq!(of_type(&events, "tool.end")[0]["outcome"], "rejected");
    }
}

#[tokio::test]
async fn a_failure_after_keeps_the_result_and_is_on_record() {
    let world = world().await;
    let interceptors = Interceptors::default()
        .after("errs", "*", |_, _| async { Err(Failure::errored("lost")) })
        .and_then(|all| all.after("panics", "*", |_, _| async { panic!("a bug") }))
        .and_then(|all| {
            all.after("adds", "*", |_, result| async move { Ok(Some(format!("[{result}]"))) })
        })
        .unwrap();
    let agent = world.builder().interceptors(interceptors).build().unwrap();
    let events = play(&agent, "write").await;
    let (_, failed, said) = &results(&world.history().await)[0];
    assert!(!failed && said.starts_with('[') && said.contains("a.txt"), "{said}");
    let after = [("errs", "errored"), ("panics", "panicked"), ("adds", "patched")];
    assert_eq!(recorded(&events, "interceptor.after"), pairs(&after));
}
