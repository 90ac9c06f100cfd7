//! `pintle hooks`: look at hooks.

use std::process::ExitCode;

use pintle::similar::nearest;
use pintle::{HandlerInfo, Hooks as Registry, ModelKind, PointInfo};
use pintle_profile::{BUCKETS, Bucket, Hook, Profile};
use serde_json::json;

use crate::{
    args::{Hooks, HooksCommand},
    environment::Environment,
    in_force::of_folder,
    out::{say, say_json, say_line, say_pretty_json},
    problem::Problem,
    profile,
    shown::{Show, bold, cyan, dim, green, text, yellow},
    startable::unstartable,
    term::{Column, Table, plural, width},
};

pub(crate) async fn run(environment: &Environment, hooks: Hooks) -> Result<ExitCode, Problem> {
    match hooks.command.unwrap_or_default() {
        HooksCommand::List { all, who } => {
            return super::listing::run(environment, &who, all).await;
        }
        HooksCommand::Lint { dir } => {
            let dir = environment.absolute(&dir.unwrap_or_else(|| ".".into()))?;
            let dir = of_folder(&dir).unwrap_or(dir);
            let model = profile::Model::OfTheProfile;
            let stray = || profile::stray_settings(environment, &dir);
            // Even if the profile does not load, the warnings about the operator's file are shown.
            let of_operator = || {
                let operator = environment.settings().ok().and_then(Result::ok);
                operator
                    .map(|operator| warning_lines(profile::unheard(environment, &operator, None)))
            };
            let (operator, found) =
                profile::load_allowed(&dir, environment, model).map_err(|problem| {
                    problem.warnings(of_operator().unwrap_or_default().into_iter().chain(stray()))
                })?;
            profile::model(&found)?;
            let tools = profile::built_in_tools();
            let mut warnings = profile::check_tools(&found, &tools)?;
            warnings.extend(profile::surprises(&found, &tools));
            warnings.extend(profile::unready(environment, &found));
            warnings.extend(unstartable(environment, &operator, &found));
            warnings.extend(warning_lines(profile::unheard(environment, &operator, Some(&found))));
            warnings.extend(stray());
            let note = stops_nothing(&found);
            if environment.json {
                let notes = note.as_slice();
                let facts = json!({ "ok": true, "profile": found.name, "warnings": warnings, "notes": notes });
                say_json(&facts)?;
            } else {
                let (hooks, guards) = (found.hooks.len(), found.guards.len());
                let (hooks, guards) =
                    (plural(hooks as u64, "hook"), plural(guards as u64, "guard"));
                say!("{} {}: {}, {}", green("ok"), found.name, hooks, guards);
                for warning in warnings {
                    say!("{}: {}", yellow("warning"), warning);
                }
                if let Some(note) = note {
                    say!("{}: {}", cyan("note"), note);
                }
            }
        }
        HooksCommand::Fire { point, payload, plugins, who } => {
            return super::fire::run(environment, &point, &payload, plugins, &who).await;
        }
        HooksCommand::Explain(explain) => return super::explain::run(environment, explain).await,
        HooksCommand::Schema { point: None } => points(environment)?,
        HooksCommand::Schema { point: Some(point) } => schema(&point)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The approvers who cannot answer, and the effect if that is all of them.
fn warning_lines(unheard: profile::Unheard) -> Vec<String> {
    let mut warnings = unheard.warnings;
    warnings.extend(unheard.all.then(|| profile::NO_APPROVER.to_string()));
    warnings
}

/// Programs at advisory points, where a block is only recorded: the author may rely on them by mistake.
fn stops_nothing(profile: &Profile) -> Option<String> {
    let runs = |hook: &&Hook| hook.uses.program.is_some();
    let advises = |hook: &&Hook| binding(hook.bucket.point) == Some(false);
    let hooks: Vec<_> = profile.hooks.iter().filter(runs).filter(advises).collect();
    let named = |hook: &&Hook| format!("`{}` ({}, {})", hook.name, hook.bucket.name, hook.source);
    let binds = |bucket: &&Bucket| binding(bucket.point) == Some(true);
    let stop: Vec<_> = BUCKETS.iter().filter(binds).map(|bucket| bucket.name).collect();
    (!hooks.is_empty()).then(|| {
        format!(
            "a block by {} is recorded and stops nothing: only {} can stop a run or a call",
            hooks.iter().map(named).collect::<Vec<_>>().join(", "),
            stop.join(" and ")
        )
    })
}

/// At a gate: whether a block stops the action (R3.4).
pub(super) fn binding(point: &str) -> Option<bool> {
    let points = Registry::new().known_points();
    points.iter().find(|known| known.name == point)?.binding
}

/// A point's model, and whether a hook there can stop the action. An observer never can.
pub(super) fn model(model: ModelKind, binding: Option<bool>, observes: bool) -> String {
    match binding {
        Some(_) if observes => format!("{model}, observer"),
        Some(false) => format!("{model}, advisory"),
        _ => model.to_string(),
    }
}

/// Whether this hook is one of the profile's that only watch.
pub(super) fn observes(profile: Option<&Profile>, info: &HandlerInfo) -> bool {
    let mut hooks = profile.iter().flat_map(|profile| &profile.hooks);
    hooks.any(|hook| hook.name == *info.name && hook.observes)
}

/// The hooks of a conversation.
pub(crate) fn print_list(profile: Option<&Profile>, list: &[HandlerInfo]) {
    if list.is_empty() {
        return say!("No hooks are bound.");
    }
    let mut table = Table::new([
        Column::new("POINT"),
        Column::new("HOOK").loses_end(),
        Column::new("KIND"),
        Column::new("FROM").loses_middle().below(),
    ]);
    for info in list {
        let kind = model(info.model, binding(info.point), observes(profile, info));
        let from = info.source.to_string();
        table.row([info.point.shown(), bold(&*info.name), kind.shown(), dim(from)]);
    }
    table.lines(width()).iter().for_each(say_line);
}

fn points(environment: &Environment) -> Result<(), Problem> {
    let points = Registry::new().known_points();
    if environment.json {
        return say_pretty_json(&points);
    }
    for PointInfo { name, model: kind, binding, doc, .. } in points {
        let (kind, when) = (model(kind, binding, false), first_sentence(doc));
        say!("{} {:<14} {}", cyan(text!("{:<24}", name)), kind, dim(when));
    }
    Ok(())
}

/// A sentence may go over several lines.
fn first_sentence(doc: &str) -> String {
    let paragraph = doc.trim().split("\n\n").next().unwrap_or_default();
    let joined = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    joined.split_once(". ").map_or(joined.clone(), |(first, _)| format!("{first}."))
}

fn schema(named: &str) -> Result<(), Problem> {
    let point = find_point(named)?;
    let mut schemas = json!({
        "model": point.model, "payload": point.payload_schema(), "result": point.result_schema()
    });
    if let (Some(schemas), Some(binding)) = (schemas.as_object_mut(), point.binding) {
        schemas.insert("binding".into(), binding.into());
    }
    say_pretty_json(&schemas)
}

/// The point of that name.
pub(super) fn find_point(named: &str) -> Result<PointInfo, Problem> {
    let points = Registry::new().known_points();
    let found = points.iter().find(|point| point.name == named).cloned();
    found.ok_or_else(|| no_such_point(named, points.iter().map(|point| point.name)))
}

/// Names the point that was meant: by what a profile calls it, or by a slip.
fn no_such_point(named: &str, points: impl Iterator<Item = &'static str>) -> Problem {
    let problem = Problem::not_found(format!("no hook point `{named}`"));
    let bucket = nearest(named, BUCKETS.iter().map(|it| it.name)).and_then(Bucket::named);
    // A name like `onPromt` is a misspelt moment of agent.json. Other names are compared with the points.
    let problem = match (bucket, nearest(named, points)) {
        (Some(bucket), near) if near.is_none() || named.starts_with("on") => {
            problem.fix(format!("`{}` in agent.json is the point `{}`", bucket.name, bucket.point))
        }
        (_, Some(near)) => problem.fix(format!("did you mean `{near}`?")),
        (_, None) => problem,
    };
    problem.fix("pintle hooks schema lists them")
}
