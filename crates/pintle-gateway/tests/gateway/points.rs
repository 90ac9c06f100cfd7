//! P1: every point of the catalogue fires on the path of every adapter.

use std::{
    collections::BTreeSet,
    io::Cursor,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use pintle::{
    Event,
    points::{
        BeforeDispatch, Handled, InboundClaim, MessagePatch, MessageReceived, MessageSending,
        MessageSent, PersonalityPatch, PersonalitySwitched, Suppressed,
    },
};
use pintle_agent::{
    FinishReason, Llm, LlmError, LlmEvent, LlmRequest, LlmResponse, Message, ToolCall,
};
use pintle_gateway::{MessageScreening, Refused, channels::ConsoleChannel};
use serde_json::json;
use tokio::io::{AsyncWriteExt, BufReader};

use crate::{api::Client, support::*, telegram, telegram_server::said};

const PATH: [&str; 6] = [
    "message_screening",
    "message_received",
    "inbound_claim",
    "message_sending",
    "before_dispatch",
    "message_sent",
];

/// A handler for each point, so that each is recorded.
fn listen(world: &World) {
    let hooks = &world.hooks;
    hooks.register_claiming(|_: Event<MessageScreening>| async { None::<Refused> }).unwrap();
    hooks.register_void(|_: Event<MessageReceived>| async {}).unwrap();
    hooks.register_claiming(|_: Event<InboundClaim>| async { None::<Handled> }).unwrap();
    hooks.register_modifying(|_: Event<MessageSending>| async { None::<MessagePatch> }).unwrap();
    hooks.register_claiming(|_: Event<BeforeDispatch>| async { None::<Suppressed> }).unwrap();
    hooks.register_void(|_: Event<MessageSent>| async {}).unwrap();
    hooks
        .register_modifying(|_: Event<PersonalitySwitched>| async { None::<PersonalityPatch> })
        .unwrap();
}

fn channel_points(world: &World) -> Vec<String> {
    let is_channel =
        |point: &String| PATH.contains(&point.as_str()) || point.as_str() == "personality_switched";
    world.fired.points().into_iter().filter(is_channel).collect()
}

pub(crate) async fn fires_all(world: &World) {
    tokio::time::timeout(Duration::from_secs(20), async {
        while !channel_points(world).contains(&"message_sent".to_string()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("message_sent fires");
    assert_eq!(channel_points(world), PATH);
}

pub(crate) fn world_that_listens() -> World {
    let world = World::echo();
    listen(&world);
    world
}

#[tokio::test]
async fn a_channel_fires_every_point_in_the_order_of_the_path() {
    let world = world_that_listens();
    let gateway = world.start().await;
    say(&gateway, "c", "1", "hello").await;
    fires_all(&world).await;
    assert_eq!(world.channel.texts(), ["echo: hello"]);
}

#[tokio::test]
async fn the_console_fires_every_point() {
    let world = world_that_listens();
    let said = Arc::new(std::sync::Mutex::new(Vec::new()));
    let print = {
        let said = said.clone();
        move |text: &str| said.lock().unwrap().push(text.to_string())
    };
    let console = ConsoleChannel::new(Cursor::new(b"hello\n".to_vec()), "ann", print);
    let _gateway = world.builder().channel(Arc::new(console)).start().await.unwrap();
    fires_all(&world).await;
    assert_eq!(*said.lock().unwrap(), ["echo: hello"]);
}

#[tokio::test]
async fn switching_the_personality_in_a_chat_fires_its_point() {
    let world = world_that_listens();
    let gateway = world.start().await;
    say(&gateway, "c", "1", "/personality coder").await;
    world.channel.until("the switch is answered", |it| !it.texts().is_empty()).await;
    assert_eq!(world.channel.texts(), ["The personality is now coder."]);
    assert!(channel_points(&world).contains(&"personality_switched".to_string()));
}

/// R4.3: the personality's plugin list decides at every channel point.
#[tokio::test]
async fn a_plugins_handler_fires_only_for_a_personality_that_lists_it() {
    let world = World::echo();
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let hear = |point: &'static str| {
        let heard = heard.clone();
        move |text: &str| heard.lock().unwrap().push(format!("{point} {text}"))
    };
    let (received, sending) = (hear("received"), hear("sending"));
    world
        .hooks
        .options()
        .plugin("linter")
        .register_void(move |e: Event<MessageReceived>| {
            received(&e.message.text);
            async {}
        })
        .unwrap();
    world
        .hooks
        .options()
        .plugin("linter")
        .register_modifying(move |e: Event<MessageSending>| {
            sending(&e.message.text);
            async { None::<MessagePatch> }
        })
        .unwrap();
    let gateway = world.start().await;
    for (id, text) in [("1", "as main"), ("2", "/personality coder"), ("3", "as coder")] {
        say(&gateway, "c", id, text).await;
        let count: usize = id.parse().unwrap();
        world.channel.until("it is answered", |it| it.texts().len() == count).await;
    }
    let heard = heard.lock().unwrap().clone();
    assert_eq!(
        heard,
        ["sending The personality is now coder.", "received as coder", "sending echo: as coder"]
    );
}

/// Points that no single message fires: the ticket tools and a conversation that outgrows the model's window do. The agent's own
/// tests (`coverage`, `tickets`) drive them.
const NOT_BY_ONE_MESSAGE: [&str; 4] =
    ["before_ticket_complete", "after_ticket_revision", "before_compaction", "after_compaction"];

/// What a person says: together it needs every point.
const SAID: [&str; 3] = ["/personality coder", "look", "fail"];

/// Looks itself and through a sub-agent, and fails when it is told to.
struct EveryPoint;

impl Llm for EveryPoint {
    fn name(&self) -> &str {
        "every point"
    }

    fn stream(&self, request: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        let call = |id: &str, name: &str, input| ToolCall::default().id(id).name(name).input(input);
        let peek = || call("p", "peek", json!({ "path": "." }));
        let calls = match request.messages.last() {
            Some(Message::User { text, .. }) if text.contains("deeper") => vec![peek()],
            Some(Message::User { text, .. }) if text.contains("look") => {
                vec![peek(), call("d", "delegate", json!({ "task": "deeper" }))]
            }
            Some(Message::User { text, .. }) if text.contains("fail") => {
                let error = LlmError {
                    code: "auth".into(),
                    message: "no key".into(),
                    retryable: false,
                    retry_after: None,
                };
                return stream::iter([Err(error)]).boxed();
            }
            _ => Vec::new(),
        };
        let finish = if calls.is_empty() { FinishReason::EndTurn } else { FinishReason::ToolUse };
        let response = LlmResponse { tool_calls: calls, finish, ..says("looked") };
        stream::iter([Ok(LlmEvent::End(response))]).boxed()
    }
}

#[tokio::test]
async fn every_point_of_the_catalogue_fires_over_the_console_http_and_telegram() {
    for channel in ["console", "http", "telegram"] {
        let mut world = World::echo();
        world.llm = Arc::new(EveryPoint);
        let mut expected: BTreeSet<String> =
            world.hooks.known_points().iter().map(|point| point.name.to_string()).collect();
        for point in NOT_BY_ONE_MESSAGE {
            assert!(expected.remove(point), "{point} is an exception and is no point");
        }
        expected.insert("message_screening".into());
        let _gateway = match channel {
            "console" => over_the_console(&world).await,
            "http" => over_http(&world).await,
            _ => over_telegram(&world).await,
        };
        let last = Mutex::new(Vec::new());
        let all = async {
            loop {
                let fired: BTreeSet<String> = world.fired.points().into_iter().collect();
                let missing: Vec<_> = expected.difference(&fired).cloned().collect();
                if missing.is_empty() {
                    return;
                }
                *last.lock().unwrap() = missing;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), all).await;
        assert!(waited.is_ok(), "{channel} did not fire {:?}", last.lock().unwrap());
    }
}

async fn over_the_console(world: &World) -> pintle_gateway::Gateway {
    let (mut typed, lines) = tokio::io::duplex(1024);
    let console = ConsoleChannel::new(BufReader::new(lines), "ann", |_: &str| {});
    let gateway = world.builder().channel(Arc::new(console)).start().await.unwrap();
    for said in SAID {
        typed.write_all(format!("{said}\n").as_bytes()).await.unwrap();
    }
    gateway
}

async fn over_http(world: &World) -> pintle_gateway::Gateway {
    let client = Client::new(world).await;
    for (n, said) in SAID.iter().enumerate() {
        assert_eq!(client.say(&n.to_string(), said).await.0, 200);
    }
    client.gateway
}

async fn over_telegram(world: &World) -> pintle_gateway::Gateway {
    let (server, gateway) = telegram::polling(world).await;
    for (n, text) in (1..).zip(SAID) {
        server.says(n, said(i32::try_from(n).unwrap(), 7, 7, text));
    }
    gateway
}
