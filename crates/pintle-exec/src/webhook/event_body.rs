//! An event on its way to a webhook, before it is written down.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use base64::{Engine, prelude::BASE64_STANDARD};
use pintle::{DynEvent, now_ms};
use serde::Serialize;

use super::journal::Message;
use crate::{context::Context, spec::Scrub};

/// About what a body takes beside the payload.
const ENVELOPE: usize = 512;

/// The profile that sends, the secret that signs, and what is scrubbed.
pub(super) struct Origin {
    pub(super) profile: String,
    pub(super) secret: Option<Arc<str>>,
    pub(super) scrub: Option<Scrub>,
}

enum What {
    Event(DynEvent, Arc<Origin>),
    Bytes { content_type: &'static str, body: Vec<u8> },
}

pub(super) struct PendingEvent {
    what: What,
    pub(super) now: u64,
    /// About as many bytes as it takes.
    pub(super) size: usize,
}

/// Counts the bytes that are written to it.
struct ByteCount(usize);

impl io::Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PendingEvent {
    pub(super) fn new(event: DynEvent, origin: Arc<Origin>) -> Self {
        let mut payload = ByteCount(0);
        // What cannot be written takes as many bytes as were written of it.
        let _ = event.json.write_payload(&mut payload);
        let size = ENVELOPE.saturating_add(payload.0);
        Self { what: What::Event(event, origin), now: now_ms(), size }
    }

    /// A message that is ready already.
    pub(super) fn bytes(content_type: &'static str, body: Vec<u8>) -> Self {
        let size = ENVELOPE.saturating_add(body.len() / 3 * 4);
        Self { what: What::Bytes { content_type, body }, now: now_ms(), size }
    }

    pub(super) fn write(self, url: &Arc<str>, owner: &Arc<str>) -> Message {
        let Self { what, now, .. } = &self;
        let (secret, content_type, body) = match what {
            What::Event(event, origin) => {
                let body = event_body(event, &origin.profile, origin.scrub.as_ref());
                (origin.secret.clone(), None, body)
            }
            What::Bytes { content_type, body } => {
                (None, Some((*content_type).into()), BASE64_STANDARD.encode(body))
            }
        };
        let (url, owner, body) = (url.clone(), owner.clone(), body.into());
        Message {
            at: *now,
            id: delivery_id(*now),
            url,
            owner,
            secret,
            tries: 0,
            content_type,
            body,
        }
    }
}

/// The object that a webhook posts and a file of events gets: a reader of one can read the other (R10.5, R10.6).
#[must_use]
pub fn event_body(event: &DynEvent, profile: &str, scrub: Option<&Scrub>) -> String {
    let body = Body {
        v: 1,
        ts: if event.envelope.ts > 0 { event.envelope.ts } else { now_ms() },
        profile,
        event: event.point,
        context: Context { event, scrub },
    };
    // A value that JSON cannot hold (there is none in an event) would leave an empty body, not a lost message.
    serde_json::to_string(&body).unwrap_or_default()
}

#[derive(Serialize)]
struct Body<'a> {
    v: u32,
    ts: u64,
    profile: &'a str,
    event: &'static str,
    context: Context<'a>,
}

fn delivery_id(now: u64) -> Arc<str> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{now:x}-{:x}-{count:x}", rustix::process::getpid().as_raw_nonzero()).into()
}
