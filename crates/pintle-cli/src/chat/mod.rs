//! `pintle chat`: a conversation, or one question.

mod approver;
mod interrupts;
mod lines;
mod play;
mod reload;
mod screen;

use std::process::ExitCode;

use futures_util::StreamExt;
use pintle_agent::{Ask, NewSession, Run, RunEventKind, RunOutcome, Session, Store, args_hash};
use pintle_store::{Approval, ApprovalFilter, ApprovalState};

pub(crate) use approver::{Ears, Questions, StoredApprover, TerminalAnswer, now_ms, terminal};
pub(crate) use interrupts::Interrupts;
pub(crate) use lines::{Line, Lines};
pub(crate) use play::{Ended, Player};
use reload::{Current, Recipe};
pub(crate) use screen::Screen;

use crate::{
    args::Chat,
    assembly::Assembled,
    environment::Environment,
    origin,
    problem::{BOLD, DIM, Problem},
};

/// What a shell makes of Ctrl-C.
const INTERRUPTED: u8 = 130;

pub(crate) async fn run(environment: &Environment, chat: Chat) -> Result<ExitCode, Problem> {
    match &chat.question {
        Some(question) if question.trim().is_empty() => {
            Err(Problem::new("the question is empty").hint("`pintle chat -q 'list .'`"))
        }
        _ if environment.json => as_json(environment, &chat).await,
        Some(question) => answer(environment, &chat, question.clone()).await,
        None => converse(environment, chat).await,
    }
}

/// The conversation's key. Every folder has its own unless one is named: what is said in one project does not turn up
/// in another. The name is for people; the hash tells folders of one name apart without spelling out where they are.
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

fn ask(chat: &Chat, key: &str, text: String, begin: bool) -> Ask {
    let ask = if begin { Ask::in_new_session(key, text) } else { Ask::new(key, text) };
    match &chat.who.personality {
        Some(personality) => ask.as_personality(personality),
        None => ask,
    }
}

/// The events of the question's run, or of one run per line of standard input: one JSON object per line.
async fn as_json(environment: &Environment, chat: &Chat) -> Result<ExitCode, Problem> {
    let mut interrupts = Interrupts::listen();
    let waiting = Screen::quiet(environment).waiting();
    let recipe = Recipe { terminal: None, elsewhere: chat.wait_for_approval, waiting };
    let mut current = Current::new(environment, chat, recipe).await?;
    let lines = Lines::open(false, std::path::PathBuf::new());
    let key = key(environment, chat)?;
    let mut asked = chat.question.clone();
    let mut begin = chat.new;
    let mut code = ExitCode::SUCCESS;
    loop {
        let text = match asked.take() {
            Some(question) => question,
            None if chat.question.is_some() => break,
            None => tokio::select! {
                line = lines.ask("") => match line {
                    Line::Text(text) if text.trim().is_empty() => continue,
                    Line::Text(text) => text,
                    _ => break,
                },
                () = interrupts.next() => return Ok(INTERRUPTED.into()),
            },
        };
        current.refresh(environment, chat).await;
        let run = current.assembled.agent.run(ask(chat, &key, text, begin));
        begin = false;
        match print_events(run, &mut interrupts).await? {
            None => return Ok(INTERRUPTED.into()),
            Some(RunOutcome::EndTurn) => {}
            Some(_) => code = ExitCode::FAILURE,
        }
    }
    tokio::select! {
        () = current.assembled.close() => Ok(code),
        () = interrupts.next() => Ok(INTERRUPTED.into()),
    }
}

/// How the run ended; `None` when it was not waited for.
async fn print_events(
    mut run: Run,
    interrupts: &mut Interrupts,
) -> Result<Option<RunOutcome>, Problem> {
    let id = run.id().to_string();
    let mut ended = RunOutcome::Error;
    let mut stopping = false;
    loop {
        tokio::select! {
            event = run.next() => {
                let Some(event) = event else { return Ok(Some(ended)) };
                anstream::println!("{}", serde_json::to_string(&event).map_err(Problem::new)?);
                if let RunEventKind::Done { outcome, .. } = event.kind
                    && event.envelope.run_id.as_ref() == Some(&id)
                {
                    ended = outcome;
                }
            },
            () = interrupts.next() => {
                if stopping {
                    return Ok(None);
                }
                stopping = true;
                run.cancel();
            }
        }
    }
}

/// Only the answer goes to standard output; what happened on the way goes to standard error, for a person.
async fn answer(
    environment: &Environment,
    chat: &Chat,
    question: String,
) -> Result<ExitCode, Problem> {
    let (mut player, recipe) = open(environment, chat, Screen::quiet(environment))?;
    let assembled = recipe.assemble(environment, chat).await?;
    let run = assembled.agent.run(ask(chat, &key(environment, chat)?, question, chat.new));
    // Said before the last handlers are waited for: they delay nothing that a person sees.
    let code = match player.play(run).await {
        Ended::Quit => return Ok(INTERRUPTED.into()),
        Ended::Done { text, outcome: RunOutcome::EndTurn } => {
            anstream::println!("{text}");
            ExitCode::SUCCESS
        }
        Ended::Done { text, outcome } => {
            anstream::eprintln!("{}", Problem::new(format!("{text} ({})", outcome.as_str())));
            ExitCode::FAILURE
        }
    };
    Ok(if player.wait_for(assembled.close()).await { code } else { INTERRUPTED.into() })
}

