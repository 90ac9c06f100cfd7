//! The page of hooks, with their states. Hooks that need attention come first.

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};

use super::{
    Problem, Shell,
    format::{duration, plural, roughly},
    html,
    row::Mark,
};
use crate::{
    api::{
        AddedPlugin, Api,
        status::{HookView, hook_views},
    },
    clock::now_ms,
};

struct Hook {
    view: HookView,
    mark: Mark,
    state: &'static str,
    note: String,
    /// Its place among the hooks of its point.
    order: usize,
    last: String,
    p50: String,
    p95: String,
}

#[derive(Template)]
#[template(path = "hooks.html")]
struct Page {
    shell: Shell,
    title: String,
    /// How many hooks are in each state that occurs.
    counts: Vec<(Mark, String)>,
    hooks: Vec<Hook>,
    plugins: Vec<(Mark, AddedPlugin)>,
}

pub(super) async fn all(State(api): State<Api>) -> Result<Response, Problem> {
    let shell = Shell::new(&api, "hooks").await?;
    let mut hooks: Vec<Hook> = Vec::new();
    let listing = (api.config.listed)().await;
    for view in hook_views(&api, listing.idle_hooks).await? {
        let order = 1 + hooks.iter().filter(|hook| hook.view.point == view.point).count();
        hooks.push(Hook::new(view, order));
    }
    let states = ["refused", "failing", "never fired", "disabled", "active"];
    let rank = |hook: &Hook| states.iter().position(|state| *state == hook.state);
    hooks.sort_by_key(rank);
    let counts = states.iter().filter_map(|state| {
        let of_state = hooks.iter().filter(|hook| hook.state == *state);
        let mark = of_state.clone().next()?.mark;
        Some((mark, format!("{} {state}", of_state.count())))
    });
    let counts: Vec<_> = counts.collect();
    let look = hooks.iter().filter(|hook| !["active", "disabled"].contains(&hook.state)).count();
    let title = match look {
        0 => plural(hooks.len(), "hook"),
        1 => format!("{}, 1 needs attention", plural(hooks.len(), "hook")),
        look => format!("{}, {look} need attention", plural(hooks.len(), "hook")),
    };
    let mut plugins: Vec<_> =
        listing.plugins.into_iter().map(|plugin| judged(plugin, &hooks)).collect();
    plugins.sort_by_key(|(mark, _)| !matches!(mark, Mark::Block | Mark::Fail));
    Ok(html(StatusCode::OK, &Page { shell, title, counts, hooks, plugins }))
}

/// A loaded plugin is failing when its hooks fail.
fn judged(mut plugin: AddedPlugin, hooks: &[Hook]) -> (Mark, AddedPlugin) {
    let is_its = |hook: &&Hook| hook.view.plugin.as_ref() == Some(&plugin.id);
    let failing: Vec<&str> = hooks
        .iter()
        .filter(is_its)
        .filter(|hook| hook.mark == Mark::Fail)
        .map(|hook| hook.view.point.as_str())
        .collect();
    if !failing.is_empty() {
        plugin.notes.push(format!("Its hook at {} fails.", failing.join(", ")));
        plugin.state = "failing".into();
    }
    let mark = match plugin.state.as_str() {
        "active" => Mark::Ok,
        "not used" => Mark::Idle,
        "failing" | "lacks grants" => Mark::Fail,
        _ => Mark::Block,
    };
    (mark, plugin)
}

impl Hook {
    fn new(view: HookView, order: usize) -> Self {
        let stats = &view.stats;
        let (mark, state) = match view.state.as_str() {
            "active" => (Mark::Ok, "active"),
            "failing" => (Mark::Fail, "failing"),
            "never_fired" => (Mark::Idle, "never fired"),
            "disabled" => (Mark::Idle, "disabled"),
            // Untrusted or invalid.
            _ => (Mark::Block, "refused"),
        };
        let note = match (&view.note, state) {
            (Some(note), _) => note.clone(),
            (None, "failing") => format!("{} of {} calls failed.", stats.failures, stats.fired),
            (None, "never fired") => "No run has reached it yet.".into(),
            _ => String::new(),
        };
        let last = match stats.last_outcome.as_str() {
            "" => "–".to_string(),
            outcome => {
                let ago = roughly(now_ms().saturating_sub(stats.last_at));
                format!("{}, {ago} ago", outcome.replace('_', " "))
            }
        };
        let time = |ms: f64| if stats.fired == 0 { "–".to_string() } else { duration(ms) };
        let (p50, p95) = (time(stats.p50_ms), time(stats.p95_ms));
        Self { mark, state, note, order, last, p50, p95, view }
    }
}
