//! Loads a folder with an agent.json into the settings of an agent.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use pintle::points::PersonalityConfig;
use pintle_actions::{
    BUILT_IN, in_profiles,
    trust::{Fingerprint, content_hash},
};
use pintle_agent::{Limits, Personalities, Personality, Policy, ToolSpec};
use pintle_plugins::Installed;
use pintle_profile::{
    Bounds, Consumer, ConsumerSettings, Effective, LoopBudgetSettings, OPERATOR_FILE, Operator,
    Profile, ProfileErrors, Warning, read_inside,
};
use pintle_tools::{Background, TerminalConfig};

use crate::{args::Who, assembly::known, environment::Environment, problem::Problem, shown::text};

/// The personality of an agent without a profile.
const PLAIN: &str =
    "You are a helpful agent. You answer briefly, and you use your tools when they help.";

/// The longest script of a model that is read at a profile's word.
const LONGEST_SCRIPT: u64 = 16 * 1024 * 1024;

/// The settings that a profile, or its absence, decides.
pub(crate) struct Plan {
    pub(crate) personalities: Personalities,
    pub(crate) policy: Policy,
    pub(crate) limits: Limits,
    pub(crate) profile: Option<Profile>,
    /// The people who may answer questions.
    pub(crate) approvers: Vec<String>,
    pub(crate) operator: Operator,
}

impl Plan {
    pub(crate) fn read(
        environment: &Environment,
        dir: Option<&Path>,
        model: Model,
    ) -> Result<Self, Problem> {
        match dir {
            None => Self::without_profile(environment, environment.working_dir()?),
            Some(dir) => {
                let dir = environment.absolute(dir)?;
                let (operator, profile) = load_allowed(&dir, environment, model)?;
                let effective = operator.judge(&profile);
                Self::of_profile(environment, profile, operator, effective)
            }
        }
    }

    pub(crate) fn without_profile(
        environment: &Environment,
        workspace: PathBuf,
    ) -> Result<Self, Problem> {
        let operator = environment.operator()?;
        let plain = PersonalityConfig::default().prompt(PLAIN);
        let personalities = Personalities::new(personality("default", plain)?);
        let mut policy = Policy::standard(workspace);
        policy.level = operator.level;
        policy.level_written = Some(level_written(&operator, None));
        policy.approval_timeout = Duration::from_millis(operator.approval_timeout_ms);
        let approvers = operator.approvers.clone();
        Ok(Self {
            personalities,
            policy,
            limits: limits(operator.limits, &operator.consumers),
            profile: None,
            approvers,
            operator,
        })
    }

    /// The same with a profile that is already in force, under the operator's current limits.
    ///
    /// # Errors
    /// When the profile exceeds the limits: the agent must not continue with it.
    pub(crate) fn held(environment: &Environment, profile: Profile) -> Result<Self, Problem> {
        let operator = environment.operator()?;
        let effective = operator.hold(&profile);
        Self::of_profile(environment, profile, operator, effective)
    }

    fn of_profile(
        environment: &Environment,
        profile: Profile,
        operator: Operator,
        effective: Result<Effective, ProfileErrors>,
    ) -> Result<Self, Problem> {
        let effective = effective.map_err(|errors| does_not_load(&profile.dir, &errors))?;
        let workspace = match &profile.security.workspace {
            None => environment.working_dir()?,
            Some(inside) => profile.dir.join(inside),
        };
        let mut policy = Policy::standard(workspace);
        policy.level = effective.level;
        policy.level_written = Some(level_written(&operator, Some(&profile)));
        policy.approval_timeout = Duration::from_millis(effective.approval_timeout_ms);
        policy.guards = profile.guards.clone();
        policy.allow = profile.tools.allow.as_deref().map(globs).transpose()?;
        policy.deny = globs(&profile.tools.deny)?;
        let limits = limits(effective.limits, &operator.consumers);
        let personalities = personalities(&profile)?;
        let approvers = effective.approvers;
        Ok(Self { personalities, policy, limits, profile: Some(profile), approvers, operator })
    }
}

/// The place where the level in force is written: the profile's if it is stricter, else the operator's.
fn level_written(operator: &Operator, profile: Option<&Profile>) -> String {
    let own = profile.and_then(|profile| {
        Some((profile.security.level?, profile.written(&["security", "level"])?))
    });
    match (own, operator.written("level")) {
        (Some((level, at)), _) if level > operator.level => at,
        (_, Some(at)) | (Some((_, at)), None) => at,
        (None, None) => "the default level".into(),
    }
}

/// Where the choice of the model comes from. An unknown model in a profile is an error only if it would be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Model {
    OfTheProfile,
    Chosen,
}

impl Model {
    pub(crate) fn by(environment: &Environment, who: &Who) -> Self {
        match who.model.is_some() || environment.model.is_some() {
            true => Self::Chosen,
            false => Self::OfTheProfile,
        }
    }

