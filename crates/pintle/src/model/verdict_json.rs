//! A verdict on the wire: our own form (R7.1) and the forms of other agents' hooks (R8.2). No other file knows the fields.

use schemars::JsonSchema;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};

use super::{
    from_object,
    verdict::{Spoken, Verdict},
};
use crate::Failure;

/// Spellings by which hooks of other agents rewrite a call. Only code may do that here (R10.3).
const REWRITES: [&str; 4] = ["updatedInput", "updated_input", "modifiedArgs", "tool_input"];

/// A lifecycle handler's answer on the wire (R7.1).
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct VerdictJson {
    /// False blocks.
    #[serde(default = "yes", rename = "continue")]
    go_on: bool,
    /// Why it blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Something to show the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// Something the model should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    additional_context: Option<String>,
    /// What hooks of other agents say instead of `continue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    /// Why it blocks, if there is no `reason`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop_reason: Option<String>,
    /// Something a person should know; it is in the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system_message: Option<String>,
    /// A decision as hooks of Claude Code write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<HookSpecificOutput>,
    #[serde(flatten)]
    #[schemars(skip)]
    unknown: Map<String, Value>,
}

fn yes() -> bool {
    true
}

/// What hooks of Claude Code, and of agents that copied it, answer.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct HookSpecificOutput {
    #[serde(rename = "hookEventName")]
    #[schemars(skip)]
    _event: Option<IgnoredAny>,
    /// The same as `decision` beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permission_decision: Option<Decision>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permission_decision_reason: Option<String>,
    /// Something the model should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    additional_context: Option<String>,
    #[serde(flatten)]
    #[schemars(skip)]
    unknown: Map<String, Value>,
}

/// A decision in other agents' words. Of several in one answer the strictest stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The order is from loose to strict.
enum Decision {
    /// Goes on. It loosens nothing.
    Allow,
    /// The same as `allow`.
    Approve,
    /// Asks a person at `tool.pre`; elsewhere it blocks.
    Ask,
    /// Blocks.
    Block,
    /// The same as `block`.
    Deny,
}

/// Reads a verdict, and notes for the record: ignored fields, and words for a person.
///
/// An empty object is no answer. At a binding point any other object must say something that is understood.
///
/// # Errors
/// `BadOutput` for a known field of the wrong type; at a binding point also for an object that decides and says nothing,
/// a reason without a decision, and a rewrite.
pub(super) fn read(
    object: Map<String, Value>,
    binding: bool,
) -> Result<(Verdict, Vec<String>), Failure> {
    if object.is_empty() {
        return Ok((Verdict::allow(), Vec::new()));
    }
    let says_continue = object.contains_key("continue");
    let json: VerdictJson = from_object(object).map_err(Failure::bad_output)?;
    let hook = json.hook_specific_output.unwrap_or_default();
    let inner = hook.unknown.keys().map(|field| format!("hookSpecificOutput.{field}"));
    let unknown: Vec<String> = json.unknown.keys().cloned().chain(inner).collect();
    let rewrites =
        |field: &&str| json.unknown.contains_key(*field) || hook.unknown.contains_key(*field);
    if binding && let Some(field) = REWRITES.iter().copied().find(rewrites) {
        return Err(Failure::bad_output(format!(
            "`{field}`: a hook cannot rewrite what a tool gets; block the call and give the reason"
        )));
    }

    let go_on = if json.go_on { Decision::Allow } else { Decision::Block };
    let decisions = [says_continue.then_some(go_on), json.decision, hook.permission_decision];
    let decision = decisions.into_iter().flatten().max();
    let reasons = [json.reason, hook.permission_decision_reason, json.stop_reason];
    let reason = reasons.into_iter().flatten().find(|reason| !reason.is_empty());
    let contexts: Vec<_> =
        [json.additional_context, hook.additional_context].into_iter().flatten().collect();
    let additional_context = (!contexts.is_empty()).then(|| contexts.join("\n"));

    let is_mute =
        json.output.is_none() && additional_context.is_none() && json.system_message.is_none();
    if binding && decision.is_none() && (is_mute || reason.is_some()) {
        return Err(undecided(&unknown));
    }
    let mut notes: Vec<String> =
        unknown.iter().map(|field| format!("ignored unknown field `{field}`")).collect();
    notes.extend(json.system_message);
    let mut said = Spoken { output: json.output, additional_context, ..Spoken::default() };
    match decision {
        Some(Decision::Block | Decision::Deny) => said.block = Some(reason.unwrap_or_default()),
        Some(Decision::Ask) => said.ask = Some(reason.unwrap_or_default()),
        Some(Decision::Allow | Decision::Approve) => notes.extend(reason),
        None if reason.is_some() => {
            notes.push("ignored `reason`: it takes `\"continue\": false` to block".into());
        }
        None => {}
    }
    Ok((said.into(), notes))
}

/// An answer that was meant to decide something, in words that are not understood.
fn undecided(unknown: &[String]) -> Failure {
    let form = r#"a verdict is {"continue": false, "reason": "why"}, or nothing"#;
    let fields: Vec<_> = unknown.iter().take(5).map(|field| format!("`{field}`")).collect();
    Failure::bad_output(match fields.is_empty() {
        true => format!("the answer has no decision: {form}"),
        false => {
            format!("the answer has no decision, and {} is unknown: {form}", fields.join(", "))
        }
    })
}
