//! Rewriting one tool's input or output, in code only: nothing a profile says can reach this.

use std::{future::Future, panic::AssertUnwindSafe, sync::Arc, time::Instant};

use futures_util::{FutureExt, future::BoxFuture};
use glob::Pattern;
use pintle::{Failure, FailureKind, HandlerOutcome, HandlerRecord};
use serde_json::Value;

use crate::call::{FinalCall, ProposedCall};

type Before =
    Arc<dyn Fn(ProposedCall) -> BoxFuture<'static, Result<Intercepted, Failure>> + Send + Sync>;
type After = Arc<
    dyn Fn(FinalCall, String) -> BoxFuture<'static, Result<Option<String>, Failure>> + Send + Sync,
>;

/// What a *before* interceptor does with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Intercepted {
    /// Nothing.
    Keep,
    /// These arguments instead. They are judged like any others.
    Rewrite(Value),
    /// It does not run, for this reason.
    Veto(String),
}

/// The interceptors of an agent, in the order they were added; each sees the last one's output.
///
/// A failing *before* rejects the call; a failing *after* keeps the result as it was. Both are recorded.
#[derive(Clone, Default)]
pub struct Interceptors {
    before: Vec<(Arc<str>, Pattern, Before)>,
    after: Vec<(Arc<str>, Pattern, After)>,
}

impl Interceptors {
    /// Adds one that sees calls of the tools `tools` matches (`*` is all) before they are judged.
    ///
    /// # Errors
    /// When the glob does not parse.
    pub fn before<F, Fut>(
        mut self,
        name: impl Into<Arc<str>>,
        tools: &str,
        interceptor: F,
    ) -> Result<Self, glob::PatternError>
    where
        F: Fn(ProposedCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Intercepted, Failure>> + Send + 'static,
    {
        let call: Before = Arc::new(move |call| interceptor(call).boxed());
        self.before.push((name.into(), Pattern::new(tools)?, call));
        Ok(self)
    }

    /// Adds one that sees the results of the tools `tools` matches, and may return another.
    ///
    /// # Errors
    /// When the glob does not parse.
    pub fn after<F, Fut>(
        mut self,
        name: impl Into<Arc<str>>,
        tools: &str,
        interceptor: F,
    ) -> Result<Self, glob::PatternError>
    where
        F: Fn(FinalCall, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Option<String>, Failure>> + Send + 'static,
    {
        let call: After = Arc::new(move |call, result| interceptor(call, result).boxed());
        self.after.push((name.into(), Pattern::new(tools)?, call));
        Ok(self)
    }

    /// The call as the interceptors leave it, or why it does not run.
    pub(crate) async fn amend(
        &self,
        call: &mut ProposedCall,
        records: &mut Vec<HandlerRecord>,
    ) -> Result<(), String> {
        for (name, tools, interceptor) in &self.before {
            if !tools.matches(&call.tool) {
                continue;
            }
            let started = Instant::now();
            let answer = caught(|| interceptor(call.clone())).await;
            let (outcome, refused) = match answer {
                Ok(Intercepted::Keep) => (HandlerOutcome::Passed, None),
                Ok(Intercepted::Rewrite(args)) => {
                    call.args = args;
                    (HandlerOutcome::Patched, None)
                }
                Ok(Intercepted::Veto(reason)) => {
                    (HandlerOutcome::Blocked(reason.clone()), Some(reason))
                }
                Err(failure) => {
                    let reason = format!("interceptor `{name}` {failure}");
                    (HandlerOutcome::Failed(failure), Some(reason))
                }
            };
            records.push(record(name, outcome, started));
            if let Some(reason) = refused {
                return Err(reason);
            }
        }
        Ok(())
    }

    /// The result as the interceptors leave it.
    pub(crate) async fn rewrite(
        &self,
        call: &FinalCall,
        result: String,
        records: &mut Vec<HandlerRecord>,
    ) -> String {
        let mut result = result;
        for (name, tools, interceptor) in &self.after {
            if !tools.matches(call.tool()) {
                continue;
            }
            let started = Instant::now();
            let outcome = match caught(|| interceptor(call.clone(), result.clone())).await {
                Ok(None) => HandlerOutcome::Passed,
                Ok(Some(rewritten)) => {
                    result = rewritten;
                    HandlerOutcome::Patched
                }
                Err(failure) => HandlerOutcome::Failed(failure),
            };
            records.push(record(name, outcome, started));
        }
        result
    }
}

fn record(name: &Arc<str>, outcome: HandlerOutcome, started: Instant) -> HandlerRecord {
    HandlerRecord::new(name.clone(), outcome, started.elapsed())
}

async fn caught<T>(
    call: impl FnOnce() -> BoxFuture<'static, Result<T, Failure>>,
) -> Result<T, Failure> {
    let answer = AssertUnwindSafe(async move { call().await }).catch_unwind().await;
    answer.unwrap_or_else(|_| Err(Failure::new(FailureKind::Panicked, "")))
}
