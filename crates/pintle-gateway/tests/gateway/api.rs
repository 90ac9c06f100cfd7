//! R12.7: every call, and what a request has to show.

pub(crate) mod waiting;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
};
use futures_util::{StreamExt, stream};
use pintle::{Event, Verdict, points::UserPromptSubmit};
use pintle_agent::{
    NewSession,
    store::{MessageEnd, NewInbound, NewTicket},
};
use pintle_gateway::{
    Gateway,
    api::{ApiConfig, Listing, Server, Token, openapi, router},
    channels::HttpChannel,
};
use serde_json::{Value, json};
use std::sync::{Arc, atomic::Ordering};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::{
    points::{fires_all, world_that_listens},
    support::*,
};

const HOST: &str = "127.0.0.1:8080";
const TOKEN: &str = "0123456789abcdef";

pub(crate) async fn oneshot(router: Router, request: Request<Body>) -> (u16, Value) {
    let response = router.oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

pub(crate) struct Client {
    router: Router,
    pub(crate) gateway: Gateway,
}

impl Client {
    pub(crate) async fn new(world: &World) -> Self {
        Self::over(world, HttpChannel::new()).await
    }

    pub(crate) async fn over(world: &World, http: HttpChannel) -> Self {
        let gateway = world.builder().channel(Arc::new(http)).start().await.unwrap();
        let config = ApiConfig {
            token: Token::new(TOKEN),
            operator: vec!["me".into(), "operator".into()],
            hosts: Vec::new(),
            listed: Listing::default().fixed(),
        };
        let router = router(gateway.clone(), config, HOST.parse().unwrap(), None);
        Self { router, gateway }
    }

    async fn send(
        &self,
        request: axum::http::request::Builder,
        body: impl Into<Body>,
    ) -> (u16, Value) {
        oneshot(self.router.clone(), request.body(body.into()).unwrap()).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.send(authorized(Request::get(path)), Body::empty()).await
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let request = authorized(Request::post(path)).header("content-type", "application/json");
        self.send(request, body.to_string()).await
    }

    pub(crate) async fn say(&self, id: &str, text: &str) -> (u16, Value) {
        self.post("/v1/messages", said(id, text)).await
    }
}

fn authorized(request: axum::http::request::Builder) -> axum::http::request::Builder {
    request.header("host", HOST).header("authorization", format!("Bearer {TOKEN}"))
}

fn said(id: &str, text: &str) -> Value {
    json!({ "chat": "c", "messageId": id, "sender": "ann", "text": text })
}

#[tokio::test]
async fn http_fires_every_point_and_answers_with_the_reply() {
    let world = world_that_listens();
    let client = Client::new(&world).await;
    let (status, reply) = client.say("1", "hello").await;
    assert_eq!(
        (status, &reply["reply"], &reply["outcome"]),
        (200, &json!("echo: hello"), &json!("end_turn"))
    );
    fires_all(&world).await;
    let again = client.say("1", "hello").await;
    assert_eq!(again, (200, reply));
}

#[tokio::test]
async fn respond_async_answers_once_the_message_is_stored() {
    let world = World::echo();
    let client = Client::new(&world).await;
    let request = authorized(Request::post("/v1/messages"))
        .header("content-type", "application/json")
        .header("prefer", "respond-async")
        .header("idempotency-key", "k1");
    let body = json!({ "chat": "c", "sender": "ann", "text": "hello" }).to_string();
    let (status, reply) = client.send(request, body).await;
    assert_eq!((status, &reply["outcome"]), (202, &json!("queued")));
    let run_id = reply["runId"].as_str().unwrap();
    client.gateway.wait_until_settled(run_id).await.unwrap();
    let (status, reply) = client.say("k1", "hello").await;
    assert_eq!(
        (status, &reply["reply"], reply["runId"].as_str()),
        (200, &json!("echo: hello"), Some(run_id))
    );
}

#[tokio::test]
async fn a_stream_has_the_events_of_the_run_to_its_done() {
    let world = World::echo();
    let client = Client::new(&world).await;
    let request = authorized(Request::post("/v1/messages"))
        .header("content-type", "application/json")
        .header("accept", "text/event-stream")
        .body(Body::from(said("1", "hello").to_string()))
        .unwrap();
    let response = client.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
    let body =
        tokio::time::timeout(Duration::from_secs(20), to_bytes(response.into_body(), 1 << 20));
    let body = String::from_utf8(body.await.unwrap().unwrap().to_vec()).unwrap();
    let kinds: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert!(kinds.contains(&"run.start") && kinds.contains(&"text.delta"), "{kinds:?}");
    assert_eq!(kinds.last(), Some(&"done"), "{kinds:?}");
}

#[tokio::test]
async fn a_full_lane_is_429_with_retry_after() {
    let mut world = World::echo();
    world.config.lane_bound = 0;
    let client = Client::new(&world).await;
    let request =
        authorized(Request::post("/v1/messages")).header("content-type", "application/json");
    let request = request.body(Body::from(said("1", "hello").to_string())).unwrap();
    let response = client.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()[header::RETRY_AFTER], "5");
}