    fn providers(self) -> Vec<&'static str> {
        match self {
            Self::OfTheProfile => pintle_llm::providers().collect(),
            Self::Chosen => Vec::new(),
        }
    }
}

/// An unknown model of the profile, where another one is used.
pub(crate) fn unused_model(profile: &Profile) -> Option<String> {
    let providers: Vec<_> = pintle_llm::providers().collect();
    profile.unknown_model(&providers).map(warning_line)
}

fn limits(said: pintle_profile::Limits, consumers: &ConsumerSettings) -> Limits {
    let defaults = Limits::default();
    let LoopBudgetSettings { calls, identical_calls } = consumers.loop_budget;
    let (max_calls, max_identical_calls) = match consumers.is_on(Consumer::LoopBudget) {
        true => (calls, identical_calls),
        false => (u32::MAX, u32::MAX),
    };
    Limits {
        max_calls,
        max_identical_calls,
        max_turns: said.max_turns.unwrap_or(defaults.max_turns),
        max_cost_usd: said.max_cost_usd,
        max_seconds: said.max_seconds,
        context_tokens: said.context_tokens,
        ..defaults
    }
}

pub(crate) fn load(dir: &Path, environment: &Environment) -> Result<Profile, Problem> {
    let actions = &in_profiles(&BUILT_IN);
    let bounds = Bounds { data: environment.data(), actions, ..Bounds::default() };
    Profile::load(dir, bounds).map_err(|errors| does_not_load(dir, &errors))
}

/// The same, and within what the operator allows. The mistakes of both are reported together.
pub(crate) fn load_allowed(
    dir: &Path,
    environment: &Environment,
    model: Model,
) -> Result<(Operator, Profile), Problem> {
    let (tools, providers) = (built_in_tools(), model.providers());
    let (data, actions) = (environment.data(), &in_profiles(&BUILT_IN)[..]);
    let (tools, providers, hooks) = (&tools[..], &providers[..], &pintle_consumers::names()[..]);
    let plugins = &added_plugins(environment)?[..];
    let plugins = Some(plugins);
    let itself = Bounds { operator: None, tools, data, providers, actions, hooks, plugins };
    match environment.settings()? {
        Ok(operator) => {
            let bounds = Bounds { operator: Some(&operator), ..itself };
            match Profile::load(dir, bounds) {
                Ok(profile) => Ok((operator, profile)),
                Err(errors) => {
                    Err(environment.with_settings_file(does_not_load(dir, &errors), &errors))
                }
            }
        }
        Err(of_operator) => Err(match Profile::load(dir, itself) {
            Ok(_) => environment.bad_settings(&of_operator),
            Err(errors) => {
                let problem = does_not_load(dir, &of_operator.and(errors));
                environment.where_settings_are(
                    problem
                        .fix("correct pintle.toml first: the profile was not checked against it"),
                )
            }
        }),
    }
}

/// The errors that keep the profile from loading: its own, and the limits of the operator.
pub(crate) fn faults(
    dir: &Path,
    environment: &Environment,
    model: Model,
) -> Result<Option<ProfileErrors>, Problem> {
    let operator = environment.settings()?.ok();
    let (tools, data) = (&built_in_tools()[..], environment.data());
    let providers = &model.providers()[..];
    let operator = operator.as_ref();
    let (actions, hooks) = (&in_profiles(&BUILT_IN), &pintle_consumers::names()[..]);
    let plugins = &added_plugins(environment)?[..];
    let plugins = Some(plugins);
    let bounds = Bounds { operator, tools, data, providers, actions, hooks, plugins };
    Ok(Profile::load(dir, bounds).err())
}

/// The plugins that the operator has added.
fn added_plugins(environment: &Environment) -> Result<Vec<String>, Problem> {
    let Some(data) = environment.data() else { return Ok(Vec::new()) };
    let installed = Installed::read(data).map_err(Problem::new)?;
    Ok(installed.ids().map(str::to_owned).collect())
}

/// The approvers who cannot answer, and whether that is all of them.
pub(crate) struct Unheard {
    pub(crate) approvers: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) all: bool,
}

/// Compares the approvers with the users of this machine.
pub(crate) fn unheard(
    environment: &Environment,
    operator: &Operator,
    profile: Option<&Profile>,
) -> Unheard {
    let of_profile = profile.and_then(|profile| operator.judge(profile).ok());
    let approvers = of_profile.map_or_else(|| operator.approvers.clone(), |it| it.approvers);
    let strangers =
        operator.strangers(&approvers, &environment.users(), |name| environment.is_user(name));
    let all = strangers.len() == approvers.len();
    Unheard { approvers, warnings: strangers.into_iter().map(warning_line).collect(), all }
}

/// Secrets that the operator names and that are not set.
pub(crate) fn unset_secrets(environment: &Environment, operator: &Operator) -> Vec<String> {
    operator
        .unset_secrets(|name| environment.secret(name).is_ok())
        .into_iter()
        .map(warning_line)
        .collect()
}

