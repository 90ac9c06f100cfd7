//! Commands that go on while the agent works, and the tool that shows and stops them.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use pintle_agent::{PermittedCall, SandboxUse, Tool, ToolCx, ToolError, ToolSpec};
use pintle_policy::Zone;
use pintle_sandbox::{HeadTail, Process, Report};
use serde_json::json;
use tokio::{io::AsyncReadExt, net::unix::pipe::Receiver, task::AbortHandle, time::timeout};

use super::{Hold, Job, ending, start, with_changes};
use crate::{
    args::{Args, failed, schema},
    capture::{KEPT_HALF, with_note},
};

/// How long a command is watched before it is left alone: most mistakes show at once.
const WATCHED: Duration = Duration::from_millis(500);
/// How many commands a session may have in the background.
const MOST: usize = 16;

/// The commands in the background, by their number. A clone is another handle to the same ones; when the last handle is
/// dropped, they end.
#[derive(Clone, Default)]
pub struct Background(Arc<Mutex<Jobs>>);

#[derive(Default)]
struct Jobs {
    last: u64,
    running: BTreeMap<u64, Running>,
}

struct Running {
    session: Arc<str>,
    command: String,
    how: Hold,
    cwd: PathBuf,
    /// Until its end was seen.
    process: Option<Process>,
    printed: Arc<Mutex<HeadTail>>,
    reading: AbortHandle,
}

impl Running {
    /// What it has printed.
    fn read(&self, cx: &ToolCx) -> String {
        if self.how.zone >= Zone::Network {
            cx.outside.set();
        }
        text_of(&self.printed)
    }

    fn has_exited(&mut self) -> bool {
        self.process.as_mut().is_none_or(Process::has_exited)
    }

