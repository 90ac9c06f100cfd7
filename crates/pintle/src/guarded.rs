//! One shield for every handler that waits: panics, deadlines, and a drop that cannot bring the host down.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep};

use crate::{Failure, FailureKind, future_pool::Running, model::Reply};

/// Around a handler that waits: as far as it is polled it always comes to an end, with the handler's answer or with a
/// failure.
pub(crate) struct Shield<A> {
    running: Option<Box<dyn Running<A>>>,
    limit: Option<Duration>,
    /// Made on the first wait only: a handler that answers at once pays for no clock. Code before its first await
    /// could not be interrupted anyway.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<A> Shield<A> {
    /// Starts the clock of a handler that has just been polled and waits.
    #[cold]
    pub(crate) fn raise(
        running: Box<dyn Running<A>>,
        limit: Option<Duration>,
        cx: &mut Context<'_>,
    ) -> Result<Self, Box<Failure>> {
        let mut shield = Self { running: Some(running), limit, timer: None };
        match shield.poll_clock(cx) {
            Poll::Pending => Ok(shield),
            Poll::Ready(failure) => Err(failure),
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Reply<A>> {
        let polled = catch_unwind(AssertUnwindSafe(|| match &mut self.running {
            Some(running) => running.poll(cx),
            None => Poll::Pending,
        }));
        match polled {
            Ok(Poll::Ready(reply)) => Poll::Ready(reply),
            // The handler first, then the clock: an answer that is there is never lost.
            Ok(Poll::Pending) => self.poll_clock(cx).map(Reply::Failed),
            Err(panic) => {
                self.end();
                Poll::Ready(Reply::failed(panicked(panic)))
            }
        }
    }

    fn poll_clock(&mut self, cx: &mut Context<'_>) -> Poll<Box<Failure>> {
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
        Poll::Ready(Box::new(failure))
    }

    /// Ends the handler now: its future is gone when this returns.
    fn end(&mut self) {
        drop_quietly(self.running.take());
    }
}

impl<A> Drop for Shield<A> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cold]
pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> Failure {
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
    quietly(|| drop(value));
}

/// Calls what may panic and has nothing to say.
pub(crate) fn quietly(call: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
        discard(panic);
    }
}

/// A panic's payload may itself panic when dropped. Then it is leaked: better than an abort.
pub(crate) fn discard(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
}
