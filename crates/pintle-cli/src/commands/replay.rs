//! `pintle replay`: recorded calls, judged again by today's rules.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use pintle::{DynEvent, Point, points::ToolPre};
use pintle_actions::StandIn;
use pintle_agent::{
    CallVerdict, Finding, RecordedCall, Store,
    store::{IdKind, StoredRun},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::trace;
use crate::{
    args::Replay,
    assembly::{AgentOptions, Assembled},
    chat::now_ms,
    environment::Environment,
    ids,
    out::{say, say_json},
    problem::Problem,
    profile::{self, Model, Plan},
    shown::{Shown, bold, dim, text},
    store,
    term::{Glyph, call, pad, plural, width, wrap},
};

/// The exit code when a verdict changed.
const CHANGED: u8 = 3;

/// A verdict and the rule that decided, then or now.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Judgement {
    verdict: String,
    decided_by: Option<Step>,
    #[serde(default)]
    also: Vec<Step>,
}

/// A step of a recorded judgement.
#[derive(Debug, Clone, Deserialize, serde::Serialize)]
struct Step {
    step: String,
    finding: Finding,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook: Option<String>,
}

/// A recorded call with its verdict.
struct Judged {
    call: RecordedCall,
    then: Judgement,
}

/// A call whose verdict has changed.
struct Changed<'a> {
    run: &'a Run,
    judged: &'a Judged,
    now: Judgement,
}

/// A run and the calls that were judged in it.
struct Run {
    run: StoredRun,
    short: String,
    calls: Vec<Judged>,
}

/// The figures of a replay.
#[derive(Default)]
struct Counted {
    calls: u64,
    /// Tools of MCP servers, which were not started.
    unknown: BTreeSet<String>,
    /// Command hooks that did not run.
    not_run: BTreeSet<String>,
    /// How many runs had another version of the profile.
    other_profile: u64,
}

pub(crate) async fn run(environment: &Environment, replay: Replay) -> Result<ExitCode, Problem> {
    let store = store::open(environment).await?;
    let runs = recorded(&*store, &replay).await?;
    let mut groups: BTreeMap<(Option<PathBuf>, PathBuf), Vec<&Run>> = BTreeMap::new();
    for run in &runs {
        let by = &run.run.judged_by;
        let profile = match &replay.who.profile {
            Some(given) => Some(environment.absolute(given)?),
            None => by.profile.clone().filter(|_| !replay.who.no_profile),
        };
        let workspace = by.workspace.clone().map_or_else(|| environment.working_dir(), Ok)?;
        groups.entry((profile, workspace)).or_default().push(run);
    }
    let (mut changed, mut counted) = (Vec::new(), Counted::default());
    for ((profile, workspace), runs) in groups {
        let again =
            Again { environment, replay: &replay, profile, workspace, store: store.clone() };
        changed.extend(again.judge(&runs, &mut counted).await?);
    }
    store.close().await;
    match environment.json {
        true => print_json(&changed, runs.len(), &counted)?,
        false => print(&changed, runs.len(), &counted),
    }
    Ok(if changed.is_empty() { ExitCode::SUCCESS } else { CHANGED.into() })
}

/// The runs to judge again: one and its sub-agents, or all since a time.
async fn recorded(store: &dyn Store, replay: &Replay) -> Result<Vec<Run>, Problem> {
    let wanted = match replay.since {
        Some(ms) => store.runs_since(now_ms().saturating_sub(ms)).await?,
        None => {
            let run = trace::find(store, replay.run.as_deref()).await?;
            trace::with_sub_agents(store, run).await?
        }
    };
    let mut runs = Vec::new();
    for run in wanted {
        let events = store.events(&run.run_id).await?;
        let judged = events.iter().filter(|event| event.kind == "judged");
        let calls = judged.filter_map(|event| {
            let call = serde_json::from_str(&event.json).ok()?;
            Some(Judged { call, then: serde_json::from_str(&event.json).ok()? })
        });
        let short = ids::short(store, IdKind::Run, &run.run_id).await?;
        runs.push(Run { short, calls: calls.collect(), run });
    }
    Ok(runs)
}

