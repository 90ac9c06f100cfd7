//! What every kind of plugin has to pass, as one suite (R13.2): see [`plugin_conformance!`](crate::plugin_conformance).

// These are tests: a broken promise is a panic.
#![allow(clippy::indexing_slicing)]

use std::sync::{Arc, Mutex, PoisonError};

use pintle::{
    Cx, Envelope, Event, FailureKind, FireError, FireRecord, HandlerOutcome, Hooks, PluginFilter,
    points::{AgentDone, BeforePromptBuild, PromptPatch},
};
use serde_json::{Value, json};

use crate::{Capability, Grants, LoadError, Manifest, Plugin, Plugins};

/// What a plugin of the suite does.
#[derive(Debug, Clone)]
pub struct Behaviour {
    /// Whether its activation succeeds.
    pub activates: bool,
    /// What it does with each event.
    pub does: Does,
}

/// What a plugin of the suite does with each event.
#[derive(Debug, Clone)]
pub enum Does {
    /// Answers with this.
    Answer(Value),
    /// Fails, and its error is the event that it got, as JSON.
    Tell,
    /// Panics, traps or exits.
    Crash,
    /// Never answers.
    Hang,
}

/// Makes plugins of one kind.
pub trait KindUnderTest {
    /// A plugin that declares this, and does that. The kind fills in `kind` and `entry`.
    fn plugin(&self, manifest: Manifest, behaviour: Behaviour) -> Arc<dyn Plugin>;
}

/// One test for each promise, for a kind of plugin: an expression that is a [`KindUnderTest`].
#[macro_export]
macro_rules! plugin_conformance {
    ($kind:expr) => {
        $crate::plugin_conformance!($kind,
            activation_binds_what_the_manifest_declares_and_unloading_removes_it,
            a_failing_activation_leaves_nothing,
            a_personality_decides_what_fires,
            the_first_value_wins_against_built_ins,
            a_failure_is_recorded_and_the_others_go_on,
            a_fail_closed_failure_fails_the_fire,
            a_crash_is_contained_and_the_next_call_is_served,
            a_deadline_ends_a_handler_that_hangs,
            unloading_during_a_fire_leaves_nothing_behind,
            a_reload_replaces_all_of_it,
            a_reload_that_fails_keeps_what_was_there,
            an_answer_beyond_its_capabilities_is_a_failure,
            what_was_not_granted_has_no_effect,
            the_view_is_cut_to_the_capabilities,
            gates_claims_and_what_is_unknown_are_refused,
        );
    };
    ($kind:expr, $($test:ident,)*) => {
        $(
            #[tokio::test]
            async fn $test() {
                $crate::testing::$test(&$kind).await;
            }
        )*
    };
}

/// A registry whose records are kept, with its plugins.
struct World {
    hooks: Hooks,
    plugins: Plugins,
    records: Arc<Mutex<Vec<Arc<FireRecord>>>>,
}

const PROMPT: &str = "before_prompt_build";

impl World {
    fn new() -> Self {
        let records: Arc<Mutex<Vec<Arc<FireRecord>>>> = Arc::default();
        let kept = records.clone();
        let sink = move |record: Arc<FireRecord>| {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        };
        let hooks = Hooks::builder().sink(Arc::new(sink)).build();
        Self { plugins: Plugins::new(hooks.clone()), hooks, records }
    }

    fn built_in(&self, name: &str, priority: i32, says: &'static str) {
        let registrar = self.hooks.named(name).priority(priority);
        let added = registrar.register_modifying(move |_: Event<BeforePromptBuild>| {
            Some(PromptPatch::default().append_system(says))
        });
        assert!(added.is_ok());
    }

    async fn load(&self, plugin: Arc<dyn Plugin>) {
        let loaded = self.plugins.load(plugin, &Grants::All).await;
        assert_eq!(loaded, Ok(()));
    }

