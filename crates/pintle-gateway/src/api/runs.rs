//! Runs and their events.

use std::{sync::Arc, time::Duration};

use axum::response::Response;
use futures_util::{StreamExt, stream};
use pintle_agent::store::{StoredEvent, StoredRun};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;

use super::{
    Api, ApiError,
    messages::progress,
    routes::{Call, Nothing, Reply},
    sse::{self, SseEvent},
};
use crate::events::{EventHub, LiveEvent};

/// How often a stream of a past run checks for new events.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How many to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limit {
    /// At most this many.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunView {
    run_id: String,
    session_id: String,
    /// Absent before it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// In milliseconds since 1970; absent before it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<u64>,
    /// Absent while the run goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<u64>,
    /// How it ended; `queued` before it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    input_tokens: u64,
    output_tokens: u64,
    cost_usd: f64,
    /// How many events were dropped, because they came faster than they could be stored.
    dropped_events: u64,
}

impl From<StoredRun> for RunView {
    fn from(run: StoredRun) -> Self {
        Self {
            run_id: run.run_id,
            session_id: run.session_id,
            model: Some(run.model),
            started_at: Some(run.started_at),
            ended_at: run.ended_at,
            outcome: run.outcome,
            input_tokens: run.input_tokens,
            output_tokens: run.output_tokens,
            cost_usd: run.cost_usd,
            dropped_events: run.dropped_events,
        }
    }
}

pub(super) async fn list(api: Api, call: Call<Limit>) -> Result<Reply<Vec<RunView>>, ApiError> {
    let limit = call.query.limit.unwrap_or(50).clamp(1, 1000);
    let runs = api.gateway.store().runs(limit).await?;
    Ok(runs.into_iter().map(RunView::from).collect::<Vec<_>>().into())
}

pub(super) async fn show(api: Api, call: Call<Nothing>) -> Result<Reply<RunView>, ApiError> {
    if let Some(run) = api.gateway.store().run(&call.id).await? {
        return Ok(RunView::from(run).into());
    }
    // The message was accepted and waits for its turn.
    let message = api.gateway.queues().message(&call.id).await?;
    let message = message.ok_or_else(|| unknown(&call.id))?;
    let view = RunView {
        outcome: Some(progress(Some(&message))),
        run_id: message.run_id,
        session_id: message.session_id,
        model: None,
        started_at: None,
        ended_at: None,
        input_tokens: 0,
        output_tokens: 0,
        cost_usd: 0.0,
        dropped_events: 0,
    };
    Ok(view.into())
}

fn unknown(id: &str) -> ApiError {
    ApiError::not_found(format!("there is no run `{id}`"))
}

/// Whether the run exists, or its message is accepted.
async fn known(api: &Api, id: &str) -> Result<(), ApiError> {
    let is_run = api.gateway.store().run(id).await?.is_some();
    match is_run || api.gateway.queues().message(id).await?.is_some() {
        true => Ok(()),
        false => Err(unknown(id)),
    }
}

/// An event of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EventView {
    /// Its place in the run, from 1.
    seq: u64,
    /// The event.
    event: Value,
}

impl From<StoredEvent> for EventView {
    fn from(stored: StoredEvent) -> Self {
        let event = serde_json::from_str(&stored.json).unwrap_or(Value::Null);
        Self { seq: stored.seq, event }
    }
}

pub(super) async fn events(
    api: Api,
    call: Call<Nothing>,
) -> Result<Reply<Vec<EventView>>, ApiError> {
    known(&api, &call.id).await?;
    if call.wants_stream() {
        let after = call.header("last-event-id").and_then(|id| id.parse().ok()).unwrap_or(0);
        return Ok(Reply::Other(stream_of(api, call.id, after)));
    }
    let events = api.gateway.store().events(&call.id).await?;
    Ok(events.into_iter().map(EventView::from).collect::<Vec<_>>().into())
}

/// The stored events of a run after this one, then new events until the run ends.
pub(super) fn stream_of(api: Api, run_id: String, after: u64) -> Response {
    let batches =
        stream::unfold((api, run_id, after, false), |(api, run_id, after, over)| async move {
            if over {
                return None;
            }
            loop {
                let ended = match api.gateway.store().run(&run_id).await {
                    Ok(Some(run)) => run.ended_at.is_some(),
                    Ok(None) => false,
                    Err(_) => return None,
                };
                let mut events = api.gateway.store().events(&run_id).await.ok()?;
                events.retain(|event| event.seq > after);
                if let Some(last) = events.last() {
                    let after = last.seq;
                    return Some((events, (api, run_id, after, ended)));
                }
                if ended {
                    return None;
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        });
    let event = |event: StoredEvent| SseEvent {
        id: event.seq.to_string(),
        kind: event.kind,
        data: event.json,
    };
    sse::response(batches.flat_map(move |batch| stream::iter(batch.into_iter().map(event))))
}

pub(super) async fn live(api: Api, call: Call<Nothing>) -> Result<Reply<StreamOnly>, ApiError> {
    let after = call.header("last-event-id");
    Ok(Reply::Other(stream_live(&api, after, |event| (event.kind, event.json))))
}

/// All events after the one with this id, then new events. `shown` makes the text that is sent for an event.
pub(crate) fn stream_live(
    api: &Api,
    after: Option<&str>,
    shown: fn(LiveEvent) -> (String, Arc<str>),
) -> Response {
    // Subscribed before the stored events are read, so no event is missed in between.
    let live = api.gateway.events().subscribe();
    let hub = api.gateway.events().clone();
    let missed = after.map(|id| hub.since(id));
    let is_gap = matches!(missed, Some(None));
    let missed = missed.flatten().unwrap_or_default();
    let newest = missed.last().map_or(0, |event| event.seq);
    let gap = |json: String| SseEvent { id: String::new(), kind: "gap".into(), data: json };
    let lost = is_gap.then(|| gap(r#"{"type":"gap"}"#.into()));
    let of = move |hub: &EventHub, event: LiveEvent| {
        let id = hub.wire_id(event.seq);
        let (kind, data) = shown(event);
        SseEvent { id, kind, data: data.to_string() }
    };
    let missed: Vec<SseEvent> = missed.into_iter().map(|event| of(&hub, event)).collect();
    let following =
        stream::unfold((live, hub, newest), move |(mut live, hub, newest)| async move {
            loop {
                let event = match live.recv().await {
                    Ok(event) if event.seq <= newest => continue,
                    Ok(event) => of(&hub, event),
                    Err(RecvError::Lagged(count)) => {
                        gap(format!(r#"{{"type":"gap","missed":{count}}}"#))
                    }
                    Err(RecvError::Closed) => return None,
                };
                return Some((event, (live, hub, newest)));
            }
        });
    sse::response(stream::iter(lost.into_iter().chain(missed)).chain(following))
}

/// A call that answers with a stream only.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StreamOnly {}
