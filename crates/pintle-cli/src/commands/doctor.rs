//! `pintle doctor`: is everything in place?

use std::process::ExitCode;

use pintle::HandlerRecord;
use pintle_agent::{PreviewError, PromptPreview, Store};
use pintle_exec::KeptWebhooks;
use pintle_profile::Profile;
use pintle_sandbox::Sandbox;
use pintle_store::SqliteStore;
use serde_json::{Value, json};

use crate::{
    args::Doctor,
    assembly::{Assembled, Extras},
    bindings::{Trust, waiting},
    containment::what_helps,
    environment::Environment,
    out::{self, say, say_json, say_pretty_json},
    problem::Problem,
    profile::{self, Unheard},
    shown::{Shown, bold, cyan, dim, green, lines, red, text, yellow},
    startable::unstartable,
};

pub(crate) async fn run(environment: &Environment, doctor: Doctor) -> Result<ExitCode, Problem> {
    if doctor.show_prompt {
        show_prompt(environment, &doctor).await
    } else {
        check(environment, &doctor).await
    }
}

async fn show_prompt(environment: &Environment, doctor: &Doctor) -> Result<ExitCode, Problem> {
    let assembled = Assembled::new(environment, &doctor.who, Extras::mute()).await?;
    let preview = assembled.agent.preview_prompt(doctor.who.personality.as_deref()).await;
    assembled.close().await;
    let PromptPreview { parts, record } =
        preview.map_err(|error: PreviewError| Problem::new(error))?;
    let handlers = record.map(|record| record.handlers).unwrap_or_default();
    if environment.json {
        let whole = json!({ "parts": parts, "handlers": handlers });
        say_pretty_json(&whole)?;
        return Ok(ExitCode::SUCCESS);
    }
    for part in &parts {
        let by = dim(text!("by {}", part.by));
        say!("{} {}\n{}\n", cyan(text!("── {}", part.part)), by, lines(part.text.trim()));
    }
    for handler in &handlers {
        out::say_line(&contribution(handler));
    }
    Ok(ExitCode::SUCCESS)
}

/// What became of one handler's part in the prompt.
fn contribution(handler: &HandlerRecord) -> Shown {
    let mut line = text!("{} {}", bold(&*handler.name), handler.outcome.name());
    if !handler.won.is_empty() {
        line = text!("{} {}", line, green(text!("won: {}", handler.won.join(", "))));
    }
    if !handler.lost.is_empty() {
        line = text!("{} {}", line, red(text!("lost: {}", handler.lost.join(", "))));
    }
    line
}

/// One thing that was looked at.
struct Check {
    what: &'static str,
    found: Result<String, Problem>,
    /// What is odd about it, and no reason not to start.
    warnings: Vec<String>,
}

impl Check {
    fn new(what: &'static str, found: Result<String, Problem>) -> Self {
        Self { what, found, warnings: Vec::new() }
    }
}

/// Looked through to its last page: damage shows only where somebody looks.
async fn database(store: &SqliteStore) -> Result<String, Problem> {
    store.check().await?;
    Ok(match store.sessions().await?.len() {
        1 => "1 conversation".to_string(),
        several => format!("{several} conversations"),
    })
}

/// What holds commands, hooks and servers, and what would hold them better (R17.3).
fn sandbox(sandbox: &Sandbox) -> Check {
    Check { warnings: what_helps(sandbox), ..Check::new("sandbox", Ok(sandbox.to_string())) }
}

/// A gate whose program is not trusted blocks everything: whoever asks what is wrong hears of it here.
fn trusted(environment: &Environment, profile: &Profile) -> Result<String, Problem> {
    let trust = Trust::read(environment, profile)?;
    match trust.check() {
        Ok(()) => Ok("its programs are as they were trusted".into()),
        Err(why) => Err(Problem::new(why).hint(trust.way_out())),
    }
}

/// A question that nobody can answer is a no, and nothing else would say why.
fn approvers(environment: &Environment, assembled: &Assembled) -> Check {
    let Unheard { approvers, warnings, all } =
        profile::unheard(environment, &assembled.operator, assembled.profile.as_ref());
    let found = match all {
        true => {
            let problem = Problem::new(profile::NOBODY_ANSWERS);
            return Check::new("approvers", Err(warnings.into_iter().fold(problem, Problem::hint)));
        }
        false => Ok(approvers.join(", ")),
    };
    Check { warnings, ..Check::new("approvers", found) }
}

