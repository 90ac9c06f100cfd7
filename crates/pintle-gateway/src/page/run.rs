//! A past run, step by step, and its export.

use askama::Template;
use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    Problem, Shell,
    format::plural,
    html,
    row::{Kind, Row},
    runs::{Line, family, known, whole},
};
use crate::api::Api;

/// How much of a tool's output is shown; the export has all of it.
const LONGEST: usize = 20_000;

/// A part of the run: the message, a model request with its calls, or the answer.
struct Step {
    first: Row,
    rest: Vec<Row>,
    /// The worst outcome in it.
    trouble: Option<(&'static str, &'static str)>,
}

impl Step {
    /// The facts beside its title.
    fn facts(&self) -> String {
        let Row { kind, word, detail, took, .. } = &self.first;
        let facts: &[&String] = match kind {
            Kind::Model => &[detail, took, word],
            _ => &[word],
        };
        let facts = facts.iter().map(|fact| fact.as_str());
        facts.filter(|fact| !["", "ok"].contains(fact)).collect::<Vec<_>>().join(" · ")
    }
}

#[derive(Template)]
#[template(path = "run.html")]
struct Shown {
    shell: Shell,
    run: Line,
    facts: String,
    steps: Vec<Step>,
}

pub(super) async fn show(
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let shell = Shell::new(&api, "runs").await?;
    let stored = known(&api, &id).await?;
    let timeline = whole(&api, &stored, LONGEST).await?;
    let head = &timeline.head;
    let counts = [(head.requests, "request"), (head.calls, "call"), (head.sub_agents, "sub-agent")];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let facts: Vec<String> = counts.map(|(count, what)| plural(count, what)).collect();
    let run = Line::of(&api, &stored).await?;
    let steps = steps(timeline.in_order());
    Ok(html(StatusCode::OK, &Shown { shell, run, facts: facts.join(", "), steps }))
}

fn steps(rows: Vec<Row>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for row in rows {
        let begins = row.level == 0
            && matches!(row.kind, Kind::Message | Kind::Model | Kind::Answer | Kind::Error);
        match steps.last_mut().filter(|_| !begins) {
            Some(step) => {
                let is_worse = match row.mark.class() {
                    "block" => true,
                    "fail" => step.trouble.is_none_or(|(class, _)| class != "block"),
                    "wait" => step.trouble.is_none(),
                    _ => false,
                };
                if is_worse {
                    let word = match row.mark.class() {
                        "block" => "blocked",
                        "fail" => "failed",
                        _ => "waiting",
                    };
                    step.trouble = Some((row.mark.class(), word));
                }
                step.rest.push(row);
            }
            None => steps.push(Step { first: row, rest: Vec::new(), trouble: None }),
        }
    }
    steps
}

/// The run, its sub-agents' runs and all their events, as `pintle trace --json` has them.
pub(super) async fn export(
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let run = known(&api, &id).await?;
    let mut exported = Vec::new();
    for run in family(&api, &run).await? {
        let events = api.gateway.store().events(&run.run_id).await?;
        let events: Vec<Value> =
            events.iter().filter_map(|event| serde_json::from_str(&event.json).ok()).collect();
        exported.push(json!({ "run": run, "events": events }));
    }
    let mut runs = exported.into_iter();
    let mut whole = runs.next().unwrap_or_default();
    if let Some(whole) = whole.as_object_mut() {
        whole.insert("subAgents".into(), runs.collect());
    }
    let mut response = Json(whole).into_response();
    if let Ok(name) =
        HeaderValue::from_str(&format!("attachment; filename=\"run-{}.json\"", run.run_id))
    {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}
