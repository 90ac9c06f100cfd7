//! Native plugins: the suite, and what only they can do.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pintle::{DynEvent, Failure, Hooks};
use pintle_plugins::{
    ActivateError, Grants, LoadError, Manifest, Plugin, PluginApi, Plugins,
    testing::{Behaviour, Does, KindUnderTest},
};
use serde_json::{Value, json};

struct Native;

impl KindUnderTest for Native {
    fn plugin(&self, manifest: Manifest, behaviour: Behaviour) -> Arc<dyn Plugin> {
        Arc::new(Scripted(manifest, behaviour))
    }
}

struct Scripted(Manifest, Behaviour);

impl Plugin for Scripted {
    fn manifest(&self) -> &Manifest {
        &self.0
    }

    fn activate<'a>(&'a self, api: &'a mut PluginApi) -> BoxFuture<'a, Result<(), ActivateError>> {
        Box::pin(async move {
            for binding in &self.0.points {
                let does = self.1.does.clone();
                api.on(&binding.point, move |event: DynEvent| {
                    let does = does.clone();
                    async move {
                        match does {
                            Does::Answer(answer) => Ok::<Value, Failure>(answer),
                            Does::Tell => Err(Failure::errored(event.json.to_string())),
                            Does::Crash => panic!("crashed"),
                            Does::Hang => std::future::pending().await,
                        }
                    }
                })?;
            }
            match self.1.activates {
                true => Ok(()),
                false => Err(ActivateError::Failed("it will not".into())),
            }
        })
    }
}

pintle_plugins::plugin_conformance!(Native);

/// Activates by calling this.
struct By<F>(Manifest, F);

impl<F> Plugin for By<F>
where
    F: Fn(&mut PluginApi) -> Result<(), ActivateError> + Send + Sync + 'static,
{
    fn manifest(&self) -> &Manifest {
        &self.0
    }

    fn activate<'a>(&'a self, api: &'a mut PluginApi) -> BoxFuture<'a, Result<(), ActivateError>> {
        Box::pin(async move { (self.1)(api) })
    }
}

fn observer() -> Manifest {
    Manifest::native("p", "1.0.0").point("agent_done").capability("observe").unwrap()
}

async fn refused(
    manifest: Manifest,
    activate: impl Fn(&mut PluginApi) -> Result<(), ActivateError> + Send + Sync + 'static,
) -> String {
    let hooks = Hooks::new();
    let plugins = Plugins::new(hooks.clone());
    let loaded = plugins.load(Arc::new(By(manifest, activate)), &Grants::All).await;
    assert!(hooks.list().is_empty());
    loaded.unwrap_err().to_string()
}

// R13.3
#[tokio::test]
async fn what_the_manifest_does_not_declare_is_not_registered_even_after_something_that_is() {
    let error = refused(observer(), |api| {
        api.on("agent_done", |_: DynEvent| json!(null))?;
        api.on("session_start", |_: DynEvent| json!(null))
    });
    assert_eq!(
        error.await,
        "the plugin `p` did not activate: it registers a handler for `session_start`, which its plugin.json does not declare"
    );
    let error = refused(observer(), |api| api.tool("roll", |_: DynEvent| json!(null)));
    assert!(error.await.contains("the tool `roll`"));
}

// R13.1
#[tokio::test]
async fn a_gate_is_refused_with_what_to_do_instead() {
    let error = refused(observer(), |api| api.on("tool.pre", |_: DynEvent| json!(null))).await;
    assert!(error.contains("gates belong to the program and to profiles"), "{error}");
    assert!(error.contains("`deny:tool_calls`"), "{error}");
}

#[tokio::test]
async fn what_is_declared_has_to_be_served() {
    let error = refused(observer(), |_| Ok(())).await;
    assert!(error.contains("declares `agent_done`, and it registers no handler"), "{error}");
}

// P5
#[tokio::test]
async fn a_panic_in_an_activation_leaves_nothing() {
    let error = refused(observer(), |_| panic!("no")).await;
    assert_eq!(error, "the plugin `p` did not activate: it panicked");
}

#[tokio::test]
async fn every_mistake_in_a_manifest_is_told_at_once() {
    let mut manifest = observer().point("agent_don").point("tool.post");
    manifest.id = "Not An Id".into();
    manifest.api_version = 0;
    let plugins = Plugins::new(Hooks::new());
    let loaded = plugins.load(Arc::new(By(manifest, |_: &mut PluginApi| Ok(()))), &Grants::All);
    let Err(LoadError::Manifest { error, .. }) = loaded.await else { panic!("it loaded") };
    assert_eq!(error.0.len(), 4, "{error}");
}

#[tokio::test]
async fn a_slash_command_answers_and_its_panic_harms_nobody() {
    let mut manifest = Manifest::native("p", "1.0.0").capability("commands").unwrap();
    for name in ["greet", "crash"] {
        let description = String::new();
        let command = pintle_plugins::CommandDeclaration { name: name.into(), description };
        manifest.commands.push(command);
    }
    let plugin = By(manifest, |api: &mut PluginApi| {
        api.command("greet", |e: DynEvent| {
            json!(format!("hello {}", e.json["text"].as_str().unwrap()))
        })?;
        api.command("crash", async |_: DynEvent| -> Value { panic!("no") })
    });
    let plugins = Plugins::new(Hooks::new());
    plugins.load(Arc::new(plugin), &Grants::All).await.unwrap();
    assert_eq!(plugins.run_command("greet", "you").await, Some(Ok("hello you".into())));
    assert_eq!(plugins.run_command("crash", "").await, Some(Err("the plugin `p` panicked".into())));
    assert_eq!(plugins.run_command("nothing", "").await, None);
}

#[path = "../../examples/native_plugin.rs"]
mod example;

#[test]
fn the_example_runs_and_the_guide_shows_it() {
    example::main().unwrap();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let guide = std::fs::read_to_string(format!("{root}/docs/plugins.md")).unwrap();
    let example = include_str!("../../examples/native_plugin.rs");
    let (_, code) = example.split_once("\n\n").unwrap();
    assert!(guide.contains(code), "docs/plugins.md does not show examples/native_plugin.rs");
}
