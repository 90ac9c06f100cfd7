//! The commands of a conversation, such as `/model`.

use pintle_agent::{RunOutcome, RunRequest, Session, store::IdKind, unfenced};

use super::{
    ActiveAgent, Ended, Goes, RunView, conversation::Talk, editor::Words, personality, short,
};
use crate::{
    args::{Chat, Trace},
    assembly::Assembled,
    commands,
    environment::Environment,
    ids,
    out::{say, tell},
    problem::Problem,
    shown::{dim, lines, text},
    term::{ago, plural, width, wrap},
};

/// Each command, and what it does.
const COMMANDS: [(&str, &str); 13] = [
    ("/help", "these commands and keys"),
    ("/model", "the model, or another: /model NAME"),
    ("/output", "the whole output of a call: /output N"),
    ("/trace", "the last run, step by step"),
    ("/approvals", "questions that wait for an answer"),
    ("/cost", "tokens and cost since this program started"),
    ("/resume", "earlier conversations, or one of them: /resume ID"),
    ("/compact", "summarise the older messages: /compact WHAT TO KEEP"),
    ("/clear", "start over with a new conversation"),
    ("/hooks", "every hook that is bound"),
    ("/personality", "who the agent is, or another: /personality NAME"),
    ("/quit", "leave"),
    ("/exit", "leave"),
];

/// So many earlier conversations are listed.
const MOST_SESSIONS: usize = 10;

/// What to do after a command.
pub(super) enum Then {
    GoOn,
    Leave,
    /// The command started a run, which ended like this.
    End(Ended),
}

/// Whether the profile is reloaded first: for messages, commands of plugins, and commands that use the profile.
pub(super) fn goes_by_the_profile(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    let is_ours = COMMANDS.iter().any(|(name, _)| *name == word) || word == "/new";
    matches!(word, "/hooks" | "/personality" | "/compact") || !is_ours
}

/// What Tab completes.
pub(super) async fn words(assembled: &Assembled, talk: &Talk) -> Words {
    let personalities = assembled.agent.personalities().names().map(str::to_owned).collect();
    let sessions = sessions(assembled, &talk.key).await.unwrap_or_default();
    let sessions = sessions.iter().map(|it| short(&it.id).to_owned()).collect();
    let models = vec![assembled.model.clone(), "offline".to_owned()];
    let arguments =
        vec![("/personality", personalities), ("/resume", sessions), ("/model", models)];
    let own = COMMANDS.iter().map(|(name, does)| ((*name).to_owned(), (*does).to_owned()));
    let of_plugins = personality::commands(assembled, talk).await.unwrap_or_default();
    let of_plugins = of_plugins.into_iter().map(|(_, name, does)| (format!("/{name}"), does));
    Words { commands: own.chain(of_plugins).collect(), arguments }
}

