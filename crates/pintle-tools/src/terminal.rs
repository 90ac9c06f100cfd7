//! `terminal`: a shell command, with an end.

#[cfg(test)]
mod tests;

use std::{
    io,
    os::{fd::OwnedFd, unix::process::ExitStatusExt},
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use futures_util::future::BoxFuture;
use pintle_agent::{PermittedCall, Tool, ToolCx, ToolError, ToolSpec};
use pintle_policy::{Reach, Zone};
use serde_json::{Value, json};
use tokio::{
    io::AsyncReadExt,
    net::unix::pipe,
    process::Command,
    time::{Instant, sleep_until},
};

use crate::{
    args::{Args, failed, schema},
    capture::{HeadTail, KEPT_HALF, Streamed, with_note},
    group::{GRACE, Group},
    place::{in_words, path_for_child, walk},
};

/// The longest time limit a call may ask for.
const MAX_TIMEOUT: Duration = Duration::from_secs(600);
/// How much output is shown while the command runs.
const SHOWN: usize = 1024 * 1024;
/// The most a pipe holds, unless root made it larger.
const PIPE_HOLDS: usize = 1024 * 1024;
/// How long output may still come from processes that the command left behind.
const LINGER: Duration = Duration::from_millis(500);

/// What an operator decides about every command.
#[derive(Debug, Clone)]
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

/// Runs a command with `/bin/sh -c`, never a login shell, with no input.
///
/// The command gets a process group of its own, and cannot reach the terminal that the agent runs in. Whatever is left of the group when the command ends, runs
/// out of time, is cancelled or dropped, is killed: nothing outlives its call. Standard output and error
/// share one pipe, so their order is the true one. A command that exits with anything but 0 is an error
/// that carries its output and its exit code.
pub struct Terminal {
    spec: ToolSpec,
    config: Arc<TerminalConfig>,
}

impl Terminal {
    /// A terminal for commands with this environment and time limit.
    pub fn new(config: TerminalConfig) -> Self {
        let spec = ToolSpec {
            name: "terminal".into(),
            description: format!(
                "Runs a command with `/bin/sh -c` and returns what it prints. It has no input, and its \
                 background processes are stopped when it ends. It is stopped after {} s unless `timeoutMs` \
                 says otherwise.",
                config.default_timeout.as_secs()
            ),
            input_schema: schema(
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
                    }
                }),
                &["command"],
            ),
        };
        Self { spec, config: Arc::new(config) }
    }
}

impl Tool for Terminal {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn zone(&self) -> Zone {
        Zone::Build
    }

    fn run(
        &self,
        call: PermittedCall,
        cx: ToolCx,
    ) -> BoxFuture<'static, Result<String, ToolError>> {
        let config = self.config.clone();
        Box::pin(async move {
            let job = Job::parse(call.args(), call.reach(), config.default_timeout)?;
            execute(&config, job, cx).await
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
        args.done()?;
        if timeout.is_some_and(|timeout| timeout > MAX_TIMEOUT) {
            return Err(failed(format!(
                "terminal: the argument `timeoutMs` must be at most {}",
                MAX_TIMEOUT.as_millis()
            )));
        }
        Ok(Self { command, cwd, timeout: timeout.unwrap_or(default_timeout) })
    }
}

/// Why we stopped waiting for the command.
enum End {
    Exited,
    TimedOut,
    Cancelled,
}

async fn execute(config: &TerminalConfig, job: Job, cx: ToolCx) -> Result<String, ToolError> {
    let deadline = Instant::now() + job.timeout;
    let (group, mut output) = start(config, &job, &cx)?;
    let broken = |error: io::Error| failed(format!("terminal: lost track of the command: {error}"));

    let end = {
        let mut exited = std::pin::pin!(group.exited());
        loop {
            tokio::select! {
                // The exit comes before the clock: a command that made it is not called late. Output comes
                // last, so that a flood cannot hold up the others.
                biased;
                () = cx.cancel.cancelled() => break End::Cancelled,
                result = &mut exited => { result.map_err(broken)?; break End::Exited }
                () = sleep_until(deadline) => break End::TimedOut,
                _ = output.more() => {}
            }
        }
    };
    let complete = match end {
        End::Exited => output.rest(LINGER).await,
        End::TimedOut | End::Cancelled => {
            group.terminate();
            output.rest(GRACE).await
        }
    };
    let status = group.finish().await.map_err(broken)?;
    let text = output.kept.text();
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
        End::Exited => {
            let text = if complete {
                text
            } else {
                with_note(
                    &text,
                    "a process it left in the background was stopped; its output may be cut",
                )
            };
            if status.success() { Ok(text) } else { Err(failed(with_note(&text, &ending(status)))) }
        }
    }
}

fn start(config: &TerminalConfig, job: &Job, cx: &ToolCx) -> Result<(Group, Output), ToolError> {
    let folder = walk(&job.cwd).map_err(|error| {
        let folder = job.cwd.display();
        failed(match error.kind() {
            io::ErrorKind::NotADirectory => format!("terminal: `{folder}` (cwd) is not a folder"),
            _ => format!("terminal: the folder `{folder}` (cwd) {}", in_words(&error)),
        })
    })?;
    let could_not =
        |error: io::Error| failed(format!("terminal: could not start /bin/sh: {error}"));
    let (reader, writer) = io::pipe().map_err(could_not)?;
    // The command, and with it our copies of the pipe's writing end, is gone when this function returns;
    // otherwise the output would never end.
    let mut command = Command::new("/bin/sh");
    command
        // Without the dashes, a command that starts with one would be an option of the shell: not what was judged.
        .args(["-c", "--", &job.command])
        .current_dir(path_for_child(&folder, &job.cwd))
        .env_clear()
        .envs(config.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(writer.try_clone().map_err(could_not)?)
        .stderr(writer);
    let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(could_not)?;
    let (group, _) = Group::spawn(&mut command).map_err(could_not)?;
    let output = Output {
        pipe: Some(reader),
        chunk: vec![0; 8 * 1024],
        kept: HeadTail::new(KEPT_HALF, KEPT_HALF),
        streamed: Streamed::new(cx.progress.clone(), SHOWN),
    };
    Ok((group, output))
}

/// What the command prints.
struct Output {
    /// Until its end.
    pipe: Option<pipe::Receiver>,
    chunk: Vec<u8>,
    kept: HeadTail,
    streamed: Streamed,
}

impl Output {
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

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}
