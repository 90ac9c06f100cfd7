//! The plugins of one registry: loaded, reloaded, unloaded.

use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::FutureExt;
use pintle::{DynHandler, Hooks};
use pintle_agent::Tool;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::{
    api::{ActivateError, Plugin, PluginApi},
    capability::{Capability, Grants},
    guest::COMMAND,
    manifest::{Manifest, ManifestError},
    rights::{Rights, request},
    tool::PluginTool,
};

/// How long an activation may take.
pub const ACTIVATION: Duration = Duration::from_secs(10);

/// How long a plugin's calls under way are waited for when it is unloaded.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// Why a plugin was not loaded. Nothing of it is in force; a version that was loaded before still is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Its manifest cannot be used.
    #[error("the plugin `{id}` cannot be loaded: {error}")]
    Manifest {
        /// The plugin.
        id: String,
        /// Everything that is wrong with it.
        error: ManifestError,
    },
    /// Its activation failed.
    #[error("the plugin `{id}` did not activate: {error}")]
    Activation {
        /// The plugin.
        id: String,
        /// Why not.
        error: ActivateError,
    },
}

/// A loaded plugin, as lists show it.
#[derive(Debug, Clone)]
pub struct PluginInfo {
    /// What it declares.
    pub manifest: Manifest,
    /// What it was granted.
    pub rights: Rights,
    /// Points that it does not observe, because observers are switched off.
    pub silenced: Vec<String>,
}

impl PluginInfo {
    /// What it asks for and was not granted.
    pub fn withheld(&self) -> impl Iterator<Item = &Capability> {
        self.manifest.capabilities.iter().filter(|it| !self.rights.has(it))
    }
}

pub(crate) struct Loaded {
    pub(crate) plugin: Arc<dyn Plugin>,
    pub(crate) info: PluginInfo,
    pub(crate) calls: TaskTracker,
    tools: BTreeMap<String, Arc<dyn DynHandler>>,
    commands: BTreeMap<String, Arc<dyn DynHandler>>,
}

impl Loaded {
    /// Its handlers are gone from the registry: those under way may finish, then it ends.
    async fn end(self) {
        self.calls.close();
        let _ = timeout(LAST_CALLS, self.calls.wait()).await;
        let ending = AssertUnwindSafe(self.plugin.deactivate()).catch_unwind();
        let _ = timeout(ACTIVATION, ending).await;
    }
}

/// The plugins of a registry.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use futures_util::future::BoxFuture;
/// use pintle::{DynEvent, Hooks};
/// use pintle_plugins::{ActivateError, Grants, Manifest, Plugin, PluginApi, Plugins};
/// use serde_json::json;
///
/// struct Today(Manifest);
/// impl Plugin for Today {
///     fn manifest(&self) -> &Manifest { &self.0 }
///     fn activate<'a>(&'a self, api: &'a mut PluginApi) -> BoxFuture<'a, Result<(), ActivateError>> {
///         Box::pin(async move {
///             api.on("before_prompt_build", |_: DynEvent| json!({ "appendSystem": "It is a Wednesday." }))
///         })
///     }
/// }
///
/// let hooks = Hooks::new();
/// let plugins = Plugins::new(hooks.clone());
/// let manifest = Manifest::native("today", "1.0.0").point("before_prompt_build").capability("amend:prompt")?;
/// plugins.load(Arc::new(Today(manifest)), &Grants::All).await?;
/// assert_eq!(hooks.list()[0].plugin.as_deref(), Some("today"));
/// assert!(plugins.unload("today").await);
/// assert!(hooks.list().is_empty());
/// # Ok(())
/// # }
/// ```
pub struct Plugins {
    hooks: Hooks,
    loaded: Mutex<BTreeMap<String, Loaded>>,
    observes: bool,
    /// One plugin is loaded or unloaded at a time.
    turn: tokio::sync::Mutex<()>,
}

impl Plugins {
    /// No plugins yet.
    #[must_use]
    pub fn new(hooks: Hooks) -> Self {
        let turn = tokio::sync::Mutex::new(());
        Self { hooks, loaded: Mutex::default(), observes: true, turn }
    }

    /// Leaves out every handler at a Void point of the plugins that are loaded from now on (R10.8). What amends stays.
    #[must_use]
    pub fn without_observers(mut self) -> Self {
        self.observes = false;
        self
    }

