//! `pintle hooks explain`: what would happen to a call, and which rule decides.

use std::process::ExitCode;

use glob::Pattern;
use pintle_agent::{Finding, JudgedStep};
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
    let steps = explained.map(|steps| completed(&assembled, who, tool, watched(&assembled, steps)));
    let in_force = who.found.in_force(assembled.profile.as_ref());
    let rules = assembled
        .profile
        .as_ref()
        .map(|it| json!({ "name": it.name, "dir": it.dir, "found": who.found.words() }));
    assembled.close().await;
    let steps = steps?;
    let verdict = verdict(&steps);
    if environment.json {
        say_json(&json!({ "profile": rules, "steps": steps, "verdict": verdict }))?;
        return Ok(ExitCode::SUCCESS);
    }
    say!("{}", dim(text!("profile: {}", in_force)));
    for JudgedStep { step, finding, detail, source } in &steps {
        let mark = match finding {
            Finding::Passes => green("✓"),
            Finding::Asks => yellow("?"),
            Finding::Stops => red("✗"),
        };
        // A guard's refusal says where it is written: that is for the model too.
        let source = source.as_deref().filter(|source| !detail.contains(source));
        let source = source.map_or(Shown::default(), |at| text!(" {}", dim(text!("· {}", at))));
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

/// What the judge does not say itself: where the selection of tools is written, and which tools there are.
fn completed(
    assembled: &Assembled,
    who: &Who,
    tool: &str,
    mut steps: Vec<JudgedStep>,
) -> Vec<JudgedStep> {
    let there: Vec<&str> = assembled.agent.tool_names().collect();
    for step in &mut steps {
        match step.step {
            "toolset" => step.source = toolset_written(assembled, who, tool),
            "known tool" if !there.contains(&tool) => {
                step.detail = format!("{} (the tools are {})", step.detail, there.join(", "));
            }
            _ => {}
        }
    }
    steps
}

/// What refuses the tool; or the narrowest of what lets it pass.
fn toolset_written(assembled: &Assembled, who: &Who, tool: &str) -> Option<String> {
    let profile = assembled.profile.as_ref()?;
    let fits = |globs: &[String]| {
        globs.iter().any(|glob| Pattern::new(glob).is_ok_and(|glob| glob.matches(tool)))
    };
    let selection = &profile.tools;
    let allow = || profile.written(&["tools", "allow"]);
    if selection.allow.as_deref().is_some_and(|globs| !fits(globs)) {
        return allow();
    }
    if fits(&selection.deny) {
        return profile.written(&["tools", "deny"]);
    }
    let default = assembled.agent.personalities().default_id();
    profile.tools_written(who.personality.as_deref().unwrap_or(default)).or_else(allow)
}

fn verdict(steps: &[JudgedStep]) -> &'static str {
    let found = |finding| steps.iter().any(|step| step.finding == finding);
    match (found(Finding::Stops), found(Finding::Asks)) {
        (true, _) => "it would not run",
        (false, true) => "a person would be asked",
        (false, false) => "it would run",
    }
}
