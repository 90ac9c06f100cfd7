//! A store that forgets which tool calls were begun: the control that shows that the soak would notice.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use pintle_agent::{ApprovalRule, store::*};

pub(super) struct NoLedger<S>(pub(super) Arc<S>);

macro_rules! delegate {
    ($(fn $name:ident(&self $(, $arg:ident: $ty:ty)*) -> $out:ty;)*) => {
        $(fn $name(&self $(, $arg: $ty)*) -> $out { self.0.$name($($arg),*) })*
    };
}

impl<S: Store> Ledger for NoLedger<S> {
    fn begin_call(&self, _: &Claim, _: Intent) -> Stored<'_, Begun> {
        std::future::ready(Ok(Begun::Started)).boxed()
    }

    fn end_call(&self, _: &Claim, _: &str, _: CallEnd) -> Stored<'_, ()> {
        std::future::ready(Ok(())).boxed()
    }

    delegate! {
        fn open_calls(&self, session_id: &str) -> Stored<'_, Vec<StoredCall>>;
        fn calls(&self, filter: CallFilter) -> Stored<'_, Vec<StoredCall>>;
    }
}

impl<S: Store> Sessions for NoLedger<S> {
    delegate! {
        fn append(&self, claim: &Claim, messages: Vec<NewMessage>) -> Stored<'_, ()>;
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

impl<S: Store> Claims for NoLedger<S> {
    delegate! {
        fn claim(&self, session: &Session) -> Stored<'_, Claim>;
        fn try_claim(&self, session_id: &str) -> Stored<'_, Option<Claim>>;
        fn is_claimed(&self, session_id: &str) -> Stored<'_, bool>;
    }
}

impl<S: Store> Approvals for NoLedger<S> {
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

impl<S: Store> Rules for NoLedger<S> {
    delegate! {
        fn program(&self) -> Stored<'_, Program>;
        fn add_rule(&self, program: &Program, session_id: &str, rule: &ApprovalRule, workspace: &str, by: &str)
            -> Stored<'_, ()>;
        fn rules_in(&self, program: &Program, session_id: &str) -> Stored<'_, Vec<SessionRule>>;
        fn session_rules(&self) -> Stored<'_, Vec<SessionRule>>;
        fn revoke_rule(&self, number: i64) -> Stored<'_, bool>;
    }
}

impl<S: Store> Records for NoLedger<S> {
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

impl<S: Store> ShortIds for NoLedger<S> {
    delegate! {
        fn short_id(&self, kind: IdKind, id: &str) -> Stored<'_, String>;
        fn by_short_id(&self, short: &str) -> Stored<'_, Option<(IdKind, String)>>;
    }
}

impl<S: Store> Tickets for NoLedger<S> {
    delegate! {
        fn create_ticket(&self, new: NewTicket) -> Stored<'_, Ticket>;
        fn ticket(&self, id: u64) -> Stored<'_, Option<Ticket>>;
        fn tickets(&self, state: Option<TicketState>) -> Stored<'_, Vec<Ticket>>;
        fn move_ticket(&self, seen: &Ticket, to: TicketMove) -> Stored<'_, Option<Ticket>>;
        fn delete_ticket(&self, id: u64) -> Stored<'_, bool>;
        fn reputation(&self, assignee: &str) -> Stored<'_, Reputation>;
    }
}

impl<S: Store> Notes for NoLedger<S> {
    delegate! {
        fn add_note(&self, new: NewNote) -> Stored<'_, Note>;
        fn search_notes(&self, scope: Option<&NoteScope>, query: &str, limit: u32) -> Stored<'_, Vec<Note>>;
        fn notes(&self, scope: Option<&NoteScope>, limit: u32) -> Stored<'_, Vec<Note>>;
        fn delete_note(&self, id: u64) -> Stored<'_, bool>;
    }
}

impl<S: Store> Store for NoLedger<S> {}
