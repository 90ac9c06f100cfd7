//! Reloads a profile that changed during a conversation. It is checked first and takes effect between two runs.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use pintle_actions::trust::TRUST_FILE;
use pintle_agent::store::Program;
use pintle_plugins::PLUGINS_FILE;
use pintle_profile::{OPERATOR_FILE, read_inside};
use tokio::{sync::mpsc, task::JoinSet};

use super::{AskVia, PendingQuestion, screen::Waiting};
use crate::{
    args::Chat,
    assembly::{AgentOptions, Assembled},
    environment::Environment,
    in_force::{ACCEPTED_FILE, Found},
    out::{say, tell},
    problem::Problem,
    profile::{Model, Plan},
    rules_file::without_rules,
    shown::{dim, red, text, yellow},
};

/// Shown before each run, so no one relies on a rule that is not in force.
const OLD_ONE: &str = "the profile on the disk is not used (`pintle hooks lint` and `pintle trust` say why): an older version is in force";

/// The largest size of a profile's file.
const LONGEST: u64 = 1024 * 1024;

/// The parts that every agent of this conversation shares.
pub(super) struct AgentPlan {
    /// Without a terminal no one can be asked, and the call is refused, unless the agent waits for `pintle approvals`.
    pub(super) terminal: Option<mpsc::UnboundedSender<PendingQuestion>>,
    pub(super) elsewhere: bool,
    pub(super) waiting: Arc<Waiting>,
    /// Keeps the rules of its sessions alive when a new agent takes over.
    pub(super) program: Arc<OnceLock<Program>>,
}

impl AgentPlan {
    pub(super) async fn assemble(
        &self,
        environment: &Environment,
        chat: &Chat,
    ) -> Result<Assembled, Problem> {
        Assembled::new(environment, &chat.who, self.extras()).await
    }

    pub(super) fn extras(&self) -> AgentOptions {
        let waiting = self.waiting.clone();
        AgentOptions {
            ask_via: AskVia {
                terminal: self.terminal.clone(),
                elsewhere: self.elsewhere,
                program: self.program.clone(),
            },
            watch: Some(Arc::new(move |point, handler| waiting.handler_started(point, handler))),
            ..AgentOptions::default()
        }
    }
}

/// The agent in force, and the profile's text it was made from.
pub(super) struct ActiveAgent {
    pub(super) assembled: Assembled,
    plan: AgentPlan,
    found: Found,
    seen: Vec<String>,
    /// The warning when an older profile is in force because the one on the disk does not load.
    outdated: Option<&'static str>,
    /// Replaced agents that are still closing: an endpoint that does not answer must not delay the next run.
    leaving: JoinSet<()>,
}

impl ActiveAgent {
    pub(super) async fn new(
        environment: &Environment,
        chat: &Chat,
        plan: AgentPlan,
    ) -> Result<Self, Problem> {
        let seen = texts(environment, chat.who.profile.as_deref());
        let assembled = plan.assemble(environment, chat).await?;
        let found = chat.who.found;
        Ok(Self { assembled, plan, found, seen, outdated: None, leaving: JoinSet::new() })
    }

    /// Waits for everything that is still running, in order.
    pub(super) async fn close(self) {
        self.leaving.join_all().await;
        self.assembled.close().await;
    }

    pub(super) fn extras(&self) -> AgentOptions {
        self.plan.extras()
    }

    /// A changed profile takes effect as a whole. If it cannot, none of it is in force, and a warning says so.
    ///
    /// The new agent is built first, from one read of the files, so there is always one complete agent.
    ///
    /// # Errors
    /// When the operator's file changed and no agent can be built that obeys it. Nothing may run then. The next run tries
    /// again.
    pub(super) async fn refresh_for_a_run(
        &mut self,
        environment: &Environment,
        chat: &Chat,
    ) -> Result<(), Problem> {
        let changed = self.refresh(environment, chat).await?;
        if let Some(outdated) = self.outdated.filter(|_| !changed) {
            tell!("{}: {}", yellow("warning"), outdated);
        }
        Ok(())
    }

