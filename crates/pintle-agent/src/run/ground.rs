//! The part of the judgement that asks nobody: is there such a tool, do the arguments fit, may this personality use it,
//! does a guard object, how far does the call reach.

use std::path::Path;

use pintle::{Question, points::ToolPre};
use pintle_policy::{Floor, Judged, Reach, Restricted, Zone, guard, zone_of};
use pintle_sandbox::{Confinement, Grant, Unconfined};
use serde::Serialize;

use crate::{
    agent::Inner,
    call::FinalCall,
    personality::Personality,
    rule::{ApprovalRule, StandingRule},
    toolbox::Known,
};

/// The source of a rule that nobody wrote down and nobody can take away.
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
}

/// What came of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
pub(super) struct Ground<'a> {
    pub(super) known: &'a Known,
    /// Where its paths lead, as every judge saw it.
    pub(super) reach: Reach,
    judged: Judged,
    floor: Floor,
    /// How a process of this call is held, if it starts one inside a sandbox.
    confinement: Option<Confinement>,
    /// What a person would grant to a second attempt, in words.
    granted: Option<String>,
    /// Whether a protected or secret path decided its zone: no rule covers that.
    is_restricted: bool,
}

/// What a person is asked.
pub(super) struct Asked {
    /// Why, each reason in words. Without any, no one is asked.
    pub(super) reasons: Vec<String>,
    /// Whether the zone alone asks: then a rule may answer (R11.7).
    pub(super) by_zone_alone: bool,
}

impl Ground<'_> {
    pub(super) fn tool_pre(&self, call: &FinalCall) -> ToolPre {
        ToolPre {
            tool_call_id: call.id().to_string(),
            tool_name: call.tool().to_string(),
            tool_input: call.args().clone(),
            zone: self.judged.zone.number(),
        }
    }

    pub(super) fn zone(&self) -> Zone {
        self.judged.zone
    }

    /// How its process is held. Outside a sandbox only a person's approval lets it run (R17.1).
    pub(super) fn confinement(&self, decided_by: Option<&str>) -> Option<Confinement> {
        let approved = |by: &str| Unconfined::by(format!("a person, by {by}")).into();
        match self.known.starts_processes {
            true => self.confinement.clone().or(decided_by.map(approved)),
            false => None,
        }
    }

    /// What a person has to be asked, if anything: about the zone, and what hooks want; then where a link leads, for the
    /// words of the call do not say.
    pub(super) fn asked(&self, questions: Vec<Question>) -> Asked {
        let zone = format!("zone `{}`: {}", self.judged.zone.name(), self.judged.why);
        let by_zone = (self.floor == Floor::Ask).then_some(zone);
        let by_zone_alone = by_zone.is_some()
            && questions.is_empty()
            && self.granted.is_none()
            && !self.is_restricted;
        let wanted = questions.into_iter().map(|question| question.reason);
        let granted = self.granted.clone().into_iter();
        let mut reasons: Vec<String> = granted.chain(by_zone).chain(wanted).collect();
        if !reasons.is_empty() {
            let led = |(written, real): (&str, &Path)| format!("{written} is {}", real.display());
            reasons.extend(self.reach.linked().map(led));
        }
        Asked { reasons, by_zone_alone }
    }

    /// The first rule that covers the call.
    pub(super) fn covered_by(
        &self,
        call: &FinalCall,
        rules: Vec<StandingRule>,
    ) -> Option<StandingRule> {
        rules.into_iter().find(|it| it.rule.covers(call, &self.reach, self.judged.zone))
    }

    pub(super) fn offered_rule(&self, call: &FinalCall) -> Option<ApprovalRule> {
        ApprovalRule::offered(call, &self.reach, self.judged.zone)
    }
}

/// Writes down what came of a step, and passes it on.
fn push(
    trail: &mut Vec<JudgedStep>,
    step: &'static str,
    found: Result<String, String>,
    source: Option<String>,
) -> Result<(), String> {
    let (finding, detail) = match found.clone() {
        Ok(detail) => (Finding::Passes, detail),
        Err(reason) => (Finding::Stops, reason),
    };
    trail.push(JudgedStep { step, finding, detail, source });
    found.map(drop)
}