#[tokio::test]
async fn approvals_are_answered_over_http_with_their_hash_and_the_first_answer_wins() {
    let mut world = World::new(deploys);
    world.approvers = vec!["operator".into()];
    let client = Client::new(&world).await;
    let request = authorized(Request::post("/v1/messages"))
        .header("content-type", "application/json")
        .header("prefer", "respond-async");
    let (_, queued) = client.send(request, said("1", "deploy").to_string()).await;
    let approval = loop {
        let (_, pending) = client.get("/v1/approvals?state=pending").await;
        match pending.as_array().unwrap().first() {
            Some(approval) => break approval.clone(),
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    };
    let path = format!("/v1/approvals/{}", approval["id"].as_str().unwrap());
    assert_eq!(client.get(&path).await.1["args"], json!({ "to": "production" }));
    let answer = |hash: &Value| json!({ "answer": "approve", "argsHash": hash });
    let (status, error) = client.post(&path, answer(&json!("wrong"))).await;
    assert_eq!((status, &error["error"]["code"]), (409, &json!("wrong_hash")));
    assert_eq!(world.tool_runs.load(Ordering::SeqCst), 0);

    let (first, second) = tokio::join!(
        client.post(&path, answer(&approval["argsHash"])),
        client.post(&path, json!({ "answer": "deny", "argsHash": approval["argsHash"] })),
    );
    let mut statuses = [first.0, second.0];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{first:?} {second:?}");
    let run_id = queued["runId"].as_str().unwrap();
    client.gateway.wait_until_settled(run_id).await.unwrap();
    let runs = world.tool_runs.load(Ordering::SeqCst);
    assert_eq!(runs, usize::from(first.0 == 200));
}

// §14
#[tokio::test]
async fn a_hook_that_times_out_again_and_again_is_listed_as_failing_with_its_next_try() {
    let world = world_that_listens();
    let client = Client::new(&world).await;
    let slow = client.gateway.agent().hooks().named("slow").deadline(Duration::from_millis(1));
    slow.register_gate(|_: Event<UserPromptSubmit>| std::future::pending::<Verdict>()).unwrap();
    for id in ["1", "2", "3"] {
        client.say(id, "hello").await;
    }
    let (_, hooks) = client.get("/v1/hooks").await;
    let slow = hooks.as_array().unwrap().iter().find(|hook| hook["name"] == "slow").unwrap();
    assert_eq!(slow["state"], "failing");
    let note = slow["note"].as_str().unwrap();
    assert!(note.contains("3 timeouts") && note.contains("tried again in"), "{note}");
}

#[tokio::test]
async fn runs_hooks_dead_letters_and_the_description_are_served() {
    let world = world_that_listens();
    let client = Client::new(&world).await;
    client.say("1", "hello").await;
    let (status, hooks) = client.get("/v1/hooks").await;
    assert_eq!(status, 200);
    let state = |name: &str| {
        let hooks = hooks.as_array().unwrap();
        hooks.iter().find(|hook| hook["name"] == name).map(|hook| hook["state"].clone())
    };
    assert_eq!(state("channel safety"), Some(json!("active")));
    assert!(hooks.as_array().unwrap().iter().any(|hook| hook["state"] == "never_fired"));
    assert_eq!(client.get("/v1/messages/dead").await, (200, json!([])));
    assert_eq!(client.post("/v1/messages/dead/none/retry", json!({})).await.0, 404);
    assert_eq!(client.get("/v1/tickets").await, (200, json!([])));
    let new = NewTicket { title: "Mend it".into(), ..NewTicket::default() };
    client.gateway.store().create_ticket(new).await.unwrap();
    let (_, tickets) = client.get("/v1/tickets?state=todo").await;
    assert_eq!((&tickets[0]["id"], &tickets[0]["title"]), (&json!(1), &json!("Mend it")));
    assert_eq!(client.get("/v1/tickets?state=done").await, (200, json!([])));
    assert_eq!(client.get("/v1/tickets?state=lost").await.0, 400);
    assert_eq!(client.get("/v1/runs").await.0, 200);
    assert_eq!(client.get("/v1/runs/none").await.0, 404);
    let (_, described) = client.get("/openapi.json").await;
    assert_eq!(described, openapi());
    let paths = described["paths"].as_object().unwrap();
    assert_eq!(paths.len(), 14, "{:?}", paths.keys());
    assert_eq!(
        client.send(Request::get("/healthz").header("host", HOST), Body::empty()).await.0,
        200
    );
}

/// Reads the text format of Prometheus as its server does: a type before its samples, labels in quotes, a number.
fn samples(page: &str) -> BTreeMap<String, f64> {
    let mut types = BTreeSet::new();
    let mut samples = BTreeMap::new();
    for line in page.lines() {
        if let Some(typed) = line.strip_prefix("# TYPE ") {
            let (name, kind) = typed.split_once(' ').unwrap();
            assert!(["counter", "gauge", "summary"].contains(&kind), "{line}");
            assert!(types.insert(name.to_owned()), "{name} is typed twice");
        } else if !line.starts_with("# HELP ") {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            let name = sample.split('{').next().unwrap();
            let base = name.trim_end_matches("_sum").trim_end_matches("_count");
            assert!(types.contains(name) || types.contains(base), "no type before {line}");
            if let Some((_, labels)) = sample.split_once('{') {
                let labels = labels.strip_suffix('}').unwrap();
                assert!(labels.split("\",").all(|label| label.contains("=\"")), "{line}");
            }
            assert!(samples.insert(sample.to_owned(), value.parse().unwrap()).is_none(), "{line}");
        }
    }
    samples
}

#[tokio::test]
async fn figures_can_be_read_as_prometheus_reads_them() {
    let world = world_that_listens();
    let client = Client::new(&world).await;
    client.say("1", "hello").await;
    client.say("2", "hello").await;
    let request = authorized(Request::get("/metrics")).body(Body::empty()).unwrap();
    let response = client.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4");
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let samples = samples(std::str::from_utf8(&body).unwrap());
    assert_eq!(samples["pintle_runs_total{outcome=\"end_turn\"}"], 2.0, "{samples:#?}");
    assert_eq!(samples["pintle_run_duration_seconds_count"], 2.0);
    assert_eq!(samples["pintle_runs_active"], 0.0);
    assert_eq!(samples["pintle_model_requests_total"], 2.0);
    assert_eq!(samples["pintle_approvals_pending"], 0.0);
    assert_eq!(samples["pintle_messages{state=\"queued\"}"], 0.0);
    let fired = r#"pintle_hook_fired_total{point="message_screening",hook="channel safety"}"#;
    assert_eq!(samples.get(fired), Some(&2.0), "{samples:#?}");
}

#[tokio::test]
async fn a_wrong_token_a_foreign_host_and_another_site_are_refused_everywhere() {
    let world = World::echo();
    let client = Client::new(&world).await;
    let paths = [
        "/v1/runs",
        "/v1/approvals",
        "/v1/tickets",
        "/v1/hooks",
        "/v1/events",
        "/openapi.json",
        "/metrics",
    ];
    for path in paths {
        let none = client.send(Request::get(path).header("host", HOST), Body::empty()).await;
        assert_eq!((none.0, &none.1["error"]["code"]), (401, &json!("unauthorized")), "{path}");
        let wrong = Request::get(path).header("host", HOST).header("authorization", "Bearer wrong");
        assert_eq!(client.send(wrong, Body::empty()).await.0, 401, "{path}");
        let query = format!("{path}?token={TOKEN}");
        assert_eq!(
            client.send(Request::get(query).header("host", HOST), Body::empty()).await.0,
            401
        );
        let foreign = Request::get(path)
            .header("host", "evil.example")
            .header("authorization", format!("Bearer {TOKEN}"));
        assert_eq!(client.send(foreign, Body::empty()).await.0, 421, "{path}");
    }
    let cross = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ];
    for (name, value) in cross {
        let request = authorized(Request::post("/v1/messages"))
            .header("content-type", "application/json")
            .header(name, value);
        let (status, error) = client.send(request, said("1", "hello").to_string()).await;
        assert_eq!(
            (status, &error["error"]["code"]),
            (403, &json!("cross_site")),
            "{name}: {value}"
        );
    }
    let own = authorized(Request::post("/v1/messages"))
        .header("content-type", "application/json")
        .header("origin", format!("http://{HOST}"))
        .header("sec-fetch-site", "same-origin");
    assert_eq!(client.send(own, said("2", "hello").to_string()).await.0, 200);
    assert_eq!(world.channel.texts().len(), 0);
}

