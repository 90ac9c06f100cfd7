//! `pintle doctor`: checks this machine and the profile, and prints a fix for each problem. It creates and changes nothing.

use std::process::ExitCode;

use pintle::HandlerRecord;
use pintle_actions::{trust::Trust, undelivered_webhooks};
use pintle_agent::{PreviewError, PromptPreview};
use pintle_exec::KeptWebhooks;
use pintle_plugins::{Kind, Manifest, PluginInfo};
use pintle_profile::{Profile, SandboxMode};
use pintle_sandbox::Tier;
use serde_json::{Value, json};

use super::listing::{FAILING_FIX, is_failing, recent_calls};
use crate::{
    args::{Doctor, Who},
    assembly::{AgentOptions, Assembled},
    containment::what_helps,
    environment::Environment,
    out::{self, say, say_json, say_pretty_json},
    problem::Problem,
    profile::{self, Unheard},
    shown::{Shown, bold, cyan, dim, green, lines, red, text},
    startable::unstartable,
    term::{Glyph, plural, size, width, wrap},
};

/// The column of a check's text.
const INDENT: usize = 12;

pub(crate) async fn run(environment: &Environment, doctor: Doctor) -> Result<ExitCode, Problem> {
    if doctor.show_prompt {
        show_prompt(environment, &doctor).await
    } else {
        check(environment, doctor.who).await
    }
}

async fn show_prompt(environment: &Environment, doctor: &Doctor) -> Result<ExitCode, Problem> {
    let assembled = Assembled::new(environment, &doctor.who, AgentOptions::without_trace()).await?;
    let preview = assembled.agent.preview_prompt(doctor.who.personality.as_deref()).await;
    assembled.close().await;
    let PromptPreview { parts, record } =
        preview.map_err(|error: PreviewError| Problem::new(error))?;
    let handlers = record.map(|record| record.handlers.clone()).unwrap_or_default();
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

/// The outcome of one handler's part of the prompt.
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

/// The finding of one check.
struct Finding {
    check: &'static str,
    state: State,
    said: String,
    /// Its effect.
    effect: Option<String>,
    fixes: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ok,
    Warning,
    Failed,
}

impl Finding {
    fn ok(check: &'static str, said: impl Into<String>) -> Self {
        Self { check, state: State::Ok, said: said.into(), effect: None, fixes: Vec::new() }
    }

    fn warning(check: &'static str, said: impl Into<String>) -> Self {
        Self { state: State::Warning, ..Self::ok(check, said) }
    }

    fn failed(check: &'static str, said: impl Into<String>) -> Self {
        Self { state: State::Failed, ..Self::ok(check, said) }
    }

    fn of(check: &'static str, problem: &Problem) -> Self {
        let (said, effect, fixes) = problem.parts();
        Self { effect, fixes: fixes.to_vec(), ..Self::failed(check, said) }
    }

    fn so(self, effect: impl Into<String>) -> Self {
        Self { effect: Some(effect.into()), ..self }
    }

    fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fixes.push(fix.into());
        self
    }

    fn print(&self) {
        let glyph = match self.state {
            State::Ok => Glyph::Ok,
            State::Warning => Glyph::Warning,
            State::Failed => Glyph::Failed,
        };
        let first = text!("{} {} {}", glyph, cyan(text!("{:<9}", self.check)), self.said);
        say!("{}", wrap(&first, width(), INDENT));
        let fixes = self.fixes.iter().map(|fix| format!("fix: {fix}"));
        for line in self.effect.iter().cloned().chain(fixes) {
            say!("{}", wrap(&text!("{:>11} {}", "", line), width(), INDENT + 2));
        }
    }

    fn to_json(&self) -> Value {
        let state = match self.state {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Failed => "failed",
        };
        json!({
            "check": self.check, "state": state, "found": self.said, "effect": self.effect,
            "fix": (!self.fixes.is_empty()).then(|| self.fixes.join("\n")),
        })
    }
}

