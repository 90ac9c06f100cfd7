//! A plugin that lives outside the program's own code: one handler answers everything, by the name of the request.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pintle::{DynEvent, DynHandler};
use pintle_agent::SandboxUse;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    api::{ActivateError, Plugin, PluginApi},
    manifest::{API_VERSION, Manifest},
    rights::{cut, request},
};

/// The event of an activation.
pub const ACTIVATE: &str = "plugin.activate";
/// The event of a tool call.
pub(crate) const TOOL: &str = "plugin.tool";
/// The event of a slash command.
pub(crate) const COMMAND: &str = "plugin.command";

/// What runs a guest: a process, or an instance of a component.
pub trait Guest: DynHandler {
    /// How its process is held, and the hosts that it asked for and no record has.
    fn seen(&self) -> Option<SandboxUse> {
        None
    }

    /// Ends it.
    fn end(&self) -> BoxFuture<'_, ()>;
}

/// A plugin behind a [`Guest`].
///
/// It is activated by the request `plugin.activate` with `id`, `apiVersion` and `capabilities` (those it was granted), which it
/// answers with null or with what it serves: `{"points": […], "tools": […], "commands": […]}`. That has to be what its manifest
/// declares. Then each fire of its points, `plugin.tool` (`tool`, `args`) and `plugin.command` (`command`, `text`) are requests.
pub struct GuestPlugin {
    manifest: Manifest,
    guest: Arc<dyn Guest>,
    /// Without one it is not asked: for a program that only looks.
    asks: bool,
}

impl GuestPlugin {
    /// A plugin that this guest serves.
    pub fn new(manifest: Manifest, guest: impl Guest) -> Self {
        Self { manifest, guest: Arc::new(guest), asks: true }
    }

    /// A plugin as its manifest declares it, of which nothing runs: for a program that only looks at hooks.
    #[must_use]
    pub fn only_declared(manifest: Manifest) -> Self {
        Self { manifest, guest: Arc::new(Declared), asks: false }
    }
}

/// What a guest says that it serves.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Served {
    #[serde(default)]
    points: Vec<String>,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    commands: Vec<String>,
}

impl Plugin for GuestPlugin {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn activate<'a>(&'a self, api: &'a mut PluginApi) -> BoxFuture<'a, Result<(), ActivateError>> {
        Box::pin(async move {
            let Manifest { id, points, tools, commands, .. } = &self.manifest;
            let granted: Vec<String> = api.rights().iter().map(ToString::to_string).collect();
            let context = json!({ "id": id, "apiVersion": API_VERSION, "capabilities": granted });
            let answer = match self.asks {
                true => self.guest.call(request(ACTIVATE, context)).await?,
                false => Value::Null,
            };
            let served = match answer {
                Value::Null => Served {
                    points: points.iter().map(|it| it.point.clone()).collect(),
                    tools: tools.iter().map(|it| it.name.clone()).collect(),
                    commands: commands.iter().map(|it| it.name.clone()).collect(),
                },
                said => serde_json::from_value(said.clone()).map_err(|error| {
                    let said = said.to_string();
                    let said = cut(&said, 200);
                    ActivateError::Failed(format!(
                        "it answered `plugin.activate` with {said}, which is neither null nor what it serves: {error}"
                    ))
                })?,
            };
            let handler = || Arc::new(Shared(self.guest.clone()));
            served.points.iter().try_for_each(|it| api.on_shared(it, handler()))?;
            served.tools.iter().try_for_each(|it| api.tool_shared(it, handler()))?;
            served.commands.iter().try_for_each(|it| api.command_shared(it, handler()))
        })
    }

    fn seen(&self) -> Option<SandboxUse> {
        self.guest.seen()
    }

    fn deactivate(&self) -> BoxFuture<'_, ()> {
        self.guest.end()
    }
}

/// The guest, as the handler of one thing.
struct Shared(Arc<dyn Guest>);

impl DynHandler for Shared {
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, pintle::Failure>> {
        self.0.call(event)
    }
}

/// Stands for a guest that is only declared.
struct Declared;

impl DynHandler for Declared {
    fn call(&self, _: DynEvent) -> BoxFuture<'static, Result<Value, pintle::Failure>> {
        Box::pin(std::future::ready(Ok(Value::Null)))
    }
}

impl Guest for Declared {
    fn end(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
