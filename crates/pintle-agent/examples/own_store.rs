//! How do I keep conversations somewhere else?
//!
//! A store implements nine traits and [`Store`]. This one keeps card numbers out of conversations: it implements `Sessions`,
//! and `forward_store!` leaves the rest to another store. `store_conformance!` holds it to every promise:
//! `cargo test --example own_store`.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use std::sync::Arc;

use pintle_agent::{Message, store::*, testing::MemoryStore};

/// Stores no digits of long numbers.
struct Redacting(Arc<dyn Store>);

fn redact(message: &mut Message) {
    let (Message::User { text, .. } | Message::Assistant { text, .. }) = message else { return };
    let is_card = |word: &str| word.len() >= 13 && word.bytes().all(|byte| byte.is_ascii_digit());
    let words: Vec<&str> =
        text.split(' ').map(|word| if is_card(word) { "[card]" } else { word }).collect();
    *text = words.join(" ");
}

impl Sessions for Redacting {
    // The claim goes along with every write: the store below compares it in the transaction of the write.
    fn append(&self, claim: &Claim, mut messages: Vec<NewMessage>) -> Stored<'_, ()> {
        messages.iter_mut().for_each(|new| redact(&mut new.message));
        self.0.append(claim, messages)
    }

    fn open(&self, new: NewSession) -> Stored<'_, Session> {
        self.0.open(new)
    }

    fn create(&self, new: NewSession) -> Stored<'_, Session> {
        self.0.create(new)
    }

    fn session(&self, id: &str) -> Stored<'_, Option<Session>> {
        self.0.session(id)
    }

    fn sessions(&self) -> Stored<'_, Vec<Session>> {
        self.0.sessions()
    }

    fn history(&self, id: &str) -> Stored<'_, Vec<StoredMessage>> {
        self.0.history(id)
    }

    fn conversation(&self, id: &str) -> Stored<'_, Conversation> {
        self.0.conversation(id)
    }

    fn newest_message(&self, id: &str) -> Stored<'_, Option<StoredMessage>> {
        self.0.newest_message(id)
    }

    fn has_messages_of(&self, id: &str, run_id: &str) -> Stored<'_, bool> {
        self.0.has_messages_of(id, run_id)
    }

    fn set_summary(&self, claim: &Claim, summary: Summary) -> Stored<'_, ()> {
        self.0.set_summary(claim, summary)
    }

    fn set_personality(&self, claim: &Claim, personality: &str) -> Stored<'_, ()> {
        self.0.set_personality(claim, personality)
    }

    fn delete(&self, claim: &Claim) -> Stored<'_, ()> {
        self.0.delete(claim)
    }
}

pintle_agent::forward_store!(
    Redacting: Claims, Approvals, Rules, Ledger, Records, ShortIds, Tickets, Notes, Store
);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StoreError> {
    let store: Arc<dyn Store> = Arc::new(Redacting(Arc::new(MemoryStore::default())));
    let session = store.open(NewSession { key: "shop".into(), ..NewSession::default() }).await?;
    let claim = store.claim(&session).await?;
    let message = Message::user("my card is 4111111111111111 thanks");
    let said = NewMessage { run_id: "run".into(), message };
    store.append(&claim, vec![said]).await?;
    let kept = &store.history(&session.id).await?[0].message;
    assert_eq!(*kept, Message::user("my card is [card] thanks"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::BoxFuture;
    use pintle_agent::testing::StorePlace;

    use super::*;

    struct Place(MemoryStore);

    impl StorePlace for Place {
        fn fresh() -> Self {
            Self(MemoryStore::default().with_claim_timeout(Duration::from_millis(50)))
        }

        fn open(&self) -> BoxFuture<'_, Arc<dyn Store>> {
            let store: Arc<dyn Store> = Arc::new(Redacting(Arc::new(self.0.clone())));
            Box::pin(std::future::ready(store))
        }
    }

    pintle_agent::store_conformance!(Place);

    #[test]
    fn it_runs() {
        main().unwrap();
    }
}
