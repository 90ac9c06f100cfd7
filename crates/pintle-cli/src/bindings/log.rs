//! The `log` action: one line on standard error, never the full input.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pintle::{DynEvent, DynHandler, Failure};
use pintle_profile::{LogLevel, Scrubber};
use serde_json::Value;

use crate::{
    out::tell,
    shown::{dim, red, text, yellow},
};

/// What of an event is worth a line.
const SHOWN: [&str; 8] =
    ["toolName", "toolCallId", "model", "stopReason", "durationMs", "isError", "reason", "code"];

/// Of a value no more is shown: a model chooses how long its names are.
const LONGEST: usize = 200;

pub(super) fn handler(name: String, level: LogLevel, scrubber: Arc<Scrubber>) -> impl DynHandler {
    Log { name, level, scrubber }
}

struct Log {
    name: String,
    level: LogLevel,
    scrubber: Arc<Scrubber>,
}

impl DynHandler for Log {
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
        let shown = |key: &&str| {
            let mut value = event.json.get(*key)?.clone();
            // Before it is written as JSON: a secret that was escaped already would be so once more.
            self.scrubber.scrub_json(&mut value);
            if let Value::String(text) = &mut value
                && let Some((end, _)) = text.char_indices().nth(LONGEST)
            {
                text.truncate(end);
                text.push('…');
            }
            Some(format!(" {key}={value}"))
        };
        let fields: String = SHOWN.iter().filter_map(shown).collect();
        let session = event.envelope.session_id.as_deref().unwrap_or("-");
        let line = format!("{} {} session={session}{fields}", self.name, event.point);
        let line = self.scrubber.scrub(&line);
        match self.level {
            LogLevel::Debug => tell!("{}", dim(text!("debug {}", line))),
            LogLevel::Info => tell!("{}  {}", dim("info"), line),
            LogLevel::Warn => tell!("{}  {}", yellow("warn"), line),
            LogLevel::Error => tell!("{} {}", red("error"), line),
        }
        Box::pin(std::future::ready(Ok(Value::Null)))
    }
}
