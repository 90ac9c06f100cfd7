//! A tool that a plugin brings.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use pintle::DynHandler;
use pintle_agent::{PermittedCall, Tool, ToolCx, ToolError};
use pintle_policy::{ToolSpec, Zone};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::{
    guest::TOOL,
    host::text_of,
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
    plugin: String,
    name: String,
    handler: Arc<dyn DynHandler>,
    calls: TaskTracker,
}

impl PluginTool {
    pub(crate) fn new(
        plugin: &str,
        tool: &ToolDeclaration,
        handler: Arc<dyn DynHandler>,
        calls: TaskTracker,
    ) -> Self {
        // What a plugin does with a call is held by its own confinement and grants. Any text in it may be a path.
        let spec = ToolSpec::new(
            format!("{plugin}__{}", tool.name),
            tool.description.clone(),
            tool.input_schema.clone(),
        )
        .in_zone(Zone::External)
        .of_plugin(plugin);
        Self { spec, plugin: plugin.to_owned(), name: tool.name.clone(), handler, calls }
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
            match answer {
                Ok(Ok(answer)) => Ok(cut(&text_of(answer), MOST).into_owned()),
                Ok(Err(failure)) => {
                    Err(ToolError::Failed(format!("the plugin `{plugin}` {failure}")))
                }
                Err(_) => Err(ToolError::TimedOut(format!(
                    "the plugin `{plugin}` did not answer `{name}` within {DEADLINE:?}"
                ))),
            }
        })
    }
}
