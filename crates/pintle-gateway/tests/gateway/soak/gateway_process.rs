//! The gateway of a soak: SQLite, HTTP, a webhook, slow hooks, and a tool that leaves a witness.

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::{
    FutureExt, StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use pintle::{
    Event, Hooks, Verdict,
    points::{MessagePatch, MessageReceived, MessageSending, PersonalityConfig, ToolPre},
};
use pintle_agent::{
    Agent, FinishReason, Llm, LlmError, LlmEvent, LlmRequest, LlmResponse, Message, PermittedCall,
    Personalities, Personality, Policy, Store, Tool, ToolCall, ToolCx, ToolError, ToolSpec, Zone,
};
use pintle_gateway::{
    ChannelSafety, Gateway, GatewayApprover, GatewayConfig,
    api::{ApiConfig, Listing, Server, Token, router},
    channels::{HttpChannel, Webhook},
};
use pintle_store::SqliteStore;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{SECRET, TOKEN, no_ledger::NoLedger};

pub(super) const ROLE: &str = "PINTLE_SOAK_GATEWAY";
pub(super) const MARK: &str = "soak gateway: ";

/// Whether this process was started as the gateway.
pub(crate) fn is_gateway() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// A tool call that takes long after its effect.
pub(super) fn is_slow(n: usize) -> bool {
    n % 5 == 4
}

/// Serves until it is killed.
pub(crate) async fn serve() {
    let role: Value = serde_json::from_str(&std::env::var(ROLE).unwrap()).unwrap();
    let folder = PathBuf::from(role["folder"].as_str().unwrap());
    let sqlite = Arc::new(SqliteStore::open(folder.join("pintle.db")).await.unwrap());
    let store: Arc<dyn Store> = match role["ledger"].as_bool().unwrap() {
        true => sqlite.clone(),
        false => Arc::new(NoLedger(sqlite.clone())),
    };
    let hooks = Hooks::new();
    slow_hooks(&hooks);
    ChannelSafety::new(Default::default(), sqlite.clone()).register(&hooks).unwrap();
    let personality =
        Personality::new("main", PersonalityConfig::default().prompt("main")).unwrap();
    let approver = GatewayApprover::new(store.clone(), Vec::new());
    let agent = Agent::builder(
        hooks,
        Arc::new(Model),
        store.clone(),
        Personalities::new(personality),
        Policy::standard("/"),
    )
    .approver(Arc::new(approver.clone()))
    .tools([Arc::new(Witness(folder)) as Arc<dyn Tool>])
    .build()
    .unwrap();
    let webhook = role["webhook"].as_str().unwrap().parse().unwrap();
    let webhook = Webhook { url: webhook, secret: SECRET.into() };
    let gateway = Gateway::builder(agent, store, sqlite, approver)
        .config(GatewayConfig { max_runs: 32, ..GatewayConfig::default() })
        .channel(Arc::new(HttpChannel::with_webhook(webhook).unwrap()))
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
    let router = router(gateway, config, address, None);
    // On a line of its own, whatever a test runner printed before.
    let mut out = std::io::stdout();
    write!(out, "\n{MARK}{address}\n").unwrap();
    out.flush().unwrap();
    server.run(router, CancellationToken::new()).await;
}

/// Hooks take a few milliseconds, each message's its own.
fn slow_hooks(hooks: &Hooks) {
    let pause = |text: &str| {
        let sum: usize = text.bytes().map(usize::from).sum();
        tokio::time::sleep(Duration::from_millis(sum as u64 % 4))
    };
    hooks.register_void(move |e: Event<MessageReceived>| pause(&e.message.text)).unwrap();
    let gate = move |e: Event<ToolPre>| {
        let pause = pause(&e.tool_input.to_string());
        async move {
            pause.await;
            Verdict::allow()
        }
    };
    hooks.register_gate(gate).unwrap();
    let sending = move |e: Event<MessageSending>| {
        let pause = pause(&e.message.text);
        async move {
            pause.await;
            None::<MessagePatch>
        }
    };
    hooks.register_modifying(sending).unwrap();
}

/// Writes a line, and takes a while before it says so.
struct Witness(PathBuf);

impl Tool for Witness {
    fn spec(&self) -> ToolSpec {
        let schema = json!({ "type": "object", "properties": { "line": { "type": "string" } } });
        ToolSpec::new("witness", "Writes a line.", schema).in_zone(Zone::Safe)
    }

    fn run(&self, call: PermittedCall, _: ToolCx) -> BoxFuture<'static, Result<String, ToolError>> {
        let line = call.args()["line"].as_str().unwrap_or_default().to_string();
        let folder = self.0.clone();
        async move {
            append(&folder, &line);
            let n = line.split(' ').next_back().and_then(|n| n.parse().ok()).unwrap_or(0);
            let pause = if is_slow(n) { 400 } else { 2 };
            tokio::time::sleep(Duration::from_millis(pause)).await;
            Ok("written".into())
        }
        .boxed()
    }
}

fn append(folder: &Path, line: &str) {
    let file = std::fs::File::options().create(true).append(true).open(folder.join("effects"));
    file.unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Calls the tool for each message. A call that had no effect is repeated, as a model would; one whose outcome is unknown
/// is not.
struct Model;

impl Llm for Model {
    fn name(&self) -> &str {
        "soak"
    }

    fn stream(&self, request: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        let response = answer(&request.messages);
        stream::iter([Ok(LlmEvent::End(response))]).boxed()
    }
}

fn answer(messages: &[Message]) -> LlmResponse {
    let said = messages.iter().rev().find_map(|message| match message {
        Message::User { text, .. } => Some(text.clone()),
        _ => None,
    });
    let said = said.unwrap_or_default();
    let result = match messages.last() {
        Some(Message::ToolResults { results, .. }) => results.first().map(|it| it.content.clone()),
        _ => None,
    };
    let text = match result.as_deref() {
        Some("written") => format!("done {said}"),
        Some(result) if result.contains("unknown") => format!("unknown {said}"),
        _ => String::new(),
    };
    let call = || {
        ToolCall::default()
            .id(format!("call {said} {}", messages.len()))
            .name("witness")
            .input(json!({ "line": said }))
    };
    let is_call = text.is_empty();
    LlmResponse {
        tool_calls: is_call.then(call).into_iter().collect(),
        finish: if is_call { FinishReason::ToolUse } else { FinishReason::EndTurn },
        usage: Default::default(),
        text,
    }
}
