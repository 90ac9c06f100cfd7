//! §14: the points of a ticket fire in a run (P1), and what the verifier says holds.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use pintle::{
    Cx, Event, Failure, FireRecord, Hooks,
    points::{AfterTicketRevision, BeforeTicketComplete, Rejected},
};
use pintle_agent::{
    Completion, HookSpending, Limits, TicketBoard, TicketVerifier, Tool, ToolError,
    store::{NewTicket, Reputation, Store, TicketState, Tickets},
    testing::MemoryStore,
};
use serde_json::{Value, json};

use crate::support::{World, calls, done, of_type, play, says, scripted, tool_with_cx};

/// Completes the ticket that it takes.
fn complete() -> Arc<dyn Tool> {
    tool_with_cx("complete", async |args: Value, cx| {
        let id = args["id"].as_u64().unwrap();
        let failed = |error: pintle_agent::TicketError| ToolError::Failed(error.to_string());
        cx.tickets.take(id).await.map_err(failed)?;
        match cx.tickets.complete(id, "did it").await.map_err(failed)? {
            Completion::Done(_) => Ok("done".into()),
            Completion::NeedsRevision(ticket) => Err(ToolError::Failed(ticket.reason.unwrap())),
        }
    })
}

fn board(store: &MemoryStore, hooks: &Hooks) -> TicketBoard {
    TicketBoard::for_person(Arc::new(store.clone()), hooks.clone(), Cx::test(), "ann")
}

// P1: in a run and in a sub-agent, with the run's envelope and among its events.
#[tokio::test]
async fn the_points_of_a_ticket_fire_in_a_run_and_in_a_sub_agent() {
    let fired = Arc::new(Mutex::new(Vec::new()));
    let sink = fired.clone();
    let hooks = Hooks::builder()
        .sink(Arc::new(move |record: Arc<FireRecord>| {
            if record.point.contains("ticket") {
                let in_sub_agent = record.envelope.parent_session_id.is_some();
                sink.lock().unwrap().push((record.point, in_sub_agent));
            }
        }))
        .build();
    let strict = |_: Event<BeforeTicketComplete>| Some(Rejected::default().reason("no tests"));
    hooks.named("strict").register_claiming(strict).unwrap();
    hooks.register_void(async |_: Event<AfterTicketRevision>| {}).unwrap();
    let done = |id: u64| ("t", "complete", json!({ "id": id }));
    let script = json!([
        calls(&[done(1), ("d", "delegate", json!({"task": "the other"}))]),
        calls(&[done(2)]),
        says("Below."),
        says("Done."),
    ]);
    let mut world = World::with_hooks(script, hooks.clone()).await;
    world.tools.push(complete());
    for title in ["one", "two"] {
        let new = pintle_agent::store::NewTicket { title: title.into(), ..Default::default() };
        world.store.create_ticket(new).await.unwrap();
    }
    let events = play(&world.agent(), "go").await;
    let points = of_type(&events, "hook.fired");
    let told = points.iter().filter(|it| it["point"] == "after_ticket_revision").count();
    assert_eq!(told, 2, "{points:#?}");
    let mut seen = fired.lock().unwrap().clone();
    seen.sort_unstable();
    let (before, after) = ("before_ticket_complete", "after_ticket_revision");
    assert_eq!(seen, [(after, false), (after, true), (before, false), (before, true)]);
    for ticket in world.store.tickets(None).await.unwrap() {
        assert_eq!(ticket.state, TicketState::NeedsRevision);
        assert_eq!(ticket.assignee.as_deref(), Some("main"));
    }
    let main = world.store.reputation("main").await.unwrap();
    assert_eq!(main, Reputation { accepted: 0, rejected: 2 });
}

// P2: a handler that fails is skipped, and rejects when it is registered fail-closed.
#[tokio::test]
async fn a_handler_that_fails_rejects_when_it_says_so() {
    for (closed, expected) in [(false, TicketState::Done), (true, TicketState::NeedsRevision)] {
        let (store, hooks) = (MemoryStore::default(), Hooks::new());
        let registrar = hooks.named("broken");
        let registrar = if closed { registrar.fail_closed() } else { registrar };
        let broken = async |_: Event<BeforeTicketComplete>| {
            Err::<Option<Rejected>, _>(Failure::errored("no disk"))
        };
        registrar.register_claiming(broken).unwrap();
        let board = board(&store, &hooks);
        let id = board.create("it", None, None).await.unwrap().id;
        board.take(id).await.unwrap();
        board.complete(id, "did it").await.unwrap();
        let ticket = store.ticket(id).await.unwrap().unwrap();
        assert_eq!(ticket.state, expected);
        assert_eq!(ticket.reason.is_some_and(|why| why.contains("no disk")), closed);
    }
}

