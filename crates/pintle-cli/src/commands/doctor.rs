//! `pintle doctor`: is everything in place?

use std::process::ExitCode;

use pintle::HandlerRecord;
use pintle_agent::{PreviewError, PromptPreview, Store};
use serde_json::{Value, json};

use crate::{
    args::Doctor,
    assembly::{Assembled, Extras},
    environment::Environment,
    problem::{BOLD, CYAN, DIM, GREEN, Problem, RED, YELLOW},
};

pub(crate) async fn run(environment: &Environment, doctor: Doctor) -> Result<ExitCode, Problem> {
    if doctor.show_prompt {
        show_prompt(environment, &doctor).await
    } else {
        check(environment, &doctor).await
    }
}

async fn show_prompt(environment: &Environment, doctor: &Doctor) -> Result<ExitCode, Problem> {
    let assembled = Assembled::new(environment, &doctor.who, Extras::default()).await?;
    let preview = assembled.agent.preview_prompt(doctor.who.personality.as_deref()).await;
    assembled.close().await;
    let PromptPreview { parts, record } =
        preview.map_err(|error: PreviewError| Problem::new(error))?;
    let handlers = record.map(|record| record.handlers).unwrap_or_default();
    if environment.json {
        let whole = json!({ "parts": parts, "handlers": handlers });
        anstream::println!("{}", serde_json::to_string_pretty(&whole).map_err(Problem::new)?);
        return Ok(ExitCode::SUCCESS);
    }
    for part in &parts {
        anstream::println!(
            "{CYAN}── {} {DIM}by {}{DIM:#}\n{}\n",
            part.part,
            part.by,
            part.text.trim()
        );
    }
    for handler in &handlers {
        anstream::println!("{}", contribution(handler));
    }
    Ok(ExitCode::SUCCESS)
}

/// What became of one handler's part in the prompt.
fn contribution(handler: &HandlerRecord) -> String {
    let (outcome, name) = (handler.outcome.name(), &handler.name);
    let mut line = format!("{BOLD}{name}{BOLD:#} {outcome}");
    if !handler.won.is_empty() {
        line.push_str(&format!(" {GREEN}won: {}{GREEN:#}", handler.won.join(", ")));
    }
    if !handler.lost.is_empty() {
        line.push_str(&format!(" {RED}lost: {}{RED:#}", handler.lost.join(", ")));
    }
    line
}

/// One thing that was looked at.
struct Check {
    what: &'static str,
    found: Result<String, Problem>,
}

async fn check(environment: &Environment, doctor: &Doctor) -> Result<ExitCode, Problem> {
    let mut checks = Vec::new();
    let data = environment.data_dir();
    checks.push(Check { what: "data folder", found: data.map(|dir| dir.display().to_string()) });
    let assembled = Assembled::new(environment, &doctor.who, Extras::default()).await;
    match assembled {
        Err(problem) => checks.push(Check { what: "agent", found: Err(problem) }),
        Ok(assembled) => {
            let sessions = assembled.store.sessions().await;
            let counted = sessions.map(|sessions| match sessions.len() {
                1 => "1 conversation".to_string(),
                several => format!("{several} conversations"),
            });
            checks.push(Check { what: "database", found: counted.map_err(Problem::from) });
            checks.push(Check { what: "model", found: Ok(assembled.model.clone()) });
            let personalities: Vec<_> = assembled.agent.personalities().names().collect();
            checks.push(Check { what: "personalities", found: Ok(personalities.join(", ")) });
            let hooks = format!("{} bound", assembled.agent.hooks().list().len());
            checks.push(Check { what: "hooks", found: Ok(hooks) });
            assembled.close().await;
        }
    }
    let failed = checks.iter().any(|check| check.found.is_err());
    if environment.json {
        let entry = |check: &Check| match &check.found {
            Ok(found) => json!({ "check": check.what, "ok": true, "found": found }),
            Err(problem) => {
                json!({ "check": check.what, "ok": false, "problem": problem.to_json() })
            }
        };
        let all: Vec<Value> = checks.iter().map(entry).collect();
        anstream::println!("{}", Value::from(all));
    } else {
        for Check { what, found } in &checks {
            match found {
                Ok(found) => anstream::println!("{GREEN}✓{GREEN:#} {what:<14} {found}"),
                Err(problem) => anstream::println!("{RED}✗{RED:#} {what:<14} {problem}"),
            }
        }
        if !failed {
            anstream::println!(
                "{YELLOW}→{YELLOW:#} all is well; `pintle doctor --show-prompt` shows what the model is told"
            );
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pintle::Outcome;

    use super::*;

    #[test]
    fn who_won_and_who_lost_is_said_of_each_handler() {
        let handler = |won: &[&'static str], lost: &[&'static str], outcome| {
            let (won, lost) = (won.to_vec(), lost.to_vec());
            let (duration, notes) = (Duration::ZERO, Vec::new());
            let record = HandlerRecord {
                name: "a".into(),
                plugin: None,
                outcome,
                duration,
                won,
                lost,
                notes,
            };
            anstream::adapter::strip_str(&contribution(&record)).to_string()
        };
        let both = handler(&["appendSystem"], &["prependSystem"], Outcome::Patched);
        assert_eq!(both, "a patched won: appendSystem lost: prependSystem");
        assert_eq!(
            handler(&[], &["appendSystem"], Outcome::Patched),
            "a patched lost: appendSystem"
        );
        assert_eq!(handler(&[], &[], Outcome::Passed), "a passed");
    }
}
