//! The tools an agent has, each with its checked schema.

use std::{collections::BTreeMap, fmt, sync::Arc};

use pintle_policy::{ToolSpec, tool_meant};
use serde_json::Value;

use crate::{schema::Schema, tool::Tool};

/// A tool, or the one thing that only the loop itself can do: delegate.
#[derive(Clone)]
pub(crate) enum ToolKind {
    Tool(Arc<dyn Tool>),
    Delegate,
}

impl fmt::Debug for ToolKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(_) => f.write_str("Tool"),
            Self::Delegate => f.write_str("Delegate"),
        }
    }
}

pub(crate) struct RegisteredTool {
    pub(crate) kind: ToolKind,
    pub(crate) spec: ToolSpec,
    /// An unusable schema refuses every call of its tool: it cannot say what it would run.
    schema: Result<Schema, String>,
}

/// The tools by name.
#[derive(Default)]
pub(crate) struct ToolBox(BTreeMap<String, RegisteredTool>);

/// Two tools have one name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there are two tools named `{0}`; names are unique: rename one, or leave one out")]
pub struct DuplicateTool(pub String);

impl ToolBox {
    pub(crate) fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), DuplicateTool> {
        let spec = tool.spec();
        self.insert(ToolKind::Tool(tool), spec)
    }

    pub(crate) fn insert(&mut self, kind: ToolKind, spec: ToolSpec) -> Result<(), DuplicateTool> {
        if self.0.contains_key(&spec.name) {
            return Err(DuplicateTool(spec.name));
        }
        let schema = Schema::new(&spec.input_schema);
        self.0.insert(spec.name.clone(), RegisteredTool { kind, spec, schema });
        Ok(())
    }

    pub(crate) fn get(&self, tool: &str) -> Option<&RegisteredTool> {
        self.0.get(tool)
    }

    /// The tool, if there is one and the arguments fit it.
    pub(crate) fn check(&self, tool: &str, args: &Value) -> Result<&RegisteredTool, String> {
        let Some(known) = self.0.get(tool) else {
            let hint = tool_meant(tool, self.iter().map(|known| &known.spec))
                .map(|name| format!("; did you mean `{name}`?"))
                .unwrap_or_default();
            return Err(format!("there is no tool `{tool}`{hint}"));
        };
        let schema = known.schema.as_ref().map_err(|error| {
            format!(
                "the schema of `{tool}` is not usable, so no call of it can be checked: {error}"
            )
        })?;
        let problems = schema.problems(args);
        if problems.is_empty() {
            Ok(known)
        } else {
            Err(format!("invalid arguments for `{tool}`: {}", problems.join("; ")))
        }
    }

    /// Whether an interrupted call of this tool may be run again.
    pub(crate) fn is_repeatable(&self, tool: &str) -> bool {
        self.0.get(tool).is_some_and(|known| known.spec.repeatable)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &RegisteredTool> {
        self.0.values()
    }
}
