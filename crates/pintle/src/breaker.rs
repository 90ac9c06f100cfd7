//! The circuit breaker of a gate's handler: one that times out again and again is not waited for each time.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::{Failure, FailureKind, HandlerInfo};

/// So long after the last try an open breaker lets one call through.
const PAUSE: Duration = Duration::from_secs(30);

/// Closed, it lets every call through. Open, it fails every call at once, so that the gate blocks; after a pause one call
/// tries the handler again, and an answer closes it.
#[derive(Default)]
pub(crate) struct Breaker {
    /// Timeouts since the last answer: all that a call looks at as long as there are none.
    timeouts: AtomicU32,
    times: Mutex<Option<Times>>,
}

#[derive(Clone, Copy)]
struct Times {
    first_timeout: Instant,
    retry_at: Instant,
}

impl Breaker {
    #[inline]
    pub(crate) fn has_timed_out(&self) -> bool {
        self.timeouts.load(Ordering::Relaxed) != 0
    }

    /// Why the handler is not called now. `None` once per pause: the caller that gets it makes the try.
    #[cold]
    pub(crate) fn refuse(&self) -> Option<Failure> {
        let mut times = self.times();
        let failure = self.failure(*times)?;
        let times = times.as_mut()?;
        if times.retry_at > Instant::now() {
            return Some(failure);
        }
        // Set before the try: other calls block meanwhile, and a try that is cancelled leaves nothing behind.
        times.retry_at = Instant::now() + PAUSE;
        None
    }

    /// That the handler is failing, since when, and when it is tried again.
    pub(crate) fn failing(&self) -> Option<Failure> {
        self.failure(*self.times())
    }

    fn failure(&self, times: Option<Times>) -> Option<Failure> {
        let timeouts = self.timeouts.load(Ordering::Relaxed);
        let Times { first_timeout, retry_at } =
            times.filter(|_| timeouts >= HandlerInfo::FAILING_AFTER)?;
        let retry = match retry_at.saturating_duration_since(Instant::now()) {
            Duration::ZERO => "at its next call".to_string(),
            wait => format!("in {} s", wait.as_secs_f64().ceil()),
        };
        let since = first_timeout.elapsed().as_secs();
        let message = format!(
            "the hook is failing, so it was not called ({timeouts} timeouts without an answer, the first {since} s ago); it is \
             tried again {retry}"
        );
        Some(Failure::new(FailureKind::TimedOut, message))
    }

    /// Takes what came of a call. A process that is gone has not answered either; every other failure came in time.
    #[cold]
    pub(crate) fn note(&self, failure: Option<&Failure>) {
        let mut times = self.times();
        match failure.map(|failure| failure.kind) {
            Some(FailureKind::TimedOut) => {
                let now = Instant::now();
                let first_timeout = times.map_or(now, |times| times.first_timeout);
                *times = Some(Times { first_timeout, retry_at: now + PAUSE });
                self.timeouts.fetch_add(1, Ordering::Relaxed);
            }
            Some(FailureKind::Gone) => {}
            _ => {
                *times = None;
                self.timeouts.store(0, Ordering::Relaxed);
            }
        }
    }

    fn times(&self) -> MutexGuard<'_, Option<Times>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
