//! One shield for every handler of every model: panics, deadlines, and a drop that cannot bring the host down.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep};
use tokio_util::sync::ReusableBoxFuture;

use crate::{Failure, FailureKind};

/// Where a handler's future sits. The place is used again by the next handler of the fire, so that ten handlers that
/// answer at once cost one allocation, not ten.
pub(crate) type Seat<A> = Option<ReusableBoxFuture<'static, Result<A, Box<Failure>>>>;

/// Seats a handler's future.
#[inline]
pub(crate) fn sit<A, F>(seat: &mut Seat<A>, future: F)
where
    F: Future<Output = Result<A, Box<Failure>>> + Send + 'static,
    A: 'static,
{
    match seat {
        Some(used) => used.set(future),
        None => *seat = Some(ReusableBoxFuture::new(future)),
    }
}

/// Around one handler at a time: as far as it is polled it always comes to an end, with the handler's answer or with a
/// failure.
pub(crate) struct Shield<A> {
    seat: Seat<A>,
    limit: Option<Duration>,
    /// Made on the first wait only: a handler that answers at once pays for no clock. Code before its first await
    /// could not be interrupted anyway.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<A> Shield<A> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self { seat: None, limit: None, timer: None }
    }

    /// Creates a handler's future, which may panic too, and polls it for the first time.
    #[inline]
    pub(crate) fn start(
        &mut self,
        limit: Option<Duration>,
        create: impl FnOnce(&mut Seat<A>),
        cx: &mut Context<'_>,
    ) -> Poll<Result<A, Box<Failure>>> {
        self.limit = limit;
        self.timer = None;
        let seat = &mut self.seat;
        let polled = catch_unwind(AssertUnwindSafe(|| {
            create(seat);
            poll_seat(seat, cx)
        }));
        self.settle(polled, cx)
    }

    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<A, Box<Failure>>> {
        let seat = &mut self.seat;
        let polled = catch_unwind(AssertUnwindSafe(|| poll_seat(seat, cx)));
        self.settle(polled, cx)
    }

    #[inline]
    fn settle(
        &mut self,
        polled: std::thread::Result<Poll<Result<A, Box<Failure>>>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<A, Box<Failure>>> {
        match polled {
            Ok(Poll::Ready(answer)) => Poll::Ready(answer),
            // The handler first, then the clock: an answer that is there is never lost.
            Ok(Poll::Pending) => self.poll_clock(cx),
            Err(panic) => {
                self.end();
                Poll::Ready(Err(Box::new(panicked(panic))))
            }
        }
    }

    fn poll_clock(&mut self, cx: &mut Context<'_>) -> Poll<Result<A, Box<Failure>>> {
        let Some(limit) = self.limit else { return Poll::Pending };
        // Without a tokio runtime the timer panics: then the handler fails, and the host goes on.
        let waited = catch_unwind(AssertUnwindSafe(|| {
            self.timer.get_or_insert_with(|| Box::pin(sleep(limit))).as_mut().poll(cx)
        }));
        let failure = match waited {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(())) => {
                Failure::new(FailureKind::TimedOut, format!("no answer within {limit:?}"))
            }
            Err(panic) => panicked(panic),
        };
        self.end();
        Poll::Ready(Err(Box::new(failure)))
    }

    /// Ends the handler now: its future is gone when this returns.
    #[cold]
    fn end(&mut self) {
        drop_quietly(self.seat.take());
    }
}

fn poll_seat<A>(seat: &mut Seat<A>, cx: &mut Context<'_>) -> Poll<Result<A, Box<Failure>>> {
    match seat {
        Some(running) => running.poll(cx),
        None => Poll::Ready(Err(Box::new(Failure::new(FailureKind::Gone, "polled after its end")))),
    }
}

/// A handler that waits, beside others that do.
impl<A> Future for Shield<A> {
    type Output = Result<A, Box<Failure>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Shield::poll(&mut self, cx)
    }
}

impl<A> Drop for Shield<A> {
    #[inline]
    fn drop(&mut self) {
        if self.seat.is_some() {
            drop_quietly(self.seat.take());
        }
    }
}

#[cold]
fn panicked(panic: Box<dyn Any + Send>) -> Failure {
    let message = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    discard(panic);
    Failure::new(FailureKind::Panicked, message)
}

/// Drops a value whose destructor may panic.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        discard(panic);
    }
}

/// A panic's payload may itself panic when dropped. Then it is leaked: better than an abort.
pub(crate) fn discard(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
}
