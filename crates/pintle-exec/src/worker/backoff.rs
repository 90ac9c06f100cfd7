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
        self.until = self.wait().map(|wait| Instant::now() + wait);
    }

    /// How long to wait after this many deaths in a row. The first is an accident, the second a habit.
    fn wait(&self) -> Option<Duration> {
        let doublings = self.deaths.checked_sub(2)?;
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        Some(self.first.saturating_mul(factor).min(self.longest))
    }

    /// How long it still has to wait, if it has to.
    pub(super) fn remaining(&self) -> Option<Duration> {
        self.until
            .map(|until| until.saturating_duration_since(Instant::now()))
            .filter(|wait| !wait.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R8.7
    #[test]
    fn each_death_in_a_row_makes_the_wait_twice_as_long_up_to_a_limit() {
        let seconds = Duration::from_secs;
        let mut backoff = Backoff::new(seconds(1), seconds(30));
        let mut waits = |deaths: usize| -> Vec<_> {
            std::iter::repeat_with(|| {
                backoff.died();
                backoff.wait()
            })
            .take(deaths)
            .collect()
        };
        let expected = [None, Some(1), Some(2), Some(4), Some(8), Some(16), Some(30), Some(30)];
        assert_eq!(waits(8), expected.map(|wait| wait.map(seconds)));
        assert_eq!(waits(100).last(), Some(&Some(seconds(30))), "no overflow");
        backoff.answered();
        assert_eq!((backoff.wait(), backoff.remaining()), (None, None));
    }
}