/// One agent that judges again: a profile as it is now, at work in a folder.
struct Again<'a> {
    environment: &'a Environment,
    replay: &'a Replay,
    profile: Option<PathBuf>,
    workspace: PathBuf,
    store: Arc<dyn Store>,
}

impl Again<'_> {
    async fn judge<'r>(
        self,
        runs: &[&'r Run],
        counted: &mut Counted,
    ) -> Result<Vec<Changed<'r>>, Problem> {
        let mut plan = match &self.profile {
            Some(dir) => Plan::read(self.environment, Some(dir), Model::Chosen)?,
            None => Plan::without_profile(self.environment, self.workspace.clone())?,
        };
        plan.policy.workspace.clone_from(&self.workspace);
        let hash = plan.profile.as_ref().and_then(profile::hash);
        let not_run = Arc::new(Mutex::new(BTreeSet::new()));
        let stand_in = (!self.replay.run_hooks).then(|| stand_in(runs, not_run.clone()));
        let extras = AgentOptions {
            stand_in,
            only_looks: !self.replay.run_hooks,
            store: Some(self.store.clone()),
            ..AgentOptions::mute()
        };
        let llm = pintle_llm::open("offline", &self.environment.llm_settings())?;
        let assembled =
            Assembled::from_parts(self.environment, plan, ("offline", llm), self.store, extras)
                .await?;
        let known: BTreeSet<&str> = assembled.agent.tool_names().collect();
        let mut changed = Vec::new();
        for &run in runs {
            counted.other_profile += u64::from(run.run.judged_by.profile_hash != hash);
            for judged in &run.calls {
                let tool = &judged.call.tool_name;
                if !self.replay.run_hooks && tool.starts_with("mcp__") && !known.contains(&**tool) {
                    counted.unknown.insert(tool.clone());
                    continue;
                }
                counted.calls += 1;
                let now = match assembled.agent.judge_again(&judged.call).await {
                    Ok(now) => serde_json::from_value(json!(now)).map_err(Problem::new)?,
                    Err(gone) => Judgement::refused("personality", gone.to_string()),
                };
                if now.verdict != judged.then.without_session_rules() {
                    changed.push(Changed { run, judged, now });
                }
            }
        }
        counted.not_run.append(&mut not_run.lock().unwrap_or_else(PoisonError::into_inner));
        assembled.close().await;
        Ok(changed)
    }
}

impl Judgement {
    fn refused(step: &str, detail: String) -> Self {
        let (step, finding) = (step.to_owned(), Finding::Stops);
        let step = Step { step, finding, detail, source: None, hook: None };
        let verdict = CallVerdict::Refuse.name().to_owned();
        Self { verdict, decided_by: Some(step), also: Vec::new() }
    }

    /// The verdict without the session's rules, which ended with the session.
    fn without_session_rules(&self) -> &str {
        let is_rule = |step: &&Step| step.step == "approval" && step.finding == Finding::Passes;
        match self.decided_by.as_ref().filter(is_rule) {
            Some(Step { source: None, .. }) => CallVerdict::Ask.name(),
            _ => &self.verdict,
        }
    }

    fn shown(&self) -> Shown {
        let Some(step) = &self.decided_by else { return Shown::default() };
        let hook = step.hook.as_ref().filter(|hook| !step.detail.contains(*hook));
        let hook = hook.map(|hook| format!("hook `{hook}`: ")).unwrap_or_default();
        let source = step.source.as_ref().filter(|at| !step.detail.contains(*at));
        let source = source.map_or(Shown::default(), |at| text!(" {}", dim(text!("({})", at))));
        text!("{}{}{}", hook, step.detail, source)
    }

