//! `pintle hooks`: look at hooks.

use std::process::ExitCode;

use pintle::{HandlerInfo, Hooks as Registry, ModelKind, PointInfo};
use pintle_policy::nearest;
use pintle_profile::{AGENT_FILE, Action, Bucket, Hook, Profile};
use serde_json::json;

use crate::{
    args::{Hooks, HooksCommand},
    bindings::is_observer,
    environment::Environment,
    in_force::of_folder,
    out::{say, say_json, say_pretty_json},
    problem::Problem,
    profile,
    shown::{Shown, bold, cyan, dim, green, text, yellow},
    startable::unstartable,
};

pub(crate) async fn run(environment: &Environment, hooks: Hooks) -> Result<ExitCode, Problem> {
    match hooks.command {
        HooksCommand::List { who } => return super::listing::run(environment, &who).await,
        HooksCommand::Lint { dir } => {
            let dir = environment.absolute(&dir)?;
            let dir = of_folder(&dir).unwrap_or(dir);
            let model = profile::Model::OfTheProfile;
            let stray = || profile::stray_settings(environment, &dir);
            // Of a profile that does not load: at least what is odd about the operator's file.
            let of_operator = || {
                let operator = environment.settings().ok().and_then(Result::ok);
                operator.map(|operator| told(profile::unheard(environment, &operator, None)))
            };
            let (operator, found) =
                profile::load_allowed(&dir, environment, model).map_err(|problem| {
                    problem.warnings(of_operator().unwrap_or_default().into_iter().chain(stray()))
                })?;
            profile::model(&found)?;
            let tools = profile::built_in_tools();
            let mut warnings = profile::check_tools(environment, &found, &tools)?;
            warnings.extend(profile::surprises(&found, &tools));
            warnings.extend(profile::unready(environment, &found));
            warnings.extend(unstartable(environment, &operator, &found));
            warnings.extend(told(profile::unheard(environment, &operator, Some(&found))));
            warnings.extend(stray());
            let note = stops_nothing(&found);
            if environment.json {
                let notes = note.as_slice();
                let facts = json!({ "ok": true, "profile": found.name, "warnings": warnings, "notes": notes });
                say_json(&facts)?;
            } else {
                let (hooks, guards) = (found.hooks.len(), found.guards.len());
                say!("{} {}: {} hooks, {} guards", green("ok"), found.name, hooks, guards);
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
        HooksCommand::Explain { tool, args, who } => {
            return super::explain::run(environment, &tool, &args, &who).await;
        }
        HooksCommand::Schema { point: None } => points(environment)?,
        HooksCommand::Schema { point: Some(point) } => schema(&point)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Who is to answer and cannot, and what comes of it if that is everybody.
fn told(unheard: profile::Unheard) -> Vec<String> {
    let mut warnings = unheard.warnings;
    warnings.extend(unheard.all.then(|| profile::NOBODY_ANSWERS.to_string()));
    warnings
}

/// Programs at moments where a no is only recorded: they may be there to watch, or somebody may rely on them.
fn stops_nothing(profile: &Profile) -> Option<String> {
    let runs = |hook: &&Hook| matches!(hook.action, Action::Command { .. });
    let advises = |hook: &&Hook| binding(hook.bucket.point()) == Some(false);
    let hooks: Vec<_> = profile.hooks.iter().filter(runs).filter(advises).collect();
    let named = |hook: &&Hook| format!("`{}` ({}, {})", hook.name, hook.bucket.name(), hook.source);
    let binds = |bucket: &Bucket| binding(bucket.point()) == Some(true);
    let stop: Vec<_> = Bucket::ALL.into_iter().filter(binds).map(Bucket::name).collect();
    (!hooks.is_empty()).then(|| {
        format!(
            "a no of {} stops nothing, it is only recorded: what stops a run or a call is {}",
            hooks.iter().map(named).collect::<Vec<_>>().join(", "),
            stop.join(" and ")
        )
    })
}

/// At a gate: whether a no stops the action (R3.4).
pub(super) fn binding(point: &str) -> Option<bool> {
    let points = Registry::new().known_points();
    points.iter().find(|known| known.name == point)?.binding
}

/// A point's model, and what a hook there can stop: an observer nothing, whatever the point.
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
    hooks.any(|hook| hook.name == *info.name && is_observer(hook.action.name()))
}

pub(crate) fn print_list(profile: Option<&Profile>, list: &[HandlerInfo]) {
    if list.is_empty() {
        say!("no hooks are bound");
    }
    for info in list {
        say!("{}", line(info, observes(profile, info)));
    }
}

/// A handler on one line: where, what, whose, in which order.
pub(super) fn line(info: &HandlerInfo, observes: bool) -> Shown {
    let deadline = info.deadline.map(|deadline| format!(" · {deadline:?}")).unwrap_or_default();
    let source = info.source.to_string();
    let whose = match info.plugin.as_deref() {
        Some(plugin) => plugin,
        None if source.starts_with(AGENT_FILE) => "profile",
        None => "built-in",
    };
    let order = format!("{whose} · priority {}{deadline} · {source}", info.priority);
    let model = model(info.model, binding(info.point), observes);
    written_line(info.point, &model, &info.name, &order)
}

pub(super) fn written_line(point: &str, model: &str, name: &str, order: &str) -> Shown {
    let point = cyan(text!("{:<22}", point));
    text!("{} {:<14} {} {}", point, model, bold(name), dim(order))
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
    let problem = Problem::new(format!("there is no hook point `{named}`"));
    let bucket = nearest(named, Bucket::ALL.map(Bucket::name))
        .and_then(|near| Bucket::ALL.into_iter().find(|bucket| bucket.name() == near));
    // Something like `onPromt` is a bucket; only of the rest is it asked which point is near.
    let problem =
        match (bucket, nearest(named, points)) {
            (Some(bucket), near) if near.is_none() || named.starts_with("on") => problem.hint(
                format!("`{}` in agent.json is the point `{}`", bucket.name(), bucket.point()),
            ),
            (_, Some(near)) => problem.hint(format!("did you mean `{near}`?")),
            (_, None) => problem,
        };
    problem.hint("`pintle hooks schema` lists them all")
}
