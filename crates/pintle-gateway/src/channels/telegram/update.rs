//! Turns updates of Telegram into messages of the gateway.

use pintle::points::{InboundMessage, Sender};
use pintle_agent::ButtonPress;
use serde::Deserialize;

use super::PLATFORM;

pub(super) enum Content {
    Message(Box<InboundMessage>),
    Press { query_id: String, press: ButtonPress },
    Other,
}

/// The fields of an update that the gateway reads. A message with other fields is no error: the Bot API grows.
#[derive(Deserialize)]
pub(super) struct Update {
    message: Option<Message>,
    edited_message: Option<Message>,
    callback_query: Option<CallbackQuery>,
}

#[derive(Deserialize)]
struct Message {
    message_id: i32,
    message_thread_id: Option<i32>,
    is_topic_message: Option<bool>,
    from: Option<User>,
    chat: Chat,
    text: Option<String>,
    reply_to_message: Option<Replied>,
}

#[derive(Deserialize)]
struct Replied {
    from: Option<User>,
}

#[derive(Deserialize)]
struct CallbackQuery {
    id: String,
    from: User,
    data: Option<String>,
}

#[derive(Deserialize)]
struct Chat {
    id: i64,
    #[serde(rename = "type")]
    kind: String,
}

/// A person, or a bot.
#[derive(Deserialize)]
pub(super) struct User {
    id: i64,
    is_bot: bool,
    first_name: String,
    last_name: Option<String>,
    username: Option<String>,
}

pub(super) fn content(update: Update, me: &User) -> Content {
    // An edit has the id of its message: it is a duplicate, and changes nothing that was accepted.
    if let Some(message) = update.message.or(update.edited_message) {
        return said(message, me).map_or(Content::Other, |said| Content::Message(Box::new(said)));
    }
    update.callback_query.map_or(Content::Other, pressed)
}

fn said(message: Message, me: &User) -> Option<InboundMessage> {
    let from = message.from.filter(|from| !from.is_bot)?;
    let text = message.text?;
    let name = me.username.as_deref().map(|name| format!("@{name}").to_lowercase());
    let is_mentioned = name.is_some_and(|name| text.to_lowercase().contains(&name));
    let is_reply = message
        .reply_to_message
        .and_then(|replied| replied.from)
        .is_some_and(|author| author.id == me.id);
    let is_direct = message.chat.kind == "private";
    let full_name = match &from.last_name {
        Some(last) => format!("{} {last}", from.first_name),
        None => from.first_name.clone(),
    };
    let mut said = InboundMessage::default()
        .id(message.message_id.to_string())
        .platform(PLATFORM)
        .bot_id(me.id.to_string())
        .chat_id(message.chat.id.to_string())
        .sender(Sender::default().id(from.id.to_string()).name(full_name))
        .text(text)
        .is_direct(is_direct)
        .mentions_agent(is_direct || is_mentioned || is_reply);
    let is_topic = message.is_topic_message == Some(true);
    said.thread_id = message.message_thread_id.filter(|_| is_topic).map(|id| id.to_string());
    Some(said)
}

/// `from` pressed the button, in any chat.
fn pressed(query: CallbackQuery) -> Content {
    let Some(token) = query.data else { return Content::Other };
    let press =
        ButtonPress { platform: PLATFORM.into(), sender_id: query.from.id.to_string(), token };
    Content::Press { query_id: query.id, press }
}
