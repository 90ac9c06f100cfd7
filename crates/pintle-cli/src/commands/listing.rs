//! `pintle hooks list`: every hook, and the state it is in.

use std::{collections::HashSet, path::Path, process::ExitCode};

use pintle::{HandlerInfo, Hooks as Registry, ModelKind};
use pintle_actions::{BUILT_IN, in_profiles, trust::Trust};
use pintle_agent::{
    Store, StoreError,
    store::{FiredHooks, HookCalls},
};
use pintle_consumers as consumers;
use pintle_plugins::PluginInfo;
use pintle_profile::{Consumer, DeclaredHook, Hook, ProfileErrors, declared_hooks};
use serde_json::{Map, Value, json};

use super::hooks::{binding, observes};
use crate::{
    args::Who,
    assembly::{AgentOptions, Assembled},
    chat::now_ms,
    environment::Environment,
    out::{say, say_line, say_pretty_json},
    problem::{Problem, facts},
    profile,
    shown::{Show, Shown, bold, dim, green, red, text},
    term::{Column, Glyph, Table, count, duration_ms, plural, width, wrap},
};

const DISABLED: &str = "switched off by PINTLE_DISABLE_HOOKS, or disable_hooks in pintle.toml";

/// The period in which calls are counted.
const COUNTED_MS: u64 = 7 * 24 * 60 * 60 * 1000;

const INDENT: &str = "  ";

/// What to do about a hook that timed out again and again.
pub(super) const FAILING_FIX: &str =
    "find out why it does not answer, or give it more time with `timeoutMs`";

/// One hook.
struct Row {
    point: String,
    name: String,
    kind: &'static str,
    from: String,
    state: State,
    /// Its facts, as JSON.
    facts: Map<String, Value>,
    /// A problem of it, with the effect and the fix.
    notes: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Active,
    Failing,
    NeverFired,
    Disabled,
    Untrusted,
    Invalid,
    NotLoaded,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Failing => "failing",
            Self::NeverFired => "never fired",
            Self::Disabled => "disabled",
            Self::Untrusted => "untrusted",
            Self::Invalid => "invalid",
            Self::NotLoaded => "not loaded",
        }
    }

    /// States that need attention are in capitals.
    fn shown(self) -> Shown {
        match self {
            Self::Active => green(self.name()),
            Self::Failing | Self::Untrusted | Self::Invalid => {
                bold(red(self.name().to_uppercase()))
            }
            Self::NeverFired | Self::Disabled | Self::NotLoaded => dim(self.name()),
        }
    }
}

