//! Where messages wait: lanes, what came in, what goes out, and what could not be processed.

use std::time::Duration;

use pintle::points::{InboundMessage, OutboundMessage};
use serde::{Deserialize, Serialize};

use super::Stored;
use crate::channel::{Attachment, Button};

/// The queues of a gateway.
///
/// A lane is a chat or a thread: its messages are processed one at a time, in the order in which they were accepted. A
/// returned `Ok` is a promise: the change survives a `kill -9` right after. All times are milliseconds since 1970 on the
/// store's own clock.
pub trait Queues: Send + Sync + 'static {
    /// The run id of a message that was received before under this key.
    fn seen(&self, dedup_key: &str) -> Stored<'_, Option<String>>;

    /// Takes a message in: its key, its place in the lane and the lane's bound, in one transaction.
    fn accept(&self, new: NewInbound, bound: u32) -> Stored<'_, Accepted>;

    /// Notes a message that needs no run, together with what is answered. `false` when its key was seen before: then
    /// nothing is answered.
    fn note(&self, dedup_key: &str, run_id: &str, answers: Vec<NewOutgoing>) -> Stored<'_, bool>;

    /// Claims the lane that has been ready for longest, for as long as the lease is.
    fn claim_lane(&self, owner: &str, lease: Duration) -> Stored<'_, Option<ClaimedMessage>>;

    /// Makes the lease longer. `false` when the claim was lost.
    fn renew_lane(&self, claim: &LaneClaim, lease: Duration) -> Stored<'_, bool>;

    /// Writes what became of the claimed message together with what is said about it, and gives the lane back.
    /// `false` when the claim was lost: then nothing is written.
    fn settle_lane(
        &self,
        claim: &LaneClaim,
        end: MessageEnd,
        outgoing: Vec<NewOutgoing>,
    ) -> Stored<'_, bool>;

    /// Makes the lane ready whose message waits for this approval. `false` when none does.
    fn wake(&self, approval_id: &str) -> Stored<'_, bool>;

    /// Ends the message at the head of the lane, unless it is claimed: then its owner has to stop.
    fn stop_lane(&self, lane: &str) -> Stored<'_, Stopped>;

    /// One message by the id of its run.
    fn message(&self, run_id: &str) -> Stored<'_, Option<QueuedMessage>>;

    /// The messages in this state, oldest first.
    fn messages(&self, state: MessageState) -> Stored<'_, Vec<QueuedMessage>>;

    /// Puts a dead letter back at the end of its lane. `false` when it is not one.
    fn retry_dead(&self, run_id: &str) -> Stored<'_, bool>;

    /// Adds messages to be sent.
    fn enqueue(&self, outgoing: Vec<NewOutgoing>) -> Stored<'_, ()>;

    /// Claims a message to be sent: the first of its lane that is not settled, when it is due.
    fn claim_outgoing(&self, lease: Duration) -> Stored<'_, Option<OutgoingMessage>>;

    /// Makes the lease of a message to be sent longer. `false` when the claim was lost.
    fn renew_outgoing(&self, id: &str, claim: &str, lease: Duration) -> Stored<'_, bool>;

    /// Notes the final message right before the platform gets it: after a crash it is known that it may have arrived.
    /// `false` when the claim was lost.
    fn begin_outgoing(&self, id: &str, claim: &str, message: &OutboundMessage) -> Stored<'_, bool>;

    /// Writes what became of a message to be sent. `false` when the claim was lost.
    fn settle_outgoing(&self, id: &str, claim: &str, end: SendEnd) -> Stored<'_, bool>;

    /// The messages sent, or to be sent, that this restricts to; oldest first.
    fn outgoing(&self, filter: OutgoingFilter) -> Stored<'_, Vec<OutgoingMessage>>;

    /// Voids every claim: the caller knows that their owners have ended.
    fn release_claims(&self) -> Stored<'_, ()>;

    /// Forgets dedup keys and settled messages older than this.
    fn prune(&self, before: u64) -> Stored<'_, ()>;

    /// Keeps a small value until it lapses.
    fn put_value(&self, key: &str, value: &str, expires_at: u64) -> Stored<'_, ()>;

    /// A value that was kept and has not lapsed.
    fn value(&self, key: &str) -> Stored<'_, Option<String>>;

    /// Removes a value. `true` for exactly one caller.
    fn take_value(&self, key: &str) -> Stored<'_, bool>;
}

/// A message that is to be processed.
#[derive(Debug, Clone, PartialEq)]
pub struct NewInbound {
    /// Platform, bot, chat and message id.
    pub dedup_key: String,
    /// The chat or thread.
    pub lane: String,
    /// The id that its run gets.
    pub run_id: String,
    /// The conversation.
    pub session_id: String,
    /// Who the agent is to be, if the message says so.
    pub personality: Option<String>,
    /// The message.
    pub message: InboundMessage,
}

