//! `pintle chat`: a conversation, or one question.

mod answer;
mod approver;
mod events;
mod interrupts;
mod lines;
mod personality;
mod play;
mod prompt;
mod reload;
mod screen;

use std::{process::ExitCode, sync::Arc};

use pintle_agent::{Ask, RunOutcome, args_hash};
use pintle_store::{Approval, ApprovalFilter, ApprovalState};

pub(crate) use approver::{
    Asked, Ears, Questions, StoredApprover, TerminalAnswer, now_ms, settled_already, terminal,
};
pub(crate) use events::print as print_events;
pub(crate) use interrupts::{Interrupts, LEAVES_WITHIN, Wish};
pub(crate) use lines::{Line, Lines};
pub(crate) use play::{Ended, Player};
use reload::{Current, Recipe};
pub(crate) use screen::{Screen, tell_of_the_end};

use crate::{
    args::Chat,
    assembly::Assembled,
    environment::Environment,
    origin,
    out::{self, tell},
    problem::Problem,
    shown::{bold, dim, lines, text},
};

pub(crate) async fn run(environment: &Environment, chat: Chat) -> Result<ExitCode, Problem> {
    match &chat.question {
        Some(question) if question.trim().is_empty() => {
            Err(Problem::new("the question is empty").hint("`pintle chat -q 'list .'`"))
        }
        _ if environment.json => events::run(environment, &chat).await,
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

fn ask(key: &str, personality: Option<&str>, text: String, begin: bool) -> Ask {
    let ask = if begin { Ask::in_new_session(key, text) } else { Ask::new(key, text) };
    match personality {
        Some(personality) => ask.as_personality(personality),
        None => ask,
    }
}

/// Only the answer goes to standard output; what happened on the way goes to standard error, for a person.
async fn answer(
    environment: &Environment,
    chat: &Chat,
    question: String,
) -> Result<ExitCode, Problem> {
    let (mut player, recipe) = open(environment, chat, Screen::quiet(environment))?;
    let key = key(environment, chat)?;
    let assembled = match player.interrupts.unless_told(recipe.assemble(environment, chat)).await {
        Ok(assembled) => assembled?,
        Err(code) => return Ok(code.into()),
    };
    let run = assembled.agent.run(ask(&key, chat.who.personality.as_deref(), question, chat.new));
    // Said before the last handlers are waited for: they delay nothing that a person sees.
    let (code, told) = match player.play(run).await {
        Ended::Quit(code) => return Ok(code.into()),
        Ended::Leave(code) => (ExitCode::FAILURE, Some(code)),
        Ended::Done { text, outcome: RunOutcome::EndTurn } => {
            out::say_line(&lines(&text));
            (ExitCode::SUCCESS, None)
        }
        Ended::Done { text, outcome } => {
            tell!("{}", Problem::new(format!("{text} ({})", outcome.as_str())));
            (ExitCode::FAILURE, None)
        }
    };
    let told = player.interrupts.last(told, assembled.close()).await;
    Ok(told.map_or(code, ExitCode::from))
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
        // Lines of a pipe are messages, never answers: a script cannot see what it would say yes to.
        terminal: environment.stdin_is_terminal.then_some(sender),
        elsewhere: environment.stdin_is_terminal || chat.wait_for_approval,
        waiting: screen.waiting(),
        program: Arc::default(),
    };
    Ok((Player::new(screen, lines, questions), recipe))
}

async fn converse(environment: &Environment, chat: Chat) -> Result<ExitCode, Problem> {
    let (mut player, recipe) = open(environment, &chat, Screen::full(environment))?;
    let assembling = Current::new(environment, &chat, recipe);
    let mut current = match player.interrupts.unless_told(assembling).await {
        Ok(current) => current?,
        Err(code) => return Ok(code.into()),
    };
    let told = match talk(environment, &chat, &mut player, &mut current).await? {
        Ended::Quit(code) => return Ok(code.into()),
        Ended::Leave(code) => Some(code),
        Ended::Done { .. } => None,
    };
    let told = player.interrupts.last(told, current.close()).await;
    Ok(told.map_or(ExitCode::SUCCESS, ExitCode::from))
}

const AGAIN: &str = "press Ctrl-C again to leave";

/// What the next message goes on with.
struct Next {
    /// A new conversation.
    begins: bool,
    /// Who is to answer it; the conversation's own personality unless somebody said.
    personality: Option<String>,
}

async fn talk(
    environment: &Environment,
    chat: &Chat,
    player: &mut Player,
    current: &mut Current,
) -> Result<Ended, Problem> {
    let key = key(environment, chat)?;
    let mut next = Next { begins: chat.new, personality: chat.who.personality.clone() };
    let mut warned = false;
    if environment.stdin_is_terminal {
        let Assembled { model, profile, held, .. } = &current.assembled;
        let profile = chat.who.found.in_short(profile.as_ref());
        let sandbox = held.sandbox.tier().name();
        let rest = text!(
            "· model {} · {} · sandbox {} · {} · /help for commands",
            model,
            profile,
            sandbox,
            key
        );
        tell!("{} {}", bold("pintle"), dim(rest));
    }
    if let Some(approval) = unfinished(environment, &current.assembled, chat, &key).await? {
        tell!("{}", dim("a question from before is still open"));
        match go_on(environment, chat, player, current, &approval).await {
            Ok(Ended::Done { .. }) => {}
            Ok(ended) => return Ok(ended),
            Err(problem) => {
                let open = "nothing ran; `pintle approvals` still answers it, and your next message here calls it off";
                tell!("{}\n{}", problem, dim(open));
            }
        }
    }
    let mut ended = Ended::Done { text: String::new(), outcome: RunOutcome::EndTurn };
    while let Ended::Done { .. } = ended {
        let line = match player.next_line("› ").await {
            Line::End => break,
            Line::Signalled(wish) => return Ok(Ended::Leave(wish.code())),
            Line::Interrupted if warned => return Ok(Ended::Leave(Wish::Stop.code())),
            Line::Interrupted => {
                tell!("{}", dim(AGAIN));
                warned = true;
                continue;
            }
            Line::Text(line) => line,
        };
        warned = false;
        let text = line.trim();
        let said = text.split_once(' ').map_or((text, ""), |(word, rest)| (word, rest.trim()));
        if goes_by_the_profile(said.0) {
            let refreshed = async {
                match said.0.starts_with('/') {
                    true => current.refresh(environment, chat).await.map(drop),
                    false => current.refresh_for_a_run(environment, chat).await,
                }
            };
            match player.interrupts.unless_told(refreshed).await {
                Err(code) => return Ok(Ended::Quit(code)),
                Ok(Err(problem)) => {
                    tell!("{}", problem);
                    continue;
                }
                Ok(Ok(())) => {}
            }
        }
        match said {
            ("", _) => {}
            ("/quit" | "/exit", _) => break,
            ("/help", _) => help(),
            ("/new", _) => {
                next = Next { begins: true, personality: chat.who.personality.clone() };
                tell!("{}", dim("a new conversation begins with your next message"));
            }
            ("/hooks", _) => {
                current.say_what_is_in_force();
                let Assembled { profile, agent, .. } = &current.assembled;
                crate::commands::hooks::print_list(profile.as_ref(), &agent.hooks().list());
            }
            ("/personality", name) => {
                match personality::look_or_switch(&current.assembled, &key, &mut next, name).await {
                    Ok(said) => tell!("{}", dim(said)),
                    Err(problem) => tell!("{}", problem),
                }
            }
            (command, _) if command.starts_with('/') => {
                let problem = Problem::new(format!("there is no command `{command}`"));
                tell!("{}", problem.hint("/help lists them"));
            }
            _ => {
                let personality = next.personality.as_deref();
                let ask = ask(&key, personality, text.to_string(), next.begins);
                next.begins = false;
                ended = player.play(current.assembled.agent.run(ask)).await;
                // What stopped the run was the first time.
                warned = matches!(ended, Ended::Done { outcome: RunOutcome::Aborted, .. });
                if warned {
                    tell!("{}", dim(AGAIN));
                }
            }
        }
    }
    Ok(ended)
}

/// A message, and what is told or chosen of the profile: all of it of the profile as it is now.
fn goes_by_the_profile(word: &str) -> bool {
    matches!(word, "/hooks" | "/personality") || !(word.is_empty() || word.starts_with('/'))
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
    let assembling = origin::assemble(environment, origin, model, store, extras);
    let assembled = match player.interrupts.unless_told(assembling).await {
        Ok(assembled) => assembled?,
        Err(code) => return Ok(Ended::Quit(code)),
    };
    let run = assembled.agent.run(origin::ask(&assembled, approval, origin).await?);
    let ended = player.play(run).await;
    let told = match ended {
        Ended::Quit(_) => return Ok(ended),
        Ended::Leave(code) => Some(code),
        Ended::Done { .. } => None,
    };
    Ok(match player.interrupts.last(told, assembled.close()).await {
        // Ctrl-C ends the waiting, not the conversation.
        Some(code) if code != Wish::Stop.code() => Ended::Leave(code),
        _ => ended,
    })
}

/// The open question of a run of this conversation that died, if nobody else goes on with it.
async fn unfinished(
    environment: &Environment,
    assembled: &Assembled,
    chat: &Chat,
    key: &str,
) -> Result<Option<Approval>, Problem> {
    if chat.new || !environment.stdin_is_terminal {
        return Ok(None);
    }
    let Some(session) = personality::newest(assembled, key).await? else { return Ok(None) };
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
    tell!(
        "/personality [NAME]  who the agent is, or make it another\n\
         /new                 begin a new conversation\n\
         /hooks               every hook that is bound\n\
         /quit                leave (Ctrl-C stops a run, twice leaves)"
    );
}
