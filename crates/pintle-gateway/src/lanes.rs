//! Runs the messages of lanes (R12.3): in each lane first in, first out and one run at a time; several lanes at once.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use pintle_agent::{
    RunEventKind, RunRequest,
    store::{
        ClaimedMessage, LaneClaim, MessageEnd, MessageState, NewOutgoing, OutgoingKind,
        QueuedMessage,
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::{millis, now_ms},
    gateway::{Gateway, in_parts, lock},
};

/// How long to wait before a message is tried again, times the number of tries.
const RETRY: Duration = Duration::from_secs(2);
/// Error codes of the store, not of the message: a retry may help.
const PASSING: [&str; 2] = ["session_in_use", "store"];

/// The end of a run.
enum Ended {
    Done {
        text: String,
        outcome: String,
    },
    /// The run waits for answers to these questions, which expire at these times.
    Parked(Vec<(String, u64)>),
    Failed(String),
    /// The gateway is stopping: the message is processed after the next start.
    Stopping,
}

impl Gateway {
    pub(crate) async fn process_lanes(self) {
        let slots = Arc::new(Semaphore::new(self.inner.config.max_runs.max(1)));
        loop {
            let slot = tokio::select! {
                () = self.inner.stop.cancelled() => return,
                slot = slots.clone().acquire_owned() => slot,
            };
            let Ok(slot) = slot else { return };
            loop {
                let (owner, lease) = (&self.inner.owner, self.inner.config.lease);
                match self.inner.queues.claim_lane(owner, lease).await {
                    Ok(Some(claimed)) => {
                        self.spawn(self.clone().process(claimed, slot));
                        break;
                    }
                    Ok(None) => {}
                    Err(error) => self.inner.hub.trouble("queue", &error.to_string()),
                }
                if !self.wait(&self.inner.work).await {
                    return;
                }
            }
        }
    }

    async fn process(
        self,
        ClaimedMessage { claim, message }: ClaimedMessage,
        slot: OwnedSemaphorePermit,
    ) {
        let max = self.inner.config.max_attempts;
        if message.attempts > max {
            let error = message
                .error
                .clone()
                .unwrap_or_else(|| "the program ended while it was processed".into());
            self.settle(&claim, &message, Ended::Failed(error)).await;
            return;
        }
        // `/stop` may have come first.
        let cancel = lock(&self.inner.running).entry(message.run_id.clone()).or_default().clone();
        let renewing = self.keep_lease(claim.clone(), cancel.clone());
        let mut running = std::pin::pin!(self.run(&claim, &message, &cancel));
        tokio::select! {
            () = &mut running => {}
            () = renewing => running.await,
        }
        lock(&self.inner.running).remove(&message.run_id);
        drop(slot);
        self.inner.work.notify_one();
    }

    /// Renews the lease until the run ends. If that fails, the run is stopped.
    async fn keep_lease(&self, claim: LaneClaim, cancel: CancellationToken) {
        let lease = self.inner.config.lease;
        loop {
            tokio::time::sleep(lease / 3).await;
            let renewed =
                tokio::time::timeout(lease / 3, self.inner.queues.renew_lane(&claim, lease));
            if !matches!(renewed.await, Ok(Ok(true))) {
                cancel.cancel();
                return;
            }
        }
    }

    /// The timeline of a run that another process began has its earlier events first.
    async fn follow(&self, run_id: &str) {
        if self.inner.hub.follows(run_id) {
            return;
        }
        let events = self.inner.store.events(run_id).await.unwrap_or_default();
        let events = events.iter().filter_map(|event| serde_json::from_str(&event.json).ok());
        self.inner.hub.catch_up(&events.collect::<Vec<_>>());
    }

    async fn run(&self, claim: &LaneClaim, message: &QueuedMessage, cancel: &CancellationToken) {
        let said = &message.message;
        let mut request = RunRequest::in_session(&message.session_id, &said.text)
            .on(&said.platform)
            .with_id(&message.run_id);
        if let Some(personality) = &message.personality {
            request = request.as_personality(personality);
        }
        let requester = format!("{}:{}", said.platform, said.sender.id);
        if self.inner.config.open_to_strangers.contains(&said.platform) {
            request = request.from_stranger(&requester);
        }
        let agent = match self.renewed_agent().await {
            Ok(agent) => agent,
            Err(_) if self.inner.stop.is_cancelled() => {
                return self.settle(claim, message, Ended::Stopping).await;
            }
            Err(error) => return self.settle(claim, message, Ended::Failed(error)).await,
        };
        let resumed = message.waiting_on.clone();
        self.inner.approver.begin(&message.run_id, requester, resumed);
        self.follow(&message.run_id).await;
        let mut run = agent.run(request);
        let canceller = run.canceller();
        let mut problem = None;
        let mut done = None;
        let mut stopping = false;
        loop {
            let event = tokio::select! {
                () = cancel.cancelled(), if !canceller.is_cancelled() => {
                    canceller.cancel();
                    continue;
                }
                () = self.inner.stop.cancelled(), if !canceller.is_cancelled() => {
                    stopping = true;
                    canceller.cancel();
                    continue;
                }
                event = run.next() => event,
            };
            let Some(event) = event else { break };
            self.inner.hub.publish(&event);
            let own = event.envelope.run_id.as_deref() == Some(&message.run_id);
            match event.kind {
                RunEventKind::Error { code, .. } if own && done.is_none() => problem = Some(code),
                RunEventKind::Done { text, outcome } if own => {
                    let is_passing = problem.as_deref().is_some_and(|code| PASSING.contains(&code));
                    let ended = match (stopping, is_passing) {
                        (true, _) => Ended::Stopping,
                        (false, true) => Ended::Failed(text),
                        (false, false) => Ended::Done { text, outcome: outcome.as_str().into() },
                    };
                    // The last handlers of the run do not delay the reply.
                    self.settle(claim, message, ended).await;
                    done = Some(());
                }
                _ => {}
            }
        }
        let parked = self.inner.approver.end(&message.run_id);
        if done.is_some() {
            return;
        }
        let ended = match (parked.is_empty(), stopping) {
            (false, _) => Ended::Parked(parked),
            (true, true) => Ended::Stopping,
            (true, false) => Ended::Failed("the run ended without an answer".into()),
        };
        self.settle(claim, message, ended).await;
    }

