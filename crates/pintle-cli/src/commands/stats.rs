//! `pintle stats`: time and refusals of hooks, cost of models, and verdicts of rules in shadow mode.

use std::{collections::BTreeMap, process::ExitCode};

use chrono::{DateTime, Local};
use pintle::HandlerOutcome;
use pintle_agent::{
    Store,
    store::{FiredHooks, HookCalls, StoredRun},
};
use serde_json::{Value, json};

use crate::{
    args::Stats,
    chat::now_ms,
    environment::Environment,
    out::{say, say_json, say_line},
    problem::Problem,
    shown::{Show, Shown, blue, bold, dim, red, text},
    store,
    term::{Column, Table, cost, count, duration_ms, tokens, width},
};

/// The default period.
const WEEK_MS: u64 = 7 * 24 * 60 * 60 * 1000;
/// How wide the longest bar is.
const BAR: u64 = 12;

pub(crate) async fn run(environment: &Environment, stats: &Stats) -> Result<ExitCode, Problem> {
    let store = store::open(environment).await?;
    let since = now_ms().saturating_sub(stats.since.unwrap_or(WEEK_MS));
    let hooks = store.fired_hooks(since).await?;
    let runs = store.runs_since(since).await?;
    let guards = match stats.shadow {
        true => shadow_guards(&*store, &runs).await?,
        false => BTreeMap::new(),
    };
    store.close().await;
    let hooks = called(&hooks, stats.shadow);
    let usage = usage(&runs);
    match (environment.json, stats.shadow) {
        (true, true) => say_json(&shadow_json(&hooks, &guards))?,
        (true, false) => say_json(&to_json(&hooks, &usage))?,
        (false, true) => print_shadow(&hooks, &guards),
        (false, false) => print(&hooks, &usage),
    }
    Ok(ExitCode::SUCCESS)
}

/// The calls of one hook.
struct Hook<'a> {
    point: &'a str,
    name: &'a str,
    calls: &'a HookCalls,
}

impl Hook<'_> {
    fn number(&self) -> u64 {
        self.outcomes(|_| true)
    }

    fn failures(&self) -> u64 {
        self.outcomes(|outcome| !HandlerOutcome::NO_FAILURE.contains(&outcome))
    }

    fn refusals(&self) -> u64 {
        self.outcomes(|outcome| matches!(outcome, "blocked" | "claimed"))
    }

    fn outcomes(&self, wanted: impl Fn(&str) -> bool) -> u64 {
        self.calls.outcomes.iter().filter(|(name, _)| wanted(name)).map(|(_, number)| number).sum()
    }
}

/// The hooks that were called since then, or in shadow mode, by point and name.
fn called(hooks: &FiredHooks, shadow: bool) -> Vec<Hook<'_>> {
    let hook = |((point, name), calls)| Hook { point, name, calls };
    let mut found: Vec<_> = hooks
        .iter()
        .map(|((point, name), calls)| hook(((point.as_str(), name.as_str()), calls)))
        .filter(|hook| match shadow {
            true => !hook.calls.shadow.is_empty(),
            false => !hook.calls.outcomes.is_empty(),
        })
        .collect();
    found.sort_by_key(|hook| (hook.point, hook.name));
    found
}

/// What one personality used on one day.
#[derive(Default)]
struct Usage {
    runs: u64,
    input: u64,
    output: u64,
    cost: f64,
}