// R6.4: what the model's judgement of a ticket costs is part of the run's cost.
#[tokio::test]
async fn what_the_verifier_spends_counts_in_the_limit_on_cost() {
    let mut completes = calls(&[("t", "complete", json!({ "id": 1 }))]);
    completes["usage"] = json!({"costUsd": 0.4});
    let mut world = World::new(json!([completes, says("never said")])).await;
    world.tools.push(complete());
    let criteria = Some("it works".to_owned());
    let new = NewTicket { title: "it".into(), acceptance_criteria: criteria, ..Default::default() };
    world.store.create_ticket(new).await.unwrap();
    let mut pass = says("PASS");
    pass["usage"] = json!({"inputTokens": 7, "costUsd": 0.7});
    let (judge, spending) = (scripted(json!([pass])), HookSpending::default());
    let verifier = TicketVerifier {
        store: world.store.clone(),
        llm: judge.clone(),
        check: Arc::new(|_| Box::pin(std::future::ready(Ok(())))),
        spending: spending.clone(),
    };
    verifier.register(&world.hooks).unwrap();
    let limits = Limits { max_cost_usd: Some(1.0), ..Limits::default() };
    let builder = world.builder().limits(limits).hook_spending(spending);
    let events = play(&builder.build().unwrap(), "go").await;
    assert_eq!(done(&events).1, "budget_exceeded", "{events:#?}");
    assert_eq!((judge.requests().len(), world.llm.requests().len()), (1, 1));
    assert_eq!(of_type(&events, "usage")[1]["inputTokens"], 7, "it is in the record");
}

/// What the verifier makes of a ticket, how often the check ran, and how many requests the model got.
async fn verified(
    criteria: Option<&str>,
    check: Option<Result<(), String>>,
    script: Value,
) -> (TicketState, String, usize, usize) {
    let (store, hooks, llm) = (MemoryStore::default(), Hooks::new(), scripted(script));
    let runs = Arc::new(AtomicUsize::new(0));
    let (ran, result) = (runs.clone(), check.clone().unwrap_or(Ok(())));
    let verifier = TicketVerifier {
        store: Arc::new(store.clone()) as Arc<dyn Store>,
        llm: llm.clone(),
        check: Arc::new(move |command| {
            assert_eq!(command, "make check");
            ran.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(result.clone()))
        }),
        spending: HookSpending::default(),
    };
    verifier.register(&hooks).unwrap();
    let board = board(&store, &hooks);
    let id = board.create("it", criteria, check.map(|_| "make check")).await.unwrap().id;
    board.take(id).await.unwrap();
    let (Completion::Done(ticket) | Completion::NeedsRevision(ticket)) =
        board.complete(id, "did it").await.unwrap();
    let runs = runs.load(Ordering::SeqCst);
    (ticket.state, ticket.reason.unwrap_or_default(), runs, llm.requests().len())
}

// §14: criteria are checked by a command or by a model; an error rejects.
#[tokio::test]
async fn the_verifier_goes_by_the_check_or_by_the_model_and_an_error_rejects() {
    let (done, revision) = (TicketState::Done, TicketState::NeedsRevision);
    let nothing = verified(None, None, json!([])).await;
    assert_eq!(nothing, (done, String::new(), 0, 0));
    let passed = verified(Some("it works"), Some(Ok(())), json!([])).await;
    assert_eq!(passed, (done, String::new(), 1, 0), "the check alone decides");
    let failed = verified(None, Some(Err("2 tests failed".into())), json!([])).await;
    assert_eq!(failed, (revision, "the check `make check` failed: 2 tests failed".into(), 1, 0));

    let judged = async |script| verified(Some("it works"), None, script).await;
    assert_eq!(judged(json!([says("PASS")])).await, (done, String::new(), 0, 1));
    let missing = judged(json!([says("FAIL: no tests")])).await;
    assert_eq!(missing, (revision, "no tests".into(), 0, 1));
    for (script, why) in [
        (json!([says("Looks fine, PASS")]), "has to answer `PASS`"),
        (json!([says("")]), "has to answer `PASS`"),
        (json!([{"error": {"code": "auth"}}]), "cannot judge it"),
        (json!([{"cut": true}]), "stopped before its end"),
    ] {
        let (state, reason, ..) = judged(script).await;
        assert_eq!(state, revision);
        assert!(reason.contains(why), "{reason}");
    }
}

// §14: the ticket stays `running` while handlers think, and one that was moved meanwhile is not moved again.
#[tokio::test]
async fn a_ticket_that_is_taken_away_during_its_completion_is_not_completed() {
    let (store, hooks) = (MemoryStore::default(), Hooks::new());
    let (inner, asks) = (store.clone(), Arc::new(AtomicUsize::new(0)));
    let asked = asks.clone();
    let thief = move |e: Event<BeforeTicketComplete>| {
        let (inner, asked) = (inner.clone(), asked.clone());
        async move {
            asked.fetch_add(1, Ordering::SeqCst);
            let id = e.task_id.parse().unwrap();
            let ticket = inner.ticket(id).await.unwrap().unwrap();
            assert_eq!(ticket.state, TicketState::Running);
            board(&inner, &Hooks::new()).release(id).await.unwrap();
            None::<Rejected>
        }
    };
    hooks.register_claiming(thief).unwrap();
    let board = board(&store, &hooks);
    let id = board.create("it", None, None).await.unwrap().id;
    board.take(id).await.unwrap();
    let error = board.complete(id, "did it").await.unwrap_err().to_string();
    assert_eq!(error, "ticket 1 was moved by somebody else meanwhile; look at it again");
    assert_eq!(store.ticket(id).await.unwrap().unwrap().state, TicketState::Todo);
    board.complete(id, "did it").await.unwrap_err();
    assert_eq!(asks.load(Ordering::SeqCst), 1, "it is not running: no hook fires");
}
