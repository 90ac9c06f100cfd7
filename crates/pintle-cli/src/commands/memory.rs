//! `pintle memory`: the notes of agents.

use std::process::ExitCode;

use pintle_agent::store::Note;
use serde_json::json;

use crate::{
    args::{Memory, MemoryCommand},
    chat::now_ms,
    environment::Environment,
    out::{say, say_json, say_line, say_pretty_json, tell},
    problem::Problem,
    shown::{Show, cyan, dim, text, yellow},
    store,
    term::{Column, Table, ago, width},
};

/// The most notes that are listed.
const MOST: u32 = 10_000;

pub(crate) async fn run(environment: &Environment, memory: Memory) -> Result<ExitCode, Problem> {
    let store = store::open(environment).await?;
    match memory.command.unwrap_or(MemoryCommand::List) {
        MemoryCommand::List => list(environment, &store.notes(None, MOST).await?)?,
        MemoryCommand::Search { query } => {
            list(environment, &store.search_notes(None, &query, MOST).await?)?;
        }
        MemoryCommand::Delete { id } => {
            if !store.delete_note(id).await? {
                let problem = Problem::not_found(format!("there is no note {id}"));
                return Err(problem.fix("pintle memory lists them"));
            }
            match environment.json {
                true => say_json(&json!({ "deleted": id }))?,
                false => say!("deleted note {}", id),
            }
        }
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

fn list(environment: &Environment, notes: &[Note]) -> Result<(), Problem> {
    if environment.json {
        return say_pretty_json(&notes);
    }
    if notes.is_empty() {
        say!("No notes.");
        return Ok(());
    }
    let mut table = Table::new([
        Column::new("ID").right(),
        Column::new("NOTE"),
        Column::new("BY").below(),
        Column::new("FOLDER").loses_middle().below(),
        Column::new("WHEN").below(),
    ]);
    for note in notes {
        let said = note.text.replace('\n', " ");
        let said = match note.untrusted {
            true => text!("{} {}", yellow("untrusted"), said),
            false => said.shown(),
        };
        table.row([
            cyan(note.id.to_string()),
            said,
            note.scope.personality.shown(),
            dim(&note.scope.workspace),
            ago(note.at, now_ms()).shown(),
        ]);
    }
    table.lines(width()).iter().for_each(say_line);
    if environment.stdout_is_terminal {
        tell!("{}", dim("pintle memory delete ID"));
    }
    Ok(())
}
