//! P4: whatever the latencies, the outcome is that of a sequential model that fits on a screen.

use std::{
    cmp::Reverse,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::common::{Records, cases, dispatch, envelope, model_pre, prompt, started, submit};
use pintle::{
    Cx, Event, Failure, FireError, Hooks, IntoAnswer, PluginFilter, Registrar, Verdict,
    points::{
        BeforeDispatch, BeforePromptBuild, ModelPre, PromptPatch, SessionOpened, Suppressed,
        UserPromptSubmit,
    },
};
use proptest::{collection::vec, option, prelude::*, sample::subsequence};
use tokio::time::sleep;

/// A handler of the property tests. What it answers depends on the model: see each test.
#[derive(Debug, Clone)]
struct Spec {
    priority: i32,
    plugin: Option<&'static str>,
    does: Does,
    fail_closed: bool,
    /// In milliseconds, one per run: what must make no difference.
    latencies: [Option<u64>; 2],
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    /// Answers; the bits are the keys a patch sets.
    Answer(u8),
    /// Has nothing to say, or allows.
    Nothing,
    Error,
    Panic,
    TimeOut,
}

impl Does {
    fn fails(self) -> bool {
        matches!(self, Self::Error | Self::Panic | Self::TimeOut)
    }
}

fn spec() -> impl Strategy<Value = Spec> {
    let does = prop_oneof![
        3 => (1_u8..8).prop_map(Does::Answer),
        3 => Just(Does::Nothing),
        1 => Just(Does::Error),
        1 => Just(Does::Panic),
        1 => Just(Does::TimeOut),
    ];
    let plugin = prop_oneof![Just(None), Just(Some("a")), Just(Some("b")), Just(Some("c"))];
    let latency = || option::of(0_u64..900);
    (-2..3_i32, plugin, does, prop::bool::weighted(0.2), latency(), latency()).prop_map(
        |(priority, plugin, does, fail_closed, one, two)| Spec {
            priority,
            plugin,
            does,
            fail_closed,
            latencies: [one, two],
        },
    )
}

fn gate() -> impl Strategy<Value = PluginFilter> {
    prop_oneof![
        Just(PluginFilter::All),
        Just(PluginFilter::BuiltinsOnly),
        subsequence(vec!["a", "b", "c"], 0..=3).prop_map(PluginFilter::only),
    ]
}

/// A handler's future: waits, then does what its spec says. It times out by waiting longer than its deadline.
async fn perform<A>(
    spec: Spec,
    run: usize,
    answer: impl FnOnce(u8) -> A,
    nothing: A,
) -> Result<A, Failure> {
    if let Some(latency) = spec.latencies[run] {
        sleep(Duration::from_millis(latency)).await;
    }
    match spec.does {
        Does::Answer(keys) => Ok(answer(keys)),
        Does::Nothing => Ok(nothing),
        Does::Error => Err(Failure::errored("on purpose")),
        // Not `panic!`: the same unwinding, without the noise.
        Does::Panic => resume_unwind(Box::new("on purpose")),
        Does::TimeOut => std::future::pending().await,
    }
}

/// Describes handler number `number`.
fn describe(hooks: &Hooks, number: usize, spec: &Spec, gate: bool) -> Registrar {
    let mut options =
        hooks.named(number.to_string()).priority(spec.priority).deadline(Duration::from_secs(1));
    if let Some(plugin) = spec.plugin {
        options = options.plugin(plugin);
    }
    if spec.fail_closed && !gate { options.fail_closed() } else { options }
}

/// The order of the reference model: who is allowed, higher priority first, ties as registered.
fn in_order(specs: &[Spec], gate: &PluginFilter) -> Vec<usize> {
    let mut order: Vec<_> = (0..specs.len()).filter(|&n| gate.allows(specs[n].plugin)).collect();
    order.sort_by_key(|&n| Reverse(specs[n].priority));
    order
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

fn watched(gate: &PluginFilter) -> (Hooks, Cx, Arc<Records>) {
    let records = Arc::new(Records::default());
    let cx = Cx::new(envelope(), gate.clone()).observed_by(records.clone());
    (Hooks::new(), cx, records)
}

/// The handlers the record shows, in its order.
fn ran(records: &Records) -> Vec<usize> {
    records.only().iter().map(|handler| handler.name.parse().unwrap()).collect()
}

fn failed_closed(error: FireError) -> usize {
    match error {
        FireError::FailClosed { handler, .. } => handler.parse().unwrap(),
        cancelled => panic!("{cancelled}"),
    }
}

/// The reference for Modifying: per key who won, or who failed closed; and how many ran.
fn modifying(specs: &[Spec], gate: &PluginFilter) -> (Result<[Option<usize>; 3], usize>, usize) {
    let mut winners = [None; 3];
    for (ran, n) in in_order(specs, gate).into_iter().enumerate() {
        match specs[n].does {
            Does::Answer(keys) => {
                for (key, winner) in winners.iter_mut().enumerate() {
                    if keys >> key & 1 == 1 && winner.is_none() {
                        *winner = Some(n);
                    }
                }
            }
            does if does.fails() && specs[n].fail_closed => return (Err(n), ran + 1),
            _ => {}
        }
    }
    (Ok(winners), in_order(specs, gate).len())
}

/// The reference for Claiming: who claimed, or who failed closed; and how many ran.
fn claiming(specs: &[Spec], gate: &PluginFilter) -> (Result<Option<usize>, usize>, usize) {
    for (ran, n) in in_order(specs, gate).into_iter().enumerate() {
        match specs[n].does {
            Does::Answer(_) => return (Ok(Some(n)), ran + 1),
            does if does.fails() && specs[n].fail_closed => return (Err(n), ran + 1),
            _ => {}
        }
    }
    (Ok(None), in_order(specs, gate).len())
}

/// The reference for a Gate: who blocked, in order. An answer is a block, a failure too.
fn blocks(specs: &[Spec], gate: &PluginFilter, binding: bool) -> Vec<usize> {
    let blocks = |n: &usize| specs[*n].does != Does::Nothing;
    let all = in_order(specs, gate).into_iter().filter(blocks);
    if binding { all.take(1).collect() } else { all.collect() }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn modifying_is_its_sequential_reference_whatever_the_latencies(specs in vec(spec(), 0..8), gate in gate()) {
        let (expected, count) = modifying(&specs, &gate);
        for run in 0..2 {
            let (hooks, cx, records) = watched(&gate);
            for (n, spec) in specs.iter().cloned().enumerate() {
                describe(&hooks, n, &spec.clone(), false).register_modifying(move |_: Event<BeforePromptBuild>| {
                    let value = move |keys: u8, key: u8| (keys >> key & 1 == 1).then(|| n.to_string());
                    perform(spec.clone(), run, move |keys| Some(PromptPatch::default()
                        .prepend_system(value(keys, 0))
                        .append_system(value(keys, 1))
                        .override_system(value(keys, 2))), None)
                }).unwrap();
            }
            let outcome = block_on(hooks.fire_modifying(&cx, prompt)).map_err(failed_closed).map(|merged| {
                let keys = [&merged.prepend_system, &merged.append_system, &merged.override_system];
                let names = ["prependSystem", "appendSystem", "overrideSystem"].map(|key| merged.winner(key));
                let values = keys.map(|value| value.as_deref());
                assert_eq!(values, names, "the value is the winner's");
                values.map(|value| value.map(|n| n.parse::<usize>().unwrap()))
            });
            prop_assert_eq!(&outcome, &expected);
            prop_assert_eq!(ran(&records), &in_order(&specs, &gate)[..count]);
        }
    }

    #[test]
    fn claiming_is_its_sequential_reference_whatever_the_latencies(specs in vec(spec(), 0..8), gate in gate()) {
        let (expected, count) = claiming(&specs, &gate);
        for run in 0..2 {
            let (hooks, cx, records) = watched(&gate);
            for (n, spec) in specs.iter().cloned().enumerate() {
                describe(&hooks, n, &spec.clone(), false).register_claiming(move |_: Event<BeforeDispatch>| {
                    perform(spec.clone(), run, move |_| Some(Suppressed::default().reason(n.to_string())), None)
                }).unwrap();
            }
            let outcome = block_on(hooks.fire_claiming(&cx, dispatch)).map_err(failed_closed).map(|claimed| {
                claimed.map(|claimed| {
                    assert_eq!(Some(&*claimed.by), claimed.reason.as_deref());
                    claimed.by.parse::<usize>().unwrap()
                })
            });
            prop_assert_eq!(&outcome, &expected);
            prop_assert_eq!(ran(&records), &in_order(&specs, &gate)[..count]);
        }
    }

    #[test]
    fn a_gate_is_its_sequential_reference_whatever_the_latencies(specs in vec(spec(), 0..8), gate in gate()) {
        for run in 0..2 {
            let hooks = Hooks::new();
            let cx = Cx::new(envelope(), gate.clone());
            for (n, spec) in specs.iter().cloned().enumerate() {
                let again = spec.clone();
                describe(&hooks, n, &spec.clone(), true).register_gate(move |_: Event<UserPromptSubmit>| {
                    perform(spec.clone(), run, |_| Verdict::block("no"), Verdict::allow())
                }).unwrap();
                describe(&hooks, n, &again.clone(), true).register_gate(move |_: Event<ModelPre>| {
                    perform(again.clone(), run, |_| Verdict::block("no"), Verdict::allow())
                }).unwrap();
            }
            let (binding, advisory) = block_on(async {
                (hooks.fire_gate(&cx, submit).await.verdicts, hooks.fire_gate(&cx, model_pre).await.verdicts)
            });
            for (verdicts, binds) in [(binding, true), (advisory, false)] {
                let blocked: Vec<usize> = verdicts.iter().map(|block| block.handler.parse().unwrap()).collect();
                prop_assert_eq!(&blocked, &blocks(&specs, &gate, binds));
                for block in &verdicts {
                    let does = specs[block.handler.parse::<usize>().unwrap()].does;
                    prop_assert_eq!(block.failure.is_some(), does.fails());
                }
            }
        }
    }

    #[test]
    fn void_runs_every_allowed_handler_exactly_once(specs in vec(spec(), 0..12), gate in gate()) {
        let order = in_order(&specs, &gate);
        let fatal = order.iter().copied().find(|&n| specs[n].does.fails() && specs[n].fail_closed);
        for run in 0..2 {
            let (hooks, cx, records) = watched(&gate);
            let calls: Arc<Vec<AtomicUsize>> = Arc::new(specs.iter().map(|_| AtomicUsize::new(0)).collect());
            for (n, spec) in specs.iter().cloned().enumerate() {
                let calls = calls.clone();
                describe(&hooks, n, &spec.clone(), false).register_void(move |_: Event<SessionOpened>| {
                    calls[n].fetch_add(1, Ordering::Relaxed);
                    perform(spec.clone(), run, |_| (), ())
                }).unwrap();
            }
            let outcome = block_on(hooks.fire_void(&cx, started)).map_err(failed_closed);
            prop_assert_eq!(outcome, fatal.map_or(Ok(()), Err));
            for (n, spec) in specs.iter().enumerate() {
                let expected = usize::from(gate.allows(spec.plugin));
                prop_assert_eq!(calls[n].load(Ordering::Relaxed), expected, "handler {}", n);
            }
            prop_assert_eq!(&ran(&records), &order);
        }
    }
}

// The answers of these tests are `Result`s: a handler may return one under every model.
const _: fn() = || {
    fn answers<A, T: IntoAnswer<A>>() {}
    answers::<Verdict, Result<Verdict, Failure>>();
    answers::<(), Result<(), Failure>>();
};