pub(super) async fn run(
    environment: &Environment,
    chat: &mut Chat,
    view: &mut RunView,
    current: &mut ActiveAgent,
    talk: &mut Talk,
    line: &str,
) -> Result<Then, Problem> {
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match (command, rest) {
        ("/quit" | "/exit", _) => return Ok(Then::Leave),
        ("/help", _) => help(&personality::commands(&current.assembled, talk).await?),
        ("/clear" | "/new", _) => {
            talk.goes = Goes::New;
            talk.personality = chat.who.personality.clone();
            tell!("{}", dim("a new conversation begins with your next message"));
        }
        ("/hooks", _) => {
            current.say_what_is_in_force(environment);
            let Assembled { profile, agent, .. } = &current.assembled;
            commands::hooks::print_list(profile.as_ref(), &agent.hooks().list());
        }
        ("/personality", name) => {
            let said = personality::look_or_switch(&current.assembled, talk, name).await?;
            tell!("{}", dim(said));
        }
        ("/model", "") => tell!("{}", dim(text!("{}", current.assembled.model))),
        ("/model", name) => {
            let before = chat.who.model.replace(name.to_owned());
            if let Err(problem) = current.rebuild(environment, chat).await {
                chat.who.model = before;
                return Err(problem);
            }
            tell!("{}", dim(text!("the model is {} from now on", current.assembled.model)));
        }
        ("/output", number) => output(view, number)?,
        ("/trace", _) => {
            current.assembled.store.flush_records().await;
            commands::trace::run(
                environment,
                Trace { run: talk.last_run.clone(), ..Trace::default() },
            )
            .await?;
        }
        ("/approvals", _) => {
            commands::approvals::list_open(environment, current.assembled.store.as_ref()).await?;
        }
        ("/compact", instructions) => {
            let Some(session) = personality::session_of(&current.assembled, talk).await? else {
                return Err(Problem::new("there is no conversation to summarise yet"));
            };
            let request = RunRequest::compact(session.id, instructions);
            let ended = view.play(&current.assembled, request).await;
            talk.last_run = Some(view.run_id().to_owned());
            match ended {
                Ended::Done { text, outcome: RunOutcome::EndTurn } => {
                    tell!("{}", dim(lines(&text)));
                }
                Ended::Done { .. } => {}
                ended => return Ok(Then::End(ended)),
            }
        }
        ("/cost", _) => tell!("{}", dim(view.screen.sum.tokens())),
        ("/resume", "") => list(&current.assembled, talk).await?,
        ("/resume", id) => {
            let found = sessions(&current.assembled, &talk.key).await?;
            let fits =
                |it: &&Session| short(&it.id) == id || it.id.starts_with(id) || it.id.ends_with(id);
            let found = found.iter().find(fits).ok_or_else(|| {
                Problem::new(format!("no conversation `{id}` in this folder"))
                    .fix("/resume lists them")
            })?;
            let count = plural(found.message_count, "message");
            tell!("{}", dim(text!("{}, resumed · {}", short(&found.id), count)));
            talk.goes = Goes::OnWith(found.id.clone());
        }
        (command, rest) => {
            let name = command.trim_start_matches('/');
            let of_plugins = personality::commands(&current.assembled, talk).await?;
            if of_plugins.iter().any(|(_, it, _)| it == name)
                && let Some(answer) = current.assembled.plugins.run_command(name, rest).await
            {
                say!("{}", lines(answer.map_err(Problem::new)?.trim_end()));
                return Ok(Then::GoOn);
            }
            let of_plugins = of_plugins.iter().map(|(_, name, _)| format!("/{name}"));
            let known: Vec<String> =
                COMMANDS.iter().map(|(name, _)| (*name).to_owned()).chain(of_plugins).collect();
            let nearest = pintle::similar::nearest(command, known.iter().map(String::as_str));
            let problem = Problem::new(format!("no command `{command}`"));
            return Err(match nearest {
                Some(nearest) => problem.fix(format!("did you mean `{nearest}`?")),
                None => problem.fix("/help lists them"),
            });
        }
    }
    Ok(Then::GoOn)
}

fn output(view: &RunView, number: &str) -> Result<(), Problem> {
    let found = number.parse().ok().and_then(|number| view.screen.output(number));
    let (call, output) = found.ok_or_else(|| {
        Problem::new(format!("no output `{number}`"))
            .fix("a call whose output is cut says its number: `/output 1`")
    })?;
    say!("{}\n{}", wrap(call, width(), 2), lines(output.trim_end()));
    Ok(())
}

/// The conversations of this key that people talk to, newest first.
async fn sessions(assembled: &Assembled, key: &str) -> Result<Vec<Session>, Problem> {
    let mut sessions = assembled.store.sessions().await?;
    sessions.retain(|it| it.key == key && it.parent.is_none());
    sessions.truncate(MOST_SESSIONS);
    for session in &sessions {
        ids::learn(&*assembled.store, IdKind::Session, &session.id).await;
    }
    Ok(sessions)
}

async fn list(assembled: &Assembled, talk: &Talk) -> Result<(), Problem> {
    let sessions = sessions(assembled, &talk.key).await?;
    if sessions.is_empty() {
        tell!("{}", dim("there is no earlier conversation in this folder"));
    }
    for session in &sessions {
        let first = assembled.store.history(&session.id).await?.into_iter().next();
        let first = first.and_then(|it| match it.message {
            pintle_agent::Message::User { text, .. } => Some(unfenced(&text).into_owned()),
            _ => None,
        });
        let (count, when) =
            (plural(session.message_count, "message"), ago(session.updated_at, super::now_ms()));
        let about = first.unwrap_or_default();
        let about = about.lines().next().unwrap_or_default();
        tell!("  {}  {:<12} {:<13} {}", short(&session.id), when, count, about);
    }
    Ok(())
}

fn help(of_plugins: &[(String, String, String)]) {
    for (name, does) in COMMANDS.iter().filter(|(name, _)| *name != "/exit") {
        tell!("  {:<13} {}", name, does);
    }
    for (plugin, name, does) in of_plugins {
        tell!("  {:<13} {} {}", format!("/{name}"), does, dim(text!("(plugin {})", plugin)));
    }
    tell!(
        "  {}",
        dim(
            "Alt-Enter, Ctrl-J or a \\ at the end: a new line · Tab completes · Ctrl-C clears, stops, quits"
        )
    );
}
