//! `plugin.json`: who a plugin is, what it listens to and what it asks for (R13.3).

use std::{
    collections::BTreeSet,
    fmt,
    path::{Component, Path},
};

use pintle::similar::nearest;
use pintle::{Hooks, ModelKind, PointInfo};
use pintle_policy::Zone;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use crate::capability::{Capability, Grants};
use crate::rights::Rights;

/// The version of the API between host and plugins.
pub const API_VERSION: u32 = 1;

/// The name of the manifest in a plugin's folder.
pub const MANIFEST_FILE: &str = "plugin.json";

/// What a plugin declares of itself. What is not declared is refused.
///
/// ```
/// use pintle_plugins::Manifest;
///
/// let manifest = Manifest::parse(r#"{
///     "id": "today", "version": "1.0.0", "apiVersion": 1, "kind": "process",
///     "entry": ["python3", "today.py"],
///     "points": ["before_prompt_build"],
///     "capabilities": ["amend:prompt"]
/// }"#)?;
/// assert_eq!(manifest.id, "today");
/// assert!(manifest.problems(&pintle::Hooks::new()).is_empty());
/// # Ok::<(), pintle_plugins::ManifestError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// Where the schema of this file is, for editors.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Its id: lower-case letters, digits, `-` and `_`.
    pub id: String,
    /// Its own version.
    pub version: String,
    /// The version of the API that it is written for: 1.
    pub api_version: u32,
    /// How it runs.
    pub kind: Kind,
    /// What it does, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What is run: the program and its arguments of a process, the file of a WASM component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<Entry>,
    /// The points it listens to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<PointBinding>,
    /// What it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    /// The tools it brings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDeclaration>,
    /// The slash commands it brings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandDeclaration>,
    /// Text for the system prompt of every run in which it fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// How a plugin runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Rust, compiled into the program.
    Native,
    /// A process in any language, over the worker protocol.
    Process,
    /// A WASM component.
    Wasm,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Process => "process",
            Self::Wasm => "wasm",
        })
    }
}

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Entry {
    /// The file of a WASM component, in the plugin's folder.
    File(String),
    /// A program and its arguments.
    Argv(Vec<String>),
}

/// A point that a plugin listens to: its name, or an object with `point` and options.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PointBinding {
    /// The point.
    pub point: String,
    /// Higher runs earlier.
    #[serde(skip_serializing_if = "is_default")]
    pub priority: i32,
    /// At points about a tool: only these, as globs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Its failure fails the fire.
    #[serde(skip_serializing_if = "is_default")]
    pub fail_closed: bool,
    /// How long it may take, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl PointBinding {
    /// A point, with no options.
    pub fn new(point: impl Into<String>) -> Self {
        let point = point.into();
        Self { point, priority: 0, tools: None, fail_closed: false, timeout_ms: None }
    }
}

impl<'de> Deserialize<'de> for PointBinding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Written {
            point: String,
            #[serde(default)]
            priority: i32,
            tools: Option<Vec<String>>,
            #[serde(default)]
            fail_closed: bool,
            timeout_ms: Option<u64>,
        }
        match Value::deserialize(deserializer)? {
            Value::String(point) => Ok(Self::new(point)),
            object @ Value::Object(_) => {
                let Written { point, priority, tools, fail_closed, timeout_ms } =
                    serde_json::from_value(object).map_err(de::Error::custom)?;
                Ok(Self { point, priority, tools, fail_closed, timeout_ms })
            }
            _ => Err(de::Error::custom(
                "a point is a name, or an object such as { \"point\": \"after_tool_call\", \"tools\": [\"terminal\"] }",
            )),
        }
    }
}

/// A tool that a plugin brings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolDeclaration {
    /// Its name; the model knows it as `PLUGIN__NAME`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
}

/// A slash command that a plugin brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommandDeclaration {
    /// Its name, without the slash.
    pub name: String,
    /// What it does, for `/help`.
    pub description: String,
}

/// Why a manifest cannot be used: everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct ManifestError(pub Vec<String>);