    /// Stores the end of the message and the reply in one write.
    async fn settle(&self, claim: &LaneClaim, message: &QueuedMessage, ended: Ended) {
        let (end, outgoing) = match ended {
            Ended::Stopping => (MessageEnd::Released, Vec::new()),
            Ended::Done { text, outcome } => {
                let text =
                    if text.trim().is_empty() { "(The answer is empty.)".into() } else { text };
                (MessageEnd::Done { outcome }, self.reply(message, text))
            }
            Ended::Parked(asked) => {
                let mut questions = Vec::new();
                for (approval_id, _) in &asked {
                    questions.extend(self.questions(approval_id, message).await);
                }
                let until = asked.iter().map(|(_, until)| *until).min().unwrap_or_default();
                // The run continues when the first question is answered, and is parked again for the next.
                let approval_id = asked.into_iter().next().map(|(id, _)| id).unwrap_or_default();
                (MessageEnd::Parked { approval_id, until }, questions)
            }
            Ended::Failed(error) if message.attempts < self.inner.config.max_attempts => {
                let pause = millis(RETRY).saturating_mul(u64::from(message.attempts.max(1)));
                (MessageEnd::Retry { error, at: now_ms().saturating_add(pause) }, Vec::new())
            }
            Ended::Failed(error) => {
                let text = format!(
                    "This message could not be processed and was put aside: {error}. The operator can try it again."
                );
                (MessageEnd::Dead { error }, self.reply(message, text))
            }
        };
        match self.inner.queues.settle_lane(claim, end, outgoing).await {
            Ok(_) => {}
            // The lease expires, and the message is processed again.
            Err(error) => self.inner.hub.trouble("queue", &error.to_string()),
        }
        self.has_settled();
        self.inner.work.notify_one();
        self.inner.sends.notify_one();
    }

    /// The final answer, in as many messages as the platform needs.
    fn reply(&self, message: &QueuedMessage, text: String) -> Vec<NewOutgoing> {
        let said = &message.message;
        let reply = NewOutgoing {
            lane: message.lane.clone(),
            run_id: message.run_id.clone(),
            session_id: Some(message.session_id.clone()),
            platform: said.platform.clone(),
            chat_id: said.chat_id.clone(),
            thread_id: said.thread_id.clone(),
            reply_to: Some(said.id.clone()),
            text,
            kind: OutgoingKind::Reply,
        };
        let channel = self.inner.channels.get(&said.platform);
        in_parts(reply, channel.and_then(|channel| channel.features().max_text))
    }

    /// Puts a dead letter back into its lane. `false` when no dead letter has this id.
    ///
    /// # Errors
    /// When the queues cannot be used.
    pub async fn retry_dead(&self, run_id: &str) -> Result<bool, pintle_agent::StoreError> {
        lock(&self.inner.running).remove(run_id);
        let is_back = self.inner.queues.retry_dead(run_id).await?;
        self.inner.work.notify_one();
        Ok(is_back)
    }

    /// Waits until a message is settled and the text of its replies is final. `None` when no message has this id.
    ///
    /// # Errors
    /// When the queues cannot be read.
    pub async fn wait_until_settled(
        &self,
        run_id: &str,
    ) -> Result<Option<QueuedMessage>, pintle_agent::StoreError> {
        let mut settled = self.settled();
        loop {
            settled.borrow_and_update();
            let message = self.inner.queues.message(run_id).await?;
            let is_over = message.as_ref().is_none_or(|message| {
                matches!(message.state, MessageState::Done | MessageState::Dead)
            });
            if is_over && self.is_said(run_id).await? {
                return Ok(message);
            }
            tokio::select! {
                _ = settled.changed() => {}
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        }
    }
}
