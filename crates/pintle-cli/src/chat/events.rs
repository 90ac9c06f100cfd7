//! Runs for machines: their events (R6.6), one JSON object per line.

use std::{process::ExitCode, sync::Arc};

use futures_util::StreamExt;
use pintle::points::ToolOutcome;
use pintle_agent::{Run, RunEventKind, RunOutcome};

use super::{
    BLOCKED, Ended, Goes, Input, Interrupts, Line, Screen, key,
    reload::{ActiveAgent, AgentPlan},
    run_view::Stopping,
};
use crate::{args::Chat, environment::Environment, out, problem::Problem};

/// The events of the question's run, or of one run per line of standard input.
pub(super) async fn run(environment: &Environment, chat: &Chat) -> Result<ExitCode, Problem> {
    let mut interrupts = Interrupts::listen();
    let waiting = Screen::quiet(environment).waiting();
    let (elsewhere, program) = (chat.wait_for_approval, Arc::default());
    let plan = AgentPlan { terminal: None, elsewhere, waiting, program };
    let mut current = match interrupts.or_stopped(ActiveAgent::new(environment, chat, plan)).await {
        Ok(current) => current?,
        Err(code) => return Ok(code.into()),
    };
    let key = key(environment, chat)?;
    let lines = Input::open(false, std::path::PathBuf::new());
    let mut asked = chat.question.clone();
    let mut goes = Goes::by(chat);
    let mut code = ExitCode::SUCCESS;
    let mut interrupted = None;
    while interrupted.is_none() {
        let text = match asked.take() {
            Some(question) => question,
            None if chat.question.is_some() => break,
            None => match interrupts.or_stopped(lines.next()).await {
                Ok(Line::Text(text)) if text.trim().is_empty() => continue,
                Ok(Line::Text(text)) => text,
                Ok(_) => break,
                Err(code) => {
                    interrupted = Some(code);
                    break;
                }
            },
        };
        match interrupts.or_stopped(current.refresh_for_a_run(environment, chat)).await {
            Err(interrupted) => return Ok(interrupted.into()),
            Ok(Err(problem)) => {
                out::say_json(&problem.to_json())?;
                code = ExitCode::FAILURE;
                continue;
            }
            Ok(Ok(())) => {}
        }
        let personality = chat.who.personality.as_deref();
        let run = current.assembled.agent.run(goes.request(&key, personality, text));
        let printed = print(run, &mut interrupts).await?;
        if let Some(session) = printed.session {
            goes = Goes::OnWith(session);
        }
        if chat.fail_on_block && printed.blocked {
            code = BLOCKED.into();
        }
        match printed.ended {
            Ended::Quit(code) => return Ok(code.into()),
            Ended::Leave(code) => interrupted = Some(code),
            Ended::Done { outcome: RunOutcome::EndTurn, .. } => {}
            Ended::Done { .. } if chat.fail_on_block && printed.blocked => {}
            Ended::Done { .. } => code = ExitCode::FAILURE,
        }
    }
    let interrupted = interrupts.last(interrupted, current.close()).await;
    Ok(interrupted.map_or(code, ExitCode::from))
}

/// The events of one run.
pub(crate) async fn print_events(run: Run, interrupts: &mut Interrupts) -> Result<Ended, Problem> {
    Ok(print(run, interrupts).await?.ended)
}

/// A run whose events were printed.
struct Printed {
    ended: Ended,
    session: Option<String>,
    /// Whether a call was blocked.
    blocked: bool,
}

/// Prints events until the stream ends.
async fn print(mut run: Run, interrupts: &mut Interrupts) -> Result<Printed, Problem> {
    let id = run.id().to_string();
    let (mut session, mut blocked) = (None, false);
    let mut ended = Ended::Done { text: String::new(), outcome: RunOutcome::Error };
    let mut stopping = Stopping::default();
    loop {
        tokio::select! {
            event = run.next() => {
                let Some(event) = event else { break };
                out::say_json(&event)?;
                blocked |= matches!(&event.kind, RunEventKind::ToolEnd { outcome: ToolOutcome::Rejected, .. });
                if event.envelope.run_id.as_ref() == Some(&id) {
                    session.clone_from(&event.envelope.session_id);
                }
                if let RunEventKind::Done { text, outcome } = event.kind
                    && event.envelope.run_id.as_ref() == Some(&id)
                {
                    ended = Ended::Done { text, outcome };
                }
            },
            wish = interrupts.next() => {
                if let Some(code) = stopping.at_once(wish) {
                    return Ok(Printed { ended: Ended::Quit(code), session, blocked });
                }
                run.cancel();
            }
            code = stopping.too_late() => {
                return Ok(Printed { ended: Ended::Quit(code), session, blocked });
            }
        }
    }
    let ended = match stopping.leaves {
        Some((code, _)) => Ended::Leave(code),
        None => ended,
    };
    Ok(Printed { ended, session, blocked })
}
