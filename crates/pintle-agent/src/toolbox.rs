//! The tools an agent has, each with its checked schema.

use std::{collections::BTreeMap, sync::Arc};

use jsonschema::Validator;
use pintle_policy::{Zone, tool_meant};
use serde_json::Value;

use crate::{llm::ToolSpec, personality::nearest, tool::Tool};

/// A tool, or the one thing that only the loop itself can do: delegate.
#[derive(Clone)]
pub(crate) enum Kind {
    Tool(Arc<dyn Tool>),
    Delegate,
}

pub(crate) struct Known {
    pub(crate) kind: Kind,
    pub(crate) spec: ToolSpec,
    pub(crate) zone: Zone,
    pub(crate) starts_processes: bool,
    /// An unusable schema refuses every call of its tool: it cannot say what it would run.
    validator: Result<Validator, String>,
}

/// The tools by name.
#[derive(Default)]
pub(crate) struct ToolBox(BTreeMap<String, Known>);

/// Two tools have one name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there are two tools named `{0}`; names are unique: rename one, or leave one out")]
pub struct DuplicateTool(pub String);

impl ToolBox {
    pub(crate) fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), DuplicateTool> {
        let (spec, zone) = (tool.spec().clone(), tool.zone());
        self.insert(Kind::Tool(tool), spec, zone)
    }

    pub(crate) fn insert(
        &mut self,
        kind: Kind,
        spec: ToolSpec,
        zone: Zone,
    ) -> Result<(), DuplicateTool> {
        if self.0.contains_key(&spec.name) {
            return Err(DuplicateTool(spec.name));
        }
        let validator =
            jsonschema::validator_for(&spec.input_schema).map_err(|error| error.to_string());
        let starts_processes = matches!(&kind, Kind::Tool(tool) if tool.starts_processes());
        let known = Known { kind, spec, zone, starts_processes, validator };
        self.0.insert(known.spec.name.clone(), known);
        Ok(())
    }

    /// The tool, if there is one and the arguments fit it.
    pub(crate) fn check(&self, tool: &str, args: &Value) -> Result<&Known, String> {
        let Some(known) = self.0.get(tool) else {
            let names = || self.0.keys().map(String::as_str);
            let hint = tool_meant(tool, names())
                .or_else(|| nearest(tool, names()))
                .map(|name| format!("; did you mean `{name}`?"))
                .unwrap_or_default();
            return Err(format!("there is no tool `{tool}`{hint}"));
        };
        let validator = known.validator.as_ref().map_err(|error| {
            format!(
                "the schema of `{tool}` is not usable, so no call of it can be checked: {error}"
            )
        })?;
        let problems: Vec<_> = validator.iter_errors(args).map(|error| describe(&error)).collect();
        if problems.is_empty() {
            Ok(known)
        } else {
            Err(format!("invalid arguments for `{tool}`: {}", problems.join("; ")))
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Known> {
        self.0.values()
    }
}

fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    if place.is_empty() { error.to_string() } else { format!("{error} (at {place})") }
}
