//! The memory tools: notes that an agent keeps across sessions. They are in the agent's store, and the host writes them, so
//! every call is zone `safe`.

mod search;
#[cfg(test)]
mod tests;
mod write;

use futures_util::future::BoxFuture;
use pintle_agent::{Notebook, PermittedCall, Tool, ToolCx, ToolError};
use pintle_policy::{ToolSpec, Zone};
use serde_json::Value;

use crate::args::schema;

type Run = fn(Value, Notebook) -> BoxFuture<'static, Result<String, ToolError>>;

/// One of the memory tools.
pub struct MemoryTool {
    spec: ToolSpec,
    run: Run,
}

impl MemoryTool {
    /// Both of them.
    pub fn all() -> [Self; 2] {
        [write::tool(), search::tool()]
    }

    fn new(name: &str, description: &str, properties: Value, field: &str, run: Run) -> Self {
        // Writing the same note twice changes nothing.
        let spec = ToolSpec::new(name, description, schema(properties, &[field]))
            .in_zone(Zone::Safe)
            .with_paths([])
            .repeatable();
        Self { spec, run }
    }
}

impl Tool for MemoryTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn run(
        &self,
        call: PermittedCall,
        cx: ToolCx,
    ) -> BoxFuture<'static, Result<String, ToolError>> {
        (self.run)(call.args().clone(), cx.notes)
    }
}