async fn check(environment: &Environment, mut who: Who) -> Result<ExitCode, Problem> {
    let mut findings = vec![model(environment, &mut who)];
    match Assembled::new(environment, &who, AgentOptions::without_trace()).await {
        Err(problem) => findings.push(Finding::of("profile", &problem)),
        Ok(assembled) => {
            findings.insert(0, sandbox(&assembled));
            let in_force = who.found.in_force(environment, assembled.profile.as_ref());
            findings.insert(1, Finding::ok("profile", in_force));
            findings.splice(2..2, hooks(environment, &assembled).await);
            findings.extend(plugins(&assembled));
            findings.push(state(environment, &assembled).await);
            findings.extend(settings(environment, &assembled));
            findings.extend(approvers(environment, &assembled));
            findings.extend(channels(environment, &assembled));
            let unset = profile::unset_secrets(environment, &assembled.operator);
            findings.extend(unset.into_iter().map(|it| Finding::warning("secrets", it)));
            findings.extend(webhooks(environment));
            assembled.close().await;
        }
    }
    let of = |state| findings.iter().filter(|it| it.state == state).count() as u64;
    let (failed, warnings) = (of(State::Failed), of(State::Warning));
    if environment.json {
        say_json(&findings.iter().map(Finding::to_json).collect::<Vec<_>>())?;
    } else {
        findings.iter().for_each(Finding::print);
        let counts = [(failed, "problem"), (warnings, "warning")];
        let said: Vec<String> = counts
            .into_iter()
            .filter(|(found, _)| *found > 0)
            .map(|(found, what)| plural(found, what))
            .collect();
        let said = if said.is_empty() { "no problems".to_owned() } else { said.join(", ") };
        say!("{} {}", Glyph::Next, bold(said));
    }
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Whether the model can be used. The rest is checked with another one if it cannot.
fn model(environment: &Environment, who: &mut Who) -> Finding {
    let named = who.model.clone().or_else(|| environment.model.clone());
    let of_profile = || {
        let profile = profile::load(who.profile.as_deref()?, environment).ok()?;
        profile::model(&profile).ok().flatten()
    };
    let model = named.or_else(of_profile).unwrap_or_else(|| "offline".to_owned());
    match pintle_llm::open(&model, &environment.llm_settings()) {
        Ok(_) if model == "offline" => {
            Finding::ok("model", "offline · needs no key and no network")
        }
        Ok(_) => Finding::ok("model", model),
        Err(error) => {
            who.model = Some("offline".to_owned());
            Finding::of("model", &error.into())
        }
    }
}

fn sandbox(assembled: &Assembled) -> Finding {
    let sandbox = &assembled.held.sandbox;
    let said = sandbox.to_string();
    let asked = "so every command is asked about, none runs unasked";
    let finding = match sandbox.tier() {
        _ if assembled.operator.sandbox.mode == SandboxMode::Off => {
            return Finding::warning("sandbox", "off, by `mode = \"off\"` in pintle.toml")
                .so("so nothing limits what a command that runs can do");
        }
        Tier::Full => {
            return Finding::ok("sandbox", format!("{said} · tried just now"));
        }
        Tier::View => Finding::warning("sandbox", said),
        Tier::Floor => Finding::warning("sandbox", said).so(
            "so the network of a command cannot be filtered, and protected paths are compared after each command and put right: \
             do not edit them while one runs",
        ),
        Tier::None => Finding::failed("sandbox", said).so(asked),
    };
    what_helps(sandbox).into_iter().fold(finding, Finding::fix)
}

/// The number of hooks, and the hooks that would block every call.
async fn hooks(environment: &Environment, assembled: &Assembled) -> Vec<Finding> {
    let list = assembled.agent.hooks().list();
    let mut points: Vec<&str> = list.iter().map(|info| info.point).collect();
    points.sort_unstable();
    points.dedup();
    let mut findings = Vec::new();
    if let Some(profile) = &assembled.profile {
        if profile.runs_programs()
            && let Ok(trust) =
                environment.data_dir().and_then(|data| Ok(Trust::read(&data, profile)?))
            && let Err(why) = trust.check()
        {
            let untrusted = Finding::failed("hooks", why).so("so its hooks block every call");
            findings.push(untrusted.fix(trust.way_out()));
        }
        let broken = unstartable(environment, &assembled.operator, profile);
        findings.extend(broken.into_iter().map(|it| Finding::failed("hooks", it)));
    }
    // A store that cannot be read is a finding of its own.
    let calls = recent_calls(&*assembled.store).await.unwrap_or_default();
    for info in list.iter().filter(|info| is_failing(info, &calls)) {
        let said =
            format!("`{}` at {} is failing: its newest calls timed out", info.name, info.point);
        let failing = Finding::failed("hooks", said).so("so it blocks at once");
        findings.push(failing.fix(FAILING_FIX));
    }
    let runs_programs = assembled.profile.as_ref().is_some_and(Profile::runs_programs);
    if runs_programs && assembled.held.sandbox.tier() == Tier::None {
        let said = "without a sandbox: trusted hooks and servers run with all rights of their user";
        findings.push(Finding::warning("hooks", said));
    }
    let off = assembled.bound.disabled.len() as u64;
    if off > 0 {
        let said = format!("{} switched off by the operator", plural(off, "hook"));
        findings.push(Finding::warning("hooks", said));
    }
    let (hooks, points) = (list.len() as u64, points.len() as u64);
    if findings.is_empty() {
        let said = format!("{hooks} on {}, all bound", plural(points, "point"));
        findings.push(Finding::ok("hooks", said));
    }
    findings
}

/// The plugins that the profile names; each was activated just now.
fn plugins(assembled: &Assembled) -> Vec<Finding> {
    let is_off = assembled.held.is_off();
    let said = |info: &PluginInfo| {
        let Manifest { id, version, kind, .. } = &info.manifest;
        let zone = match kind {
            Kind::Process if is_off => ", without a sandbox".to_owned(),
            Kind::Process => format!(", zone {}", info.rights.zone().name()),
            Kind::Native | Kind::Wasm => String::new(),
        };
        let withheld: Vec<String> = info.withheld().map(ToString::to_string).collect();
        let said = format!("{id} {version} · {kind}{zone}");
        match withheld.is_empty() {
            true if is_off && *kind == Kind::Process => {
                Finding::warning("plugins", format!("{said} · activated"))
                    .so("so it can do what you can do, whatever it was granted")
            }
            true => Finding::ok("plugins", format!("{said} · activated")),
            false => Finding::warning("plugins", format!("{said} · lacks {}", withheld.join(", ")))
                .fix(format!("pintle plugins grant {id} {}", withheld.join(" "))),
        }
    };
    assembled.plugins.list().iter().map(said).collect()
}

/// The data folder and the database in it, read to the last page: damage shows only in pages that are read.
async fn state(environment: &Environment, assembled: &Assembled) -> Finding {
    let Some(data) = environment.data().filter(|data| data.exists()) else {
        let data = environment.data().map(|data| environment.short(data)).unwrap_or_default();
        return Finding::ok("state", format!("{data} · not created yet"));
    };
    let sessions = async {
        assembled.store.check().await?;
        Ok::<_, Problem>(assembled.store.sessions().await?.len() as u64)
    };
    match sessions.await {
        Err(problem) => Finding::of("state", &problem),
        Ok(sessions) => {
            let bytes = data.join("pintle.db").metadata().map_or(0, |meta| meta.len());
            let (data, sessions) = (environment.short(data), plural(sessions, "conversation"));
            let said = format!("{data} · {sessions}, {}", size(bytes));
            Finding::ok("state", said)
        }
    }
}

/// The operator's file.
fn settings(environment: &Environment, assembled: &Assembled) -> Option<Finding> {
    let file = environment.operator_file()?;
    let is_there = if file.exists() { "" } else { " (not created)" };
    let level = assembled.operator.level.name();
    let rules = plural(assembled.operator.approvals.len() as u64, "rule");
    let file = environment.short(&file);
    Some(Finding::ok("settings", format!("{file}{is_there} · level {level}, {rules}")))
}

/// A question that no one can answer blocks the call, and no other message reports the reason.
fn approvers(environment: &Environment, assembled: &Assembled) -> Vec<Finding> {
    let Unheard { approvers, warnings, all } =
        profile::unheard(environment, &assembled.operator, assembled.profile.as_ref());
    if all {
        let failed = Finding::failed("approvers", profile::NO_APPROVER);
        return vec![warnings.into_iter().fold(failed, Finding::fix)];
    }
    let mut findings: Vec<Finding> =
        warnings.into_iter().map(|it| Finding::warning("approvers", it)).collect();
    if environment.verbose > 0 {
        findings.insert(0, Finding::ok("approvers", approvers.join(", ")));
    }
    findings
}

/// A channel without a token is not served; the agent still works.
fn channels(environment: &Environment, assembled: &Assembled) -> Vec<Finding> {
    let unready = assembled.profile.iter().flat_map(|it| profile::unready(environment, it));
    let of_channels = unready.filter(|said| said.contains("serves the channel"));
    of_channels.map(|said| Finding::warning("channels", said)).collect()
}

/// Webhooks that wait for an endpoint, of any profile.
fn webhooks(environment: &Environment) -> Vec<Finding> {
    let said = |KeptWebhooks { url, messages, damaged, file, .. }: &KeptWebhooks| match messages {
        0 => Finding::warning("webhooks", format!("{damaged} damaged in {}", file.display())),
        1 => Finding::ok("webhooks", format!("1 message waits for {url}")),
        several => Finding::ok("webhooks", format!("{several} messages wait for {url}")),
    };
    let kept = environment.data().map_or(Ok(Vec::new()), undelivered_webhooks);
    match kept {
        Ok(kept) => kept.iter().map(said).collect(),
        Err(error) => {
            let problem = Problem::io("cannot read the webhook messages that wait", &error);
            vec![Finding::of("webhooks", &problem)]
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pintle::HandlerOutcome;

    use super::*;

    #[test]
    fn who_won_and_who_lost_is_said_of_each_handler() {
        let handler = |won: &[&'static str], lost: &[&'static str], outcome| {
            let mut record = HandlerRecord::new("a", outcome, Duration::ZERO);
            (record.won, record.lost) = (won.to_vec(), lost.to_vec());
            anstream::adapter::strip_str(contribution(&record).as_str()).to_string()
        };
        let both = handler(&["appendSystem"], &["prependSystem"], HandlerOutcome::Patched);
        assert_eq!(both, "a patched won: appendSystem lost: prependSystem");
        assert_eq!(
            handler(&[], &["appendSystem"], HandlerOutcome::Patched),
            "a patched lost: appendSystem"
        );
        assert_eq!(handler(&[], &[], HandlerOutcome::Passed), "a passed");
    }
}
