//! Ctrl-C and what else tells the program to stop, heard from the first moment on: one that comes while nobody awaits
//! it is not lost.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a shell makes of Ctrl-C.
const INTERRUPTED: u8 = 130;
/// What a shell makes of a terminal that is gone, and of `kill`.
const HUNG_UP: u8 = 129;
const TERMINATED: u8 = 143;

/// Whoever tells a program to leave kills it after a while: handlers that take longer than this are ended before.
pub(crate) const LEAVES_WITHIN: Duration = Duration::from_secs(8);

/// What stops a run or the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopSignal {
    /// Ctrl-C: stop what runs. A second one leaves at once.
    Stop,
    /// SIGTERM or SIGHUP: stop what runs, in order, and leave with this exit code.
    Leave(u8),
}

impl StopSignal {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Stop => INTERRUPTED,
            Self::Leave(code) => code,
        }
    }
}

pub(crate) struct Interrupts {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
    kept: Option<StopSignal>,
}

impl Interrupts {
    /// From here on none of them ends the process by itself.
    pub(crate) fn listen() -> Self {
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            hang_up: signal(SignalKind::hangup()).ok(),
            kept: None,
        }
    }

    /// It came too late for what it was heard in: it is for what comes next.
    pub(crate) fn keep(&mut self, signal: StopSignal) {
        self.kept = Some(signal);
    }

    /// The next one, or one that has come since the last.
    pub(crate) async fn next(&mut self) -> StopSignal {
        if let Some(kept) = self.kept.take() {
            return kept;
        }
        tokio::select! {
            biased;
            () = heard(&mut self.terminate) => StopSignal::Leave(TERMINATED),
            () = heard(&mut self.hang_up) => StopSignal::Leave(HUNG_UP),
            () = heard(&mut self.interrupt) => StopSignal::Stop,
        }
    }

    /// Does this, unless somebody would rather not: then it is dropped, and this is the exit code.
    pub(crate) async fn or_stopped<T>(&mut self, work: impl Future<Output = T>) -> Result<T, u8> {
        tokio::select! {
            done = work => Ok(done),
            signal = self.next() => Err(signal.code()),
        }
    }

    /// Waits for the last handlers. The exit code when somebody would rather not wait, or has told the program to leave
    /// already.
    pub(crate) async fn last(
        &mut self,
        mut leaves: Option<u8>,
        last: impl Future<Output = ()>,
    ) -> Option<u8> {
        tokio::pin!(last);
        loop {
            let late = async {
                match leaves {
                    Some(_) => tokio::time::sleep(LEAVES_WITHIN).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = &mut last => return leaves,
                () = late => return leaves,
                signal = self.next() => match (signal, leaves) {
                    (StopSignal::Leave(code), None) => leaves = Some(code),
                    (signal, leaves) => return Some(leaves.unwrap_or(signal.code())),
                },
            }
        }
    }
}

async fn heard(signal: &mut Option<Signal>) {
    let heard = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if heard.is_none() {
        std::future::pending().await
    }
}