    /// The same for commands that only look. Returns whether something changed, after printing it.
    pub(super) async fn refresh(
        &mut self,
        environment: &Environment,
        chat: &Chat,
    ) -> Result<bool, Problem> {
        let now = texts(environment, chat.who.profile.as_deref());
        if now == self.seen {
            return Ok(false);
        }
        let changed = changed(&self.seen, &now);
        match Assembled::new(environment, &chat.who, self.heirs()).await {
            Ok(new) => {
                self.replace(new);
                self.outdated = None;
                tell!("{}", dim(text!("{} changed: the new version is in force", changed)));
            }
            Err(problem) if now.first() == self.seen.first() => {
                let stays =
                    text!("{} changed and is not used: the old version stays in force", changed);
                tell!("{}\n{}", problem, red(stays));
                self.outdated = Some(OLD_ONE);
            }
            // The operator's rules apply at once, with the new profile or the old one (R10.8).
            Err(problem) => {
                let held = self.held(environment, chat).await.map_err(|problem| {
                    problem.fix("nothing runs until the profile fits pintle.toml")
                })?;
                self.replace(held);
                let stays = "the profile is not used: the old version stays in force, as far as pintle.toml allows it now";
                tell!("{}\n{}", problem, red(stays));
                self.outdated = Some(OLD_ONE);
            }
        }
        self.seen = now;
        Ok(true)
    }

    /// Prints the profile of the list of hooks.
    pub(super) fn say_what_is_in_force(&self, environment: &Environment) {
        let in_force = self.found.in_force(environment, self.assembled.profile.as_ref());
        say!("{}", dim(text!("profile: {}", in_force)));
        if let Some(outdated) = self.outdated {
            say!("{}: {}", yellow("warning"), outdated);
        }
    }

    /// Builds the agent again from the current options, which `/model` may have changed.
    pub(super) async fn rebuild(
        &mut self,
        environment: &Environment,
        chat: &Chat,
    ) -> Result<(), Problem> {
        let new = Assembled::new(environment, &chat.who, self.heirs()).await?;
        self.replace(new);
        Ok(())
    }

    fn replace(&mut self, new: Assembled) {
        let mut old = std::mem::replace(&mut self.assembled, new);
        old.bound.hand_over_webhooks();
        self.leaving.spawn(old.close());
    }

    /// The state that passes from one agent of this conversation to the next.
    fn heirs(&self) -> AgentOptions {
        AgentOptions { webhooks: self.assembled.bound.webhooks(), ..self.plan.extras() }
    }

    /// The profile in force, under the operator's rules of now.
    async fn held(&self, environment: &Environment, chat: &Chat) -> Result<Assembled, Problem> {
        let plan = match &self.assembled.profile {
            Some(profile) => Plan::held(environment, profile.clone())?,
            None => Plan::read(environment, None, Model::by(environment, &chat.who))?,
        };
        Assembled::of_plan(environment, &chat.who, plan, self.heirs()).await
    }
}

/// The files that changed, in words.
fn changed(before: &[String], now: &[String]) -> &'static str {
    let rest = |texts: &[String]| texts.get(2..).unwrap_or_default().to_vec();
    match (rest(before) != rest(now), before.first() != now.first()) {
        (true, false) => "the profile",
        (true, true) => "the profile, with pintle.toml,",
        (false, true) => OPERATOR_FILE,
        (false, false) => "what is trusted",
    }
}

/// All texts from which an agent's rules are read: the operator's file, the trusted profiles, and the profile.
fn texts(environment: &Environment, profile: Option<&Path>) -> Vec<String> {
    // Rules are looked up for each question.
    let operators = environment.operator_text().map(|text| without_rules(&text));
    let operators = operators.map_err(|error| error.to_string());
    let kept = |file| std::fs::read_to_string(environment.data()?.join(file)).ok();
    let trusted = (kept(TRUST_FILE), kept(ACCEPTED_FILE), kept(PLUGINS_FILE));
    let mut texts = vec![format!("{operators:?}"), format!("{trusted:?}")];
    let Some(dir) = profile else { return texts };
    let mut files = vec!["agent.json".to_string()];
    let personalities =
        std::fs::read_dir(dir.join("personalities")).into_iter().flatten().flatten();
    for personality in personalities {
        let name = personality.file_name();
        let of_folder = |file| format!("personalities/{}/{file}", name.to_string_lossy());
        files.extend(["SOUL.md", "config.json"].map(of_folder));
    }
    files.sort();
    texts.extend(files.iter().map(|file| {
        let read = read_inside(dir, file, LONGEST)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        format!("{file}\n{}", read.unwrap_or_else(|error| error.to_string()))
    }));
    texts
}