pub(crate) async fn run(
    environment: &Environment,
    who: &Who,
    all: bool,
) -> Result<ExitCode, Problem> {
    if let Some(dir) = &who.profile {
        let dir = environment.absolute(dir)?;
        let model = profile::Model::by(environment, who);
        if let Some(errors) = profile::faults(&dir, environment, model)? {
            return of_broken(environment, &dir, &errors);
        }
    }
    let extras = AgentOptions { only_looks: true, ..AgentOptions::mute() };
    let assembled = Assembled::new(environment, who, extras).await?;
    let calls = recent_calls(&*assembled.store).await?;
    let rows = rows(environment, &assembled, &calls)?;
    let in_force = who.found.in_force(environment, assembled.profile.as_ref());
    assembled.close().await;
    if environment.json {
        say_pretty_json(&rows.iter().map(Row::to_json).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    say!("{}\n", wrap(&text!("{} {}", dim("profile"), in_force), width(), 2));
    print_rows(&rows, &calls);
    for (row, note) in rows.iter().flat_map(|row| row.notes.iter().map(move |note| (row, note))) {
        let line = text!("{} {}: {}", Glyph::Warning, row.name, note);
        say!("{}", wrap(&line, width(), 2));
    }
    let points = Registry::new().known_points();
    let hooked: HashSet<&str> = rows.iter().map(|row| row.point.as_str()).collect();
    let free: Vec<&str> =
        points.iter().map(|point| point.name).filter(|name| !hooked.contains(name)).collect();
    match all {
        true => say!("{}", dim(wrap(&text!("no hook: {}", free.join(", ")), width(), 2))),
        false => {
            say!("{}", dim(text!("{} without a hook · --all", plural(free.len() as u64, "point"))))
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn recent_calls(store: &dyn Store) -> Result<FiredHooks, StoreError> {
    store.fired_hooks(now_ms().saturating_sub(COUNTED_MS)).await
}

/// Whether it blocks at once because it timed out again and again.
pub(super) fn is_failing(info: &HandlerInfo, calls: &FiredHooks) -> bool {
    let of_it = calls.get(&(info.point.to_owned(), info.name.to_string()));
    info.model == ModelKind::Gate && of_it.is_some_and(HookCalls::is_failing)
}

fn rows(
    environment: &Environment,
    assembled: &Assembled,
    calls: &FiredHooks,
) -> Result<Vec<Row>, Problem> {
    let bound = &assembled.bound;
    let profile = assembled.profile.as_ref();
    let hooks = profile.map(|it| it.hooks.as_slice()).unwrap_or_default();
    let untrusted = match profile.filter(|_| !bound.untrusted.is_empty()) {
        Some(profile) => {
            let trust = Trust::read(&environment.data_dir()?, profile)?;
            trust
                .check()
                .err()
                .map(|why| format!("{why}, so it blocks every call · fix: {}", trust.way_out()))
        }
        None => None,
    };
    let state = |info: &HandlerInfo| match &*info.name {
        name if bound.untrusted.iter().any(|it| it == name) => State::Untrusted,
        _ if is_failing(info, calls) => State::Failing,
        name if calls.contains_key(&(info.point.to_owned(), name.to_owned())) => State::Active,
        _ => State::NeverFired,
    };
    let mut rows: Vec<Row> = Vec::new();
    for info in assembled.agent.hooks().list() {
        let hook = hooks.iter().find(|hook| hook.name == *info.name);
        let mut row = Row::bound(&info, hook, state(&info), observes(profile, &info));
        if row.state == State::Untrusted {
            row.notes.extend(untrusted.clone());
        }
        if row.state == State::Failing {
            row.notes.push(format!(
                "its newest calls timed out, so it blocks at once and is tried again every 30 s · fix: {FAILING_FIX}"
            ));
        }
        rows.push(row);
    }
    rows.extend(bound.disabled.iter().map(Row::disabled));
    for PluginInfo { manifest, silenced, .. } in assembled.plugins.list() {
        rows.extend(silenced.iter().map(|point| Row::silenced(&manifest.id, point)));
    }
    rows.extend(consumers::switched_off(&assembled.operator.consumers).map(Row::switched_off));
    // In the order of the run's points, and at each in the order in which they run.
    let points = Registry::new().known_points();
    rows.sort_by_key(|row| points.iter().position(|point| point.name == row.point));
    Ok(rows)
}

/// A profile that does not load: its mistakes, each once.
fn of_broken(
    environment: &Environment,
    dir: &Path,
    errors: &ProfileErrors,
) -> Result<ExitCode, Problem> {
    let settings = environment.settings()?;
    let problem = match &settings {
        Ok(_) => profile::does_not_load(dir, errors),
        Err(of_operator) => profile::does_not_load(dir, &of_operator.clone().and(errors.clone())),
    };
    if !environment.json {
        return Err(problem);
    }
    let disabled = settings.as_ref().is_ok_and(|operator| operator.disable_hooks);
    let settings = settings.map(|operator| operator.consumers.clone()).unwrap_or_default();
    let built_ins = Registry::new();
    let host = consumers::Host { settings: &settings, workspace: dir, data: dir, classifier: None };
    consumers::bind(&host, &built_ins).map_err(Problem::new)?;
    let built_ins = built_ins.list();
    let mut rows: Vec<Row> =
        built_ins.iter().map(|info| Row::bound(info, None, State::NeverFired, false)).collect();
    rows.extend(consumers::switched_off(&settings).map(Row::switched_off));
    let declared = declared_hooks(dir, errors, &in_profiles(&BUILT_IN));
    rows.extend(declared.iter().map(|hook| Row::declared(hook, disabled)));
    say_pretty_json(&rows.iter().map(Row::to_json).collect::<Vec<_>>())?;
    // The rows are the one thing on standard output.
    crate::out::tell!("{}", problem);
    Ok(ExitCode::FAILURE)
}

impl Row {
    fn bound(info: &HandlerInfo, hook: Option<&Hook>, state: State, observes: bool) -> Self {
        let facts = serde_json::to_value(info).ok().and_then(|facts| facts.as_object().cloned());
        let binds = binding(info.point);
        let kind = match (hook.map(|hook| hook.action), info.model) {
            (Some("approve"), _) => "asks",
            _ if observes => "observer",
            (_, ModelKind::Gate) if binds == Some(false) => "advises",
            (_, ModelKind::Gate) => "gate",
            (_, ModelKind::Void) => "observer",
            (_, ModelKind::Modifying) => "modifies",
            (_, ModelKind::Claiming) => "claims",
        };
        let from = match info.plugin.as_deref() {
            Some(plugin) => format!("plugin {plugin}"),
            None => info.source.to_string(),
        };
        let widened = hook.and_then(|hook| hook.uses.widened());
        let mut row = Self {
            point: info.point.to_owned(),
            name: info.name.to_string(),
            kind,
            from,
            state,
            facts: facts.unwrap_or_default(),
            notes: widened.map(str::to_owned).into_iter().collect(),
        };
        row.facts.extend(widened.map(|may| ("widened".to_owned(), may.into())));
        row.with_rights(Some(info.point), observes)
    }

    fn disabled(hook: &Hook) -> Self {
        let mut row = Self::written(&hook.name, &hook.source, Some(hook.bucket.point), true);
        if !hook.tools.is_empty() {
            row.facts.insert("tools".into(), json!(hook.tools));
        }
        row.notes = vec![DISABLED.into()];
        row
    }

    /// An observer of a plugin that the operator switched off.
    fn silenced(plugin: &str, point: &str) -> Self {
        let mut row = Self::written(plugin, &format!("plugin {plugin}"), Some(point), true);
        row.facts.insert("model".into(), json!(ModelKind::Void));
        row.facts.insert("plugin".into(), plugin.into());
        row.notes = vec![DISABLED.into()];
        row
    }

    /// A consumer that the operator switched off.
    fn switched_off((name, consumer): (&str, Consumer)) -> Self {
        let mut row = Self::written(name, "built-in", None, false);
        row.kind = "consumer";
        row.notes = vec![format!(
            "switched off by `off = [\"{}\"]` under [consumers] in pintle.toml",
            consumer.name()
        )];
        row
    }

    fn declared(hook: &DeclaredHook, disabled: bool) -> Self {
        let mut row = Self::written(&hook.name, &hook.source, hook.point, hook.observes);
        row.state = match hook.point {
            Some(_) if hook.errors.is_empty() && disabled && hook.observes => State::Disabled,
            Some(_) if hook.errors.is_empty() => State::NotLoaded,
            _ => State::Invalid,
        };
        row.facts.insert("bucket".into(), json!(hook.bucket));
        if row.state == State::Invalid {
            row.facts.insert("errors".into(), hook.errors.iter().map(facts).collect());
        }
        row
    }

    /// A hook that is not bound; all those of a profile are at gates.
    fn written(name: &str, source: &str, point: Option<&str>, observes: bool) -> Self {
        let model = ModelKind::Gate;
        let facts = json!({ "point": point, "model": model, "name": name, "priority": 0, "source": source });
        let row = Self {
            point: point.unwrap_or_default().to_owned(),
            name: name.to_owned(),
            kind: if observes { "observer" } else { "gate" },
            from: source.to_owned(),
            state: State::Disabled,
            facts: facts.as_object().cloned().unwrap_or_default(),
            notes: Vec::new(),
        };
        row.with_rights(point, observes)
    }

    /// Its kind: whether it can block, and whether a block stops the action.
    fn with_rights(mut self, point: Option<&str>, observes: bool) -> Self {
        self.facts.insert("observer".into(), observes.into());
        if let Some(binding) = point.and_then(binding) {
            self.facts.insert("binding".into(), binding.into());
        }
        self
    }

    fn to_json(&self) -> Value {
        let mut facts = self.facts.clone();
        facts.insert("state".into(), self.state.name().into());
        facts.into()
    }

    fn runs(&self) -> bool {
        matches!(self.state, State::Active | State::Failing | State::NeverFired)
    }
}

/// How often it was called, and how long 95 of 100 calls took at most.
fn counted(row: &Row, calls: &FiredHooks) -> (Option<String>, Option<String>) {
    if !row.runs() {
        return (None, None);
    }
    let Some(calls) = calls.get(&(row.point.clone(), row.name.clone())) else {
        return (Some("0".to_owned()), None);
    };
    (Some(count(calls.durations.len() as u64)), calls.percentile(95).map(duration_ms))
}

/// The rows with their place at their point, from 1.
fn numbered(rows: &[Row]) -> impl Iterator<Item = (&Row, usize)> {
    let mut point = "";
    let mut number = 0;
    rows.iter().map(move |row| {
        number = if row.point == point { number + 1 } else { 1 };
        point = &row.point;
        (row, number)
    })
}

/// One table. Where it would cut a name, each point is a heading; where that is too wide, each hook has two lines.
fn print_rows(rows: &[Row], calls: &FiredHooks) {
    let with_points = table(rows, calls, true);
    if !with_points.is_wider_than(width()) {
        return with_points.lines(width()).iter().for_each(say_line);
    }
    let below_points = table(rows, calls, false);
    if below_points.is_wider_than(width().saturating_sub(INDENT.len())) {
        return narrow(rows, calls);
    }
    let lines = below_points.lines(width().saturating_sub(INDENT.len()));
    let mut lines = lines.iter().map(|line| text!("{}{}", INDENT, line));
    lines.next().iter().for_each(say_line);
    let mut point = None;
    for (line, row) in lines.zip(rows) {
        if point.replace(&row.point) != Some(&row.point) {
            say!("{}", row.point);
        }
        say_line(&line);
    }
}

fn table(rows: &[Row], calls: &FiredHooks, has_points: bool) -> Table {
    let point = has_points.then_some(Column::new("POINT"));
    let mut table = Table::new(point.into_iter().chain([
        Column::new("#").right(),
        Column::new("HOOK"),
        Column::new("KIND"),
        Column::new("FROM"),
        Column::new("STATE"),
        Column::new("CALLS").right(),
        Column::new("P95").right(),
    ]));
    for (row, number) in numbered(rows) {
        let (called, p95) = counted(row, calls);
        let number = if row.runs() || row.state == State::Untrusted {
            number.to_string()
        } else {
            String::new()
        };
        let is_first = number == "1" || number.is_empty();
        let point = if is_first { row.point.shown() } else { " ".shown() };
        table.row(has_points.then_some(point).into_iter().chain([
            number.shown(),
            bold(&row.name),
            row.kind.shown(),
            dim(&row.from),
            row.state.shown(),
            called.unwrap_or_default().shown(),
            p95.unwrap_or_default().shown(),
        ]));
    }
    table
}

/// For a narrow terminal: the point as a heading, two lines for each hook.
fn narrow(rows: &[Row], calls: &FiredHooks) {
    for (row, number) in numbered(rows) {
        if number == 1 {
            say!("{}", row.point);
        }
        let took = counted(row, calls).1.map(|took| format!(" · {took}")).unwrap_or_default();
        let line = text!(
            "  {} {} · {} · {}{}",
            number,
            bold(&row.name),
            row.kind,
            row.state.shown(),
            took
        );
        say!("{}", wrap(&line, width(), 4));
        say!("    {}", dim(&row.from));
    }
}
