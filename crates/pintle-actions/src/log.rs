//! The `log` action: one line, never the full input.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pintle::{DynEvent, DynHandler, Failure};
use pintle_profile::Hook;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{Action, BindError, Binding, LogSink, Scrubber};

/// Writes one line to the log.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    /// The level of the line.
    #[serde(default)]
    level: LogLevel,
}

/// How loud a log line is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// For the curious.
    Debug,
    /// The usual.
    #[default]
    Info,
    /// Worth a look.
    Warn,
    /// Something is wrong.
    Error,
}

impl Action for Log {
    const NAME: &'static str = "log";
    const ALSO_CALLED: &'static [&'static str] = &["print", "echo", "warn", "info"];
    const OBSERVES: bool = true;

    fn does(&self, hook: &Hook) -> (&'static str, String) {
        ("logs", hook.bucket.name.to_owned())
    }

    fn bind(self, binding: &mut Binding<'_>) -> Result<(), BindError> {
        let (name, sink) = (binding.hook.name.clone(), binding.host.log.clone());
        binding.register(Logger {
            name,
            level: self.level,
            sink,
            scrubber: binding.scrubber.clone(),
        })
    }
}

/// What of an event is worth a line.
const SHOWN: [&str; 11] = [
    "toolName",
    "toolCallId",
    "model",
    "stopReason",
    "inputTokens",
    "outputTokens",
    "costUsd",
    "durationMs",
    "isError",
    "reason",
    "code",
];

/// Of a value no more is shown: a model chooses how long its names are.
const LONGEST: usize = 200;

struct Logger {
    name: String,
    level: LogLevel,
    sink: LogSink,
    scrubber: Arc<Scrubber>,
}

impl DynHandler for Logger {
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
        (self.sink)(self.level, &line);
        Box::pin(std::future::ready(Ok(Value::Null)))
    }
}
