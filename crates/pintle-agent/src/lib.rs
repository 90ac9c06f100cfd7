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
mod channel;
mod containment;
mod event;
mod hook_spending;
mod interceptor;
mod llm;
mod memory;
mod personality;
mod policy;
mod prompt;
#[cfg(test)]
#[path = "../tests/run/random.rs"]
mod random;
mod reminders;
mod rule;
mod run;
mod schema;
pub mod store;
pub mod testing;
mod tickets;
mod tool;
mod toolbox;
mod untrusted;

pub use pintle::now_ms;
pub use pintle::points::{LlmUsage, Message, PersonalityConfig, ToolCall, ToolResult};
pub use pintle_policy::{ToolSpec, Zone};
pub use pintle_sandbox::Refused;

pub use agent::{Agent, AgentBuilder, HandlerWatch, Observer, SwitchError};
pub use approver::{ApprovalOutcome, ApprovalRequest, Approver, NoOneToAsk, Prepared};
pub use call::{FinalCall, ProposedCall, args_hash, canonical_json};
pub use channel::{
    Attachment, Button, ButtonPress, Channel, ChannelError, ChannelFeatures, ChannelMessage, Inbox,
    Received, SendError,
};
pub use containment::Containment;
pub use event::{CallMade, RunEvent, RunEventKind, RunOutcome, SandboxUse};
pub use hook_spending::HookSpending;
pub use interceptor::{Intercepted, Interceptors};
pub use llm::{FinishReason, Llm, LlmError, LlmEvent, LlmRequest, LlmResponse};
pub use memory::{Memory, NoteMemory, Notebook, Recall};
pub use personality::{Personalities, Personality, UnknownPersonality};
pub use policy::{Limits, Policy};
pub use prompt::{PreviewError, PromptPart, PromptPreview, SAFETY_PRELUDE};
pub use rule::{ApprovalRule, StandingRule};
pub use run::{
    CallVerdict, Finding, Finished, JudgedCall, JudgedStep, PermittedCall, RecordedCall, Run,
    RunRequest, delegate_spec,
};
pub use store::{Claim, NewMessage, NewSession, Session, Store, StoreError, StoredMessage};
pub use tickets::{
    CheckCommand, Completion, TICKET_VERIFIER, TicketBoard, TicketError, TicketVerifier,
};
pub use tool::{OutsideMark, Progress, SandboxLog, Tool, ToolCx, ToolError};
pub use toolbox::DuplicateTool;
pub use untrusted::{fence, unfenced};
