//! The ticket tools on a board in memory.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use pintle::{
    Cx, Envelope, Event, Hooks, PluginFilter,
    points::{AfterTicketRevision, BeforeTicketComplete, Rejected},
};
use pintle_agent::{TicketBoard, Tool, ToolError, testing::MemoryStore};
use serde_json::{Value, json};

use super::TicketTool;

struct Board {
    store: MemoryStore,
    hooks: Hooks,
}

impl Board {
    fn new() -> Self {
        Self { store: MemoryStore::default(), hooks: Hooks::new() }
    }

    async fn call(&self, who: &str, tool: &str, args: Value) -> Result<String, ToolError> {
        let envelope = Envelope { personality_id: Some(who.into()), ..Envelope::default() };
        let cx = Cx::new(envelope, PluginFilter::BuiltinsOnly);
        let board = TicketBoard::for_agent(Arc::new(self.store.clone()), self.hooks.clone(), cx);
        let named = TicketTool::all().into_iter().find(|it| it.spec().name == tool).unwrap();
        (named.run)(args, board).await
    }

    async fn refused(&self, who: &str, tool: &str, args: Value) -> String {
        self.call(who, tool, args).await.unwrap_err().to_string()
    }
}

// §14
#[tokio::test]
async fn a_ticket_goes_from_one_agent_to_another_and_is_done() {
    let board = Board::new();
    let made = board
        .call(
            "lead",
            "ticket_create",
            json!({"title": "Mend it", "acceptanceCriteria": "it works"}),
        )
        .await
        .unwrap();
    assert_eq!(made, "#1 [todo] Mend it\n  acceptance criteria: it works");
    let taken = board.call("smith", "ticket_take", json!({"id": 1})).await.unwrap();
    assert!(taken.starts_with("#1 [running] Mend it\n  assignee: smith"), "{taken}");
    let done = board.call("smith", "ticket_complete", json!({"id": 1, "summary": "mended"})).await;
    assert_eq!(done.unwrap(), "ticket 1 is done");
    let listed = board.call("lead", "ticket_list", json!({"state": "done"})).await.unwrap();
    assert!(listed.contains("summary: mended"), "{listed}");
    let none = board.call("lead", "ticket_list", json!({"state": "todo"})).await.unwrap();
    assert_eq!(none, "[there is no such ticket]");
}

// §14: a claim rejects; a ticket that is not running cannot be completed, and then no hook fires.
#[tokio::test]
async fn a_claim_sends_a_ticket_back_and_only_a_running_one_is_asked_about() {
    let board = Board::new();
    let (asked, revised) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (asks, revises) = (asked.clone(), revised.clone());
    let strict = move |e: Event<BeforeTicketComplete>| {
        asks.fetch_add(1, Ordering::SeqCst);
        (!e.summary.contains("tests")).then(|| Rejected::default().reason("no tests"))
    };
    board.hooks.register_claiming(strict).unwrap();
    let hear = move |e: Event<AfterTicketRevision>| {
        assert_eq!((e.reason.as_str(), e.assignee.as_str()), ("no tests", "smith"));
        assert_eq!((e.success_ratio, e.autonomy_tier), (Some(0.0), Some(0)));
        revises.fetch_add(1, Ordering::SeqCst);
    };
    board.hooks.register_void(hear).unwrap();
    board.call("lead", "ticket_create", json!({"title": "Mend it"})).await.unwrap();
    let complete = |summary: &str| json!({"id": 1, "summary": summary});

    let early = board.refused("smith", "ticket_complete", complete("done")).await;
    assert_eq!(early, "ticket 1 is todo, so it cannot be completed; take it first");
    board.call("smith", "ticket_take", json!({"id": 1})).await.unwrap();
    let twice = board.refused("other", "ticket_take", json!({"id": 1})).await;
    assert_eq!(twice, "ticket 1 is running, so it cannot be taken");
    let foreign = board.refused("other", "ticket_complete", complete("done")).await;
    assert!(foreign.starts_with("ticket 1 belongs to `smith`"), "{foreign}");
    assert_eq!(asked.load(Ordering::SeqCst), 0, "no hook was asked about any of these");

    let rejected = board.refused("smith", "ticket_complete", complete("done")).await;
    assert_eq!(rejected, "ticket 1 needs revision: no tests");
    board.refused("smith", "ticket_complete", complete("done, with tests")).await;
    assert_eq!((asked.load(Ordering::SeqCst), revised.load(Ordering::SeqCst)), (1, 1));
    board.call("smith", "ticket_take", json!({"id": 1})).await.unwrap();
    board.call("smith", "ticket_complete", complete("done, with tests")).await.unwrap();
    let late = board.refused("smith", "ticket_complete", complete("done, with tests")).await;
    assert_eq!(late, "ticket 1 is done, so it cannot be completed");
    assert_eq!((asked.load(Ordering::SeqCst), revised.load(Ordering::SeqCst)), (2, 1));
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_said() {
    let board = Board::new();
    assert_eq!(board.refused("a", "ticket_take", json!({"id": 7})).await, "there is no ticket 7");
    let blank = board.refused("a", "ticket_create", json!({"title": "  "})).await;
    assert_eq!(blank, "ticket_create: the title is blank; say what to do");
    let state = board.refused("a", "ticket_list", json!({"state": "lost"})).await;
    assert_eq!(state, "ticket_list: there is no state `lost`");
    let checked = json!({"title": "a", "check": "rm -rf ."});
    assert!(board.refused("a", "ticket_create", checked).await.contains("no argument `check`"));
}
