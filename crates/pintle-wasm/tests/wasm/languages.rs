//! Components in JavaScript and Python: the whole suite, and no way out.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::Write as _,
    net::TcpListener,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use pintle::{
    Cx, FireRecord, HandlerOutcome, Hooks,
    points::{AgentDone, BeforePromptBuild},
};
use pintle_plugins::{
    Capability, Entry, Grants, Kind, Manifest, Plugin, Plugins,
    testing::{Behaviour, Does, KindUnderTest},
};
use pintle_wasm::{Limits, WasmHost};
use serde_json::{Value, json};

use crate::built::{JAVASCRIPT, Language, PYTHON};

/// The plugin with the language's component, which does what a file says that it may read.
fn does(
    language: &Language,
    mut manifest: Manifest,
    activates: bool,
    does: &Value,
) -> Arc<dyn Plugin> {
    let behaviour = json!({ "activates": activates, "does": does }).to_string();
    let mut hash = DefaultHasher::new();
    behaviour.hash(&mut hash);
    let file = format!("behaviour-{:016x}.json", hash.finish());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    let built = language.built();
    // Whole or not at all: another test may read it.
    let mut fresh = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fresh.write_all(behaviour.as_bytes()).unwrap();
    fresh.persist(&file).unwrap();
    (manifest.kind, manifest.entry) = (Kind::Wasm, Some(Entry::File("plugin.wasm".into())));
    manifest.capabilities.push(Capability::Read(file.display().to_string()));
    let limits = Limits { fuel: u64::MAX / 2, ..Limits::default() };
    let host = WasmHost::new(limits, Some(&built.cache), |_, _| {}).unwrap();
    Arc::new(host.plugin_in(&built.folder, manifest, &Grants::All).unwrap())
}

impl KindUnderTest for Language {
    fn plugin(&self, manifest: Manifest, behaviour: Behaviour) -> Arc<dyn Plugin> {
        let said = match behaviour.does {
            Does::Answer(answer) => answer,
            Does::Tell => json!("tell"),
            Does::Crash => json!("crash"),
            Does::Hang => json!("hang"),
        };
        does(self, manifest, behaviour.activates, &said)
    }
}

mod javascript {
    pintle_plugins::plugin_conformance!(super::JAVASCRIPT);
}

mod python {
    pintle_plugins::plugin_conformance!(super::PYTHON);
}

/// What became of something that a guest tries, without any grant for it.
async fn tried(language: &Language, what: &str, address: &str) -> String {
    let last: Arc<Mutex<Option<Arc<FireRecord>>>> = Arc::default();
    let record = last.clone();
    let sink = move |it: Arc<FireRecord>| *record.lock().unwrap() = Some(it);
    let hooks = Hooks::builder().sink(Arc::new(sink)).build();
    let plugins = Plugins::new(hooks.clone());
    let manifest = Manifest::native("p", "1").point("before_prompt_build");
    let manifest = manifest.capability("amend:prompt").unwrap();
    let tries = json!({ "tries": what, "address": address });
    plugins.load(does(language, manifest, true, &tries), &Grants::All).await.unwrap();
    hooks.fire_modifying(&Cx::test(), BeforePromptBuild::default).await.unwrap();
    plugins.shutdown().await;
    let record = last.lock().unwrap().take().unwrap();
    match &record.handlers[0].outcome {
        HandlerOutcome::Failed(failure) => failure.message.clone(),
        other => panic!("{what}: {other:?}"),
    }
}

/// R13.2: neither library can reach what was not granted, for there is nothing to reach it with.
async fn reaches_nothing(language: &Language) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let file = tried(language, "file", &address).await;
    assert!(!file.contains("root:"), "{file}");
    let network = tried(language, "network", &address).await;
    assert!(listener.accept().is_err(), "{network}");
    let environment = tried(language, "environment", &address).await;
    assert!(!environment.contains("PATH"), "{environment}");
    let clock = tried(language, "clock", &address).await;
    let said = clock.strip_prefix("it got ").and_then(|it| it.parse().ok());
    let said = SystemTime::UNIX_EPOCH + Duration::from_millis(said.unwrap_or_default());
    assert!(said.elapsed().unwrap_or_default() > Duration::from_secs(1), "{clock}");
}

#[tokio::test]
async fn a_component_in_javascript_reaches_nothing_that_was_not_granted() {
    reaches_nothing(&JAVASCRIPT).await;
}

#[tokio::test]
async fn a_component_in_python_reaches_nothing_that_was_not_granted() {
    reaches_nothing(&PYTHON).await;
}

/// The example as it is, with the grants that its manifest asks for.
async fn example_works(language: &Language) {
    let logged: Arc<Mutex<Vec<String>>> = Arc::default();
    let lines = logged.clone();
    let built = language.built();
    let text = fs::read_to_string(language.folder().join("plugin.json")).unwrap();
    let manifest = Manifest::parse(&text).unwrap();
    let host = WasmHost::new(Limits::default(), Some(&built.cache), move |_, line| {
        lines.lock().unwrap().push(line.into());
    });
    let plugin = host.unwrap().plugin_in(&built.folder, manifest, &Grants::All).unwrap();
    let hooks = Hooks::new();
    let plugins = Plugins::new(hooks.clone());
    plugins.load(Arc::new(plugin), &Grants::All).await.unwrap();
    let merged = hooks.fire_modifying(&Cx::test(), BeforePromptBuild::default).await.unwrap();
    assert_eq!(merged.append_system.as_deref(), Some("Never add in your head."));
    hooks.fire_void(&Cx::test(), || AgentDone::default().total_tool_calls(2)).await.unwrap();
    assert_eq!(*logged.lock().unwrap(), ["2 tool calls"]);
    assert_eq!(plugins.run_command("sum", "1 2 3").await, Some(Ok("the sum is 6".into())));
    let wit = |path: &Path| fs::read_to_string(path.join("plugin.wit")).unwrap();
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("wit");
    assert_eq!(wit(&language.folder()), wit(&ours), "an example has the interface as it is");
}

#[tokio::test]
async fn the_example_in_javascript_works() {
    example_works(&JAVASCRIPT).await;
}

#[tokio::test]
async fn the_example_in_python_works() {
    example_works(&PYTHON).await;
}
