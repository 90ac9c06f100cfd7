//! Tools of MCP servers.
//!
//! A server is a process we start and speak to over its standard input and output, or an address we speak to over
//! HTTP. Its tools become tools like any other: same pipeline, named `mcp__SERVER__TOOL`, in the external zone.
//!
//! The tools are listed once, when the server is connected: what the model is offered does not change under way. A
//! server that goes away fails the call that was under way, with what it last said, and is started or reached
//! again by the next call. A call is never repeated by itself, because it may have had an effect.

mod connection;
mod content;
mod error_text;
mod http;
mod naming;
mod process;
#[cfg(test)]
mod tests;
mod tool;

use std::{collections::HashSet, io, path::PathBuf, sync::Arc, time::Duration};

use pintle_agent::Tool;
use pintle_sandbox::{Confinement, HostLog};
use tokio::sync::Mutex;

use connection::Connection;
use tool::McpTool;

/// How to reach an MCP server.
#[derive(Clone)]
pub enum McpTransport {
    /// A process that speaks over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its whole environment; nothing else is inherited.
        env: Vec<(String, String)>,
        /// The folder it runs in, as an absolute path.
        cwd: PathBuf,
        /// How its process is held.
        confinement: Confinement,
    },
    /// A server that speaks streamable HTTP.
    Http {
        /// Its address (`http` or `https`).
        url: String,
        /// Headers to send with every request, such as `Authorization`.
        headers: Vec<(String, String)>,
    },
}

/// How long an MCP server may take.
#[derive(Debug, Clone, Copy)]
pub struct McpLimits {
    /// To start and shake hands, and again to list its tools.
    pub connect: Duration,
    /// To answer a call.
    pub call: Duration,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(30), call: Duration::from_secs(120) }
    }
}

/// Why an MCP server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The name would leave nothing to call its tools by.
    #[error("the MCP server name `{0}` needs at least one letter or digit (a-z, A-Z, 0-9)")]
    Name(String),
    /// The program did not start.
    #[error("the MCP server `{server}` did not start: `{command}`: {source}")]
    Start {
        /// The server's name.
        server: String,
        /// The program.
        command: String,
        /// Why not.
        source: io::Error,
    },
    /// The address or a header is not one.
    #[error("the MCP server `{server}` cannot be addressed: {reason}")]
    Address {
        /// The server's name.
        server: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It started or answered, but not as an MCP server does.
    #[error("the MCP server `{server}` did not get ready: {reason}")]
    Handshake {
        /// The server's name.
        server: String,
        /// What happened, with the last words of its standard error.
        reason: String,
    },
    /// It was not ready in time.
    #[error("the MCP server `{server}` was not ready within {} ms{said}", limit.as_millis())]
    Timeout {
        /// The server's name.
        server: String,
        /// The limit.
        limit: Duration,
        /// The last words of its standard error.
        said: String,
    },
    /// It offers more tools than any model can choose from.
    #[error("the MCP server `{server}` offers more than {limit} tools")]
    TooManyTools {
        /// The server's name.
        server: String,
        /// The limit.
        limit: usize,
    },
    /// [`McpServer::shutdown`] was called.
    #[error("the MCP server `{0}` was shut down")]
    ShutDown(String),
}

/// A connected MCP server.
///
/// Dropping it and all of its tools stops its process; [`McpServer::shutdown`] does so in good order.
pub struct McpServer {
    shared: Arc<Shared>,
    tools: Vec<Arc<dyn Tool>>,
}

impl McpServer {
    /// Starts or reaches the server and asks for its tools.
    ///
    /// Fails when it cannot be started or reached, does not speak MCP, takes longer than `limits.connect`, or
    /// has a name that no tool can be called by.
    pub async fn connect(
        name: impl Into<String>,
        transport: McpTransport,
        limits: McpLimits,
    ) -> Result<Self, McpError> {
        let name = name.into();
        if !name.chars().any(|character| character.is_ascii_alphanumeric()) {
            return Err(McpError::Name(name));
        }
        let connection = Connection::open(&name, &transport, limits.connect).await?;
        let listed = connection.list_tools(limits.connect).await?;
        let state = Mutex::new(State::Up(Arc::new(connection)));
        let shared = Arc::new(Shared { name, transport, limits, state, hosts: HostLog::default() });
        let mut taken = HashSet::new();
        let tools = listed
            .into_iter()
            .map(|tool| Arc::new(McpTool::new(shared.clone(), tool, &mut taken)) as Arc<dyn Tool>)
            .collect();
        Ok(Self { shared, tools })
    }

    /// The name it was given.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Its tools.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }

    /// Ends the connection, and its process with everything it started. Calls fail from here on.
    pub async fn shutdown(&self) {
        let before = std::mem::replace(&mut *self.shared.state.lock().await, State::ShutDown);
        if let State::Up(connection) = before {
            Connection::close(connection).await;
        }
    }
}

/// What a server and its tools share.
struct Shared {
    name: String,
    transport: McpTransport,
    limits: McpLimits,
    state: Mutex<State>,
    /// The hosts that its process asked for and no record has yet.
    hosts: HostLog,
}

enum State {
    Up(Arc<Connection>),
    /// It went away; the next call brings it back.
    Down,
    ShutDown,
}

impl Shared {
    /// The connection, brought back if it was lost. Calls that come meanwhile wait for the same one.
    async fn connection(&self) -> Result<Arc<Connection>, McpError> {
        let mut state = self.state.lock().await;
        match &*state {
            State::ShutDown => return Err(McpError::ShutDown(self.name.clone())),
            State::Up(connection) if connection.is_up() => return Ok(connection.clone()),
            State::Up(_) | State::Down => {}
        }
        let connection =
            Arc::new(Connection::open(&self.name, &self.transport, self.limits.connect).await?);
        *state = State::Up(connection.clone());
        Ok(connection)
    }

    /// Forgets a connection that failed, unless it was already replaced.
    async fn lost(&self, connection: &Arc<Connection>) {
        let mut state = self.state.lock().await;
        if matches!(&*state, State::Up(current) if Arc::ptr_eq(current, connection)) {
            *state = State::Down;
        }
    }
}
