//! The catalogue: every point of the agent loop and the channel gateway, one file each.
//!
//! A new point is one new file and one line in the list below.

// First: it declares the macro `shape!`.
#[macro_use]
mod types;

mod message;

use std::{collections::BTreeMap, sync::Arc};

pub use message::{Message, ToolCall, ToolResult};
pub use types::{
    CompactionReason, InboundMessage, LlmUsage, OutboundMessage, PersonalityConfig, Sender,
    ToolCallResult, ToolOutcome, Untrusted,
};

use crate::{
    Point,
    dynamic::{ErasedPoint, erase},
};

/// The list: everything else that needs to know all points reads it.
macro_rules! catalogue {
    ($($module:ident :: { $Point:ident $(, $Answer:ident)* }),* $(,)?) => {
        $(
            mod $module;
            pub use $module::{$Point $(, $Answer)*};
        )*

        /// Every point of the catalogue, by name.
        pub(crate) fn catalogue() -> BTreeMap<&'static str, Arc<dyn ErasedPoint>> {
            BTreeMap::from([$(($Point::NAME, erase::<$Point>())),*])
        }
    };
}

catalogue! {
    // Void
    session_opened::{SessionOpened},
    before_llm_call::{BeforeLlmCall},
    after_llm_call::{AfterLlmCall},
    after_tool_call::{AfterToolCall},
    tool_end_with_path::{ToolEndWithPath},
    agent_done::{AgentDone},
    message_received::{MessageReceived},
    message_sent::{MessageSent},
    subagent_spawned::{SubagentSpawned},
    subagent_ended::{SubagentEnded},
    after_ticket_revision::{AfterTicketRevision},
    after_compaction::{AfterCompaction},
    // Modifying
    before_prompt_build::{BeforePromptBuild, PromptPatch},
    before_tool_call::{BeforeToolCall, ToolCallPatch},
    message_sending::{MessageSending, MessagePatch},
    personality_switched::{PersonalitySwitched, PersonalityPatch},
    subagent_spawning::{SubagentSpawning, SubagentPatch},
    before_compaction::{BeforeCompaction, CompactionPatch},
    // Claiming
    inbound_claim::{InboundClaim, Handled},
    before_dispatch::{BeforeDispatch, Suppressed},
    before_ticket_complete::{BeforeTicketComplete, Rejected},
    // Gate
    run_start::{RunStart},
    user_prompt_submit::{UserPromptSubmit},
    model_pre::{ModelPre},
    model_post::{ModelPost},
    tool_pre::{ToolPre},
    tool_post::{ToolPost},
    session_end::{SessionEnd},
    error::{ErrorRaised},
}
