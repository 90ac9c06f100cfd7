//! A conversation with an MCP server.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use pintle_http::reqwest::Url;
use pintle_sandbox::HostUse;
use rmcp::{
    RoleClient, ServiceError, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation,
        JsonObject, PaginatedRequestParams, Tool,
    },
    service::{ClientInitializeError, RunningService},
};
use tokio::time::timeout;

use super::{
    McpError, McpTransport, error_text, http,
    process::{ServerProcess, Stderr},
};

/// The most tools of one server.
const MOST_TOOLS: usize = 1000;
/// How long a connection may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(2);

/// A server that has shaken hands.
pub(super) struct Connection {
    server: String,
    service: RunningService<RoleClient, ClientConfig>,
    far_end: FarEnd,
}

enum FarEnd {
    Process { stderr: Stderr, process: Mutex<Option<ServerProcess>> },
    Http { url: Url },
}

impl Connection {
    /// Starts or reaches the server and shakes hands with it.
    pub(super) async fn open(
        server: &str,
        transport: &McpTransport,
        limit: Duration,
    ) -> Result<Self, McpError> {
        match transport {
            McpTransport::Stdio { command, args, env, cwd, confinement } => {
                let started = ServerProcess::start(command, args, env, cwd, confinement);
                let (process, stdout, stdin) = started.map_err(|source| McpError::Start {
                    server: server.into(),
                    command: command.clone(),
                    source,
                })?;
                let far_end = FarEnd::Process {
                    stderr: process.stderr(),
                    process: Mutex::new(Some(process)),
                };
                Self::shake_hands(server, ourselves().serve((stdout, stdin)), far_end, limit).await
            }
            McpTransport::Http { url, headers } => {
                let (url, transport) = http::transport(server, url, headers, limit)?;
                Self::shake_hands(server, ourselves().serve(transport), FarEnd::Http { url }, limit)
                    .await
            }
        }
    }

    async fn shake_hands(
        server: &str,
        handshake: impl Future<
            Output = Result<RunningService<RoleClient, ClientConfig>, ClientInitializeError>,
        >,
        far_end: FarEnd,
        limit: Duration,
    ) -> Result<Self, McpError> {
        match timeout(limit, handshake).await {
            Ok(Ok(service)) => Ok(Self { server: server.into(), service, far_end }),
            Ok(Err(error)) => Err(McpError::Handshake {
                server: server.into(),
                reason: far_end.explain(&error_text::of_handshake(&error)).await,
            }),
            Err(_) => Err(McpError::Timeout {
                server: server.into(),
                limit,
                said: far_end.explain("").await,
            }),
        }
    }

    /// Asks for all tools.
    pub(super) async fn list_tools(&self, limit: Duration) -> Result<Vec<Tool>, McpError> {
        let server = || self.server.clone();
        let pages = async {
            let mut tools = Vec::new();
            let mut cursor = None;
            loop {
                let page = PaginatedRequestParams::default().with_cursor(cursor);
                let page = match self.service.list_tools(Some(page)).await {
                    Ok(page) => page,
                    Err(error) => {
                        let text = error_text::of_call(&error);
                        let reason =
                            self.explain(&format!("it did not list its tools: {text}")).await;
                        return Err(McpError::Handshake { server: server(), reason });
                    }
                };
                tools.extend(page.tools);
                // A server that sends empty pages for ever runs into the time limit.
                if tools.len() > MOST_TOOLS {
                    return Err(McpError::TooManyTools { server: server(), limit: MOST_TOOLS });
                }
                cursor = page.next_cursor;
                if cursor.is_none() {
                    return Ok(tools);
                }
            }
        };
        match timeout(limit, pages).await {
            Ok(listed) => listed,
            Err(_) => {
                Err(McpError::Timeout { server: server(), limit, said: self.explain("").await })
            }
        }
    }

    /// Calls a tool. Dropping the future cancels the request at the server.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, ServiceError> {
        self.service
            .call_tool(CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments))
            .await
    }

    /// Whether it can still be spoken to, as far as we know.
    pub(super) fn is_up(&self) -> bool {
        let running = match &self.far_end {
            FarEnd::Process { process, .. } => {
                let mut process = process.lock().unwrap_or_else(PoisonError::into_inner);
                process.as_mut().is_some_and(|process| !process.has_exited())
            }
            FarEnd::Http { .. } => true,
        };
        running && !self.service.is_transport_closed()
    }

    /// The hosts that its process asked for since they were last taken.
    pub(super) fn take_hosts(&self) -> Vec<HostUse> {
        match &self.far_end {
            FarEnd::Process { process, .. } => {
                let process = process.lock().unwrap_or_else(PoisonError::into_inner);
                process.as_ref().map(ServerProcess::take_hosts).unwrap_or_default()
            }
            FarEnd::Http { .. } => Vec::new(),
        }
    }

    /// Whether this error means that the connection is of no use any more.
    pub(super) fn is_lost(&self, error: &ServiceError) -> bool {
        match (error, &self.far_end) {
            // A web server that was restarted has forgotten us, and may say so with an error code of its own
            // instead of a 404. The standard codes (-32603 to -32600, -32700) are about the call.
            (ServiceError::McpError(error), FarEnd::Http { .. }) => {
                !matches!(error.code.0, -32603..=-32600 | -32700)
            }
            (
                ServiceError::McpError(_)
                | ServiceError::UnexpectedResponse
                | ServiceError::InputRequiredRoundsExceeded { .. },
                _,
            ) => false,
            _ => true,
        }
    }

    #[cfg(test)]
    pub(super) fn pid(&self) -> i32 {
        match &self.far_end {
            FarEnd::Process { process, .. } => process.lock().unwrap().as_ref().unwrap().pid(),
            FarEnd::Http { .. } => panic!("it has no process of ours"),
        }
    }

    /// The words for an error, with what else is known about it.
    pub(super) async fn explain(&self, error: &str) -> String {
        self.far_end.explain(error).await
    }

    /// Says goodbye and stops the process.
    pub(super) async fn close(this: Arc<Self>) {
        this.service.cancellation_token().cancel();
        let process = match &this.far_end {
            FarEnd::Process { process, .. } => {
                process.lock().unwrap_or_else(PoisonError::into_inner).take()
            }
            FarEnd::Http { .. } => None,
        };
        // A call that is under way still holds the connection and will see it end.
        if let Some(connection) = Arc::into_inner(this) {
            let _ = timeout(GOODBYE, connection.service.waiting()).await;
        }
        if let Some(process) = process {
            process.stop().await;
        }
    }
}

impl FarEnd {
    async fn explain(&self, error: &str) -> String {
        match self {
            Self::Process { stderr, .. } => format!("{error}{}", stderr.last_words().await),
            // The path or the query may hold a token, which is not for the model.
            Self::Http { url } => error.replace(url.as_str(), &url.origin().ascii_serialization()),
        }
    }
}

fn ourselves() -> ClientConfig {
    ClientConfig::new(
        ClientCapabilities::default(),
        Implementation::new("pintle", env!("CARGO_PKG_VERSION")),
    )
}
