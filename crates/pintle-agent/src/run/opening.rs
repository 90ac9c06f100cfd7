//! Steps 1 to 5: the session, the announcements, the user's message, the history, the prompt.

use pintle::{
    PluginGate, Point,
    points::{SessionStart, SessionStarted, UserPromptSubmit},
};

use super::{Live, RunError, SessionRef, live::Opened, tool_call};
use crate::{
    event::RunEventKind,
    message::{Message, ToolCall, ToolResult},
    prompt::{Subject, joined},
    store::{NewSession, StoreError, StoredMessage},
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
    if let Some(asked) = personality.filter(|asked| session.personality.as_ref() != Some(asked)) {
        let switched = live.handle().switch_personality(&session, &asked).await;
        switched.map_err(|error| RunError::new("personality", error.to_string()))?;
        session.personality = Some(asked);
    }
    let personality = live
        .handle()
        .personality(&session)
        .map_err(|error| RunError::new("personality", error.to_string()))?;
    // A sub-agent gets its parent's plugins besides its own: their handlers guard, and it may have less, never more.
    let plugins = match lineage {
        None => personality.plugin_gate(),
        Some(lineage) => union(&lineage.plugins, &personality.plugin_gate()),
    };
    let ancestors = lineage.map(|lineage| lineage.ancestors.clone()).unwrap_or_default();
    let (first_here, turn) = live.handle().meet(&session.id);
    live.open(Opened { session, personality, plugins, ancestors, first_here });
    live.take_turn(turn).await;
    repair(live).await
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

/// A session whose process died has tool calls without results. They get one now: the tool may have run, so none
/// is run again (R6.5).
pub(super) async fn repair(live: &Live) -> Result<(), RunError> {
    let Some(opened) = live.opened().filter(|_| live.has_turn()) else { return Ok(()) };
    let history = live.agent().store.history(&opened.session.id).await?;
    let Some(StoredMessage { message: Message::Assistant { tool_calls, .. }, run_id, .. }) =
        history.last()
    else {
        return Ok(());
    };
    if tool_calls.is_empty() {
        return Ok(());
    }
    let known = tool_call::results(live);
    let unknown = |call: &ToolCall| {
        ToolResult {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: "The run was interrupted before this call's result was known. It may have taken effect: check \
                  before trying again."
            .into(),
        is_error: true,
    }
    };
    let results = match *run_id == live.run_id && known.len() == tool_calls.len() {
        true => known,
        false => tool_calls.iter().map(unknown).collect(),
    };
    live.append(run_id, Message::ToolResults { results }).await
}

/// Step 2: `session_start` on the first run, `session.start` on every one.
pub(super) async fn announce(live: &Live) -> Result<(), RunError> {
    let Some(opened) = live.opened() else { return Ok(()) };
    let model = live.agent().llm.name().to_string();
    live.emit(RunEventKind::RunStart { model: model.clone() });
    let resumed = opened.session.message_count > 0;
    if opened.first_here {
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

/// Step 4.
pub(super) async fn load_history(live: &Live) -> Result<Vec<Message>, RunError> {
    let Some(opened) = live.opened() else { return Ok(Vec::new()) };
    let stored = live.agent().store.history(&opened.session.id).await?;
    Ok(stored.into_iter().map(|stored| stored.message).collect())
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
