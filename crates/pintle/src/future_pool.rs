//! The memory that a handler's future is polled in, reused from call to call.
//!
//! A future that was polled once cannot be moved, so it has to be on the heap before anybody knows whether it will
//! wait. Most handlers answer at once, and for them that slot costs more than the call. So a thread keeps the slots
//! of the handlers it has called, empty, for the next call of the same handler.

use std::{
    any::Any,
    cell::Cell,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::atomic::{AtomicU8, Ordering},
    task::{Context, Poll, ready},
};

use crate::{
    Failure, FailureKind,
    guarded::{drop_quietly, panicked},
    model::Reply,
};

/// A handler that was called and polled once: it has answered, or it waits.
pub(crate) enum Started<A> {
    Replied(Reply<A>),
    Waiting(Box<dyn Running<A>>),
}

/// A handler that waits, without its type.
pub(crate) trait Running<A>: Send {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Reply<A>>;
}

/// Creates a handler's future and polls it once; either may panic. All types are known in here: to the caller, which
/// holds the handler without its type, a handler that answers at once is a single indirect call.
#[inline]
pub(crate) fn start<A, Fut, U>(
    id: SlotId,
    create: impl FnOnce() -> Fut,
    understand: U,
    cx: &mut Context<'_>,
) -> Started<A>
where
    Fut: Future + Send + 'static,
    U: Fn(Fut::Output) -> Reply<A> + Copy + Send + 'static,
{
    let mut slot = id.take().unwrap_or_else(|| Slot::new(understand));
    let polled = catch_unwind(AssertUnwindSafe(|| {
        // The slot may have been another handler's with a future of the same type.
        slot.understand = understand;
        slot.future.set(Some(create()));
        slot.poll(cx)
    }));
    match polled {
        Ok(Poll::Ready(reply)) => {
            id.keep(slot);
            Started::Replied(reply)
        }
        Ok(Poll::Pending) => Started::Waiting(slot),
        Err(panic) => {
            // Out here, where a destructor that panics too is one panic and not two.
            drop_quietly(slot);
            Started::Replied(Reply::failed(panicked(panic)))
        }
    }
}

struct Slot<Fut, U> {
    future: Pin<Box<Option<Fut>>>,
    understand: U,
}

impl<Fut, U> Slot<Fut, U> {
    fn new(understand: U) -> Box<Self> {
        Box::new(Self { future: Box::pin(None), understand })
    }
}

impl<A, Fut, U> Running<A> for Slot<Fut, U>
where
    Fut: Future + Send,
    U: Fn(Fut::Output) -> Reply<A> + Send,
{
    #[inline]
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Reply<A>> {
        let Some(future) = self.future.as_mut().as_pin_mut() else {
            let failure = Failure::new(FailureKind::Gone, "polled after its end");
            return Poll::Ready(Reply::failed(failure));
        };
        let answer = ready!(future.poll(cx));
        // A handler has answered when its future is gone: a destructor that panics is a failure like any other.
        self.future.set(None);
        Poll::Ready((self.understand)(answer))
    }
}

/// How many slots a thread keeps, and how large the futures in them may be: no more than 256 KiB per thread.
const SLOTS: usize = 1 << u8::BITS;
const LARGEST: usize = 1024;

thread_local! {
    static KEPT: [Cell<Option<Box<dyn Any>>>; SLOTS] =
        const { [const { Cell::new(None) }; SLOTS] };
}

/// A handler's slot in each thread. Two handlers may have the same: then they take turns.
#[derive(Clone, Copy)]
pub(crate) struct SlotId(u8);

impl SlotId {
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
    fn keep<Fut: 'static, U: 'static>(self, slot: Box<Slot<Fut, U>>) {
        if size_of::<Fut>() <= LARGEST {
            // A thread that is about to end keeps nothing.
            let _ = KEPT
                .try_with(|kept| kept.get(usize::from(self.0)).map(|cell| cell.set(Some(slot))));
        }
    }
}
