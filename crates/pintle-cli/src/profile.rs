//! From a folder with an agent.json to what the agent goes by.

use std::path::{Path, PathBuf};

use pintle::points::PersonalityConfig;
use pintle_agent::{Limits, Personalities, Personality, Policy};
use pintle_policy::{Guard, profile::Profile};

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
}

impl Plan {
    pub(crate) fn read(environment: &Environment, dir: Option<&Path>) -> Result<Self, Problem> {
        match dir {
            None => Self::without_profile(environment.working_dir()?),
            Some(dir) => Self::of_profile(
                load(&environment.absolute(dir)?, environment)?,
                environment.working_dir()?,
            ),
        }
    }

    fn without_profile(workspace: PathBuf) -> Result<Self, Problem> {
        let plain = PersonalityConfig { prompt: PLAIN.into(), ..PersonalityConfig::default() };
        let personalities = Personalities::new(personality("default", plain)?);
        Ok(Self {
            personalities,
            policy: Policy::standard(workspace),
            limits: Limits::default(),
            profile: None,
        })
    }

    fn of_profile(profile: Profile, working_dir: PathBuf) -> Result<Self, Problem> {
        let workspace = match &profile.security.workspace {
            None => working_dir,
            Some(inside) => profile.dir.join(inside),
        };
        let mut policy = Policy::standard(workspace);
        if let Some(level) = profile.security.level {
            policy.level = level;
        }
        if let Some(timeout) = profile.security.approval_timeout_ms {
            policy.approval_timeout = std::time::Duration::from_millis(timeout);
        }
        policy.guards = profile.guards.iter().map(Guard::clone).collect();
        policy.allow = profile.tools.allow.as_deref().map(globs).transpose()?;
        policy.deny = globs(&profile.tools.deny)?;
        let defaults = Limits::default();
        let limits = Limits {
            max_turns: profile.limits.max_turns.unwrap_or(defaults.max_turns),
            max_cost_usd: profile.limits.max_cost_usd,
            max_seconds: profile.limits.max_seconds,
            ..defaults
        };
        Ok(Self { personalities: personalities(&profile)?, policy, limits, profile: Some(profile) })
    }
}

pub(crate) fn load(dir: &Path, environment: &Environment) -> Result<Profile, Problem> {
    Profile::load(dir).map_err(|errors| {
        let drawn = errors.render(environment.stderr_is_terminal && !environment.json);
        Problem::new(format!("the profile in {} does not load\n{drawn}", dir.display()))
    })
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
