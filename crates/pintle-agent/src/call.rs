//! A tool call on its way from what the model asked for to what may be judged.
//!
//! [`ProposedCall`] may still be amended. [`FinalCall`] is frozen: what is judged is what runs (P3). The last
//! step, [`PermittedCall`](crate::PermittedCall), is the judge's alone to make.

use std::sync::Arc;

use pintle_sandbox::Grant;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{ToolCall, untrusted::origin_of};

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
        let id: Arc<str> = self.id.into();
        FinalCall {
            model_id: id.clone(),
            id,
            tool: self.tool.into(),
            args: Arc::new(self.args),
            grants: Arc::default(),
            outside: None,
        }
    }
}

/// A call whose arguments are final.
#[derive(Debug, Clone)]
pub struct FinalCall {
    id: Arc<str>,
    model_id: Arc<str>,
    tool: Arc<str>,
    args: Arc<Value>,
    grants: Arc<[Grant]>,
    /// Where its result comes from, if that is outside.
    outside: Option<Arc<str>>,
}

impl FinalCall {
    /// Its id: the provider's, and for a second attempt one of its own.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The provider's id of the call, whatever the attempt.
    pub(crate) fn model_id(&self) -> &str {
        &self.model_id
    }

    /// The tool's name.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments.
    pub fn args(&self) -> &Value {
        &self.args
    }

    /// The same call as a second attempt, which may do this on top of what the first one could (R11.8).
    pub(crate) fn with_grants(&self, grants: Vec<Grant>) -> Self {
        Self { id: second_attempt(&self.model_id).into(), grants: grants.into(), ..self.clone() }
    }

    /// A call that was recorded, with what a person was asked to grant then.
    pub(crate) fn recorded(call: ProposedCall, grants: Vec<Grant>) -> Self {
        Self { grants: grants.into(), ..call.freeze() }
    }

    /// The same call, whose result comes from outside.
    pub(crate) fn marked_outside(mut self) -> Self {
        self.outside = Some(origin_of(&self).into());
        self
    }

    /// Where its result comes from, if that is outside.
    pub(crate) fn outside(&self) -> Option<&str> {
        self.outside.as_deref()
    }

    /// What a person granted, or is about to be asked for.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// What a person is asked about: the arguments, and what is granted on top.
    pub(crate) fn question(&self) -> Value {
        let mut question = Value::clone(&self.args);
        if let (Some(fields), false) = (question.as_object_mut(), self.grants.is_empty()) {
            fields.insert("grants".into(), json!(*self.grants));
        }
        question
    }

    /// What an approval is bound to: the [hash](args_hash) of what the person is asked about.
    pub fn args_hash(&self) -> String {
        args_hash(&self.question())
    }
}

/// The id of a call's second attempt.
pub(crate) fn second_attempt(model_id: &str) -> String {
    format!("{model_id}.2")
}

/// The SHA-256 of the arguments' canonical JSON: keys sorted at every depth, no white space.
pub fn args_hash(args: &Value) -> String {
    hex_sha256(canonical_json(args).as_bytes())
}

pub(crate) fn hex_sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
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
