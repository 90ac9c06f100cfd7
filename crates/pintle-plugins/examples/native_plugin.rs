//! A native plugin: a Rust type that observes tool calls and adds a line to the system prompt.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use futures_util::future::BoxFuture;
use pintle::{Cx, DynEvent, Hooks, points::BeforePromptBuild};
use pintle_plugins::{ActivateError, Grants, Manifest, Plugin, PluginApi, Plugins};
use serde_json::json;

struct Counter {
    manifest: Manifest,
    calls: Arc<AtomicU32>,
}

impl Plugin for Counter {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn activate<'a>(&'a self, api: &'a mut PluginApi) -> BoxFuture<'a, Result<(), ActivateError>> {
        Box::pin(async move {
            let calls = self.calls.clone();
            api.on("after_tool_call", move |_: DynEvent| {
                calls.fetch_add(1, Ordering::Relaxed);
                json!(null)
            })?;
            let calls = self.calls.clone();
            api.on("before_prompt_build", move |_: DynEvent| {
                let line = format!("{} tool calls so far.", calls.load(Ordering::Relaxed));
                json!({ "appendSystem": line })
            })
        })
    }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let manifest = Manifest::native("counter", "1.0.0")
        .point("after_tool_call")
        .point("before_prompt_build")
        .capability("observe")?
        .capability("amend:prompt")?;
    let hooks = Hooks::new();
    let plugins = Plugins::new(hooks.clone());
    plugins.load(Arc::new(Counter { manifest, calls: Arc::default() }), &Grants::All).await?;

    let merged = hooks.fire_modifying(&Cx::test(), BeforePromptBuild::default).await?;
    assert_eq!(merged.append_system.as_deref(), Some("0 tool calls so far."));
    plugins.shutdown().await;
    assert!(hooks.list().is_empty());
    Ok(())
}
