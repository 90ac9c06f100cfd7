//! Commands that go on while the agent works, and the tool that shows and stops them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use pintle_agent::{PermittedCall, Tool, ToolCx, ToolError, ToolSpec};
use pintle_policy::Zone;
use pintle_sandbox::{HeadTail, Process, Report};
use serde_json::json;
use tokio::{io::AsyncReadExt, net::unix::pipe::Receiver, task::AbortHandle, time::timeout};

use super::{Hold, Job, ending, start};
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
    /// Whether it may print what others wrote.
    reaches_others: bool,
    process: Process,
    printed: Arc<Mutex<HeadTail>>,
    reading: AbortHandle,
}

impl Running {
    /// What it has printed.
    fn read(&self, cx: &ToolCx) -> String {
        if self.reaches_others {
            cx.outside.set();
        }
        text_of(&self.printed)
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
        let printed = Arc::new(Mutex::new(HeadTail::new(KEPT_HALF, KEPT_HALF)));
        let reading = tokio::spawn(read(stdout, printed.clone())).abort_handle();
        let early = timeout(WATCHED, process.wait()).await;
        let report = process.report();
        let text = text_of(&printed);
        cx.sandbox.record(how.look(&job.cwd, &text, early.is_ok(), &report, None));
        if let Report { not_run: Some(why), .. } = report {
            return Err(failed(format!("terminal: nothing was run: {why}")));
        }
        if let Ok(status) = early {
            let status = status.map_err(|error| failed(format!("terminal: {error}")))?;
            return Err(failed(with_note(&text, &format!("it ended at once: {}", ending(status)))));
        }
        let (session, command) = (cx.session_id.clone(), job.command);
        let reaches_others = how.zone >= Zone::Network;
        let mut jobs = self.lock();
        jobs.last += 1;
        let number = jobs.last;
        jobs.running.insert(
            number,
            Running { session, command, reaches_others, process, printed, reading },
        );
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
                ("output", Some(number)) => background.output(&cx, number),
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
            let state = if running.process.has_exited() { "ended" } else { "running" };
            lines.push(format!("{number} {state}: {}", running.command));
        }
        match lines.is_empty() {
            true => "no command runs in the background".into(),
            false => lines.join("\n"),
        }
    }

    fn output(&self, cx: &ToolCx, number: u64) -> Result<String, ToolError> {
        let jobs = self.lock();
        let running = jobs.running.get(&number).filter(|running| running.session == cx.session_id);
        running.map(|running| running.read(cx)).ok_or_else(|| unknown(number))
    }

    async fn stop(&self, cx: &ToolCx, number: u64) -> Result<String, ToolError> {
        let mut running = {
            let mut jobs = self.lock();
            match jobs.running.get(&number).is_some_and(|it| it.session == cx.session_id) {
                true => jobs.running.remove(&number),
                false => None,
            }
            .ok_or_else(|| unknown(number))?
        };
        running.process.terminate();
        let _ = timeout(pintle_sandbox::TERM_GRACE, running.process.wait()).await;
        Ok(with_note(&running.read(cx), "stopped"))
    }
}

fn unknown(number: u64) -> ToolError {
    failed(format!("processes: there is no command {number} in the background"))
}