#[tokio::test]
async fn bad_bodies_are_client_errors_and_huge_ones_are_not_read() {
    let world = World::echo();
    let client = Client::new(&world).await;
    let json_post =
        || authorized(Request::post("/v1/messages")).header("content-type", "application/json");
    assert_eq!(client.send(json_post(), "{").await.0, 400);
    assert_eq!(client.send(json_post(), r#"{"chat":"c"}"#).await.0, 400);
    assert_eq!(client.send(json_post(), said("", "x").to_string()).await.0, 400);
    assert_eq!(client.send(json_post(), vec![b' '; 300 * 1024]).await.0, 413);
    let form = authorized(Request::post("/v1/messages")).header("content-type", "text/plain");
    assert_eq!(client.send(form, said("1", "hello").to_string()).await.0, 415);
    assert_eq!(client.get("/v1/runs?limit=many").await.0, 400);
    assert_eq!(client.get("/nowhere").await.0, 404);
}

#[tokio::test]
async fn the_token_typed_into_the_form_gives_a_strict_cookie_that_opens_the_api() {
    let world = World::echo();
    let client = Client::new(&world).await;
    let login = |token: &str| {
        Request::post("/login")
            .header("host", HOST)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(format!("token={token}")))
            .unwrap()
    };
    let refused = client.router.clone().oneshot(login("wrong")).await.unwrap();
    assert_eq!(refused.status(), 401);
    assert!(refused.headers().get(header::SET_COOKIE).is_none());
    let opened = client.router.clone().oneshot(login(TOKEN)).await.unwrap();
    assert_eq!(opened.status(), 303);
    let cookie = opened.headers()[header::SET_COOKIE].to_str().unwrap().to_string();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(TOKEN), "{cookie}");
    let cookie = cookie.split(';').next().unwrap().to_string();
    let with =
        |cookie: &str| Request::get("/v1/runs").header("host", HOST).header("cookie", cookie);
    assert_eq!(client.send(with(&cookie), Body::empty()).await.0, 200);
    assert_eq!(client.send(with("pintle_session=forged"), Body::empty()).await.0, 401);
}

