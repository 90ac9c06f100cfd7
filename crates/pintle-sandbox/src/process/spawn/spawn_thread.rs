//! The threads that processes are children of.
//!
//! A process is started by a thread of its own for two reasons: `posix_spawn` blocks its caller until the program runs, so
//! another thread has to tag the process before that; and a thread can have a current folder of its own, which the process
//! inherits. Such a thread waits a while for the next process: making one takes a tenth of the time of a start.

use std::{
    ffi::{CString, OsStr},
    fs::File,
    io,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::{ffi::OsStrExt, fs::FileExt},
    },
    path::PathBuf,
    process::ChildStdin,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError},
    },
    thread,
    time::Duration,
};

use nix::{
    fcntl::OFlag,
    sched::{CloneFlags, unshare},
    spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn},
    sys::{signal::SigSet, stat::Mode},
};
use rustix::process::{Pid, chdir};

use super::{Spawn, pause_fifo::PauseFifo};

/// `POSIX_SPAWN_SETSID` of Linux, for which `nix` has no name.
const SET_SESSION: i32 = 0x80;

/// How long an idle thread waits for a request before it ends.
const IDLE_LIMIT: Duration = Duration::from_secs(5);

/// The threads that wait for a request.
static IDLE: Mutex<Vec<SpawnThread>> = Mutex::new(Vec::new());

/// A thread that starts one process at a time.
pub(super) struct SpawnThread {
    id: u64,
    requests: Sender<SpawnRequest>,
    children: File,
}

impl SpawnThread {
    /// One without a child. `None` where the system does not allow a thread what it needs.
    pub(super) fn take() -> io::Result<Option<Self>> {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        match idle.iter().position(|thread| thread.child().is_none()) {
            Some(at) => Ok(Some(idle.swap_remove(at))),
            None => {
                drop(idle);
                Self::make()
            }
        }
    }

    fn make() -> io::Result<Option<Self>> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let id = COUNT.fetch_add(1, Ordering::Relaxed);
        let (requests, received) = mpsc::channel();
        let (report, reported) = mpsc::channel();
        thread::Builder::new().name("pintle-spawn".into()).spawn(move || {
            let ready = prepare();
            let is_ready = matches!(ready, Ok(Some(_)));
            if report.send(ready).is_ok() && is_ready {
                serve(id, &received);
            }
        })?;
        let children = reported.recv().map_err(|_| ended_early())??;
        Ok(children.map(|children| Self { id, requests, children }))
    }

    /// Lets it start a process, and report when the process runs its program. All files that the request names have to stay
    /// open until then.
    pub(super) fn begin(&self, request: SpawnRequest) -> PendingSpawn<'_> {
        let (report, outcome) = mpsc::channel();
        // A thread that was taken waits for a request.
        let _ = self.requests.send(SpawnRequest { report: Some(report), ..request });
        PendingSpawn { thread: self, outcome, finished: None }
    }

    /// Makes it idle again.
    pub(super) fn give_back(self) {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self);
    }

    fn child(&self) -> Option<Pid> {
        let mut pids = [0; 32];
        let length = self.children.read_at(&mut pids, 0).unwrap_or_default();
        let text = str::from_utf8(pids.get(..length)?).ok()?;
        text.split_ascii_whitespace().next()?.parse().ok().and_then(Pid::from_raw)
    }
}

/// A process that a thread is starting.
pub(super) struct PendingSpawn<'a> {
    thread: &'a SpawnThread,
    outcome: Receiver<io::Result<()>>,
    finished: Option<io::Result<()>>,
}

impl PendingSpawn<'_> {
    /// The new process, as soon as there is one. `None` if starting it failed before.
    pub(super) fn child(&mut self) -> Option<Pid> {
        for look in 0_u64.. {
            self.finished = match self.outcome.try_recv() {
                Ok(outcome) => Some(outcome),
                Err(TryRecvError::Disconnected) => Some(Err(ended_early())),
                Err(TryRecvError::Empty) => None,
            };
            let child = self.thread.child();
            if child.is_some() || self.finished.is_some() {
                return child;
            }
            // It is there in a moment, unless a file system is slow: sleeping would take longer.
            match look {
                0..200 => thread::yield_now(),
                _ => thread::sleep(Duration::from_micros(200)),
            }
        }
        None
    }

    /// Waits until the program runs, or starting it has failed.
    pub(super) fn finish(self) -> io::Result<()> {
        self.finished.or_else(|| self.outcome.recv().ok()).unwrap_or_else(|| Err(ended_early()))
    }
}

