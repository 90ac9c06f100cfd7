//! Telegram: long polling or a webhook, buttons under questions, long arguments as a file.

mod bot_api;
mod update;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use futures_util::future::{BoxFuture, FutureExt, join_all};
use pintle_agent::{
    Attachment, Button, Channel, ChannelError, ChannelFeatures, ChannelMessage, Inbox, SendError,
};
use serde::Deserialize;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::api::Api;
use bot_api::{BotApi, Problem};
use update::{Content, Update, User, content};

const PLATFORM: &str = "telegram";
/// The Bot API's own limits, in characters.
const LONGEST_TEXT: usize = 4096;
const LONGEST_CAPTION: usize = 1024;
/// How long a poll stays open without updates.
const POLL: Duration = Duration::from_secs(50);

/// How a bot is reached.
#[derive(Clone)]
pub struct TelegramConfig {
    /// The bot's token.
    pub token: String,
    /// The Bot API's address; `https://api.telegram.org` unless you run your own server.
    pub base_url: String,
    /// How updates come.
    pub mode: TelegramMode,
}

/// How updates come.
#[derive(Clone)]
pub enum TelegramMode {
    /// This program asks for them.
    Polling,
    /// Telegram sends them to `https://HOST/telegram/webhook`.
    Webhook {
        /// The address that Telegram is given.
        url: String,
        /// The secret that every update must carry.
        secret: String,
    },
}

/// A bot.
pub struct TelegramChannel {
    api: BotApi,
    mode: TelegramMode,
    me: OnceCell<User>,
    poll: Duration,
}

/// Where Telegram sends updates to.
#[derive(Clone)]
pub struct TelegramWebhook(Arc<TelegramChannel>);

impl TelegramChannel {
    /// A bot with this configuration.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn new(config: TelegramConfig) -> Result<Self, ChannelError> {
        let api = BotApi::new(&config.base_url, &config.token, POLL)?;
        Ok(Self { api, mode: config.mode, me: OnceCell::new(), poll: POLL })
    }

    /// With another time that a poll stays open.
    #[must_use]
    pub fn polling_for(mut self, poll: Duration) -> Self {
        self.poll = poll;
        self
    }

    /// The address for updates, in webhook mode.
    pub fn webhook(self: &Arc<Self>) -> Option<TelegramWebhook> {
        match self.mode {
            TelegramMode::Polling => None,
            TelegramMode::Webhook { .. } => Some(TelegramWebhook(self.clone())),
        }
    }

    async fn me(&self) -> Result<&User, Problem> {
        self.me.get_or_try_init(|| self.api.call("getMe", json!({}))).await
    }

    async fn poll(&self, inbox: &dyn Inbox) -> Result<(), Problem> {
        let _: bool = self.api.call("deleteWebhook", json!({})).await?;
        let mut offset = 0_i64;
        loop {
            let params = json!({
                "offset": offset,
                "timeout": self.poll.as_secs(),
                "allowed_updates": UPDATES,
            });
            let updates = match self.api.call::<Vec<Value>>("getUpdates", params).await {
                Err(Problem::RetryAfter(pause)) => {
                    tokio::time::sleep(pause).await;
                    continue;
                }
                updates => updates?,
            };
            let newest = updates.iter().filter_map(|it| it.get("update_id")?.as_i64()).max();
            // In the order of their chats: the gateway takes turns by the order in which these begin.
            let taken = join_all(updates.into_iter().map(|update| self.take(update, inbox))).await;
            // The next poll confirms them all, so all have to be stored.
            taken.into_iter().collect::<Result<(), Problem>>()?;
            offset = newest.map_or(offset, |newest| newest + 1);
        }
    }

    /// Accepts one update. An unknown kind of update is ignored.
    async fn take(&self, update: Value, inbox: &dyn Inbox) -> Result<(), Problem> {
        let Ok(update) = serde_json::from_value::<Update>(update) else { return Ok(()) };
        let failed = |error: ChannelError| Problem::Failed(error.to_string());
        match content(update, self.me().await?) {
            Content::Message(message) => inbox.accept(*message).await.map(drop).map_err(failed),
            Content::Press { query_id, press } => {
                let shown = inbox.press(press).await.map_err(failed)?;
                let params = json!({ "callback_query_id": query_id, "text": clipped(&shown, 200) });
                // The answer is already stored. The note is optional, and Telegram refuses it for old queries.
                let _ = self.api.call::<bool>("answerCallbackQuery", params).await;
                Ok(())
            }
            Content::Other => Ok(()),
        }
    }

    async fn send_text(&self, message: &ChannelMessage) -> Result<Sent, Problem> {
        let reply_to = number(message.reply_to.as_deref())
            .map(|id| json!({ "message_id": id, "allow_sending_without_reply": true }));
        let params = json!({
            "chat_id": chat_id(&message.chat_id),
            "text": message.text,
            "message_thread_id": number(message.thread_id.as_deref()),
            "reply_parameters": reply_to,
            "reply_markup": keyboard(&message.buttons),
        });
        self.api.call("sendMessage", params).await
    }

    /// The text is the file's caption. What does not fit there is in the file too.
    async fn send_file(
        &self,
        message: &ChannelMessage,
        file: &Attachment,
    ) -> Result<Sent, Problem> {
        let is_long = message.text.chars().count() > LONGEST_CAPTION;
        let content = match is_long {
            true => format!("{}\n\n{}", message.text, file.content),
            false => file.content.clone(),
        };
        let mut fields = vec![
            ("chat_id", message.chat_id.clone()),
            ("caption", clipped(&message.text, LONGEST_CAPTION)),
        ];
        if let Some(thread) = &message.thread_id {
            fields.push(("message_thread_id", thread.clone()));
        }
        if let Some(keyboard) = keyboard(&message.buttons) {
            fields.push(("reply_markup", keyboard.to_string()));
        }
        self.api.upload("sendDocument", &fields, &file.name, &content).await
    }
}

