//! A gated tool, real hooks, and a look at what they leave behind.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use pintle::{
    Cx, DynEvent, DynHandler, Envelope, Failure, FailureKind, FireRecord, HandlerVerdict, Hooks,
    ModelKind, PluginFilter, RecordSink, points::ToolPre,
};
use pintle_exec::{CommandHook, CommandSpec, Program, TERM_GRACE, Unconfined, Worker, WorkerSpec};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The machine is shared: what has to be over within a deadline gets this much on top.
pub(crate) const LAG: Duration = Duration::from_secs(5);

/// Long, and still much less than any deadline here that is not meant to be met.
pub(crate) const SLACK: Duration = Duration::from_secs(15);

/// How much more memory the host may ever have needed for a hook.
const MEMORY_KIB: u64 = 48 * 1024;

/// Marks every process of this test's hooks, independently of how the library finds them.
const MARK: &str = "PINTLE_TEST_MARK";

/// A profile's folder and the mark of all its processes.
pub(crate) struct Profile {
    dir: TempDir,
    mark: String,
}

/// What a gate did to a tool that writes a marker file when it runs.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) block: Option<HandlerVerdict>,
    pub(crate) notes: Vec<HandlerVerdict>,
    pub(crate) tool_ran: bool,
    pub(crate) took: Duration,
    pub(crate) record_notes: Vec<String>,
}

impl Judged {
    pub(crate) fn kind(&self) -> Option<FailureKind> {
        self.block.as_ref()?.failure.as_ref().map(|failure| failure.kind)
    }

    pub(crate) fn reason(&self) -> &str {
        self.block.as_ref().map_or("", |block| &block.reason)
    }

    pub(crate) fn output(&self) -> Option<&str> {
        self.notes.first()?.output.as_deref()
    }

    /// The host was back in time.
    #[track_caller]
    pub(crate) fn within(self, timeout: Duration) -> Self {
        assert!(self.took < timeout + TERM_GRACE + LAG, "the host was away for {:?}", self.took);
        self
    }

