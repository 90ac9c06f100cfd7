//! How do I connect a platform of my own? Implement `Channel`: this one is a list of lines in memory.

use std::{sync::Arc, time::Duration};

use futures_util::{
    FutureExt, StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use pintle::{
    Hooks,
    points::{InboundMessage, PersonalityConfig, Sender},
};
use pintle_agent::{
    Agent, Channel, ChannelError, ChannelMessage, FinishReason, Inbox, Llm, LlmError, LlmEvent,
    LlmRequest, LlmResponse, Personalities, Personality, Policy, SendError,
    testing::{MemoryQueues, MemoryStore},
};
use pintle_gateway::{Gateway, GatewayApprover};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What people write, and where the answers go.
struct Postcards {
    letters: Vec<&'static str>,
    answers: mpsc::UnboundedSender<String>,
}

impl Channel for Postcards {
    fn platform(&self) -> &str {
        "postcards"
    }

    fn receive(
        &self,
        inbox: Arc<dyn Inbox>,
        stop: CancellationToken,
    ) -> BoxFuture<'_, Result<(), ChannelError>> {
        async move {
            for (number, text) in self.letters.iter().enumerate() {
                let message = InboundMessage::default()
                    .id(number.to_string())
                    .platform("postcards")
                    .chat_id("ann")
                    .sender(Sender::default().id("ann"))
                    .text(*text)
                    .is_direct(true);
                // It is stored when this returns: tell the platform now that it has arrived.
                inbox.accept(message).await?;
            }
            stop.cancelled().await;
            Ok(())
        }
        .boxed()
    }

    fn send(&self, message: ChannelMessage) -> BoxFuture<'_, Result<Option<String>, SendError>> {
        let sent =
            self.answers.send(message.text).map_err(|it| SendError::Rejected(it.to_string()));
        std::future::ready(sent.map(|()| None)).boxed()
    }
}

/// Stands in for a model.
struct Polite;

impl Llm for Polite {
    fn name(&self) -> &str {
        "polite"
    }

    fn stream(&self, request: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        let response = LlmResponse {
            text: format!("Thank you for message {}.", request.messages.len().div_ceil(2)),
            tool_calls: Vec::new(),
            usage: Default::default(),
            finish: FinishReason::EndTurn,
        };
        stream::iter([Ok(LlmEvent::End(response))]).boxed()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = Arc::new(MemoryStore::default());
    let approver = GatewayApprover::new(store.clone(), Vec::new());
    let speaker = Personality::new("main", PersonalityConfig::default())?;
    let policy = Policy::standard(".");
    let agent = Agent::builder(
        Hooks::new(),
        Arc::new(Polite),
        store.clone(),
        Personalities::new(speaker),
        policy,
    )
    .approver(Arc::new(approver.clone()))
    .build()?;
    let (answers, mut received) = mpsc::unbounded_channel();
    let channel = Postcards { letters: vec!["Greetings!", "The weather is fine."], answers };
    let gateway = Gateway::builder(agent, store, Arc::new(MemoryQueues::default()), approver)
        .channel(Arc::new(channel))
        .start()
        .await?;
    for expected in ["Thank you for message 1.", "Thank you for message 2."] {
        let answer = tokio::time::timeout(Duration::from_secs(30), received.recv()).await?;
        assert_eq!(answer.as_deref(), Some(expected));
    }
    gateway.stop().await;
    Ok(())
}