/// By day, newest first, and personality.
fn usage(runs: &[StoredRun]) -> Vec<((String, String), Usage)> {
    let mut days: BTreeMap<(String, String), Usage> = BTreeMap::new();
    for run in runs {
        let began = i64::try_from(run.started_at).unwrap_or(i64::MAX);
        let began = DateTime::from_timestamp_millis(began).unwrap_or_default();
        let day = began.with_timezone(&Local).format("%Y-%m-%d").to_string();
        let who = run.personality.clone().unwrap_or_default();
        let usage = days.entry((day, who)).or_default();
        usage.runs += 1;
        usage.input += run.input_tokens;
        usage.output += run.output_tokens;
        usage.cost += run.cost_usd;
    }
    let mut days: Vec<_> = days.into_iter().collect();
    days.sort_by(|(one, _), (other, _)| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    days
}

/// What guards in shadow mode would have refused, by where they are written.
async fn shadow_guards(
    store: &dyn Store,
    runs: &[StoredRun],
) -> Result<BTreeMap<String, Guarded>, Problem> {
    let mut found: BTreeMap<String, Guarded> = BTreeMap::new();
    for run in runs {
        let events = store.events(&run.run_id).await?;
        for event in events.iter().filter(|event| event.kind == "judged") {
            let judged: Value = serde_json::from_str(&event.json).unwrap_or_default();
            let also = judged.get("also").and_then(Value::as_array).into_iter().flatten();
            let shadow = |step: &&Value| {
                step.get("shadow") == Some(&json!(true))
                    && step.get("step") == Some(&json!("guards"))
            };
            for step in also.filter(shadow) {
                let word = |key: &str| step.get(key).and_then(Value::as_str).unwrap_or_default();
                let guard = found.entry(word("source").to_owned()).or_default();
                guard.refusals += 1;
                word("detail").clone_into(&mut guard.last);
            }
        }
    }
    Ok(found)
}

/// What a guard in shadow mode would have refused.
#[derive(Default)]
struct Guarded {
    refusals: u64,
    last: String,
}

/// A bar for a share of the largest number.
fn bar(number: f64, largest: f64) -> Shown {
    let share = if largest > 0.0 { number / largest } else { 0.0 };
    let columns = (share * BAR as f64).ceil().clamp(0.0, BAR as f64) as usize;
    blue("█".repeat(columns))
}

fn print(hooks: &[Hook<'_>], usage: &[((String, String), Usage)]) {
    if hooks.is_empty() && usage.is_empty() {
        say!("No runs in this time.");
        return;
    }
    let p95 = |hook: &Hook<'_>| hook.calls.percentile(95).unwrap_or_default();
    let slowest = hooks.iter().map(p95).fold(0.0, f64::max);
    if !hooks.is_empty() {
        let mut table = Table::new([
            Column::new("HOOK").loses_end(),
            Column::new("POINT"),
            Column::new("CALLS").right(),
            Column::new("BLOCKED").right().below(),
            Column::new("FAILED").right().below(),
            Column::new("P50").right(),
            Column::new("P95").right(),
            Column::new("").below(),
        ]);
        for hook in hooks {
            let failed = count(hook.failures()).shown();
            table.row([
                bold(hook.name),
                dim(hook.point),
                count(hook.number()).shown(),
                count(hook.refusals()).shown(),
                if hook.failures() > 0 { red(failed) } else { failed },
                duration_ms(hook.calls.percentile(50).unwrap_or_default()).shown(),
                duration_ms(p95(hook)).shown(),
                text!("{} ", bar(p95(hook), slowest)),
            ]);
        }
        table.lines(width()).iter().for_each(say_line);
    }
    if !usage.is_empty() {
        if !hooks.is_empty() {
            say!("");
        }
        let whole = |usage: &Usage| (usage.input + usage.output) as f64;
        let most = usage.iter().map(|(_, usage)| whole(usage)).fold(0.0, f64::max);
        let mut table = Table::new([
            Column::new("DAY"),
            Column::new("PERSONALITY").loses_end(),
            Column::new("RUNS").right(),
            Column::new("TOKENS IN").right(),
            Column::new("OUT").right(),
            Column::new("COST").right(),
            Column::new("").below(),
        ]);
        let mut before = "";
        for ((day, who), usage) in usage {
            let shown = if day == before { " " } else { day };
            before = day;
            table.row([
                shown.shown(),
                bold(who),
                count(usage.runs).shown(),
                tokens(usage.input).shown(),
                tokens(usage.output).shown(),
                cost(usage.cost).unwrap_or_default().shown(),
                text!("{} ", bar(whole(usage), most)),
            ]);
        }
        table.lines(width()).iter().for_each(say_line);
    }
}

fn print_shadow(hooks: &[Hook<'_>], guards: &BTreeMap<String, Guarded>) {
    if hooks.is_empty() && guards.is_empty() {
        say!("Nothing in shadow mode would have refused a call or asked about one.");
        return;
    }
    let mut table = Table::new([
        Column::new("IN SHADOW MODE").loses_end(),
        Column::new("POINT"),
        Column::new("CALLS").right(),
        Column::new("WOULD BLOCK").right(),
        Column::new("WOULD ASK").right(),
        Column::new("FAILED").right(),
    ]);
    for hook in hooks {
        let (whole, blocks, asks, failures) = shadow_counts(hook.calls);
        table.row([
            bold(hook.name),
            dim(hook.point),
            count(whole).shown(),
            count(blocks).shown(),
            count(asks).shown(),
            count(failures).shown(),
        ]);
    }
    for (source, guard) in guards {
        let refusals = count(guard.refusals).shown();
        let empty = Shown::default;
        table.row([bold(text!("guard {}", source)), dim("-"), empty(), refusals, empty(), empty()]);
    }
    table.lines(width()).iter().for_each(say_line);
}

/// All calls, and those that would have blocked, asked, and failed: a failure would have blocked too.
fn shadow_counts(calls: &HookCalls) -> (u64, u64, u64, u64) {
    let of = |wanted: &dyn Fn(&str) -> bool| -> u64 {
        calls.shadow.iter().filter(|(name, _)| wanted(name)).map(|(_, number)| number).sum()
    };
    (
        of(&|_| true),
        of(&|name| name == "blocked"),
        of(&|name| name == "asked"),
        of(&|name| !HandlerOutcome::NO_FAILURE.contains(&name)),
    )
}

fn to_json(hooks: &[Hook<'_>], usage: &[((String, String), Usage)]) -> Value {
    let hooks: Vec<Value> = hooks
        .iter()
        .map(|hook| {
            json!({
                "point": hook.point,
                "name": hook.name,
                "calls": hook.number(),
                "blocked": hook.refusals(),
                "failures": hook.failures(),
                "p50Ms": hook.calls.percentile(50),
                "p95Ms": hook.calls.percentile(95),
            })
        })
        .collect();
    let usage: Vec<Value> = usage
        .iter()
        .map(|((day, personality), usage)| {
            json!({
                "day": day,
                "personality": personality,
                "runs": usage.runs,
                "inputTokens": usage.input,
                "outputTokens": usage.output,
                "costUsd": usage.cost,
            })
        })
        .collect();
    json!({ "hooks": hooks, "usage": usage })
}

fn shadow_json(hooks: &[Hook<'_>], guards: &BTreeMap<String, Guarded>) -> Value {
    let hooks: Vec<Value> = hooks
        .iter()
        .map(|hook| {
            let (calls, blocks, asks, failures) = shadow_counts(hook.calls);
            json!({
                "point": hook.point, "name": hook.name, "calls": calls,
                "wouldBlock": blocks, "wouldAsk": asks, "failures": failures,
            })
        })
        .collect();
    let guards: Vec<Value> = guards
        .iter()
        .map(|(source, guard)| {
            json!({ "source": source, "wouldRefuse": guard.refusals, "last": guard.last })
        })
        .collect();
    json!({ "hooks": hooks, "guards": guards })
}
