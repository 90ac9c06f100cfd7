//! A store in memory.

mod approvals;
mod ledger;
mod notes;
mod queues;
mod records;
mod rules;
mod sessions;
mod short_ids;
mod tickets;

pub use queues::MemoryQueues;

use std::{
    collections::HashMap,
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::{BoxFuture, FutureExt};
use pintle::now_ms;
use tokio::{sync::Notify, time::Instant};

use crate::store::{
    Approval, Claim, Claims, FencingToken, IdKind, Intent, NewMessage, Note, RecordLoss,
    Reputation, Session, SessionRule, Store, StoreError, Stored, StoredCall, StoredEvent,
    StoredMessage, StoredRun, Summary, Ticket,
};

/// How long a run waits for another that has its session.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(2);

/// A [`Store`] in memory. Clones share what is kept, as processes share a database.
///
/// It keeps every promise of the traits but one: it ends with the process.
///
/// ```
/// use pintle_agent::{store::{Claims, NewSession, Sessions}, testing::MemoryStore};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryStore::default();
/// let session = store.open(NewSession { key: "cli:default".into(), ..Default::default() }).await?;
/// let claim = store.claim(&session).await?;
/// store.set_personality(&claim, "guide").await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    claim_timeout: Duration,
    delay: Option<Delay>,
}

/// What a store is about to do.
#[derive(Debug, Clone, Copy)]
pub enum Access<'a> {
    /// It adds these messages to a conversation.
    Append(&'a [NewMessage]),
    /// It writes down that this tool call is about to start.
    BeginCall(&'a Intent),
    /// It reads all messages of a conversation.
    History,
}

type Delay = Arc<dyn Fn(Access<'_>) -> BoxFuture<'static, ()> + Send + Sync>;

impl Default for MemoryStore {
    fn default() -> Self {
        Self { shared: Arc::default(), claim_timeout: CLAIM_TIMEOUT, delay: None }
    }
}

#[derive(Default)]
struct Shared {
    tables: Mutex<Tables>,
    /// Rung when a session is given back or a question is answered.
    changed: Notify,
}

#[derive(Default)]
struct Tables {
    /// In the order they were made, as everything here.
    sessions: Vec<Session>,
    messages: HashMap<String, Vec<StoredMessage>>,
    summaries: HashMap<String, Summary>,
    claims: HashMap<String, ClaimRow>,
    approvals: Vec<Approval>,
    calls: Vec<CallRow>,
    /// Each with the id of its program.
    rules: Vec<(String, SessionRule)>,
    next_rule: i64,
    runs: Vec<StoredRun>,
    events: HashMap<String, Vec<StoredEvent>>,
    loss: RecordLoss,
    short_ids: HashMap<String, (IdKind, String)>,
    notes: Vec<Note>,
    last_note: u64,
    tickets: Vec<Ticket>,
    last_ticket: u64,
    /// By assignee.
    reputations: HashMap<String, Reputation>,
}

struct ClaimRow {
    epoch: u64,
    /// None when the session was given back.
    held: Option<FencingToken>,
}

struct CallRow {
    call: StoredCall,
    /// Whether its result is in the conversation.
    settled: bool,
}

impl MemoryStore {
    /// A store whose claims wait this long for the run that has the session.
    #[must_use]
    pub fn with_claim_timeout(mut self, timeout: Duration) -> Self {
        self.claim_timeout = timeout;
        self
    }

    /// A store that waits for this future before each access to a conversation: for tests of slow stores.
    #[must_use]
    pub fn delayed_by(
        mut self,
        delay: impl Fn(Access<'_>) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        self.delay = Some(Arc::new(delay));
        self
    }

    fn delay(&self, access: Access<'_>) -> BoxFuture<'static, ()> {
        match &self.delay {
            Some(delay) => delay(access),
            None => ready(()).boxed(),
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.shared.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a change under the lock, all of it or nothing: it checks before it writes.
    fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Tables) -> Result<T, StoreError>,
    ) -> Stored<'_, T> {
        let done = change(&mut self.tables());
        self.shared.changed.notify_waiters();
        ready(done).boxed()
    }

    /// The same under a claim.
    fn fenced<T: Send + 'static>(
        &self,
        claim: &Claim,
        change: impl FnOnce(&mut Tables, &str) -> Result<T, StoreError>,
    ) -> Stored<'_, T> {
        self.write(|tables| {
            tables.fence(claim.token())?;
            change(tables, claim.session_id())
        })
    }

    fn read<T: Send + 'static>(&self, look: impl FnOnce(&Tables) -> T) -> Stored<'_, T> {
        let seen = look(&self.tables());
        ready(Ok(seen)).boxed()
    }
}

impl Tables {
    fn fence(&self, token: &FencingToken) -> Result<(), StoreError> {
        let held = self.claims.get(&token.session_id).and_then(|row| row.held.as_ref());
        match held == Some(token) {
            true => Ok(()),
            false => Err(StoreError::ClaimLost { session: token.session_id.clone() }),
        }
    }

    fn session(&self, id: &str) -> Option<&Session> {
        self.sessions.iter().find(|session| session.id == id)
    }

    /// A session and those above it, from the bottom.
    fn with_parents<'a>(&'a self, id: &str) -> impl Iterator<Item = &'a Session> {
        std::iter::successors(self.session(id), |session| self.session(session.parent.as_deref()?))
    }

    fn claim(&mut self, session_id: &str) -> Option<FencingToken> {
        let row =
            self.claims.entry(session_id.to_owned()).or_insert(ClaimRow { epoch: 0, held: None });
        if row.held.is_some() {
            return None;
        }
        row.epoch += 1;
        let token = FencingToken::new(session_id, row.epoch);
        row.held = Some(token.clone());
        Some(token)
    }
}