impl Manifest {
    /// Reads the text of a `plugin.json`.
    ///
    /// # Errors
    /// When it is not JSON, or has a field that there is not.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        serde_json::from_str(text)
            .map_err(|error| ManifestError(vec![format!("{MANIFEST_FILE}: {error}")]))
    }

    /// A manifest of a native plugin, to be filled in.
    ///
    /// ```
    /// use pintle_plugins::Manifest;
    ///
    /// let manifest = Manifest::native("today", "1.0.0").point("before_prompt_build").capability("amend:prompt")?;
    /// # Ok::<(), pintle_plugins::UnknownCapability>(())
    /// ```
    pub fn native(id: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            schema: None,
            id: id.into(),
            version: version.into(),
            api_version: API_VERSION,
            kind: Kind::Native,
            description: String::new(),
            entry: None,
            points: Vec::new(),
            capabilities: Vec::new(),
            tools: Vec::new(),
            commands: Vec::new(),
            context: None,
        }
    }

    /// It listens to this point.
    #[must_use]
    pub fn point(mut self, point: impl Into<String>) -> Self {
        self.points.push(PointBinding::new(point));
        self
    }

    /// It asks for this capability.
    ///
    /// # Errors
    /// When there is no such capability.
    pub fn capability(mut self, name: &str) -> Result<Self, crate::UnknownCapability> {
        self.capabilities.push(name.parse()?);
        Ok(self)
    }

    /// Everything that is wrong with it, each with what to do about it.
    #[must_use]
    pub fn problems(&self, hooks: &Hooks) -> Vec<String> {
        let mut problems = Vec::new();
        if !is_name(&self.id) {
            problems.push(format!(
                "the id `{}` is not one: use lower-case letters, digits, `-` and `_`, starting with a letter or digit",
                self.id
            ));
        }
        if self.version.trim().is_empty() {
            problems.push("`version` is empty: write one, such as `1.0.0`".into());
        }
        if self.api_version != API_VERSION {
            problems.push(format!(
                "it is written for version {} of the plugin API, and this program has version {API_VERSION}: {}",
                self.api_version,
                match self.api_version > API_VERSION {
                    true => "use a newer pintle",
                    false => "use a newer release of the plugin",
                }
            ));
        }
        problems.extend(self.entry_problem());
        self.point_problems(hooks, &mut problems);
        self.capability_problems(hooks, &mut problems);
        self.name_problems(&mut problems);
        problems
    }

    fn entry_problem(&self) -> Option<String> {
        match (self.kind, &self.entry) {
            (Kind::Native, None) => None,
            (Kind::Native, Some(_)) => {
                Some("a native plugin is part of the program: remove `entry`".into())
            }
            (Kind::Process, Some(Entry::Argv(argv))) if !argv.is_empty() => None,
            (Kind::Process, _) => Some(
                "a process plugin needs its program: \"entry\": [\"python3\", \"plugin.py\"]"
                    .into(),
            ),
            (Kind::Wasm, Some(Entry::File(file))) if is_inner(file) => None,
            (Kind::Wasm, _) => {
                Some("a wasm plugin needs a file of its folder: \"entry\": \"plugin.wasm\"".into())
            }
        }
    }

    fn point_problems(&self, hooks: &Hooks, problems: &mut Vec<String>) {
        let known = hooks.known_points();
        let asked = Rights::new(&self.capabilities, &Grants::All);
        let mut seen = BTreeSet::new();
        for binding in &self.points {
            let name = binding.point.as_str();
            let Some(point) = known.iter().find(|it| it.name == name) else {
                let near = nearest(name, known.iter().filter(|it| is_open(it)).map(|it| it.name));
                let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                problems.push(format!("there is no hook point `{name}`{hint}"));
                continue;
            };
            if let Some(why) = closed_to_plugins(point) {
                problems.push(why);
                continue;
            }
            if !seen.insert(name) {
                problems.push(format!("`{name}` is listed twice in `points`"));
            }
            if !asked.reaches(point) {
                let needed = match point.model {
                    ModelKind::Modifying => {
                        format!("one that amends there ({}), or `observe`", patch_rights_at(point))
                    }
                    _ => "`observe`".into(),
                };
                problems
                    .push(format!("`{name}` needs a capability: add {needed} to `capabilities`"));
            }
            if binding.tools.is_some() && !point.has_tool {
                problems.push(format!("`{name}` is not about a tool: remove its `tools`"));
            }
        }
    }

    fn capability_problems(&self, hooks: &Hooks, problems: &mut Vec<String>) {
        let asks = |capability: &Capability| self.capabilities.contains(capability);
        let reaches_hosts = self.capabilities.iter().any(|it| matches!(it, Capability::Network(_)));
        for capability in &self.capabilities {
            match (capability, self.kind) {
                (Capability::Patch(right), _) => {
                    let own = right.strip_prefix("amend:");
                    let is_known = crate::capability::PATCH_RIGHTS.iter().any(|it| it.name == right)
                        || hooks.known_points().iter().any(|it| Some(it.name) == own && is_open(it));
                    if !is_known {
                        problems.push(format!("there is no capability `{right}`: no point has this name"));
                    }
                }
                (Capability::Network(_) | Capability::Zone(_), Kind::Wasm) => problems.push(format!(
                    "a wasm plugin has no network and no process, so `{capability}` means nothing: use a process plugin"
                )),
                (Capability::Clock, Kind::Process) => problems
                    .push("a process has a clock anyway: remove `clock`".into()),
                (
                    Capability::Network(_) | Capability::Zone(_) | Capability::Read(_) | Capability::Clock,
                    Kind::Native,
                ) => problems.push(format!(
                    "a native plugin is part of the program and nothing confines it: remove `{capability}`"
                )),
                (Capability::Network(_), Kind::Process) if !asks(&Capability::Zone(Zone::Network)) => {
                    problems.push(format!("`{capability}` needs `zone:network` beside it"));
                }
                (Capability::Zone(Zone::Network), Kind::Process) if !reaches_hosts => problems.push(
                    "`zone:network` reaches no host: add `network:HOST`, or `network:*` for all public ones".into(),
                ),
                _ => {}
            }
        }
        let needs = [
            (!self.tools.is_empty(), Capability::Tools, "tools"),
            (!self.commands.is_empty(), Capability::Commands, "commands"),
            (self.context.is_some(), Capability::Patch("amend:prompt".into()), "context"),
        ];
        for (_, capability, field) in needs.iter().filter(|(has, it, _)| *has && !asks(it)) {
            problems.push(format!("`{field}` needs the capability `{capability}`"));
        }
    }

    fn name_problems(&self, problems: &mut Vec<String>) {
        let tools = self.tools.iter().map(|it| ("tool", &it.name));
        let commands = self.commands.iter().map(|it| ("command", &it.name));
        let mut seen = BTreeSet::new();
        for (what, name) in tools.chain(commands) {
            if !is_name(name) {
                problems.push(format!(
                    "`{name}` is not a valid {what} name: use lower-case letters, digits, `-` and `_`"
                ));
            }
            if !seen.insert((what, name)) {
                problems.push(format!("the {what} `{name}` is declared twice"));
            }
        }
    }

    /// What it has of what it asks for, with these grants.
    #[must_use]
    pub fn rights(&self, grants: &Grants) -> Rights {
        Rights::new(&self.capabilities, grants)
    }

    /// The binding of a point, if it is declared.
    pub(crate) fn binding(&self, point: &str) -> Option<&PointBinding> {
        self.points.iter().find(|it| it.point == point)
    }
}

