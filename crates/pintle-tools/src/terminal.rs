//! `terminal`: a shell command, with an end.

mod background;
mod hold;
#[cfg(test)]
mod tests;

use std::{
    fmt, io, os::unix::process::ExitStatusExt, path::PathBuf, process::ExitStatus, sync::Arc,
    time::Duration,
};

use futures_util::future::BoxFuture;
use pintle_agent::{
    PermittedCall, Progress, SandboxLog, SandboxUse, Tool, ToolCx, ToolError, ToolSpec,
};
use pintle_policy::{Reach, Zone};
use pintle_sandbox::{Command, Confinement, Folder, HeadTail, Output, Process, Refused, Stdin};
use serde_json::{Value, json};
use tokio::{
    io::AsyncReadExt,
    net::unix::pipe::Receiver,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    args::{Args, failed, schema},
    capture::{KEPT_HALF, Streamed, with_note},
    nofollow::{in_words, walk},
};

pub use background::{Background, Processes};
use hold::Hold;

/// The longest time limit a call may ask for.
const MAX_TIMEOUT: Duration = Duration::from_secs(600);
/// How much output is shown while the command runs.
const SHOWN: usize = 1024 * 1024;
/// The most a pipe holds, unless root made it larger.
const PIPE_HOLDS: usize = 1024 * 1024;
/// How long output may still come once the command has exited or is being stopped.
const LINGER: Duration = Duration::from_millis(500);

/// What an operator decides about every command.
#[derive(Clone)]
pub struct TerminalConfig {
    /// The whole environment of a command: nothing else is inherited, so no secret of the agent's own
    /// process reaches it unless it is named here.
    pub env: Vec<(String, String)>,
    /// The time limit of a call that names none.
    pub default_timeout: Duration,
}

impl Default for TerminalConfig {
    fn default() -> Self {
        Self { env: Vec::new(), default_timeout: Duration::from_secs(120) }
    }
}

impl fmt::Debug for TerminalConfig {
    /// Without the environment's values: they may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalConfig")
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("default_timeout", &self.default_timeout)
            .finish()
    }
}

/// What other agents call their terminal.
const ALIASES: [&str; 10] = [
    "bash",
    "shell",
    "sh",
    "exec",
    "runcommand",
    "execcommand",
    "runshellcommand",
    "executecommand",
    "runterminalcmd",
    "powershell",
];

/// Runs a command with `/bin/sh -c`, never a login shell, with no input.
///
/// The kernel holds the command to the zone of its call: see [`PermittedCall::confinement`]. When it ends, runs out of time, is cancelled or dropped,
/// everything it started ends with it, daemons included: [nothing outlives its call](pintle_sandbox::Process). Standard output
/// and error share one pipe, so their order is the true one. A command that exits with anything but 0 is an error that
/// carries its output and its exit code.
pub struct Terminal {
    spec: ToolSpec,
    config: Arc<TerminalConfig>,
    background: Background,
}

impl Terminal {
    /// A terminal for commands with this environment and time limit. Commands that go on in the background are kept in
    /// `background`.
    pub fn new(config: TerminalConfig, background: Background) -> Self {
        let description = format!(
            "Runs a command with `/bin/sh -c` and returns what it prints. It has no input, and everything \
                 it started is stopped when it ends, unless `background` is true. It is stopped after {} s unless \
                 `timeoutMs` says otherwise. A sandbox holds it to its `zone`.",
            config.default_timeout.as_secs()
        );
        let input_schema = schema(
            json!({
                "command": {"type": "string", "description": "The command line."},
                "cwd": {"type": "string", "description": "The folder to run it in; the workspace by default."},
                "timeoutMs": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": u64::try_from(MAX_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
                    "description": "How long it may run, in milliseconds."
                },
                "zone": {
                    "type": "string",
                    "enum": ["safe", "workspace", "build", "network", "machine"],
                    "description": "The rights it needs; `build` by default. `safe` writes nothing but its temporary folder, `workspace` \
                                    also the workspace, `build` also the caches of build tools, `network` also reaches other hosts, \
                                    `machine` is everything the user may do. A person is asked about the last two."
                },
                "why": {
                    "type": "string",
                    "description": "What it needs `network` or `machine` for, in one sentence for the person who is asked."
                },
                "background": {
                    "type": "boolean",
                    "description": "Whether it goes on while you work, such as a server. The tool `processes` lists, shows and stops it."
                }
            }),
            &["command"],
        );
        let spec = ToolSpec::new("terminal", description, input_schema)
            .in_zone(Zone::Build)
            .running_commands()
            .with_aliases(ALIASES);
        Self { spec, config: Arc::new(config), background }
    }
}

