//! A tool that a plugin brings.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use pintle::DynHandler;
use pintle_agent::{PermittedCall, SandboxUse, Tool, ToolCx, ToolError};
use pintle_policy::{ToolSpec, Zone};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::{
    api::Plugin,
    guest::TOOL,
    host::{Loaded, text_of},
    manifest::ToolDeclaration,
    rights::{cut, request},
};

/// How long a call may take.
const DEADLINE: Duration = Duration::from_secs(120);
/// How much of an answer the model gets.
const MOST: usize = 64 * 1024;

/// A tool of a plugin, in the same pipeline as every other tool.
pub(crate) struct PluginTool {
    spec: ToolSpec,
    plugin: Arc<dyn Plugin>,
    name: String,
    handler: Arc<dyn DynHandler>,
    calls: TaskTracker,
    zone: Zone,
    /// What it asks for and was not granted.
    withheld: Vec<String>,
}

impl PluginTool {
    pub(crate) fn new(of: &Loaded, tool: &ToolDeclaration, handler: Arc<dyn DynHandler>) -> Self {
        let id = &of.info.manifest.id;
        // What a plugin does with a call is held by its own confinement and grants. Any text in it may be a path.
        let spec = ToolSpec::new(
            format!("{id}__{}", tool.name),
            tool.description.clone(),
            tool.input_schema.clone(),
        )
        .in_zone(Zone::External)
        .of_plugin(id);
        Self {
            spec,
            plugin: of.plugin.clone(),
            name: tool.name.clone(),
            handler,
            calls: of.calls.clone(),
            zone: of.info.rights.zone(),
            withheld: of.info.withheld().map(|it| format!("`{it}`")).collect(),
        }
    }
}

/// Why a call failed that a grant could have helped, in brackets.
fn lacked(seen: Option<&SandboxUse>, withheld: &[String]) -> String {
    let refused = seen.iter().flat_map(|it| &it.hosts).filter(|host| !host.allowed);
    let mut lacked: Vec<String> = refused.map(ToString::to_string).collect();
    if !withheld.is_empty() {
        lacked.push(format!("it was not granted {}", withheld.join(", ")));
    }
    match lacked.is_empty() {
        true => String::new(),
        false => format!(" ({})", lacked.join("; ")),
    }
}

impl Tool for PluginTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn run(
        &self,
        call: PermittedCall,
        cx: ToolCx,
    ) -> BoxFuture<'static, Result<String, ToolError>> {
        let token = self.calls.token();
        let (plugin, name) = (self.plugin.clone(), self.name.clone());
        let (zone, withheld) = (self.zone.name(), self.withheld.clone());
        let asked = self.handler.call(request(TOOL, json!({ "tool": name, "args": call.args() })));
        Box::pin(async move {
            let _under_way = token;
            let answer = tokio::select! {
                biased;
                () = cx.cancel.cancelled() => {
                    return Err(ToolError::Cancelled(format!(
                        "the call of `{name}` was stopped because the run was cancelled"
                    )));
                }
                answer = timeout(DEADLINE, asked) => answer,
            };
            // R17.7
            let seen = plugin.seen().map(|seen| SandboxUse { zone, ..seen });
            if let Some(seen) = &seen {
                cx.sandbox.record(seen.clone());
            }
            let plugin = &plugin.manifest().id;
            match answer {
                Ok(Ok(answer)) => Ok(cut(&text_of(answer), MOST).into_owned()),
                Ok(Err(failure)) => {
                    let lacked = lacked(seen.as_ref(), &withheld);
                    Err(ToolError::Failed(format!("the plugin `{plugin}` {failure}{lacked}")))
                }
                Err(_) => Err(ToolError::TimedOut(format!(
                    "the plugin `{plugin}` did not answer `{name}` within {DEADLINE:?}"
                ))),
            }
        })
    }
}
