//! From a folder with an agent.json to what the agent goes by.

use std::path::{Path, PathBuf};

use pintle::points::PersonalityConfig;
use pintle_agent::{Limits, Personalities, Personality, Policy};
use pintle_policy::{Operator, Profile, ProfileErrors};

use crate::{environment::Environment, problem::Problem};

/// The personality of an agent without a profile.
const PLAIN: &str =
    "You are a helpful agent. You answer briefly, and you use your tools when they help.";

/// What a profile, or its absence, decides.
pub(crate) struct Plan {
    pub(crate) personalities: Personalities,
    pub(crate) policy: Policy,
    pub(crate) limits: Limits,
    pub(crate) profile: Option<Profile>,
    /// Who may answer questions; `None` is the operator.
    pub(crate) approvers: Option<Vec<String>>,
    pub(crate) operator: Operator,
}

impl Plan {
    pub(crate) fn read(environment: &Environment, dir: Option<&Path>) -> Result<Self, Problem> {
        match dir {
            None => Self::without_profile(environment, environment.working_dir()?),
            Some(dir) => {
                Self::of_profile(environment, load(&environment.absolute(dir)?, environment)?)
            }
        }
    }

    pub(crate) fn without_profile(
        environment: &Environment,
        workspace: PathBuf,
    ) -> Result<Self, Problem> {
        let operator = environment.operator()?;
        let plain = PersonalityConfig { prompt: PLAIN.into(), ..PersonalityConfig::default() };
        let personalities = Personalities::new(personality("default", plain)?);
        let mut policy = Policy::standard(workspace);
        policy.level = operator.level;
        let approvers = operator.approvers.clone();
        Ok(Self {
            personalities,
            policy,
            limits: Limits::default(),
            profile: None,
            approvers,
            operator,
        })
    }

    fn of_profile(environment: &Environment, profile: Profile) -> Result<Self, Problem> {
        let operator = environment.operator()?;
        let effective = operator
            .judge(&profile)
            .map_err(|errors| does_not_load(environment, &profile.dir, &errors))?;
        // A server of a downloaded profile is a program of a downloaded profile.
        let starts = profile.mcp_servers.iter().find(|(_, server)| server.command.is_some());
        if let Some((name, _)) = starts.filter(|_| !operator.allow_command_hooks) {
            return Err(Problem::new(format!(
                "the MCP server `{name}` of this profile is a program, and the operator has not allowed that"
            ))
            .hint("if you trust it, set PINTLE_ALLOW_COMMAND_HOOKS=1, or `allow_command_hooks = true` in pintle.toml"));
        }
        let workspace = match &profile.security.workspace {
            None => environment.working_dir()?,
            Some(inside) => profile.dir.join(inside),
        };
        let mut policy = Policy::standard(workspace);
        policy.level = effective.level;
        policy.approval_timeout = std::time::Duration::from_millis(effective.approval_timeout_ms);
        policy.guards = profile.guards.clone();
        policy.allow = profile.tools.allow.as_deref().map(globs).transpose()?;
        policy.deny = globs(&profile.tools.deny)?;
        let defaults = Limits::default();
        let limits = Limits {
            max_turns: profile.limits.max_turns.unwrap_or(defaults.max_turns),
            max_cost_usd: profile.limits.max_cost_usd,
            max_seconds: profile.limits.max_seconds,
            ..defaults
        };
        let personalities = personalities(&profile)?;
        let approvers = effective.approvers;
        Ok(Self { personalities, policy, limits, profile: Some(profile), approvers, operator })
    }
}

pub(crate) fn load(dir: &Path, environment: &Environment) -> Result<Profile, Problem> {
    Profile::load(dir).map_err(|errors| does_not_load(environment, dir, &errors))
}

/// The same, and within what the operator allows.
pub(crate) fn load_allowed(dir: &Path, environment: &Environment) -> Result<Profile, Problem> {
    let profile = load(dir, environment)?;
    let judged = environment.operator()?.judge(&profile);
    judged.map_err(|errors| does_not_load(environment, dir, &errors))?;
    Ok(profile)
}

fn does_not_load(environment: &Environment, dir: &Path, errors: &ProfileErrors) -> Problem {
    let drawn = errors.render(environment.stderr_is_terminal && !environment.json);
    Problem::new(format!("the profile in {} does not load", dir.display())).drawn(drawn)
}

fn personalities(profile: &Profile) -> Result<Personalities, Problem> {
    let configured = |(id, found): (&String, &pintle_policy::profile::Personality)| {
        let (prompt, tools, plugins) =
            (found.prompt.clone(), found.tools.clone(), found.plugins.clone());
        personality(id, PersonalityConfig { prompt, tools, plugins })
    };
    let mut all = profile.personalities.iter().map(configured).collect::<Result<Vec<_>, _>>()?;
    let first = match &profile.personality {
        Some(wanted) => all.iter().position(|found| found.id == *wanted).ok_or_else(|| {
            Problem::new(format!(
                "agent.json starts with the personality `{wanted}`, which it does not have"
            ))
        })?,
        None if all.is_empty() => {
            let plain = PersonalityConfig { prompt: PLAIN.into(), ..PersonalityConfig::default() };
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
