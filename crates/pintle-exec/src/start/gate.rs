//! What a process can be held back with: a FIFO that it opens to read, which lasts until somebody opens it to write.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open, unlink};

use super::{GATE, above_streams};
use crate::mark;

/// Where a FIFO can be made, on one system or another.
const PLACES: [&str; 3] = ["/tmp", "/dev/shm", "/var/tmp"];

/// Those that are made and not in use.
static FREE: Mutex<Vec<Gate>> = Mutex::new(Vec::new());

/// It has no name any more as soon as it is made: nobody can sweep it away, and nothing of it is left behind.
pub(super) struct Gate(OwnedFd);

impl Gate {
    /// One that nobody stands at. `None` where there is no place to make one.
    pub(super) fn take() -> io::Result<Option<Self>> {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match free {
            Some(gate) => Ok(Some(gate)),
            None => Self::make(),
        }
    }

    /// Nobody stands at it any more: the next one may use it.
    pub(super) fn give_back(self) {
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self);
    }

    /// Lets through whoever stands at it, or comes to it while this is held.
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        Ok(open(self.path(), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Where to open it, in this process and in those it forks.
    pub(super) fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }

    fn make() -> io::Result<Option<Self>> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        for place in PLACES {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = format!("{place}/.{GATE}{}-{count}", mark::host());
            if mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).is_err() {
                continue;
            }
            let fifo = open(&path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
            let _ = unlink(&path);
            return above_streams(fifo?).map(|fifo| Some(Self(fifo)));
        }
        Ok(None)
    }
}
