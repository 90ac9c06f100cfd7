//! Channel safety decides who may write to the agent, and stops messages that are sent twice. It is an ordinary handler on
//! `message_screening` and `before_dispatch`.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use pintle::{
    Event, Hooks, RegisterError,
    points::{BeforeDispatch, InboundMessage, Suppressed},
};
use pintle_agent::store::{Queues, StoreError};
use sha2::{Digest, Sha256};

use crate::{
    clock::{hex, millis, now_ms},
    gateway::lock,
    points::{MessageScreening, Refused},
};

/// How long a pairing code is valid.
pub const PAIRING_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// How many wrong codes one sender, and all senders of a platform together, may try before codes are no longer checked.
const TRIES: u32 = 5;
const TRIES_OF_ALL: u32 = 30;
/// How long the tries are remembered.
const LOCKOUT: Duration = Duration::from_secs(60 * 60);
/// For how long the same text without a run is a duplicate.
const SAME_TEXT: Duration = Duration::from_secs(60);
/// No `0`, `O`, `1` or `I`: codes are read aloud.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// Who may write on one platform.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SafetyRules {
    /// The ids of the people who may write; `None` allows anyone.
    pub allow: Option<Vec<String>>,
    /// Other people can pair themselves with a code from the operator.
    pub pairing: bool,
    /// In a group, only messages that address the agent are accepted.
    pub mention_in_groups: bool,
}

/// Channel safety, for all platforms.
#[derive(Clone)]
pub struct ChannelSafety(Arc<State>);

/// Platform, chat, the hash of a text, and the run that says it.
type Saying = (String, String, String, Option<String>);

struct State {
    rules: BTreeMap<String, SafetyRules>,
    queues: Arc<dyn Queues>,
    /// One code is checked at a time: guesses cannot race past their limit.
    pairing: tokio::sync::Mutex<()>,
    said: Mutex<HashMap<Saying, Instant>>,
}

impl ChannelSafety {
    /// With these rules by platform. A platform without rules accepts messages from anyone.
    pub fn new(rules: BTreeMap<String, SafetyRules>, queues: Arc<dyn Queues>) -> Self {
        let (pairing, said) = (tokio::sync::Mutex::default(), Mutex::default());
        Self(Arc::new(State { rules, queues, pairing, said }))
    }

    /// Registers its handlers.
    ///
    /// # Errors
    /// When the registry refuses one.
    pub fn register(&self, hooks: &Hooks) -> Result<(), RegisterError> {
        let safety = self.clone();
        let screen = move |e: Event<MessageScreening>| {
            let safety = safety.clone();
            async move { safety.screen(&e.message).await }
        };
        hooks
            .named("channel safety")
            .source("built-in")
            .priority(1000)
            .fail_closed()
            .register_claiming(screen)?;
        let safety = self.clone();
        let dispatch = move |e: Event<BeforeDispatch>| {
            let run_id = e.envelope().run_id.clone();
            let is_repeat = safety.is_repeat(&e.platform, &e.chat_id, &e.text, run_id);
            std::future::ready(
                is_repeat.then(|| Suppressed::default().reason("the same text was sent already")),
            )
        };
        let registrar = hooks.named("outbound duplicates").source("built-in").priority(1000);
        registrar.register_claiming(dispatch).map(drop)
    }

    /// Refuses when the store cannot be read.
    async fn screen(&self, message: &InboundMessage) -> Option<Refused> {
        self.judge(message).await.unwrap_or_else(|error| {
            let reason = format!("channel safety could not check the sender: {error}");
            Some(Refused { reply: None, reason })
        })
    }

    async fn judge(&self, message: &InboundMessage) -> Result<Option<Refused>, StoreError> {
        let Some(rules) = self.0.rules.get(&message.platform) else { return Ok(None) };
        let refused = |reply: Option<&str>, reason: &str| {
            Ok(Some(Refused { reply: reply.map(str::to_string), reason: reason.to_string() }))
        };
        if rules.mention_in_groups && !message.is_direct && !message.mentions_agent {
            return refused(None, "a group message that does not address the agent");
        }
        if self.is_allowed(rules, message).await? {
            return Ok(None);
        }
        if !rules.pairing || !message.is_direct {
            return refused(None, "the sender is not on the allowlist");
        }
        let Some(code) = message.text.trim().strip_prefix("/pair") else {
            let reply =
                "I do not know you yet. Ask the operator for a pairing code and send: /pair CODE";
            return refused(self.once(message).await?.then_some(reply), "the sender is not paired");
        };
        match self.pair(message, code.trim()).await? {
            Some(true) => refused(Some("You are paired. Write to me."), "paired"),
            Some(false) => refused(Some("This code is not valid."), "a wrong pairing code"),
            None => refused(None, "too many wrong pairing codes"),
        }
    }