impl Inner {
    /// The first "no" ends it. The trail says how far it came.
    pub(super) fn ground(
        &self,
        lineage: &[&Personality],
        call: &FinalCall,
        trail: &mut Vec<JudgedStep>,
    ) -> Result<Ground<'_>, String> {
        let tool = call.tool();
        let known = self.tools.check(tool, call.args());
        let found = known.as_ref().map(|_| format!("`{tool}` is there, and the arguments fit it"));
        push(trail, "known tool", found.map_err(Clone::clone), None)?;
        push(trail, "toolset", self.toolset(lineage, tool), None)?;

        let policy = &self.policy;
        let reach = Reach::of(call.args(), &policy.workspace);
        let (found, source) = match guard::judge_all(&policy.guards, tool, call.args(), &reach) {
            Some(denial) => {
                (Err(format!("{} ({})", denial.reason, denial.source)), Some(denial.source))
            }
            None => match policy.guards.len() {
                0 => (Ok("there are no guards".to_string()), None),
                1 => (Ok("the one guard does not refuse it".to_string()), None),
                several => (Ok(format!("none of {several} guards refuses it")), None),
            },
        };
        push(trail, "guards", found, source)?;

        let known = known?;
        let zone = |restricted| zone_of(tool, known.zone, call.args(), &reach, restricted);
        let mut judged = match zone(policy.restricted()) {
            Ok(judged) => judged,
            Err(reason) => {
                push(trail, "zone", Err(reason.clone()), None)?;
                return Err(reason);
            }
        };
        let is_restricted = judged.zone == Zone::Machine
            && zone(Restricted::default()).is_ok_and(|it| it != judged);
        let mut confinement = None;
        if known.starts_processes {
            let (found, held) = self.sandbox(&mut judged, call.grants());
            trail.push(found);
            confinement = held;
        }
        let (zone, why, level) = (judged.zone.name(), &judged.why, policy.level.name());
        let floor = policy.level.floor(judged.zone);
        let written = policy.level_written.clone();
        let (found, source) = match floor {
            Floor::Run => {
                (Ok(format!("`{zone}` runs by itself at level `{level}`: {why}")), written)
            }
            Floor::Ask => {
                (Ok(format!("`{zone}` is asked about at level `{level}`: {why}")), written)
            }
            // No level decides about the last zone.
            Floor::Never if judged.zone == Zone::Never => {
                let never =
                    format!("this call is in zone `{zone}` ({why}), which runs at no level");
                (Err(never), Some(BUILT_IN.to_string()))
            }
            Floor::Never => {
                let at = written.as_deref().map(|at| format!(" ({at})")).unwrap_or_default();
                let never = format!(
                    "this call is in zone `{zone}` ({why}), which never runs at level `{level}`{at}"
                );
                (Err(never), written)
            }
        };
        push(trail, "zone", found, source)?;
        let granted = (!call.grants().is_empty()).then(|| {
            let wanted: Vec<String> = call.grants().iter().map(ToString::to_string).collect();
            format!("it wanted to {}: run it again, with that?", wanted.join(" and to "))
        });
        Ok(Ground { known, reach, judged, floor, confinement, granted, is_restricted })
    }

    /// What the kernel holds of this call. What it cannot hold reaches the machine (R17.2).
    fn sandbox(&self, judged: &mut Judged, grants: &[Grant]) -> (JudgedStep, Option<Confinement>) {
        let confined = self.policy.containment.confine(judged.zone, grants);
        let (finding, detail) = match &confined {
            Ok(confinement) => (Finding::Passes, self.policy.containment.in_words(confinement)),
            Err(why) => (Finding::Asks, why.clone()),
        };
        if let Err(why) = &confined
            && judged.zone < Zone::Machine
        {
            judged.why = format!("nothing holds it to zone `{}`: {why}", judged.zone.name());
            judged.zone = Zone::Machine;
        }
        (JudgedStep { step: "sandbox", finding, detail, source: None }, confined.ok())
    }

    fn toolset(&self, lineage: &[&Personality], tool: &str) -> Result<String, String> {
        if !self.policy.offers(tool) {
            return Err(format!("the profile's `tools` do not offer `{tool}`"));
        }
        match lineage.iter().find(|personality| !personality.may_use(tool)) {
            Some(personality) => {
                Err(format!("the personality `{}` may not use `{tool}`", personality.id))
            }
            None => Ok("the personality may use it".into()),
        }
    }
}
