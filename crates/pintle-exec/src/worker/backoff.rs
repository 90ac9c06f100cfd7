//! When a process that died may be started again.

use std::time::Duration;

use tokio::time::Instant;

pub(super) struct Backoff {
    first: Duration,
    longest: Duration,
    /// Deaths since it last answered anything.
    deaths: u32,
    until: Option<Instant>,
}

impl Backoff {
    pub(super) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, deaths: 0, until: None }
    }

    /// It answered: whatever happens next is a new story.
    pub(super) fn answered(&mut self) {
        self.deaths = 0;
        self.until = None;
    }

    pub(super) fn died(&mut self) {
        self.deaths = self.deaths.saturating_add(1);
        // The first death is an accident, the second a habit.
        self.until = self.deaths.checked_sub(2).map(|doublings| {
            let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
            Instant::now() + self.first.saturating_mul(factor).min(self.longest)
        });
    }

    /// How long it still has to wait, if it has to.
    pub(super) fn remaining(&self) -> Option<Duration> {
        self.until
            .map(|until| until.saturating_duration_since(Instant::now()))
            .filter(|wait| !wait.is_zero())
    }
}
