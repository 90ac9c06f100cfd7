//! The program: wires the rooms together. Only this crate prints, reads the environment and exits.

mod agents;
mod args;
mod assembly;
mod chat;
mod commands;
mod containment;
mod environment;
mod exporter;
mod ids;
mod in_force;
mod origin;
mod out;
mod plugins;
mod problem;
mod profile;
mod protection;
mod rules_file;
mod secrets;
mod startable;
mod store;
mod term;
mod undelivered;

use std::{io, ops::ControlFlow, process::ExitCode, time::Duration};

use clap::{
    CommandFactory, FromArgMatches,
    error::{ContextKind, ErrorKind},
};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};

use args::{Cli, Command, Who};
use environment::Environment;
use problem::{Problem, WRONG_USAGE};
use term::shown;

fn main() -> ExitCode {
    // First of all: in a confined process this does not return.
    let launcher = pintle_sandbox::init();
    // Scripts often ask for the version, and building the parser of all commands takes longer than the answer.
    if std::env::args_os().skip(1).eq(["--version"]) {
        out::say!("pintle {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    environment::set_up_width();
    let mut command = Cli::command();
    let help = commands::overview::help(&command);
    command = command.override_help(help);
    let cli = match command.try_get_matches().and_then(|said| Cli::from_arg_matches(&said)) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let environment = Environment::read(&cli, launcher);
    environment.set_up_terminal(&cli);
    let done = match runtime(cli.command.as_ref()) {
        Err(error) => Err(Problem::io("the runtime did not start", &error)),
        Ok(runtime) => {
            let done = runtime.block_on(run_unless_interrupted(cli, &environment));
            // Dropping the runtime's tasks ends their processes, so this waits for them, but not for a file that hangs.
            runtime.shutdown_timeout(Duration::from_secs(1));
            done
        }
    };
    match (done, out::failure()) {
        (Err(problem), _) => report(&environment, &problem),
        (Ok(code), None) => code,
        // The reader closed the pipe, which is not an error.
        (Ok(_), Some(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        (Ok(_), Some(error)) => {
            out::tell!("{}", Problem::io("cannot write to standard output", &error));
            ExitCode::FAILURE
        }
    }
}

/// To explain a call takes a few milliseconds, in which further threads would only be started and stopped.
fn runtime(command: Option<&Command>) -> io::Result<Runtime> {
    match command {
        Some(Command::Explain(_)) => Builder::new_current_thread().enable_all().build(),
        _ => Runtime::new(),
    }
}

/// Help and versions go to standard output; wrong usage goes to standard error.
fn usage(error: &clap::Error) -> ExitCode {
    let drawn = error.render().ansi().to_string();
    let text = shown::drawn(drawn.trim_end_matches('\n'));
    match wrong_usage(error) {
        Some(problem) if std::env::args().any(|it| it == "--json") => {
            out::say!("{}", problem.to_json());
        }
        Some(problem) if error.kind() == ErrorKind::InvalidSubcommand => out::tell!("{}", problem),
        Some(_) => out::tell_line(&text),
        None => out::say_line(&text),
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(WRONG_USAGE))
}

/// The mistake in the command line; none when help or the version was asked for.
fn wrong_usage(error: &clap::Error) -> Option<Problem> {
    let word = |kind| error.get(kind).map(ToString::to_string);
    let problem = match word(ContextKind::InvalidSubcommand) {
        Some(unknown) => match word(ContextKind::SuggestedSubcommand) {
            Some(near) => format!("no command `{unknown}`; did you mean `{near}`?"),
            None => format!("no command `{unknown}`"),
        },
        None => {
            let said = error.render().to_string();
            let first = said.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_owned()
        }
    };
    error.use_stderr().then(|| Problem::usage(problem).fix("pintle --help lists the commands"))
}

/// A command that starts programs of a profile has to end them before it exits, so a signal must not kill it at once.
async fn run_unless_interrupted(cli: Cli, environment: &Environment) -> Result<ExitCode, Problem> {
    // A parent that ignores SIGCHLD passes that on, and then the exit status of a child is lost.
    let _listening = signal(SignalKind::child());
    match &cli.command {
        Some(Command::Doctor(_)) => {
            let mut interrupts = chat::Interrupts::listen();
            interrupts
                .or_stopped(run(cli, environment))
                .await
                .unwrap_or_else(|code| Ok(code.into()))
        }
        // These commands handle signals themselves, or start no program.
        _ => run(cli, environment).await,
    }
}

async fn run(cli: Cli, environment: &Environment) -> Result<ExitCode, Problem> {
    let Cli { profile, no_profile, command, .. } = cli;
    let Some(mut command) = command else {
        let who = Who { profile, no_profile, ..Who::default() };
        return commands::overview::run(environment, who).await;
    };
    if let Some(dir) = command.folder() {
        *dir = dir.take().or_else(|| profile.clone());
    }
    let is_of_an_agent = command.is_of_an_agent();
    if let Some(who) = command.who() {
        (who.profile, who.no_profile) = (profile, no_profile);
        if is_of_an_agent && let ControlFlow::Break(code) = in_force::settle(environment, who)? {
            return Ok(code.into());
        }
    }
    match command {
        Command::Demo(demo) => commands::demo::run(environment, demo).await,
        Command::Init(init) => commands::init::run(environment, &init),
        Command::Chat(chat) => chat::run(environment, chat).await,
        Command::Serve(serve) => commands::serve::run(environment, serve).await,
        Command::Messages(messages) => commands::messages::run(environment, messages).await,
        Command::Explain(explain) => commands::explain::run(environment, explain).await,
        Command::Hooks(hooks) => commands::hooks::run(environment, hooks).await,
        Command::Trust(trust) => commands::trust::run(environment, &trust),
        Command::Plugins(plugins) => commands::plugins::run(environment, plugins),
        Command::Approvals(approvals) => commands::approvals::run(environment, approvals).await,
        Command::Runs(runs) => commands::trace::list(environment, &runs).await,
        Command::Trace(trace) => commands::trace::run(environment, trace).await,
        Command::Replay(replay) => commands::replay::run(environment, replay).await,
        Command::Stats(stats) => commands::stats::run(environment, &stats).await,
        Command::Doctor(doctor) => commands::doctor::run(environment, doctor).await,
        Command::Sessions(sessions) => commands::sessions::run(environment, sessions).await,
        Command::Skills(skills) => commands::skills::run(environment, skills).await,
        Command::Tickets(tickets) => commands::tickets::run(environment, tickets).await,
        Command::Memory(memory) => commands::memory::run(environment, memory).await,
        Command::Completions(completions) => commands::completions::run(&completions),
        Command::Man(man) => commands::completions::man(&man),
    }
}

fn report(environment: &Environment, problem: &Problem) -> ExitCode {
    if environment.json {
        out::say!("{}", problem.to_json());
    } else {
        out::tell!("{}", problem);
    }
    problem.exit_code().into()
}
