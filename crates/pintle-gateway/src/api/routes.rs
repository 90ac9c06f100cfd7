//! One table from which the router and its description are both made: a call's types are those of its handler.

use axum::{
    Json, Router,
    body::to_bytes,
    extract::{FromRequestParts, Path, Query, Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Api, ApiError, guard::LARGEST_BODY, openapi};

/// A call as its handler gets it. The body is `()` for a `GET`.
pub(crate) struct Call<Q, B = ()> {
    /// The value of `{id}`.
    pub(crate) id: String,
    pub(crate) query: Q,
    pub(crate) body: B,
    pub(crate) headers: HeaderMap,
}

impl<Q, B> Call<Q, B> {
    /// Whether the caller wants a stream of events.
    pub(crate) fn wants_stream(&self) -> bool {
        self.header(header::ACCEPT.as_str()).is_some_and(|it| it.contains(EVENTS))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENTS: &str = "text/event-stream";

/// No query, or no body.
#[derive(serde::Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

/// The answer of a handler.
pub(crate) enum Reply<R> {
    Json(StatusCode, R),
    /// A stream of events, or a text.
    Other(Response),
}

impl<R> From<R> for Reply<R> {
    fn from(value: R) -> Self {
        Self::Json(StatusCode::OK, value)
    }
}

impl<R: Serialize> IntoResponse for Reply<R> {
    fn into_response(self) -> Response {
        match self {
            Self::Json(status, value) => (status, Json(value)).into_response(),
            Self::Other(response) => response,
        }
    }
}

pub(crate) struct Operation {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) query: Value,
    pub(crate) body: Option<Value>,
    pub(crate) reply: Value,
    /// The headers that the call reads, each with its meaning.
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    /// Content types of the answer besides JSON, or instead of it.
    pub(crate) kinds: Vec<&'static str>,
}

/// The calls of the API.
pub(crate) struct Routes {
    router: Router<Api>,
    schemas: SchemaGenerator,
    operations: Vec<Operation>,
}

impl Default for Routes {
    fn default() -> Self {
        let settings = SchemaSettings::draft2020_12()
            .with(|settings| settings.definitions_path = "/components/schemas".into());
        let schemas = settings.into_generator();
        Self { router: Router::new(), schemas, operations: Vec::new() }
    }
}

impl Routes {
    pub(crate) fn get<Q, R, H, F>(
        self,
        path: &'static str,
        summary: &'static str,
        handler: H,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema + Send + 'static,
        H: Fn(Api, Call<Q>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Reply<R>, ApiError>> + Send,
    {
        let served = get(move |State(api): State<Api>, request: Request| async move {
            let call = call(request).await?.0;
            handler(api, call).await
        });
        self.with::<Q, R>("get", path, summary, served, None)
    }

    pub(crate) fn post<Q, B, R, H, F>(
        mut self,
        path: &'static str,
        summary: &'static str,
        handler: H,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        B: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema + Send + 'static,
        H: Fn(Api, Call<Q, B>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Reply<R>, ApiError>> + Send,
    {
        let served = post(move |State(api): State<Api>, request: Request| async move {
            let (Call { id, query, headers, .. }, body) = call(request).await?;
            let body = json_body(&headers, &body)?;
            handler(api, Call { id, query, body, headers }).await
        });
        let body = self.schemas.subschema_for::<B>().to_value();
        self.with::<Q, R>("post", path, summary, served, Some(body))
    }

    fn with<Q: JsonSchema, R: JsonSchema>(
        mut self,
        method: &'static str,
        path: &'static str,
        summary: &'static str,
        served: MethodRouter<Api>,
        body: Option<Value>,
    ) -> Self {
        let query = self.schemas.root_schema_for::<Q>().to_value();
        let reply = self.schemas.subschema_for::<R>().to_value();
        let (headers, kinds) = (Vec::new(), vec![JSON]);
        self.operations.push(Operation {
            method,
            path,
            summary,
            query,
            body,
            reply,
            headers,
            kinds,
        });
        self.router = self.router.route(path, served);
        self
    }

    /// The call above understands this header.
    pub(crate) fn header(mut self, name: &'static str, about: &'static str) -> Self {
        self.operations
            .iter_mut()
            .next_back()
            .into_iter()
            .for_each(|it| it.headers.push((name, about)));
        self
    }

    /// The call above answers with events too, for a caller that accepts them.
    pub(crate) fn or_events(mut self) -> Self {
        self.operations.iter_mut().next_back().into_iter().for_each(|it| it.kinds.push(EVENTS));
        self
    }

    /// The call above answers with this in place of JSON.
    pub(crate) fn only(mut self, kind: &'static str) -> Self {
        self.operations.iter_mut().next_back().into_iter().for_each(|it| it.kinds = vec![kind]);
        self
    }

    pub(crate) fn into_router(self) -> Router<Api> {
        self.router
    }

    pub(crate) fn openapi(&self) -> Value {
        let mut schemas = self.schemas.clone();
        let error = schemas.subschema_for::<super::error::ErrorBody>().to_value();
        openapi::document(&self.operations, schemas.definitions(), &error)
    }
}

/// The parts of a call, and its body.
async fn call<Q: DeserializeOwned>(request: Request) -> Result<(Call<Q>, Vec<u8>), ApiError> {
    let (mut parts, body) = request.into_parts();
    let id = match Path::<String>::from_request_parts(&mut parts, &()).await {
        Ok(Path(id)) => id,
        // The address has no `{id}`.
        Err(_) => String::new(),
    };
    let Query(query) = Query::<Q>::try_from_uri(&parts.uri)
        .map_err(|error| ApiError::bad_request(format!("the query cannot be read: {error}")))?;
    let bytes = to_bytes(body, LARGEST_BODY)
        .await
        .map_err(|error| ApiError::bad_request(format!("the body cannot be read: {error}")))?;
    Ok((Call { id, query, body: (), headers: parts.headers }, bytes.to_vec()))
}

fn json_body<B: DeserializeOwned>(headers: &HeaderMap, body: &[u8]) -> Result<B, ApiError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    let is_json = kind.split(';').next().is_some_and(|kind| kind.trim() == "application/json");
    // A call without arguments may come without a body.
    if body.is_empty() && kind.is_empty() {
        return serde_json::from_str("{}")
            .map_err(|error| ApiError::bad_request(error.to_string()));
    }
    if !is_json {
        let message = "the body must be `application/json`";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", message));
    }
    serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(format!("the body cannot be read: {error}")))
}
