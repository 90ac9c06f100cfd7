//! The program: wires the rooms together. Only this crate prints, reads the environment and exits.

mod args;
mod assembly;
mod bindings;
mod chat;
mod commands;
mod environment;
mod origin;
mod own_profile;
mod problem;
mod profile;
mod recorder;

use std::{process::ExitCode, time::Duration};

use clap::Parser;

use args::{Cli, Command};
use environment::Environment;
use problem::Problem;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let environment = Environment::read(&cli);
    match tokio::runtime::Runtime::new() {
        Err(error) => {
            report(&environment, &Problem::new(format!("the runtime did not start: {error}")))
        }
        Ok(runtime) => {
            let done = runtime.block_on(run(cli, &environment));
            // Dropping what still runs is what ends its processes, so that is waited for, but no file that hangs.
            runtime.shutdown_timeout(Duration::from_secs(1));
            match done {
                Ok(code) => code,
                Err(problem) => report(&environment, &problem),
            }
        }
    }
}

async fn run(cli: Cli, environment: &Environment) -> Result<ExitCode, Problem> {
    match cli.command {
        Command::Demo(demo) => commands::demo::run(environment, demo).await,
        Command::Init(init) => commands::init::run(environment, &init),
        Command::Chat(chat) => chat::run(environment, chat).await,
        Command::Doctor(doctor) => commands::doctor::run(environment, doctor).await,
        Command::Sessions(sessions) => commands::sessions::run(environment, sessions).await,
        Command::Hooks(hooks) => commands::hooks::run(environment, hooks).await,
        Command::Trace(trace) => commands::trace::run(environment, trace).await,
        Command::Trust(trust) => commands::trust::run(environment, &trust),
        Command::Approvals(approvals) => commands::approvals::run(environment, approvals).await,
    }
}

fn report(environment: &Environment, problem: &Problem) -> ExitCode {
    if environment.json {
        anstream::println!("{}", problem.to_json());
    } else {
        anstream::eprintln!("{problem}");
    }
    ExitCode::FAILURE
}
