//! `pintle skills`: runs that are worth learning from, for a person to review.

use std::process::ExitCode;

use pintle_agent::{Store, store::IdKind};
use pintle_consumers::{QueuedRun, SkillQueue};
use serde_json::json;

use crate::{
    args::{Skills, SkillsCommand},
    chat::now_ms,
    environment::Environment,
    ids,
    out::{say, say_json, say_line, say_pretty_json},
    problem::Problem,
    shown::{Show, bold, cyan, dim, paragraph, text},
    store,
    term::{Column, Table, ago, plural, width},
};

/// The indent of a run's texts.
const INDENT: usize = 9;

pub(crate) async fn run(environment: &Environment, skills: Skills) -> Result<ExitCode, Problem> {
    let queue = SkillQueue::in_folder(&environment.data_dir()?);
    let pending = queue.pending().map_err(unreadable)?;
    let store = store::open(environment).await?;
    match skills.command.unwrap_or(SkillsCommand::Pending) {
        SkillsCommand::Pending => list(environment, &*store, &pending).await?,
        SkillsCommand::Show { run } => {
            show(environment, &find(&*store, &pending, &run).await?).await?;
        }
        SkillsCommand::Drop { run } => {
            let run = find(&*store, &pending, &run).await?;
            queue.drop_run(&run.run_id).map_err(unreadable)?;
            match environment.json {
                true => say_json(&json!({ "dropped": run.run_id }))?,
                false => {
                    let id = ids::short(&*store, IdKind::Run, &run.run_id).await?;
                    say!("dropped {}", id);
                }
            }
        }
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

fn unreadable(error: std::io::Error) -> Problem {
    Problem::io("cannot use the skill queue, skills.json in the data folder", &error)
}

async fn list(
    environment: &Environment,
    store: &dyn Store,
    pending: &[QueuedRun],
) -> Result<(), Problem> {
    if environment.json {
        return say_pretty_json(&pending);
    }
    if pending.is_empty() {
        say!("There are no runs to look at.");
        return Ok(());
    }
    let mut table = Table::new([
        Column::new("RUN"),
        Column::new("PROMPT").loses_end(),
        Column::new("CALLS").right(),
        Column::new("PERSONALITY").below(),
        Column::new("QUEUED"),
    ]);
    for run in pending {
        table.row([
            cyan(ids::short(store, IdKind::Run, &run.run_id).await?),
            run.prompt.lines().next().unwrap_or_default().shown(),
            run.successful_tool_calls.to_string().shown(),
            dim(&run.personality),
            ago(run.queued_at, now_ms()).shown(),
        ]);
    }
    table.lines(width()).iter().for_each(say_line);
    Ok(())
}

async fn show(environment: &Environment, run: &QueuedRun) -> Result<(), Problem> {
    if environment.json {
        return say_pretty_json(run);
    }
    let did = plural(u64::from(run.successful_tool_calls), "tool call");
    let queued = text!("{} · {} · queued {}", run.personality, did, ago(run.queued_at, now_ms()));
    say!("{} {}", bold(ids::seen(&run.run_id)), dim(queued));
    say!("{}   {}", cyan("prompt"), paragraph(&run.prompt, INDENT));
    say!("{}    {}", cyan("tools"), run.tool_names.join(", "));
    say!("{}   {}", bold("answer"), paragraph(&run.text, INDENT));
    say!("{}", dim(text!("pintle trace {} shows the whole run", ids::seen(&run.run_id))));
    Ok(())
}

async fn find(store: &dyn Store, pending: &[QueuedRun], typed: &str) -> Result<QueuedRun, Problem> {
    let all = pending.iter().map(|run| run.run_id.clone());
    let id = ids::find(store, IdKind::Run, typed, all).await?;
    ids::learn(store, IdKind::Run, &id).await;
    pending.iter().find(|run| run.run_id == id).cloned().ok_or_else(|| {
        Problem::not_found(format!("the run `{typed}` is not in the skill queue"))
            .fix("pintle skills lists what waits")
    })
}