/// Why a plugin may not listen to a point (R13.1).
pub(crate) fn closed_to_plugins(point: &PointInfo) -> Option<String> {
    let instead = match point.model {
        ModelKind::Void | ModelKind::Modifying => return None,
        ModelKind::Claiming => "a claim decides for everybody, so claims belong to the program",
        ModelKind::Gate => {
            "a gate decides what runs, so gates belong to the program and to profiles: write a hook or a guard in agent.json, or deny a call at `before_tool_call` with `deny:tool_calls`"
        }
    };
    Some(format!(
        "plugins observe and amend, and `{}` is a {} point: {instead}",
        point.name, point.model
    ))
}

fn is_open(point: &PointInfo) -> bool {
    closed_to_plugins(point).is_none()
}

fn patch_rights_at(point: &PointInfo) -> String {
    let rights = crate::capability::PATCH_RIGHTS.iter().filter(|it| it.point == point.name);
    let names: Vec<String> = rights.map(|it| format!("`{}`", it.name)).collect();
    match names.is_empty() {
        true => format!("`amend:{}`", point.name),
        false => names.join(", "),
    }
}

fn is_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    text.len() <= 64
        && text.chars().all(inner)
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
}

fn is_inner(file: &str) -> bool {
    !file.is_empty()
        && Path::new(file)
            .components()
            .all(|it| matches!(it, Component::Normal(_) | Component::CurDir))
}
