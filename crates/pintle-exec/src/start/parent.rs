//! The threads that hooks' processes are children of.
//!
//! A process is started by a thread of its own for two reasons: whoever spawns is not awake until the program runs, so
//! somebody else has to look after the process before; and a thread can have a current folder of its own, which the
//! process inherits. Such a thread stays for a while for the next process: to make one takes as long as a tenth of a hook.

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

use super::{Order, gate::Gate};

/// `POSIX_SPAWN_SETSID` of Linux, for which `nix` has no name.
const SET_SESSION: i32 = 0x80;

/// How long a parent waits for something to do before it goes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Those that have nothing to do.
static IDLE: Mutex<Vec<Parent>> = Mutex::new(Vec::new());

/// A thread that starts one process at a time.
pub(super) struct Parent {
    number: u64,
    orders: Sender<Birth>,
    children: File,
}

impl Parent {
    /// One without a child. `None` where the system does not allow a thread what it needs.
    pub(super) fn find() -> io::Result<Option<Self>> {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        match idle.iter().position(|parent| parent.child().is_none()) {
            Some(at) => Ok(Some(idle.swap_remove(at))),
            None => {
                drop(idle);
                Self::make()
            }
        }
    }

    fn make() -> io::Result<Option<Self>> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let (orders, taken) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        thread::Builder::new().name("pintle-parent".into()).spawn(move || {
            let ready = prepare();
            let lives = matches!(ready, Ok(Some(_)));
            if tell.send(ready).is_ok() && lives {
                live(number, &taken);
            }
        })?;
        let gone = |_| io::Error::other("a thread ended before it began");
        let children = told.recv().map_err(gone)??;
        Ok(children.map(|children| Self { number, orders, children }))
    }

    /// Lets it start a process, and tells what came of it when the process runs its program. Whatever the birth speaks of
    /// has to be kept until then.
    pub(super) fn begin(&self, birth: Birth) -> Labour<'_> {
        let (told, outcome) = mpsc::channel();
        // A parent that was found waits for orders.
        let _ = self.orders.send(Birth { told: Some(told), ..birth });
        Labour { parent: self, outcome, ended: None }
    }

    /// It has nothing to do any more.
    pub(super) fn rest(self) {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self);
    }

    fn child(&self) -> Option<Pid> {
        let mut numbers = [0; 32];
        let length = self.children.read_at(&mut numbers, 0).unwrap_or_default();
        let text = str::from_utf8(numbers.get(..length)?).ok()?;
        text.split_ascii_whitespace().next()?.parse().ok().and_then(Pid::from_raw)
    }
}

/// What a parent is busy with.
pub(super) struct Labour<'a> {
    parent: &'a Parent,
    outcome: Receiver<io::Result<()>>,
    ended: Option<io::Result<()>>,
}

impl Labour<'_> {
    /// The child, as soon as there is one. `None` if it came to nothing before.
    pub(super) fn child(&mut self) -> Option<Pid> {
        for look in 0_u64.. {
            self.ended = match self.outcome.try_recv() {
                Ok(outcome) => Some(outcome),
                Err(TryRecvError::Disconnected) => Some(Err(gone())),
                Err(TryRecvError::Empty) => None,
            };
            let child = self.parent.child();
            if child.is_some() || self.ended.is_some() {
                return child;
            }
            // It is about to have one: to sleep would take longer. Unless a file system keeps it waiting.
            match look {
                0..200 => thread::yield_now(),
                _ => thread::sleep(Duration::from_micros(200)),
            }
        }
        None
    }

    /// What came of it.
    pub(super) fn end(self) -> io::Result<()> {
        self.ended.or_else(|| self.outcome.recv().ok()).unwrap_or_else(|| Err(gone()))
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread that was to start it is gone")
}

/// What a thread needs to be a parent: a current folder of its own, and to be asked for its children.
fn prepare() -> io::Result<Option<File>> {
    if unshare(CloneFlags::CLONE_FS).is_err() {
        return Ok(None);
    }
    match File::open("/proc/thread-self/children") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        children => children.map(Some),
    }
}

fn live(number: u64, orders: &Receiver<Birth>) {
    loop {
        match orders.recv_timeout(PATIENCE) {
            Ok(birth) => {
                let outcome = birth.happen();
                if let Some(told) = birth.told {
                    let _ = told.send(outcome);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
                // Who is not among the idle ones has been found, and will be told what to do.
                if let Some(at) = idle.iter().position(|parent| parent.number == number) {
                    idle.swap_remove(at);
                    return;
                }
            }
        }
    }
}

/// A process as it shall be. It speaks of open files by their numbers.
pub(super) struct Birth {
    program: PathBuf,
    folder: PathBuf,
    args: Vec<CString>,
    env: Vec<CString>,
    streams: [RawFd; 3],
    gate: String,
    lifeline: RawFd,
    told: Option<Sender<io::Result<()>>>,
}

impl Birth {
    pub(super) fn of(
        order: &Order<'_>,
        streams: &[OwnedFd; 3],
        gate: &Gate,
        lifeline: &ChildStdin,
    ) -> io::Result<Self> {
        let words = std::iter::once(order.program.as_os_str()).chain(order.args.iter().copied());
        let variables = order.env.iter();
        Ok(Self {
            program: order.program.to_path_buf(),
            folder: order.folder.to_path_buf(),
            args: words.map(|word| text(&[word])).collect::<io::Result<_>>()?,
            env: variables
                .map(|(name, value)| text(&[name, OsStr::new("="), value]))
                .collect::<io::Result<_>>()?,
            streams: streams.each_ref().map(AsRawFd::as_raw_fd),
            gate: gate.path(),
            lifeline: lifeline.as_raw_fd(),
            told: None,
        })
    }

    fn happen(&self) -> io::Result<()> {
        chdir(&self.folder)?;
        let mut actions = PosixSpawnFileActions::init()?;
        // If the host is killed now, nobody opens the gate. The watchdog has to notice that, for which all copies of the
        // lifeline must be gone; and it knows whom to end: whoever has a gate and no stdin.
        actions.add_close(self.lifeline)?;
        actions.add_close(0)?;
        actions.add_open(0, self.gate.as_str(), OFlag::O_RDONLY, Mode::empty())?;
        for (number, stream) in (0..).zip(self.streams) {
            actions.add_dup2(stream, number)?;
        }
        // The host may ignore signals, or hold them back; a hook knows nothing of that.
        let mut attributes = PosixSpawnAttr::init()?;
        let signals =
            PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
        attributes.set_flags(signals | PosixSpawnFlags::from_bits_retain(SET_SESSION))?;
        attributes.set_sigdefault(&SigSet::all())?;
        attributes.set_sigmask(&SigSet::empty())?;
        let born = posix_spawn::<_, CString, CString>(
            self.program.as_path(),
            &actions,
            &attributes,
            &self.args,
            &self.env,
        );
        // Nobody who waits stands in a folder that somebody may want to unmount.
        let _ = chdir("/");
        born?;
        Ok(())
    }
}

fn text(parts: &[&OsStr]) -> io::Result<CString> {
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.as_bytes()).copied().collect();
    Ok(CString::new(bytes)?)
}
