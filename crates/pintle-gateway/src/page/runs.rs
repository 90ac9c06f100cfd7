//! The live page, which shows running runs and the timeline of one of them, and the list of past runs.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use askama::Template;
use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use pintle_agent::store::{MessageState, StoreError, StoredRun};
use serde_json::{Value, json};

use super::{
    Problem, Shell,
    format::{duration, money, one_line, plural, roughly},
    html,
    row::{Head, Mark},
    timeline::Timeline,
    to,
};
use crate::{api::Api, clock::now_ms};

/// How many runs are listed beside the timeline, and how many on their own page.
const BESIDE: u32 = 40;
const LISTED: u32 = 200;
/// The newest runs among which sub-agents are looked for.
const SEARCHED: u32 = 1000;
/// How much of a text the timeline of a past run has.
const LONGEST: usize = 2000;

/// The summaries of ended runs, so a list does not read all their events again.
#[derive(Default)]
pub(crate) struct Heads(Mutex<HashMap<String, Head>>);

impl Heads {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Head>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn of(&self, api: &Api, run: &StoredRun) -> Result<Head, StoreError> {
        if let Some(head) = api.gateway.events().head(&run.run_id) {
            return Ok(head);
        }
        if let Some(head) = self.lock().get(&run.run_id) {
            return Ok(head.clone());
        }
        let mut timeline = Timeline::new(LONGEST);
        for event in api.gateway.store().events(&run.run_id).await? {
            if let Ok(event) = serde_json::from_str(&event.json) {
                timeline.push(&event);
            }
        }
        if run.ended_at.is_some() {
            let mut kept = self.lock();
            if kept.len() >= SEARCHED as usize {
                kept.clear();
            }
            kept.insert(run.run_id.clone(), timeline.head.clone());
        }
        Ok(timeline.head)
    }
}

/// A run in a list.
pub(super) struct Line {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) mark: Mark,
    pub(super) word: String,
    pub(super) ago: String,
    pub(super) took: String,
    pub(super) cost: String,
    pub(super) place: String,
    /// `2 blocked, 1 failed`
    pub(super) trouble: String,
    pub(super) calls: usize,
    pub(super) waiting: Vec<String>,
    pub(super) is_open: bool,
    /// Whether its timeline is shown beside the list.
    pub(super) is_current: bool,
}

impl Line {
    pub(super) async fn of(api: &Api, run: &StoredRun) -> Result<Self, StoreError> {
        let head = api.heads.of(api, run).await?;
        let now = now_ms();
        let (mark, word) = match (run.outcome.as_deref(), head.waiting.is_empty()) {
            (None, false) => (Mark::Wait, "waiting".to_string()),
            (None, true) => (Mark::Idle, "running".to_string()),
            (Some("end_turn"), _) => (Mark::Ok, "done".to_string()),
            (Some("aborted"), _) => (Mark::Idle, "stopped".to_string()),
            (Some("refusal"), _) => (Mark::Block, "refused".to_string()),
            (Some("error"), _) => (Mark::Fail, "failed".to_string()),
            (Some(other), _) => (Mark::Fail, other.replace('_', " ")),
        };
        let model = run.model.rsplit('/').next().unwrap_or_default();
        let place = [head.platform.as_str(), &head.chat, model];
        let place: Vec<&str> = place.into_iter().filter(|it| !it.is_empty()).collect();
        let trouble = [(head.blocked, "blocked"), (head.failed, "failed")];
        let trouble: Vec<String> = trouble
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let title = one_line(&head.prompt, 120);
        let ended = run.ended_at.unwrap_or(now);
        Ok(Self {
            id: run.run_id.clone(),
            title: if title.is_empty() { "A run without a message".into() } else { title },
            mark,
            word,
            ago: roughly(now.saturating_sub(run.started_at)),
            took: duration(ended.saturating_sub(run.started_at) as f64),
            cost: money(run.cost_usd.max(head.cost_usd)),
            place: place.join(" · "),
            trouble: trouble.join(", "),
            calls: head.calls,
            waiting: head.waiting,
            is_open: run.outcome.is_none(),
            is_current: false,
        })
    }
}

/// The newest runs that no other run has started.
async fn lines(api: &Api, limit: u32) -> Result<Vec<Line>, StoreError> {
    let mut lines = Vec::new();
    for run in api.gateway.store().runs(limit).await? {
        let session = api.gateway.store().session(&run.session_id).await?;
        if session.is_none_or(|session| session.parent.is_none()) {
            lines.push(Line::of(api, &run).await?);
        }
    }
    Ok(lines)
}

#[derive(Template)]
#[template(path = "live.html")]
struct Live {
    shell: Shell,
    now: Vec<Line>,
    before: Vec<Line>,
    run: Option<Line>,
}

