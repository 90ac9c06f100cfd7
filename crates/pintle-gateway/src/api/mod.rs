//! The HTTP API (R12.7). `guard.rs` checks each request; this file has the table of calls.

pub(crate) mod approvals;
mod error;
mod guard;
pub(crate) mod messages;
mod metrics;
mod openapi;
mod routes;
pub(crate) mod runs;
mod server;
mod sse;
pub(crate) mod status;
mod tickets;

use std::{net::SocketAddr, sync::Arc};

use axum::{Router, http::StatusCode};
use futures_util::future::BoxFuture;
use serde_json::Value;

pub use error::ApiError;
pub use guard::{Token, cookie_of};
pub use server::{ServeError, Server};

use crate::{channels::TelegramWebhook, gateway::Gateway, page};
use routes::{EVENTS, Routes};

/// The settings of the API.
#[derive(Clone)]
pub struct ApiConfig {
    /// The secret that callers send.
    pub token: Token,
    /// The names of the person who has the token, as approvers know them; the first that may answer is used.
    pub operator: Vec<String>,
    /// The hosts that a request may name, besides the address that is listened on.
    pub hosts: Vec<String>,
    /// Gives the idle hooks and the plugins of now, for each page and call that lists them.
    pub listed: Listed,
}

/// The hooks and plugins that are listed beside the hooks of the agent.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// Hooks that this process does not call.
    pub idle_hooks: Vec<IdleHook>,
    /// The plugins that were added.
    pub plugins: Vec<AddedPlugin>,
}

/// Gives the [`Listing`] of now.
pub type Listed = Arc<dyn Fn() -> BoxFuture<'static, Listing> + Send + Sync>;

impl Listing {
    /// A listing that never changes.
    #[must_use]
    pub fn fixed(self) -> Listed {
        Arc::new(move || Box::pin(std::future::ready(self.clone())))
    }
}

/// A plugin as the page shows it.
#[derive(Debug, Clone)]
pub struct AddedPlugin {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// `process`, `wasm` or `native`.
    pub kind: String,
    /// The capabilities that it was granted.
    pub grants: Vec<String>,
    /// `active`, `not used`, `lacks grants`, or why it cannot be used.
    pub state: String,
    /// The problems of the plugin, each with a fix.
    pub notes: Vec<String>,
}

/// A hook that is declared and not registered.
#[derive(Debug, Clone)]
pub struct IdleHook {
    /// The point.
    pub point: String,
    /// Its name.
    pub name: String,
    /// `disabled`, `untrusted` or `invalid`.
    pub state: String,
    /// The reason, and a fix.
    pub note: String,
}

/// The state that every handler gets.
#[derive(Clone)]
pub struct Api {
    pub(crate) gateway: Gateway,
    pub(crate) config: Arc<ApiConfig>,
    pub(crate) openapi: Arc<Value>,
    pub(crate) hosts: Arc<Vec<String>>,
    pub(crate) heads: Arc<page::Heads>,
}

/// The whole server: the calls of R12.7, the page and the webhooks of platforms.
pub fn router(
    gateway: Gateway,
    config: ApiConfig,
    address: SocketAddr,
    telegram: Option<TelegramWebhook>,
) -> Router {
    let table = table();
    let hosts = guard::hosts(address, &config.hosts);
    let api = Api {
        gateway,
        config: Arc::new(config),
        openapi: Arc::new(table.openapi()),
        hosts: Arc::new(hosts),
        heads: Arc::default(),
    };
    let guarded = table.into_router().merge(page::routes());
    let guarded =
        guarded.route_layer(axum::middleware::from_fn_with_state(api.clone(), guard::token));
    let mut open = status::open_routes().merge(page::open_routes());
    if let Some(telegram) = telegram {
        open = open.merge(telegram.routes());
    }
    guarded
        .merge(open)
        .fallback(async || {
            ApiError::not_found("this address does not exist; `GET /openapi.json` lists what does")
        })
        .method_not_allowed_fallback(async || {
            let message = "this address takes another method";
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method", message)
        })
        .layer(axum::middleware::from_fn_with_state(api.clone(), guard::screen))
        .with_state(api)
}

/// The document that describes the calls.
pub fn openapi() -> Value {
    table().openapi()
}

fn table() -> Routes {
    Routes::default()
        .post("/v1/messages", "Accepts a message, and answers when its run is done", messages::post)
        .header("Idempotency-Key", "In place of `messageId`")
        .header("Prefer", "`respond-async`: answers with 202 once the message is stored")
        .or_events()
        .get("/v1/messages/dead", "Messages that could not be processed", messages::dead)
        .get(
            "/v1/messages/unknown",
            "Messages and tool calls of unknown outcome",
            messages::unknown,
        )
        .post("/v1/messages/dead/{id}/retry", "Tries a dead letter again", messages::retry)
        .get("/v1/runs", "The newest runs", runs::list)
        .get("/v1/runs/{id}", "One run", runs::show)
        .get("/v1/runs/{id}/events", "The events of a run", runs::events)
        .header("Last-Event-ID", "A stream goes on after this event")
        .or_events()
        .get("/v1/approvals", "Questions to people, newest first", approvals::list)
        .get("/v1/approvals/{id}", "One question with its exact arguments", approvals::show)
        .post("/v1/approvals/{id}", "Answers a question", approvals::answer)
        .get("/v1/hooks", "Every hook with its state and figures", status::hooks)
        .get("/v1/tickets", "The ticket board, newest first", tickets::list)
        .get("/v1/events", "The events of all runs, live", runs::live)
        .header("Last-Event-ID", "Goes on after this event")
        .only(EVENTS)
        .get("/openapi.json", "This document", status::openapi)
        .get("/metrics", "Figures for Prometheus", metrics::metrics)
        .only("text/plain")
}
