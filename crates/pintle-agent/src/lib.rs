//! The agent loop in which every hook point really fires: a run, its sub-agents, its tools.
//!
//! An [`Agent`] is put together once ([`Agent::builder`]) from a hook registry, something that writes text ([`Llm`]),
//! somewhere to keep conversations ([`Store`]), [`Tool`]s and a [`Policy`]. [`Agent::run`] then takes one message to
//! its final answer and streams [`RunEvent`]s meanwhile.
//!
//! This crate opens no file, socket or process itself: what does is behind its traits.
//!
//! What happens on a tool call is in `run/tool_call.rs`; who may run is in `run/judge.rs`.

mod agent;
mod approver;
mod call;
mod containment;
mod event;
mod interceptor;
mod llm;
mod message;
mod personality;
mod policy;
mod prompt;
mod reminders;
mod rule;
mod run;
mod store;
mod tool;
mod toolbox;

pub use agent::{Agent, AgentBuilder, HandlerWatch, Memory, Observer, SwitchError};
pub use approver::{ApprovalOutcome, ApprovalRequest, Approver, NoOneToAsk, Prepared};
pub use call::{FinalCall, ProposedCall, args_hash, canonical_json};
pub use containment::Containment;
pub use event::{RunEvent, RunEventKind, RunOutcome, SandboxUse};
pub use interceptor::{Intercepted, Interceptors};
pub use llm::{FinishReason, Llm, LlmError, LlmEvent, LlmRequest, LlmResponse, ToolSpec, Usage};
pub use message::{Message, ToolCall, ToolResult};
pub use personality::{Personalities, Personality, UnknownPersonality};
pub use policy::{Limits, Policy};
pub use prompt::{PreviewError, PromptPart, PromptPreview, SAFETY_PRELUDE};
pub use rule::{ApprovalRule, StandingRule};
pub use run::{Ask, Finding, Finished, JudgedStep, PermittedCall, Run};
pub use store::{Claim, NewMessage, NewSession, Session, Store, StoreError, StoredMessage};
pub use tool::{Progress, SandboxLog, Tool, ToolCx, ToolError};
pub use toolbox::DuplicateTool;