/// Gives the session back.
struct Held {
    store: MemoryStore,
    token: FencingToken,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut tables = self.store.tables();
        if let Some(row) = tables.claims.get_mut(&self.token.session_id)
            && row.held.as_ref() == Some(&self.token)
        {
            row.held = None;
        }
        drop(tables);
        self.store.shared.changed.notify_waiters();
    }
}

impl Claims for MemoryStore {
    fn claim(&self, session: &Session) -> Stored<'_, Claim> {
        let session = session.clone();
        async move {
            let deadline = Instant::now() + self.claim_timeout;
            loop {
                let changed = self.shared.changed.notified();
                if let Some(claim) = self.try_claim(&session.id).await? {
                    return Ok(claim);
                }
                if tokio::time::timeout_at(deadline, changed).await.is_err() {
                    return Err(StoreError::InUse { session: session.key, by: String::new() });
                }
            }
        }
        .boxed()
    }

    fn try_claim(&self, session_id: &str) -> Stored<'_, Option<Claim>> {
        let held = |token: FencingToken| {
            let guard = Held { store: self.clone(), token: token.clone() };
            Claim::new(token).held_by(guard)
        };
        let mut tables = self.tables();
        let claimed = match tables.session(session_id) {
            Some(_) => Ok(tables.claim(session_id).map(held)),
            None => Err(StoreError::NoSuchSession(session_id.to_owned())),
        };
        ready(claimed).boxed()
    }

    fn is_claimed(&self, session_id: &str) -> Stored<'_, bool> {
        self.read(|tables| tables.claims.get(session_id).is_some_and(|row| row.held.is_some()))
    }
}

impl Store for MemoryStore {}

/// The time by which the store decides.
fn now() -> u64 {
    now_ms()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::StorePlace;

    struct InMemory(MemoryStore);

    impl StorePlace for InMemory {
        fn fresh() -> Self {
            Self(MemoryStore::default().with_claim_timeout(Duration::from_millis(50)))
        }

        fn open(&self) -> BoxFuture<'_, Arc<dyn Store>> {
            ready(Arc::new(self.0.clone()) as Arc<dyn Store>).boxed()
        }
    }

    crate::store_conformance!(InMemory);
}
