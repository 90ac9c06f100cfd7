//! Dead letters: messages that could not be processed.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use pintle_agent::store::{MessageState, QueuedMessage};

use super::{
    Problem, Shell, html, to,
    words::{plural, roughly},
};
use crate::{api::Api, clock::now_ms};

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
    let title = match letters.len() {
        0 => "No dead letters".to_string(),
        count => plural(count, "dead letter"),
    };
    Ok(html(StatusCode::OK, &Page { shell, title, letters }))
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
