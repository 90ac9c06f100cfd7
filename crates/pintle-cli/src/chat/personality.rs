//! `/personality`: who the agent is in this conversation, or in the one that begins with the next message.

use pintle_agent::{Session, Store};

use super::Next;
use crate::{
    assembly::Assembled,
    problem::Problem,
    shown::{Shown, text},
};

/// Looks when no name is given, and makes nothing by looking.
pub(super) async fn look_or_switch(
    assembled: &Assembled,
    key: &str,
    next: &mut Next,
    name: &str,
) -> Result<Shown, Problem> {
    let personalities = assembled.agent.personalities();
    let session = match next.begins {
        true => None,
        false => newest(assembled, key).await?,
    };
    if name.is_empty() {
        let kept = session.as_ref().and_then(|session| session.personality.as_deref());
        let now = next.personality.as_deref().or(kept).unwrap_or(personalities.default_id());
        let all: Vec<_> = personalities.names().collect();
        return Ok(text!("now {}; there are: {}", now, all.join(", ")));
    }
    match &session {
        Some(session) => assembled.agent.switch_personality(session, name).await?,
        // The conversation that begins will be this one's from its first message on.
        None => drop(personalities.get(name)?),
    }
    next.personality = Some(name.to_string());
    Ok(text!("now {}", name))
}

/// The conversation that the next message goes on with, if there is one.
pub(super) async fn newest(assembled: &Assembled, key: &str) -> Result<Option<Session>, Problem> {
    let mine = |session: &Session| session.key == key && session.parent.is_none();
    Ok(assembled.store.sessions().await?.into_iter().find(mine))
}
