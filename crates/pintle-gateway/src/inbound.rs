//! Incoming messages (R12.1): deduplicate, channel safety, lane and personality, `message_received`,
//! `inbound_claim`, commands, the lane.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::{BoxFuture, FutureExt};
use pintle::points::{InboundClaim, InboundMessage, MessageReceived};
use pintle_agent::{
    ButtonPress, Channel, ChannelError, Inbox, NewSession, Personality, Received, Session,
    store::{Accepted, NewInbound, NewOutgoing, OutgoingKind, StoreError},
};

use crate::{
    clock::{new_id, now_ms},
    gateway::{Gateway, lane_key, lock},
    points::MessageScreening,
};

/// How long to wait before a channel that failed receives again: doubled up to a minute.
const RESTART: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A full chat gets the reply about it once in this time.
const BUSY_PAUSE_MS: u64 = 5_000;

/// An incoming message.
pub(crate) struct Arrival {
    pub(crate) message: InboundMessage,
    pub(crate) lane: String,
    pub(crate) dedup_key: String,
    pub(crate) run_id: String,
}

impl Arrival {
    fn new(message: InboundMessage) -> Self {
        let (bot, thread) = (message.bot_id.as_deref(), message.thread_id.as_deref());
        let lane = lane_key(&message.platform, bot, &message.chat_id, thread);
        let key = [&message.platform, bot.unwrap_or_default(), &message.chat_id, &message.id];
        let dedup_key = serde_json::Value::from(key.map(str::to_string).to_vec()).to_string();
        Self { message, lane, dedup_key, run_id: new_id() }
    }

    /// The sender, unique across platforms.
    pub(crate) fn identity(&self) -> String {
        format!("{}:{}", self.message.platform, self.message.sender.id)
    }

    /// A reply in the same chat.
    pub(crate) fn answer(&self, session: Option<&Session>, text: impl Into<String>) -> NewOutgoing {
        NewOutgoing {
            lane: self.lane.clone(),
            run_id: self.run_id.clone(),
            session_id: session.map(|session| session.id.clone()),
            platform: self.message.platform.clone(),
            chat_id: self.message.chat_id.clone(),
            thread_id: self.message.thread_id.clone(),
            reply_to: Some(self.message.id.clone()),
            text: text.into(),
            kind: OutgoingKind::Notice,
        }
    }
}

impl Inbox for Gateway {
    fn accept(&self, message: InboundMessage) -> BoxFuture<'_, Result<Received, ChannelError>> {
        async move {
            self.receive(message, None).await.map_err(|error| ChannelError(error.to_string()))
        }
        .boxed()
    }

    fn press(&self, press: ButtonPress) -> BoxFuture<'_, Result<String, ChannelError>> {
        async move { self.pressed(press).await.map_err(|error| ChannelError(error.to_string())) }
            .boxed()
    }
}

impl Gateway {
    /// Accepts a message. `personality` is the agent's personality from now on, if the message names one.
    ///
    /// # Errors
    /// When the message could not be stored. The platform may then deliver it again.
    pub async fn receive(
        &self,
        message: InboundMessage,
        personality: Option<String>,
    ) -> Result<Received, StoreError> {
        let arrival = Arrival::new(message);
        // Messages keep their order, even if the hooks of the first one are slow.
        let turn = self.arrival_turn(&arrival.lane);
        let received = {
            let _turn = turn.lock().await;
            self.receive_in_turn(&arrival, personality).await
        };
        drop(turn);
        lock(&self.inner.arriving).retain(|_, turn| Arc::strong_count(turn) > 1);
        self.inner.work.notify_one();
        self.inner.sends.notify_one();
        received
    }

    async fn receive_in_turn(
        &self,
        arrival: &Arrival,
        personality: Option<String>,
    ) -> Result<Received, StoreError> {
        if let Some(run_id) = self.inner.queues.seen(&arrival.dedup_key).await? {
            return Ok(Received::Duplicate { run_id });
        }
        if let Some(refused) = self.screen(arrival).await? {
            return Ok(refused);
        }
        let new = NewSession {
            key: arrival.lane.clone(),
            platform: arrival.message.platform.clone(),
            ..NewSession::default()
        };
        let session = self.inner.store.open(new).await?;
        // Its handlers see the message. An error is reported when the run cannot start.
        let agent = self.renewed_agent().await.unwrap_or_else(|_| self.agent());
        let speaker = match agent.personality(&session) {
            Ok(speaker) => speaker,
            Err(unknown) => return self.refuse(arrival, Some(&session), unknown.to_string()).await,
        };
        if let Some(asked) = &personality
            && let Err(unknown) = agent.personalities().get(asked)
        {
            return self.refuse(arrival, Some(&session), unknown.to_string()).await;
        }
        if let Some(done) = self.announce(arrival, &session, &speaker).await? {
            return Ok(done);
        }
        if let Some(reply) = self.command(arrival, &session).await? {
            return self.handled(arrival, Some(&session), Some(reply)).await;
        }
        let new = NewInbound {
            dedup_key: arrival.dedup_key.clone(),
            lane: arrival.lane.clone(),
            run_id: arrival.run_id.clone(),
            session_id: session.id.clone(),
            personality,
            message: arrival.message.clone(),
        };
        match self.inner.queues.accept(new, self.inner.config.lane_bound).await? {
            Accepted::Queued => Ok(Received::Queued { run_id: arrival.run_id.clone() }),
            Accepted::Duplicate(run_id) => Ok(Received::Duplicate { run_id }),
            Accepted::Busy => {
                let text = format!(
                    "Too many messages are waiting here already ({}). This one was not accepted: send it again later.",
                    self.inner.config.lane_bound
                );
                let told = format!("busy:{}", arrival.lane);
                if self.inner.queues.value(&told).await?.is_none() {
                    let until = now_ms().saturating_add(BUSY_PAUSE_MS);
                    self.inner.queues.put_value(&told, "", until).await?;
                    self.enqueue(vec![arrival.answer(Some(&session), text)]).await?;
                }
                Ok(Received::Busy)
            }
        }
    }

