//! Telegram, against a server that speaks the Bot API.

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use frankenstein::{types::ReplyMarkup, updates::UpdateContent};
use pintle_agent::store::{OutgoingFilter, OutgoingState};
use pintle_gateway::{
    Gateway, SafetyRules,
    api::{ApiConfig, Listing, Token, router},
    channels::{TelegramChannel, TelegramConfig, TelegramMode},
};

use crate::{
    points::{fires_all, world_that_listens},
    support::*,
    telegram_server::*,
};

fn bot(address: &str, mode: TelegramMode) -> Arc<TelegramChannel> {
    let config = TelegramConfig { token: TOKEN.into(), base_url: address.into(), mode };
    Arc::new(TelegramChannel::new(config).unwrap().polling_for(Duration::from_secs(1)))
}

pub(crate) async fn polling(world: &World) -> (Arc<BotServer>, Gateway) {
    let (server, address) = BotServer::start().await;
    let channel = bot(&address, TelegramMode::Polling);
    (server, world.builder().channel(channel).start().await.unwrap())
}

#[tokio::test]
async fn telegram_fires_every_point() {
    let world = world_that_listens();
    let (server, _gateway) = polling(&world).await;
    server.says(1, said(1, 7, 7, "hello"));
    fires_all(&world).await;
    assert_eq!(server.texts(), ["echo: hello"]);
}

/// An update is confirmed by the next poll, after it was stored. Until then it is delivered again.
#[tokio::test]
async fn updates_that_are_delivered_again_or_edited_are_answered_once() {
    let world = World::echo();
    let (server, gateway) = polling(&world).await;
    server.says(1, said(1, 7, 7, "hello"));
    server.until("it is answered", |it| it.texts().len() == 1).await;
    server.until("it is confirmed", |it| *it.confirmed.lock().unwrap() == 2).await;
    // Telegram forgot the confirmation, and the person edits the message.
    server.says(1, said(1, 7, 7, "hello"));
    server.happens(2, UpdateContent::EditedMessage(Box::new(said(1, 7, 7, "hello, edited"))));
    server.says(3, said(2, 7, 7, "next"));
    server.until("the next is answered", |it| it.texts().len() == 2).await;
    assert_eq!(server.texts(), ["echo: hello", "echo: next"]);
    gateway.stop().await;
}

#[tokio::test]
async fn a_second_poller_gets_409_and_messages_are_still_answered_once() {
    let world = World::echo();
    let (server, address) = BotServer::start().await;
    let first =
        world.builder().channel(bot(&address, TelegramMode::Polling)).start().await.unwrap();
    let other = World::echo();
    let second =
        other.builder().channel(bot(&address, TelegramMode::Polling)).start().await.unwrap();
    server.until("there is a conflict", |it| *it.conflicts.lock().unwrap() > 0).await;
    server.says(1, said(1, 7, 7, "hello"));
    server.until("it is answered", |it| !it.texts().is_empty()).await;
    assert_eq!(server.texts(), ["echo: hello"]);
    first.stop().await;
    second.stop().await;
}

#[tokio::test]
async fn retry_after_and_5xx_are_waited_out_when_sending_and_when_polling() {
    let world = World::echo();
    let (server, address) = BotServer::start().await;
    *server.faults.lock().unwrap() = [
        ("getUpdates", Fault::TooManyRequests(0)),
        ("getUpdates", Fault::ServerError),
        ("sendMessage", Fault::TooManyRequests(1)),
        ("sendMessage", Fault::ServerError),
    ]
    .into();
    let _gateway =
        world.builder().channel(bot(&address, TelegramMode::Polling)).start().await.unwrap();
    server.says(1, said(1, 7, 7, "hello"));
    server.until("it is answered", |it| it.texts() == ["echo: hello"]).await;
}

#[tokio::test]
async fn a_poll_that_is_cut_is_repeated_and_loses_nothing() {
    let world = World::echo();
    let (server, address) = BotServer::start().await;
    server.says(1, said(1, 7, 7, "hello"));
    server.faults.lock().unwrap().push_back(("getUpdates", Fault::CutAfterwards));
    let _gateway =
        world.builder().channel(bot(&address, TelegramMode::Polling)).start().await.unwrap();
    server.until("it is answered", |it| it.texts() == ["echo: hello"]).await;
}

