//! A run that is stopped while a message is on its way to the store (R6.5).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::future::BoxFuture;
use pintle::{Event, points::SessionStart};
use pintle_agent::{
    Agent, Ask, Message, NewMessage, NewSession, Session, Store, StoreError, StoredMessage,
};
use pintle_store::SqliteStore;
use pintle_tools::{Background, TerminalConfig, builtin};
use serde_json::json;
use tokio::sync::{Notify, watch};

use crate::support::{World, assert_whole, calls, done, rest, says};

type Kind = fn(&Message) -> bool;

/// The real store, with a slow road to it: messages of one kind wait on the way until they may go on.
struct SlowRoad {
    store: SqliteStore,
    slow: Kind,
    slow_history: bool,
    reached: Arc<Notify>,
    open: watch::Receiver<bool>,
}

impl SlowRoad {
    async fn wait(&self) {
        self.reached.notify_one();
        self.open.clone().wait_for(|open| *open).await.unwrap();
    }
}

/// An agent on a slow road, when something waits on it, and how to let it go on.
fn slow(
    world: &World,
    slow: Kind,
    slow_history: bool,
) -> (Agent, Arc<Notify>, watch::Sender<bool>) {
    let (go, open) = watch::channel(false);
    let reached = Arc::new(Notify::new());
    let store = world.store.clone();
    let road = SlowRoad { store, slow, slow_history, reached: reached.clone(), open };
    let agent = Agent::builder(
        world.hooks.clone(),
        world.llm.clone(),
        Arc::new(road),
        world.personalities.clone(),
        world.policy.clone(),
    )
    .tools(builtin(TerminalConfig::default(), &Background::default()))
    .build()
    .unwrap();
    (agent, reached, go)
}

impl Store for SlowRoad {
    fn append(&self, id: &str, messages: Vec<NewMessage>) -> BoxFuture<'_, Result<(), StoreError>> {
        let id = id.to_owned();
        Box::pin(async move {
            if messages.iter().any(|new| (self.slow)(&new.message)) {
                self.wait().await;
            }
            self.store.append(&id, messages).await
        })
    }

    fn open(&self, new: NewSession) -> BoxFuture<'_, Result<Session, StoreError>> {
        self.store.open(new)
    }

    fn create(&self, new: NewSession) -> BoxFuture<'_, Result<Session, StoreError>> {
        self.store.create(new)
    }

    fn session(&self, id: &str) -> BoxFuture<'_, Result<Option<Session>, StoreError>> {
        self.store.session(id)
    }

    fn sessions(&self) -> BoxFuture<'_, Result<Vec<Session>, StoreError>> {
        self.store.sessions()
    }

    fn set_personality(&self, id: &str, to: &str) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.set_personality(id, to)
    }

    fn history(&self, id: &str) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>> {
        let id = id.to_owned();
        Box::pin(async move {
            if self.slow_history {
                self.wait().await;
            }
            self.store.history(&id).await
        })
    }

    fn delete(&self, id: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.store.delete(id)
    }
}

#[tokio::test]
async fn a_message_on_its_way_when_the_run_is_stopped_is_stored_once() {
    let kinds: [(Kind, usize); 3] = [
        (|message| matches!(message, Message::User { .. }), 1),
        (|message| matches!(message, Message::Assistant { .. }), 3),
        (|message| matches!(message, Message::ToolResults { .. }), 3),
    ];
    for (kind, stored) in kinds {
        let look = calls(&[("t1", "list_dir", json!({"path": "."}))]);
        let world = World::new(json!([look, says("never said")])).await;
        let (agent, reached, go) = slow(&world, kind, false);
        let run = agent.run(Ask::new("cli:test", "look"));
        reached.notified().await;
        run.cancel();
        // Time enough to do the wrong thing: to read a history that the message is not in yet.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        go.send_replace(true);
        assert_eq!(done(&rest(run).await).1, "aborted");
        let history = world.history().await;
        assert_whole(&history);
        assert_eq!(history.len(), stored, "{history:#?}");
    }
}

// P1: a first run that is stopped before it could say so does not swallow `session_start`.
#[tokio::test]
async fn session_start_fires_with_the_first_run_that_gets_so_far() {
    let world = World::new(json!([says("Hello.")])).await;
    let starts = Arc::new(AtomicUsize::new(0));
    let count = starts.clone();
    let watch = move |_: Event<SessionStart>| {
        count.fetch_add(1, Ordering::SeqCst);
        async {}
    };
    world.hooks.register_void(watch).unwrap();
    let (agent, reached, go) = slow(&world, |_| false, true);
    let run = agent.run(Ask::new("cli:test", "hello"));
    reached.notified().await;
    run.cancel();
    go.send_replace(true);
    assert_eq!(done(&rest(run).await).1, "aborted");
    assert_eq!(starts.load(Ordering::SeqCst), 0);
    let run = agent.run(Ask::new("cli:test", "hello?"));
    assert_eq!(done(&rest(run).await).1, "end_turn");
    assert_eq!(starts.load(Ordering::SeqCst), 1);
}
