//! `pintle chat`: a conversation, or one question.

mod approver;
mod asking;
mod banner;
mod call_view;
mod conversation;
mod editor;
mod events;
mod input;
mod interrupts;
mod keys;
mod markdown;
mod personality;
mod question;
mod reload;
mod run_view;
mod screen;
mod slash;
mod totals;

use std::{process::ExitCode, sync::Arc};

use pintle_agent::{RunOutcome, RunRequest, args_hash};

pub(crate) use approver::{
    Approvers, AskVia, PendingQuestion, Questions, StoredApprover, TerminalAnswer, now_ms,
    settled_already, terminal,
};
pub(crate) use asking::AskedAbout;
pub(crate) use events::print_events;
pub(crate) use input::{Input, Line, ask_key};
pub(crate) use interrupts::{INTERRUPTED, Interrupts, LEAVES_WITHIN, StopSignal};
pub(crate) use question::{Question, short};
use reload::{ActiveAgent, AgentPlan};
pub(crate) use run_view::{Ended, Pacer, Reached, RunView};
pub(crate) use screen::{Screen, tell_of_the_end};
pub(crate) use totals::CallLog;

use crate::{
    args::Chat,
    environment::Environment,
    out::{self, tell},
    problem::Problem,
    shown::{Show, lines},
    term::{width, wrap},
};

/// The exit code of `--fail-on-block`.
const BLOCKED: u8 = 5;

pub(crate) async fn run(environment: &Environment, chat: Chat) -> Result<ExitCode, Problem> {
    if !chat.text.is_empty() {
        let text = chat.text.join(" ").replace('\'', "'\\''");
        let problem = Problem::usage("chat takes no text");
        return Err(problem.fix(format!("did you mean `pintle chat -q '{text}'`?")));
    }
    match &chat.question {
        Some(question) if question.trim().is_empty() => {
            Err(Problem::usage("the question is empty").fix("pintle chat -q 'list .'"))
        }
        _ if environment.json => events::run(environment, &chat).await,
        Some(question) => answer(environment, &chat, question.clone()).await,
        None => conversation::run(environment, chat).await,
    }
}

/// The conversation's key. Each folder has its own key unless one is given, so messages of one project do not appear in
/// another. The name is for people; the hash distinguishes folders of the same name without showing their paths.
fn key(environment: &Environment, chat: &Chat) -> Result<String, Problem> {
    if let Some(session) = &chat.session {
        return Ok(session.clone());
    }
    let folder = environment.working_dir()?;
    let folder = folder.canonicalize().unwrap_or(folder);
    let hash = args_hash(&folder.to_string_lossy().into());
    let name = folder.file_name().map_or("root".into(), |name| name.to_string_lossy());
    Ok(format!("cli:{name}-{}", hash.get(..6).unwrap_or(&hash)))
}

/// Which session a message goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Goes {
    /// To a new one.
    New,
    /// To the newest with the conversation's key.
    OnWithNewest,
    /// To this one.
    OnWith(String),
}

impl Goes {
    /// A conversation is new unless an option continues one.
    fn by(chat: &Chat) -> Self {
        match chat.new || !(chat.continues || chat.session.is_some()) {
            true => Self::New,
            false => Self::OnWithNewest,
        }
    }

    fn request(&self, key: &str, personality: Option<&str>, text: String) -> RunRequest {
        let request = match self {
            Self::New => RunRequest::in_new_session(key, text),
            Self::OnWithNewest => RunRequest::new(key, text),
            Self::OnWith(id) => RunRequest::in_session(id, text),
        };
        match personality {
            Some(personality) => request.as_personality(personality),
            None => request,
        }
    }
}

/// Only the answer goes to standard output. Progress goes to standard error.
async fn answer(
    environment: &Environment,
    chat: &Chat,
    question: String,
) -> Result<ExitCode, Problem> {
    let (mut view, plan) = open(environment, chat, Screen::quiet(environment))?;
    let key = key(environment, chat)?;
    let assembled = match view.interrupts.or_stopped(plan.assemble(environment, chat)).await {
        Ok(assembled) => assembled?,
        Err(code) => return Ok(code.into()),
    };
    let request = Goes::by(chat).request(&key, chat.who.personality.as_deref(), question);
    // Printed before the last handlers end, so they do not delay the output.
    let (code, leaves) = match view.play(&assembled, request).await {
        Ended::Quit(code) => return Ok(code.into()),
        Ended::Leave(code) => (ExitCode::FAILURE, Some(code)),
        Ended::Done { text, outcome: RunOutcome::EndTurn } => {
            match environment.stdout_is_terminal {
                true => {
                    let mut markdown = markdown::Markdown::new(width());
                    out::stream(&markdown.push(&text));
                    out::stream(&markdown.end());
                    out::end_line();
                }
                false => out::say_whole(&lines(&text)),
            }
            (ExitCode::SUCCESS, None)
        }
        Ended::Done { text, .. } => {
            let problem = Problem::of_run(&text);
            match environment.stderr_is_terminal {
                true => out::tell_line(&wrap(&problem.shown(), width(), 2)),
                false => tell!("{}", problem),
            }
            (ExitCode::FAILURE, None)
        }
    };
    let code = match chat.fail_on_block && view.blocked() > 0 {
        true => BLOCKED.into(),
        false => code,
    };
    let leaves = view.interrupts.last(leaves, assembled.close()).await;
    Ok(leaves.map_or(code, ExitCode::from))
}

fn open(
    environment: &Environment,
    chat: &Chat,
    screen: Screen,
) -> Result<(RunView, AgentPlan), Problem> {
    let history = environment.create_data_dir()?.join("history.txt");
    let input = Input::open(environment.stdin_is_terminal, history);
    let (sender, questions) = terminal();
    let plan = AgentPlan {
        // Lines of a pipe are messages, never answers: a script cannot see what it would approve.
        terminal: environment.stdin_is_terminal.then_some(sender),
        elsewhere: environment.stdin_is_terminal || chat.wait_for_approval,
        waiting: screen.waiting(),
        program: Arc::default(),
    };
    Ok((RunView::new(screen, input, questions), plan))
}
