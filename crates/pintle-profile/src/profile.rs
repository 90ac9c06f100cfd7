//! A profile: a folder with an `agent.json`, read strictly, never trusted (R10.1–R10.4).

use crate::channels::Channels;
use crate::document::{Node, Parsed};
use crate::file::{self, AgentFile, Limits, McpServer, Security, ToolSelection};
use crate::hook::{self, Hook};
use crate::json::parse;
use crate::operator::Operator;
use crate::personality;
use crate::report::{Problem, ProfileErrors, place};
use crate::sandbox::{self, SandboxRules};
use crate::tools;
use crate::{
    ActionKind, action, agent_schema, formats, hook_commands, missing_env, model, read, rules,
    schema_check, served,
};
use pintle::points::PersonalityConfig;
use pintle_policy::{Guard, ToolSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The file that makes a folder a profile.
pub const AGENT_FILE: &str = "agent.json";

/// The folder of a profile in which scripts and what they load lie: every file in it is trusted by content (R10.9).
pub const HOOKS_FOLDER: &str = "hooks";

/// A profile that has been read and found right. What it may do is still the operator's to say.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Its folder.
    pub dir: PathBuf,
    /// Its name; the folder's if it gives none.
    pub name: String,
    /// The model it wants.
    pub model: Option<String>,
    /// The personality a session starts with.
    pub personality: Option<String>,
    /// Its personalities by name, written in agent.json or in folders.
    pub personalities: BTreeMap<String, PersonalityConfig>,
    /// Which tools exist.
    pub tools: ToolSelection,
    /// How strict the floor is.
    pub security: Security,
    /// Limits that end a run.
    pub limits: Limits,
    /// What it keeps from every process that the sandbox holds.
    pub sandbox: SandboxRules,
    /// MCP servers by name.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// The chats in which it is served.
    pub channels: Channels,
    /// The plugins that may fire.
    pub plugins: Option<Vec<String>>,
    /// Its hooks, in the order of the moments and then as written.
    pub hooks: Vec<Hook>,
    /// Its guards, in the order written.
    pub guards: Vec<Guard>,
    /// The text of agent.json, for trust by content.
    pub source: String,
    pub(crate) document: Node,
    /// The words of the commands that it runs.
    pub(crate) command_words: BTreeSet<String>,
}

/// What a profile is held against, beside itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds<'a> {
    /// Who says how much it may ask for.
    pub operator: Option<&'a Operator>,
    /// The tools there are, if they are known.
    pub tools: &'a [ToolSpec],
    /// Who there is to ask for a model, as in `PROVIDER/NAME`, if it is known.
    pub providers: &'a [&'a str],
    /// What the program calls hooks of its own: a name is taken once.
    pub hooks: &'a [&'a str],
    /// Where the program keeps its records: no hook may write there.
    pub data: Option<&'a Path>,
    /// The actions there are.
    pub actions: &'a [ActionKind],
    /// The plugins that the operator has added, if that is known.
    pub plugins: Option<&'a [String]>,
}

impl Profile {
    /// Every plugin that it names, for itself or for a personality.
    #[must_use]
    pub fn named_plugins(&self) -> BTreeSet<&str> {
        let of_personalities = self.personalities.values().filter_map(|it| it.plugins.as_ref());
        let named = self.plugins.iter().chain(of_personalities).flatten();
        named.map(String::as_str).collect()
    }

