//! When and how often a model is asked again. The clock stands still but for the waits themselves.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{StreamExt, stream::BoxStream};
use pintle_agent::{FinishReason, Llm, LlmError, LlmEvent, LlmRequest, LlmResponse, LlmUsage};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Ends, World, done, of_type, play};

/// Fails as told, then answers.
struct Failing {
    errors: Mutex<VecDeque<LlmError>>,
    asked: Mutex<Vec<Instant>>,
}

impl Failing {
    fn new(errors: impl IntoIterator<Item = LlmError>) -> Arc<Self> {
        Arc::new(Self { errors: Mutex::new(errors.into_iter().collect()), asked: Mutex::default() })
    }

    /// How long it was left in peace between requests, in milliseconds.
    fn waits(&self) -> Vec<u128> {
        let asked = self.asked.lock().unwrap();
        asked.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect()
    }
}

impl Llm for Failing {
    fn name(&self) -> &str {
        "failing"
    }

    fn stream(&self, _: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        self.asked.lock().unwrap().push(Instant::now());
        let event = match self.errors.lock().unwrap().pop_front() {
            Some(error) => Err(error),
            None => Ok(LlmEvent::End(LlmResponse {
                text: "At last.".into(),
                tool_calls: Vec::new(),
                usage: LlmUsage::default(),
                finish: FinishReason::EndTurn,
            })),
        };
        futures_util::stream::iter([event]).boxed()
    }
}

fn busy(retryable: bool, retry_after: Option<Duration>) -> LlmError {
    let (code, message) = ("overloaded".into(), "too much to do".into());
    LlmError { code, message, retryable, retry_after }
}

async fn told(llm: &Arc<Failing>) -> ((String, String), Vec<String>) {
    let world = World::new(json!([])).await;
    let ends = Ends::watch(&world.hooks);
    let agent = world.builder_with(llm.clone()).build().unwrap();
    let events = play(&agent, "hello").await;
    let errors = of_type(&events, "error").len();
    assert_eq!(errors, usize::from(done(&events).1 == "error"));
    (done(&events), ends.reasons())
}

#[tokio::test(start_paused = true)]
async fn each_wait_is_twice_the_one_before() {
    let llm = Failing::new([busy(true, None), busy(true, None), busy(true, None)]);
    assert_eq!(told(&llm).await.0, ("At last.".into(), "end_turn".into()));
    assert_eq!(llm.waits(), [500, 1000, 2000]);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_says_how_long_to_wait_is_obeyed_up_to_a_minute() {
    let says = |seconds| busy(true, Some(Duration::from_secs(seconds)));
    let llm = Failing::new([says(7), says(0), says(600)]);
    assert_eq!(told(&llm).await.0.1, "end_turn");
    assert_eq!(llm.waits(), [7_000, 0, 60_000]);
}

#[tokio::test(start_paused = true)]
async fn after_four_attempts_the_run_gives_up() {
    let llm = Failing::new((0..50).map(|_| busy(true, None)));
    let ((text, outcome), ends) = told(&llm).await;
    assert_eq!((text.as_str(), outcome.as_str()), ("too much to do", "error"));
    assert_eq!(llm.waits().len(), 3, "four attempts");
    assert_eq!(ends, ["error"]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_get_better_is_not_tried_again() {
    let llm = Failing::new([busy(false, None)]);
    assert_eq!(told(&llm).await.0.1, "error");
    assert!(llm.waits().is_empty());
}
