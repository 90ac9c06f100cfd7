//! Hooks and their state, the API's description, and whether the gateway is alive.

use axum::{Json, Router, routing::get};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Api, ApiError,
    routes::{Call, Nothing, Reply},
};
use crate::events::HookStats;

/// A hook with its state and figures.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HookView {
    point: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    priority: i32,
    /// `active`, `never_fired`, `failing`; or `disabled`, `untrusted`, `invalid`: then it does not run.
    state: String,
    /// What it did since the gateway started.
    stats: HookStats,
}

pub(super) async fn hooks(api: Api, _: Call<Nothing>) -> Result<Reply<Vec<HookView>>, ApiError> {
    let stats = api.gateway.events().hook_stats();
    let fired = api.gateway.store().fired_hooks(u64::MAX).await?;
    let mut views: Vec<HookView> = Vec::new();
    for hook in api.gateway.agent().hooks().list() {
        let key = (hook.point.to_string(), hook.name.to_string());
        let stats = stats.get(&key).cloned().unwrap_or_default();
        let state = match (stats.fired, stats.failures) {
            (0, _) if !fired.contains_key(&key) => "never_fired",
            (_, 0) => "active",
            _ => "failing",
        };
        views.push(HookView {
            point: key.0,
            name: key.1,
            plugin: hook.plugin.as_ref().map(ToString::to_string),
            model: serde_json::to_value(hook.model).ok().and_then(|it| Some(it.as_str()?.into())),
            source: Some(hook.source.to_string()),
            priority: hook.priority,
            state: state.into(),
            stats,
        });
    }
    views.extend(api.config.idle_hooks.iter().map(|hook| HookView {
        point: hook.point.clone(),
        name: hook.name.clone(),
        plugin: None,
        model: None,
        source: None,
        priority: 0,
        state: hook.state.clone(),
        stats: HookStats::default(),
    }));
    Ok(views.into())
}

pub(super) async fn openapi(api: Api, _: Call<Nothing>) -> Result<Reply<Value>, ApiError> {
    Ok(Value::clone(&api.openapi).into())
}

/// What is served without a token.
pub(super) fn open_routes() -> Router<Api> {
    Router::new().route("/healthz", get(async || Json(json!({ "status": "ok" }))))
}
