//! P2, R3.2, R3.3: every failure kind × every model × every policy. Each row asserts the effect *and* whether the
//! side effect happened that the fire stands in front of: a file that the caller writes only if it may go on.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::common::{Records, before_call, cx, dispatch, model_pre, started, tool};
use futures_util::future::BoxFuture;
use pintle::{
    Cx, DynEvent, Failure, FailureKind, FailurePolicy, FireError, HandlerOutcome, Hooks, ModelKind,
    RegisterError, Registration,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const KINDS: [FailureKind; 11] = [
    FailureKind::Panicked,
    FailureKind::Errored,
    FailureKind::TimedOut,
    FailureKind::Cancelled,
    FailureKind::Spawn,
    FailureKind::Exit(2),
    FailureKind::Signal(9),
    FailureKind::BadOutput,
    FailureKind::TooMuchOutput,
    FailureKind::Untrusted,
    FailureKind::Gone,
];

const POLICIES: [Option<FailurePolicy>; 3] =
    [None, Some(FailurePolicy::FailOpen), Some(FailurePolicy::FailClosed)];

/// One column of the table: a point of each model, a Gate once binding and once advisory.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Void,
    Modifying,
    Claiming,
    BindingGate,
    AdvisoryGate,
}

const COLUMNS: [Column; 5] =
    [Column::Void, Column::Modifying, Column::Claiming, Column::BindingGate, Column::AdvisoryGate];

impl Column {
    fn point(self) -> (&'static str, ModelKind) {
        match self {
            Self::Void => ("session_start", ModelKind::Void),
            Self::Modifying => ("before_tool_call", ModelKind::Modifying),
            Self::Claiming => ("before_dispatch", ModelKind::Claiming),
            Self::BindingGate => ("tool.pre", ModelKind::Gate),
            Self::AdvisoryGate => ("model.pre", ModelKind::Gate),
        }
    }

    fn is_gate(self) -> bool {
        self.point().1 == ModelKind::Gate
    }
}

/// Fails in the given way: for real where it can happen in a process, reported where an executor would report it.
fn failing(
    kind: FailureKind,
    model: ModelKind,
) -> impl Fn(DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
    move |_| {
        Box::pin(async move {
            match kind {
                FailureKind::Panicked => panic!("on purpose"),
                FailureKind::Errored => Ok("not a number".parse::<u8>()?.into()),
                FailureKind::TimedOut | FailureKind::Cancelled => std::future::pending().await,
                // A Void handler's answer is not read, so there it can only be reported.
                FailureKind::BadOutput if model != ModelKind::Void => Ok(json!("nonsense")),
                kind => Err(Failure::new(kind, "")),
            }
        })
    }
}

fn bind(
    hooks: &Hooks,
    column: Column,
    kind: FailureKind,
    policy: Option<FailurePolicy>,
) -> Result<Registration, RegisterError> {
    let (point, model) = column.point();
    let mut options = hooks.named("fails");
    // A minute, on a paused clock. Who is to be cancelled has longer.
    options = options.deadline(Duration::from_secs(if kind == FailureKind::Cancelled {
        3_600
    } else {
        60
    }));
    if let Some(policy) = policy {
        options = options.failure_policy(policy);
    }
    options.register_dyn(point, model, failing(kind, model))
}

/// What the fire gave, as the row of the table sees it.
#[derive(Debug, PartialEq)]
enum Effect {
    /// As if the handler had not been there.
    None,
    /// An error that names the handler and the failure.
    FailClosed(FailureKind),
    /// The fire as a whole was cancelled.
    Cancelled,
    /// A block that says how the handler failed.
    Block(FailureKind),
}

fn of_error(error: FireError) -> Effect {
    match error {
        FireError::FailClosed { handler, failure, .. } => {
            assert_eq!(&*handler, "fails");
            Effect::FailClosed(failure.kind)
        }
        FireError::Cancelled { .. } => Effect::Cancelled,
        other => panic!("{other}"),
    }
}

/// A caller as it should be: fires, and writes the file only if it may go on.
async fn act(hooks: &Hooks, cx: &Cx, column: Column, marker: &Path) -> Effect {
    let (may_go_on, effect) = match column {
        Column::Void => match hooks.fire_void(cx, started).await {
            Ok(()) => (true, Effect::None),
            Err(error) => (false, of_error(error)),
        },
        Column::Modifying => match hooks.fire_modifying(cx, || before_call(json!({}))).await {
            Ok(merged) => {
                assert_eq!((merged.winners().count(), merged.denial()), (0, None));
                (true, Effect::None)
            }
            Err(error) => (false, of_error(error)),
        },
        Column::Claiming => match hooks.fire_claiming(cx, dispatch).await {
            Ok(claimed) => (claimed.is_none(), Effect::None),
            Err(error) => (false, of_error(error)),
        },
        Column::BindingGate | Column::AdvisoryGate => {
            let binding = column == Column::BindingGate;
            let verdicts = if binding {
                hooks.fire_gate(cx, || tool("write_file")).await.verdicts
            } else {
                hooks.fire_gate(cx, model_pre).await.verdicts
            };
            match verdicts.iter().find(|said| said.is_block()) {
                None => (true, Effect::None),
                Some(block) => {
                    assert!(!block.reason.is_empty());
                    let kind = block.failure.as_ref().expect("it was no decision").kind;
                    assert!(block.reason.contains(&kind.to_string()), "{}", block.reason);
                    (!binding, Effect::Block(kind))
                }
            }
        }
    };
    if may_go_on {
        std::fs::write(marker, "the side effect").unwrap();
    }
    effect
}

