//! What pauses a process: a FIFO that it opens to read, which blocks until the host opens it to write.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open, unlink};

use super::FIFO_PREFIX;
use crate::process::{process_tag, streams::above_streams};

/// Where a FIFO can be made, on one system or another. In memory it costs less than on a disk.
const PLACES: [&str; 3] = ["/dev/shm", "/tmp", "/var/tmp"];

/// A FIFO for one process. A process that is forked while another one is released inherits the open FIFO for a moment, so a
/// FIFO that is used twice might not block.
///
/// It has no name as soon as it is made: nothing can remove it, and nothing of it is left behind.
pub(super) struct PauseFifo(OwnedFd);

impl PauseFifo {
    /// `None` where there is no place to make one.
    pub(super) fn make() -> io::Result<Option<Self>> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        for place in PLACES {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = format!("{place}/.{FIFO_PREFIX}{}-{count}", process_tag::host());
            if mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).is_err() {
                continue;
            }
            let fifo = open(&path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
            let _ = unlink(&path);
            return above_streams(fifo?).map(|fifo| Some(Self(fifo)));
        }
        Ok(None)
    }

    /// Where to open it, in this process and in those it forks.
    pub(super) fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }

    /// Releases the process that opens it, now or while the result is held.
    pub(super) fn release(&self) -> io::Result<OwnedFd> {
        Ok(open(self.path(), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
    }
}
