//! Starting a process that does nothing before it carries its mark.
//!
//! `posix_spawn` costs the same however much memory the host has, and it makes a session; but it says which process
//! it made only when that one runs its program. So the last thing the new process does before is to open a
//! [`Gate`]. Its parent is a thread of its own, for two reasons: whoever spawns is not awake until the program runs, and a
//! thread can have a current folder of its own, which the process inherits. The caller finds it among that
//! thread's children, marks it, gets all it needs to wait for it, and only then opens the gate. If anything of that fails, the
//! process is killed where it stands: nothing of the hook has run.

use std::{
    ffi::{CString, OsStr},
    fs::File,
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::FileExt},
    },
    process::ChildStdin,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, ScopedJoinHandle},
};

use nix::{
    fcntl::OFlag,
    sched::{CloneFlags, unshare},
    spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn},
    sys::{signal::SigSet, stat::Mode},
};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, chdir, kill_process, waitid};

use super::{Child, Order, gate::Gate};

/// `POSIX_SPAWN_SETSID` of Linux, for which `nix` has no name.
const SET_SESSION: i32 = 0x80;

/// Starts it. `None` where the system does not allow this (a container may not): then nothing was started.
pub(super) fn start(order: &Order<'_>, streams: &[OwnedFd; 3]) -> io::Result<Option<Child>> {
    static REFUSED: AtomicBool = AtomicBool::new(false);
    if REFUSED.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let (Some(gate), Some(lifeline)) = (Gate::make()?, &order.lifeline) else { return Ok(None) };
    let (tell, told) = mpsc::channel();
    let child = thread::scope(|scope| {
        let builder = thread::Builder::new().name("pintle-parent".into());
        let parent = builder.spawn_scoped(scope, || bear(order, streams, &gate, lifeline, tell))?;
        let Ok(children) = told.recv() else {
            // It did not come so far as to have children.
            return outcome(parent).map(|_| None);
        };
        let Some(pid) = first_child(&children, &parent) else {
            outcome(parent)?;
            return Err(io::Error::other("it was gone before it began"));
        };
        order.mark.put_on(pid);
        match Child::of(pid).and_then(|child| Ok((child, gate.open()?))) {
            Ok((child, _open)) => outcome(parent).map(|_| Some(child)),
            Err(error) => {
                let _ = kill_process(pid, Signal::KILL);
                let ended = outcome(parent);
                let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
                // What kept the process from coming as far as the gate says more than that it is not there.
                ended.and(Err(error))
            }
        }
    })?;
    if child.is_none() {
        REFUSED.store(true, Ordering::Relaxed);
    }
    Ok(child)
}

/// A process as it shall be, in the system's own words.
struct Image {
    args: Vec<CString>,
    env: Vec<CString>,
    actions: PosixSpawnFileActions,
    attributes: PosixSpawnAttr,
}

impl Image {
    fn of(
        order: &Order<'_>,
        streams: &[OwnedFd; 3],
        gate: &Gate,
        lifeline: &ChildStdin,
    ) -> io::Result<Self> {
        let words = std::iter::once(order.program.as_os_str()).chain(order.args.iter().copied());
        let args = words.map(|word| text(&[word])).collect::<io::Result<_>>()?;
        let variables = order.env.iter();
        let env = variables.map(|(name, value)| text(&[name, OsStr::new("="), value]));
        let env = env.collect::<io::Result<_>>()?;

        let mut actions = PosixSpawnFileActions::init()?;
        // If the host is killed now, nobody opens the gate. The watchdog has to notice that, for which all copies of the
        // lifeline must be gone; and it knows whom to end: whoever has a gate and no stdin.
        actions.add_close(lifeline.as_raw_fd())?;
        actions.add_close(0)?;
        actions.add_open(0, gate.path().as_str(), OFlag::O_RDONLY, Mode::empty())?;
        for (number, stream) in (0..).zip(streams) {
            actions.add_dup2(stream.as_raw_fd(), number)?;
        }

        // The host may ignore signals, or hold them back; a hook knows nothing of that.
        let mut attributes = PosixSpawnAttr::init()?;
        let signals =
            PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
        attributes.set_flags(signals | PosixSpawnFlags::from_bits_retain(SET_SESSION))?;
        attributes.set_sigdefault(&SigSet::all())?;
        attributes.set_sigmask(&SigSet::empty())?;
        Ok(Self { args, env, actions, attributes })
    }
}

fn text(parts: &[&OsStr]) -> io::Result<CString> {
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.as_bytes()).copied().collect();
    Ok(CString::new(bytes)?)
}

/// The life of the parent. It tells where to read which children it has; if it ends without, this is not allowed.
fn bear(
    order: &Order<'_>,
    streams: &[OwnedFd; 3],
    gate: &Gate,
    lifeline: &ChildStdin,
    tell: mpsc::Sender<File>,
) -> io::Result<()> {
    if unshare(CloneFlags::CLONE_FS).is_err() {
        return Ok(());
    }
    let children = match File::open("/proc/thread-self/children") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        children => children?,
    };
    chdir(order.folder)?;
    let Image { args, env, actions, attributes } = Image::of(order, streams, gate, lifeline)?;
    if tell.send(children).is_ok() {
        posix_spawn(order.program, &actions, &attributes, &args, &env)?;
    }
    Ok(())
}

/// The child, as soon as there is one. `None` if the parent has ended without.
fn first_child(children: &File, parent: &ScopedJoinHandle<'_, io::Result<()>>) -> Option<Pid> {
    loop {
        let ended = parent.is_finished();
        let mut numbers = [0; 32];
        let length = children.read_at(&mut numbers, 0).unwrap_or_default();
        let text = str::from_utf8(numbers.get(..length)?).ok()?;
        let number = text.split_ascii_whitespace().next().and_then(|number| number.parse().ok());
        if let Some(pid) = number.and_then(Pid::from_raw) {
            return Some(pid);
        }
        if ended {
            return None;
        }
        // It is about to have one: to sleep would take longer.
        thread::yield_now();
    }
}

fn outcome(parent: ScopedJoinHandle<'_, io::Result<()>>) -> io::Result<()> {
    parent.join().unwrap_or_else(|_| Err(io::Error::other("its parent panicked")))
}
