//! `pintle trace` shows a run as a waterfall; `pintle runs` lists runs.

mod axis;
mod rows;

use std::{process::ExitCode, sync::Arc};

use pintle_agent::store::{IdKind, Store, StoredRun};
use serde_json::{Value, json};

use self::{
    axis::Axis,
    rows::{Bar, Row, Rows, hooks_allowed, read},
};
use crate::{
    args::{Runs, Trace},
    chat::now_ms,
    environment::Environment,
    exporter::Exporter,
    ids,
    out::{say, say_json, say_line, tell},
    problem::Problem,
    shown::{Show, Shown, bold, dim, red, text},
    store,
    term::{
        Column, Table, ago, columns, cost, count, duration_ms, fit, millis, pad, plural, width,
        wrap,
    },
    undelivered::trouble,
};

/// How many of the newest runs are looked at.
const SEARCHED: u32 = 1000;
/// How many are listed without `--all`.
const LISTED: usize = 20;

/// A run with its events.
struct Recorded {
    run: StoredRun,
    /// Its short id, and that of its session.
    short: String,
    session: String,
    parent: Option<String>,
    events: Vec<(u64, Value)>,
}

pub(crate) async fn run(environment: &Environment, trace: Trace) -> Result<ExitCode, Problem> {
    let store = store::open(environment).await?;
    let run = find(&*store, trace.run.as_deref()).await?;
    if let Some(url) = &trace.otlp {
        return export(environment, store, run, url, trace.content).await;
    }
    if environment.json {
        let events = store.events(&run.run_id).await?;
        store.close().await;
        let events: Vec<Value> =
            events.iter().filter_map(|event| serde_json::from_str(&event.json).ok()).collect();
        say_json(&json!({ "run": run, "events": events }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let root = recorded(&*store, run).await?;
    let mut others = Vec::new();
    let until = root.run.ended_at.unwrap_or_else(now_ms);
    for run in store.runs(SEARCHED).await? {
        // A sub-agent runs while its parent does.
        if run.run_id != root.run.run_id
            && run.started_at >= root.run.started_at
            && run.started_at <= until
        {
            others.push(recorded(&*store, run).await?);
        }
    }
    store.close().await;
    waterfall(&root, &others, environment.verbose, width()).iter().for_each(say_line);
    Ok(ExitCode::SUCCESS)
}

/// Sends a run and its sub-agents' as one trace, and waits until it has arrived.
async fn export(
    environment: &Environment,
    store: Arc<dyn Store>,
    run: StoredRun,
    url: &str,
    content: bool,
) -> Result<ExitCode, Problem> {
    let exporter = Exporter::open(store.clone(), url, content, None)?;
    let runs = with_sub_agents(&*store, run).await?;
    for run in &runs {
        exporter.send(&run.run_id).await?;
    }
    let stats = exporter.close().await;
    store.close().await;
    let troubles: Vec<String> = stats.iter().flat_map(|it| trouble("traces", it)).collect();
    if let Some(trouble) = troubles.first() {
        return Err(Problem::new(format!("the trace did not arrive at {url}"))
            .cause(trouble)
            .fix("start a collector there that takes OTLP over HTTP, or name another URL"));
    }
    match environment.json {
        true => say_json(&json!({ "runs": runs.len(), "url": url }))?,
        false => say!("sent {} to {}", plural(runs.len() as u64, "run"), url),
    }
    Ok(ExitCode::SUCCESS)
}

/// A run, and those of the sub-agents that it started.
pub(crate) async fn with_sub_agents(
    store: &dyn Store,
    root: StoredRun,
) -> Result<Vec<StoredRun>, Problem> {
    let until = root.ended_at.unwrap_or(u64::MAX);
    let mut found = vec![root.clone()];
    for run in store.runs_since(root.started_at).await? {
        let session = store.session(&run.session_id).await?;
        let parent = session.and_then(|session| session.parent);
        let is_child = found.iter().any(|it| Some(&it.session_id) == parent.as_ref());
        if is_child && run.started_at <= until {
            found.push(run);
        }
    }
    Ok(found)
}

async fn recorded(store: &dyn Store, run: StoredRun) -> Result<Recorded, Problem> {
    let parent = store.session(&run.session_id).await?.and_then(|session| session.parent);
    let events = store.events(&run.run_id).await?.into_iter();
    let events = events.filter_map(|it| Some((it.at, serde_json::from_str(&it.json).ok()?)));
    let short = ids::short(store, IdKind::Run, &run.run_id).await?;
    let session = ids::short(store, IdKind::Session, &run.session_id).await?;
    Ok(Recorded { parent, short, session, events: events.collect(), run })
}

pub(crate) async fn find(store: &dyn Store, named: Option<&str>) -> Result<StoredRun, Problem> {
    let runs = store.runs(SEARCHED).await?;
    let Some(named) = named else {
        for run in runs {
            let session = store.session(&run.session_id).await?;
            if session.is_none_or(|session| session.parent.is_none()) {
                return Ok(run);
            }
        }
        return Err(Problem::not_found("there are no runs yet").fix("pintle chat, or pintle demo"));
    };
    let all = runs.into_iter().map(|run| run.run_id);
    let id = ids::find(store, IdKind::Run, named, all).await?;
    let gone = || Problem::not_found(format!("the run `{named}` is not recorded any more"));
    store.run(&id).await?.ok_or_else(gone)
}

/// The rows of a run, and below each `delegate` those of its sub-agent.
fn rows_of(recorded: &Recorded, others: &[Recorded], origin: u64, verbose: u8) -> Rows {
    let mut taken: Vec<&str> = Vec::new();
    let mut sub_agents = |args: &Value, from: f64, to: f64| {
        let task = args.get("task").and_then(Value::as_str);
        let mut fits = others.iter().filter(|child| {
            let begun = child.run.started_at.saturating_sub(origin) as f64;
            child.parent.as_ref() == Some(&recorded.run.session_id)
                && (from..=to).contains(&begun)
                && !taken.contains(&child.run.run_id.as_str())
        });
        let asked = |child: &&Recorded| child.prompt() == task;
        let Some(child) = fits.clone().find(asked).or_else(|| fits.next()) else {
            return Vec::new();
        };
        taken.push(&child.run.run_id);
        rows_of(child, others, origin, verbose).rows
    };
    read(&recorded.events, origin, verbose, &mut sub_agents)
}

impl Recorded {
    fn prompt(&self) -> Option<&str> {
        self.events.iter().find_map(|(_, event)| event.get("prompt")?.as_str())
    }

    fn took(&self) -> Option<u64> {
        Some(self.run.ended_at?.saturating_sub(self.run.started_at))
    }
}

/// The run in so many columns.
fn waterfall(root: &Recorded, others: &[Recorded], verbose: u8, width: usize) -> Vec<Shown> {
    let rows = rows_of(root, others, root.run.started_at, verbose);
    let (bars, times) = match width {
        0..60 => (16, 8),
        _ => (width * 44 / 100, width * 11 / 100),
    };
    let spans = |wanted: fn(Bar) -> bool| {
        let mut spans = Vec::new();
        rows.rows.iter().for_each(|row| row.spans(wanted, &mut spans));
        spans
    };
    let took = root.took().unwrap_or(0) as f64;
    let end = rows.rows.iter().map(Row::to).fold(took, f64::max).max(1.0);
    let waits = spans(|bar| bar == Bar::Wait);
    let busy = spans(|bar| matches!(bar, Bar::Tool | Bar::Model));
    let axis = Axis::new(bars, end, &waits, &busy);
    let labels = width - bars - times - 1;
    let mut page = Page { axis, labels, bars, times, width, lines: Vec::new() };
    page.header(root, &rows);
    page.lines.push(Shown::default());
    page.lines.push(text!("{} {}", pad(&Shown::default(), labels, false), page.axis.header()));
    for row in &rows.rows {
        page.row(row, "", None);
    }
    page.lines.push(Shown::default());
    page.footer(root, &rows, verbose);
    page.lines
}

/// The columns of the waterfall, and its lines so far.
struct Page {
    axis: Axis,
    labels: usize,
    bars: usize,
    times: usize,
    width: usize,
    lines: Vec<Shown>,
}

impl Page {
    fn wrapped(&mut self, line: &Shown, indent: usize) {
        self.lines.push(wrap(line, self.width, indent));
    }

    /// A row, and those below it behind a line that ends with the last one.
    fn row(&mut self, row: &Row, before: &str, last: Option<bool>) {
        let branch = match last {
            None => "",
            Some(true) => "└ ",
            Some(false) => "│ ",
        };
        let label = text!("{}{}", dim(text!("{}{}", before, branch)), row.label);
        let label = pad(&fit(&label, self.labels), self.labels, false);
        let bar = pad(&self.axis.draw(&row.segments, row.failed), self.bars, false);
        let time = pad(&duration_ms(row.took()).shown(), self.times, true);
        self.lines.push(text!("{} {}{}", label, bar, dim(time)));
        let before = match last {
            None => String::new(),
            Some(true) => format!("{before}  "),
            Some(false) => format!("{before}│ "),
        };
        for (nth, child) in row.children.iter().enumerate() {
            self.row(child, &before, Some(nth + 1 == row.children.len()));
        }
    }

    fn header(&mut self, root: &Recorded, rows: &Rows) {
        let run = &root.run;
        let prompt = rows.prompt.lines().next().unwrap_or_default();
        let mut facts = vec![run.outcome.clone().unwrap_or_else(|| "not ended".to_owned())];
        facts.extend(root.took().map(millis));
        facts.extend(cost(run.cost_usd));
        let (id, facts) = (bold(text!("run {}", root.short)), facts.join(" · "));
        let whole = text!("{} · {} · {}", id, prompt, facts);
        if !prompt.is_empty() && columns(&whole) <= self.width {
            self.lines.push(whole);
        } else {
            self.lines.push(text!("{} · {}", id, facts));
            if !prompt.is_empty() {
                self.wrapped(&prompt.shown(), 2);
            }
        }
        let tier = rows.tier.as_deref().map(|tier| format!(" · sandbox {tier}"));
        let tier = tier.unwrap_or_default();
        self.wrapped(&dim(text!("{} · session {}{}", run.model, root.session, tier)), 2);
    }

    fn footer(&mut self, root: &Recorded, rows: &Rows, verbose: u8) {
        let fold = self.axis.folded().map(|ms| format!("  ┊ {} folded", millis(ms)));
        let legend = "▒ model  █ tool or hook  ░ waiting for a person  ▏ instant";
        self.wrapped(&dim(text!("{}{}", legend, fold.unwrap_or_default())), 0);
        for note in &rows.notes {
            self.wrapped(&note.shown(), 2);
        }
        let mut said: Vec<String> = hooks_allowed(rows).into_iter().collect();
        if !said.is_empty() && verbose == 0 {
            said.push("-v shows each".to_owned());
        }
        if let Some(tier) = &rows.tier {
            said.push(format!("sandbox {tier}, {} refused", count(rows.refused)));
        }
        if !said.is_empty() {
            self.wrapped(&dim(said.join(" · ")), 2);
        }
        if root.run.dropped_events > 0 {
            let missing = plural(root.run.dropped_events, "event");
            let missing = red(text!("{} missing", missing));
            self.wrapped(&text!("{}: they came faster than they were written", missing), 2);
        }
    }
}

/// `pintle runs`.
pub(crate) async fn list(environment: &Environment, runs: &Runs) -> Result<ExitCode, Problem> {
    let store = store::open(environment).await?;
    let all = store.runs(SEARCHED).await?;
    let whole = all.len();
    let mut listed = Vec::new();
    for run in all {
        let recorded = recorded(&*store, run).await?;
        let rows = read(&recorded.events, recorded.run.started_at, 0, &mut |_, _, _| Vec::new());
        if !runs.blocked || rows.blocked > 0 {
            listed.push((recorded, rows));
        }
        if !runs.all && listed.len() == LISTED {
            break;
        }
    }
    store.close().await;
    if environment.json {
        for (recorded, rows) in &listed {
            let mut facts = json!(recorded.run);
            if let Some(facts) = facts.as_object_mut() {
                facts.insert("shortId".into(), recorded.short.as_str().into());
                facts.insert("prompt".into(), rows.prompt.as_str().into());
                facts.insert("calls".into(), rows.calls.into());
                facts.insert("blocked".into(), rows.blocked.into());
                facts.insert("parentSessionId".into(), json!(recorded.parent));
            }
            say_json(&facts)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if listed.is_empty() {
        say!("{}", if runs.blocked { "No call was blocked." } else { "No runs yet." });
        return Ok(ExitCode::SUCCESS);
    }
    table(&listed).lines(width()).iter().for_each(say_line);
    let shown = count(listed.len() as u64);
    let more = format!(
        "{shown} of {} · --all · --blocked · pintle trace RUN",
        plural(whole as u64, "run")
    );
    if environment.stdout_is_terminal {
        tell!("{}", wrap(&dim(more), width(), 2));
    }
    Ok(ExitCode::SUCCESS)
}

fn table(listed: &[(Recorded, Rows)]) -> Table {
    let mut table = Table::new([
        Column::new("RUN"),
        Column::new("WHEN"),
        Column::new("ASKED FOR").loses_end(),
        Column::new("CALLS").right().below(),
        Column::new("BLOCKED").right().below(),
        Column::new("TIME").right(),
        Column::new("COST").right().below(),
    ]);
    let now = now_ms();
    // A sub-agent is below its parent, which began earlier.
    let is_child = |it: &&(Recorded, Rows)| {
        let parents = listed.iter().map(|(recorded, _)| &recorded.run.session_id);
        it.0.parent.as_ref().is_some_and(|parent| parents.clone().any(|id| id == parent))
    };
    for entry in listed.iter().filter(|it| !is_child(it)) {
        row(&mut table, entry, "", now);
        children(&mut table, listed, &entry.0, now);
    }
    table
}

fn children(table: &mut Table, listed: &[(Recorded, Rows)], parent: &Recorded, now: u64) {
    let until = parent.run.ended_at.unwrap_or(now);
    let of = |it: &&(Recorded, Rows)| {
        it.0.parent.as_ref() == Some(&parent.run.session_id)
            && (parent.run.started_at..=until).contains(&it.0.run.started_at)
    };
    for entry in listed.iter().filter(of) {
        row(table, entry, "├ ", now);
        children(table, listed, &entry.0, now);
    }
}

fn row(table: &mut Table, (recorded, rows): &(Recorded, Rows), branch: &str, now: u64) {
    let run = &recorded.run;
    let prompt = rows.prompt.lines().next().unwrap_or_default();
    let when = if branch.is_empty() { ago(run.started_at, now) } else { " ".to_owned() };
    let prompt =
        if branch.is_empty() { prompt.to_owned() } else { format!("{prompt} (sub-agent)") };
    let blocked = count(rows.blocked).shown();
    table.row([
        text!("{}{}", dim(branch), bold(&recorded.short)),
        when.shown(),
        prompt.shown(),
        count(rows.calls).shown(),
        if rows.blocked > 0 { red(blocked) } else { blocked },
        recorded.took().map_or_else(|| "running".to_owned(), millis).shown(),
        cost(run.cost_usd).unwrap_or_default().shown(),
    ]);
}

#[cfg(test)]
mod tests;
