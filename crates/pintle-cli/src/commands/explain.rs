//! `pintle hooks explain`: what would happen to a call, and which rule decides.

use std::process::ExitCode;

use pintle_agent::{Finding, JudgedStep};
use pintle_policy::Level;
use serde_json::{Value, json};

use crate::{
    args::Who,
    assembly::{Assembled, Extras},
    bindings::is_observer,
    environment::Environment,
    out::{say, say_json},
    problem::Problem,
    shown::{Shown, bold, dim, green, red, text, yellow},
};

pub(crate) async fn run(
    environment: &Environment,
    tool: &str,
    args: &str,
    who: &Who,
) -> Result<ExitCode, Problem> {
    let args: Value = serde_json::from_str(args)
        .map_err(|error| Problem::new(format!("`--args` is not JSON: {error}")))?;
    let assembled = Assembled::new(environment, who, Extras::mute()).await?;
    let explained = assembled.agent.explain(who.personality.as_deref(), tool, args).await;
    let steps = explained.map(|steps| with_sources(&assembled, watched(&assembled, steps)));
    assembled.close().await;
    let steps = steps?;
    let verdict = verdict(&steps);
    if environment.json {
        say_json(&json!({ "steps": steps, "verdict": verdict }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for JudgedStep { step, finding, detail, source } in &steps {
        let mark = match finding {
            Finding::Passes => green("✓"),
            Finding::Asks => yellow("?"),
            Finding::Stops => red("✗"),
        };
        let source = source.as_deref().map_or(Shown::default(), |source| text!(" {}", dim(source)));
        say!("{} {:<16} {}{}", mark, step, detail, source);
    }
    say!("{}", bold(text!("→ {}", verdict)));
    Ok(ExitCode::SUCCESS)
}

/// Observers are shown where they come, and have not run: nothing happened that they could tell of.
fn watched(assembled: &Assembled, mut steps: Vec<JudgedStep>) -> Vec<JudgedStep> {
    let hooks = assembled.profile.iter().flat_map(|profile| &profile.hooks);
    for hook in hooks.filter(|hook| is_observer(hook.action.name())) {
        let said = format!("`{}` ", hook.name);
        for step in steps.iter_mut().filter(|step| step.detail.starts_with(&said)) {
            step.detail = format!("`{}` would watch: {}", hook.name, hook.action.name());
        }
    }
    steps
}

/// Where the rules are written that the judge goes by without a name: the level and the selection of tools.
fn with_sources(assembled: &Assembled, mut steps: Vec<JudgedStep>) -> Vec<JudgedStep> {
    let written = |field: &[&str]| assembled.profile.as_ref().and_then(|p| p.written(field));
    let level = written(&["security", "level"]).unwrap_or_else(|| {
        match assembled.operator.level == Level::default() {
            true => "the default level".into(),
            false => "pintle.toml".into(),
        }
    });
    for step in steps.iter_mut().filter(|step| step.source.is_none()) {
        step.source = match step.step {
            "zone" => Some(level.clone()),
            "toolset" => written(&["tools"]).or_else(|| written(&["personalities"])),
            _ => None,
        };
    }
    steps
}

fn verdict(steps: &[JudgedStep]) -> &'static str {
    let found = |finding| steps.iter().any(|step| step.finding == finding);
    match (found(Finding::Stops), found(Finding::Asks)) {
        (true, _) => "it would not run",
        (false, true) => "a person would be asked",
        (false, false) => "it would run",
    }
}
