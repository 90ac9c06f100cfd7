//! `/personality`: who the agent is in this conversation, or in the one that begins with the next message.

use pintle_agent::Session;

use super::{Goes, conversation::Talk};
use crate::{
    assembly::Assembled,
    problem::Problem,
    shown::{Shown, text},
};

/// Without a name, prints the personality and creates nothing.
pub(super) async fn look_or_switch(
    assembled: &Assembled,
    talk: &mut Talk,
    name: &str,
) -> Result<Shown, Problem> {
    let personalities = assembled.agent.personalities();
    let session = session_of(assembled, talk).await?;
    if name.is_empty() {
        let kept = session.as_ref().and_then(|session| session.personality.as_deref());
        let now = talk.personality.as_deref().or(kept).unwrap_or(personalities.default_id());
        let others: Vec<_> = personalities.names().filter(|name| *name != now).collect();
        return Ok(match others.as_slice() {
            [] => text!("`{}` is the only personality", now),
            _ => text!("`{}` is active; others: {}", now, others.join(", ")),
        });
    }
    match &session {
        Some(session) => assembled.agent.switch_personality(session, name).await?,
        // The next conversation has this personality from its first message.
        None => drop(personalities.get(name)?),
    }
    talk.personality = Some(name.to_string());
    Ok(text!("`{}` is active", name))
}

/// The session that the next message goes on with, if there is one.
pub(super) async fn session_of(
    assembled: &Assembled,
    talk: &Talk,
) -> Result<Option<Session>, Problem> {
    let mine = |session: &Session| match &talk.goes {
        Goes::New => false,
        Goes::OnWithNewest => session.key == talk.key && session.parent.is_none(),
        Goes::OnWith(id) => session.id == *id,
    };
    Ok(assembled.store.sessions().await?.into_iter().find(mine))
}

/// The slash commands of the plugins that the personality has which would answer now: plugin, name, and what it does.
pub(super) async fn commands(
    assembled: &Assembled,
    talk: &Talk,
) -> Result<Vec<(String, String, String)>, Problem> {
    let mut commands = assembled.plugins.commands();
    if commands.is_empty() {
        return Ok(commands);
    }
    let session = session_of(assembled, talk).await?;
    let known = assembled.agent.personalities();
    let now = talk.personality.clone().or_else(|| session.and_then(|it| it.personality));
    let now = known.get(now.as_deref().unwrap_or(known.default_id()))?;
    commands.retain(|(plugin, ..)| now.fires(Some(plugin)));
    Ok(commands)
}
