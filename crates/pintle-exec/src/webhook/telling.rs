//! An event on its way to a webhook, before it is written down.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use pintle::DynEvent;
use serde_json::json;

use super::spool::Message;
use crate::spec::{Scrub, context_of};

/// Who tells, and what must not be told.
pub(super) struct About {
    pub(super) profile: String,
    pub(super) scrub: Option<Scrub>,
}

pub(super) struct Telling {
    event: DynEvent,
    about: Arc<About>,
    now: u64,
}

impl Telling {
    pub(super) fn new(event: DynEvent, about: Arc<About>) -> Self {
        Self { event, about, now: now_millis() }
    }

    pub(super) fn write(self) -> Message {
        let Self { event, about, now } = self;
        let body = json!({
            "v": 1,
            "ts": if event.envelope.ts > 0 { event.envelope.ts } else { now },
            "profile": about.profile,
            "event": event.point,
            "context": context_of(&event, about.scrub.as_ref()),
        });
        Message { id: delivery_id(now), body: body.to_string().into() }
    }
}

fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}

fn delivery_id(now: u64) -> Arc<str> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{now:x}-{:x}-{count:x}", rustix::process::getpid().as_raw_nonzero()).into()
}
