//! `pintle chat`: a conversation, or one question.

mod approver;
mod lines;
mod play;
mod screen;

use std::{process::ExitCode, sync::Arc};

use futures_util::StreamExt;
use pintle_agent::{Ask, NewSession, RunEventKind, RunOutcome, Store};

pub(crate) use approver::{Questions, TerminalApprover};
pub(crate) use lines::{Line, Lines};
pub(crate) use play::{Ended, Player};
pub(crate) use screen::Screen;

use crate::{
    args::Chat,
    assembly::{Assembled, Extras},
    environment::Environment,
    problem::{BOLD, DIM, Problem},
};

pub(crate) async fn run(environment: &Environment, chat: Chat) -> Result<ExitCode, Problem> {
    match &chat.question {
        Some(question) if environment.json => as_json(environment, &chat, question.clone()).await,
        Some(question) => answer(environment, &chat, question.clone()).await,
        None => converse(environment, chat).await,
    }
}

fn ask(chat: &Chat, text: String, begin: bool) -> Ask {
    let ask = if begin {
        Ask::in_new_session(&chat.session, text)
    } else {
        Ask::new(&chat.session, text)
    };
    match &chat.who.personality {
        Some(personality) => ask.as_personality(personality),
        None => ask,
    }
}

/// The run's events, one JSON object per line.
async fn as_json(
    environment: &Environment,
    chat: &Chat,
    question: String,
) -> Result<ExitCode, Problem> {
    let assembled = Assembled::new(environment, &chat.who, Extras::default()).await?;
    let mut run = assembled.agent.run(ask(chat, question, chat.new));
    let id = run.id().to_string();
    let mut code = ExitCode::FAILURE;
    loop {
        tokio::select! {
            event = run.next() => match event {
                None => break,
                Some(event) => {
                    anstream::println!("{}", serde_json::to_string(&event).map_err(Problem::new)?);
                    if let RunEventKind::Done { outcome: RunOutcome::EndTurn, .. } = event.kind
                        && event.envelope.run_id.as_ref() == Some(&id)
                    {
                        code = ExitCode::SUCCESS;
                    }
                }
            },
            _ = tokio::signal::ctrl_c() => run.cancel(),
        }
    }
    assembled.close().await;
    Ok(code)
}

/// Only the answer goes to standard output; what happened on the way goes to standard error, for a person.
async fn answer(
    environment: &Environment,
    chat: &Chat,
    question: String,
) -> Result<ExitCode, Problem> {
    let (mut player, assembled) = open(environment, chat, Screen::quiet(environment)).await?;
    let run = assembled.agent.run(ask(chat, question, chat.new));
    let ended = player.play(run).await;
    assembled.close().await;
    match ended {
        Ended::Quit => Ok(ExitCode::from(130)),
        Ended::Done { text, outcome: RunOutcome::EndTurn } => {
            anstream::println!("{text}");
            Ok(ExitCode::SUCCESS)
        }
        Ended::Done { text, outcome } => {
            Err(Problem::new(format!("{text} ({})", outcome.as_str())))
        }
    }
}

async fn open(
    environment: &Environment,
    chat: &Chat,
    screen: Screen,
) -> Result<(Player, Assembled), Problem> {
    let history = environment.data_dir()?.join("history.txt");
    let lines = Lines::open(environment.stdin_is_terminal, history);
    let (approver, questions) = TerminalApprover::new();
    let waiting = screen.waiting();
    let extras = Extras {
        // Without a terminal there is no one to ask, and the agent says so.
        approver: environment.stdin_is_terminal.then(|| Arc::new(approver) as _),
        watch: Some(Box::new(move |point, handler| waiting.handler_started(point, handler))),
        hooks: None,
    };
    let assembled = Assembled::new(environment, &chat.who, extras).await?;
    Ok((Player::new(screen, lines, questions), assembled))
}

async fn converse(environment: &Environment, chat: Chat) -> Result<ExitCode, Problem> {
    let (mut player, assembled) = open(environment, &chat, Screen::full(environment)).await?;
    let mut begin = chat.new;
    let mut warned = false;
    if environment.stdin_is_terminal {
        anstream::eprintln!(
            "{BOLD}pintle{BOLD:#} {DIM}· model {} · {} · /help for commands{DIM:#}",
            assembled.model,
            chat.session
        );
    }
    loop {
        let line = match player.lines().ask("› ").await {
            Line::End => break,
            Line::Interrupted if warned => break,
            Line::Interrupted => {
                anstream::eprintln!("{DIM}press Ctrl-C again to leave{DIM:#}");
                warned = true;
                continue;
            }
            Line::Text(line) => line,
        };
        warned = false;
        let text = line.trim();
        match text.split_once(' ').map_or((text, ""), |(command, rest)| (command, rest.trim())) {
            ("", _) => {}
            ("/quit" | "/exit", _) => break,
            ("/help", _) => help(),
            ("/new", _) => {
                begin = true;
                anstream::eprintln!("{DIM}a new conversation begins with your next message{DIM:#}");
            }
            ("/hooks", _) => crate::commands::hooks::print_list(&assembled.agent.hooks().list()),
            ("/personality", name) => match switch(&assembled, &chat, name).await {
                Ok(said) => anstream::eprintln!("{DIM}{said}{DIM:#}"),
                Err(problem) => anstream::eprintln!("{problem}"),
            },
            (command, _) if command.starts_with('/') => {
                anstream::eprintln!(
                    "{}",
                    Problem::new(format!("there is no command `{command}`"))
                        .hint("/help lists them")
                );
            }
            _ => {
                let run = assembled.agent.run(ask(&chat, text.to_string(), begin));
                begin = false;
                if let Ended::Quit = player.play(run).await {
                    return Ok(ExitCode::from(130));
                }
            }
        }
    }
    assembled.close().await;
    Ok(ExitCode::SUCCESS)
}

fn help() {
    anstream::eprintln!(
        "/personality [NAME]  who the agent is, or make it another\n\
         /new                 begin a new conversation\n\
         /hooks               every hook that is bound\n\
         /quit                leave (Ctrl-C stops a run, twice leaves)"
    );
}

async fn switch(assembled: &Assembled, chat: &Chat, name: &str) -> Result<String, Problem> {
    let personalities = assembled.agent.personalities();
    let new =
        NewSession { key: chat.session.clone(), platform: "cli".into(), ..NewSession::default() };
    let session = assembled.store.open(new).await?;
    if name.is_empty() {
        let now = session.personality.as_deref().unwrap_or(personalities.default_id());
        let all: Vec<_> = personalities.names().collect();
        return Ok(format!("now {now}; there are: {}", all.join(", ")));
    }
    assembled.agent.switch_personality(&session, name).await?;
    Ok(format!("now {name}"))
}
