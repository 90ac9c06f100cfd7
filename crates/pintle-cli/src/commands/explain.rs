//! `pintle hooks explain`: what would happen to a call, and which rule decides.

use std::process::ExitCode;

use pintle_agent::{Finding, JudgedStep};
use serde_json::{Value, json};

use crate::{
    args::Who,
    assembly::{Assembled, Extras},
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
    let assembled = Assembled::new(environment, who, Extras::default()).await?;
    let explained = assembled.agent.explain(who.personality.as_deref(), tool, args).await;
    assembled.close().await;
    let steps = explained?;
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

fn verdict(steps: &[JudgedStep]) -> &'static str {
    let found = |finding| steps.iter().any(|step| step.finding == finding);
    match (found(Finding::Stops), found(Finding::Asks)) {
        (true, _) => "it would not run",
        (false, true) => "a person would be asked",
        (false, false) => "it would run",
    }
}
