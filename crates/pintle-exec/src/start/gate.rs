//! What a process can be held back with: a FIFO that it opens to read, which lasts until somebody opens it to write.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open, unlink};

use super::{GATE, above_streams};
use crate::mark;

/// Where a FIFO can be made, on one system or another. In memory it costs less than on a disk.
const PLACES: [&str; 3] = ["/dev/shm", "/tmp", "/var/tmp"];

/// For one process, once: a process that is forked while this one's gate is open keeps it open for a moment longer, and
/// whoever came to it next would not be held back.
///
/// It has no name any more as soon as it is made: nobody can sweep it away, and nothing of it is left behind.
pub(super) struct Gate(OwnedFd);

impl Gate {
    /// Lets through whoever stands at it, or comes to it while this is held.
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        Ok(open(self.path(), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Where to open it, in this process and in those it forks.
    pub(super) fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }

    /// `None` where there is no place to make one.
    pub(super) fn make() -> io::Result<Option<Self>> {
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