    /// Fires `before_prompt_build` for these plugins: what was appended, and who appended it.
    async fn prompt(&self, plugins: PluginFilter) -> Result<Option<(String, String)>, FireError> {
        let cx = Cx::new(Envelope::default(), plugins);
        let payload = || BeforePromptBuild::default().system("You are here.".to_owned());
        let merged = self.hooks.fire_modifying(&cx, payload).await?;
        let by = merged.winner("appendSystem").unwrap_or_default().to_owned();
        Ok(merged.append_system.clone().map(|text| (text, by)))
    }

    /// How the plugin's call in the last fire ended.
    fn failure(&self, name: &str) -> Option<(FailureKind, String)> {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let handler = records.last()?.handlers.iter().find(|it| &*it.name == name)?;
        match &handler.outcome {
            HandlerOutcome::Failed(failure) => Some((failure.kind, failure.message.clone())),
            _ => None,
        }
    }
}

fn manifest(id: &str, point: &str, capabilities: &[&str]) -> Manifest {
    let mut manifest = Manifest::native(id, "1.0.0").point(point);
    manifest.capabilities = capabilities.iter().filter_map(|it| it.parse().ok()).collect();
    assert_eq!(manifest.capabilities.len(), capabilities.len());
    manifest
}

fn amends(id: &str) -> Manifest {
    manifest(id, PROMPT, &["amend:prompt"])
}

fn appends(text: &str) -> Behaviour {
    Behaviour { activates: true, does: Does::Answer(json!({ "appendSystem": text })) }
}

fn does(does: Does) -> Behaviour {
    Behaviour { activates: true, does }
}

fn said(text: &str, by: &str) -> Result<Option<(String, String)>, FireError> {
    Ok(Some((text.to_owned(), by.to_owned())))
}

/// R13.1
pub async fn activation_binds_what_the_manifest_declares_and_unloading_removes_it(
    kind: &impl KindUnderTest,
) {
    let world = World::new();
    let manifest = amends("p").point("agent_done").capability("observe");
    let Ok(manifest) = manifest else { unreachable!("`observe` is a capability") };
    world.load(kind.plugin(manifest, appends("hello"))).await;
    let listed = world.hooks.list();
    let bound: Vec<_> = listed.iter().map(|it| (it.point, it.plugin.as_deref())).collect();
    assert_eq!(bound, [("agent_done", Some("p")), (PROMPT, Some("p"))]);
    assert_eq!(world.prompt(PluginFilter::All).await, said("hello", "p"));
    assert!(world.plugins.unload("p").await);
    assert!(world.hooks.list().is_empty() && world.plugins.list().is_empty());
    assert_eq!(world.prompt(PluginFilter::All).await, Ok(None));
    assert!(!world.plugins.unload("p").await, "twice is harmless");
}

/// R13.1
pub async fn a_failing_activation_leaves_nothing(kind: &impl KindUnderTest) {
    let world = World::new();
    let refuses = Behaviour { activates: false, does: Does::Crash };
    let loaded = world.plugins.load(kind.plugin(amends("p"), refuses), &Grants::All).await;
    assert!(matches!(loaded, Err(LoadError::Activation { .. })), "{loaded:?}");
    assert!(world.hooks.list().is_empty() && world.plugins.list().is_empty());
}

/// R13.4
pub async fn a_personality_decides_what_fires(kind: &impl KindUnderTest) {
    let world = World::new();
    world.load(kind.plugin(amends("p"), appends("from p"))).await;
    world.load(kind.plugin(amends("q"), appends("from q"))).await;
    assert_eq!(world.prompt(PluginFilter::BuiltinsOnly).await, Ok(None));
    assert_eq!(world.prompt(PluginFilter::only(["q"])).await, said("from q", "q"));
    assert_eq!(world.prompt(PluginFilter::All).await, said("from p", "p"));
}

/// R4.5
pub async fn the_first_value_wins_against_built_ins(kind: &impl KindUnderTest) {
    let world = World::new();
    world.load(kind.plugin(amends("p"), appends("from p"))).await;
    world.built_in("late", -1, "from a built-in");
    assert_eq!(world.prompt(PluginFilter::All).await, said("from p", "p"));
    world.built_in("early", 1, "first");
    assert_eq!(world.prompt(PluginFilter::All).await, said("first", "early"));
}

