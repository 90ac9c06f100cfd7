//! The names of spans and attributes.
//!
//! The names that begin with `gen_ai` follow the OpenTelemetry GenAI semantic conventions, which are in development and change:
//! they are all here, under [`VERSION`]. Hooks and approvals have no convention, so those names are ours.

/// The version of these names. It is in every export as the version of the instrumentation scope.
pub const VERSION: &str = "2026-10";

/// `invoke_agent`, `chat`, `execute_tool`.
pub const OPERATION: &str = "gen_ai.operation.name";
/// Who is asked for text.
pub const PROVIDER: &str = "gen_ai.provider.name";
/// The model that is asked.
pub const MODEL: &str = "gen_ai.request.model";
/// The agent's personality.
pub const AGENT: &str = "gen_ai.agent.name";
/// The session.
pub const CONVERSATION: &str = "gen_ai.conversation.id";
/// Tokens read.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens written.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Of the tokens read, those from the provider's cache.
pub const CACHED_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// The tool.
pub const TOOL: &str = "gen_ai.tool.name";
/// How the tool is called.
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
/// The call.
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
/// The call's final arguments: content.
pub const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// What the tool said: content.
pub const TOOL_RESULT: &str = "gen_ai.tool.call.result";
/// The message that began the run: content.
pub const INPUT_MESSAGES: &str = "gen_ai.input.messages";
/// The final answer: content.
pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
/// What kind of error ended a span.
pub const ERROR_TYPE: &str = "error.type";
/// The program that sends.
pub const SERVICE: &str = "service.name";
/// Its version.
pub const SERVICE_VERSION: &str = "service.version";

/// The run.
pub const RUN: &str = "pintle.run.id";
/// How it ended.
pub const RUN_OUTCOME: &str = "pintle.run.outcome";
/// What it cost, in US dollars.
pub const COST: &str = "pintle.cost_usd";
/// Where it was asked for.
pub const PLATFORM: &str = "pintle.platform";
/// What the judge said of a call: `run`, `ask` or `refuse`.
pub const VERDICT: &str = "pintle.judge.verdict";
/// What decided.
pub const DECIDED_BY: &str = "pintle.judge.decided_by";
/// Where that is written.
pub const DECIDED_AT: &str = "pintle.judge.source";
/// The zone that a process was held to.
pub const ZONE: &str = "pintle.sandbox.zone";
/// The tier that held it.
pub const TIER: &str = "pintle.sandbox.tier";
/// The point at which a hook was called.
pub const HOOK_POINT: &str = "pintle.hook.point";
/// The point's execution model.
pub const HOOK_MODEL: &str = "pintle.hook.model";
/// The hook.
pub const HOOK_HANDLER: &str = "pintle.hook.handler";
/// Its plugin.
pub const HOOK_PLUGIN: &str = "pintle.hook.plugin";
/// What it said, or how it failed.
pub const HOOK_OUTCOME: &str = "pintle.hook.outcome";
/// Whether that had no effect.
pub const HOOK_SHADOW: &str = "pintle.hook.shadow";
/// The keys of its patch that were taken.
pub const HOOK_WON: &str = "pintle.hook.won";
/// The keys that an earlier hook had set.
pub const HOOK_LOST: &str = "pintle.hook.lost";
/// The question.
pub const APPROVAL: &str = "pintle.approval.id";
/// What became of it.
pub const APPROVAL_OUTCOME: &str = "pintle.approval.outcome";
/// Who answered.
pub const APPROVAL_BY: &str = "pintle.approval.by";