fn open(
    environment: &Environment,
    chat: &Chat,
    screen: Screen,
) -> Result<(Player, Recipe), Problem> {
    let history = environment.data_dir()?.join("history.txt");
    let lines = Lines::open(environment.stdin_is_terminal, history);
    let (sender, questions) = terminal();
    let recipe = Recipe {
        terminal: environment.stdin_is_terminal.then_some(sender),
        elsewhere: environment.stdin_is_terminal || chat.wait_for_approval,
        waiting: screen.waiting(),
    };
    Ok((Player::new(screen, lines, questions), recipe))
}

async fn converse(environment: &Environment, chat: Chat) -> Result<ExitCode, Problem> {
    let (mut player, recipe) = open(environment, &chat, Screen::full(environment))?;
    let key = key(environment, &chat)?;
    let mut current = Current::new(environment, &chat, recipe).await?;
    let mut begin = chat.new;
    let mut warned = false;
    if environment.stdin_is_terminal {
        anstream::eprintln!(
            "{BOLD}pintle{BOLD:#} {DIM}· model {} · {} · /help for commands{DIM:#}",
            current.assembled.model,
            key
        );
    }
    if let Some(approval) = unfinished(environment, &current.assembled, &chat, &key).await? {
        anstream::eprintln!("{DIM}a question from before is still open{DIM:#}");
        match go_on(environment, &chat, &mut player, &current, &approval).await {
            Ok(Ended::Quit) => return Ok(INTERRUPTED.into()),
            Ok(Ended::Done { .. }) => {}
            Err(problem) => anstream::eprintln!(
                "{problem}\n{DIM}nothing ran; `pintle approvals` still answers it, and your next message here calls it off{DIM:#}"
            ),
        }
    }
    loop {
        let line = match player.next_line("› ").await {
            Line::End => break,
            Line::Signalled => return Ok(INTERRUPTED.into()),
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
            ("/hooks", _) => {
                crate::commands::hooks::print_list(&current.assembled.agent.hooks().list())
            }
            ("/personality", name) => match switch(&current.assembled, &key, name).await {
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
                current.refresh(environment, &chat).await;
                let run = current.assembled.agent.run(ask(&chat, &key, text.to_string(), begin));
                begin = false;
                if let Ended::Quit = player.play(run).await {
                    return Ok(INTERRUPTED.into());
                }
            }
        }
    }
    player.wait_for(current.assembled.close()).await;
    Ok(ExitCode::SUCCESS)
}

/// Goes on with the run that asked, made of what it was made of: not of what this conversation is.
async fn go_on(
    environment: &Environment,
    chat: &Chat,
    player: &mut Player,
    current: &Current,
    approval: &Approval,
) -> Result<Ended, Problem> {
    let origin = origin::known(approval, &chat.who)?;
    let (model, store) = (chat.who.model.as_deref(), current.assembled.store.clone());
    let extras = current.extras();
    let assembled = origin::assemble(environment, origin, model, store, extras).await?;
    let run = assembled.agent.run(origin::ask(&assembled, approval, origin).await?);
    let ended = player.play(run).await;
    if let Ended::Done { .. } = ended {
        player.wait_for(assembled.close()).await;
    }
    Ok(ended)
}

/// The open question of a run of this conversation that died, if nobody else goes on with it.
async fn unfinished(
    environment: &Environment,
    assembled: &Assembled,
    chat: &Chat,
    key: &str,
) -> Result<Option<Approval>, Problem> {
    let sessions = assembled.store.sessions().await?;
    let mine = |session: &&Session| session.key == key && session.parent.is_none();
    let Some(session) =
        sessions.iter().find(mine).filter(|_| environment.stdin_is_terminal && !chat.new)
    else {
        return Ok(None);
    };
    assembled.store.expire_approvals(now_ms()).await?;
    let filter = ApprovalFilter {
        session_id: Some(session.id.clone()),
        state: Some(ApprovalState::Pending),
        ..ApprovalFilter::default()
    };
    let open = assembled.store.approvals(filter).await?.pop();
    Ok(open.filter(|_| matches!(assembled.store.try_claim(&session.id), Ok(Some(_)))))
}

fn help() {
    anstream::eprintln!(
        "/personality [NAME]  who the agent is, or make it another\n\
         /new                 begin a new conversation\n\
         /hooks               every hook that is bound\n\
         /quit                leave (Ctrl-C stops a run, twice leaves)"
    );
}

async fn switch(assembled: &Assembled, key: &str, name: &str) -> Result<String, Problem> {
    let personalities = assembled.agent.personalities();
    let new = NewSession { key: key.into(), platform: "cli".into(), ..NewSession::default() };
    let session = assembled.store.open(new).await?;
    if name.is_empty() {
        let now = session.personality.as_deref().unwrap_or(personalities.default_id());
        let all: Vec<_> = personalities.names().collect();
        return Ok(format!("now {now}; there are: {}", all.join(", ")));
    }
    assembled.agent.switch_personality(&session, name).await?;
    Ok(format!("now {name}"))
}
