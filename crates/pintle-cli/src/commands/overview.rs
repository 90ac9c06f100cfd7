//! `pintle` alone and `pintle --help`.

use std::process::ExitCode;

use clap::CommandFactory;
use pintle_agent::store::{ApprovalFilter, ApprovalState};
use pintle_profile::Profile;
use pintle_sandbox::Tier;

use crate::{
    args::{Cli, GROUPS, Who},
    containment::tier_here,
    environment::{DATABASE, Environment},
    in_force,
    out::say,
    problem::Problem,
    shown::{Show, Shown, blue, bold, dim, text},
    store,
    term::{plural, width, wrap},
};

/// The first commands of a new user.
const FIRST: [(&str, &str); 4] = [
    ("demo", "see it work: 30 seconds, no key, no network"),
    ("chat", "talk to the agent in this folder"),
    ("explain -- CMD", "what would happen to a command"),
    ("init", "write your own rules and hooks"),
];

/// The options of every command.
const OPTIONS: &str = "--profile DIR | --no-profile   --data DIR   --json   --color WHEN   --quiet | -v   -h, --help   -V, --version";

/// The commands in groups, for `--help`.
pub(crate) fn help(command: &clap::Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let about = wrap(&text!("{}.", about), width(), 0);
    let mut lines = vec![text!("{}\n\nUsage: pintle [OPTIONS] [COMMAND]\n", about)];
    let line = |heading: &str, rest: Shown, indent| {
        wrap(&text!("{} {}", bold(text!("{:<9}", heading)), rest), width(), indent)
    };
    for (group, names) in GROUPS {
        for (nth, name) in names.iter().enumerate() {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let rest = text!("{} {}", bold(blue(text!("{:<12}", *name))), about);
            lines.push(line(if nth == 0 { group } else { "" }, rest, 23));
        }
    }
    let examples = "pintle demo · pintle explain -- git push origin main";
    lines.push(Shown::default());
    lines.push(line("Options", OPTIONS.shown(), 10));
    lines.push(line("Examples", examples.shown(), 10));
    let help: Vec<&str> = lines.iter().map(Shown::as_str).collect();
    help.join("\n")
}

/// The first commands, and the state of this folder.
pub(crate) async fn run(environment: &Environment, mut who: Who) -> Result<ExitCode, Problem> {
    let version = Cli::command().render_version().trim_end().to_owned();
    say!("{}\n", text!("{} · an AI agent whose guards hold", bold(version)));
    for (command, does) in FIRST {
        let command = bold(blue(text!("{:<21}", format!("pintle {command}"))));
        say!("{}", wrap(&text!("  {}  {}", command, does), width(), 25));
    }
    let here = here(environment, &mut who).await.join(" · ");
    say!("\n{}", wrap(&text!("{}   {}", dim("here"), here), width(), 7));
    say!("{}   pintle --help · pintle doctor", dim("more"));
    Ok(ExitCode::SUCCESS)
}

/// Creates nothing, and leaves out parts that cannot be read: `doctor` reports them.
async fn here(environment: &Environment, who: &mut Who) -> Vec<String> {
    let profile = in_force::look(environment, who);
    let mut here = vec![match &profile {
        Ok(Some(profile)) => format!("profile {}", profile.name),
        Ok(None) => "no profile".to_owned(),
        Err(_) => "a profile that does not load (pintle hooks lint)".to_owned(),
    }];
    let profile = profile.ok().flatten();
    here.push(match tier_here(environment) {
        Tier::None => "no sandbox (pintle doctor)".to_owned(),
        tier => format!("sandbox {}", tier.name()),
    });
    here.push(model(environment, who, profile.as_ref()));
    if let Some(waiting) = waiting(environment).await {
        here.push(format!("{} (pintle approvals)", waiting));
    }
    here
}

fn model(environment: &Environment, who: &Who, profile: Option<&Profile>) -> String {
    let named = who.model.clone().or_else(|| environment.model.clone());
    match named.or_else(|| profile.and_then(|profile| profile.model.clone())) {
        Some(model) => format!("model {model}"),
        None => "model offline (no model chosen)".to_owned(),
    }
}

async fn waiting(environment: &Environment) -> Option<String> {
    let database = environment.data()?.join(DATABASE);
    let store = store::open_at(database.exists().then_some(database)?).await.ok()?;
    let state = Some(ApprovalState::Pending);
    let pending = store.approvals(ApprovalFilter { state, ..ApprovalFilter::default() }).await;
    store.close().await;
    match pending.ok()?.len() {
        0 => None,
        several => Some(format!("{} wait", plural(several as u64, "question"))),
    }
}
