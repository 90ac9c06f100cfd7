//! Reading a call's arguments.
//!
//! The judge has already held them against the tool's schema; a tool still never trusts that, because a
//! message that names the field costs little and a wrong guess may cost a file.

use pintle::kind_of;
use pintle_agent::ToolError;
use serde_json::{Map, Value, json};

/// The schema of arguments of which no others are taken.
pub(crate) fn schema(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false
    })
}

/// The arguments of one call, all of which must be taken.
pub(crate) struct Args<'a> {
    tool: &'static str,
    fields: Option<&'a Map<String, Value>>,
    taken: Vec<&'static str>,
}

impl<'a> Args<'a> {
    pub(crate) fn of(tool: &'static str, args: &'a Value) -> Result<Self, ToolError> {
        match args {
            Value::Object(fields) => Ok(Self { tool, fields: Some(fields), taken: Vec::new() }),
            Value::Null => Ok(Self { tool, fields: None, taken: Vec::new() }),
            other => Err(failed(format!(
                "{tool}: the arguments must be a JSON object, not {}",
                kind_of(other)
            ))),
        }
    }

    /// A text that must be there.
    pub(crate) fn text(&mut self, field: &'static str) -> Result<&'a str, ToolError> {
        match self.optional_text(field)? {
            Some(text) => Ok(text),
            None => Err(failed(format!("{}: the argument `{field}` is missing", self.tool))),
        }
    }

    /// A text that may be left out.
    pub(crate) fn optional_text(
        &mut self,
        field: &'static str,
    ) -> Result<Option<&'a str>, ToolError> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(failed(format!(
                "{}: the argument `{field}` must be a string, not {}",
                self.tool,
                kind_of(other)
            ))),
        }
    }

    /// A whole number of at least 1 that may be left out.
    pub(crate) fn optional_count(&mut self, field: &'static str) -> Result<Option<u64>, ToolError> {
        match self.take(field) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(count) if count > 0 => Ok(Some(count)),
                _ => Err(failed(format!(
                    "{}: the argument `{field}` must be a whole number of at least 1, not {value}",
                    self.tool
                ))),
            },
        }
    }

    /// A boolean that may be left out.
    pub(crate) fn optional_flag(&mut self, field: &'static str) -> Result<Option<bool>, ToolError> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(failed(format!(
                "{}: the argument `{field}` must be true or false, not {}",
                self.tool,
                kind_of(other)
            ))),
        }
    }

    /// Nothing else may be there: a misspelt field is an error, not a silent default.
    pub(crate) fn done(self) -> Result<(), ToolError> {
        let unknown = self
            .fields
            .into_iter()
            .flat_map(Map::keys)
            .find(|name| !self.taken.contains(&name.as_str()));
        match unknown {
            None => Ok(()),
            Some(name) => Err(failed(format!(
                "{}: there is no argument `{name}`; it takes {}",
                self.tool,
                self.taken.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    fn take(&mut self, field: &'static str) -> Option<&'a Value> {
        self.taken.push(field);
        self.fields.and_then(|fields| fields.get(field)).filter(|value| !value.is_null())
    }
}

pub(crate) fn failed(message: String) -> ToolError {
    ToolError::Failed(message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message<T>(result: Result<T, ToolError>) -> String {
        result.err().expect("an error").to_string()
    }

    #[test]
    fn every_wrong_argument_is_named() {
        let value = json!({"path": 3, "offset": 0, "other": true});
        let mut args = Args::of("read_file", &value).unwrap();
        assert_eq!(
            message(args.text("path")),
            "read_file: the argument `path` must be a string, not a number"
        );
        assert_eq!(
            message(args.optional_count("offset")),
            "read_file: the argument `offset` must be a whole number of at least 1, not 0"
        );
        assert_eq!(message(args.text("content")), "read_file: the argument `content` is missing");
        assert_eq!(
            message(args.done()),
            "read_file: there is no argument `other`; it takes `path`, `offset`, `content`"
        );
        assert_eq!(
            message(Args::of("read_file", &json!(["a"]))),
            "read_file: the arguments must be a JSON object, not an array"
        );
    }
}