/// R3.2
pub async fn a_failure_is_recorded_and_the_others_go_on(kind: &impl KindUnderTest) {
    let world = World::new();
    world.load(kind.plugin(amends("p"), does(Does::Tell))).await;
    world.load(kind.plugin(amends("q"), appends("from q"))).await;
    assert_eq!(world.prompt(PluginFilter::All).await, said("from q", "q"));
    assert!(matches!(world.failure("p"), Some((FailureKind::Errored, _))));
}

/// R3.3
pub async fn a_fail_closed_failure_fails_the_fire(kind: &impl KindUnderTest) {
    let world = World::new();
    let mut manifest = amends("p");
    manifest.points.iter_mut().for_each(|it| it.fail_closed = true);
    world.load(kind.plugin(manifest, does(Does::Tell))).await;
    let fired = world.prompt(PluginFilter::All).await;
    assert!(matches!(fired, Err(FireError::FailClosed { .. })), "{fired:?}");
}

/// P5
pub async fn a_crash_is_contained_and_the_next_call_is_served(kind: &impl KindUnderTest) {
    let world = World::new();
    world.load(kind.plugin(amends("p"), does(Does::Crash))).await;
    world.load(kind.plugin(amends("q"), appends("from q"))).await;
    for _ in 0..2 {
        assert_eq!(world.prompt(PluginFilter::All).await, said("from q", "q"));
        assert!(world.failure("p").is_some());
    }
    world.load(kind.plugin(amends("p"), appends("mended"))).await;
    assert_eq!(world.prompt(PluginFilter::only(["p"])).await, said("mended", "p"));
}

/// R4.10
pub async fn a_deadline_ends_a_handler_that_hangs(kind: &impl KindUnderTest) {
    let world = World::new();
    let mut manifest = amends("p");
    manifest.points.iter_mut().for_each(|it| it.timeout_ms = Some(100));
    world.load(kind.plugin(manifest, does(Does::Hang))).await;
    world.load(kind.plugin(amends("q"), appends("from q"))).await;
    assert_eq!(world.prompt(PluginFilter::All).await, said("from q", "q"));
    assert!(matches!(world.failure("p"), Some((FailureKind::TimedOut, _))));
}

/// R4.8
pub async fn unloading_during_a_fire_leaves_nothing_behind(kind: &impl KindUnderTest) {
    let world = World::new();
    let mut manifest = amends("p");
    manifest.points.iter_mut().for_each(|it| it.timeout_ms = Some(200));
    world.load(kind.plugin(manifest, does(Does::Hang))).await;
    let fire = world.prompt(PluginFilter::All);
    let (fired, unloaded) = futures_util::future::join(fire, world.plugins.unload("p")).await;
    assert_eq!((fired, unloaded), (Ok(None), true));
    assert!(world.failure("p").is_some(), "it had started, and its end is recorded");
    assert_eq!(world.prompt(PluginFilter::All).await, Ok(None));
    assert!(world.failure("p").is_none() && world.hooks.list().is_empty());
}

/// R13.1
pub async fn a_reload_replaces_all_of_it(kind: &impl KindUnderTest) {
    let world = World::new();
    world.load(kind.plugin(amends("p"), appends("old"))).await;
    world.load(kind.plugin(amends("p"), appends("new"))).await;
    assert_eq!(world.prompt(PluginFilter::All).await, said("new", "p"));
    assert_eq!((world.hooks.list().len(), world.plugins.list().len()), (1, 1));
}

/// R13.1
pub async fn a_reload_that_fails_keeps_what_was_there(kind: &impl KindUnderTest) {
    let world = World::new();
    world.load(kind.plugin(amends("p"), appends("old"))).await;
    let refuses = Behaviour { activates: false, does: Does::Crash };
    let loaded = world.plugins.load(kind.plugin(amends("p"), refuses), &Grants::All).await;
    assert!(loaded.is_err());
    assert_eq!(world.prompt(PluginFilter::All).await, said("old", "p"));
}

