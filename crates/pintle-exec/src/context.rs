//! An event as a hook in another process gets it.

use pintle::DynEvent;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use crate::spec::Scrub;

/// Payload and envelope, the point's name as `event`, and at a Modifying point what earlier handlers have set as
/// `merged`: written straight from the event, without the secrets.
pub(crate) struct Context<'a> {
    pub(crate) event: &'a DynEvent,
    pub(crate) scrub: Option<&'a Scrub>,
}

const EVENT: &str = "event";
const MERGED: &str = "merged";

impl Serialize for Context<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { event, scrub } = *self;
        let mut context = serializer.serialize_map(None)?;
        context.serialize_entry(EVENT, event.point)?;
        if !event.merged.is_null() {
            context.serialize_entry(MERGED, &Scrubbed { value: &event.merged, scrub })?;
        }
        match &*event.json {
            Value::Object(fields) => {
                let own = |key: &str| key == EVENT || key == MERGED && !event.merged.is_null();
                for (key, value) in fields.iter().filter(|(key, _)| !own(key)) {
                    entry(&mut context, key, value, scrub)?;
                }
            }
            other => entry(&mut context, "payload", other, scrub)?,
        }
        context.end()
    }
}

/// A value without the secrets. String by string, not on the written text: there, a secret with a quote in it would
/// look different.
struct Scrubbed<'a> {
    value: &'a Value,
    scrub: Option<&'a Scrub>,
}

impl Serialize for Scrubbed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(scrub) = self.scrub else { return self.value.serialize(serializer) };
        match self.value {
            Value::String(text) => serializer.serialize_str(&scrub(text)),
            Value::Number(number) => {
                let text = number.to_string();
                let scrubbed = scrub(&text);
                match scrubbed == text {
                    true => number.serialize(serializer),
                    false => serializer.serialize_str(&scrubbed),
                }
            }
            Value::Array(items) => serializer
                .collect_seq(items.iter().map(|value| Scrubbed { value, scrub: self.scrub })),
            Value::Object(fields) => {
                let mut object = serializer.serialize_map(Some(fields.len()))?;
                for (key, value) in fields {
                    entry(&mut object, key, value, self.scrub)?;
                }
                object.end()
            }
            Value::Null | Value::Bool(_) => self.value.serialize(serializer),
        }
    }
}

fn entry<M: SerializeMap>(
    map: &mut M,
    key: &str,
    value: &Value,
    scrub: Option<&Scrub>,
) -> Result<(), M::Error> {
    let value = Scrubbed { value, scrub };
    match scrub {
        Some(scrub) => map.serialize_entry(&scrub(key), &value),
        None => map.serialize_entry(key, &value),
    }
}
