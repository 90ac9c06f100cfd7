//! Ctrl-C, SIGTERM and SIGHUP, caught from the start: a signal that comes while nothing awaits it is not lost.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The exit code after Ctrl-C, as shells report it.
pub(crate) const INTERRUPTED: u8 = 130;
/// The exit codes after SIGHUP and SIGTERM, as shells report them.
const HUNG_UP: u8 = 129;
const TERMINATED: u8 = 143;

/// A service manager sends SIGKILL some time after SIGTERM: handlers that take longer than this are ended first.
pub(crate) const LEAVES_WITHIN: Duration = Duration::from_secs(8);

/// A signal that stops a run or the program.
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
    /// From here on none of these signals ends the process by itself.
    pub(crate) fn listen() -> Self {
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            hang_up: signal(SignalKind::hangup()).ok(),
            kept: None,
        }
    }

    /// Keeps a signal that came after the end of this run, for the next step.
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

    /// Runs a future until a signal comes. The future is then dropped, and the error is the exit code.
    pub(crate) async fn or_stopped<T>(&mut self, work: impl Future<Output = T>) -> Result<T, u8> {
        tokio::select! {
            done = work => Ok(done),
            signal = self.next() => Err(signal.code()),
        }
    }

    /// Waits for the last handlers. Returns the exit code after another signal, or if one has come already.
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