#[tokio::test]
async fn an_address_that_others_reach_is_not_listened_on_without_a_token() {
    let refused = Server::bind("0.0.0.0:0".parse().unwrap(), false).await;
    assert!(refused.unwrap_err().to_string().contains("no token"));
    assert!(Server::bind("127.0.0.1:0".parse().unwrap(), false).await.is_ok());
}

/// Connections that send their head byte by byte do not keep others from being served.
#[tokio::test]
async fn slow_heads_do_not_keep_others_from_being_served() {
    let world = World::echo();
    let client = Client::new(&world).await;
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), true).await.unwrap();
    let address = server.address();
    let stop = CancellationToken::new();
    let running = tokio::spawn(server.run(client.router.clone(), stop.clone()));
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nX: ").await.unwrap();
        slow.push(stream);
    }
    let mut quick = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n");
    quick.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let read = tokio::time::timeout(Duration::from_secs(20), quick.read_to_string(&mut answer));
    read.await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // A slow one is closed in the end.
    let mut rest = Vec::new();
    let closed =
        tokio::time::timeout(Duration::from_secs(30), slow[0].read_to_end(&mut rest)).await;
    assert!(closed.is_ok(), "the slow connection stays open");
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn events_go_on_after_the_last_one_that_was_seen() {
    let world = World::echo();
    let client = Client::new(&world).await;
    client.say("1", "hello").await;
    let hub = client.gateway.events();
    let all = hub.since(&hub.wire_id(0)).unwrap();
    assert!(all.len() > 3);
    let middle = &all[all.len() / 2];
    let rest = hub.since(&hub.wire_id(middle.seq)).unwrap();
    assert_eq!(rest.first().unwrap().seq, middle.seq + 1);
    assert!(hub.since("another-1").is_none(), "numbers of another process are a gap");
}