/// Telegram has no idempotency key: what may have arrived is repeated once, and marked.
#[tokio::test]
async fn an_answer_whose_confirmation_is_cut_is_sent_once_more_with_a_mark() {
    let world = World::echo();
    let (server, _gateway) = polling(&world).await;
    server.faults.lock().unwrap().push_back(("sendMessage", Fault::CutAfterwards));
    server.says(1, said(1, 7, 7, "hello"));
    server.until("it is sent twice", |it| it.texts().len() == 2).await;
    assert!(server.texts()[1].contains("may be a repeat"), "{:?}", server.texts());
    let all = world.queues.outgoing(OutgoingFilter::default()).await.unwrap();
    assert_eq!(all.len(), 1);
    world_settles(&world).await;
}

async fn world_settles(world: &World) {
    for _ in 0..200 {
        let open = OutgoingFilter { state: Some(OutgoingState::Accepted), ..Default::default() };
        if world.queues.outgoing(open).await.unwrap().len() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the answer is not settled as accepted");
}

/// `callback_query.from.id` decides, not the chat; the buttons go away in every chat.
#[tokio::test]
async fn a_question_is_answered_by_a_button_of_the_approver_and_nobody_else() {
    let mut world = World::new(deploys);
    world.approvers = vec!["telegram:7".into(), "telegram:8".into()];
    let (server, _gateway) = polling(&world).await;
    server.says(1, said(1, 9, 9, "deploy"));
    server
        .until("both approvers are asked", |it| {
            tokens(it, 7).len() == 2 && tokens(it, 8).len() == 2
        })
        .await;
    let asked: Vec<_> = server.sent.lock().unwrap().iter().map(|sent| sent.text.clone()).collect();
    assert!(asked.iter().any(|text| text.contains("\"to\": \"production\"")), "{asked:#?}");
    let token = tokens(&server, 7)[0].clone();
    assert!(token.len() <= 64 && !token.contains("deploy"), "{token}");

    server.presses(2, 9, &token);
    server.until("the press is answered", |it| it.answered.lock().unwrap().len() == 1).await;
    let shown = server.answered.lock().unwrap()[0].text.clone().unwrap();
    assert_eq!(shown, "You may not answer this question.");

    server.presses(3, 8, &tokens(&server, 8)[0]);
    server.until("the tool has run", |it| it.texts().contains(&"tool: deployed".into())).await;
    server.until("both questions are closed", |it| it.edited.lock().unwrap().len() == 2).await;
    for edit in server.edited.lock().unwrap().iter() {
        assert!(edit.reply_markup.is_none());
        assert!(edit.text.as_ref().unwrap().contains("deploy was approved by telegram:8"));
    }
    server.presses(4, 7, &token);
    server.until("the late press is answered", |it| it.answered.lock().unwrap().len() == 3).await;
    let late = server.answered.lock().unwrap()[2].text.clone().unwrap();
    assert!(late.starts_with("Too late"), "{late}");
    assert_eq!(world.tool_runs.load(std::sync::atomic::Ordering::SeqCst), 1);
}

fn tokens(server: &BotServer, chat: i64) -> Vec<String> {
    let sent = server.sent.lock().unwrap();
    let asked = sent.iter().filter(|sent| sent.chat_id == chat.into());
    let keyboards = asked.filter_map(|sent| match &sent.reply_markup {
        Some(ReplyMarkup::InlineKeyboardMarkup(markup)) => Some(markup.inline_keyboard.concat()),
        _ => None,
    });
    keyboards.flatten().filter_map(|button| button.callback_data).collect()
}

#[tokio::test]
async fn arguments_that_telegram_would_cut_are_sent_as_a_file_with_the_buttons() {
    let mut world = World::new(|request| {
        let mut response = deploys(request);
        for call in &mut response.tool_calls {
            call.input = serde_json::json!({ "to": "x".repeat(5000) });
        }
        response
    });
    world.approvers = vec!["telegram:7".into()];
    let (server, _gateway) = polling(&world).await;
    server.says(1, said(1, 9, 9, "deploy"));
    server.until("the file is sent", |it| it.files.lock().unwrap().len() == 1).await;
    let file = server.files.lock().unwrap()[0].clone();
    assert!(file.contains(&"x".repeat(5000)), "the exact arguments are in the file");
    assert!(file.contains("callback_data") && file.contains("filename=\"deploy.txt\""), "{file}");
}

#[tokio::test]
async fn a_group_is_answered_only_when_the_bot_is_addressed() {
    let mut world = World::echo();
    let rules = SafetyRules { mention_in_groups: true, ..SafetyRules::default() };
    world.rules.insert("telegram".into(), rules);
    let (server, _gateway) = polling(&world).await;
    server.says(1, said(1, -5, 9, "just talking"));
    server.says(2, said(2, -5, 9, "@name_42 hello"));
    server.until("it is answered", |it| !it.texts().is_empty()).await;
    assert_eq!(server.texts(), ["echo: @name_42 hello"]);
}

#[tokio::test]
async fn a_webhook_needs_its_secret_and_is_answered_after_the_message_is_stored() {
    let world = World::echo();
    let (server, address) = BotServer::start().await;
    let mode = TelegramMode::Webhook {
        url: "https://bot.example/telegram/webhook".into(),
        secret: "hush".into(),
    };
    let channel = bot(&address, mode);
    let webhook = channel.webhook();
    let gateway = world.builder().channel(channel).start().await.unwrap();
    server.until("Telegram knows the address", |it| it.webhook.lock().unwrap().is_some()).await;
    let set = server.webhook.lock().unwrap().clone().unwrap();
    assert_eq!(set.secret_token.as_deref(), Some("hush"));

    let config = ApiConfig {
        token: Token::new("t"),
        operator: vec!["operator".into()],
        hosts: vec!["bot.example".into()],
        listed: Listing::default().fixed(),
    };
    let address = "127.0.0.1:8080".parse().unwrap();
    let router = router(gateway.clone(), config, address, webhook);
    let update = value(frankenstein::updates::Update {
        update_id: 1,
        content: UpdateContent::Message(Box::new(said(1, 7, 7, "hello"))),
    });
    let send = |secret: Option<&str>, body: String| {
        let mut request =
            axum::http::Request::post("/telegram/webhook").header("host", "bot.example");
        if let Some(secret) = secret {
            request = request.header("x-telegram-bot-api-secret-token", secret);
        }
        crate::api::oneshot(router.clone(), request.body(Body::from(body)).unwrap())
    };
    assert_eq!(send(None, update.to_string()).await.0, 401);
    assert_eq!(send(Some("wrong"), update.to_string()).await.0, 401);
    assert_eq!(send(Some("hush"), "not json".into()).await.0, 400);
    assert!(server.texts().is_empty());
    assert_eq!(send(Some("hush"), update.to_string()).await.0, 200);
    assert_eq!(send(Some("hush"), update.to_string()).await.0, 200);
    server.until("it is answered", |it| !it.texts().is_empty()).await;
    assert_eq!(server.texts(), ["echo: hello"]);
}

/// A question that Telegram is too busy to edit is edited later; one with a file has a caption in place of a text.
#[tokio::test]
async fn buttons_go_away_also_when_telegram_is_busy_and_under_a_file() {
    let mut world = World::new(|request| {
        let mut response = deploys(request);
        for call in &mut response.tool_calls {
            call.input = serde_json::json!({ "to": "x".repeat(5000) });
        }
        response
    });
    world.approvers = vec!["telegram:7".into()];
    let (server, _gateway) = polling(&world).await;
    server.faults.lock().unwrap().push_back(("editMessageText", Fault::TooManyRequests(0)));
    server.faults.lock().unwrap().push_back(("editMessageCaption", Fault::TooManyRequests(0)));
    server.says(1, said(1, 9, 9, "deploy"));
    server.until("the file is sent", |it| it.files.lock().unwrap().len() == 1).await;
    let file = server.files.lock().unwrap()[0].clone();
    let token = file.split("callback_data\":\"").nth(2).unwrap().split('"').next().unwrap();
    server.presses(2, 7, token);
    server.until("the caption is edited", |it| it.captions.lock().unwrap().len() == 1).await;
    let edit = server.captions.lock().unwrap()[0].clone();
    assert!(edit.reply_markup.is_none());
    let caption = edit.caption.unwrap();
    assert!(caption.starts_with("deploy was denied by telegram:7 at 20"), "{caption}");
    assert_eq!(world.tool_runs.load(std::sync::atomic::Ordering::SeqCst), 0);
}

/// Nothing is silent: what is wrong with a bot is among the events, without its token.
#[tokio::test]
async fn a_wrong_bot_token_is_told() {
    let world = World::echo();
    let (_server, address) = BotServer::start().await;
    let config =
        TelegramConfig { token: "42:wrong".into(), base_url: address, mode: TelegramMode::Polling };
    let channel = Arc::new(TelegramChannel::new(config).unwrap());
    let gateway = world.builder().channel(channel).start().await.unwrap();
    let told = async {
        loop {
            let hub = gateway.events();
            let events = hub.since(&hub.wire_id(0)).unwrap();
            if let Some(error) = events.iter().find(|event| event.kind == "error") {
                return error.json.to_string();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(20), told).await.unwrap();
    assert!(told.contains("Unauthorized") && !told.contains("42:wrong"), "{told}");
    gateway.stop().await;
}
