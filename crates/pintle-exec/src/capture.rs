//! Reading what a process writes, to a cap.

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::answer::hides_a_verdict;

/// How much of stdout, and of stderr, is kept; for a worker, how long a line may be.
pub const OUTPUT_CAP: usize = 64 * 1024;

/// How much is read and thrown away beyond that before the process is ended for flooding: a chatty hook may go
/// on, an endless one may not.
pub const FLOOD_LIMIT: usize = 8 * 1024 * 1024;

/// The beginning of a stream.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    pub(crate) kept: Vec<u8>,
    /// Whether this is all: the stream was closed.
    pub(crate) ended: bool,
    /// Whether there is a verdict in what was thrown away.
    pub(crate) lost_verdict: bool,
    /// The end of what was read last: a verdict may come in two pieces.
    last: Vec<u8>,
    seen: usize,
}

/// The stream went past [`FLOOD_LIMIT`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flood;

impl Capture {
    /// Reads to the end; may be given up and taken up again. What does not fit is never held. An error of the pipe is its end.
    pub(crate) async fn drain(&mut self, mut stream: impl AsyncRead + Unpin) -> Result<(), Flood> {
        let mut chunk = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = stream.read(&mut chunk).await {
            self.seen += count;
            let read = chunk.get(..count).unwrap_or_default();
            let room = OUTPUT_CAP - self.kept.len();
            self.kept.extend(read.iter().take(room));
            self.glance(read);
            if self.seen > FLOOD_LIMIT {
                return Err(Flood);
            }
        }
        self.ended = true;
        Ok(())
    }

    /// Looks for a verdict as soon as something does not fit.
    fn glance(&mut self, read: &[u8]) {
        const OVERLAP: usize = 256;
        self.last.extend_from_slice(read);
        if self.truncated() {
            self.lost_verdict |= hides_a_verdict(&String::from_utf8_lossy(&self.last));
        }
        self.last.drain(..self.last.len().saturating_sub(OVERLAP));
    }

    /// Whether there was more than was kept.
    pub(crate) fn truncated(&self) -> bool {
        self.seen > self.kept.len()
    }
}
