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

/// A handler's future that always comes to an end as far as it is polled: with its answer, or with a failure.
pub(crate) struct Guarded<A> {
    state: State<A>,
    deadline: Option<Deadline>,
}

enum State<A> {
    Running(BoxedAnswer<A>),
    /// Creating the future panicked already.
    Failed(Option<Failure>),
}

struct Deadline {
    limit: Duration,
    at: Instant,
    /// Made on the first wait only: a handler that answers at once pays for no timer.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<A> Guarded<A> {
    pub(crate) fn new(create: impl FnOnce() -> BoxedAnswer<A>, limit: Option<Duration>) -> Self {
        let deadline = limit.and_then(|limit| {
            Instant::now().checked_add(limit).map(|at| Deadline { limit, at, timer: None })
        });
        let state = match catch_unwind(AssertUnwindSafe(create)) {
            Ok(future) => State::Running(future),
            Err(panic) => State::Failed(Some(panicked(panic))),
        };
        Self { state, deadline }
    }

    /// Ends it now. The handler's future is gone when this returns.
    fn end(&mut self) {
        let ended = std::mem::replace(&mut self.state, State::Failed(None));
        // A destructor that panics must not take the host along.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(ended))) {
            discard(panic);
        }
    }
}

impl<A> Future for Guarded<A> {
    type Output = Result<A, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let future = match &mut this.state {
            State::Running(future) => future,
            State::Failed(failure) => {
                let again = || Failure::new(FailureKind::Gone, "polled after its end");
                return Poll::Ready(Err(failure.take().unwrap_or_else(again)));
            }
        };
        // The handler first, then the clock: an answer that is there is never lost.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Ready(answer)) => {
                this.end();
                return Poll::Ready(answer);
            }
            Err(panic) => {
                this.end();
                return Poll::Ready(Err(panicked(panic)));
            }
            Ok(Poll::Pending) => {}
        }
        let Some(Deadline { limit, at, timer }) = &mut this.deadline else { return Poll::Pending };
        let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(*at)));
        if timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        let limit = *limit;
        this.end();
        Poll::Ready(Err(Failure::new(FailureKind::TimedOut, format!("no answer within {limit:?}"))))
    }
}

impl<A> Drop for Guarded<A> {
    fn drop(&mut self) {
        self.end();
    }
}

fn panicked(panic: Box<dyn Any + Send>) -> Failure {
    let message = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    discard(panic);
    Failure::new(FailureKind::Panicked, message)
}

/// A panic's payload may itself panic when dropped. Then it is leaked: better than an abort.
fn discard(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
}