    /// Records what the sandbox saw since this was last asked (R17.7).
    fn record(&self, cx: &ToolCx, report: &Report) -> SandboxUse {
        let seen = self.how.look(&self.cwd, "", false, report);
        if !seen.hosts.is_empty() || !seen.changed.is_empty() {
            cx.sandbox.record(seen.clone());
        }
        seen
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl Background {
    /// Ends what a session left in the background, and says how many there were.
    pub fn end_session(&self, session: &str) -> usize {
        let mut jobs = self.lock();
        let before = jobs.running.len();
        jobs.running.retain(|_, running| &*running.session != session);
        before - jobs.running.len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Jobs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn start(
        &self,
        env: &[(String, String)],
        how: Hold,
        job: Job,
        cx: &ToolCx,
    ) -> Result<String, ToolError> {
        let of_session = |running: &&Running| running.session == cx.session_id;
        if self.lock().running.values().filter(of_session).count() >= MOST {
            return Err(failed(format!(
                "terminal: {MOST} commands run in the background already; stop one with `processes`"
            )));
        }
        let (mut process, stdout) = start(env, &how.confinement, &job)?;
        process.goes_on(&how.confinement);
        let printed = Arc::new(Mutex::new(HeadTail::new(KEPT_HALF, KEPT_HALF)));
        let reading = tokio::spawn(read(stdout, printed.clone())).abort_handle();
        if let Ok(status) = timeout(WATCHED, process.wait()).await {
            let report = process.exited().await;
            let text = text_of(&printed);
            let seen = how.look(&job.cwd, &text, true, &report);
            cx.sandbox.record(seen.clone());
            if let Report { not_run: Some(why), .. } = report {
                return Err(failed(format!("terminal: nothing was run: {why}")));
            }
            let status = status.map_err(|error| failed(format!("terminal: {error}")))?;
            let text = with_changes(text, &seen);
            return Err(failed(with_note(&text, &format!("it ended at once: {}", ending(status)))));
        }
        let text = text_of(&printed);
        let report = Report { hosts: process.take_hosts(), ..Report::default() };
        cx.sandbox.record(how.look(&job.cwd, &text, false, &report));
        let (session, command) = (cx.session_id.clone(), job.command);
        let process = Some(process);
        let running = Running { session, command, how, cwd: job.cwd, process, printed, reading };
        let mut jobs = self.lock();
        jobs.last += 1;
        let number = jobs.last;
        jobs.running.insert(number, running);
        let note = format!("it goes on in the background as number {number}");
        Ok(with_note(&text, &note))
    }
}

async fn read(mut stdout: Receiver, printed: Arc<Mutex<HeadTail>>) {
    let mut chunk = vec![0; 8 * 1024];
    while let Ok(length @ 1..) = stdout.read(&mut chunk).await {
        let piece = chunk.get(..length).unwrap_or_default();
        printed.lock().unwrap_or_else(PoisonError::into_inner).push(piece);
    }
}

fn text_of(printed: &Mutex<HeadTail>) -> String {
    printed.lock().unwrap_or_else(PoisonError::into_inner).text()
}

/// `processes`: lists, shows and stops the commands that a session has in the background.
pub struct Processes {
    spec: ToolSpec,
    background: Background,
}

impl Processes {
    /// For the commands of this terminal.
    pub fn new(background: Background) -> Self {
        let description =
            "Lists the commands that run in the background, shows what one printed, or stops it.";
        let input_schema = schema(
            json!({
                "action": {"type": "string", "enum": ["list", "output", "stop"], "description": "What to do; `list` by default."},
                "number": {"type": "integer", "minimum": 1, "description": "Which one to show or stop."}
            }),
            &[],
        );
        let spec = ToolSpec::new("processes", description, input_schema)
            .in_zone(Zone::Safe)
            .with_paths([]);
        Self { spec, background }
    }
}

impl Tool for Processes {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn run(
        &self,
        call: PermittedCall,
        cx: ToolCx,
    ) -> BoxFuture<'static, Result<String, ToolError>> {
        let background = self.background.clone();
        Box::pin(async move {
            let mut args = Args::of("processes", call.args())?;
            let action = args.optional_text("action")?.unwrap_or("list");
            let number = args.optional_count("number")?;
            args.done()?;
            match (action, number) {
                ("list", _) => Ok(background.list(&cx.session_id)),
                ("output", Some(number)) => background.output(&cx, number).await,
                ("stop", Some(number)) => background.stop(&cx, number).await,
                ("output" | "stop", None) => {
                    Err(failed(format!("processes: `{action}` needs the argument `number`")))
                }
                _ => Err(failed("processes: `action` is list, output or stop".into())),
            }
        })
    }
}

impl Background {
    fn list(&self, session: &str) -> String {
        let mut jobs = self.lock();
        let mut lines = Vec::new();
        for (number, running) in jobs.running.iter_mut().filter(|(_, it)| &*it.session == session) {
            let state = if running.has_exited() { "ended" } else { "running" };
            lines.push(format!("{number} {state}: {}", running.command));
        }
        match lines.is_empty() {
            true => "no command runs in the background".into(),
            false => lines.join("\n"),
        }
    }

    async fn output(&self, cx: &ToolCx, number: u64) -> Result<String, ToolError> {
        let ended = {
            let mut jobs = self.lock();
            let running = jobs.of_session(cx, number)?;
            match running.has_exited() {
                true => running.process.take(),
                false => None,
            }
        };
        let ended = match ended {
            Some(process) => Some(process.exited().await),
            None => None,
        };
        let mut jobs = self.lock();
        let running = jobs.of_session(cx, number)?;
        let report = ended.unwrap_or_else(|| Report {
            hosts: running.process.as_ref().map(Process::take_hosts).unwrap_or_default(),
            ..Report::default()
        });
        let seen = running.record(cx, &report);
        Ok(with_changes(running.read(cx), &seen))
    }

    async fn stop(&self, cx: &ToolCx, number: u64) -> Result<String, ToolError> {
        let mut running = {
            let mut jobs = self.lock();
            jobs.of_session(cx, number)?;
            jobs.running.remove(&number).ok_or_else(|| unknown(number))?
        };
        let seen = match running.process.take() {
            // The log has the hosts that were not recorded yet.
            Some(process) => running.record(cx, &process.end().await),
            None => SandboxUse::default(),
        };
        Ok(with_note(&with_changes(running.read(cx), &seen), "stopped"))
    }
}

impl Jobs {
    fn of_session(&mut self, cx: &ToolCx, number: u64) -> Result<&mut Running, ToolError> {
        let running = self.running.get_mut(&number);
        running.filter(|it| it.session == cx.session_id).ok_or_else(|| unknown(number))
    }
}

fn unknown(number: u64) -> ToolError {
    failed(format!("processes: there is no command {number} in the background"))
}
