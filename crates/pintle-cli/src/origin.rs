//! Continues a run that died. The agent is built from the origin stored with its question, not from the place where the answer
//! is given (P3, R11.6).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pintle_agent::store::{Approval, Origin};
use pintle_agent::{RunRequest, Store};
use pintle_policy::Level;

use crate::{
    args::Who,
    assembly::{AgentOptions, Assembled},
    environment::Environment,
    in_force,
    problem::Problem,
    profile::{Model, Plan},
};
use pintle_profile::typed;

/// The origin of runs of this plan; personality and platform are those of a session that names none.
pub(crate) fn origin_of(plan: &Plan, model: &str) -> Origin {
    Origin {
        profile: plan.profile.as_ref().map(|profile| real(&profile.dir)),
        workspace: real(&plan.policy.workspace),
        model: from_the_root(model),
        personality: plan.personalities.default_id().to_string(),
        platform: "cli".into(),
        level: plan.policy.level.name().into(),
    }
}

/// The resolved path: a link may point elsewhere by the time of the answer.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path)
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_path_buf())
}

/// A model whose name is a path is found from any folder.
fn from_the_root(model: &str) -> String {
    match model.strip_prefix("scripted:") {
        Some(file) => format!("scripted:{}", real(Path::new(file)).display()),
        None => model.to_string(),
    }
}

/// The origin of this question's run.
///
/// # Errors
/// When the origin was not stored, or an option contradicts it. `--model` may: the run's own model may be gone.
pub(crate) fn known<'a>(approval: &'a Approval, who: &Who) -> Result<&'a Origin, Problem> {
    let Some(origin) = &approval.origin else {
        return Err(Problem::new("this question was asked by an older version of pintle")
            .cause("that version did not store the folder and the profile of the run")
            .fix("pintle approvals deny ID, then ask the agent again in its folder"));
    };
    let made_with = |what: &str, was: &str| {
        Problem::new(format!("the run that asked uses the {what} {was}, which cannot be changed"))
            .fix(format!("leave --{what} out"))
    };
    let other = match &who.profile {
        Some(profile) => origin.profile.as_deref() != Some(&real(profile)),
        None => who.no_profile && origin.profile.is_some(),
    };
    if other {
        let was = origin.profile.as_ref().map_or("none".into(), |dir| dir.display().to_string());
        return Err(made_with("profile", &was));
    }
    match &who.personality {
        Some(asked) if *asked != origin.personality => {
            Err(made_with("personality", &origin.personality))
        }
        _ => Ok(origin),
    }
}

/// The agent that asked, built again with its profile as it is now: stricter rules since then apply (R11.6).
///
/// # Errors
/// When it cannot be made: its folder or profile is gone, does not load or is not trusted, or its model is gone.
pub(crate) async fn assemble(
    environment: &Environment,
    origin: &Origin,
    model: Option<&str>,
    store: Arc<dyn Store>,
    extras: AgentOptions,
) -> Result<Assembled, Problem> {
    let mut plan = Plan::read(environment, origin.profile.as_deref(), Model::Chosen)?;
    if let Some(profile) = &plan.profile {
        in_force::unchanged(environment, profile)?;
    }
    if let Some(profile) = &plan.profile
        && profile.security.workspace.is_some()
        && real(&plan.policy.workspace) != origin.workspace
    {
        return Err(Problem::new(format!(
            "the run that asked worked in {}, but its profile now says {}",
            origin.workspace.display(),
            plan.policy.workspace.display()
        )));
    }
    if !origin.workspace.is_dir() {
        let folder = origin.workspace.display();
        return Err(Problem::new(format!(
            "the folder in which the run worked no longer exists: {folder}"
        )));
    }
    plan.policy.workspace.clone_from(&origin.workspace);
    let level = Level::parse(&origin.level)
        .ok_or_else(|| Problem::new(format!("there is no level `{}`", origin.level)))?;
    plan.policy.level = plan.policy.level.max(level);
    plan.personalities.get(&origin.personality)?;
    let model = model.unwrap_or(&origin.model);
    let llm = pintle_llm::open(model, &environment.llm_settings())
        .map_err(|error| Problem::from(error).fix("continue with another model: --model NAME"))?;
    let assembled = Assembled::from_parts(environment, plan, (model, llm), store, extras).await?;
    if let Some(hook) = assembled.bound.untrusted.first() {
        let dir = origin.profile.as_deref().unwrap_or(Path::new(".")).display();
        let problem = Problem::new(format!(
            "the profile in {dir} has changed since it was trusted, so its hook `{hook}` would block"
        ));
        assembled.close().await;
        let dir = typed(origin.profile.as_deref().unwrap_or(Path::new(".")));
        return Err(problem.fix(format!("pintle trust {dir}")));
    }
    Ok(assembled)
}

/// The request that continues the run, with its personality of then.
pub(crate) async fn ask(
    assembled: &Assembled,
    approval: &Approval,
    origin: &Origin,
) -> Result<RunRequest, Problem> {
    let session = assembled.store.session(&approval.session_id).await?;
    let speaks_as = session.and_then(|session| session.personality);
    let default = assembled.agent.personalities().default_id();
    let ask = RunRequest::resume(&approval.session_id).on(&origin.platform);
    Ok(match speaks_as.as_deref().unwrap_or(default) == origin.personality {
        true => ask,
        false => ask.as_personality(&origin.personality),
    })
}
