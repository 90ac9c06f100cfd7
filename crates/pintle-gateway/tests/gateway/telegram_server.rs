//! A server that speaks the Bot API, with frankenstein's own types: offsets and redelivery, 409 for a second poller, 429,
//! 5xx, and bodies that are cut.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use frankenstein::{
    methods::{
        AnswerCallbackQueryParams, EditMessageCaptionParams, EditMessageTextParams,
        GetUpdatesParams, SendMessageParams, SetWebhookParams,
    },
    response::{ErrorResponse, MethodResponse, ResponseParameters},
    types::{Chat, ChatId, ChatType, Message, User},
    updates::{Update, UpdateContent},
};
use futures_util::stream;
use pintle_gateway::api::Server;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub(crate) const TOKEN: &str = "42:secret";
pub(crate) const BOT: u64 = 42;

/// What the next call of a method comes to.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    TooManyRequests(u16),
    ServerError,
    /// The message is taken, and the answer breaks off.
    CutAfterwards,
}

#[derive(Default)]
pub(crate) struct BotServer {
    updates: Mutex<Vec<Update>>,
    pub(crate) confirmed: Mutex<i64>,
    pub(crate) faults: Mutex<VecDeque<(&'static str, Fault)>>,
    pub(crate) sent: Mutex<Vec<SendMessageParams>>,
    pub(crate) files: Mutex<Vec<String>>,
    /// The ids of messages that are files.
    documents: Mutex<Vec<i32>>,
    pub(crate) edited: Mutex<Vec<EditMessageTextParams>>,
    pub(crate) captions: Mutex<Vec<EditMessageCaptionParams>>,
    pub(crate) answered: Mutex<Vec<AnswerCallbackQueryParams>>,
    pub(crate) webhook: Mutex<Option<SetWebhookParams>>,
    pub(crate) conflicts: Mutex<u32>,
    is_polled: AtomicBool,
    changed: Notify,
}

impl BotServer {
    /// Starts it, and returns its address.
    pub(crate) async fn start() -> (Arc<Self>, String) {
        let server = Arc::new(Self::default());
        let listener = Server::bind("127.0.0.1:0".parse().unwrap(), true).await.unwrap();
        let address = format!("http://{}", listener.address());
        let router = Router::new().route("/{bot}/{method}", post(serve)).with_state(server.clone());
        tokio::spawn(listener.run(router, CancellationToken::new()));
        (server, address)
    }

    /// Somebody does something; it is delivered until it is confirmed.
    pub(crate) fn happens(&self, id: u32, content: UpdateContent) {
        self.updates.lock().unwrap().push(Update { update_id: id, content });
        self.changed.notify_waiters();
    }

    pub(crate) fn says(&self, update: u32, message: Message) {
        self.happens(update, UpdateContent::Message(Box::new(message)));
    }

    pub(crate) fn presses(&self, update: u32, person: u64, token: &str) {
        let query = json!({
            "id": format!("q{update}"), "from": user(person), "chat_instance": "x", "data": token,
        });
        let query = serde_json::from_value(query).unwrap();
        self.happens(update, UpdateContent::CallbackQuery(Box::new(query)));
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.sent.lock().unwrap().iter().map(|sent| sent.text.clone()).collect()
    }

    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !holds(self) {
                let _ =
                    tokio::time::timeout(Duration::from_millis(50), self.changed.notified()).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        assert!(waited.is_ok(), "{what}; sent so far: {:#?}", self.texts());
    }

    async fn updates(&self, params: GetUpdatesParams) -> Response {
        if self.is_polled.swap(true, Ordering::SeqCst) {
            *self.conflicts.lock().unwrap() += 1;
            return refused(409, "Conflict: terminated by other getUpdates request", None);
        }
        let offset = params.offset.unwrap_or(0);
        self.updates.lock().unwrap().retain(|update| i64::from(update.update_id) >= offset);
        *self.confirmed.lock().unwrap() = offset;
        let wait = Duration::from_secs(params.timeout.unwrap_or(0).into());
        let arrive = async {
            while self.updates.lock().unwrap().is_empty() {
                let _ =
                    tokio::time::timeout(Duration::from_millis(20), self.changed.notified()).await;
            }
        };
        let _ = tokio::time::timeout(wait, arrive).await;
        self.is_polled.store(false, Ordering::SeqCst);
        let updates = self.updates.lock().unwrap().clone();
        done(updates)
    }

