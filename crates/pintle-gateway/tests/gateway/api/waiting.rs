//! What waits, and what comes too late: queued runs, dead letters, expired questions, missed events.

use super::*;

#[tokio::test]
async fn a_run_that_waits_for_its_turn_is_shown_as_queued() {
    let mut world = World::echo();
    world.config.max_runs = 1;
    let (held, hold) = tokio::sync::oneshot::channel::<()>();
    let hold = std::sync::Mutex::new(Some(hold));
    let wait = move |_: Event<UserPromptSubmit>| {
        let hold = hold.lock().unwrap().take();
        async move {
            if let Some(hold) = hold {
                let _ = hold.await;
            }
            Verdict::allow()
        }
    };
    world.hooks.named("hold").deadline(Duration::from_secs(60)).register_gate(wait).unwrap();
    let client = Client::new(&world).await;
    let later = |id: &str| {
        let request = authorized(Request::post("/v1/messages"))
            .header("content-type", "application/json")
            .header("prefer", "respond-async");
        client.send(request, said(id, "hello").to_string())
    };
    later("1").await;
    let (_, second) = later("2").await;
    let run_id = second["runId"].as_str().unwrap();
    let (status, run) = client.get(&format!("/v1/runs/{run_id}")).await;
    assert_eq!((status, &run["outcome"]), (200, &json!("queued")), "{run}");
    drop(held);
    client.gateway.wait_until_settled(run_id).await.unwrap();
}

/// A command has no run: a caller that wants a stream gets its answer as the only event.
#[tokio::test]
async fn a_stream_of_a_command_ends() {
    let world = World::echo();
    let client = Client::new(&world).await;
    for _ in 0..2 {
        let request = authorized(Request::post("/v1/messages"))
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .body(Body::from(said("1", "/personality").to_string()))
            .unwrap();
        let response = client.router.clone().oneshot(request).await.unwrap();
        let body =
            tokio::time::timeout(Duration::from_secs(20), to_bytes(response.into_body(), 1 << 20));
        let body = String::from_utf8(body.await.expect("it ends").unwrap().to_vec()).unwrap();
        assert!(
            body.contains("event: done") && body.contains("The personality is main."),
            "{body}"
        );
    }
}

/// Leaves a message that could not be processed, with the run `r1`.
pub(crate) async fn leave_dead_letter(world: &World) {
    let session = world.store.open(NewSession { key: "http:c".into(), ..Default::default() });
    let new = NewInbound {
        dedup_key: "k".into(),
        lane: "http:c".into(),
        run_id: "r1".into(),
        session_id: session.await.unwrap().id,
        personality: None,
        message: serde_json::from_value(json!({
            "id": "1", "platform": "http", "chatId": "c", "sender": { "id": "ann" }, "text": "poison",
            "isDirect": true, "mentionsAgent": true,
        }))
        .unwrap(),
    };
    world.queues.accept(new, 10).await.unwrap();
    let claimed = world.queues.claim_lane("x", Duration::from_secs(60)).await.unwrap().unwrap();
    let end = MessageEnd::Dead { error: "it is poison".into() };
    assert!(world.queues.settle_lane(&claimed.claim, end, Vec::new()).await.unwrap());
}

#[tokio::test]
async fn dead_letters_are_listed_and_tried_again_over_http() {
    let world = World::echo();
    leave_dead_letter(&world).await;
    let client = Client::new(&world).await;
    let (_, dead) = client.get("/v1/messages/dead").await;
    assert_eq!((&dead[0]["id"], &dead[0]["error"]), (&json!("r1"), &json!("it is poison")));
    assert_eq!(client.post("/v1/messages/dead/r1/retry", json!({})).await.0, 202);
    assert_eq!(client.post("/v1/messages/dead/r1/retry", json!({})).await.0, 404);
    let done = client.gateway.wait_until_settled("r1").await.unwrap().unwrap();
    assert_eq!(done.outcome.as_deref(), Some("end_turn"));
    assert_eq!(client.get("/v1/messages/dead").await.1, json!([]));
}

/// R12.7: a late answer is 409 and changes nothing.
#[tokio::test]
async fn an_answer_after_the_question_expired_is_409() {
    let mut world = World::new(deploys);
    world.approvers = vec!["operator".into()];
    world.approval_timeout = Duration::from_millis(1);
    let client = Client::new(&world).await;
    let (status, reply) = client.say("1", "deploy").await;
    assert_eq!(status, 200, "{reply}");
    let (_, asked) = client.get("/v1/approvals").await;
    let path = format!("/v1/approvals/{}", asked[0]["id"].as_str().unwrap());
    let answer = json!({ "answer": "approve", "argsHash": asked[0]["argsHash"] });
    let (status, error) = client.post(&path, answer).await;
    assert_eq!((status, &error["error"]["code"]), (409, &json!("expired")), "{error}");
    assert_eq!(world.tool_runs.load(Ordering::SeqCst), 0);
}

/// A viewer that was away gets what it missed, over HTTP.
#[tokio::test]
async fn the_live_stream_goes_on_after_last_event_id() {
    let world = World::echo();
    let client = Client::new(&world).await;
    client.say("1", "hello").await;
    let hub = client.gateway.events();
    let all = hub.since(&hub.wire_id(0)).unwrap();
    let next_to_last = hub.wire_id(all[all.len() - 2].seq);
    let request = authorized(Request::get("/v1/events"))
        .header("last-event-id", next_to_last)
        .body(Body::empty())
        .unwrap();
    let response = client.router.clone().oneshot(request).await.unwrap();
    let mut body = response.into_body().into_data_stream();
    let mut text = String::new();
    while !text.contains("data: ") {
        let piece = tokio::time::timeout(Duration::from_secs(20), body.next()).await.unwrap();
        text += std::str::from_utf8(&piece.unwrap().unwrap()).unwrap();
    }
    let last = hub.wire_id(all[all.len() - 1].seq);
    assert!(text.contains(&format!("id: {last}\n")), "{text}");
    assert_eq!(text.matches("data: ").count(), 1, "{text}");
}