fn ended_early() -> io::Error {
    io::Error::other("the thread that starts processes has ended")
}

/// Gives the thread a current folder of its own, and opens the list of its children.
fn prepare() -> io::Result<Option<File>> {
    if unshare(CloneFlags::CLONE_FS).is_err() {
        return Ok(None);
    }
    match File::open("/proc/thread-self/children") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        children => children.map(Some),
    }
}

fn serve(id: u64, requests: &Receiver<SpawnRequest>) {
    loop {
        match requests.recv_timeout(IDLE_LIMIT) {
            Ok(request) => {
                let outcome = request.run();
                if let Some(report) = request.report {
                    let _ = report.send(outcome);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
                // One that is not in the list was taken, and gets a request.
                if let Some(at) = idle.iter().position(|thread| thread.id == id) {
                    idle.swap_remove(at);
                    return;
                }
            }
        }
    }
}

/// All that a thread needs to start a process. It names open files by their numbers.
pub(super) struct SpawnRequest {
    program: PathBuf,
    folder: PathBuf,
    args: Vec<CString>,
    env: Vec<CString>,
    streams: [RawFd; 3],
    fifo: String,
    lifeline: RawFd,
    report: Option<Sender<io::Result<()>>>,
}

impl SpawnRequest {
    pub(super) fn new(
        spawn: &Spawn<'_>,
        streams: &[OwnedFd; 3],
        fifo: &PauseFifo,
        lifeline: &ChildStdin,
    ) -> io::Result<Self> {
        let command = spawn.command;
        let args = command.args.iter().map(|arg| arg.as_os_str());
        Ok(Self {
            program: command.program.clone(),
            folder: spawn.folder.to_path_buf(),
            args: std::iter::once(command.program.as_os_str())
                .chain(args)
                .map(|word| c_string(&[word]))
                .collect::<io::Result<_>>()?,
            env: (spawn.env.iter())
                .map(|(name, value)| c_string(&[name, OsStr::new("="), value]))
                .collect::<io::Result<_>>()?,
            streams: streams.each_ref().map(AsRawFd::as_raw_fd),
            fifo: fifo.path(),
            lifeline: lifeline.as_raw_fd(),
            report: None,
        })
    }

    fn run(&self) -> io::Result<()> {
        chdir(&self.folder)?;
        let mut actions = PosixSpawnFileActions::init()?;
        // If the host is killed now, nothing releases the process. The watchdog notices that only when all copies of the
        // lifeline are closed; and it knows which process to end: one that holds a FIFO and has no stdin.
        actions.add_close(self.lifeline)?;
        actions.add_close(0)?;
        actions.add_open(0, self.fifo.as_str(), OFlag::O_RDONLY, Mode::empty())?;
        for (number, stream) in (0..).zip(self.streams) {
            actions.add_dup2(stream, number)?;
        }
        // The host may ignore or block signals; the process must not inherit that.
        let mut attributes = PosixSpawnAttr::init()?;
        let signals =
            PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
        attributes.set_flags(signals | PosixSpawnFlags::from_bits_retain(SET_SESSION))?;
        attributes.set_sigdefault(&SigSet::all())?;
        attributes.set_sigmask(&SigSet::empty())?;
        let spawned = posix_spawn::<_, CString, CString>(
            self.program.as_path(),
            &actions,
            &attributes,
            &self.args,
            &self.env,
        );
        // An idle thread must not keep a folder from being unmounted.
        let _ = chdir("/");
        spawned?;
        Ok(())
    }
}

fn c_string(parts: &[&OsStr]) -> io::Result<CString> {
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.as_bytes()).copied().collect();
    Ok(CString::new(bytes)?)
}
