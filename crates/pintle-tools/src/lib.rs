//! The toolbox: what every agent can do, and what MCP servers add to it.
//!
//! | tool | zone | does |
//! |---|---|---|
//! | `terminal` | build | runs a shell command, which ends with everything it started |
//! | `read_file` | safe | reads lines of a text file |
//! | `write_file` | workspace | writes a whole file, atomically |
//! | `edit_file` | workspace | replaces one exact piece of text, atomically |
//! | `list_dir` | safe | lists a folder |
//! | `ticket_create`, `ticket_take`, `ticket_complete`, `ticket_list` | safe | the ticket board |
//! | `memory_write`, `memory_search` | safe | notes that outlive the conversation |
//! | `mcp__SERVER__TOOL` | external | whatever an [`McpServer`] offers |
//!
//! A tool does not judge: by the time it runs, guards, zones and gates have had their say about the same
//! arguments, and a path is opened where it led when it was judged. It keeps its own promises besides: output and memory are bounded, a time limit is kept, and
//! dropping its future stops it and everything it started. Processes are started by [`pintle_sandbox::Process`].

mod args;
mod capture;
mod files;
mod mcp;
mod memory;
mod nofollow;
mod terminal;
#[cfg(test)]
mod testing;
mod tickets;

use std::sync::Arc;

use pintle_agent::Tool;

pub use files::FileTool;
pub use mcp::{McpError, McpLimits, McpServer, McpTransport};
pub use memory::MemoryTool;
pub use terminal::{Background, Processes, Terminal, TerminalConfig, run_check};
pub use tickets::TicketTool;

/// The tools that every agent has. Commands that go on are kept in `background`.
pub fn builtin(terminal: TerminalConfig, background: &Background) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Terminal::new(terminal, background.clone())),
        Arc::new(Processes::new(background.clone())),
        Arc::new(FileTool::read()),
        Arc::new(FileTool::write()),
        Arc::new(FileTool::edit()),
        Arc::new(FileTool::list()),
    ];
    tools.extend(MemoryTool::all().map(|tool| Arc::new(tool) as Arc<dyn Tool>));
    tools.extend(TicketTool::all().map(|tool| Arc::new(tool) as Arc<dyn Tool>));
    tools
}

#[cfg(test)]
mod tests {
    use pintle_policy::Zone;

    use super::*;

    // R11.3
    #[test]
    fn every_agent_has_its_tools_in_their_zones() {
        let tools = builtin(TerminalConfig::default(), &Background::default());
        let zones: Vec<_> = tools.iter().map(|tool| (tool.spec().name, tool.spec().zone)).collect();
        assert_eq!(
            zones.iter().map(|(name, zone)| (name.as_str(), *zone)).collect::<Vec<_>>(),
            [
                ("terminal", Zone::Build),
                ("processes", Zone::Safe),
                ("read_file", Zone::Safe),
                ("write_file", Zone::Workspace),
                ("edit_file", Zone::Workspace),
                ("list_dir", Zone::Safe),
                ("memory_write", Zone::Safe),
                ("memory_search", Zone::Safe),
                ("ticket_create", Zone::Safe),
                ("ticket_take", Zone::Safe),
                ("ticket_complete", Zone::Safe),
                ("ticket_list", Zone::Safe),
            ]
        );
    }

    #[test]
    fn every_schema_is_a_closed_object_that_knows_its_required_fields() {
        for tool in builtin(TerminalConfig::default(), &Background::default()) {
            let schema = &tool.spec().input_schema;
            assert_eq!(schema["type"], "object");
            assert_eq!(schema["additionalProperties"], false);
            for field in schema["required"].as_array().unwrap() {
                assert!(schema["properties"][field.as_str().unwrap()].is_object(), "{field}");
            }
        }
    }
}