    fn to_json(&self) -> Value {
        json!({ "verdict": self.verdict, "decidedBy": self.decided_by })
    }
}

/// Answers for the programs of command hooks with their recorded answers. A hook without a recorded answer allows.
fn stand_in(runs: &[&Run], not_run: Arc<Mutex<BTreeSet<String>>>) -> StandIn {
    let mut said: HashMap<(String, String, String), Value> = HashMap::new();
    for run in runs {
        for Judged { call, then } in &run.calls {
            let steps = then.decided_by.iter().chain(&then.also);
            for step in steps.filter(|step| step.step == ToolPre::NAME) {
                let decision = match step.finding {
                    Finding::Stops => "block",
                    Finding::Asks => "ask",
                    Finding::Passes => continue,
                };
                let Some(hook) = step.hook.clone() else { continue };
                let key = (run.run.run_id.clone(), call.tool_call_id.clone(), hook);
                said.insert(key, json!({ "decision": decision, "reason": step.detail }));
            }
        }
    }
    Arc::new(move |hook, event: &DynEvent| {
        let mut names = not_run.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.contains(hook) {
            names.insert(hook.to_owned());
        }
        let run_id = event.envelope.run_id.clone().unwrap_or_default();
        let call = event.json.get("toolCallId").and_then(Value::as_str).unwrap_or_default();
        said.get(&(run_id, call.to_owned(), hook.to_owned())).cloned().unwrap_or_default()
    })
}

fn print(changed: &[Changed<'_>], runs: usize, counted: &Counted) {
    for Changed { run, judged, now } in changed {
        let glyph = match now.verdict.as_str() {
            "refuse" => Glyph::Blocked,
            "ask" => Glyph::Ask,
            _ => Glyph::Ok,
        };
        let named = bold(call(&judged.call.tool_name, &judged.call.args));
        let line = text!("{} {} {}", glyph, named, dim(text!("run {}", run.short)));
        say!("{}", wrap(&line, width(), 2));
        for (when, said) in [("then", &judged.then), ("now", now)] {
            let verdict = pad(&bold(&said.verdict), 6, false);
            let line = text!("    {} {}  {}", pad(&dim(when), 4, false), verdict, said.shown());
            say!("{}", wrap(&line, width(), 17));
        }
    }
    let mut said = vec![
        format!("{} of {} judged again", plural(counted.calls, "call"), plural(runs as u64, "run")),
        match changed.len() {
            0 => "no verdict changed".to_owned(),
            some => format!("{} changed", plural(some as u64, "verdict")),
        },
    ];
    if counted.other_profile > 0 && counted.calls > 0 {
        let runs = plural(counted.other_profile, "run");
        said.push(format!("the profile differs from that of {runs}"));
    }
    say!("{}", wrap(&text!("{} {}", Glyph::Next, said.join(" · ")), width(), 2));
    for (names, what) in [
        (&counted.not_run, "did not run, so its recorded answers were used"),
        (&counted.unknown, "was not judged, for its MCP server was not started"),
    ] {
        for name in names {
            let line = text!("{} `{}` {}; --run-hooks starts it", Glyph::Warning, name, what);
            say!("{}", wrap(&line, width(), 2));
        }
    }
}

fn print_json(changed: &[Changed<'_>], runs: usize, counted: &Counted) -> Result<(), Problem> {
    let changed: Vec<Value> = changed
        .iter()
        .map(|Changed { run, judged, now }| {
            json!({
                "runId": run.run.run_id,
                "toolCallId": judged.call.tool_call_id,
                "toolName": judged.call.tool_name,
                "args": judged.call.args,
                "then": judged.then.to_json(),
                "now": now.to_json(),
            })
        })
        .collect();
    say_json(&json!({
        "runs": runs,
        "calls": counted.calls,
        "changed": changed,
        "profileDiffers": counted.other_profile,
        "hooksNotRun": counted.not_run,
        "toolsNotJudged": counted.unknown,
    }))
}