    #[track_caller]
    pub(crate) fn allowed(self) -> Self {
        assert!(self.block.is_none() && self.tool_ran, "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn failed(self, kind: FailureKind) -> Self {
        assert_eq!(self.kind(), Some(kind), "{self:?}");
        assert!(!self.tool_ran, "{self:?}");
        self
    }
}

impl Profile {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let nanos = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
        Self {
            dir: tempfile::tempdir().unwrap(),
            mark: format!("{}-{nanos}-{count}", std::process::id()),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn spec(&self, program: Program) -> CommandSpec {
        CommandSpec::new(self.path(), program, Unconfined::by("this test"))
            .inherit(std::env::vars_os())
            .env(MARK, &self.mark)
            .timeout(Duration::from_secs(20))
    }

    pub(crate) fn shell(&self, line: &str) -> CommandSpec {
        self.spec(Program::Shell(line.into()))
    }

    pub(crate) fn argv<const N: usize>(&self, argv: [&str; N]) -> CommandSpec {
        self.spec(Program::Argv(argv.into_iter().map(Into::into).collect()))
    }

    /// Writes an executable script.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Gates a tool with this command and asserts what holds for all of them: the host is back in time, its memory
    /// stayed bounded, and no process of the hook survives.
    pub(crate) async fn judge(&self, spec: CommandSpec) -> Judged {
        let timeout = spec.timeout;
        self.judge_within(timeout, CommandHook::new(spec), tool_call()).await
    }

    /// The same with any handler that has this much time, and any call.
    pub(crate) async fn judge_within(
        &self,
        timeout: Duration,
        handler: impl DynHandler,
        call: ToolPre,
    ) -> Judged {
        let memory = Memory::now();
        let judged = self.judge_call(handler, call).await.within(timeout);
        memory.stayed_bounded();
        self.nobody_left().await;
        judged
    }

    /// Gates a tool with any handler.
    pub(crate) async fn judge_with(&self, handler: impl DynHandler) -> Judged {
        self.judge_call(handler, tool_call()).await
    }

    async fn judge_call(&self, handler: impl DynHandler, call: ToolPre) -> Judged {
        let sink = Arc::new(Records::default());
        let hooks = Hooks::builder().sink(sink.clone()).build();
        hooks
            .named("guard")
            .deadline(Duration::from_secs(30))
            .register_dyn("tool.pre", ModelKind::Gate, handler)
            .unwrap();
        let marker = self.path().join("the-tool-ran");
        let _ = fs::remove_file(&marker);
        let started = Instant::now();
        let outcome = hooks.fire_gate(&cx(), || call).await;
        let took = started.elapsed();
        let block = outcome.blocked().cloned();
        let notes = outcome.verdicts.into_iter().filter(|said| !said.is_block()).collect();
        if block.is_none() {
            fs::write(&marker, "").unwrap();
        }
        let record_notes = sink.0.lock().unwrap().drain(..).flatten().collect();
        Judged { block, notes, tool_ran: marker.exists(), took, record_notes }
    }

    /// What a handler itself answers, before any model has its say.
    pub(crate) async fn answer_of(&self, handler: impl DynHandler) -> Result<Value, Failure> {
        self.ask(&handler, json!({})).await
    }

    /// The same, about a call with this input.
    pub(crate) async fn ask(
        &self,
        handler: &impl DynHandler,
        input: Value,
    ) -> Result<Value, Failure> {
        handler.call(event(json!({ "toolName": "terminal", "toolInput": input }))).await
    }

    /// A worker that misbehaves on request.
    pub(crate) fn odd_worker(&self, args: &[&str]) -> Worker {
        Worker::new(self.odd_spec(args))
    }

    pub(crate) fn odd_spec(&self, args: &[&str]) -> WorkerSpec {
        fs::write(self.path().join("odd_worker.py"), include_str!("odd_worker.py")).unwrap();
        let argv = ["python3", "odd_worker.py"].iter().chain(args).map(Into::into).collect();
        WorkerSpec::new(self.spec(Program::Argv(argv)))
    }

    /// How often a worker was started in this folder.
    pub(crate) fn starts(&self) -> usize {
        fs::read(self.path().join("starts")).map_or(0, |starts| starts.len())
    }

    /// Waits until no process carries this profile's mark.
    pub(crate) async fn nobody_left(&self) {
        let needle = format!("{MARK}={}", self.mark);
        let deadline = Instant::now() + TERM_GRACE + LAG;
        loop {
            let left = processes_with(&needle);
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "these processes survive: {left:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the processes are gone whose numbers are in this file, a line each. They need not carry any mark.
    pub(crate) async fn gone(&self, file: &str) {
        let text = fs::read_to_string(self.path().join(file)).unwrap();
        let numbers: Vec<u32> = text.lines().map(|line| line.trim().parse().unwrap()).collect();
        assert!(!numbers.is_empty());
        let deadline = Instant::now() + TERM_GRACE + LAG;
        while let Some(left) = numbers.iter().find(|number| lives(**number)) {
            assert!(Instant::now() < deadline, "{left} survives");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn alive(&self) -> usize {
        processes_with(&format!("{MARK}={}", self.mark)).len()
    }
}

#[derive(Default)]
struct Records(Mutex<Vec<Vec<String>>>);

impl RecordSink for Records {
    fn record(&self, record: Arc<FireRecord>) {
        let notes = record.handlers.iter().flat_map(|handler| handler.notes.clone()).collect();
        self.0.lock().unwrap().push(notes);
    }
}

pub(crate) fn cx() -> Cx {
    let envelope = Envelope {
        session_id: Some("s-1".into()),
        platform: "test".into(),
        trace_id: "t-1".into(),
        ts: 1_700_000_000_000,
        ..Envelope::default()
    };
    Cx::new(envelope, PluginFilter::BuiltinsOnly)
}

pub(crate) fn tool_call() -> ToolPre {
    ToolPre::default()
        .tool_call_id("call-1")
        .tool_name("terminal")
        .tool_input(json!({ "command": "make deploy" }))
        .zone(2)
}

/// What a handler at a gate gets.
pub(crate) fn event(json: Value) -> DynEvent {
    DynEvent::new("tool.pre", ModelKind::Gate, Envelope::default(), json)
}

fn processes_with(needle: &str) -> Vec<u32> {
    let pids = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
            environ.split(|byte| *byte == 0).any(|var| var == needle.as_bytes())
        })
    })
    .collect()
}

/// A process that only waits for its parent to notice its end is dead.
fn lives(number: u32) -> bool {
    fs::read_to_string(format!("/proc/{number}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']))
}

/// The most memory this process has needed until then.
pub(crate) struct Memory(u64);

impl Memory {
    pub(crate) fn now() -> Self {
        Self(peak_memory_kib())
    }

    #[track_caller]
    pub(crate) fn stayed_bounded(self) {
        assert!(peak_memory_kib() < self.0 + MEMORY_KIB, "memory grew");
    }
}

fn peak_memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}