/// A misspelt name keeps nothing secret, and nothing else would say so.
fn secrets(environment: &Environment, assembled: &Assembled) -> Option<Check> {
    let named = &assembled.operator.secrets;
    let warnings = profile::unset_secrets(environment, &assembled.operator);
    let found =
        Ok(format!("{} of {} in pintle.toml are set", named.len() - warnings.len(), named.len()));
    (!named.is_empty()).then(|| Check { warnings, ..Check::new("secrets", found) })
}

/// What waits for an endpoint, of whatever profile.
fn webhooks(environment: &Environment) -> Vec<Result<String, Problem>> {
    let said = |KeptWebhooks { url, messages, damaged, file, .. }: &KeptWebhooks| match messages {
        0 => format!("{damaged} damaged in {}", file.display()),
        1 => format!("1 message waits for {url}"),
        several => format!("{several} messages wait for {url}"),
    };
    match waiting(environment) {
        Ok(kept) => kept.iter().map(|kept| Ok(said(kept))).collect(),
        Err(problem) => vec![Err(problem)],
    }
}

async fn check(environment: &Environment, doctor: &Doctor) -> Result<ExitCode, Problem> {
    let mut checks = Vec::new();
    let data = environment.data_dir();
    checks.push(Check::new("data folder", data.map(|dir| dir.display().to_string())));
    let assembled = Assembled::new(environment, &doctor.who, Extras::mute()).await;
    match assembled {
        Err(problem) => checks.push(Check::new("agent", Err(problem))),
        Ok(assembled) => {
            let in_force = doctor.who.found.in_force(assembled.profile.as_ref());
            checks.push(Check::new("profile", Ok(in_force)));
            checks.push(sandbox(&assembled.held.sandbox));
            checks.push(Check::new("database", database(&assembled.store).await));
            checks.push(Check::new("model", Ok(assembled.model.clone())));
            let personalities: Vec<_> = assembled.agent.personalities().names().collect();
            checks.push(Check::new("personalities", Ok(personalities.join(", "))));
            let mut hooks = format!("{} bound", assembled.agent.hooks().list().len());
            if !assembled.bound.disabled.is_empty() {
                let off = assembled.bound.disabled.len();
                hooks.push_str(&format!(", {off} switched off by the operator"));
            }
            let warnings = assembled.profile.as_ref().map_or_else(Vec::new, |profile| {
                unstartable(environment, &assembled.operator, profile)
            });
            checks.push(Check { warnings, ..Check::new("hooks", Ok(hooks)) });
            if let Some(profile) = assembled.profile.as_ref().filter(|it| it.runs_programs()) {
                checks.push(Check::new("trust", trusted(environment, profile)));
            }
            checks.push(approvers(environment, &assembled));
            checks.extend(secrets(environment, &assembled));
            checks.extend(
                webhooks(environment).into_iter().map(|found| Check::new("webhooks", found)),
            );
            assembled.close().await;
        }
    }
    let failed = checks.iter().any(|check| check.found.is_err());
    if environment.json {
        let entry = |check: &Check| match &check.found {
            Ok(found) if check.warnings.is_empty() => {
                json!({ "check": check.what, "ok": true, "found": found })
            }
            Ok(found) => {
                json!({ "check": check.what, "ok": true, "found": found, "warnings": check.warnings })
            }
            Err(problem) => {
                json!({ "check": check.what, "ok": false, "problem": problem.to_json() })
            }
        };
        let all: Vec<Value> = checks.iter().map(entry).collect();
        say_json(&all)?;
    } else {
        for Check { what, found, warnings } in &checks {
            match found {
                Ok(found) => say!("{} {:<14} {}", green("✓"), what, found),
                Err(problem) => say!("{} {:<14} {}", red("✗"), what, problem),
            }
            for warning in warnings {
                say!("{} {:<14} {}", yellow("!"), what, warning);
            }
        }
        if !failed && checks.iter().all(|check| check.warnings.is_empty()) {
            say!(
                "{} all is well; `pintle doctor --show-prompt` shows what the model is told",
                yellow("→")
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
            anstream::adapter::strip_str(contribution(&record).as_str()).to_string()
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
