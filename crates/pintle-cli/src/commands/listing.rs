//! `pintle hooks list`: every hook, and the state it is in.

use std::{collections::HashSet, path::Path, process::ExitCode};

use pintle::{HandlerInfo, Hooks as Registry, ModelKind};
use pintle_profile::{Action, DeclaredHook, Hook, ProfileErrors, declared_hooks};
use pintle_store::SqliteStore;
use serde_json::{Map, Value, json};

use crate::{
    args::Who,
    assembly::{Assembled, Extras, bind_built_ins},
    bindings::is_observer,
    commands::hooks::observes,
    environment::Environment,
    out::{say, say_pretty_json, tell},
    problem::{Problem, facts},
    profile,
    shown::{Shown, dim, red, text, yellow},
};

/// One line of the list.
struct Row {
    /// What is known of it, for people.
    line: Shown,
    /// What is known of it, as JSON.
    facts: Map<String, Value>,
    state: &'static str,
    /// Why it is in that state, when that is not plain.
    why: Vec<String>,
}

pub(crate) async fn run(environment: &Environment, who: &Who) -> Result<ExitCode, Problem> {
    if let Some(dir) = &who.profile {
        let dir = environment.absolute(dir)?;
        if let Some(errors) =
            profile::faults(&dir, environment, profile::Model::by(environment, who))?
        {
            return of_broken(environment, &dir, &errors).await;
        }
    }
    let extras = Extras { only_looks: true, ..Extras::mute() };
    let assembled = Assembled::new(environment, who, extras).await?;
    let fired = assembled.store.fired_hooks().await?;
    let bound = &assembled.bound;
    let state = |info: &HandlerInfo| match &*info.name {
        name if bound.untrusted.iter().any(|untrusted| untrusted == name) => "untrusted",
        name => by_records(&fired, info.point, name),
    };
    let observes = |info: &HandlerInfo| observes(assembled.profile.as_ref(), info);
    let list = assembled.agent.hooks().list();
    let hooks = assembled.profile.as_ref().map(|it| it.hooks.as_slice()).unwrap_or_default();
    let widened = |info: &HandlerInfo| {
        hooks.iter().find(|hook| hook.name == *info.name).and_then(|hook| match hook.action {
            Action::Command { sandbox, .. } => sandbox.widened(),
            _ => None,
        })
    };
    let mut rows: Vec<Row> = list
        .iter()
        .map(|info| Row::bound(info, state(info), observes(info)).widened(widened(info)))
        .collect();
    rows.extend(bound.disabled.iter().map(Row::disabled));
    if !environment.json {
        let in_force = who.found.in_force(assembled.profile.as_ref());
        say!("{}", dim(text!("profile: {}", in_force)));
    }
    print(environment, &rows)?;
    assembled.close().await;
    Ok(ExitCode::SUCCESS)
}

/// The hooks of a profile that does not load: those that keep it from loading say why.
async fn of_broken(
    environment: &Environment,
    dir: &Path,
    errors: &ProfileErrors,
) -> Result<ExitCode, Problem> {
    let store = SqliteStore::open(environment.database()?).await?;
    let fired = store.fired_hooks().await?;
    let disabled = environment.settings()?.is_ok_and(|operator| operator.disable_hooks);
    let built_ins = Registry::new();
    bind_built_ins(&built_ins)?;
    let mut rows: Vec<Row> = built_ins
        .list()
        .iter()
        .map(|info| Row::bound(info, by_records(&fired, info.point, &info.name), false))
        .collect();
    rows.extend(declared_hooks(dir, errors).iter().map(|hook| {
        let observer = hook.action.as_deref().is_some_and(is_observer);
        let state = match hook.point {
            _ if !hook.errors.is_empty() => "invalid",
            None => "invalid",
            Some(_) if disabled && observer => "disabled",
            // Whatever it did when the profile still loaded: nothing of it is bound now.
            Some(_) => "not loaded",
        };
        Row::declared(hook, state)
    }));
    print(environment, &rows)?;
    let problem = match environment.settings()? {
        Ok(_) => profile::does_not_load(environment, dir, errors),
        Err(of_operator) => {
            profile::does_not_load(environment, dir, &of_operator.and(errors.clone()))
        }
    };
    // With `--json` the rows say it all, and are the one thing on standard output.
    tell!("{}", problem);
    Ok(ExitCode::FAILURE)
}

