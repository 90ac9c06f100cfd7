//! For a store that changes one thing about another one and leaves it the rest.

/// Implements the named traits for a store that wraps another one, `struct Mine(Arc<dyn Store>);`: each method calls the
/// same method of the store inside. The traits that are not named are written by hand.
///
/// ```
/// use std::sync::Arc;
/// use futures_util::future::{FutureExt, ready};
/// use pintle_agent::{forward_store, store::*, testing::MemoryStore};
///
/// /// Gives no short ids.
/// struct LongIds(Arc<dyn Store>);
///
/// impl ShortIds for LongIds {
///     fn short_id(&self, _: IdKind, id: &str) -> Stored<'_, String> {
///         ready(Ok(id.to_owned())).boxed()
///     }
///     fn by_short_id(&self, _: &str) -> Stored<'_, Option<(IdKind, String)>> {
///         ready(Ok(None)).boxed()
///     }
/// }
///
/// forward_store!(LongIds: Sessions, Claims, Approvals, Rules, Ledger, Records, Tickets, Notes, Store);
///
/// let store: Arc<dyn Store> = Arc::new(LongIds(Arc::new(MemoryStore::default())));
/// # let _ = store;
/// ```
#[macro_export]
macro_rules! forward_store {
    ($store:ident: $($name:ident),+ $(,)?) => {
        $($crate::forward_store! { @impl $name $store })+
    };
    (@impl Sessions $store:ident) => { $crate::forward_store! { @methods Sessions $store
        fn open(&self, new: NewSession) -> Stored<'_, Session>;
        fn create(&self, new: NewSession) -> Stored<'_, Session>;
        fn session(&self, id: &str) -> Stored<'_, Option<Session>>;
        fn sessions(&self) -> Stored<'_, Vec<Session>>;
        fn history(&self, id: &str) -> Stored<'_, Vec<StoredMessage>>;
        fn conversation(&self, id: &str) -> Stored<'_, Conversation>;
        fn newest_message(&self, id: &str) -> Stored<'_, Option<StoredMessage>>;
        fn has_messages_of(&self, id: &str, run_id: &str) -> Stored<'_, bool>;
        fn append(&self, claim: &Claim, messages: Vec<NewMessage>) -> Stored<'_, ()>;
        fn set_summary(&self, claim: &Claim, summary: Summary) -> Stored<'_, ()>;
        fn set_personality(&self, claim: &Claim, personality: &str) -> Stored<'_, ()>;
        fn delete(&self, claim: &Claim) -> Stored<'_, ()>;
    } };
    (@impl Claims $store:ident) => { $crate::forward_store! { @methods Claims $store
        fn claim(&self, session: &Session) -> Stored<'_, Claim>;
        fn try_claim(&self, session_id: &str) -> Stored<'_, Option<Claim>>;
        fn is_claimed(&self, session_id: &str) -> Stored<'_, bool>;
    } };
    (@impl Approvals $store:ident) => { $crate::forward_store! { @methods Approvals $store
        fn request_approval(&self, claim: &Claim, new: NewApproval) -> Stored<'_, Approval>;
        fn approval(&self, id: &str) -> Stored<'_, Option<Approval>>;
        fn approvals(&self, filter: ApprovalFilter) -> Stored<'_, Vec<Approval>>;
        fn answer_approval(&self, answer: Answer) -> Stored<'_, AnswerResult>;
        fn expire_approvals(&self) -> Stored<'_, Vec<Approval>>;
        fn cancel_approval(&self, claim: &Claim, id: &str, reason: &str) -> Stored<'_, bool>;
        fn withdraw_approvals(&self, claim: &Claim, reason: &str) -> Stored<'_, ()>;
        fn acknowledge_denial(&self, claim: &Claim, id: &str) -> Stored<'_, ()>;
        fn approvals_changed(&self) -> Waits<'_>;
    } };
    (@impl Rules $store:ident) => { $crate::forward_store! { @methods Rules $store
        fn program(&self) -> Stored<'_, Program>;
        fn add_rule(&self, program: &Program, session_id: &str, rule: &Rule, workspace: &str, by: &str)
            -> Stored<'_, ()>;
        fn rules_in(&self, program: &Program, session_id: &str) -> Stored<'_, Vec<SessionRule>>;
        fn session_rules(&self) -> Stored<'_, Vec<SessionRule>>;
        fn revoke_rule(&self, number: i64) -> Stored<'_, bool>;
    } };
    (@impl Ledger $store:ident) => { $crate::forward_store! { @methods Ledger $store
        fn begin_call(&self, claim: &Claim, intent: Intent) -> Stored<'_, Begun>;
        fn end_call(&self, claim: &Claim, id: &str, end: CallEnd) -> Stored<'_, ()>;
        fn open_calls(&self, session_id: &str) -> Stored<'_, Vec<StoredCall>>;
        fn calls(&self, filter: CallFilter) -> Stored<'_, Vec<StoredCall>>;
    } };
    (@impl Records $store:ident) => { $crate::forward_store! { @methods Records $store
        fn record(&self, record: Record) -> ();
        fn flush_records(&self) -> Waits<'_>;
        fn record_loss(&self) -> RecordLoss;
        fn runs(&self, limit: u32) -> Stored<'_, Vec<StoredRun>>;
        fn run(&self, run_id: &str) -> Stored<'_, Option<StoredRun>>;
        fn events(&self, run_id: &str) -> Stored<'_, Vec<StoredEvent>>;
        fn runs_since(&self, since: u64) -> Stored<'_, Vec<StoredRun>>;
        fn fired_hooks(&self, since: u64) -> Stored<'_, FiredHooks>;
        fn forget_runs(&self, limit: Retention) -> Stored<'_, u64>;
    } };
    (@impl ShortIds $store:ident) => { $crate::forward_store! { @methods ShortIds $store
        fn short_id(&self, kind: IdKind, id: &str) -> Stored<'_, String>;
        fn by_short_id(&self, short: &str) -> Stored<'_, Option<(IdKind, String)>>;
    } };
    (@impl Tickets $store:ident) => { $crate::forward_store! { @methods Tickets $store
        fn create_ticket(&self, new: NewTicket) -> Stored<'_, Ticket>;
        fn ticket(&self, id: u64) -> Stored<'_, Option<Ticket>>;
        fn tickets(&self, state: Option<TicketState>) -> Stored<'_, Vec<Ticket>>;
        fn move_ticket(&self, seen: &Ticket, to: TicketMove) -> Stored<'_, Option<Ticket>>;
        fn delete_ticket(&self, id: u64) -> Stored<'_, bool>;
        fn reputation(&self, assignee: &str) -> Stored<'_, Reputation>;
    } };
    (@impl Notes $store:ident) => { $crate::forward_store! { @methods Notes $store
        fn add_note(&self, new: NewNote) -> Stored<'_, Note>;
        fn search_notes(&self, scope: Option<&NoteScope>, query: &str, limit: u32) -> Stored<'_, Vec<Note>>;
        fn notes(&self, scope: Option<&NoteScope>, limit: u32) -> Stored<'_, Vec<Note>>;
        fn delete_note(&self, id: u64) -> Stored<'_, bool>;
    } };
    (@impl Store $store:ident) => { $crate::forward_store! { @methods Store $store
        fn check(&self) -> Stored<'_, ()>;
        fn close(&self) -> Waits<'_>;
    } };
    (@methods $name:ident $store:ident
        $(fn $method:ident(&self $(, $arg:ident: $ty:ty)*) -> $out:ty;)*) => {
        const _: () = {
            // The caller needs no import for what the signatures name.
            #[allow(unused_imports)]
            use $crate::{ApprovalRule as Rule, store::*};
            #[allow(dead_code)]
            type Waits<'a> = ::std::pin::Pin<::std::boxed::Box<
                dyn ::std::future::Future<Output = ()> + ::std::marker::Send + 'a>>;

            impl $name for $store {
                $(fn $method(&self $(, $arg: $ty)*) -> $out {
                    self.0.$method($($arg),*)
                })*
            }
        };
    };
}