/// The one field of a sent message that the gateway reads.
#[derive(Deserialize)]
struct Sent {
    message_id: i32,
}

/// The kinds of updates that Telegram sends.
const UPDATES: [&str; 3] = ["message", "edited_message", "callback_query"];

/// The id of a chat is a number; the name of a channel is not.
fn chat_id(id: &str) -> Value {
    id.parse::<i64>().map_or_else(|_| id.into(), Value::from)
}

/// The id of a message or thread.
fn number(id: Option<&str>) -> Option<i32> {
    id?.parse().ok()
}

/// One row with the buttons.
fn keyboard(buttons: &[Button]) -> Option<Value> {
    let button = |button: &Button| json!({ "text": button.label, "callback_data": button.token });
    let row: Vec<_> = buttons.iter().map(button).collect();
    (!row.is_empty()).then(|| json!({ "inline_keyboard": [row] }))
}

/// At most this many characters.
fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most.saturating_sub(1)) {
        Some((at, _)) if text.chars().count() > most => {
            format!("{}…", text.get(..at).unwrap_or_default())
        }
        _ => text.to_string(),
    }
}

impl Channel for TelegramChannel {
    fn platform(&self) -> &str {
        PLATFORM
    }

    fn features(&self) -> ChannelFeatures {
        ChannelFeatures {
            idempotency_key: false,
            buttons: true,
            max_text: Some(LONGEST_TEXT),
            private_chat_is_sender: true,
        }
    }

    fn receive(
        &self,
        inbox: Arc<dyn Inbox>,
        stop: CancellationToken,
    ) -> BoxFuture<'_, Result<(), ChannelError>> {
        async move {
            let receiving = async {
                self.me().await?;
                match &self.mode {
                    TelegramMode::Polling => self.poll(&*inbox).await,
                    TelegramMode::Webhook { url, secret } => {
                        let params = json!({
                            "url": url,
                            "secret_token": secret,
                            "allowed_updates": UPDATES,
                        });
                        let _: bool = self.api.call("setWebhook", params).await?;
                        std::future::pending().await
                    }
                }
            };
            // Telegram delivers unconfirmed updates again after the next start.
            tokio::select! {
                () = stop.cancelled() => Ok(()),
                received = receiving => {
                    received.map_err(|problem: Problem| ChannelError(problem.to_string()))
                }
            }
        }
        .boxed()
    }

    fn send(&self, message: ChannelMessage) -> BoxFuture<'_, Result<Option<String>, SendError>> {
        async move {
            let sent = match &message.attachment {
                Some(file) => self.send_file(&message, file).await,
                None => self.send_text(&message).await,
            };
            Ok(Some(sent?.message_id.to_string()))
        }
        .boxed()
    }

    fn edit(
        &self,
        chat: &str,
        message_id: &str,
        text: &str,
    ) -> BoxFuture<'_, Result<(), SendError>> {
        let (chat, id) = (chat_id(chat), number(Some(message_id)));
        let edit =
            json!({ "chat_id": chat, "message_id": id, "text": clipped(text, LONGEST_TEXT) });
        let caption =
            json!({ "chat_id": chat, "message_id": id, "caption": clipped(text, LONGEST_CAPTION) });
        async move {
            // A message with a file has a caption in place of a text.
            match self.api.call::<Value>("editMessageText", edit).await {
                Err(Problem::Refused(_)) => {
                    self.api.call::<Value>("editMessageCaption", caption).await?;
                }
                edited => drop(edited?),
            }
            Ok(())
        }
        .boxed()
    }
}

impl TelegramWebhook {
    pub(crate) fn routes(self) -> Router<Api> {
        let serve = move |State(api): State<Api>, headers: HeaderMap, body: Bytes| {
            let webhook = self.clone();
            async move { webhook.serve(&api, &headers, &body).await }
        };
        Router::new().route("/telegram/webhook", post(serve))
    }

    async fn serve(&self, api: &Api, headers: &HeaderMap, body: &[u8]) -> Response {
        let TelegramMode::Webhook { secret, .. } = &self.0.mode else {
            return StatusCode::NOT_FOUND.into_response();
        };
        let given = headers.get("x-telegram-bot-api-secret-token").map(|it| it.as_bytes());
        if !given.is_some_and(|given| bool::from(given.ct_eq(secret.as_bytes()))) {
            return StatusCode::UNAUTHORIZED.into_response();
        }
        let Ok(update) = serde_json::from_slice::<Value>(body) else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        // Telegram delivers an update again unless the status is 200.
        match self.0.take(update, &api.gateway).await {
            Ok(()) => StatusCode::OK.into_response(),
            Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        }
    }
}
