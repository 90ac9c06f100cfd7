//! HTTP outbound (R12.4): a signed webhook with an idempotency key.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use hmac::{Hmac, Mac};
use pintle_agent::store::{OutgoingFilter, OutgoingState};
use pintle_gateway::{
    api::Server,
    channels::{HttpChannel, Webhook},
};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio_util::sync::CancellationToken;

use crate::{api::Client, support::*};

/// A status and headers.
type Answer = (u16, &'static [(&'static str, &'static str)]);

/// What came, and what the next calls are answered with.
#[derive(Default)]
struct Endpoint {
    came: Mutex<Vec<(HeaderMap, Bytes)>>,
    answers: Mutex<VecDeque<Answer>>,
}

async fn take(State(it): State<Arc<Endpoint>>, headers: HeaderMap, body: Bytes) -> Response {
    it.came.lock().unwrap().push((headers, body));
    let Some((status, headers)) = it.answers.lock().unwrap().pop_front() else {
        return StatusCode::OK.into_response();
    };
    let mut response = StatusCode::from_u16(status).unwrap().into_response();
    for (name, value) in headers {
        response.headers_mut().insert(*name, value.parse().unwrap());
    }
    response
}

async fn client_with(world: &World, endpoint: &Arc<Endpoint>) -> Client {
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), true).await.unwrap();
    let url = format!("http://{}/agent", server.address()).parse().unwrap();
    let router = Router::new()
        .route("/agent", post(take))
        .route("/elsewhere", post(take))
        .with_state(endpoint.clone());
    tokio::spawn(server.run(router, CancellationToken::new()));
    let webhook = Webhook { url, secret: "hush".into() };
    Client::over(world, HttpChannel::with_webhook(webhook).unwrap()).await
}

async fn settled(world: &World) -> OutgoingState {
    loop {
        let sent = world.queues.outgoing(OutgoingFilter::default()).await.unwrap();
        if sent[0].state != OutgoingState::Prepared {
            return sent[0].state;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn an_answer_is_signed_and_sent_again_under_the_same_key_when_the_endpoint_asks_for_it() {
    let world = World::echo();
    let endpoint = Arc::new(Endpoint::default());
    *endpoint.answers.lock().unwrap() = [(503, &[("retry-after", "0")][..])].into();
    let client = client_with(&world, &endpoint).await;
    let (status, reply) = client.say("m1", "hello").await;
    assert_eq!((status, &reply["reply"]), (200, &json!("echo: hello")));
    assert_eq!(settled(&world).await, OutgoingState::Accepted);
    let came = endpoint.came.lock().unwrap();
    assert_eq!(came.len(), 2);
    for (headers, body) in came.iter() {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"hush").unwrap();
        mac.update(body);
        let signed = mac.finalize().into_bytes();
        let hex: String = signed.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(headers["x-pintle-signature"].to_str().unwrap(), format!("sha256={hex}"));
        let said: Value = serde_json::from_slice(body).unwrap();
        assert_eq!((&said["text"], &said["replyTo"]), (&json!("echo: hello"), &json!("m1")));
        assert_eq!(
            (&said["v"], &said["chat"], &said["runId"]),
            (&json!(1), &json!("c"), &reply["runId"])
        );
    }
    assert_eq!(came[0].0["idempotency-key"], came[1].0["idempotency-key"]);
}

/// A webhook that is not there delays nobody who waits for the answer in the call itself.
#[tokio::test]
async fn an_endpoint_that_refuses_or_redirects_does_not_keep_the_reply_from_the_caller() {
    for answer in [(410, &[][..]), (307, &[("location", "/elsewhere")][..]), (500, &[][..])] {
        let world = World::echo();
        let endpoint = Arc::new(Endpoint::default());
        *endpoint.answers.lock().unwrap() = [answer].into();
        let client = client_with(&world, &endpoint).await;
        let (status, reply) = client.say("m1", "hello").await;
        assert_eq!((status, &reply["reply"]), (200, &json!("echo: hello")), "{answer:?}");
        let expected = match answer.0 {
            500 => OutgoingState::Accepted,
            _ => OutgoingState::Rejected,
        };
        assert_eq!(settled(&world).await, expected, "{answer:?}");
        let tries = endpoint.came.lock().unwrap().len();
        assert_eq!(tries, if answer.0 == 500 { 2 } else { 1 }, "no redirect is followed");
    }
}
