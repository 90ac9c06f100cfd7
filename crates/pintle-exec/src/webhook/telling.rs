//! An event on its way to a webhook, before it is written down.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use pintle::DynEvent;
use serde::Serialize;

use super::journal::Message;
use crate::{context::Context, spec::Scrub};

/// About what a body takes beside the payload.
const ENVELOPE: usize = 512;

/// Who tells, signed with which secret, and what must not be told.
pub(super) struct About {
    pub(super) profile: String,
    pub(super) secret: Option<Arc<str>>,
    pub(super) scrub: Option<Scrub>,
}

pub(super) struct Telling {
    event: DynEvent,
    about: Arc<About>,
    pub(super) now: u64,
    /// About as many bytes as it takes.
    pub(super) size: usize,
}

impl Telling {
    pub(super) fn new(event: DynEvent, about: Arc<About>) -> Self {
        let size = ENVELOPE + event.json.payload_size();
        Self { event, about, now: now_millis(), size }
    }

    pub(super) fn write(self, url: &Arc<str>, owner: &Arc<str>) -> Message {
        let Self { event, about, now, .. } = &self;
        let body = Body {
            v: 1,
            ts: if event.envelope.ts > 0 { event.envelope.ts } else { *now },
            profile: &about.profile,
            event: event.point,
            context: Context { event, scrub: about.scrub.as_ref() },
        };
        // A value that JSON cannot hold (there is none in an event) would leave an empty body, not a lost message.
        let body = serde_json::to_string(&body).unwrap_or_default().into();
        let (url, owner, secret) = (url.clone(), owner.clone(), about.secret.clone());
        Message { at: *now, id: delivery_id(*now), url, owner, secret, tries: 0, body }
    }
}

#[derive(Serialize)]
struct Body<'a> {
    v: u32,
    ts: u64,
    profile: &'a str,
    event: &'static str,
    context: Context<'a>,
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