/// A question that no one can answer is never approved.
pub(crate) const NO_APPROVER: &str = "no one can answer: none of `approvers` is a user of this machine, so every call that needs an approval is refused";

/// A pintle.toml in a folder where it is not read.
pub(crate) fn stray_settings(environment: &Environment, dir: &Path) -> Option<String> {
    let (stray, real) = (dir.join(OPERATOR_FILE), environment.operator_file()?);
    let same = |a: &Path, b: &Path| a == b || a.canonicalize().ok() == b.canonicalize().ok();
    (stray.is_file() && !same(&stray, &real)).then(|| {
        format!("{} is not read: the operator's file is {}", stray.display(), real.display())
    })
}

/// The tools that every agent has.
pub(crate) fn built_in_tools() -> Vec<ToolSpec> {
    known(&pintle_tools::builtin(TerminalConfig::default(), &Background::default()))
}

/// A glob that fits no tool guards nothing and is a warning; one that nearly names a tool is an error.
pub(crate) fn check_tools(profile: &Profile, tools: &[ToolSpec]) -> Result<Vec<String>, Problem> {
    let idle = profile.check_tools(tools).map_err(|errors| does_not_load(&profile.dir, &errors))?;
    Ok(idle.into_iter().map(warning_line).collect())
}

/// The environment variables that the profile names and that are not set.
pub(crate) fn unready(environment: &Environment, profile: &Profile) -> Vec<String> {
    profile.unready(|name| environment.secret(name).is_ok()).into_iter().map(warning_line).collect()
}

/// The effects of its guards that a reader might not expect.
pub(crate) fn surprises(profile: &Profile, tools: &[ToolSpec]) -> Vec<String> {
    profile.surprises(tools).into_iter().map(warning_line).collect()
}

fn warning_line(Warning { source, message }: Warning) -> String {
    format!("{source}: {message}")
}

pub(crate) fn does_not_load(dir: &Path, errors: &ProfileErrors) -> Problem {
    let problem = Problem::new(text!(
        "the profile in {} does not load, so nothing runs with it",
        dir.display()
    ));
    problem.drawn(errors).warnings(errors.warnings().iter().cloned().map(warning_line))
}

/// The hash of everything in a profile that decides about calls; none when a file of it cannot be read.
pub(crate) fn hash(profile: &Profile) -> Option<String> {
    let fingerprint = Fingerprint::of(profile).ok()?;
    let personalities = serde_json::to_string(&profile.personalities).ok()?;
    let whole: Vec<&str> = fingerprint.hashes().chain([personalities.as_str()]).collect();
    Some(content_hash(whole.join("\n").as_bytes()))
}

/// The model a profile asks for. A script has to be a file of the profile.
pub(crate) fn model(profile: &Profile) -> Result<Option<String>, Problem> {
    let Some(model) = &profile.model else { return Ok(None) };
    let Some(file) = model.strip_prefix("scripted:") else { return Ok(Some(model.clone())) };
    read_inside(&profile.dir, file, LONGEST_SCRIPT).map_err(|error| {
        let at = profile.written(&["model"]).unwrap_or_default();
        Problem::new(format!("{at}: cannot use the script `{file}` as the model"))
            .cause(error)
            .fix("put it into the profile's folder, or choose another model with --model")
    })?;
    Ok(Some(format!("scripted:{}", profile.dir.join(file).display())))
}

fn personalities(profile: &Profile) -> Result<Personalities, Problem> {
    let configured = |(id, config): (&String, &PersonalityConfig)| personality(id, config.clone());
    let mut all = profile.personalities.iter().map(configured).collect::<Result<Vec<_>, _>>()?;
    let first = match &profile.personality {
        Some(wanted) => all.iter().position(|found| found.id == *wanted).ok_or_else(|| {
            Problem::new(format!(
                "agent.json names the personality `{wanted}`, but does not define it"
            ))
        })?,
        None if all.is_empty() => {
            // The plugins of a profile without personalities belong to the default personality.
            let plain = PersonalityConfig::default().prompt(PLAIN).plugins(profile.plugins.clone());
            all.push(personality("default", plain)?);
            0
        }
        None => 0,
    };
    let default = all.swap_remove(first);
    Ok(all.into_iter().fold(Personalities::new(default), Personalities::with))
}

fn personality(id: &str, config: PersonalityConfig) -> Result<Personality, Problem> {
    Personality::new(id, config)
        .map_err(|error| Problem::new(format!("personality `{id}`: a tool glob: {error}")))
}

fn globs(globs: &[String]) -> Result<Vec<glob::Pattern>, Problem> {
    let parse = |text: &String| {
        glob::Pattern::new(text).map_err(|error| Problem::new(format!("`{text}`: {error}")))
    };
    globs.iter().map(parse).collect()
}
