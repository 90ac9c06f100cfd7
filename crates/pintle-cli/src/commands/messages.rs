//! `pintle messages`: messages that the gateway put aside.

use std::process::ExitCode;

use pintle::points::ToolOutcome;
use pintle_agent::store::{CallFilter, MessageState, OutgoingFilter, OutgoingState, QueuedMessage};
use serde_json::json;

use crate::{
    args::{Messages, MessagesCommand},
    environment::Environment,
    out::{say, say_pretty_json},
    problem::Problem,
    shown::{bold, cyan, dim, text},
    store,
};

pub(crate) async fn run(
    environment: &Environment,
    messages: Messages,
) -> Result<ExitCode, Problem> {
    let (store, queues) = store::open_with_queues(environment).await?;
    match messages.command.unwrap_or(MessagesCommand::Dead) {
        MessagesCommand::Dead => {
            let dead = queues.messages(MessageState::Dead).await?;
            if environment.json {
                say_pretty_json(&dead)?;
            } else if dead.is_empty() {
                say!("No messages were put aside.");
            }
            for message in dead.iter().filter(|_| !environment.json) {
                show(message);
            }
        }
        MessagesCommand::Retry { id } => {
            let dead = queues.messages(MessageState::Dead).await?;
            let fits = |it: &&QueuedMessage| it.run_id.starts_with(&id) || it.run_id.ends_with(&id);
            let found: Vec<_> = dead.iter().filter(fits).collect();
            let [message] = found.as_slice() else {
                let what = match found.is_empty() {
                    true => format!("no message that was put aside has the id `{id}`"),
                    false => format!("several messages have an id like `{id}`"),
                };
                return Err(Problem::new(what).fix("`pintle messages dead` lists them"));
            };
            queues.retry_dead(&message.run_id).await?;
            match environment.json {
                true => say_pretty_json(&json!({ "retried": message.run_id }))?,
                false => say!("{} is tried again by `pintle serve`", message.run_id),
            }
        }
        MessagesCommand::Unknown => {
            let state = Some(OutgoingState::Unknown);
            let unknown = queues.outgoing(OutgoingFilter { state, ..Default::default() }).await?;
            let outcome = Some(ToolOutcome::Unknown);
            let calls = store.calls(CallFilter { outcome, ..Default::default() }).await?;
            if environment.json {
                let view = |it: &pintle_agent::store::OutgoingMessage| {
                    json!({ "id": it.id, "runId": it.new.run_id, "platform": it.new.platform,
                            "chatId": it.new.chat_id, "text": it.new.text, "reason": it.reason })
                };
                let messages: Vec<_> = unknown.iter().map(view).collect();
                say_pretty_json(&json!({ "messages": messages, "calls": calls }))?;
            } else if unknown.is_empty() && calls.is_empty() {
                say!("nothing: every message and every tool call has a known outcome");
            }
            for sent in unknown.iter().filter(|_| !environment.json) {
                let to = text!("{}:{}", sent.new.platform, sent.new.chat_id);
                say!("{}  {}", cyan(to), sent.new.text);
            }
            for call in calls.iter().filter(|_| !environment.json) {
                let what = text!("tool {} of run {}", call.tool, call.run_id);
                say!("{}  {}", cyan(what), dim("the program ended while it ran"));
            }
        }
        MessagesCommand::Pair => {
            let code = pintle_gateway::new_pairing_code(&*queues).await?;
            let minutes = pintle_gateway::PAIRING_LIFETIME.as_secs() / 60;
            match environment.json {
                true => say_pretty_json(&json!({ "code": code, "minutes": minutes }))?,
                false => {
                    say!("{}  (once, within {} minutes: `/pair {}`)", bold(&code), minutes, code)
                }
            }
        }
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

fn show(message: &QueuedMessage) {
    let tries = text!("{} tries", message.attempts);
    say!("{}  {}  {}", cyan(&message.run_id), message.lane, dim(tries));
    say!("  {}", message.message.text);
    if let Some(error) = &message.error {
        say!("  {}", dim(error));
    }
}
