//! The part of the judgement that asks no one: is there such a tool, do the arguments fit, may this personality use it,
//! does a guard object, how far does the call reach.

use pintle::points::{ToolPre, Untrusted};
use pintle_policy::{Floor, Judged, Reach, Restricted, ToolSpec, Zone, guard, zone_of};
use pintle_sandbox::{Confinement, Grant};
use serde::{Deserialize, Serialize};

use super::judge::Rejection;
use crate::{
    agent::Inner, call::FinalCall, personality::Personality, policy::Policy,
    toolbox::RegisteredTool,
};

/// The source of a rule that is built in and cannot be removed.
const BUILT_IN: &str = "built-in";

/// One step of a judgement: what was looked at, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgedStep {
    /// What was looked at.
    pub step: &'static str,
    /// What came of it.
    pub finding: Finding,
    /// In words.
    pub detail: String,
    /// Where the rule that decided is written down, when it is written down somewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The hook that said it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// Whether it is only what a rule in shadow mode would have said.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
}

/// What came of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// It does not stand in the way.
    Passes,
    /// A person has to be asked.
    Asks,
    /// The call does not run.
    Stops,
}

/// What is known of a call that nothing written down forbids.
pub(super) struct Cleared<'a> {
    pub(super) tool: &'a RegisteredTool,
    /// Where its paths lead, as every judge saw it.
    pub(super) reach: Reach,
    pub(super) judged: Judged,
    pub(super) floor: Floor,
    /// How a process of this call is held, if it starts one inside a sandbox.
    pub(super) confinement: Option<Confinement>,
    /// What a person would grant to a second attempt, in words.
    pub(super) granted: Option<String>,
    /// Whether a protected or secret path decided its zone: no rule covers that.
    pub(super) is_restricted: bool,
    /// Whether it says that it reaches others: then its result comes from outside.
    pub(super) reaches_others: bool,
}

impl Cleared<'_> {
    pub(super) fn tool_pre(&self, call: &FinalCall, untrusted: Option<Untrusted>) -> ToolPre {
        ToolPre::default()
            .tool_call_id(call.id().to_string())
            .tool_name(call.tool().to_string())
            .tool_input(call.args().clone())
            .zone(self.judged.zone.number())
            .asks(self.floor == Floor::Ask)
            .untrusted(untrusted)
    }

    pub(super) fn zone(&self) -> Zone {
        self.judged.zone
    }
}

impl JudgedStep {
    pub(super) fn new(
        step: &'static str,
        finding: Finding,
        detail: String,
        source: Option<String>,
    ) -> Self {
        Self { step, finding, detail, source, hook: None, shadow: false }
    }

    fn passes(step: &'static str, detail: String, source: Option<String>) -> Self {
        Self::new(step, Finding::Passes, detail, source)
    }

    fn stops(step: &'static str, detail: String, source: Option<String>) -> Self {
        Self::new(step, Finding::Stops, detail, source)
    }
}

/// Adds a step to the trail. A reason not to run becomes a denial.
fn push(
    trail: &mut Vec<JudgedStep>,
    step: &'static str,
    found: Result<String, String>,
    source: Option<String>,
) -> Result<(), Rejection> {
    match found {
        Ok(detail) => {
            trail.push(JudgedStep::passes(step, detail, source));
            Ok(())
        }
        Err(reason) => {
            trail.push(JudgedStep::stops(step, reason.clone(), source));
            Err(Rejection::Denied(reason))
        }
    }
}

