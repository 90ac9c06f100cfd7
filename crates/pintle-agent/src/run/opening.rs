//! Steps 1 to 3 and 5: the session, the announcements, the user's message, the prompt.

use std::sync::{Arc, PoisonError};

use pintle::{
    Envelope, PluginGate, Point, RecordSink,
    points::{SessionStart, SessionStarted, UserPromptSubmit},
};

use super::{
    Live, RunError, SessionRef, history,
    live::{Opened, Turn},
};
use crate::{
    event::RunEventKind,
    message::Message,
    personality::Personality,
    prompt::{Subject, joined},
    store::{NewSession, Session, StoreError},
};

/// Step 1: open or resume the session, bind the personality, take its plugin list for the whole run.
pub(super) async fn open_session(live: &Live) -> Result<(), RunError> {
    let agent = live.agent();
    let lineage = live.ask.lineage.as_ref();
    let personality = live.ask.personality.clone();
    if let Some(asked) = &personality {
        agent
            .personalities
            .get(asked)
            .map_err(|error| RunError::new("personality", error.to_string()))?;
    }
    let new = |key: &String| NewSession {
        key: key.clone(),
        platform: live.ask.platform.clone(),
        personality: personality.clone(),
        parent: lineage.map(|lineage| lineage.parent_session.clone()),
    };
    let mut session = match &live.ask.session {
        SessionRef::Key(key) => agent.store.open(new(key)).await?,
        SessionRef::New(key) => agent.store.create(new(key)).await?,
        SessionRef::Id(id) => {
            agent.store.session(id).await?.ok_or_else(|| StoreError::NoSuchSession(id.clone()))?
        }
    };
    let mut turn = None;
    if let Some(asked) = personality.filter(|asked| session.personality.as_ref() != Some(asked)) {
        // Nobody else's conversation is switched under their feet.
        turn = Some(wait_for_turn(live, &session).await?);
        let witness = Some(live.emitter.clone() as Arc<dyn RecordSink>);
        let switched = live
            .handle()
            .switch(&session, &asked, Envelope::clone(&live.envelope()), witness)
            .await;
        switched.map_err(|error| RunError::new("personality", error.to_string()))?;
        session.personality = Some(asked);
    }
    let personality = live
        .handle()
        .personality(&session)
        .map_err(|error| RunError::new("personality", error.to_string()))?;
    let ancestors = match lineage {
        Some(lineage) => lineage.ancestors.clone(),
        None => ancestors(live, &session).await?,
    };
    // A sub-agent gets its parent's plugins besides its own: their handlers guard, and it may have less, never more.
    let inherited = match lineage {
        Some(lineage) => lineage.plugins.clone(),
        None => ancestors
            .iter()
            .map(Personality::plugin_gate)
            .fold(PluginGate::BuiltinsOnly, |all, gate| union(&all, &gate)),
    };
    let plugins = union(&inherited, &personality.plugin_gate());
    live.open(Opened { session: session.clone(), personality, plugins, ancestors });
    live.take_turn(match turn {
        Some(turn) => turn,
        None => wait_for_turn(live, &session).await?,
    });
    if live.ask.resumes {
        return Ok(());
    }
    history::give_up_waiting(live).await;
    history::repair(live).await
}

/// Waits until no other run of this agent is under way in the session, then until no other process uses it.
async fn wait_for_turn(live: &Live, session: &Session) -> Result<Turn, RunError> {
    let among_runs = live.handle().turn_in(&session.id).lock_owned().await;
    let held = live.ask.claim.lock().unwrap_or_else(PoisonError::into_inner).take();
    let among_processes = match held {
        Some(claim) => claim,
        None => live.agent().store.claim(session).await?,
    };
    Ok(Turn { _among_runs: among_runs, _among_processes: among_processes })
}

/// Whose work a sub-agent's session was, outermost first, when its run goes on without its parent's: what they may
/// not use, it may not use either (R6.3).
async fn ancestors(live: &Live, session: &Session) -> Result<Vec<Personality>, RunError> {
    let mut ancestors = Vec::new();
    let mut above = session.parent.clone();
    while let Some(id) = above {
        let parent = live.agent().store.session(&id).await?;
        let parent = parent.ok_or(StoreError::NoSuchSession(id))?;
        let personality = live.handle().personality(&parent);
        ancestors.push(personality.map_err(|e| RunError::new("personality", e.to_string()))?);
        above = parent.parent;
    }
    ancestors.reverse();
    Ok(ancestors)
}

fn union(parent: &PluginGate, child: &PluginGate) -> PluginGate {
    match (parent, child) {
        (PluginGate::All, _) | (_, PluginGate::All) => PluginGate::All,
        (PluginGate::BuiltinsOnly, other) | (other, PluginGate::BuiltinsOnly) => other.clone(),
        (PluginGate::Only(parent), PluginGate::Only(child)) => {
            PluginGate::only(parent.union(child).cloned())
        }
    }
}

/// Step 2: `session_start` on the first run, `session.start` on every one.
pub(super) async fn announce(live: &Live) -> Result<(), RunError> {
    let Some(opened) = live.opened() else { return Ok(()) };
    let model = live.agent().llm.name().to_string();
    live.emit(RunEventKind::RunStart { model: model.clone() });
    let resumed = opened.session.message_count > 0;
    if live.handle().starts(&opened.session.id) {
        live.agent().hooks.fire_void(&live.cx(), || SessionStart { resumed }).await?;
    }
    let started = || SessionStarted { model, new_session: !resumed };
    let outcome = live.agent().hooks.fire_gate(&live.cx(), started).await;
    live.heed(SessionStarted::NAME, &outcome, None);
    Ok(())
}

/// Step 3: a block ends the run with its reason, and nothing is stored; otherwise the message is.
pub(super) async fn submit_prompt(live: &Live) -> Result<Option<String>, RunError> {
    let prompt = || UserPromptSubmit { prompt: live.ask.text.clone() };
    let outcome = live.agent().hooks.fire_gate(&live.cx(), prompt).await;
    live.heed(UserPromptSubmit::NAME, &outcome, None);
    if let Some(block) = outcome.blocked() {
        return Ok(Some(block.reason.clone()));
    }
    live.append(&live.run_id, Message::User { text: live.ask.text.clone() }).await?;
    Ok(None)
}

/// Step 5: `before_prompt_build`, then the parts in their order.
pub(super) async fn build_prompt(live: &Live, messages: &[Message]) -> Result<String, RunError> {
    let Some(opened) = live.opened() else { return Ok(String::new()) };
    let subject = Subject {
        personality: &opened.personality,
        session_id: &opened.session.id,
        prompt: &live.ask.text,
        history: messages,
    };
    Ok(joined(&live.agent().prompt_parts(&live.cx(), subject).await?))
}
