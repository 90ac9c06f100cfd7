//! The slash commands of a chat, and answers to questions.

use pintle_agent::{
    NewSession, Session,
    store::{ApprovalFilter, ApprovalState, Decision, Scope, Stopped, StoreError},
};

use crate::{
    approvals::ApprovalReply,
    gateway::{Gateway, lock},
    inbound::Arrival,
};

impl Gateway {
    /// The reply to a command; `None` when the message is not a command.
    pub(crate) async fn command(
        &self,
        arrival: &Arrival,
        session: &Session,
    ) -> Result<Option<String>, StoreError> {
        let text = arrival.message.text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        // In a group, Telegram adds the bot's name: `/stop@my_bot`.
        let word = word.split_once('@').map_or(word, |(word, _)| word);
        let rest = rest.trim();
        let reply = match word.to_ascii_lowercase().as_str() {
            "/personality" => self.switch(session, rest).await,
            "/stop" => self.stop_lane(&arrival.lane).await?,
            "/new" => self.new_session(session).await?,
            "/approve" => self.answer_in_chat(arrival, rest, true).await?,
            "/deny" => self.answer_in_chat(arrival, rest, false).await?,
            "yes" | "no" if rest.is_empty() => {
                let is_approved = word.eq_ignore_ascii_case("yes");
                return self.answer_newest(arrival, is_approved).await;
            }
            _ => return Ok(None),
        };
        Ok(Some(reply))
    }

    async fn switch(&self, session: &Session, to: &str) -> String {
        let agent = self.agent();
        if to.is_empty() {
            let speaks = session.personality.as_deref();
            let speaks = speaks.unwrap_or(agent.personalities().default_id());
            let all: Vec<_> = agent.personalities().names().collect();
            return format!("The personality is {speaks}. Available: {}.", all.join(", "));
        }
        match agent.switch_personality(session, to).await {
            Ok(()) => format!("The personality is now {to}."),
            Err(error) => format!("The personality was not changed: {error}"),
        }
    }

    /// Ends the run of this lane and its open question.
    pub(crate) async fn stop_lane(&self, lane: &str) -> Result<String, StoreError> {
        let message = match self.inner.queues.stop_lane(lane).await? {
            Stopped::Nothing => return Ok("No run is active in this chat.".into()),
            Stopped::Claimed(message) => {
                lock(&self.inner.running).entry(message.run_id).or_default().cancel();
                return Ok("Stopping.".into());
            }
            Stopped::Ended(message) => message,
        };
        if message.waiting_on.is_some()
            && let Some(session) = self.inner.store.session(&message.session_id).await?
        {
            let claim = self.inner.store.claim(&session).await?;
            self.inner.store.withdraw_approvals(&claim, "the run was stopped").await?;
        }
        if let Some(approval_id) = &message.waiting_on {
            self.close_questions(approval_id).await?;
        }
        self.has_settled();
        self.inner.work.notify_one();
        Ok(match message.waiting_on {
            Some(_) => "The run was stopped and its question withdrawn.".into(),
            None => "The message was removed before its run began.".into(),
        })
    }

    async fn new_session(&self, session: &Session) -> Result<String, StoreError> {
        let new = NewSession {
            key: session.key.clone(),
            platform: session.platform.clone(),
            personality: session.personality.clone(),
            parent: None,
        };
        self.inner.store.create(new).await?;
        Ok("A new conversation begins.".into())
    }

    /// `/approve ID` and `/deny ID`, with words after the id for the model.
    async fn answer_in_chat(
        &self,
        arrival: &Arrival,
        rest: &str,
        is_approved: bool,
    ) -> Result<String, StoreError> {
        let (part, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let found = self.inner.store.find_approval(part).await?;
        let [approval] = found.as_slice() else {
            return Ok(match found.is_empty() {
                true => "No question has this id. Write `/approve ID`, or `/deny ID why`.".into(),
                false => "Several questions match this id. Write more of it.".into(),
            });
        };
        let reply = ApprovalReply {
            id: approval.id.clone(),
            args_hash: approval.args_hash.clone(),
            decision: if is_approved { Decision::Approve(Scope::Once) } else { Decision::Deny },
            reason: Some(reason.trim().to_string()).filter(|reason| !reason.is_empty()),
        };
        Ok(self.answer(&[arrival.identity()], reply).await?.in_words())
    }

    /// `yes` and `no` answer the newest open question that was sent to this chat. Without one, they are ordinary messages.
    async fn answer_newest(
        &self,
        arrival: &Arrival,
        is_approved: bool,
    ) -> Result<Option<String>, StoreError> {
        let identity = arrival.identity();
        let (platform, chat) = (&arrival.message.platform, &arrival.message.chat_id);
        let pending = ApprovalFilter { state: Some(ApprovalState::Pending), ..Default::default() };
        let pending = self.inner.store.approvals(pending).await?;
        for approval in pending.iter().filter(|it| it.may_be_answered_by(&identity)) {
            if self.was_asked_in(&approval.id, platform, chat).await? {
                return self.answer_in_chat(arrival, &approval.id, is_approved).await.map(Some);
            }
        }
        Ok(None)
    }
}
