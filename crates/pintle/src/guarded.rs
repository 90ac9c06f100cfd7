//! One shield for every handler of every model: panics, deadlines, and a drop that cannot bring the host down.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

use crate::{Failure, FailureKind};

type BoxedAnswer<A> = Pin<Box<dyn Future<Output = Result<A, Failure>> + Send>>;

/// A handler's call that always comes to an end as far as it is polled: with its answer, or with a failure.
///
/// Creating the future, polling it and dropping it once it has answered share one shield: a handler that answers
/// at once, as most do, is called at about the price of a bare call.
pub(crate) struct Guarded<C, A> {
    create: Option<C>,
    running: Option<BoxedAnswer<A>>,
    limit: Option<Duration>,
    deadline: Option<Instant>,
    /// Made on the first wait only: a handler that answers at once pays for no timer.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<C, A> Guarded<C, A> {
    #[inline]
    pub(crate) fn new(create: C, limit: Option<Duration>) -> Self {
        Self { create: Some(create), running: None, limit, deadline: None, timer: None }
    }

    /// Ends it now. The handler's future is gone when this returns.
    #[cold]
    fn end(&mut self) {
        let ended = self.running.take();
        // A destructor that panics must not take the host along.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(ended))) {
            discard(panic);
        }
    }
}

// The handler's future is behind its own pin.
impl<C, A> Unpin for Guarded<C, A> {}

impl<C: FnOnce() -> BoxedAnswer<A>, A> Future for Guarded<C, A> {
    type Output = Result<A, Failure>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { create, running, limit, deadline, .. } = &mut *self;
        if let Some(limit) = limit
            && create.is_some()
        {
            *deadline = Instant::now().checked_add(*limit);
        }
        let polled = catch_unwind(AssertUnwindSafe(|| {
            if let Some(create) = create.take() {
                *running = Some(create());
            }
            let polled = running.as_mut()?.as_mut().poll(cx);
            if polled.is_ready() {
                // A destructor that panics is a failure of the handler, whatever it answered.
                drop(running.take());
            }
            Some(polled)
        }));
        match polled {
            Ok(Some(Poll::Ready(answer))) => Poll::Ready(answer),
            Ok(Some(Poll::Pending)) => self.poll_clock(cx),
            Ok(None) => Poll::Ready(Err(Failure::new(FailureKind::Gone, "polled after its end"))),
            Err(panic) => {
                self.end();
                Poll::Ready(Err(panicked(panic)))
            }
        }
    }
}

impl<C, A> Guarded<C, A> {
    /// The handler first, then the clock: an answer that is there is never lost.
    fn poll_clock(&mut self, cx: &mut Context<'_>) -> Poll<Result<A, Failure>> {
        let Some(deadline) = self.deadline else { return Poll::Pending };
        // Without a tokio runtime the timer panics: then the handler fails, and the host goes on.
        let waited = catch_unwind(AssertUnwindSafe(|| {
            self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline))).as_mut().poll(cx)
        }));
        let failure = match waited {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(())) => {
                let limit = self.limit.unwrap_or_default();
                Failure::new(FailureKind::TimedOut, format!("no answer within {limit:?}"))
            }
            Err(panic) => panicked(panic),
        };
        self.end();
        Poll::Ready(Err(failure))
    }
}

impl<C, A> Drop for Guarded<C, A> {
    #[inline]
    fn drop(&mut self) {
        if self.running.is_some() {
            self.end();
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