    /// Reads the profile in `dir`.
    ///
    /// # Errors
    /// With everything that is wrong with it or too much, at once: agent.json and every personality's folder are read to the
    /// end.
    pub fn load(dir: &Path, bounds: Bounds<'_>) -> Result<Self, ProfileErrors> {
        let mut errors = ProfileErrors::default();
        let names = personality::folder_names(dir);
        let folders = personality::read_folders(dir, &names, bounds.plugins, &mut errors);
        let source = match read::read_text(dir, AGENT_FILE) {
            Ok(source) => source,
            Err(error) => {
                let (text, problem) = read::unreadable(dir, AGENT_FILE, &error);
                errors.add(AGENT_FILE, &text, vec![problem]);
                return Err(errors);
            }
        };
        let Parsed { document, mut problems } = parse(&source);
        let Some(document) = document else {
            errors.add(AGENT_FILE, &source, problems);
            return Err(errors);
        };
        let (kinds, unreported) = (bounds.actions, |found: Vec<Problem>, problems: &[Problem]| {
            let is_new = |it: &Problem| problems.iter().all(|problem| problem.span != it.span);
            found.into_iter().filter(is_new).collect::<Vec<_>>()
        });
        let mut found = schema_check::check(&document, &agent_schema(kinds), dir, kinds);
        formats::only_one_answer(&mut problems, &mut found);
        problems.extend(found);
        let (found, mut uses) = action::check(&document, dir, &bounds);
        problems.extend(unreported(found, &problems));
        problems.extend(rules::check(&document, &names, kinds));
        problems.extend(served::check(&document, bounds.plugins, &folders));
        problems.extend(sandbox::check(&document));
        problems.extend(model::unknown(&document, bounds.providers));
        problems.extend(rules::taken_names(&document, bounds.hooks));
        if let Some(operator) = bounds.operator {
            // What cannot be at all needs no leave.
            let asked = operator.asks_too_much(&document, uses.values());
            problems.extend(unreported(asked, &problems));
        }
        let mut warnings = Vec::new();
        if !bounds.tools.is_empty() {
            let tools = tools::Tools::new(bounds.tools, &document);
            let tell = |node: &Node| warnings.push(tools.fits_none(node, &source));
            problems.extend(tools::slips(&document, &tools, tell));
            let of = (&folders, &document, dir);
            tools::of_folders(of, &tools, &mut errors, &mut warnings);
            let is_sound = |node: &Node| {
                problems.iter().all(|problem| !node.span.contains(&problem.span.start))
            };
            warnings.extend(tools::of_guards(&document, &source, &tools, is_sound));
        }
        errors.add(AGENT_FILE, &source, problems);
        if !errors.is_empty() {
            warnings.extend(missing_env::no_folder(&document, &source, dir));
            return Err(errors.with_warnings(warnings));
        }
        let words = hook_commands::words(&document, uses.values());
        let hooks = hook::build(&document, &source, kinds, &mut uses);
        let build = |hooks| Self::build(dir, &source, document, folders, (hooks, words));
        hooks.and_then(build).map_err(|problem| {
            errors.add(AGENT_FILE, &source, vec![problem]);
            errors
        })
    }

    fn build(
        dir: &Path,
        source: &str,
        document: Node,
        mut personalities: BTreeMap<String, PersonalityConfig>,
        (hooks, command_words): (Vec<Hook>, BTreeSet<String>),
    ) -> Result<Self, Problem> {
        // The checks before this one are stricter than serde; should they ever differ, the profile does not load.
        let file: AgentFile = serde_json::from_value(document.to_json())
            .map_err(|error| Problem::new(document.span.clone(), error.to_string()))?;
        let guards = guards(&file, &document, source)?;
        let folder_name =
            || dir.file_name().map_or("agent".into(), |n| n.to_string_lossy().into_owned());
        personalities.extend(file.personalities);
        Ok(Self {
            dir: dir.to_owned(),
            name: file.name.unwrap_or_else(folder_name),
            model: file.model,
            personality: file.personality,
            personalities,
            tools: file.tools,
            security: file.security,
            limits: file.limits,
            sandbox: file.sandbox,
            mcp_servers: file.mcp_servers,
            channels: file.channels,
            plugins: file.plugins,
            hooks,
            guards,
            command_words,
            source: source.to_owned(),
            document,
        })
    }
}

/// Where a value is written, like `agent.json:14`.
pub(crate) fn written_at(source: &str, node: &Node) -> String {
    format!("{AGENT_FILE}:{}", place(source, node.span.start).0)
}

fn guards(file: &AgentFile, document: &Node, source: &str) -> Result<Vec<Guard>, Problem> {
    let nodes = document.list("policies");
    let build = |(policy, node): (&file::Policy, &Node)| {
        let at = written_at(source, node);
        let rules = node.list("deny");
        let lines = rules
            .iter()
            .filter_map(|rule| Some((rule.text()?.to_owned(), written_at(source, rule))));
        Guard::new(&policy.tool, policy.kind, &policy.allow, &policy.deny, &at)
            .map(|guard| guard.with_deny_sources(lines).in_shadow(policy.shadow))
            .map_err(|error| Problem::new(node.span.clone(), error.message))
    };
    file.policies.iter().zip(nodes).map(build).collect()
}
