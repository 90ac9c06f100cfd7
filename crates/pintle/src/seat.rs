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
    sync::atomic::{AtomicU8, Ordering},
    task::{Context, Poll},
};

use crate::{
    Failure, FailureKind,
    guarded::{drop_quietly, panicked},
    model::Said,
};

/// Where a handler's answer is put. It is written there once and read there: an answer that is handed up by value is
/// copied at each call, and a copy of what was just written stalls the processor longer than the call takes.
pub(crate) type Answered<A> = Option<Said<A>>;

/// A handler that waits, without its type.
pub(crate) trait Running<A>: Send {
    /// Puts the answer into `answered`, if it is there.
    fn poll(&mut self, answered: &mut Answered<A>, cx: &mut Context<'_>);
}

/// Creates a handler's future and polls it once; either may panic. All types are known in here: to whoever holds the
/// handler without its type, a handler that answers at once is a single indirect call.
#[inline]
pub(crate) fn start<A, Fut, U>(
    place: Place,
    create: impl FnOnce() -> Fut,
    understand: U,
    answered: &mut Answered<A>,
    cx: &mut Context<'_>,
) -> Option<Box<dyn Running<A>>>
where
    Fut: Future + Send + 'static,
    U: Fn(Fut::Output) -> Said<A> + Copy + Send + 'static,
{
    let mut seat = place.take().unwrap_or_else(|| Seat::new(understand));
    let ended = catch_unwind(AssertUnwindSafe(|| {
        // The place may have been another handler's with a future of the same type.
        seat.understand = understand;
        seat.future.set(Some(create()));
        seat.poll(answered, cx);
    }));
    match ended {
        Ok(()) if answered.is_some() => place.keep(seat),
        Ok(()) => return Some(seat),
        Err(panic) => {
            // Out here, where a destructor that panics too is one panic and not two.
            drop_quietly(seat);
            *answered = Some(Said::failed(panicked(panic)));
        }
    }
    None
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
    U: Fn(Fut::Output) -> Said<A> + Send,
{
    #[inline(always)]
    fn poll(&mut self, answered: &mut Answered<A>, cx: &mut Context<'_>) {
        let Some(future) = self.future.as_mut().as_pin_mut() else {
            *answered = Some(Said::failed(Failure::new(FailureKind::Gone, "polled after its end")));
            return;
        };
        let Poll::Ready(answer) = future.poll(cx) else { return };
        // A handler has answered when its future is gone: a destructor that panics is a failure like any other.
        self.future.set(None);
        answered.get_or_insert_with(|| (self.understand)(answer));
    }
}

/// How many places a thread keeps, and how large the futures in them may be: no more than 256 KiB per thread.
const PLACES: usize = 1 << u8::BITS;
const LARGEST: usize = 1024;

thread_local! {
    static KEPT: [Cell<Option<Box<dyn Any>>>; PLACES] =
        const { [const { Cell::new(None) }; PLACES] };
}

/// A handler's place in each thread. Two handlers may have the same: then they take turns.
#[derive(Clone, Copy)]
pub(crate) struct Place(u8);

impl Place {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU8 = AtomicU8::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// What this handler left there, if it is there: it is not while the handler waits or calls itself.
    #[inline]
    fn take<S: 'static>(self) -> Option<Box<S>> {
        let kept = KEPT.try_with(|kept| kept.get(usize::from(self.0))?.take()).ok().flatten()?;
        kept.downcast().ok()
    }

    #[inline]
    fn keep<Fut: 'static, U: 'static>(self, seat: Box<Seat<Fut, U>>) {
        if size_of::<Fut>() <= LARGEST {
            // A thread that is about to end keeps nothing.
            let _ = KEPT
                .try_with(|kept| kept.get(usize::from(self.0)).map(|place| place.set(Some(seat))));
        }
    }
}
