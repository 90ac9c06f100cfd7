//! What a tool says of itself: to the model, and to guards and zones.

use crate::{GuardKind, Zone};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What tools usually call an argument that names a path.
const USUAL_PATH_FIELDS: &[&str] = &["path", "file_path", "filePath", "cwd"];

/// A tool's declaration, written once, where the tool is.
///
/// A model sees the name, the description and the schema. The rest is for guards and zones. What a tool does not declare
/// is taken for the worst: it acts elsewhere, and the arguments that usually name a path do.
///
/// ```
/// use pintle_policy::{ToolSpec, Zone};
///
/// let schema = serde_json::json!({ "type": "object", "properties": { "path": { "type": "string" } } });
/// let count = ToolSpec::new("count_lines", "Counts the lines of a file.", schema)
///     .in_zone(Zone::Safe)
///     .with_paths(["path"])
///     .with_aliases(["wc"]);
/// assert_eq!(count.zone, Zone::Safe);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolSpec {
    /// Its name, unique among the agent's tools.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments (an object).
    pub input_schema: Value,
    /// The least zone any call of it is in. The call's input can raise it, never lower it.
    #[serde(skip, default = "external")]
    pub zone: Zone,
    /// The arguments that name a path; `None` when that is not known.
    #[serde(skip)]
    pub paths: Option<Vec<String>>,
    /// Whether it runs the shell command line in `command`, in the folder `cwd`, with the rights that `zone` declares.
    #[serde(skip)]
    pub runs_commands: bool,
    /// Whether it starts processes, which then have to be held to the zone of their call.
    #[serde(skip)]
    pub starts_processes: bool,
    /// Whether a call that a crash interrupted may be run again: it changes nothing.
    #[serde(skip)]
    pub repeatable: bool,
    /// What other agents call a tool like it, for "did you mean": in lower case, without `_` and `-`.
    #[serde(skip)]
    pub aliases: Vec<String>,
    /// The plugin that brings it: only personalities for which that plugin fires have the tool.
    #[serde(skip)]
    pub plugin: Option<String>,
}

fn external() -> Zone {
    Zone::External
}

impl ToolSpec {
    /// A tool that acts elsewhere and does not say which of its arguments are paths.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema,
            zone: Zone::External,
            paths: None,
            runs_commands: false,
            starts_processes: false,
            repeatable: false,
            aliases: Vec::new(),
            plugin: None,
        }
    }

    /// Its calls are in this zone at least.
    #[must_use]
    pub fn in_zone(mut self, zone: Zone) -> Self {
        self.zone = zone;
        self
    }

    /// These arguments name a path, and no others do; with none it takes no path.
    #[must_use]
    pub fn with_paths<const N: usize>(mut self, fields: [&str; N]) -> Self {
        self.paths = Some(fields.map(str::to_owned).to_vec());
        self
    }

    /// It runs the shell command line in `command`, in the folder `cwd`, with the rights that `zone` declares.
    #[must_use]
    pub fn running_commands(mut self) -> Self {
        self.runs_commands = true;
        self.starts_processes = true;
        self.with_paths(["cwd"])
    }

    /// It changes nothing, so a call that a crash interrupted is run again.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Other agents call it so.
    #[must_use]
    pub fn with_aliases<const N: usize>(mut self, names: [&str; N]) -> Self {
        self.aliases = names.map(str::to_owned).to_vec();
        self
    }

    /// A plugin brings it.
    #[must_use]
    pub fn of_plugin(mut self, id: impl Into<String>) -> Self {
        self.plugin = Some(id.into());
        self
    }

    /// The arguments that name a path; of a tool that does not declare them, those that usually do.
    pub fn path_fields(&self) -> impl Iterator<Item = &str> {
        let usual = if self.paths.is_none() { USUAL_PATH_FIELDS } else { &[] };
        self.paths.iter().flatten().map(String::as_str).chain(usual.iter().copied())
    }

    /// The names of its arguments; `None` when its schema does not list them.
    pub fn fields(&self) -> Option<impl Iterator<Item = &str>> {
        let properties = self.input_schema.get("properties")?.as_object()?;
        Some(properties.keys().map(String::as_str))
    }

    /// How a rule for its calls is written; `None` for a tool whose name is all that a rule says.
    #[must_use]
    pub fn rule_kind(&self) -> Option<GuardKind> {
        match (self.runs_commands, self.paths.as_deref()) {
            (true, _) => Some(GuardKind::Shell),
            (false, Some([_, ..])) => Some(GuardKind::Path),
            (false, Some([]) | None) => None,
        }
    }
}
