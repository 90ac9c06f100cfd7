//! The page of dead letters, which are messages that could not be processed, and of actions with unknown outcome.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use pintle_agent::store::{MessageState, OutgoingMessage, QueuedMessage, StoredCall};

use super::{
    Problem, Shell,
    format::{plural, roughly},
    html, to,
};
use crate::{
    api::{Api, messages::of_unknown_outcome},
    clock::now_ms,
};

struct Letter {
    message: QueuedMessage,
    error: String,
    tries: String,
    ago: String,
}

#[derive(Template)]
#[template(path = "messages.html")]
struct Page {
    shell: Shell,
    title: String,
    letters: Vec<Letter>,
    /// Actions with unknown outcome.
    sent: Vec<OutgoingMessage>,
    calls: Vec<(String, StoredCall)>,
}

pub(super) async fn dead(State(api): State<Api>) -> Result<Response, Problem> {
    let shell = Shell::new(&api, "messages").await?;
    let dead = api.gateway.queues().messages(MessageState::Dead).await?;
    let letter = |message: QueuedMessage| Letter {
        error: message.error.clone().unwrap_or_default(),
        tries: plural(message.attempts as usize, "attempt"),
        ago: roughly(now_ms().saturating_sub(message.accepted_at)),
        message,
    };
    let letters: Vec<Letter> = dead.into_iter().map(letter).collect();
    let (sent, calls) = of_unknown_outcome(&api).await?;
    let ago = |call: &StoredCall| roughly(now_ms().saturating_sub(call.begun_at));
    let calls: Vec<_> = calls.into_iter().map(|call| (ago(&call), call)).collect();
    let mut title = match letters.len() {
        0 => "No dead letters".to_string(),
        count => plural(count, "dead letter"),
    };
    if sent.len() + calls.len() > 0 {
        title = format!("{title}, {} of unknown outcome", sent.len() + calls.len());
    }
    Ok(html(StatusCode::OK, &Page { shell, title, letters, sent, calls }))
}

pub(super) async fn retry(
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    match api.gateway.retry_dead(&id).await? {
        true => Ok(to("/messages")),
        false => Err(Problem::not_found("This message is not a dead letter any more.")),
    }
}