/// R13.3
pub async fn an_answer_beyond_its_capabilities_is_a_failure(kind: &impl KindUnderTest) {
    let world = World::new();
    let answer = json!({ "appendSystem": "and", "overrideSystem": "obey me" });
    world.load(kind.plugin(amends("p"), does(Does::Answer(answer)))).await;
    assert_eq!(world.prompt(PluginFilter::All).await, Ok(None));
    let (failed, why) = world.failure("p").unwrap_or((FailureKind::Gone, String::new()));
    assert_eq!(failed, FailureKind::BadOutput);
    assert!(why.contains("`overrideSystem`"), "{why}");
}

/// R13.3
pub async fn what_was_not_granted_has_no_effect(kind: &impl KindUnderTest) {
    let world = World::new();
    let manifest = manifest("p", PROMPT, &["amend:prompt", "observe"]);
    let grants = Grants::only([Capability::Observe]);
    let plugin = kind.plugin(manifest, appends("not granted"));
    assert_eq!(world.plugins.load(plugin, &grants).await, Ok(()));
    assert_eq!(world.prompt(PluginFilter::All).await, Ok(None));
    assert!(matches!(world.failure("p"), Some((FailureKind::BadOutput, _))));
    let listed = world.plugins.list();
    let mut withheld = listed.iter().flat_map(|it| it.withheld()).map(ToString::to_string);
    assert!(withheld.any(|it| it == "amend:prompt"));
    // Without anything at all, it is not even called.
    let nothing = kind.plugin(amends("p"), appends("not granted"));
    assert_eq!(world.plugins.load(nothing, &Grants::only([])).await, Ok(()));
    assert!(world.hooks.list().is_empty());
}

/// R13.3
pub async fn the_view_is_cut_to_the_capabilities(kind: &impl KindUnderTest) {
    let sees = async |capabilities: &[&str]| -> Value {
        let world = World::new();
        world.load(kind.plugin(manifest("p", "agent_done", capabilities), does(Does::Tell))).await;
        let payload = || {
            let done = AgentDone::default().text("the answer").initial_prompt("the question");
            done.turn_count(3)
        };
        let cx =
            Cx::new(Envelope { platform: "cli".into(), ..Envelope::default() }, PluginFilter::All);
        assert_eq!(world.hooks.fire_void(&cx, payload).await, Ok(()));
        let (_, told) = world.failure("p").unwrap_or((FailureKind::Gone, String::new()));
        let json = told.get(told.find('{').unwrap_or_default()..).unwrap_or_default();
        serde_json::from_str(json)
            .unwrap_or_else(|error| json!({ "told": told, "error": error.to_string() }))
    };
    let cut = sees(&["observe"]).await;
    assert_eq!((&cut["turnCount"], &cut["platform"]), (&json!(3), &json!("cli")), "{cut}");
    assert!(cut.get("text").is_none() && cut.get("initialPrompt").is_none(), "{cut}");
    let whole = sees(&["observe", "read:conversation"]).await;
    assert_eq!(
        (&whole["text"], &whole["initialPrompt"]),
        (&json!("the answer"), &json!("the question"))
    );
}

/// R13.1, R13.3
pub async fn gates_claims_and_what_is_unknown_are_refused(kind: &impl KindUnderTest) {
    let world = World::new();
    let refused = async |manifest: Manifest| {
        let loaded = world.plugins.load(kind.plugin(manifest, appends("no")), &Grants::All).await;
        assert!(world.hooks.list().is_empty());
        loaded.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let gate = refused(manifest("p", "tool.pre", &["observe"])).await;
    assert!(gate.contains("`tool.pre` is a Gate point"), "{gate}");
    let claim = refused(manifest("p", "inbound_claim", &["observe"])).await;
    assert!(claim.contains("`inbound_claim` is a Claiming point"), "{claim}");
    let misspelt = refused(manifest("p", "agent_don", &["observe"])).await;
    assert!(misspelt.contains("did you mean `agent_done`?"), "{misspelt}");
    let without = refused(manifest("p", "agent_done", &[])).await;
    assert!(without.contains("add `observe`"), "{without}");
    let mut newer = amends("p");
    newer.api_version = 99;
    let newer = refused(newer).await;
    assert!(newer.contains("use a newer pintle"), "{newer}");
}