    fn loaded(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Loaded>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Activates a plugin and puts its handlers in force, all at once or none (R13.1). A plugin of the same id is replaced: no fire
    /// sees neither or both.
    ///
    /// # Errors
    /// When its manifest is wrong, or its activation fails, panics or takes longer than [`ACTIVATION`].
    pub async fn load(&self, plugin: Arc<dyn Plugin>, grants: &Grants) -> Result<(), LoadError> {
        let _turn = self.turn.lock().await;
        let manifest = plugin.manifest().clone();
        let id = manifest.id.clone();
        let problems = manifest.problems(&self.hooks);
        if !problems.is_empty() {
            return Err(LoadError::Manifest { id, error: ManifestError(problems) });
        }
        let rights = Rights::new(&manifest.capabilities, grants);
        let mut api =
            PluginApi::new(self.hooks.clone(), manifest.clone(), rights.clone(), self.observes);
        let activated = activate(&*plugin, &mut api).await.and_then(|()| {
            let staged = std::mem::take(&mut api.staged);
            Ok(self.hooks.replace_plugin(&id, staged)?)
        });
        if let Err(error) = activated {
            let ending = AssertUnwindSafe(plugin.deactivate()).catch_unwind();
            let _ = timeout(ACTIVATION, ending).await;
            return Err(LoadError::Activation { id, error });
        }
        let PluginApi { calls, tools, commands, silenced, .. } = api;
        let info = PluginInfo { manifest, rights, silenced: silenced.unwrap_or_default() };
        let before = self.loaded().insert(id, Loaded { plugin, info, calls, tools, commands });
        if let Some(before) = before {
            before.end().await;
        }
        Ok(())
    }

    /// Removes everything of a plugin in one step, waits for its calls under way, and ends it. Whether there was one.
    pub async fn unload(&self, id: &str) -> bool {
        let _turn = self.turn.lock().await;
        self.hooks.unregister_plugin(id);
        let before = self.loaded().remove(id);
        match before {
            Some(before) => before.end().await,
            None => return false,
        }
        true
    }

    /// Unloads all of them.
    pub async fn shutdown(&self) {
        let ids: Vec<String> = self.loaded().keys().cloned().collect();
        futures_util::future::join_all(ids.iter().map(|id| self.unload(id))).await;
    }

    /// Every loaded plugin, by its id.
    #[must_use]
    pub fn list(&self) -> Vec<PluginInfo> {
        self.loaded().values().map(|it| it.info.clone()).collect()
    }

    /// The tools of all plugins that were granted `tools`.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let loaded = self.loaded();
        let granted = loaded.values().filter(|it| it.info.rights.has(&Capability::Tools));
        granted
            .flat_map(|it| {
                it.info.manifest.tools.iter().filter_map(move |tool| {
                    let handler = it.tools.get(&tool.name)?.clone();
                    Some(Arc::new(PluginTool::new(it, tool, handler)) as Arc<dyn Tool>)
                })
            })
            .collect()
    }

    /// The texts for the system prompt of all plugins that were granted `amend:prompt`, by plugin.
    #[must_use]
    pub fn context(&self) -> Vec<(String, String)> {
        let amends = Capability::Patch("amend:prompt".into());
        let loaded = self.loaded();
        let granted = loaded.values().filter(|it| it.info.rights.has(&amends));
        let manifests = granted.map(|it| &it.info.manifest);
        manifests.filter_map(|it| Some((it.id.clone(), it.context.clone()?))).collect()
    }

    /// The slash commands of all plugins that were granted `commands`: plugin, name, and what it does.
    #[must_use]
    pub fn commands(&self) -> Vec<(String, String, String)> {
        let loaded = self.loaded();
        let granted = loaded.values().filter(|it| it.info.rights.has(&Capability::Commands));
        granted
            .flat_map(|it| {
                it.info.manifest.commands.iter().map(|command| {
                    (it.info.manifest.id.clone(), command.name.clone(), command.description.clone())
                })
            })
            .collect()
    }

    /// Runs a slash command, and gives the text for the person.
    ///
    /// # Errors
    /// When the plugin fails, in words; `None` when no plugin has the command.
    pub async fn run_command(&self, name: &str, text: &str) -> Option<Result<String, String>> {
        let (plugin, _, _) = self.commands().into_iter().find(|(_, it, _)| it == name)?;
        let (handler, token) = {
            let loaded = self.loaded();
            let of = loaded.get(&plugin)?;
            (of.commands.get(name)?.clone(), of.calls.token())
        };
        let asked = handler.call(request(COMMAND, json!({ "command": name, "text": text })));
        let answer = AssertUnwindSafe(timeout(COMMAND_DEADLINE, asked)).catch_unwind().await;
        drop(token);
        Some(match answer {
            Ok(Ok(Ok(answer))) => Ok(text_of(answer)),
            Ok(Ok(Err(failure))) => Err(format!("the plugin `{plugin}` {failure}")),
            Ok(Err(_)) => {
                Err(format!("the plugin `{plugin}` took longer than {COMMAND_DEADLINE:?}"))
            }
            Err(_) => Err(format!("the plugin `{plugin}` panicked")),
        })
    }
}

const COMMAND_DEADLINE: Duration = Duration::from_secs(60);

/// An answer as a person or the model reads it.
pub(crate) fn text_of(answer: Value) -> String {
    match answer {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

async fn activate(plugin: &dyn Plugin, api: &mut PluginApi) -> Result<(), ActivateError> {
    // Making the future may panic as well as polling it.
    let activating = AssertUnwindSafe(async { plugin.activate(api).await }).catch_unwind();
    match timeout(ACTIVATION, activating).await {
        Ok(Ok(activated)) => activated?,
        Ok(Err(_)) => return Err(ActivateError::Failed("it panicked".into())),
        Err(_) => return Err(ActivateError::Failed(format!("it took longer than {ACTIVATION:?}"))),
    }
    api.is_complete()
}
