//! Runs the evasion table through the shell grammars that could have been Pintle's, and prints what each made of it:
//! `cargo run` in this folder. The outcome is kept in `docs/shell-grammar.md`.
//!
//! Every row goes to a process of its own: a grammar that overflows its stack loses a row, not the run.

mod brush;
mod child;
mod names;
mod table;
mod tree_sitter_bash;
mod yash;

use std::process::ExitCode;

use child::Said;
use table::{Judgement, Row};

/// A grammar: the name of every simple command its tree holds, or why there is no tree.
type Grammar = fn(&str) -> Result<Vec<String>, String>;

const GRAMMARS: [(&str, Grammar); 4] = [
    ("tree-sitter-bash", tree_sitter_bash::commands),
    ("brush-parser", brush::commands),
    ("yash-syntax", yash::commands),
    // What the product makes of tree-sitter's tree: it refuses where it is in doubt.
    ("pintle", names::of_pintle),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = arguments.as_slice()
        && flag == "--child"
    {
        return child::serve(GRAMMARS.iter().find(|(known, _)| known == name).map(|(_, g)| *g));
    }
    let verbose = arguments.iter().any(|argument| argument == "--rows");
    println!("| rows | {} |", GRAMMARS.map(|(name, _)| name).join(" | "));
    println!("|---|{}", "---|".repeat(GRAMMARS.len()));
    let mut all = Vec::new();
    for (group, rows) in table::read() {
        println!("{}", line(&group, &judge(&rows, verbose)));
        all.extend(rows);
    }
    println!("{}", line("**the table**", &judge(&all, false)));
    println!("{}", line("**nested 10, 1,000 and 10,000 deep**", &judge(&table::nested(), verbose)));
    println!("\nunderstood / refused / missed / made up / crashed");
    ExitCode::SUCCESS
}

/// How many rows of each judgement, for each grammar.
fn judge(rows: &[Row], verbose: bool) -> Vec<[usize; 5]> {
    GRAMMARS
        .iter()
        .map(|(name, _)| {
            let mut counts = [0; 5];
            for row in rows {
                let said = child::ask(name, &row.command);
                let judgement = match row.judge(&said) {
                    // Pintle also lists what `sh -c`, `env` or `find -exec` would run: no grammar's work.
                    Judgement::MadeUp if *name == "pintle" && row.written.is_some() => {
                        Judgement::Understood
                    }
                    // No guard lets pass what it lists as decided at run time.
                    Judgement::Missed if *name == "pintle" && said.is_open() => Judgement::Refused,
                    judgement => judgement,
                };
                if verbose && judgement != Judgement::Understood {
                    let told = format!("{:?} {said:?}, not {:?}", row.command, row.written);
                    eprintln!(
                        "{name}: {judgement:?} {}",
                        told.chars().take(200).collect::<String>()
                    );
                }
                counts[judgement as usize] += 1;
            }
            counts
        })
        .collect()
}

fn line(group: &str, counts: &[[usize; 5]]) -> String {
    let cell = |counts: &[usize; 5]| counts.map(|count| count.to_string()).join(" / ");
    let cells: Vec<String> = counts.iter().map(cell).collect();
    format!("| {group} | {} |", cells.join(" | "))
}

impl std::fmt::Debug for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Found(names) => write!(f, "found {names:?}"),
            Self::Refused => f.write_str("refused"),
            Self::Crashed => f.write_str("crashed"),
        }
    }
}
