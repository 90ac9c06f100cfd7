//! How people reach an agent: a chat platform, an HTTP endpoint, a terminal.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use pintle::points::InboundMessage;
use tokio_util::sync::CancellationToken;

/// One way to reach people. The gateway does the rest: order, hooks, retries, approvals.
pub trait Channel: Send + Sync + 'static {
    /// The platform's name, in session keys and hook payloads: `telegram`.
    fn platform(&self) -> &str;

    /// What the platform can do.
    fn features(&self) -> ChannelFeatures {
        ChannelFeatures::default()
    }

    /// Receives messages until `stop` is cancelled. Acknowledge a message to the platform after [`Inbox::accept`] has
    /// returned `Ok`, never before: then it is stored.
    fn receive(
        &self,
        inbox: Arc<dyn Inbox>,
        stop: CancellationToken,
    ) -> BoxFuture<'_, Result<(), ChannelError>>;

    /// Sends one message, and returns the platform's id of it.
    fn send(&self, message: ChannelMessage) -> BoxFuture<'_, Result<Option<String>, SendError>>;

    /// Replaces the text of a message that was sent, and takes its buttons away. Platforms that cannot do nothing.
    fn edit(
        &self,
        _chat_id: &str,
        _message_id: &str,
        _text: &str,
    ) -> BoxFuture<'_, Result<(), SendError>> {
        std::future::ready(Ok(())).boxed()
    }
}

/// What a platform can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChannelFeatures {
    /// The platform drops a second message with the same [`ChannelMessage::key`], so that sending again is safe.
    pub idempotency_key: bool,
    /// Messages can have buttons.
    pub buttons: bool,
    /// The longest text in characters that arrives uncut; `None` is no limit.
    pub max_text: Option<usize>,
    /// A person's id on this platform is also the id of the private chat with them.
    pub private_chat_is_sender: bool,
}

/// Where a channel puts what it receives.
pub trait Inbox: Send + Sync + 'static {
    /// Takes a message in. After `Ok` it is stored (or was before), and the platform may be sent an acknowledgement.
    ///
    /// # Errors
    /// When it could not be stored: do not acknowledge it, and deliver it again.
    fn accept(&self, message: InboundMessage) -> BoxFuture<'_, Result<Received, ChannelError>>;

    /// A person pressed a button. Returns what to show them.
    fn press(&self, press: ButtonPress) -> BoxFuture<'_, Result<String, ChannelError>>;
}

/// What became of a message that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// It waits for its run.
    Queued {
        /// The id that its run will have.
        run_id: String,
    },
    /// It was received before.
    Duplicate {
        /// The id that was given to it then.
        run_id: String,
    },
    /// A command or a handler dealt with it; there is no run.
    Handled {
        /// The id under which the answer is sent.
        run_id: String,
    },
    /// It was refused.
    Refused {
        /// Why.
        reason: String,
    },
    /// Too many messages of this chat wait already.
    Busy,
}

/// A press on a button of a message that the gateway sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ButtonPress {
    /// Which platform.
    pub platform: String,
    /// Who pressed: the platform's id of the person, not of the chat.
    pub sender_id: String,
    /// The button's token.
    pub token: String,
}

/// A message on its way out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChannelMessage {
    /// The same for every attempt to send this message.
    pub key: String,
    /// The run that it belongs to.
    pub run_id: Option<String>,
    /// Where it goes.
    pub chat_id: String,
    /// The thread within the chat.
    pub thread_id: Option<String>,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// What is said.
    pub text: String,
    /// What a person may press; empty where the platform has no buttons.
    pub buttons: Vec<Button>,
    /// A text that is sent as a file, because the platform would cut it.
    pub attachment: Option<Attachment>,
}

/// A button under a message.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Button {
    /// What it says.
    pub label: String,
    /// What comes back when it is pressed: it means nothing to the platform.
    pub token: String,
}

/// A text as a file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Attachment {
    /// The file's name.
    pub name: String,
    /// Its content.
    pub content: String,
}

/// A channel cannot go on receiving.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChannelError(pub String);

/// A message was not sent, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The platform asks to wait.
    #[error("the platform asks to wait {} s", .0.as_secs())]
    RetryAfter(Duration),
    /// It did not arrive and may do so later.
    #[error("{0}")]
    Temporary(String),
    /// The platform refused it for good.
    #[error("{0}")]
    Rejected(String),
    /// It may have arrived: the connection broke before the platform's answer.
    #[error("{0}")]
    Unknown(String),
}