    async fn is_allowed(
        &self,
        rules: &SafetyRules,
        message: &InboundMessage,
    ) -> Result<bool, StoreError> {
        let Some(allow) = &rules.allow else { return Ok(true) };
        if allow.contains(&message.sender.id) {
            return Ok(true);
        }
        let paired = rules.pairing.then(|| paired_key(message));
        match paired {
            Some(key) => Ok(self.0.queues.value(&key).await?.is_some()),
            None => Ok(false),
        }
    }

    /// Whether this sender got no such reply within the last hour.
    async fn once(&self, message: &InboundMessage) -> Result<bool, StoreError> {
        let key = format!("told:{}:{}", message.platform, message.sender.id);
        if self.0.queues.value(&key).await?.is_some() {
            return Ok(false);
        }
        self.0.queues.put_value(&key, "", now_ms().saturating_add(millis(LOCKOUT))).await?;
        Ok(true)
    }

    /// Whether the code is right; `None` when codes are no longer checked.
    async fn pair(&self, message: &InboundMessage, code: &str) -> Result<Option<bool>, StoreError> {
        let _one_at_a_time = self.0.pairing.lock().await;
        let queues = &self.0.queues;
        let own = format!("tries:{}:{}", message.platform, message.sender.id);
        let all = format!("tries:{}", message.platform);
        for (key, limit) in [(&own, TRIES), (&all, TRIES_OF_ALL)] {
            if self.tries(key).await? >= limit {
                return Ok(None);
            }
        }
        if queues.take_value(&code_key(code)).await? {
            queues.put_value(&paired_key(message), "", u64::MAX).await?;
            return Ok(Some(true));
        }
        for key in [&own, &all] {
            let tries = self.tries(key).await?.saturating_add(1).to_string();
            queues.put_value(key, &tries, now_ms().saturating_add(millis(LOCKOUT))).await?;
        }
        Ok(Some(false))
    }

    async fn tries(&self, key: &str) -> Result<u32, StoreError> {
        let tries = self.0.queues.value(key).await?;
        Ok(tries.and_then(|tries| tries.parse().ok()).unwrap_or(0))
    }

    /// Whether a run sends the same text twice in one chat, or the gateway does so within a minute.
    fn is_repeat(&self, platform: &str, chat: &str, text: &str, run_id: Option<String>) -> bool {
        let mut said = lock(&self.0.said);
        said.retain(|_, at| at.elapsed() < SAME_TEXT);
        let key = (platform.to_string(), chat.to_string(), hex(&Sha256::digest(text)), run_id);
        said.insert(key, Instant::now()).is_some()
    }
}

fn paired_key(message: &InboundMessage) -> String {
    format!("paired:{}:{}", message.platform, message.sender.id)
}

/// The code itself is not stored.
fn code_key(code: &str) -> String {
    format!("pairing:{}", hex(&Sha256::digest(code.to_ascii_uppercase())))
}

/// Makes a code that pairs one person, once, within [`PAIRING_LIFETIME`].
///
/// # Errors
/// When the code cannot be stored, or the system's random generator fails.
pub async fn new_pairing_code(queues: &dyn Queues) -> Result<String, StoreError> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Failed {
        doing: "making a pairing code",
        detail: error.to_string(),
    })?;
    let letter = |byte: &u8| ALPHABET.get(usize::from(byte % 32)).copied().map(char::from);
    let code: String = bytes.iter().filter_map(letter).collect();
    let expires_at = now_ms().saturating_add(millis(PAIRING_LIFETIME));
    queues.put_value(&code_key(&code), "", expires_at).await?;
    Ok(code)
}