/// A body that never ends is given up; with paused time the test does not wait for it.
#[tokio::test(start_paused = true)]
async fn a_body_that_arrives_too_slowly_is_408_and_one_without_an_end_413() {
    let world = World::echo();
    let client = Client::new(&world).await;
    let post =
        || authorized(Request::post("/v1/messages")).header("content-type", "application/json");
    let first = stream::iter([Ok::<_, std::io::Error>("{")]);
    let stalled = Body::from_stream(first.chain(stream::pending()));
    let (status, error) = client.send(post(), stalled).await;
    assert_eq!((status, &error["error"]["code"]), (408, &json!("too_slow")));
    let endless = Body::from_stream(stream::repeat_with(|| Ok::<_, std::io::Error>("          ")));
    let (status, error) = client.send(post(), endless).await;
    assert_eq!((status, &error["error"]["code"]), (413, &json!("too_large")));
    assert_eq!(client.say("1", "hello").await.0, 200, "others are served");
}

#[tokio::test]
async fn every_error_has_the_same_shape() {
    let world = World::echo();
    let client = Client::new(&world).await;
    let asked = [
        (client.send(authorized(Request::put("/v1/runs")), Body::empty()).await, 405, "method"),
        (client.get("/v1/nowhere").await, 404, "not_found"),
        (client.get("/v1/runs/none/events").await, 404, "not_found"),
        (client.get("/v1/approvals?state=maybe").await, 400, "bad_request"),
        (
            client.post("/v1/approvals/none", json!({ "answer": "perhaps" })).await,
            400,
            "bad_request",
        ),
        (
            client.post("/v1/approvals/none", json!({ "answer": "deny", "argsHash": "x" })).await,
            404,
            "not_found",
        ),
    ];
    for ((status, body), expected, code) in asked {
        assert_eq!((status, &body["error"]["code"]), (expected, &json!(code)), "{body}");
        assert!(body["error"]["message"].is_string(), "{body}");
    }
    let mut nobody = said("1", "hello");
    nobody["personality"] = json!("codr");
    let (status, error) = client.post("/v1/messages", nobody).await;
    assert_eq!(status, 400, "{error}");
}
