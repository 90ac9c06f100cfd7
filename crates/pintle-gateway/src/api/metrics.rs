//! Figures in the text format of Prometheus.

use std::fmt::{Display, Write};

use axum::{
    http::{HeaderValue, header},
    response::IntoResponse,
};
use pintle_agent::store::{ApprovalFilter, ApprovalState, MessageState};

use super::{
    Api, ApiError,
    routes::{Call, Nothing, Reply},
};

/// The labels of a sample, and its value.
type Sample<'a> = (Vec<(&'static str, &'a str)>, String);

/// The page while it is written.
struct Page(String);

impl Page {
    /// A family of samples. One without samples is left out.
    fn family<'a>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        samples: impl IntoIterator<Item = Sample<'a>>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return;
        }
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in samples {
            let label = |(key, value): &(&str, &str)| format!("{key}=\"{}\"", escaped(value));
            let labels: Vec<String> = labels.iter().map(label).collect();
            let labels = match labels.as_slice() {
                [] => String::new(),
                labels => format!("{{{}}}", labels.join(",")),
            };
            let _ = writeln!(self.0, "{name}{labels} {value}");
        }
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help, [(Vec::new(), value.to_string())]);
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

pub(super) async fn metrics(api: Api, _: Call<Nothing>) -> Result<Reply<String>, ApiError> {
    let mut page = Page(String::new());
    let figures = api.gateway.events().figures();
    for (name, help, counts) in [
        ("pintle_runs_total", "Runs that ended.", &figures.runs),
        ("pintle_tool_calls_total", "Tool calls that ended.", &figures.calls),
        ("pintle_approvals_total", "Questions to people that were settled.", &figures.approvals),
    ] {
        let samples =
            counts.iter().map(|(it, count)| (vec![("outcome", &**it)], count.to_string()));
        page.family(name, "counter", help, samples);
    }
    page.one("pintle_runs_active", "gauge", "Runs under way.", figures.under_way.len());
    for (name, help, seconds, counts) in [
        ("pintle_run_duration_seconds", "How long runs took.", figures.run_seconds, &figures.runs),
        (
            "pintle_tool_call_duration_seconds",
            "How long tool calls took.",
            figures.call_seconds,
            &figures.calls,
        ),
    ] {
        let _ = writeln!(page.0, "# HELP {name} {help}\n# TYPE {name} summary");
        let _ =
            writeln!(page.0, "{name}_sum {seconds}\n{name}_count {}", counts.values().sum::<u64>());
    }
    let counter = "counter";
    page.one("pintle_model_requests_total", counter, "Model requests.", figures.model_requests);
    let tokens = [("input", figures.input_tokens), ("output", figures.output_tokens)];
    let tokens = tokens.map(|(kind, count)| (vec![("direction", kind)], count.to_string()));
    page.family("pintle_tokens_total", counter, "Tokens read and written by models.", tokens);
    page.one(
        "pintle_cost_usd_total",
        counter,
        "Cost of model requests in US dollars.",
        figures.cost_usd,
    );

    let pending =
        ApprovalFilter { state: Some(ApprovalState::Pending), ..ApprovalFilter::default() };
    let pending = api.gateway.store().approvals(pending).await?.len();
    page.one(
        "pintle_approvals_pending",
        "gauge",
        "Questions that are waiting for an answer.",
        pending,
    );
    let mut messages = Vec::new();
    for (state, name) in [
        (MessageState::Queued, "queued"),
        (MessageState::Parked, "parked"),
        (MessageState::Dead, "dead"),
    ] {
        let count = api.gateway.queues().messages(state).await?.len();
        messages.push((vec![("state", name)], count.to_string()));
    }
    page.family("pintle_messages", "gauge", "Messages that are not done.", messages);
    let lost = api.gateway.store().record_loss().count;
    page.one("pintle_records_lost_total", counter, "Records that could not be written.", lost);

    let hooks = api.gateway.events().hook_stats();
    for (name, help, figure) in [
        ("pintle_hook_fired_total", "Calls of a hook.", 0),
        ("pintle_hook_failures_total", "Calls in which a hook failed.", 1),
        ("pintle_hook_stops_total", "Calls in which a hook blocked or claimed.", 2),
    ] {
        let samples = hooks.iter().map(|((point, hook), it)| {
            let count = [it.fired, it.failures, it.stops].get(figure).copied().unwrap_or_default();
            (vec![("point", &**point), ("hook", &**hook)], count.to_string())
        });
        page.family(name, counter, help, samples);
    }
    let samples = hooks.iter().flat_map(|((point, hook), it)| {
        [("0.5", it.p50_ms), ("0.95", it.p95_ms)].map(|(quantile, ms)| {
            let labels = vec![("point", &**point), ("hook", &**hook), ("quantile", quantile)];
            (labels, (ms / 1e3).to_string())
        })
    });
    page.family(
        "pintle_hook_duration_seconds",
        "summary",
        "How long the newest calls of a hook took.",
        samples,
    );
    let mut response = page.0.into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(Reply::Other(response))
}
