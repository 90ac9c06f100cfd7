//! Where the gateway sends its answers: a webhook that checks signatures and counts.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex},
};

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, routing::post};
use hmac::{Hmac, Mac};
use pintle_gateway::api::Server;
use serde_json::Value;
use sha2::Sha256;
use tokio_util::sync::CancellationToken;

use super::{Id, SECRET};

#[derive(Default)]
struct Received {
    keys: HashSet<String>,
    resent: usize,
    bad_signatures: usize,
    answers: BTreeMap<Id, String>,
    order: Vec<Id>,
}

pub(super) struct Receiver {
    pub(super) address: String,
    received: Arc<Mutex<Received>>,
    stop: CancellationToken,
}

impl Receiver {
    pub(super) async fn start() -> Self {
        let server = Server::bind("127.0.0.1:0".parse().unwrap(), true).await.unwrap();
        let address = format!("http://{}/answers", server.address());
        let received = Arc::<Mutex<Received>>::default();
        let router = Router::new().route("/answers", post(take)).with_state(received.clone());
        let stop = CancellationToken::new();
        tokio::spawn(server.run(router, stop.clone()));
        Self { address, received, stop }
    }

    pub(super) fn answered(&self) -> usize {
        self.received.lock().unwrap().answers.len()
    }

    pub(super) fn answers(&self) -> BTreeMap<Id, String> {
        self.received.lock().unwrap().answers.clone()
    }

    /// The messages in the order of their answers.
    pub(super) fn order(&self) -> Vec<Id> {
        self.received.lock().unwrap().order.clone()
    }

    pub(super) fn resent(&self) -> usize {
        self.received.lock().unwrap().resent
    }

    pub(super) fn bad_signatures(&self) -> usize {
        self.received.lock().unwrap().bad_signatures
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn take(State(received): State<Arc<Mutex<Received>>>, headers: HeaderMap, body: Bytes) {
    let header = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(&body);
    let hex: String =
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut received = received.lock().unwrap();
    if header("x-pintle-signature") != format!("sha256={hex}") {
        received.bad_signatures += 1;
        return;
    }
    if !received.keys.insert(header("idempotency-key").to_string()) {
        received.resent += 1;
        return;
    }
    let said: Value = serde_json::from_slice(&body).unwrap();
    let chat = said["chat"].as_str().unwrap().trim_start_matches('c').parse().unwrap();
    let n = said["replyTo"].as_str().unwrap().parse().unwrap();
    received.answers.insert((chat, n), said["text"].as_str().unwrap().to_string());
    received.order.push((chat, n));
}
