//! One tool of an MCP server.

use std::{collections::HashSet, path::Path, sync::Arc};

use futures_util::future::BoxFuture;
use pintle_agent::{PermittedCall, SandboxLog, SandboxUse, Tool, ToolCx, ToolError, ToolSpec};
use pintle_policy::Zone;
use pintle_sandbox::{Confinement, HostUse, Report, Sweep};
use rmcp::ServiceError;
use serde_json::Value;
use tokio::time::timeout;

use super::{McpTransport, Shared, content, error_text, naming::tool_name};
use crate::{
    args::failed,
    capture::{KEPT_HALF, cut},
};

/// How much of each end of a description is kept; the model pays for it on every request.
const DESCRIPTION_HALF: usize = 2 * 1024;

/// A tool that a server offers.
pub(super) struct McpTool {
    spec: ToolSpec,
    /// What the server calls it.
    theirs: Arc<str>,
    shared: Arc<Shared>,
}

impl McpTool {
    pub(super) fn new(
        shared: Arc<Shared>,
        tool: rmcp::model::Tool,
        taken: &mut HashSet<String>,
    ) -> Self {
        let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        // What a server says of its tools is not believed: they act elsewhere, and any text may be a path.
        let spec = ToolSpec::new(
            tool_name(&shared.name, &tool.name, taken),
            cut(description, DESCRIPTION_HALF),
            Value::Object((*tool.input_schema).clone()),
        );
        Self { spec, theirs: tool.name.into(), shared }
    }
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn run(
        &self,
        call: PermittedCall,
        cx: ToolCx,
    ) -> BoxFuture<'static, Result<String, ToolError>> {
        let (shared, theirs) = (self.shared.clone(), self.theirs.clone());
        Box::pin(async move {
            let held = HeldCall::begin(&shared.transport, call.zone());
            let log = cx.sandbox.clone();
            let result = execute(&shared, &theirs, call.args(), cx).await;
            match held {
                Some(held) => held.end(result, shared.hosts.take(), &log),
                None => result,
            }
        })
    }
}

/// A call of a server that is a process of ours.
struct HeldCall<'a> {
    confinement: &'a Confinement,
    folder: &'a Path,
    zone: Zone,
    sweep: Option<Sweep>,
}

impl<'a> HeldCall<'a> {
    fn begin(transport: &'a McpTransport, zone: Zone) -> Option<Self> {
        let McpTransport::Stdio { confinement, cwd, .. } = transport else { return None };
        let sweep = confinement.sweep_of_a_call();
        Some(Self { confinement, folder: cwd, zone, sweep })
    }

    /// Records what the sandbox saw (R17.7), and names what it refused a call that failed, with the field that would allow it (R8.8).
    fn end(
        self,
        result: Result<String, ToolError>,
        hosts: Vec<HostUse>,
        log: &SandboxLog,
    ) -> Result<String, ToolError> {
        let Self { confinement, folder, zone, sweep } = self;
        let report = Report { hosts, ..Report::default() };
        let result = result.map_err(|error| match error {
            ToolError::Failed(said) => {
                let refused = confinement.refused_in_words(folder, &said, &report);
                failed(refused.map_or(said.clone(), |refused| {
                    format!(
                        "{said} (the server's sandbox {refused}; a wider `zone` of the server allows more)"
                    )
                }))
            }
            other => other,
        });
        log.record(SandboxUse {
            zone: zone.name(),
            tier: confinement.tier().name(),
            hosts: report.hosts,
            changed: sweep.map(Sweep::after).unwrap_or_default(),
            ..SandboxUse::default()
        });
        result
    }
}

pub(super) async fn execute(
    shared: &Shared,
    tool: &str,
    args: &Value,
    cx: ToolCx,
) -> Result<String, ToolError> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => {
            Err(ToolError::Cancelled(format!("the call of `{tool}` was stopped because the run was cancelled")))
        }
        result = call(shared, tool, args) => result,
    }
}

async fn call(shared: &Shared, tool: &str, args: &Value) -> Result<String, ToolError> {
    let arguments = match args {
        Value::Object(fields) => fields.clone(),
        Value::Null => serde_json::Map::new(),
        _ => return Err(failed(format!("{tool}: the arguments must be a JSON object"))),
    };
    let connection = shared.connection().await.map_err(|error| failed(error.to_string()))?;
    let limit = shared.limits.call;
    let answered = timeout(limit, connection.call(tool, arguments)).await;
    connection.take_hosts().into_iter().for_each(|host| shared.hosts.add(host));
    let answer = match answered {
        Ok(answer) => answer,
        Err(_) => {
            return Err(ToolError::TimedOut(format!(
                "the MCP server `{}` did not answer `{tool}` within its time limit of {} ms",
                shared.name,
                limit.as_millis()
            )));
        }
    };
    let error = match answer {
        Ok(result) if result.is_error == Some(true) => return Err(failed(content::text(&result))),
        Ok(result) => return Ok(content::text(&result)),
        Err(error) => error,
    };
    let lost = connection.is_lost(&error);
    if lost {
        shared.lost(&connection).await;
    }
    let next = if lost { " (the next call connects anew)" } else { "" };
    let server = &shared.name;
    Err(failed(match error {
        ServiceError::McpError(error) => {
            let reason = cut(&error.message, KEPT_HALF);
            format!("the MCP server `{server}` refused `{tool}`: {reason}{next}")
        }
        ServiceError::TransportClosed
        | ServiceError::TransportSend(_)
        | ServiceError::Cancelled { .. } => {
            let reason = connection.explain(&error_text::of_call(&error)).await;
            format!("the MCP server `{server}` went away during `{tool}`{next}: {reason}")
        }
        error => format!("the MCP server `{server}` failed `{tool}`: {error}"),
    }))
}
