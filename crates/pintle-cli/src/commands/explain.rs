//! `pintle hooks explain`: what would happen to a call, and which rule decides.

use std::process::ExitCode;

use pintle_agent::{Finding, JudgedStep};
use serde_json::{Value, json};

use crate::{
    args::Who,
    assembly::{Assembled, Extras},
    environment::Environment,
    problem::{BOLD, DIM, GREEN, Problem, RED, YELLOW},
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
        anstream::println!("{}", json!({ "steps": steps, "verdict": verdict }));
        return Ok(ExitCode::SUCCESS);
    }
    for JudgedStep { step, finding, detail, source } in &steps {
        let mark = match finding {
            Finding::Passes => format!("{GREEN}✓{GREEN:#}"),
            Finding::Asks => format!("{YELLOW}?{YELLOW:#}"),
            Finding::Stops => format!("{RED}✗{RED:#}"),
        };
        let source =
            source.as_deref().map(|source| format!(" {DIM}{source}{DIM:#}")).unwrap_or_default();
        anstream::println!("{mark} {step:<16} {detail}{source}");
    }
    anstream::println!("{BOLD}→ {verdict}{BOLD:#}");
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