/// Makes every check in turn; the first refusal ends it. The trail says how far it came.
pub(super) fn static_checks<'a>(
    agent: &'a Inner,
    lineage: &[&Personality],
    call: &FinalCall,
    trail: &mut Vec<JudgedStep>,
) -> Result<Cleared<'a>, Rejection> {
    let (name, policy) = (call.tool(), &agent.policy);
    let tool = agent.tools.check(name, call.args()).map_err(|reason| {
        trail.push(JudgedStep::stops("known tool", reason.clone(), None));
        Rejection::Invalid(reason)
    })?;
    let found = format!("`{name}` is there, and the arguments fit it");
    trail.push(JudgedStep::passes("known tool", found, None));
    push(trail, "toolset", toolset(agent, lineage, &tool.spec), None)?;

    let reach = Reach::of(&tool.spec, call.args(), &policy.workspace);
    let (found, source) = match guard::judge_all(&policy.guards, &tool.spec, call.args(), &reach) {
        Some(denial) => {
            (Err(format!("{} ({})", denial.reason, denial.source)), Some(denial.source))
        }
        None => match policy.guards.len() {
            0 => (Ok("there are no rules".to_string()), None),
            1 => (Ok("no rule matches (1 rule)".to_string()), None),
            several => (Ok(format!("no rule matches ({several} rules)")), None),
        },
    };
    push(trail, "guards", found, source)?;
    for denial in guard::judge_in_shadow(&policy.guards, &tool.spec, call.args(), &reach) {
        let (detail, source) = (format!("would refuse: {}", denial.reason), Some(denial.source));
        trail.push(JudgedStep { shadow: true, ..JudgedStep::passes("guards", detail, source) });
    }

    let zone = |restricted| zone_of(&tool.spec, call.args(), &reach, restricted);
    let mut judged = zone(policy.restricted()).map_err(|reason| {
        trail.push(JudgedStep::stops("zone", reason.clone(), None));
        Rejection::Invalid(reason)
    })?;
    let is_restricted =
        judged.zone == Zone::Machine && zone(Restricted::default()).is_ok_and(|it| it != judged);
    // Without a sandbox every process is in zone machine. That says nothing about what it reads.
    let reaches_others = judged.zone >= Zone::Network;
    let mut confinement = None;
    if tool.spec.starts_processes {
        let (found, held) = sandbox(policy, &mut judged, call.grants());
        trail.push(found);
        confinement = held;
    }
    let (zone, why, level) = (judged.zone.name(), &judged.why, policy.level.name());
    let floor = policy.level.floor(judged.zone);
    let written = policy.level_written.clone();
    let (finding, detail, source) = match floor {
        Floor::Run => (Finding::Passes, format!("runs unasked at level {level}: {why}"), written),
        Floor::Ask => (Finding::Asks, format!("{why} · level {level} asks"), written),
        // No level decides about the last zone.
        Floor::Never if judged.zone == Zone::Never => {
            let never = format!("{why}; no setting allows this");
            (Finding::Stops, never, Some(BUILT_IN.to_string()))
        }
        Floor::Never => {
            let at = written.as_deref().map(|at| format!(" ({at})")).unwrap_or_default();
            (Finding::Stops, format!("{why}; level {level} never allows this{at}"), written)
        }
    };
    let said = format!("{zone}: {detail}");
    trail.push(JudgedStep::new("zone", finding, said, source));
    if finding == Finding::Stops {
        return Err(Rejection::Denied(detail));
    }
    let granted = (!call.grants().is_empty()).then(|| {
        let wanted: Vec<String> = call.grants().iter().map(ToString::to_string).collect();
        format!("the kernel refused: {}", wanted.join(", "))
    });
    Ok(Cleared { tool, reach, judged, floor, confinement, granted, is_restricted, reaches_others })
}

/// What the kernel holds of this call. What it cannot hold reaches the machine (R17.2).
fn sandbox(
    policy: &Policy,
    judged: &mut Judged,
    grants: &[Grant],
) -> (JudgedStep, Option<Confinement>) {
    let confined = policy.containment.confine(judged.zone, grants);
    let (finding, detail) = match &confined {
        Ok(confinement) => (Finding::Passes, policy.containment.in_words(confinement)),
        Err(why) => (Finding::Asks, why.clone()),
    };
    if let Err(why) = &confined
        && judged.zone < Zone::Machine
    {
        judged.why = format!("no sandbox holds it, so it may change this machine: {why}");
        judged.zone = Zone::Machine;
    }
    (JudgedStep::new("sandbox", finding, detail, None), confined.ok())
}

fn toolset(agent: &Inner, lineage: &[&Personality], tool: &ToolSpec) -> Result<String, String> {
    let ToolSpec { name, plugin, .. } = tool;
    if !agent.policy.offers(name) {
        return Err(format!("the profile's `tools` do not offer `{name}`"));
    }
    match (lineage.iter().find(|personality| !personality.may_use(tool)), plugin) {
        (Some(personality), Some(plugin)) if !personality.fires(Some(plugin)) => Err(format!(
            "the personality `{}` does not have the plugin `{plugin}`, which brings `{name}`",
            personality.id
        )),
        (Some(personality), _) => {
            Err(format!("the personality `{}` may not use `{name}`", personality.id))
        }
        (None, _) => Ok("the personality may use it".into()),
    }
}
