//! Outgoing messages (R12.2): `message_sending`, duplicates, `before_dispatch`, the adapter, `message_sent`.

use std::{sync::Arc, time::Duration};

use pintle::{
    Cx,
    points::{BeforeDispatch, MessageSending, MessageSent, OutboundMessage},
};
use pintle_agent::{
    Attachment, Channel, ChannelMessage, SendError,
    store::{
        ApprovalState, NewOutgoing, OutgoingFilter, OutgoingKind, OutgoingMessage, OutgoingState,
        SendEnd, StoreError,
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    clock::{millis, now_ms},
    gateway::{Gateway, lock},
};

/// How many messages are sent at once.
const AT_ONCE: usize = 16;
/// The first pause before a message is sent again; doubled each time.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// The first line of a message that may have arrived before.
const REPEAT_MARK: &str = "(This may be a repeat: the first attempt was interrupted.)\n";

impl Gateway {
    pub(crate) async fn send_all(self) {
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        loop {
            let Ok(slot) = slots.clone().acquire_owned().await else { return };
            loop {
                match self.inner.queues.claim_outgoing(self.inner.config.lease).await {
                    Ok(Some(message)) => {
                        self.spawn(self.clone().send_one(message, slot));
                        break;
                    }
                    Ok(None) => {}
                    Err(error) => self.inner.hub.trouble("queue", &error.to_string()),
                }
                if !self.wait(&self.inner.sends).await {
                    return;
                }
            }
        }
    }

    async fn send_one(self, message: OutgoingMessage, _slot: OwnedSemaphorePermit) {
        let sent = tokio::select! {
            sent = self.send_and_settle(&message) => sent,
            // Another process holds the claim now.
            () = self.keep_claim(&message) => Ok(()),
        };
        // The lease expires, and the message is tried again.
        if let Err(error) = sent {
            self.inner.hub.trouble("queue", &error.to_string());
        }
        self.has_settled();
        self.inner.sends.notify_one();
    }

    async fn send_and_settle(&self, message: &OutgoingMessage) -> Result<(), StoreError> {
        let end = self.dispatch(message).await?;
        let sent_id = match &end {
            SendEnd::Settled { platform_id, .. } => platform_id.clone(),
            SendEnd::Later { .. } => None,
        };
        self.inner.queues.settle_outgoing(&message.id, &message.claim, end).await?;
        lock(&self.inner.prepared).remove(&message.id);
        // The question was answered while its message was being sent.
        if let OutgoingKind::Question { approval_id, .. } = &message.new.kind
            && let Some(sent_id) = sent_id
            && let Some(approval) = self.inner.store.approval(approval_id).await?
            && approval.state != ApprovalState::Pending
        {
            self.close_question(&message.new, &sent_id, &approval);
        }
        Ok(())
    }

    /// Renews the lease while hooks and the platform work. Ends when the claim is lost.
    async fn keep_claim(&self, message: &OutgoingMessage) {
        let lease = self.inner.config.lease;
        loop {
            tokio::time::sleep(lease / 3).await;
            let renewed = self.inner.queues.renew_outgoing(&message.id, &message.claim, lease);
            if let Ok(false) = renewed.await {
                return;
            }
        }
    }

    async fn dispatch(&self, message: &OutgoingMessage) -> Result<SendEnd, StoreError> {
        let new = &message.new;
        let Some(channel) = self.inner.channels.get(&new.platform).cloned() else {
            return Ok(rejected(format!("no channel serves `{}`", new.platform)));
        };
        if let OutgoingKind::Question { approval_id, .. } = &new.kind
            && !self.is_pending(approval_id).await?
        {
            return Ok(rejected("the question was answered already".into()));
        }
        let speaker = self.speaker(new.session_id.as_deref()).await?;
        let speaker = speaker.as_ref().map(|(session, personality)| (session, personality));
        let cx = self.cx(&new.platform, &new.run_id, speaker);
        let mut out = outbound(new, new.text.clone());
        if message.interrupted {
            match after_interruption(&*channel, message) {
                Some(text) => out.text = text,
                None => {
                    self.sent(&cx, new, None, false).await;
                    return Ok(unknown("the program ended while it was sent".into()));
                }
            }
        } else if message.attempts == 0 {
            let before = lock(&self.inner.prepared).get(&message.id).cloned();
            out = match before {
                Some(prepared) => prepared,
                None => match self.prepare(&cx, new, out).await {
                    Ok(prepared) => prepared,
                    Err(end) => return Ok(end),
                },
            };
            lock(&self.inner.prepared).insert(message.id.clone(), out.clone());
        }
        if !self.inner.queues.begin_outgoing(&message.id, &message.claim, &out).await? {
            return Ok(unknown("another process has it".into()));
        }
        self.has_settled();
        let sent = channel.send(for_channel(&*channel, message, out)).await;
        Ok(self.outcome(&cx, &*channel, message, sent).await)
    }

    /// Fires the hooks that may rewrite or stop the message. They see a message once, even if it is sent several times.
    async fn prepare(
        &self,
        cx: &Cx,
        new: &NewOutgoing,
        out: OutboundMessage,
    ) -> Result<OutboundMessage, SendEnd> {
        let sending =
            || MessageSending::default().chat_id(new.chat_id.as_str()).message(out.clone());
        let out = match self.hooks().fire_modifying(cx, sending).await {
            Ok(merged) => merged.message.clone().unwrap_or(out),
            Err(error) => return Err(self.stopped(cx, new, error.to_string()).await),
        };
        let dispatch = || {
            BeforeDispatch::default()
                .chat_id(new.chat_id.as_str())
                .platform(new.platform.as_str())
                .text(out.text.as_str())
        };
        match self.hooks().fire_claiming(cx, dispatch).await {
            Ok(None) => Ok(out),
            Ok(Some(claimed)) => {
                let why = claimed.reason.as_deref().unwrap_or("no reason was given");
                Err(rejected(format!("suppressed by {}: {why}", claimed.by)))
            }
            Err(error) => Err(self.stopped(cx, new, error.to_string()).await),
        }
    }

    /// A fail-closed handler failed: the message is not sent.
    async fn stopped(&self, cx: &Cx, new: &NewOutgoing, reason: String) -> SendEnd {
        self.sent(cx, new, None, false).await;
        settled(OutgoingState::Failed, None, Some(reason))
    }

    async fn outcome(
        &self,
        cx: &Cx,
        channel: &dyn Channel,
        message: &OutgoingMessage,
        sent: Result<Option<String>, SendError>,
    ) -> SendEnd {
        let later = |pause: Duration, reason: String| SendEnd::Later {
            at: now_ms().saturating_add(millis(pause)),
            reason,
        };
        let tries = message.attempts + 1;
        let doubled = PAUSE.saturating_mul(1 << message.attempts.min(16)).min(LONGEST_PAUSE);
        let is_last = tries >= self.inner.config.send_attempts;
        let end = match sent {
            Ok(platform_id) => {
                self.sent(cx, &message.new, platform_id.clone(), true).await;
                return settled(OutgoingState::Accepted, platform_id, None);
            }
            Err(SendError::RetryAfter(pause)) => {
                return later(pause, "the platform asked to wait".into());
            }
            Err(SendError::Temporary(reason)) if !is_last => return later(doubled, reason),
            Err(SendError::Temporary(reason)) => settled(OutgoingState::Failed, None, Some(reason)),
            Err(SendError::Rejected(reason)) => rejected(reason),
            Err(SendError::Unknown(reason)) if channel.features().idempotency_key && !is_last => {
                return later(doubled, reason);
            }
            // As after a crash: a final answer is sent again, any other message is held back.
            Err(SendError::Unknown(reason)) => {
                let again = OutgoingMessage { attempts: tries, ..message.clone() };
                match after_interruption(channel, &again) {
                    Some(text) => return self.send_marked(cx, channel, message, text).await,
                    None => unknown(reason),
                }
            }
        };
        self.sent(cx, &message.new, None, false).await;
        end
    }

    async fn send_marked(
        &self,
        cx: &Cx,
        channel: &dyn Channel,
        message: &OutgoingMessage,
        text: String,
    ) -> SendEnd {
        let out = outbound(&message.new, text);
        let sent = channel.send(for_channel(channel, message, out)).await;
        self.sent(cx, &message.new, sent.clone().ok().flatten(), sent.is_ok()).await;
        match sent {
            Ok(platform_id) => settled(OutgoingState::Accepted, platform_id, None),
            Err(error) => unknown(error.to_string()),
        }
    }

    async fn sent(&self, cx: &Cx, new: &NewOutgoing, message_id: Option<String>, ok: bool) {
        let sent = || {
            let mut sent = MessageSent::default().chat_id(new.chat_id.as_str()).ok(ok);
            sent.message_id = message_id;
            sent
        };
        if let Err(error) = self.hooks().fire_void(cx, sent).await {
            self.inner.hub.trouble("message_sent", &error.to_string());
        }
    }

    /// Whether hooks have seen every message of a run. A caller that waits for the text does not wait for the platform.
    pub(crate) async fn is_said(&self, run_id: &str) -> Result<bool, StoreError> {
        let open = OutgoingFilter {
            run_id: Some(run_id.to_string()),
            state: Some(OutgoingState::Prepared),
            ..OutgoingFilter::default()
        };
        let waits = |it: &OutgoingMessage| {
            it.attempts == 0 && !matches!(it.new.kind, OutgoingKind::Question { .. })
        };
        Ok(!self.inner.queues.outgoing(open).await?.iter().any(waits))
    }
}

/// The message with this text, where its row says.
fn outbound(new: &NewOutgoing, text: String) -> OutboundMessage {
    let mut out = OutboundMessage::default().text(text);
    out.thread_id.clone_from(&new.thread_id);
    out.reply_to.clone_from(&new.reply_to);
    out
}

/// The text of an interrupted message that is sent again; `None` when it is held back.
fn after_interruption(channel: &dyn Channel, message: &OutgoingMessage) -> Option<String> {
    let text = &message.new.text;
    if channel.features().idempotency_key {
        return Some(text.clone());
    }
    let is_final = message.new.kind == OutgoingKind::Reply;
    (is_final && !text.starts_with(REPEAT_MARK)).then(|| format!("{REPEAT_MARK}{text}"))
}

fn for_channel(
    channel: &dyn Channel,
    message: &OutgoingMessage,
    out: OutboundMessage,
) -> ChannelMessage {
    let features = channel.features();
    let (buttons, mut attachment) = match &message.new.kind {
        OutgoingKind::Question { buttons, attachment, .. } => (buttons.clone(), attachment.clone()),
        OutgoingKind::Reply | OutgoingKind::Notice => (Vec::new(), None),
    };
    let mut text = out.text;
    // A hook made the text longer than the platform allows.
    if features.max_text.is_some_and(|max| text.chars().count() > max) {
        let content = std::mem::replace(&mut text, "The text is in the file.".into());
        attachment.get_or_insert(Attachment { name: "message.txt".into(), content });
    }
    ChannelMessage {
        key: message.id.clone(),
        run_id: Some(message.new.run_id.clone()),
        chat_id: message.new.chat_id.clone(),
        thread_id: out.thread_id,
        reply_to: out.reply_to,
        text,
        buttons: if features.buttons { buttons } else { Vec::new() },
        attachment,
    }
}

fn settled(state: OutgoingState, platform_id: Option<String>, reason: Option<String>) -> SendEnd {
    SendEnd::Settled { state, platform_id, reason }
}

fn rejected(reason: String) -> SendEnd {
    settled(OutgoingState::Rejected, None, Some(reason))
}

fn unknown(reason: String) -> SendEnd {
    settled(OutgoingState::Unknown, None, Some(reason))
}
