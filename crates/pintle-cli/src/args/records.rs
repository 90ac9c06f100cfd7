//! The commands for recorded runs: `pintle runs`, `trace`, `replay` and `stats`.

use clap::Args;

use super::Who;

/// List runs, newest first
#[derive(Args)]
#[command(after_help = "Examples:
  pintle runs
  pintle runs --blocked --json

See also: pintle trace, pintle sessions")]
pub(crate) struct Runs {
    /// All of them, not only the newest 20
    #[arg(long)]
    pub(crate) all: bool,
    /// Only runs in which a call was blocked
    #[arg(long)]
    pub(crate) blocked: bool,
}

/// Show a run as a waterfall
#[derive(Args, Default)]
#[command(after_help = "Examples:
  pintle chat -q 'list .'
  pintle trace
  pintle trace --json

With --otlp http://localhost:4318 a collector of OpenTelemetry on this machine
gets the run and those of its sub-agents as one trace.

See also: pintle runs, pintle stats, pintle replay")]
pub(crate) struct Trace {
    /// The run's id [default: the newest run that is not a sub-agent's]
    pub(crate) run: Option<String>,
    /// Send it as an OpenTelemetry trace to this OTLP/HTTP endpoint instead
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// With --otlp: send prompts, answers, arguments and results too
    #[arg(long, requires = "otlp")]
    pub(crate) content: bool,
}

/// Judge recorded calls again by today's rules
#[derive(Args)]
#[command(after_help = "Examples:
  pintle chat -q 'list .'
  pintle replay
  pintle replay --since 7d --profile .

Each call is judged again with its recorded arguments, by the profile that its
run had, or by --profile DIR: guards, zones, levels, hooks. No tool runs. The
programs of command hooks do not run either: their recorded answers are used,
unless --run-hooks is given. Exit code 3 when a verdict changed.

See also: pintle explain, pintle trace")]
pub(crate) struct Replay {
    /// The run's id [default: the newest run that is not a sub-agent's]
    pub(crate) run: Option<String>,
    /// All runs of this long: 30m, 12h, 7d, 2w
    #[arg(long, value_name = "TIME", conflicts_with = "run", value_parser = since)]
    pub(crate) since: Option<u64>,
    /// Run the programs of command hooks, each in its sandbox, and MCP servers
    #[arg(long)]
    pub(crate) run_hooks: bool,
    #[arg(skip)]
    pub(crate) who: Who,
}

/// Show what hooks and models cost
#[derive(Args)]
#[command(after_help = "Examples:
  pintle chat -q 'list .'
  pintle stats
  pintle stats --since 30d --json

--shadow shows guards and hooks with \"shadow\": true in agent.json: what they
would have refused or asked about, had they been in force.

See also: pintle hooks list, pintle replay")]
pub(crate) struct Stats {
    /// Count the runs of this long: 30m, 12h, 7d, 2w [default: 7d]
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub(crate) since: Option<u64>,
    /// What guards and hooks in shadow mode would have said
    #[arg(long)]
    pub(crate) shadow: bool,
}

/// Parses a period into milliseconds.
fn since(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number and m, h, d or w, like 7d".to_owned();
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let minutes: u64 = match unit {
        'm' => 1,
        'h' => 60,
        'd' => 24 * 60,
        'w' => 7 * 24 * 60,
        _ => return Err(wrong()),
    };
    let number: u64 = text.trim_end_matches(unit).parse().map_err(|_| wrong())?;
    Ok(number.saturating_mul(minutes).saturating_mul(60_000))
}