/// What became of [`Queues::accept`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// It is in its lane.
    Queued,
    /// Its key was seen before, with this run id.
    Duplicate(String),
    /// The lane is full.
    Busy,
}

/// The right to process one lane. Writes compare all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneClaim {
    /// The lane.
    pub lane: String,
    /// Higher with each claim of the lane.
    pub epoch: u64,
    /// Random: an epoch that is given out twice is still not the same claim.
    pub id: String,
}

/// A claimed lane and the message at its head.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedMessage {
    /// The right to process it.
    pub claim: LaneClaim,
    /// The message.
    pub message: QueuedMessage,
}

/// A message as kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedMessage {
    /// The id of its run.
    pub run_id: String,
    /// The chat or thread.
    pub lane: String,
    /// The conversation.
    pub session_id: String,
    /// Who the agent is to be, if the message says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub personality: Option<String>,
    /// The message.
    pub message: InboundMessage,
    /// How far it has come.
    pub state: MessageState,
    /// How often it was claimed.
    pub attempts: u32,
    /// The approval that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_on: Option<String>,
    /// How its run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Why it could not be processed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it was accepted.
    pub accepted_at: u64,
}

/// How far a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// It waits for its turn, or is being processed.
    Queued,
    /// Its run waits for a person.
    Parked,
    /// Its run is done.
    Done,
    /// It could not be processed after several tries.
    Dead,
}

/// What became of a claimed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageEnd {
    /// Its run is done.
    Done {
        /// How.
        outcome: String,
    },
    /// Its run waits for a person. The lane is ready again when the approval is answered, or at that time.
    Parked {
        /// What it waits for.
        approval_id: String,
        /// When the question lapses.
        until: u64,
    },
    /// It is tried again at that time.
    Retry {
        /// Why.
        error: String,
        /// When.
        at: u64,
    },
    /// It is not tried again by itself.
    Dead {
        /// Why.
        error: String,
    },
    /// Its owner gives it back undone, because the program stops. This is no failed try.
    Released,
}

/// What [`Queues::stop_lane`] found.
#[derive(Debug, Clone, PartialEq)]
pub enum Stopped {
    /// Nothing waits in the lane.
    Nothing,
    /// The message is claimed, and nothing was written.
    Claimed(QueuedMessage),
    /// The message waited and has ended. This is how it was before.
    Ended(QueuedMessage),
}

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewOutgoing {
    /// The lane in whose order it is sent.
    pub lane: String,
    /// The run it belongs to.
    pub run_id: String,
    /// The conversation, where there is one.
    pub session_id: Option<String>,
    /// Which channel.
    pub platform: String,
    /// Where it goes.
    pub chat_id: String,
    /// The thread within the chat.
    pub thread_id: Option<String>,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// What is said.
    pub text: String,
    /// What it is.
    pub kind: OutgoingKind,
}

/// What an outgoing message is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum OutgoingKind {
    /// The final answer of a run.
    Reply,
    /// Anything else that is said.
    Notice,
    /// A question to an approver.
    Question {
        /// The approval.
        approval_id: String,
        /// What may be pressed.
        buttons: Vec<Button>,
        /// The exact arguments, where the text would be cut.
        attachment: Option<Attachment>,
    },
}

/// A message to be sent, as kept.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingMessage {
    /// Its id: the same for every attempt.
    pub id: String,
    /// The right to send it; empty when no process has it.
    pub claim: String,
    /// What was to be sent; the text is the final one once it was handed to the platform.
    pub new: NewOutgoing,
    /// How far it has come.
    pub state: OutgoingState,
    /// The platform had been given it when its sender ended: it may have arrived.
    pub interrupted: bool,
    /// How often it was handed to the platform.
    pub attempts: u32,
    /// The platform's id of it.
    pub platform_id: Option<String>,
    /// Why it is not sent.
    pub reason: Option<String>,
}

/// How far an outgoing message has come (R12.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutgoingState {
    /// It is to be sent.
    Prepared,
    /// The platform took it.
    Accepted,
    /// The platform or a hook refused it.
    Rejected,
    /// It could not be sent after several tries.
    Failed,
    /// It may have arrived, and is not sent again.
    Unknown,
}

/// What became of a message to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendEnd {
    /// It is settled.
    Settled {
        /// How.
        state: OutgoingState,
        /// The platform's id of it.
        platform_id: Option<String>,
        /// Why it is not sent.
        reason: Option<String>,
    },
    /// It is tried again at that time.
    Later {
        /// When.
        at: u64,
        /// Why.
        reason: String,
    },
}

/// Which outgoing messages to list; empty fields do not restrict.
#[derive(Debug, Clone, Default)]
pub struct OutgoingFilter {
    /// Only those of this run.
    pub run_id: Option<String>,
    /// Only the questions about this approval.
    pub approval_id: Option<String>,
    /// Only those in this state.
    pub state: Option<OutgoingState>,
}
