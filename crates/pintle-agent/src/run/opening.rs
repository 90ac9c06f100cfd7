//! Steps 1 to 3 and 5: the session, the announcements, the user's message, the prompt.

use std::sync::{Arc, PoisonError};

use pintle::{
    Envelope, PluginFilter, Point, RecordSink,
    points::{RunStart, SessionOpened, Untrusted, UserPromptSubmit},
};

use super::{
    RunContext, RunError, SessionRef,
    context::{OpenSession, Turn},
};
use crate::{
    Message,
    event::RunEventKind,
    personality::Personality,
    prompt::{Subject, UNTRUSTED_MEMORY, joined},
    store::{NewSession, Session, StoreError},
    untrusted::fence,
};

/// Step 1: open or resume the session, bind the personality, take its plugin list for the whole run.
pub(super) async fn open_session(ctx: &RunContext) -> Result<(), RunError> {
    let agent = ctx.agent();
    let lineage = ctx.request.lineage.as_ref();
    let personality = ctx.request.personality.clone();
    if let Some(asked) = &personality {
        agent
            .personalities
            .get(asked)
            .map_err(|error| RunError::new("personality", error.to_string()))?;
    }
    let new = |key: &String| NewSession {
        key: key.clone(),
        platform: ctx.request.platform.clone(),
        personality: personality.clone(),
        parent: lineage.map(|lineage| lineage.parent_session.clone()),
    };
    let mut session = match &ctx.request.session {
        SessionRef::Key(key) => agent.store.open(new(key)).await?,
        SessionRef::New(key) => agent.store.create(new(key)).await?,
        SessionRef::Id(id) => {
            agent.store.session(id).await?.ok_or_else(|| StoreError::NoSuchSession(id.clone()))?
        }
    };
    let mut turn = None;
    if let Some(asked) = personality.filter(|asked| session.personality.as_ref() != Some(asked)) {
        // A run under way in this session keeps its personality.
        let taken = wait_for_turn(ctx, &session).await?;
        let witness = Some(ctx.emitter.clone() as Arc<dyn RecordSink>);
        let envelope = Envelope::clone(&ctx.envelope());
        let switched = ctx.handle().switch(&taken.claim, &session, &asked, envelope, witness).await;
        switched.map_err(|error| RunError::new("personality", error.to_string()))?;
        session.personality = Some(asked);
        turn = Some(taken);
    }
    let personality = ctx
        .handle()
        .personality(&session)
        .map_err(|error| RunError::new("personality", error.to_string()))?;
    let ancestors = match lineage {
        Some(lineage) => lineage.ancestors.clone(),
        None => ancestors(ctx, &session).await?,
    };
    // A sub-agent gets its parent's plugins besides its own: their handlers guard, and it may have less, never more.
    let inherited = match lineage {
        Some(lineage) => lineage.plugins.clone(),
        None => ancestors
            .iter()
            .map(Personality::plugin_filter)
            .fold(PluginFilter::BuiltinsOnly, |all, gate| union(&all, &gate)),
    };
    let plugins = union(&inherited, &personality.plugin_filter());
    ctx.open(OpenSession { session: session.clone(), personality, plugins, ancestors });
    ctx.take_turn(match turn {
        Some(turn) => turn,
        None => wait_for_turn(ctx, &session).await?,
    });
    Ok(())
}

/// Waits until no other run of this agent is under way in the session, then until no other process uses it.
async fn wait_for_turn(ctx: &RunContext, session: &Session) -> Result<Turn, RunError> {
    let among_runs = ctx.handle().turn_in(&session.id).lock_owned().await;
    let held = ctx.request.claim.lock().unwrap_or_else(PoisonError::into_inner).take();
    let claim = match held {
        Some(claim) => claim,
        None => ctx.agent().store.claim(session).await?,
    };
    Ok(Turn { _among_runs: among_runs, claim: Arc::new(claim) })
}

/// Whose work a sub-agent's session was, outermost first, when its run goes on without its parent's: what they may
/// not use, it may not use either (R6.3).
async fn ancestors(ctx: &RunContext, session: &Session) -> Result<Vec<Personality>, RunError> {
    let mut ancestors = Vec::new();
    let mut above = session.parent.clone();
    while let Some(id) = above {
        let parent = ctx.agent().store.session(&id).await?;
        let parent = parent.ok_or(StoreError::NoSuchSession(id))?;
        let personality = ctx.handle().personality(&parent);
        ancestors.push(personality.map_err(|e| RunError::new("personality", e.to_string()))?);
        above = parent.parent;
    }
    ancestors.reverse();
    Ok(ancestors)
}

pub(super) fn union(parent: &PluginFilter, child: &PluginFilter) -> PluginFilter {
    match (parent, child) {
        (PluginFilter::All, _) | (_, PluginFilter::All) => PluginFilter::All,
        (PluginFilter::BuiltinsOnly, other) | (other, PluginFilter::BuiltinsOnly) => other.clone(),
        (PluginFilter::Only(parent), PluginFilter::Only(child)) => {
            PluginFilter::only(parent.union(child).cloned())
        }
    }
}

/// Step 2: `session_start` on the first run, `session.start` on every one.
pub(super) async fn announce(ctx: &RunContext) -> Result<(), RunError> {
    let Some(opened) = ctx.opened() else { return Ok(()) };
    let model = ctx.agent().llm.name().to_string();
    let prompt = ctx.request.text.clone();
    ctx.emit(RunEventKind::RunStart { model: model.clone(), prompt });
    let resumed = opened.session.message_count > 0;
    if ctx.handle().starts(&opened.session.id) {
        ctx.agent()
            .hooks
            .fire_void(&ctx.hook_cx(), || SessionOpened::default().resumed(resumed))
            .await?;
    }
    let started = || RunStart::default().model(model).new_session(!resumed);
    let outcome = ctx.agent().hooks.fire_gate(&ctx.hook_cx(), started).await;
    ctx.apply_verdicts(RunStart::NAME, &outcome.verdicts, None);
    Ok(())
}

/// Step 3: a block ends the run with its reason, and nothing is stored; otherwise the message is.
pub(super) async fn submit_prompt(ctx: &RunContext) -> Result<Option<String>, RunError> {
    let prompt = || UserPromptSubmit::default().prompt(ctx.request.text.clone());
    let outcome = ctx.agent().hooks.fire_gate(&ctx.hook_cx(), prompt).await;
    ctx.apply_verdicts(UserPromptSubmit::NAME, &outcome.verdicts, None);
    if let Some(block) = outcome.blocked() {
        return Ok(Some(block.reason.clone()));
    }
    let said = &ctx.request.text;
    let text = match &ctx.request.stranger {
        Some(from) => fence(said, from),
        None => said.clone(),
    };
    ctx.append(&ctx.run_id, Message::user(text)).await?;
    Ok(None)
}

/// Step 5: `before_prompt_build`, then the parts in their order.
pub(super) async fn build_prompt(
    ctx: &RunContext,
    messages: &[Message],
) -> Result<String, RunError> {
    let Some(opened) = ctx.opened() else { return Ok(String::new()) };
    let subject = Subject {
        personality: &opened.personality,
        session_id: &opened.session.id,
        prompt: &ctx.request.text,
        history: messages,
    };
    let parts = ctx.agent().prompt_parts(&ctx.hook_cx(), subject).await?;
    if let Some(notes) = parts.iter().find(|it| it.part == UNTRUSTED_MEMORY) {
        ctx.outside.add(Untrusted::default().from(&*notes.by));
    }
    let prompt = joined(&parts);
    ctx.emit(RunEventKind::Prompt { parts });
    Ok(prompt)
}
