//! What a plugin implements, and what it registers with.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use pintle::{
    DynEvent, DynHandler, Failure, Hooks, IntoDynHandler, ModelKind, RegisterError, Staged,
};
use pintle_agent::SandboxUse;
use serde_json::Value;
use tokio_util::task::TaskTracker;

use crate::{
    manifest::{Manifest, closed_to_plugins},
    rights::{Rights, View},
};

/// A plugin: it declares what it is, and registers handlers when it is activated (R13.1).
///
/// ```
/// use futures_util::future::BoxFuture;
/// use pintle::DynEvent;
/// use pintle_plugins::{ActivateError, Manifest, Plugin, PluginApi};
/// use serde_json::json;
///
/// struct Today(Manifest);
///
/// impl Plugin for Today {
///     fn manifest(&self) -> &Manifest {
///         &self.0
///     }
///
///     fn activate<'a>(&'a self, api: &'a mut PluginApi) -> BoxFuture<'a, Result<(), ActivateError>> {
///         Box::pin(async move {
///             api.on("before_prompt_build", |_: DynEvent| json!({ "appendSystem": "It is a Wednesday." }))
///         })
///     }
/// }
/// ```
pub trait Plugin: Send + Sync + 'static {
    /// What it declares.
    fn manifest(&self) -> &Manifest;

    /// Registers its handlers. If this fails, none of them is in force.
    fn activate<'a>(&'a self, api: &'a mut PluginApi) -> BoxFuture<'a, Result<(), ActivateError>>;

    /// How its process is held, and the hosts that it asked for and no record has; `None` without a process.
    fn seen(&self) -> Option<SandboxUse> {
        None
    }

    /// Ends what it has running. Its handlers are gone by then, and calls under way have ended.
    fn deactivate(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Why a plugin is not active.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActivateError {
    /// It registers what its manifest does not declare.
    #[error("it registers {what}, which its plugin.json does not declare")]
    Undeclared {
        /// What it registers.
        what: String,
    },
    /// It declares what it does not register.
    #[error("its plugin.json declares {what}, and it registers no handler for it")]
    Unserved {
        /// What it declares.
        what: String,
    },
    /// A claim or a gate.
    #[error("{0}")]
    Closed(String),
    /// The registry refused a handler.
    #[error(transparent)]
    Refused(#[from] RegisterError),
    /// Its own words, or those of what runs it.
    #[error("{0}")]
    Failed(String),
}

impl From<Failure> for ActivateError {
    fn from(failure: Failure) -> Self {
        Self::Failed(format!("it {failure}"))
    }
}

/// How long a handler may take whose manifest does not say.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(5);

/// Where a plugin registers. Nothing is in force before its activation has succeeded.
pub struct PluginApi {
    pub(crate) hooks: Hooks,
    pub(crate) manifest: Manifest,
    pub(crate) rights: Rights,
    pub(crate) calls: TaskTracker,
    pub(crate) staged: Vec<Staged>,
    pub(crate) tools: BTreeMap<String, Arc<dyn DynHandler>>,
    pub(crate) commands: BTreeMap<String, Arc<dyn DynHandler>>,
    /// Points at which it would only observe, when the operator switched observers off.
    pub(crate) silenced: Option<Vec<String>>,
    /// How many handlers each point has.
    bound: BTreeMap<String, usize>,
}

impl PluginApi {
    pub(crate) fn new(hooks: Hooks, manifest: Manifest, rights: Rights, observes: bool) -> Self {
        Self {
            hooks,
            manifest,
            rights,
            calls: TaskTracker::new(),
            staged: Vec::new(),
            tools: BTreeMap::new(),
            commands: BTreeMap::new(),
            silenced: (!observes).then(Vec::new),
            bound: BTreeMap::new(),
        }
    }

    /// What it was granted of what it asks for.
    #[must_use]
    pub fn rights(&self) -> &Rights {
        &self.rights
    }

    /// Binds a handler to a point that the manifest declares. It gets what its capabilities open, and an answer that they do not
    /// allow is a failure.
    ///
    /// A point for which the operator granted nothing is left out.
    ///
    /// # Errors
    /// When the manifest does not declare the point, or the point is a claim or a gate.
    pub fn on<M>(
        &mut self,
        point: &str,
        handler: impl IntoDynHandler<M>,
    ) -> Result<(), ActivateError> {
        self.on_shared(point, handler.into_dyn_handler())
    }

    pub(crate) fn on_shared(
        &mut self,
        point: &str,
        handler: Arc<dyn DynHandler>,
    ) -> Result<(), ActivateError> {
        let known = self.hooks.known_points();
        let info = known.iter().find(|it| it.name == point);
        if let Some(why) = info.and_then(closed_to_plugins) {
            return Err(ActivateError::Closed(why));
        }
        let (Some(info), Some(binding)) = (info, self.manifest.binding(point)) else {
            return Err(ActivateError::Undeclared { what: format!("a handler for `{point}`") });
        };
        let count = self.bound.entry(point.to_owned()).or_default();
        *count += 1;
        if !self.rights.reaches(info) {
            return Ok(());
        }
        if let (ModelKind::Void, Some(silenced)) = (info.model, &mut self.silenced) {
            silenced.push(point.to_owned());
            return Ok(());
        }
        let id = &self.manifest.id;
        let name = if *count == 1 { id.clone() } else { format!("{id}#{count}") };
        let deadline = binding.timeout_ms.map_or(DEFAULT_DEADLINE, Duration::from_millis);
        let mut registrar = self
            .hooks
            .named(name)
            .plugin(id)
            .priority(binding.priority)
            .deadline(deadline)
            .source(format!("plugin {id} {}", self.manifest.version));
        if info.model == ModelKind::Modifying {
            registrar = registrar.capabilities(self.rights.keys(info));
        }
        if let Some(tools) = &binding.tools {
            registrar = registrar.tools(tools.clone());
        }
        if binding.fail_closed {
            registrar = registrar.fail_closed();
        }
        let view = self.rights.view(info);
        let bound = Bound { handler, view, calls: self.calls.clone() };
        self.staged.push(registrar.stage_dyn(point, info.model, bound)?);
        Ok(())
    }

    /// Serves a tool that the manifest declares. The handler's event has `tool` and `args`; its answer is a text, or a value that
    /// is shown to the model as JSON.
    ///
    /// # Errors
    /// When the manifest does not declare it.
    pub fn tool<M>(
        &mut self,
        name: &str,
        handler: impl IntoDynHandler<M>,
    ) -> Result<(), ActivateError> {
        self.tool_shared(name, handler.into_dyn_handler())
    }

    pub(crate) fn tool_shared(
        &mut self,
        name: &str,
        handler: Arc<dyn DynHandler>,
    ) -> Result<(), ActivateError> {
        if !self.manifest.tools.iter().any(|it| it.name == name) {
            return Err(ActivateError::Undeclared { what: format!("the tool `{name}`") });
        }
        self.tools.insert(name.to_owned(), handler);
        Ok(())
    }

    /// Serves a slash command that the manifest declares. The handler's event has `command` and `text`; its answer is a text for
    /// the person.
    ///
    /// # Errors
    /// When the manifest does not declare it.
    pub fn command<M>(
        &mut self,
        name: &str,
        handler: impl IntoDynHandler<M>,
    ) -> Result<(), ActivateError> {
        self.command_shared(name, handler.into_dyn_handler())
    }

    pub(crate) fn command_shared(
        &mut self,
        name: &str,
        handler: Arc<dyn DynHandler>,
    ) -> Result<(), ActivateError> {
        if !self.manifest.commands.iter().any(|it| it.name == name) {
            return Err(ActivateError::Undeclared { what: format!("the command `/{name}`") });
        }
        self.commands.insert(name.to_owned(), handler);
        Ok(())
    }

    /// Whether everything that is declared is served.
    pub(crate) fn is_complete(&self) -> Result<(), ActivateError> {
        let points = self.manifest.points.iter().map(|it| &it.point);
        let points = points.filter(|it| !self.bound.contains_key(*it)).map(|it| format!("`{it}`"));
        let tools = self.manifest.tools.iter().map(|it| &it.name);
        let tools = tools.filter(|it| !self.tools.contains_key(*it));
        let commands = self.manifest.commands.iter().map(|it| &it.name);
        let commands = commands.filter(|it| !self.commands.contains_key(*it));
        let unserved = points
            .chain(tools.map(|it| format!("the tool `{it}`")))
            .chain(commands.map(|it| format!("the command `/{it}`")))
            .next();
        match unserved {
            Some(what) => Err(ActivateError::Unserved { what }),
            None => Ok(()),
        }
    }
}

/// A handler as it is in force: it sees its view, and unloading waits for it.
struct Bound {
    handler: Arc<dyn DynHandler>,
    view: View,
    calls: TaskTracker,
}

impl DynHandler for Bound {
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
        let token = self.calls.token();
        let answer = self.handler.call(self.view.of(event));
        Box::pin(async move {
            let _under_way = token;
            answer.await
        })
    }
}