pub(super) async fn newest(State(api): State<Api>) -> Result<Response, Problem> {
    show(&api, None).await
}

pub(super) async fn live(
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let run = known(&api, &id).await?;
    show(&api, Some(run)).await
}

pub(super) async fn known(api: &Api, id: &str) -> Result<StoredRun, Problem> {
    let run = api.gateway.store().run(id).await?;
    run.ok_or_else(|| Problem::not_found(format!("There is no run {id}.")))
}

async fn show(api: &Api, run: Option<StoredRun>) -> Result<Response, Problem> {
    let shell = Shell::new(api, "live").await?;
    let mut lines = lines(api, BESIDE).await?;
    // The newest running run, or else the newest run.
    let newest = lines.iter().find(|line| line.is_open).or(lines.first());
    let run = match (run, newest) {
        (Some(run), _) => Some(Line::of(api, &run).await?),
        (None, Some(newest)) => Some(Line::of(api, &known(api, &newest.id).await?).await?),
        (None, None) => None,
    };
    for line in &mut lines {
        line.is_current = run.as_ref().is_some_and(|run| run.id == line.id);
    }
    let (now, before) = lines.into_iter().partition(|line| line.is_open);
    Ok(html(StatusCode::OK, &Live { shell, now, before, run }))
}

/// The rows of a run, the id of the last event in them, and the server's time.
pub(super) async fn rows(
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    if let Some((after, rows)) = api.gateway.events().rows(&id) {
        let now = now_ms();
        return Ok(Json(json!({ "after": after, "now": now, "isLive": true, "rows": rows })));
    }
    let run = known(&api, &id).await?;
    let after = api.gateway.events().newest();
    let timeline = whole(&api, &run, LONGEST).await?;
    // Another program has the run, or it is parked: this process gets no events of it.
    let (now, is_open) = (now_ms(), run.outcome.is_none());
    Ok(Json(json!({ "after": after, "now": now, "isOpen": is_open, "rows": timeline.rows })))
}

/// The timeline of a run with those of its sub-agents, from the store.
pub(super) async fn whole(
    api: &Api,
    run: &StoredRun,
    longest: usize,
) -> Result<Timeline, StoreError> {
    let mut events: Vec<(u64, Value)> = Vec::new();
    for run in family(api, run).await? {
        let stored = api.gateway.store().events(&run.run_id).await?;
        let parsed =
            stored.iter().filter_map(|it| Some((it.at, serde_json::from_str(&it.json).ok()?)));
        events.extend(parsed);
    }
    events.sort_by_key(|(at, _)| *at);
    let mut timeline = Timeline::new(longest);
    for (_, event) in &events {
        timeline.push(event);
    }
    Ok(timeline)
}

/// The run and those that its sub-agents made, parents first.
pub(super) async fn family(api: &Api, run: &StoredRun) -> Result<Vec<StoredRun>, StoreError> {
    let store = api.gateway.store();
    let (mut found, mut sessions) = (vec![run.clone()], vec![run.session_id.clone()]);
    let until = run.ended_at.unwrap_or(u64::MAX);
    let mut others = store.runs(SEARCHED).await?;
    others.reverse();
    for other in others {
        // A sub-agent runs while its parent does.
        if other.run_id == run.run_id || !(run.started_at..=until).contains(&other.started_at) {
            continue;
        }
        let parent = store.session(&other.session_id).await?.and_then(|session| session.parent);
        if parent.is_some_and(|parent| sessions.contains(&parent)) {
            sessions.push(other.session_id.clone());
            found.push(other);
        }
    }
    Ok(found)
}

/// Ends a run that came from a chat.
pub(super) async fn stop(
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let message = api.gateway.queues().message(&id).await?;
    let message =
        message.filter(|it| matches!(it.state, MessageState::Queued | MessageState::Parked));
    let Some(message) = message else {
        let words = "This run cannot be stopped here: it has ended, or another program runs it.";
        return Ok(Problem::new(StatusCode::CONFLICT, words).into_response());
    };
    api.gateway.stop_lane(&message.lane).await?;
    Ok(to(&format!("/live/{id}")))
}

#[derive(Template)]
#[template(path = "runs.html")]
struct Past {
    shell: Shell,
    lines: Vec<Line>,
    title: String,
}

pub(super) async fn past(State(api): State<Api>) -> Result<Response, Problem> {
    let shell = Shell::new(&api, "runs").await?;
    let lines = lines(&api, LISTED).await?;
    let title = match lines.len() {
        0 => "No runs yet".to_string(),
        count => plural(count, "run"),
    };
    Ok(html(StatusCode::OK, &Past { shell, lines, title }))
}