impl Tool for Terminal {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn run(
        &self,
        call: PermittedCall,
        cx: ToolCx,
    ) -> BoxFuture<'static, Result<String, ToolError>> {
        let (config, background) = (self.config.clone(), self.background.clone());
        Box::pin(async move {
            let job = Job::parse(call.args(), call.reach(), config.default_timeout)?;
            let how = Hold { zone: call.zone(), confinement: call.confinement()?.clone() };
            match job.background {
                true => background.start(&config.env, how, job, &cx).await,
                false => execute(&config.env, how, job, cx.into()).await,
            }
        })
    }
}

/// One call's arguments.
#[derive(Debug)]
struct Job {
    command: String,
    /// The folder it starts in, as it was judged.
    cwd: PathBuf,
    timeout: Duration,
    background: bool,
}

impl Job {
    fn parse(args: &Value, reach: &Reach, default_timeout: Duration) -> Result<Self, ToolError> {
        let mut args = Args::of("terminal", args)?;
        let command = args.text("command")?.to_owned();
        let cwd = match args.optional_text("cwd")?.and_then(|_| reach.path("cwd")) {
            Some(cwd) => cwd,
            None => reach.workspace(),
        };
        let cwd = cwd.map_err(|unresolved| failed(format!("terminal: {unresolved}")))?.to_owned();
        let timeout = args.optional_count("timeoutMs")?.map(Duration::from_millis);
        // The judge has read these two.
        args.optional_text("zone")?;
        args.optional_text("why")?;
        let background = args.optional_flag("background")?.unwrap_or(false);
        args.done()?;
        if timeout.is_some_and(|timeout| timeout > MAX_TIMEOUT) {
            return Err(failed(format!(
                "terminal: the argument `timeoutMs` must be at most {}",
                MAX_TIMEOUT.as_millis()
            )));
        }
        let timeout = timeout.unwrap_or(default_timeout);
        Ok(Self { command, cwd, timeout, background })
    }
}

/// Runs a command that a person wrote down, as `terminal` would run it in this folder: the check of a ticket.
///
/// # Errors
/// When it did not exit with 0; the text has its output and how it ended.
pub async fn run_check(
    env: &[(String, String)],
    command: String,
    folder: PathBuf,
    (zone, confinement): (Zone, Confinement),
    timeout: Duration,
) -> Result<String, ToolError> {
    let job = Job { command, cwd: folder, timeout, background: false };
    let unwatched = Watch {
        cancel: CancellationToken::new(),
        progress: Progress::default(),
        sandbox: SandboxLog::default(),
    };
    execute(env, Hold { zone, confinement }, job, unwatched).await
}

/// Who hears of a running command, and who can stop it.
struct Watch {
    cancel: CancellationToken,
    progress: Progress,
    sandbox: SandboxLog,
}

impl From<ToolCx> for Watch {
    fn from(cx: ToolCx) -> Self {
        Self { cancel: cx.cancel, progress: cx.progress, sandbox: cx.sandbox }
    }
}

/// Why we stopped waiting for the command.
enum End {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
}

