//! Who the agent is.

use std::collections::BTreeMap;

use glob::Pattern;
use pintle::{PluginFilter, points::PersonalityConfig, similar::nearest};
use pintle_policy::ToolSpec;

/// A personality: its prompt, the tools it may use, the plugins whose handlers fire for it.
#[derive(Debug, Clone)]
pub struct Personality {
    /// Its name.
    pub id: String,
    config: PersonalityConfig,
    /// The tools it may use; `None` is all of them.
    tools: Option<Vec<Pattern>>,
}

impl Personality {
    /// A personality from its configuration.
    ///
    /// # Errors
    /// When a tool glob does not parse.
    pub fn new(
        id: impl Into<String>,
        config: PersonalityConfig,
    ) -> Result<Self, glob::PatternError> {
        let parse = |globs: &Vec<String>| globs.iter().map(|glob| Pattern::new(glob)).collect();
        let tools = config.tools.as_ref().map(parse).transpose()?;
        Ok(Self { id: id.into(), config, tools })
    }

    /// Its part of the system prompt.
    pub fn prompt(&self) -> &str {
        &self.config.prompt
    }

    /// Whether it may use this tool. A plugin's tool goes with the plugin.
    pub fn may_use(&self, tool: &ToolSpec) -> bool {
        let fits = |globs: &Vec<Pattern>| globs.iter().any(|glob| glob.matches(&tool.name));
        self.tools.as_ref().is_none_or(fits) && self.fires(tool.plugin.as_deref())
    }

    /// Whether the handlers of a plugin fire for it; those of the program itself (`None`) always do.
    pub fn fires(&self, plugin: Option<&str>) -> bool {
        let named = |id: &str| self.config.plugins.iter().flatten().any(|it| it == id);
        plugin.is_none_or(named)
    }

    /// The plugins whose handlers fire for it: without a list, none (R4.3).
    pub fn plugin_filter(&self) -> PluginFilter {
        PluginFilter::only(self.config.plugins.iter().flatten())
    }
}

/// The personalities an agent has, and which it starts with.
#[derive(Debug, Clone)]
pub struct Personalities {
    known: BTreeMap<String, Personality>,
    default: String,
}

/// There is no such personality.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no personality `{asked}`{}; there are: {}",
    nearest.as_ref().map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default(), known.join(", "))]
pub struct UnknownPersonality {
    /// What was asked for.
    pub asked: String,
    /// The nearest name there is.
    pub nearest: Option<String>,
    /// All there are.
    pub known: Vec<String>,
}

impl Personalities {
    /// One to start with.
    pub fn new(default: Personality) -> Self {
        let id = default.id.clone();
        Self { known: BTreeMap::from([(id.clone(), default)]), default: id }
    }

    /// One more.
    #[must_use]
    pub fn with(mut self, personality: Personality) -> Self {
        self.known.insert(personality.id.clone(), personality);
        self
    }

    /// The one to start with.
    pub fn default_id(&self) -> &str {
        &self.default
    }

    /// All of their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(String::as_str)
    }

    /// One by name.
    ///
    /// # Errors
    /// When there is none, with the nearest name there is.
    pub fn get(&self, id: &str) -> Result<&Personality, UnknownPersonality> {
        self.known.get(id).ok_or_else(|| UnknownPersonality {
            asked: id.to_string(),
            nearest: nearest(id, self.names()).map(str::to_string),
            known: self.names().map(str::to_string).collect(),
        })
    }
}
