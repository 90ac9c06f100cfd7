//! The web page (R12.6). It is readable without scripts; scripts draw the timeline and keep everything up to date.
//!
//! Each page is a file with its template. `timeline/` makes rows of events; `assets/timeline.js` draws them.

mod approvals;
mod format;
mod hooks;
mod messages;
mod row;
mod run;
mod runs;
mod session;
#[cfg(test)]
mod tests;
mod tickets;
mod timeline;
mod timelines;

use askama::Template;
use axum::{
    Router,
    extract::{Query, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use pintle_agent::store::{ApprovalFilter, ApprovalState, StoreError};
use serde::Deserialize;

pub(crate) use self::{
    row::{Head, Row},
    runs::Heads,
    session::login_redirect,
    timelines::Timelines,
};
use crate::api::{Api, runs::stream_live};

/// Only files of this server, no inline scripts or styles, and no text that becomes markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// Every file that a browser loads besides the pages: name, type, content.
const ASSETS: [(&str, &str, &str); 5] = [
    ("/assets/pintle.css", "text/css; charset=utf-8", include_str!("assets/pintle.css")),
    ("/assets/page.js", JAVASCRIPT, include_str!("assets/page.js")),
    ("/assets/live.js", JAVASCRIPT, include_str!("assets/live.js")),
    ("/assets/timeline.js", JAVASCRIPT, include_str!("assets/timeline.js")),
    ("/assets/pintle.svg", "image/svg+xml", include_str!("assets/pintle.svg")),
];
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The addresses that need the token.
pub(crate) fn routes() -> Router<Api> {
    Router::new()
        .route("/", get(runs::newest))
        .route("/live/{id}", get(runs::live))
        .route("/live/{id}/rows", get(runs::rows))
        .route("/events", get(events))
        .route("/approvals", get(approvals::all))
        .route("/approvals/{id}", get(approvals::one).post(approvals::answer))
        .route("/hooks", get(hooks::all))
        .route("/runs", get(runs::past))
        .route("/runs/{id}", get(run::show))
        .route("/runs/{id}/export.json", get(run::export))
        .route("/runs/{id}/stop", post(runs::stop))
        .route("/messages", get(messages::dead))
        .route("/messages/{id}/retry", post(messages::retry))
        .route("/tickets", get(tickets::board))
        .route("/logout", post(session::logout))
}

/// The addresses that need no token.
pub(crate) fn open_routes() -> Router<Api> {
    let login = get(session::form).post(session::login);
    let mut routes = Router::new().route("/login", login);
    for (path, kind, content) in ASSETS {
        let asset = ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], content);
        routes = routes.route(path, get(async move || asset));
    }
    routes
}

/// The frame of every page.
pub(crate) struct Shell {
    /// The part of the menu that is current.
    section: &'static str,
    /// How many questions are open.
    waiting: usize,
    /// The newest event that the page shows: the stream goes on from there.
    event_id: String,
}

impl Shell {
    async fn new(api: &Api, section: &'static str) -> Result<Self, StoreError> {
        // Read first, so events that happen while the page is made are sent again and not lost.
        let event_id = api.gateway.events().newest();
        api.gateway.store().expire_approvals().await?;
        let pending =
            ApprovalFilter { state: Some(ApprovalState::Pending), ..ApprovalFilter::default() };
        let waiting = api.gateway.store().approvals(pending).await?.len();
        Ok(Self { section, waiting, event_id })
    }

    fn current(&self, section: &str) -> &'static str {
        if self.section == section { "page" } else { "false" }
    }
}

fn html(status: StatusCode, page: &impl Template) -> Response {
    let policy = [(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY))];
    match page.render() {
        Ok(page) => (status, policy, Html(page)).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

fn to(address: &str) -> Response {
    let address = HeaderValue::from_str(address).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, address)]).into_response()
}

/// Why a page cannot be shown, as a page.
#[derive(Template)]
#[template(path = "problem.html")]
pub(crate) struct Problem {
    shell: Shell,
    status: StatusCode,
    message: String,
}

impl Problem {
    fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let shell = Shell { section: "", waiting: 0, event_id: String::new() };
        Self { shell, status, message: message.into() }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        html(self.status, &self)
    }
}

#[derive(Deserialize)]
struct After {
    after: Option<String>,
}

/// Live changes of timelines. A browser that reconnects sends its last event in a header; a tab that takes over from another
/// one sends it in the address.
async fn events(State(api): State<Api>, Query(said): Query<After>, headers: HeaderMap) -> Response {
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let after = resumed.filter(|id| !id.is_empty()).or(said.after.as_deref());
    stream_live(&api, after, |event| ("message".into(), event.rows))
}
