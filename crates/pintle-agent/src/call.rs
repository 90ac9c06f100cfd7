//! A tool call on its way from what the model asked for to what may be judged.
//!
//! [`ProposedCall`] may still be amended. [`FinalCall`] is frozen: what is judged is what runs (P3). The last
//! step, [`PermittedCall`](crate::PermittedCall), is the judge's alone to make.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::message::ToolCall;

/// A call that interceptors and `before_tool_call` may still change.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedCall {
    /// The provider's id of the call.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments so far.
    pub args: Value,
}

impl ProposedCall {
    /// The call as the model made it.
    pub fn from_model(call: &ToolCall) -> Self {
        Self { id: call.id.clone(), tool: call.name.clone(), args: call.input.clone() }
    }

    /// Nothing can change it from here on.
    pub fn freeze(self) -> FinalCall {
        FinalCall { id: self.id.into(), tool: self.tool.into(), args: Arc::new(self.args) }
    }
}

/// A call whose arguments are final.
#[derive(Debug, Clone)]
pub struct FinalCall {
    id: Arc<str>,
    tool: Arc<str>,
    args: Arc<Value>,
}

impl FinalCall {
    /// The provider's id of the call.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The tool's name.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments.
    pub fn args(&self) -> &Value {
        &self.args
    }

    /// What an approval is bound to: see [`args_hash`].
    pub fn args_hash(&self) -> String {
        args_hash(&self.args)
    }
}

/// The SHA-256 of the arguments' canonical JSON: keys sorted at every depth, no white space.
pub fn args_hash(args: &Value) -> String {
    let digest = Sha256::digest(canonical_json(args).as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON that is the same for the same value, whatever order its keys came in.
pub fn canonical_json(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(key, value)| {
                    format!("{}:{}", Value::from(key.as_str()), canonical_json(value))
                })
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical_json).collect::<Vec<_>>().join(","))
        }
        scalar => scalar.to_string(),
    }
}
