//! A profile that changes while a conversation goes on: checked, then put in force between two runs.

use std::{path::Path, sync::Arc};

use tokio::sync::mpsc;

use super::{Ears, approver::Question, screen::Waiting};
use crate::{
    args::Chat,
    assembly::{Assembled, Extras},
    environment::Environment,
    out::tell,
    problem::Problem,
    profile::Plan,
    shown::{dim, red},
};

/// What every agent of this conversation is put together with.
pub(super) struct Recipe {
    /// Without a terminal there is no one to ask, and the agent says so, unless it is told to wait.
    pub(super) terminal: Option<mpsc::UnboundedSender<Question>>,
    pub(super) elsewhere: bool,
    pub(super) waiting: Arc<Waiting>,
}

impl Recipe {
    pub(super) async fn assemble(
        &self,
        environment: &Environment,
        chat: &Chat,
    ) -> Result<Assembled, Problem> {
        let waiting = self.waiting.clone();
        let extras = Extras {
            ears: Ears { terminal: self.terminal.clone(), elsewhere: self.elsewhere },
            watch: Some(Arc::new(move |point, handler| waiting.handler_started(point, handler))),
            hooks: None,
            state: None,
        };
        Assembled::new(environment, &chat.who, extras).await
    }
}

/// The agent in force, and the profile's text it was made from.
pub(super) struct Current {
    pub(super) assembled: Assembled,
    recipe: Recipe,
    seen: Vec<String>,
}

impl Current {
    pub(super) async fn new(
        environment: &Environment,
        chat: &Chat,
        recipe: Recipe,
    ) -> Result<Self, Problem> {
        let seen = texts(chat.who.profile.as_deref());
        Ok(Self { assembled: recipe.assemble(environment, chat).await?, recipe, seen })
    }

    /// A changed profile takes effect whole; a broken one changes nothing, and that is said loudly.
    pub(super) async fn refresh(
        &mut self,
        environment: &Environment,
        chat: &Chat,
    ) -> Result<(), Problem> {
        let now = texts(chat.who.profile.as_deref());
        if now == self.seen {
            return Ok(());
        }
        self.seen = now;
        if let Err(problem) = Plan::read(environment, chat.who.profile.as_deref()) {
            tell!("{}", problem);
            tell!("{}", red("the profile changed and does not load: the old one stays in force"));
            return Ok(());
        }
        self.assembled.release().await;
        self.assembled = self.recipe.assemble(environment, chat).await?;
        tell!("{}", dim("the profile changed: the new one is in force"));
        Ok(())
    }
}

/// Everything a profile is read from, as text.
fn texts(profile: Option<&Path>) -> Vec<String> {
    let Some(dir) = profile else { return Vec::new() };
    let mut files = vec![dir.join("agent.json")];
    let personalities =
        std::fs::read_dir(dir.join("personalities")).into_iter().flatten().flatten();
    for personality in personalities {
        files.extend(["SOUL.md", "config.json"].map(|name| personality.path().join(name)));
    }
    files.sort();
    files
        .iter()
        .map(|file| {
            format!("{}\n{}", file.display(), std::fs::read_to_string(file).unwrap_or_default())
        })
        .collect()
}