    fn message(&self, chat: ChatId) -> Message {
        let chat = match chat {
            ChatId::Integer(id) => id,
            ChatId::String(name) => panic!("{name}"),
        };
        let sent = self.sent.lock().unwrap().len() + self.files.lock().unwrap().len();
        said(i32::try_from(1000 + sent).unwrap(), chat, BOT, "sent")
    }
}

async fn serve(
    State(server): State<Arc<BotServer>>,
    Path((bot, method)): Path<(String, String)>,
    body: Bytes,
) -> Response {
    if bot != format!("bot{TOKEN}") {
        return refused(401, "Unauthorized", None);
    }
    let fault = {
        let mut faults = server.faults.lock().unwrap();
        let at = faults.iter().position(|(of, _)| *of == method);
        at.and_then(|at| faults.remove(at)).map(|(_, fault)| fault)
    };
    match fault {
        Some(Fault::TooManyRequests(after)) => {
            return refused(429, "Too Many Requests: retry after", Some(after));
        }
        Some(Fault::ServerError) => return StatusCode::BAD_GATEWAY.into_response(),
        _ => {}
    }
    let response = answer(&server, &method, &body).await;
    server.changed.notify_waiters();
    match fault {
        Some(Fault::CutAfterwards) => cut(),
        _ => response,
    }
}

async fn answer(server: &BotServer, method: &str, body: &[u8]) -> Response {
    fn params<T: serde::de::DeserializeOwned>(body: &[u8]) -> T {
        serde_json::from_slice(body).unwrap()
    }
    match method {
        "getMe" => done(user(BOT)),
        "deleteWebhook" => done(true),
        "setWebhook" => {
            *server.webhook.lock().unwrap() = Some(params(body));
            done(true)
        }
        "getUpdates" => server.updates(params(body)).await,
        "sendMessage" => {
            let params: SendMessageParams = params(body);
            if params.text.chars().count() > 4096 {
                return refused(400, "Bad Request: message is too long", None);
            }
            let chat = params.chat_id.clone();
            server.sent.lock().unwrap().push(params);
            done(server.message(chat))
        }
        "sendDocument" => {
            server.files.lock().unwrap().push(String::from_utf8(body.to_vec()).unwrap());
            let message = server.message(ChatId::Integer(7));
            server.documents.lock().unwrap().push(message.message_id);
            done(message)
        }
        "editMessageText" => {
            let edit: EditMessageTextParams = params(body);
            let id = edit.message_id.unwrap();
            if server.documents.lock().unwrap().contains(&id) {
                return refused(400, "Bad Request: there is no text in the message to edit", None);
            }
            server.edited.lock().unwrap().push(edit);
            done(true)
        }
        "editMessageCaption" => {
            server.captions.lock().unwrap().push(params(body));
            done(true)
        }
        "answerCallbackQuery" => {
            server.answered.lock().unwrap().push(params(body));
            done(true)
        }
        _ => refused(404, "Not Found", None),
    }
}

fn done<T: serde::Serialize>(result: T) -> Response {
    Json(MethodResponse { ok: true, description: None, result }).into_response()
}

fn refused(code: u16, description: &str, retry_after: Option<u16>) -> Response {
    let parameters = retry_after
        .map(|after| ResponseParameters { migrate_to_chat_id: None, retry_after: Some(after) });
    let error = ErrorResponse {
        ok: false,
        description: description.into(),
        error_code: code.into(),
        parameters,
    };
    (StatusCode::from_u16(code).unwrap(), Json(error)).into_response()
}

/// Less than the head of the response promises.
fn cut() -> Response {
    let parts = stream::iter([Ok("{\"ok\":tr"), Err(std::io::Error::other("cut"))]);
    Response::builder().header("content-length", 500).body(Body::from_stream(parts)).unwrap()
}

pub(crate) fn user(id: u64) -> User {
    let user = json!({
        "id": id, "is_bot": id == BOT, "first_name": format!("person {id}"), "username": format!("name_{id}"),
    });
    serde_json::from_value(user).unwrap()
}

pub(crate) fn said(id: i32, chat: i64, from: u64, text: &str) -> Message {
    let kind = if chat > 0 { ChatType::Private } else { ChatType::Group };
    let chat: Chat = serde_json::from_value(json!({ "id": chat, "type": kind })).unwrap();
    let message: Value = json!({
        "message_id": id, "date": 1, "chat": chat, "from": user(from), "text": text,
    });
    serde_json::from_value(message).unwrap()
}