    /// Channel safety. A refused message goes no further. A handler that fails refuses the message.
    async fn screen(&self, arrival: &Arrival) -> Result<Option<Received>, StoreError> {
        let cx = self.cx(&arrival.message.platform, &arrival.run_id, None);
        let screening = || MessageScreening { message: arrival.message.clone() };
        match self.hooks().fire_claiming(&cx, screening).await {
            Ok(None) => Ok(None),
            Ok(Some(refused)) => {
                let answers = refused.reply.as_ref().map(|text| arrival.answer(None, text));
                self.note(arrival, answers.into_iter().collect()).await?;
                Ok(Some(Received::Refused { reason: refused.reason.clone() }))
            }
            // The message may pass when it is delivered again.
            Err(error) => Ok(Some(Received::Refused { reason: error.to_string() })),
        }
    }

    /// `message_received`, then `inbound_claim`.
    async fn announce(
        &self,
        arrival: &Arrival,
        session: &Session,
        speaker: &Personality,
    ) -> Result<Option<Received>, StoreError> {
        let cx = self.cx(&arrival.message.platform, &arrival.run_id, Some((session, speaker)));
        let received = || MessageReceived::default().message(arrival.message.clone());
        if let Err(error) = self.hooks().fire_void(&cx, received).await {
            return self.refuse(arrival, Some(session), error.to_string()).await.map(Some);
        }
        let claim = || InboundClaim::default().message(arrival.message.clone());
        match self.hooks().fire_claiming(&cx, claim).await {
            Ok(None) => Ok(None),
            Ok(Some(claimed)) => {
                self.handled(arrival, Some(session), claimed.reply.clone()).await.map(Some)
            }
            Err(error) => self.refuse(arrival, Some(session), error.to_string()).await.map(Some),
        }
    }

    async fn handled(
        &self,
        arrival: &Arrival,
        session: Option<&Session>,
        reply: Option<String>,
    ) -> Result<Received, StoreError> {
        let answers = reply.map(|text| arrival.answer(session, text));
        self.note(arrival, answers.into_iter().collect()).await?;
        Ok(Received::Handled { run_id: arrival.run_id.clone() })
    }

    async fn refuse(
        &self,
        arrival: &Arrival,
        session: Option<&Session>,
        reason: String,
    ) -> Result<Received, StoreError> {
        // The key is not stored, so the message may pass when it is delivered again.
        let text = format!("This message was not accepted: {reason}");
        self.enqueue(vec![arrival.answer(session, text)]).await?;
        Ok(Received::Refused { reason })
    }

    async fn note(&self, arrival: &Arrival, answers: Vec<NewOutgoing>) -> Result<(), StoreError> {
        self.inner.queues.note(&arrival.dedup_key, &arrival.run_id, answers).await?;
        Ok(())
    }

    fn arrival_turn(&self, lane: &str) -> Arc<tokio::sync::Mutex<()>> {
        lock(&self.inner.arriving).entry(lane.to_string()).or_default().clone()
    }

    /// Receives from one channel until the gateway stops. A channel that fails receives again after a while.
    pub(crate) async fn receive_from(self, channel: Arc<dyn Channel>) {
        let mut pause = RESTART;
        let stop = self.inner.stop.clone();
        while !stop.is_cancelled() {
            let inbox: Arc<dyn Inbox> = Arc::new(self.clone());
            let began = Instant::now();
            match channel.receive(inbox, stop.clone()).await {
                Ok(()) => return,
                Err(error) => self.inner.hub.trouble(channel.platform(), &error.to_string()),
            }
            // The channel worked for a while, so this is a new failure.
            if began.elapsed() > LONGEST_PAUSE {
                pause = RESTART;
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            }
        }
    }
}