async fn execute(
    env: &[(String, String)],
    how: Hold,
    job: Job,
    cx: Watch,
) -> Result<String, ToolError> {
    let deadline = Instant::now() + job.timeout;
    let (mut process, stdout) = start(env, &how.confinement, &job)?;
    let mut output = Printed {
        pipe: Some(stdout),
        chunk: vec![0; 8 * 1024],
        kept: HeadTail::new(KEPT_HALF, KEPT_HALF),
        streamed: Streamed::new(cx.progress.clone(), SHOWN),
    };
    let broken = |error: io::Error| failed(format!("terminal: lost track of the command: {error}"));

    let end = {
        let mut exited = std::pin::pin!(process.wait());
        loop {
            tokio::select! {
                // The exit comes before the clock: a command that made it is not called late. Output comes
                // last, so that a flood cannot hold up the others.
                biased;
                () = cx.cancel.cancelled() => break End::Cancelled,
                status = &mut exited => break End::Exited(status.map_err(broken)?),
                () = sleep_until(deadline) => break End::TimedOut,
                _ = output.more() => {}
            }
        }
    };
    let (complete, report) = match end {
        End::Exited(_) => (output.rest(LINGER).await, process.exited().await),
        End::TimedOut | End::Cancelled => tokio::join!(output.rest(LINGER), process.end()),
    };
    let text = output.kept.text();
    let has_failed = !matches!(end, End::Exited(status) if status.success());
    let seen = how.look(&job.cwd, &text, has_failed, &report);
    cx.sandbox.record(seen.clone());
    if let Some(why) = report.not_run {
        return Err(failed(format!("terminal: nothing was run: {why}")));
    }
    let text = with_changes(text, &seen);
    match end {
        End::TimedOut => Err(ToolError::TimedOut(with_note(
            &text,
            &format!(
                "stopped after its time limit of {} ms; `timeoutMs` sets another",
                job.timeout.as_millis()
            ),
        ))),
        End::Cancelled => {
            Err(ToolError::Cancelled(with_note(&text, "stopped because the run was cancelled")))
        }
        End::Exited(status) => {
            let text = if complete {
                text
            } else {
                with_note(
                    &text,
                    "a process it left in the background was stopped; its output may be cut",
                )
            };
            if status.success() {
                return Ok(text);
            }
            let text = with_note(&text, &ending(status));
            let Some(refused) = how.refused_in_words(&seen) else { return Err(failed(text)) };
            let grants = seen.refused.iter().filter_map(Refused::grant).collect();
            Err(ToolError::Refused { text: with_note(&text, &refused), grants })
        }
    }
}

fn start(
    env: &[(String, String)],
    confinement: &Confinement,
    job: &Job,
) -> Result<(Process, Receiver), ToolError> {
    let handle = walk(&job.cwd).map_err(|error| {
        let folder = job.cwd.display();
        failed(match error.kind() {
            io::ErrorKind::NotADirectory => format!("terminal: `{folder}` (cwd) is not a folder"),
            _ => format!("terminal: the folder `{folder}` (cwd) {}", in_words(&error)),
        })
    })?;
    let command = Command {
        program: "/bin/sh".into(),
        // Without the dashes, a command that starts with one would be an option of the shell: not what was judged.
        args: vec!["-c".into(), "--".into(), (&job.command).into()],
        env: env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        folder: Folder::Opened { handle: Arc::new(handle), path: job.cwd.clone() },
        stdin: Stdin::Null,
        output: Output::Merged,
    };
    let (process, streams) = Process::start(&command, confinement)
        .map_err(|error| failed(format!("terminal: could not start /bin/sh: {error}")))?;
    Ok((process, streams.stdout))
}

/// What the command prints.
struct Printed {
    /// Until its end.
    pipe: Option<Receiver>,
    chunk: Vec<u8>,
    kept: HeadTail,
    streamed: Streamed,
}

impl Printed {
    /// Takes the next piece and says how long it was; never returns after the end.
    async fn more(&mut self) -> usize {
        let Some(pipe) = &mut self.pipe else { return std::future::pending().await };
        match pipe.read(&mut self.chunk).await {
            Ok(length @ 1..) => {
                let piece = self.chunk.get(..length).unwrap_or_default();
                self.kept.push(piece);
                self.streamed.push(piece);
                length
            }
            Ok(0) | Err(_) => {
                self.pipe = None;
                0
            }
        }
    }

    /// Takes what still comes within `time`; true if that was everything.
    ///
    /// What was in the pipe at the start is never lost, however late we get to it: reading comes before the
    /// clock until more was read than a pipe can hold.
    async fn rest(&mut self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let mut read = 0;
        while self.pipe.is_some() {
            tokio::select! {
                biased;
                length = self.more() => read += length,
                () = sleep_until(deadline) => return false,
            }
            if read > PIPE_HOLDS && Instant::now() > deadline {
                return false;
            }
        }
        true
    }
}

/// What a command printed, with the protected paths that changed.
fn with_changes(text: String, seen: &SandboxUse) -> String {
    match seen.changed_in_words() {
        Some(changed) => with_note(&text, &changed),
        None => text,
    }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}
