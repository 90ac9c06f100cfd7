//! `cargo xtask bench`: the engine beside other hook systems, measured in one run.
//!
//! A benchmark program prints JSON lines. `{"sample": NAME, "ns": TIME}` is one measurement of one round: the
//! table in [`rows`] says which samples are compared. `{"row": WORK, "value": …, "unit": …, "against": …,
//! "ratio": …, "hold": "≤ 1.05"}` is a row of the table as it stands. Any `crates/*/examples/bench_*.rs` takes part.

mod chart;
mod report;
mod rows;
mod samples;

use std::fs;

use crate::{
    install, soak,
    step::{Failed, Step, Steps, root},
};
use rows::Row;
use samples::Samples;

pub(crate) const HELP: &str = "\
Measures the engine beside other hook systems, prints a table and writes docs/benchmarks.md and .svg

Usage: cargo xtask bench [--rounds N] [--no-peers] [--engine-only]

Options:
  --rounds N   How often everything is measured, in turns (default 7); medians count
  --no-peers   Leaves out tapable, hookable and pluggy, and writes no files
  --engine-only
               Leaves out the benchmark programs of other crates (crates/*/examples/bench_*.rs)

Examples:
  cargo xtask bench
  cargo xtask bench --rounds 3 --no-peers
";

const PEERS: &str = "bench/peers";

pub(crate) struct Options {
    rounds: usize,
    peers: bool,
    others: bool,
}

impl Options {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self, Failed> {
        let mut options = Self { rounds: 7, peers: true, others: true };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match *argument {
                "--no-peers" => options.peers = false,
                "--engine-only" => options.others = false,
                "--rounds" => {
                    let rounds = rest.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                    options.rounds = rounds
                        .ok_or_else(|| Failed("`--rounds` takes a number from 1".to_string()))?;
                }
                unknown => {
                    return Err(Failed(format!(
                        "`bench` takes no `{unknown}`; see `cargo xtask bench --help`"
                    )));
                }
            }
        }
        Ok(options)
    }
}

pub(crate) fn run(options: &Options) -> Result<(), Failed> {
    let mut steps = Steps::default();
    if options.peers {
        install::peers(PEERS, &mut steps)?;
    }
    if options.others {
        install::bubblewrap(&mut steps)?;
        install::browser(&mut steps)?;
    }
    steps.run(Step::cargo(&["build", "--profile", "benchmark", "-p", "pintle-bench"]))?;

    let mut samples = Samples::default();
    let mut own_rows = Vec::new();
    for round in 1..=options.rounds {
        println!("round {round} of {}", options.rounds);
        for program in programs(options.peers) {
            samples.read(&program.read()?, &mut own_rows)?;
        }
    }
    samples.read(&engine("allocations").read()?, &mut own_rows)?;
    let others = if options.others { other_programs()? } else { Vec::new() };
    for program in others {
        println!("running {program}");
        samples.read(&program.read()?, &mut own_rows)?;
    }

    let mut rows = rows::compared(&samples);
    rows.extend(own_rows);
    println!("\n{}", report::table(&rows));
    if options.peers {
        write(options.rounds, &samples, &rows)?;
    }
    Ok(())
}

fn engine(program: &str) -> Step {
    Step::cargo(&[
        "run",
        "--quiet",
        "--profile",
        "benchmark",
        "-p",
        "pintle-bench",
        "--bin",
        program,
    ])
}

/// What one round runs, in turns.
fn programs(peers: bool) -> Vec<Step> {
    let mut programs = vec![engine("engine")];
    if peers {
        let folder = root().join(PEERS);
        let python = folder.join(".venv/bin/python").display().to_string();
        programs.push(Step::new("node", &["tapable.mjs"]).inside(folder.clone()));
        programs.push(Step::new("node", &["hookable.mjs"]).inside(folder.clone()));
        programs.push(Step::new(python, &["pluggy_round.py"]).inside(folder));
    }
    programs
}

/// Benchmark programs of other crates, which do their own rounds: `crates/*/examples/bench_*.rs`.
fn other_programs() -> Result<Vec<Step>, Failed> {
    let mut programs = Vec::new();
    for krate in entries("crates")? {
        for example in entries(&format!("crates/{krate}/examples"))? {
            if let Some(name) =
                example.strip_suffix(".rs").filter(|name| name.starts_with("bench_"))
            {
                let arguments =
                    ["run", "--quiet", "--profile", "benchmark", "-p", &krate, "--example", name];
                programs.push(Step::cargo(&arguments));
            }
        }
    }
    Ok(programs)
}

/// The names in a folder, sorted; none when there is no such folder.
pub(crate) fn entries(folder: &str) -> Result<Vec<String>, Failed> {
    let path = root().join(folder);
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    let read = fs::read_dir(path).map_err(|error| Failed::because(folder, error))?;
    let mut names: Vec<_> =
        read.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

fn write(rounds: usize, samples: &Samples, rows: &[Row]) -> Result<(), Failed> {
    let docs = root().join("docs");
    let save = |name: &str, text: String| {
        let path = docs.join(name);
        fs::create_dir_all(&docs)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| Failed::because(path.display(), error))
    };
    let before = fs::read_to_string(docs.join("benchmarks.md")).unwrap_or_default();
    let page = report::page(rounds, samples, rows, soak::kept(&before));
    save("benchmarks.svg", chart::draw(&page))?;
    save("benchmarks.md", page)?;
    println!("Written: docs/benchmarks.md, docs/benchmarks.svg");
    Ok(())
}
