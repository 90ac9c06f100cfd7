//! The repository's chores. `cargo xtask --help` lists them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod bench;
mod dist;
mod install;
mod soak;
mod step;
mod test;

use std::process::ExitCode;

use step::{Failed, Step, Steps};

const HELP: &str = "\
The repository's chores

Usage: cargo xtask <COMMAND>

Commands:
  test    Installs what the tests need, then checks everything: format, lints, tests, docs, examples
  bench   Measures the engine beside other hook systems and writes docs/benchmarks.md
  soak    Sends 20,000 messages to a gateway that is killed in the middle, and counts
  dist    Packs the program for others: binary, completions, man pages, licences, checksums
  update  Rewrites the generated files (schemas, the page of points, the list of the public API)
  pictures  Redraws the pictures of the README and the docs from the program's output and serves
  fuzz    Feeds the output parser of command hooks anything at all (needs a nightly compiler)

Examples:
  cargo xtask test
  cargo xtask bench --rounds 9
  cargo xtask test --help
";

const UPDATE_HELP: &str = "\
Rewrites the generated files: schemas, the page of points, the names on the wire, the public API of the engine

Usage: cargo xtask update

Example:
  cargo xtask update && git diff
";

const FUZZ_HELP: &str = "\
Feeds the output parser of command hooks anything at all, guided by coverage

Usage: cargo xtask fuzz [--seconds N]

The tests run the same target for a short time; this runs it for 60 seconds, or as long as you like.

Example:
  cargo xtask fuzz --seconds 600
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed(why)) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), Failed> {
    match arguments {
        [] | ["help" | "--help" | "-h"] => help(HELP),
        ["test", "--help" | "-h"] => help(test::HELP),
        ["bench", "--help" | "-h"] => help(bench::HELP),
        ["update", "--help" | "-h"] => help(UPDATE_HELP),
        ["test"] => test::run(),
        ["bench", options @ ..] => bench::run(&bench::Options::parse(options)?),
        ["soak", "--help" | "-h"] => help(soak::HELP),
        ["soak", options @ ..] => soak::run(options),
        ["dist"] => dist::run(None),
        ["dist", "--help" | "-h"] => help(dist::HELP),
        ["dist", "--program", program] => dist::run(Some(program)),
        ["update"] => update(),
        ["pictures"] => pictures(),
        ["fuzz"] => fuzz("60"),
        ["fuzz", "--help" | "-h"] => help(FUZZ_HELP),
        ["fuzz", "--seconds", seconds] => fuzz(seconds),
        [command @ ("test" | "update" | "dist"), option, ..] => Err(Failed(format!(
            "`{command}` takes no `{option}`; see `cargo xtask {command} --help`"
        ))),
        [unknown, ..] => {
            Err(Failed(format!("there is no command `{unknown}`; see `cargo xtask --help`")))
        }
    }
}

fn help(text: &str) -> Result<(), Failed> {
    print!("{text}");
    Ok(())
}

fn update() -> Result<(), Failed> {
    let mut steps = Steps::default();
    for (room, tests) in [
        ("pintle", "test(schemas::) | test(points_page::)"),
        // Of this room alone: with others in the build the keys come in another order.
        ("pintle-profile", "test(the_schema)"),
        ("xtask", "test(the_names_on_the_wire) | test(the_public_api) | test(the_chart_shows)"),
    ] {
        let test = Step::cargo(&["nextest", "run", "-p", room, "-E", tests]);
        steps.run(test.env("PINTLE_UPDATE", "1"))?;
    }
    steps.close();
    Ok(())
}

/// The tests that look at the program's output and at its web page draw them too.
fn pictures() -> Result<(), Failed> {
    let mut steps = Steps::default();
    install::browser(&mut steps)?;
    let mut test = vec!["nextest", "run", "-p", "pintle-cli", "--test", "program"];
    test.extend(["pictures::", "page::every_page_is_readable"]);
    steps.run(Step::cargo(&test).env("PINTLE_UPDATE", "1"))?;
    steps.close();
    Ok(())
}

fn fuzz(seconds: &str) -> Result<(), Failed> {
    let mut steps = Steps::default();
    if !Step::cargo(&["fuzz", "--version"]).works() {
        steps.run(Step::cargo(&["install", "cargo-fuzz", "--locked"]))?;
    }
    let limit = format!("-max_total_time={seconds}");
    let folder = step::root().join("crates/pintle-exec");
    steps.run(Step::cargo(&["+nightly", "fuzz", "run", "answer", "--", &limit]).inside(folder))?;
    steps.close();
    Ok(())
}