struct Row {
    effect: Effect,
    /// The side effect happened.
    acted: bool,
    /// The handler after the failing one ran.
    next_ran: bool,
    recorded: HandlerOutcome,
}

async fn row(
    column: Column,
    kind: FailureKind,
    policy: Option<FailurePolicy>,
) -> Result<Row, RegisterError> {
    let hooks = Hooks::new();
    bind(&hooks, column, kind, policy)?;
    let ran = Arc::new(AtomicBool::new(false));
    let (point, model) = column.point();
    let mark = ran.clone();
    hooks.named("next").register_dyn(point, model, move |_: DynEvent| {
        mark.store(true, Ordering::Relaxed);
        async { Ok::<_, Failure>(Value::Null) }
    })?;
    let token = CancellationToken::new();
    let records = Arc::new(Records::default());
    let cx = cx().cancelled_by(token.clone()).observed_by(records.clone());
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("marker");
    let canceller = async {
        if kind == FailureKind::Cancelled {
            tokio::time::sleep(Duration::from_secs(1)).await;
            token.cancel();
        }
    };
    let (effect, ()) = tokio::join!(act(&hooks, &cx, column, &marker), canceller);
    let recorded = records.only().remove(0).outcome;
    Ok(Row { effect, acted: marker.exists(), next_ran: ran.load(Ordering::Relaxed), recorded })
}

/// The table of §3, in words: `(effect, acted, next ran)`.
fn expected(
    column: Column,
    kind: FailureKind,
    policy: Option<FailurePolicy>,
) -> (Effect, bool, bool) {
    let cancelled = kind == FailureKind::Cancelled;
    let closed = policy == Some(FailurePolicy::FailClosed);
    match column {
        // Cancelling is not a handler's failure alone: the fire comes to no outcome, whatever the policy.
        Column::Void if cancelled => (Effect::Cancelled, false, true),
        Column::Modifying | Column::Claiming if cancelled => (Effect::Cancelled, false, false),
        Column::Void if closed => (Effect::FailClosed(kind), false, true),
        Column::Modifying | Column::Claiming if closed => (Effect::FailClosed(kind), false, false),
        Column::Void | Column::Modifying | Column::Claiming => (Effect::None, true, true),
        Column::BindingGate => (Effect::Block(kind), false, false),
        Column::AdvisoryGate => (Effect::Block(kind), true, !cancelled),
    }
}

// P2, R3.2, R3.3
#[tokio::test(start_paused = true)]
async fn every_failure_kind_under_every_model_and_policy_has_the_effect_the_table_says() {
    let mut rows = 0;
    for kind in KINDS {
        for column in COLUMNS {
            for policy in POLICIES {
                rows += 1;
                let loosens = column.is_gate() && policy == Some(FailurePolicy::FailOpen);
                match row(column, kind, policy).await {
                    Err(error) => {
                        let point = column.point().0;
                        assert!(loosens, "{kind:?} {column:?} {policy:?}: {error}");
                        assert_eq!(error, RegisterError::Loosened { point });
                    }
                    Ok(row) => {
                        assert!(!loosens, "{column:?} was loosened");
                        let (effect, acted, next_ran) = expected(column, kind, policy);
                        let case = format!("{kind:?} at {column:?} with {policy:?}");
                        assert_eq!(row.effect, effect, "{case}: effect");
                        assert_eq!(row.acted, acted, "{case}: side effect");
                        assert_eq!(row.next_ran, next_ran, "{case}: the next handler");
                        assert!(
                            matches!(&row.recorded, HandlerOutcome::Failed(failure) if failure.kind == kind),
                            "{case}: recorded {:?}",
                            row.recorded
                        );
                    }
                }
            }
        }
    }
    assert_eq!(rows, 11 * 5 * 3);
}

// P2: the same caller, with a handler that works, does write the file: the table above tests something.
#[tokio::test]
async fn with_a_handler_that_works_the_side_effect_happens() {
    for column in COLUMNS {
        let hooks = Hooks::new();
        let (point, model) = column.point();
        hooks
            .register_dyn(point, model, |_: DynEvent| async { Ok::<_, Failure>(Value::Null) })
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let marker = folder.path().join("marker");
        assert_eq!(act(&hooks, &cx(), column, &marker).await, Effect::None);
        assert!(marker.exists(), "{column:?}");
    }
}

// R3.2: the kinds as a type, and as words in a reason.
#[test]
fn every_failure_kind_has_words_of_its_own() {
    let words: std::collections::BTreeSet<_> = KINDS.iter().map(ToString::to_string).collect();
    assert_eq!(words.len(), KINDS.len());
    for kind in KINDS {
        let wire = serde_json::to_value(kind).unwrap();
        assert_eq!(serde_json::from_value::<FailureKind>(wire).unwrap(), kind);
    }
}

// R8.1: what a command that exited said on stderr is the reason, verbatim.
#[tokio::test]
async fn an_exit_with_words_blocks_with_those_words() {
    let hooks = Hooks::new();
    hooks
        .named("script")
        .register_dyn("tool.pre", ModelKind::Gate, |_: DynEvent| async {
            Err::<Value, _>(Failure::new(FailureKind::Exit(2), "not on a Friday"))
        })
        .unwrap();
    let outcome = hooks.fire_gate(&cx(), || tool("deploy")).await;
    assert_eq!(outcome.blocked().unwrap().reason, "not on a Friday");
}
