//! How do I keep conversations somewhere else?
//!
//! A store implements nine traits and [`Store`]. This one keeps card numbers out of conversations and leaves the rest to
//! another store. `store_conformance!` holds it to every promise: `cargo test --example own_store`.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pintle_agent::{ApprovalRule, Message, store::*, testing::MemoryStore};

/// Stores no digits of long numbers.
struct Redacting(Arc<dyn Store>);

fn redact(message: &mut Message) {
    let (Message::User { text } | Message::Assistant { text, .. }) = message else { return };
    let is_card = |word: &str| word.len() >= 13 && word.bytes().all(|byte| byte.is_ascii_digit());
    let words: Vec<&str> =
        text.split(' ').map(|word| if is_card(word) { "[card]" } else { word }).collect();
    *text = words.join(" ");
}

/// Hands a method on as it is.
macro_rules! delegate {
    ($(fn $name:ident(&self $(, $arg:ident: $ty:ty)*) -> $out:ty;)*) => {
        $(fn $name(&self $(, $arg: $ty)*) -> $out { self.0.$name($($arg),*) })*
    };
}

impl Sessions for Redacting {
    // The claim goes along with every write: the store below compares it in the transaction of the write.
    fn append(&self, claim: &Claim, mut messages: Vec<NewMessage>) -> Stored<'_, ()> {
        messages.iter_mut().for_each(|new| redact(&mut new.message));
        self.0.append(claim, messages)
    }

    delegate! {
        fn open(&self, new: NewSession) -> Stored<'_, Session>;
        fn create(&self, new: NewSession) -> Stored<'_, Session>;
        fn session(&self, id: &str) -> Stored<'_, Option<Session>>;
        fn sessions(&self) -> Stored<'_, Vec<Session>>;
        fn history(&self, id: &str) -> Stored<'_, Vec<StoredMessage>>;
        fn conversation(&self, id: &str) -> Stored<'_, Conversation>;
        fn newest_message(&self, id: &str) -> Stored<'_, Option<StoredMessage>>;
        fn has_messages_of(&self, id: &str, run_id: &str) -> Stored<'_, bool>;
        fn set_summary(&self, claim: &Claim, summary: Summary) -> Stored<'_, ()>;
        fn set_personality(&self, claim: &Claim, personality: &str) -> Stored<'_, ()>;
        fn delete(&self, claim: &Claim) -> Stored<'_, ()>;
    }
}

impl Claims for Redacting {
    delegate! {
        fn claim(&self, session: &Session) -> Stored<'_, Claim>;
        fn try_claim(&self, session_id: &str) -> Stored<'_, Option<Claim>>;
        fn is_claimed(&self, session_id: &str) -> Stored<'_, bool>;
    }
}

impl Approvals for Redacting {
    delegate! {
        fn request_approval(&self, claim: &Claim, new: NewApproval) -> Stored<'_, Approval>;
        fn approval(&self, id: &str) -> Stored<'_, Option<Approval>>;
        fn approvals(&self, filter: ApprovalFilter) -> Stored<'_, Vec<Approval>>;
        fn answer_approval(&self, answer: Answer) -> Stored<'_, AnswerResult>;
        fn expire_approvals(&self) -> Stored<'_, Vec<Approval>>;
        fn cancel_approval(&self, claim: &Claim, id: &str, reason: &str) -> Stored<'_, bool>;
        fn withdraw_approvals(&self, claim: &Claim, reason: &str) -> Stored<'_, ()>;
        fn acknowledge_denial(&self, claim: &Claim, id: &str) -> Stored<'_, ()>;
        fn approvals_changed(&self) -> BoxFuture<'_, ()>;
    }
}

impl Rules for Redacting {
    delegate! {
        fn program(&self) -> Stored<'_, Program>;
        fn add_rule(&self, program: &Program, session_id: &str, rule: &ApprovalRule, workspace: &str, by: &str)
            -> Stored<'_, ()>;
        fn rules_in(&self, program: &Program, session_id: &str) -> Stored<'_, Vec<SessionRule>>;
        fn session_rules(&self) -> Stored<'_, Vec<SessionRule>>;
        fn revoke_rule(&self, number: i64) -> Stored<'_, bool>;
    }
}

impl Ledger for Redacting {
    delegate! {
        fn begin_call(&self, claim: &Claim, intent: Intent) -> Stored<'_, Begun>;
        fn end_call(&self, claim: &Claim, id: &str, end: CallEnd) -> Stored<'_, ()>;
        fn open_calls(&self, session_id: &str) -> Stored<'_, Vec<StoredCall>>;
        fn calls(&self, filter: CallFilter) -> Stored<'_, Vec<StoredCall>>;
    }
}

impl Records for Redacting {
    delegate! {
        fn record(&self, record: Record) -> ();
        fn flush_records(&self) -> BoxFuture<'_, ()>;
        fn record_loss(&self) -> RecordLoss;
        fn runs(&self, limit: u32) -> Stored<'_, Vec<StoredRun>>;
        fn run(&self, run_id: &str) -> Stored<'_, Option<StoredRun>>;
        fn events(&self, run_id: &str) -> Stored<'_, Vec<StoredEvent>>;
        fn runs_since(&self, since: u64) -> Stored<'_, Vec<StoredRun>>;
        fn fired_hooks(&self, since: u64) -> Stored<'_, FiredHooks>;
        fn forget_runs(&self, limit: Retention) -> Stored<'_, u64>;
    }
}

impl ShortIds for Redacting {
    delegate! {
        fn short_id(&self, kind: IdKind, id: &str) -> Stored<'_, String>;
        fn by_short_id(&self, short: &str) -> Stored<'_, Option<(IdKind, String)>>;
    }
}

impl Tickets for Redacting {
    delegate! {
        fn create_ticket(&self, new: NewTicket) -> Stored<'_, Ticket>;
        fn ticket(&self, id: u64) -> Stored<'_, Option<Ticket>>;
        fn tickets(&self, state: Option<TicketState>) -> Stored<'_, Vec<Ticket>>;
        fn move_ticket(&self, seen: &Ticket, to: TicketMove) -> Stored<'_, Option<Ticket>>;
        fn delete_ticket(&self, id: u64) -> Stored<'_, bool>;
        fn reputation(&self, assignee: &str) -> Stored<'_, Reputation>;
    }
}

impl Notes for Redacting {
    delegate! {
        fn add_note(&self, new: NewNote) -> Stored<'_, Note>;
        fn search_notes(&self, scope: Option<&NoteScope>, query: &str, limit: u32) -> Stored<'_, Vec<Note>>;
        fn notes(&self, scope: Option<&NoteScope>, limit: u32) -> Stored<'_, Vec<Note>>;
        fn delete_note(&self, id: u64) -> Stored<'_, bool>;
    }
}

impl Store for Redacting {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StoreError> {
    let store: Arc<dyn Store> = Arc::new(Redacting(Arc::new(MemoryStore::default())));
    let session = store.open(NewSession { key: "shop".into(), ..NewSession::default() }).await?;
    let claim = store.claim(&session).await?;
    let text = "my card is 4111111111111111 thanks".into();
    let said = NewMessage { run_id: "run".into(), message: Message::User { text } };
    store.append(&claim, vec![said]).await?;
    let kept = &store.history(&session.id).await?[0].message;
    assert_eq!(*kept, Message::User { text: "my card is [card] thanks".into() });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
