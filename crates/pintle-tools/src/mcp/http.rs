//! Reaching an MCP server over streamable HTTP.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::stream::BoxStream;
use pintle_http::reqwest::{
    self, Url,
    header::{HeaderName, HeaderValue},
    redirect,
};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        StreamableHttpClientTransport,
        common::client_side_sse::ExponentialBackoff,
        streamable_http_client::{
            StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
            StreamableHttpPostResponse,
        },
    },
};
use sse_stream::{Error as SseError, Sse};

use super::McpError;

/// The largest event where the transport does not name a limit; it always does.
const MOST_OF_AN_EVENT: usize = 16 * 1024 * 1024;

/// The transport to a server at `url`, or what is wrong with the address.
pub(super) fn transport(
    server: &str,
    url: &str,
    headers: &[(String, String)],
    limit: Duration,
) -> Result<(Url, StreamableHttpClientTransport<Client>), McpError> {
    let bad = |reason: String| McpError::Address { server: server.into(), reason };
    let url = Url::parse(url).map_err(|error| bad(format!("`{url}` is not a URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!(
            "its URL must start with http:// or https://, not {}:",
            url.scheme()
        )));
    }
    let mut sent = HashMap::new();
    for (name, value) in headers {
        let valid_name = HeaderName::try_from(name.as_str());
        let valid_name =
            valid_name.map_err(|_| bad(format!("`{name}` is not the name of a header")))?;
        let mut valid = HeaderValue::try_from(value.as_str()).map_err(|_| {
            bad(format!("the value of the header `{name}` has characters that no header may have"))
        })?;
        valid.set_sensitive(true);
        sent.insert(valid_name, valid);
    }
    // No redirects: they would carry the headers to somebody else. No idle connections, as rmcp advises.
    let mut client = pintle_http::client()
        .redirect(redirect::Policy::none())
        .connect_timeout(limit)
        .pool_max_idle_per_host(0);
    if is_loopback(&url) {
        client = client.no_proxy();
    }
    let client = client.build().map_err(|error| bad(error.to_string()))?;
    let mut config =
        StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(sent);
    // A server that is gone is reported soon; the next call tries again anyway.
    let mut retry = ExponentialBackoff::default();
    retry.max_times = Some(2);
    retry.base_duration = Duration::from_millis(200);
    config.retry_config = Arc::new(retry);
    Ok((url, StreamableHttpClientTransport::with_client(Client(client), config)))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// reqwest, minus one trap: a server that refuses a request without reading it cannot say which one it means,
/// and rmcp would let the caller wait for an answer until the time limit. Whatever error comes back on a request
/// is about that request.
#[derive(Clone)]
pub(super) struct Client(reqwest::Client);

type Headers = HashMap<HeaderName, HeaderValue>;
type HttpResult<T> = Result<T, StreamableHttpError<reqwest::Error>>;

impl StreamableHttpClient for Client {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
    ) -> HttpResult<StreamableHttpPostResponse> {
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session,
            auth,
            headers,
            MOST_OF_AN_EVENT,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
        most: usize,
    ) -> HttpResult<StreamableHttpPostResponse> {
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let answer = self
            .0
            .post_message_with_max_sse_event_size(uri, message, session, auth, headers, most)
            .await?;
        Ok(match (answer, request) {
            (
                StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), session),
                Some(request),
            ) => {
                let error = ServerJsonRpcMessage::error(error.error, Some(request));
                StreamableHttpPostResponse::Json(error, session)
            }
            (answer, _) => answer,
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> HttpResult<()> {
        self.0.delete_session(uri, session, auth, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
        self.get_stream_with_max_sse_event_size(
            uri,
            session,
            last_event,
            auth,
            headers,
            MOST_OF_AN_EVENT,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
        most: usize,
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
        self.0
            .get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, most)
            .await
    }
}
