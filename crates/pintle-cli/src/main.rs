//! The program: wires the rooms together. Only this crate prints, reads the environment and exits.

mod agents;
mod args;
mod assembly;
mod bindings;
mod chat;
mod commands;
mod containment;
mod environment;
mod in_force;
mod origin;
mod out;
mod problem;
mod profile;
mod protection;
mod recorder;
mod rules_file;
mod shown;
mod startable;

use std::{io::ErrorKind, process::ExitCode, time::Duration};

use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use args::{Cli, Command};
use environment::Environment;
use problem::Problem;

fn main() -> ExitCode {
    // First of all: in a confined process this does not return.
    let launcher = pintle_sandbox::init();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let environment = Environment::read(&cli, launcher);
    let done = match tokio::runtime::Runtime::new() {
        Err(error) => Err(Problem::new(format!("the runtime did not start: {error}"))),
        Ok(runtime) => {
            let done = runtime.block_on(run_unless_told(cli, &environment));
            // Dropping what still runs is what ends its processes, so that is waited for, but no file that hangs.
            runtime.shutdown_timeout(Duration::from_secs(1));
            done
        }
    };
    match (done, out::failure()) {
        (Err(problem), _) => report(&environment, &problem),
        (Ok(code), None) => code,
        // Whoever reads has had enough: that needs no words.
        (Ok(_), Some(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::FAILURE,
        (Ok(_), Some(error)) => {
            out::tell!("{}", Problem::new(format!("standard output cannot be written: {error}")));
            ExitCode::FAILURE
        }
    }
}

/// Help and versions go to standard output; wrong usage goes to standard error.
fn usage(error: &clap::Error) -> ExitCode {
    let drawn = error.render().ansi().to_string();
    let text = shown::drawn(drawn.trim_end_matches('\n'));
    if error.use_stderr() {
        out::tell_line(&text);
    } else {
        out::say_line(&text);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Whoever starts programs of a profile has to end them before it leaves: no signal may end this one on the spot.
async fn run_unless_told(cli: Cli, environment: &Environment) -> Result<ExitCode, Problem> {
    // Whoever starts this program may ignore SIGCHLD, which it inherits: then nobody could say how a process ended.
    let _listening = signal(SignalKind::child());
    match &cli.command {
        Command::Doctor(_) => {
            let mut interrupts = chat::Interrupts::listen();
            interrupts
                .unless_told(run(cli, environment))
                .await
                .unwrap_or_else(|code| Ok(code.into()))
        }
        // These see to it themselves, or start nothing.
        _ => run(cli, environment).await,
    }
}

async fn run(mut cli: Cli, environment: &Environment) -> Result<ExitCode, Problem> {
    if let Some(who) = cli.command.who() {
        in_force::settle(environment, who)?;
    }
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
        out::say!("{}", problem.to_json());
    } else {
        out::tell!("{}", problem);
    }
    ExitCode::FAILURE
}
