//! Hooks and their state, the API's description, and whether the gateway is alive.

use axum::{Json, Router, routing::get};
use pintle_agent::StoreError;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Api, ApiError, IdleHook,
    routes::{Call, Nothing, Reply},
};
use crate::events::HookStats;

/// A hook with its state and figures.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HookView {
    pub(crate) point: String,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plugin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    pub(crate) priority: i32,
    /// `active`, `never_fired`, `failing`; or `disabled`, `untrusted`, `invalid`: then it does not run.
    pub(crate) state: String,
    /// Why it does not run or fails, and a fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// Its figures since the gateway started.
    pub(crate) stats: HookStats,
}

pub(super) async fn hooks(api: Api, _: Call<Nothing>) -> Result<Reply<Vec<HookView>>, ApiError> {
    let listing = (api.config.listed)().await;
    Ok(hook_views(&api, listing.idle_hooks).await?.into())
}

pub(crate) async fn hook_views(
    api: &Api,
    mut idle: Vec<IdleHook>,
) -> Result<Vec<HookView>, StoreError> {
    let stats = api.gateway.events().hook_stats();
    let fired = api.gateway.store().fired_hooks(u64::MAX).await?;
    let mut views: Vec<HookView> = Vec::new();
    for hook in api.gateway.agent().hooks().list() {
        let key = (hook.point.to_string(), hook.name.to_string());
        let stats = stats.get(&key).cloned().unwrap_or_default();
        // A hook that may not run still has a handler, which blocks.
        let declared = idle.iter().position(|idle| idle.name == key.1).map(|at| idle.remove(at));
        let failing = hook.failing.as_ref().map(|failure| failure.message.clone());
        let (state, note) = match (declared, stats.fired, stats.failures) {
            (Some(declared), _, _) => (declared.state, Some(declared.note)),
            _ if failing.is_some() => ("failing".into(), failing),
            (None, 0, _) if !fired.contains_key(&key) => ("never_fired".into(), None),
            (None, _, 0) => ("active".into(), None),
            (None, _, _) => ("failing".into(), None),
        };
        views.push(HookView {
            point: key.0,
            name: key.1,
            plugin: hook.plugin.as_ref().map(ToString::to_string),
            model: serde_json::to_value(hook.model).ok().and_then(|it| Some(it.as_str()?.into())),
            source: Some(hook.source.to_string()),
            priority: hook.priority,
            state,
            note: note.filter(|note| !note.is_empty()),
            stats,
        });
    }
    views.extend(idle.into_iter().map(|hook| HookView {
        point: hook.point,
        name: hook.name,
        plugin: None,
        model: None,
        source: None,
        priority: 0,
        state: hook.state,
        note: Some(hook.note).filter(|note| !note.is_empty()),
        stats: HookStats::default(),
    }));
    Ok(views)
}

pub(super) async fn openapi(api: Api, _: Call<Nothing>) -> Result<Reply<Value>, ApiError> {
    Ok(Value::clone(&api.openapi).into())
}

/// The addresses that need no token.
pub(super) fn open_routes() -> Router<Api> {
    Router::new().route("/healthz", get(async || Json(json!({ "status": "ok" }))))
}
