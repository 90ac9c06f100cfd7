//! A conversation at a terminal, or with the lines of a pipe: one run for each message.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use pintle_agent::{
    RunOutcome,
    store::{Approval, ApprovalFilter, ApprovalState},
};

use super::{
    ActiveAgent, Ended, Goes, Line, RunView, Screen, StopSignal, banner, key, open,
    personality::session_of,
    slash::{self, Then},
};
use crate::{
    args::Chat, assembly::Assembled, environment::Environment, origin, out::tell, problem::Problem,
    shown::dim,
};

/// A second Ctrl-C within this leaves.
const AGAIN_WITHIN: Duration = Duration::from_secs(2);
const AGAIN: &str = "Press Ctrl-C again within 2 s to quit.";

/// The session of the next message.
pub(super) struct Talk {
    pub(super) key: String,
    pub(super) goes: Goes,
    /// The personality that answers; the conversation's own unless another was chosen.
    pub(super) personality: Option<String>,
    pub(super) last_run: Option<String>,
}

pub(super) async fn run(environment: &Environment, mut chat: Chat) -> Result<ExitCode, Problem> {
    let (mut view, plan) = open(environment, &chat, Screen::full(environment))?;
    let assembling = ActiveAgent::new(environment, &chat, plan);
    let mut current = match view.interrupts.or_stopped(assembling).await {
        Ok(current) => current?,
        Err(code) => return Ok(code.into()),
    };
    let leaves = match talk(environment, &mut chat, &mut view, &mut current).await? {
        Ended::Quit(code) => return Ok(code.into()),
        Ended::Leave(code) => Some(code),
        Ended::Done { .. } => None,
    };
    let leaves = view.interrupts.last(leaves, current.close()).await;
    Ok(leaves.map_or(ExitCode::SUCCESS, ExitCode::from))
}

async fn talk(
    environment: &Environment,
    chat: &mut Chat,
    view: &mut RunView,
    current: &mut ActiveAgent,
) -> Result<Ended, Problem> {
    let mut talk = Talk {
        key: key(environment, chat)?,
        goes: Goes::by(chat),
        personality: chat.who.personality.clone(),
        last_run: None,
    };
    if environment.stdin_is_terminal {
        let session = session_of(&current.assembled, &talk).await?;
        if let Some(session) = &session {
            let store = &*current.assembled.store;
            crate::ids::learn(store, pintle_agent::store::IdKind::Session, &session.id).await;
        }
        banner::print(environment, chat, &current.assembled, session.as_ref());
    }
    if let Some(approval) = unfinished(environment, &current.assembled, &talk).await? {
        tell!("{}", dim("an earlier question is still open"));
        match go_on(environment, chat, view, current, &approval).await {
            Ok(Ended::Done { .. }) => {}
            Ok(ended) => return Ok(ended),
            Err(problem) => {
                let open = "nothing ran; answer it with `pintle approvals`, or cancel it with your next message here";
                tell!("{}\n{}", problem, dim(open));
            }
        }
    }
    let mut ended = Ended::Done { text: String::new(), outcome: RunOutcome::EndTurn };
    let mut interrupted: Option<Instant> = None;
    while let Ended::Done { .. } = ended {
        if environment.stdin_is_terminal {
            view.input.complete(slash::words(&current.assembled, &talk).await);
            tell!("");
        }
        let line = match view.next_line().await {
            Line::End => break,
            Line::Signalled(signal) => return Ok(Ended::Leave(signal.code())),
            Line::Interrupted => {
                if interrupted.is_some_and(|at| at.elapsed() < AGAIN_WITHIN) {
                    return Ok(Ended::Leave(StopSignal::Stop.code()));
                }
                tell!("{}", dim(AGAIN));
                interrupted = Some(Instant::now());
                continue;
            }
            Line::Text(line) => line,
        };
        interrupted = None;
        let text = line.trim();
        if text.is_empty() {
            continue;
        }
        if slash::goes_by_the_profile(text) {
            let refreshed = async {
                match text.starts_with('/') {
                    true => current.refresh(environment, chat).await.map(drop),
                    false => current.refresh_for_a_run(environment, chat).await,
                }
            };
            match view.interrupts.or_stopped(refreshed).await {
                Err(code) => return Ok(Ended::Quit(code)),
                Ok(Err(problem)) => {
                    tell!("{}", problem);
                    continue;
                }
                Ok(Ok(())) => {}
            }
        }
        if text.starts_with('/') {
            let done = slash::run(environment, chat, view, current, &mut talk, text).await;
            match done {
                Ok(Then::GoOn) => {}
                Ok(Then::Leave) => break,
                Ok(Then::End(how)) => ended = how,
                Err(problem) => tell!("{}", problem),
            }
            continue;
        }
        let personality = talk.personality.as_deref();
        let request = talk.goes.request(&talk.key, personality, text.to_string());
        ended = view.play(&current.assembled, request).await;
        talk.last_run = Some(view.run_id().to_owned());
        if let Some(session) = view.session() {
            talk.goes = Goes::OnWith(session);
        }
    }
    Ok(ended)
}

/// Continues the run that asked, with its own folder, profile and model, not those of this conversation.
async fn go_on(
    environment: &Environment,
    chat: &Chat,
    view: &mut RunView,
    current: &ActiveAgent,
    approval: &Approval,
) -> Result<Ended, Problem> {
    let origin = origin::known(approval, &chat.who)?;
    let (model, store) = (chat.who.model.as_deref(), current.assembled.store.clone());
    let extras = current.extras();
    let assembling = origin::assemble(environment, origin, model, store, extras);
    let assembled = match view.interrupts.or_stopped(assembling).await {
        Ok(assembled) => assembled?,
        Err(code) => return Ok(Ended::Quit(code)),
    };
    let request = origin::ask(&assembled, approval, origin).await?;
    let ended = view.play(&assembled, request).await;
    let leaves = match ended {
        Ended::Quit(_) => return Ok(ended),
        Ended::Leave(code) => Some(code),
        Ended::Done { .. } => None,
    };
    Ok(match view.interrupts.last(leaves, assembled.close()).await {
        // Ctrl-C ends the waiting, not the conversation.
        Some(code) if code != StopSignal::Stop.code() => Ended::Leave(code),
        _ => ended,
    })
}

/// The open question of a dead run of this conversation, unless another program continues the run.
async fn unfinished(
    environment: &Environment,
    assembled: &Assembled,
    talk: &Talk,
) -> Result<Option<Approval>, Problem> {
    if !environment.stdin_is_terminal {
        return Ok(None);
    }
    let Some(session) = session_of(assembled, talk).await? else { return Ok(None) };
    assembled.store.expire_approvals().await?;
    let filter = ApprovalFilter {
        session_id: Some(session.id.clone()),
        state: Some(ApprovalState::Pending),
        ..ApprovalFilter::default()
    };
    let open = assembled.store.approvals(filter).await?.pop();
    Ok(match assembled.store.is_claimed(&session.id).await? {
        true => None,
        false => open,
    })
}
