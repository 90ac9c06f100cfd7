//! What one more row costs the live page among 10,000 rows and among ten, in a real Chromium. Prints one JSON object.
//!
//! `cargo run --release -p pintle-gateway --example bench_page`
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::{path::Path, sync::Arc};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use pintle::{Hooks, points::PersonalityConfig};
use pintle_agent::{
    Agent, FinishReason, Llm, LlmError, LlmEvent, LlmRequest, LlmResponse, Personalities,
    Personality, Policy, RunEventKind,
    store::{JudgedBy, NewRun, Record, Records},
    testing::{MemoryQueues, MemoryStore},
};
use pintle_gateway::{
    Gateway, GatewayApprover,
    api::{ApiConfig, Listing, Server, Token, router},
    channels::HttpChannel,
};
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "0123456789abcdef";

struct Silent;

impl Llm for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn stream(&self, _: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        let response = LlmResponse {
            text: "Done.".into(),
            tool_calls: Vec::new(),
            usage: Default::default(),
            finish: FinishReason::EndTurn,
        };
        stream::iter([Ok(LlmEvent::End(response))]).boxed()
    }
}

#[tokio::main]
async fn main() {
    let store = Arc::new(MemoryStore::default());
    let approver = GatewayApprover::new(store.clone(), Vec::new());
    let personality = Personality::new("main", PersonalityConfig::default()).unwrap();
    let kept = store.clone();
    let agent = Agent::builder(
        Hooks::new(),
        Arc::new(Silent),
        store.clone(),
        Personalities::new(personality),
        Policy::standard("/"),
    )
    .approver(Arc::new(approver.clone()))
    // The page shows runs that were recorded; its rows come from the benchmark.
    .observer(move |event| {
        if let RunEventKind::RunStart { model, .. } = &event.kind {
            kept.record(Record::Start(NewRun {
                run_id: event.envelope.run_id.clone().unwrap_or_default(),
                session_id: event.envelope.session_id.clone().unwrap_or_default(),
                model: model.clone(),
                started_at: event.envelope.ts,
                personality: None,
                judged_by: JudgedBy::default(),
            }));
        }
    })
    .build()
    .unwrap();
    let gateway = Gateway::builder(agent, store, Arc::new(MemoryQueues::default()), approver)
        .channel(Arc::new(HttpChannel::new()))
        .start()
        .await
        .unwrap();
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), true).await.unwrap();
    let address = server.address();
    let config = ApiConfig {
        token: Token::new(TOKEN),
        operator: vec!["operator".into()],
        hosts: Vec::new(),
        listed: Listing::default().fixed(),
    };
    let stop = CancellationToken::new();
    let served =
        tokio::spawn(server.run(router(gateway.clone(), config, address, None), stop.clone()));
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pintle-cli/tests/program/browser");
    let browse = move || {
        let mut node = std::process::Command::new("node");
        let arguments = ["rows.mjs", &address.to_string(), TOKEN, "bench"];
        node.current_dir(scripts).args(arguments).output().unwrap()
    };
    let measured = tokio::task::spawn_blocking(browse).await.unwrap();
    let told = String::from_utf8_lossy(&measured.stderr);
    assert!(measured.status.success(), "`cargo xtask bench` installs the browser: {told}");
    print!("{}", String::from_utf8_lossy(&measured.stdout));
    stop.cancel();
    gateway.stop().await;
    served.await.unwrap();
}
