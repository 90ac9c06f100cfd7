//! brush-parser: a tree of commands, whose words are texts that have to be parsed once more.

use brush_parser::{Parser, ParserOptions, word};
use serde_json::Value;

use crate::names::read;

pub fn commands(source: &str) -> Result<Vec<String>, String> {
    let mut found = Found { options: ParserOptions::default(), names: Vec::new() };
    found.script(source)?;
    Ok(found.names)
}

struct Found {
    options: ParserOptions,
    names: Vec<String>,
}

impl Found {
    fn script(&mut self, source: &str) -> Result<(), String> {
        let mut parser = Parser::new(source.as_bytes(), &self.options);
        let program = parser.parse_program().map_err(|error| error.to_string())?;
        // As JSON: one walk instead of forty types.
        self.tree(&serde_json::to_value(program).map_err(|error| error.to_string())?)
    }

    fn tree(&mut self, node: &Value) -> Result<(), String> {
        match node {
            Value::Array(items) => items.iter().try_for_each(|item| self.tree(item)),
            Value::Object(fields) => {
                if let Some(name) = node.pointer("/word_or_name/value").and_then(Value::as_str) {
                    self.names.push(read(name));
                }
                // It leaves out what is false.
                let verbatim = fields.get("requires_expansion") != Some(&Value::Bool(true));
                for (key, value) in fields {
                    match value {
                        Value::String(text) if key == "value" => self.word(text)?,
                        _ if key == "ArrayElementName" => self.texts(value)?,
                        // The assignment, and the same once more as a word.
                        _ if key == "AssignmentWord" => {
                            value.get(0).map_or(Ok(()), |assignment| self.tree(assignment))?;
                        }
                        _ if key == "doc" && verbatim => {}
                        _ => self.tree(value)?,
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn word(&mut self, text: &str) -> Result<(), String> {
        if !text.contains(['$', '`']) {
            return Ok(());
        }
        let pieces = word::parse(text, &self.options).map_err(|error| error.to_string())?;
        self.pieces(&serde_json::to_value(pieces).map_err(|error| error.to_string())?)
    }

    fn pieces(&mut self, node: &Value) -> Result<(), String> {
        match node {
            Value::Array(items) => items.iter().try_for_each(|item| self.pieces(item)),
            Value::Object(fields) => {
                fields.iter().try_for_each(|(key, value)| match (key.as_str(), value.as_str()) {
                    ("CommandSubstitution", Some(script)) => self.script(script),
                    ("BackquotedCommandSubstitution", Some(script)) => {
                        self.script(&unescaped(script))
                    }
                    ("ArithmeticExpression", _) => self.tree(value),
                    ("ParameterExpansion", _) => self.texts(value),
                    _ => self.pieces(value),
                })
            }
            _ => Ok(()),
        }
    }

    /// The texts inside an expansion are words again.
    fn texts(&mut self, node: &Value) -> Result<(), String> {
        match node {
            Value::String(text) => self.word(text),
            Value::Array(items) => items.iter().try_for_each(|item| self.texts(item)),
            Value::Object(fields) => fields.values().try_for_each(|value| self.texts(value)),
            _ => Ok(()),
        }
    }
}

/// Inside backquotes a backslash protects a backquote, a dollar and itself.
fn unescaped(script: &str) -> String {
    let mut text = String::new();
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some('`' | '\\' | '$') if c == '\\' => text.extend(chars.next()),
            _ => text.push(c),
        }
    }
    text
}
