//! Where a handler's future sits while it is polled.
//!
//! A future that was polled once cannot be moved, so it has to be on the heap before anybody knows whether it will
//! wait. Most handlers answer at once, and for them that place costs more than the call. So a thread keeps the places
//! of the handlers it has called, empty, for the next call of the same handler.

use std::{
    any::Any,
    cell::Cell,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll, ready},
};

use crate::{
    Failure, FailureKind,
    guarded::{drop_quietly, panicked},
};

/// A handler after its first poll.
pub(crate) enum Started<A, W = Box<dyn Running<A>>> {
    Answered(Result<A, Box<Failure>>),
    Waits(W),
}

/// A handler that waits, without its type.
pub(crate) trait Running<A>: Send {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<A, Box<Failure>>>;
}

/// Creates a handler's future and polls it once; either may panic. All types are known in here: to whoever holds the
/// handler without its type, a handler that answers at once is a single indirect call.
#[inline]
pub(crate) fn start<A, Fut, U>(
    place: Place,
    create: impl FnOnce() -> Fut,
    understand: U,
    cx: &mut Context<'_>,
) -> Started<A>
where
    Fut: Future + Send + 'static,
    U: Fn(Fut::Output) -> Result<A, Box<Failure>> + Copy + Send + 'static,
{
    let mut seat = place.take().unwrap_or_else(|| Seat::new(understand));
    let polled = catch_unwind(AssertUnwindSafe(|| {
        // The place may have been another handler's with a future of the same type.
        seat.understand = understand;
        seat.future.set(Some(create()));
        seat.poll(cx)
    }));
    match polled {
        Ok(Poll::Ready(answer)) => {
            place.keep(seat);
            Started::Answered(answer)
        }
        Ok(Poll::Pending) => Started::Waits(seat),
        Err(panic) => {
            // Out here, where a destructor that panics too is one panic and not two.
            drop_quietly(seat);
            Started::Answered(Err(Box::new(panicked(panic))))
        }
    }
}

struct Seat<Fut, U> {
    future: Pin<Box<Option<Fut>>>,
    understand: U,
}

impl<Fut, U> Seat<Fut, U> {
    fn new(understand: U) -> Box<Self> {
        Box::new(Self { future: Box::pin(None), understand })
    }
}

impl<A, Fut, U> Running<A> for Seat<Fut, U>
where
    Fut: Future + Send,
    U: Fn(Fut::Output) -> Result<A, Box<Failure>> + Send,
{
    #[inline]
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<A, Box<Failure>>> {
        let Some(future) = self.future.as_mut().as_pin_mut() else {
            return Poll::Ready(Err(Box::new(Failure::new(
                FailureKind::Gone,
                "polled after its end",
            ))));
        };
        let answer = ready!(future.poll(cx));
        // A handler has answered when its future is gone: a destructor that panics is a failure like any other.
        self.future.set(None);
        Poll::Ready((self.understand)(answer))
    }
}

/// How many places a thread keeps, and how large the futures in them may be: no more than 256 KiB per thread.
const PLACES: usize = 256;
const LARGEST: usize = 1024;

thread_local! {
    static KEPT: [Cell<Option<Box<dyn Any>>>; PLACES] =
        const { [const { Cell::new(None) }; PLACES] };
}

/// A handler's place in each thread. Two handlers may have the same: then they take turns.
#[derive(Clone, Copy)]
pub(crate) struct Place(usize);

impl Place {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed) % PLACES)
    }

    /// What this handler left there, if it is there: it is not while the handler waits or calls itself.
    #[inline]
    fn take<S: 'static>(self) -> Option<Box<S>> {
        let kept = KEPT.try_with(|kept| kept.get(self.0)?.take()).ok().flatten()?;
        kept.downcast().ok()
    }

    #[inline]
    fn keep<Fut: 'static, U: 'static>(self, seat: Box<Seat<Fut, U>>) {
        if size_of::<Fut>() <= LARGEST {
            // A thread that is about to end keeps nothing.
            let _ = KEPT.try_with(|kept| kept.get(self.0).map(|place| place.set(Some(seat))));
        }
    }
}