fn by_records(fired: &HashSet<(String, String)>, point: &str, name: &str) -> &'static str {
    match fired.contains(&(point.to_string(), name.to_string())) {
        true => "active",
        false => "never fired",
    }
}

impl Row {
    fn bound(info: &HandlerInfo, state: &'static str, observes: bool) -> Self {
        let facts = serde_json::to_value(info).ok().and_then(|facts| facts.as_object().cloned());
        let (facts, line) = (facts.unwrap_or_default(), super::hooks::line(info, observes));
        Self { line, facts, state, why: Vec::new() }.with_say(Some(info.point), observes)
    }

    /// Says what its program may do that others may not.
    fn widened(mut self, may: Option<&'static str>) -> Self {
        self.facts.extend(may.map(|may| ("widened".to_owned(), may.into())));
        self.why.extend(may.map(str::to_owned));
        self
    }

    fn disabled(hook: &Hook) -> Self {
        let mut row = Self::written(&hook.name, &hook.source, Some(hook.bucket.point()), "", true);
        if !hook.tools.is_empty() {
            row.facts.insert("tools".into(), json!(hook.tools));
        }
        Self {
            why: vec![
                "by the operator: PINTLE_DISABLE_HOOKS, or disable_hooks in pintle.toml".into(),
            ],
            state: "disabled",
            ..row
        }
    }

    fn declared(hook: &DeclaredHook, state: &'static str) -> Self {
        let observes = hook.action.as_deref().is_some_and(is_observer);
        let mut row = Self::written(&hook.name, &hook.source, hook.point, &hook.bucket, observes);
        row.facts.insert("bucket".into(), json!(hook.bucket));
        if state == "invalid" {
            row.facts.insert("errors".into(), hook.errors.iter().map(facts).collect());
        }
        let why = hook
            .errors
            .iter()
            .map(|e| format!("{}:{}:{}: {}", e.file, e.line, e.column, e.message))
            .collect();
        Self { state, why, ..row }
    }

    /// A hook that is not bound; all those of a profile stand at gates.
    fn written(
        name: &str,
        source: &str,
        point: Option<&str>,
        bucket: &str,
        observes: bool,
    ) -> Self {
        let model = ModelKind::Gate;
        let facts = json!({ "point": point, "model": model, "name": name, "priority": 0, "source": source });
        let order = format!("profile · priority 0 · {source}");
        let shown = super::hooks::model(model, point.and_then(super::hooks::binding), observes);
        let line = super::hooks::written_line(point.unwrap_or(bucket), &shown, name, &order);
        let facts = facts.as_object().cloned().unwrap_or_default();
        Self { line, facts, state: "", why: Vec::new() }.with_say(point, observes)
    }

    /// What it can stop: at a gate whether a no binds, and whether the hook ever says one.
    fn with_say(mut self, point: Option<&str>, observes: bool) -> Self {
        self.facts.insert("observer".into(), observes.into());
        if let Some(binding) = point.and_then(super::hooks::binding) {
            self.facts.insert("binding".into(), binding.into());
        }
        self
    }

    fn to_json(&self) -> Value {
        let mut facts = self.facts.clone();
        facts.insert("state".into(), self.state.into());
        facts.into()
    }

    fn print(&self) {
        let state = if self.state == "invalid" { red(self.state) } else { yellow(self.state) };
        say!("{} {}", self.line, state);
        for why in &self.why {
            say!("  {}", dim(why));
        }
    }
}

fn print(environment: &Environment, rows: &[Row]) -> Result<(), Problem> {
    if environment.json {
        let rows: Vec<Value> = rows.iter().map(Row::to_json).collect();
        return say_pretty_json(&rows);
    }
    rows.iter().for_each(Row::print);
    Ok(())
}
