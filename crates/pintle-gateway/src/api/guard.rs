//! Checks each request: the host it names, the site that sent it, the size of its body, and the token.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Api, ApiError};
use crate::clock::hex;

/// The largest body that is read.
pub(crate) const LARGEST_BODY: usize = 256 * 1024;
/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
const COOKIE: &str = "pintle_session";

/// The secret that callers of the API have to know.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// This secret.
    pub fn new(token: impl Into<Arc<str>>) -> Self {
        Self(token.into())
    }

    /// Compares in constant time.
    pub fn is(&self, given: &str) -> bool {
        let (own, given) = (Sha256::digest(self.0.as_bytes()), Sha256::digest(given.as_bytes()));
        own.ct_eq(&given).into()
    }

    /// The value of the page's cookie. It is derived from the token and does not reveal it.
    fn session(&self) -> Option<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        mac.update(b"pintle page session");
        Some(hex(&mac.finalize().into_bytes()))
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The `Set-Cookie` header after a person typed the token into the form; `None` ends the session.
pub fn cookie_of(token: Option<&Token>) -> Option<HeaderValue> {
    let (value, age) = match token {
        Some(token) => (token.session()?, 30 * 24 * 60 * 60),
        None => (String::new(), 0),
    };
    let cookie = format!("{COOKIE}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict");
    HeaderValue::from_str(&cookie).ok()
}

/// The hosts that a request may name.
pub(super) fn hosts(address: SocketAddr, more: &[String]) -> Vec<String> {
    let port = address.port();
    let mut hosts: Vec<String> = more.iter().map(|host| host.to_ascii_lowercase()).collect();
    hosts.push(address.to_string());
    if address.ip().is_loopback() || address.ip().is_unspecified() {
        hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{port}")));
    }
    hosts
}

/// Checks every request: the host, the site that sent it, and its body.
pub(super) async fn screen(State(api): State<Api>, request: Request, next: Next) -> Response {
    match screened(&api, request).await {
        Ok(request) => hardened(next.run(request).await),
        Err(error) => hardened(error.into_response()),
    }
}

async fn screened(api: &Api, request: Request) -> Result<Request, ApiError> {
    let (parts, body) = request.into_parts();
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| parts.uri.authority().map(|authority| authority.as_str()));
    // A page elsewhere can point its own name at this machine (DNS rebinding).
    if !host.is_some_and(|host| is_ours(api, host)) {
        let error = ApiError::new(
            StatusCode::MISDIRECTED_REQUEST,
            "host",
            "this server does not serve that host",
        );
        return Err(error.hint("name it with `--host`, or in `channels` of agent.json"));
    }
    if parts.method != Method::GET && parts.method != Method::HEAD {
        same_site(api, &parts.headers)?;
    }
    let read = to_bytes(body, LARGEST_BODY);
    let bytes = match tokio::time::timeout(BODY_TIMEOUT, read).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            let message = format!("a body has {LARGEST_BODY} bytes at most");
            return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
        }
        Err(_) => {
            let message = "the body did not arrive in time";
            return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message));
        }
    };
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

fn is_ours(api: &Api, host: &str) -> bool {
    api.hosts.contains(&host.to_ascii_lowercase())
}

/// A browser names the site that a request comes from: no other site may change anything here.
fn same_site(api: &Api, headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let site_is_ours =
        text("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
    let origin_is_ours = text("origin")
        .is_none_or(|origin| origin.split_once("://").is_some_and(|(_, host)| is_ours(api, host)));
    match site_is_ours && origin_is_ours {
        true => Ok(()),
        false => {
            let message = "a page of another site sent this request";
            Err(ApiError::new(StatusCode::FORBIDDEN, "cross_site", message))
        }
    }
}

fn hardened(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // With `no-referrer` a browser says `Origin: null` even for the page's own forms.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Checks the token or the page's cookie. Only a few addresses do without.
pub(super) async fn token(State(api): State<Api>, request: Request, next: Next) -> Response {
    if has_token(&api, request.headers()) {
        return next.run(request).await;
    }
    let wants_page = request.method() == Method::GET
        && request
            .headers()
            .get(header::ACCEPT)
            .is_some_and(|accept| accept.to_str().is_ok_and(|accept| accept.contains("text/html")));
    if wants_page {
        return crate::page::login_redirect(request.uri().path());
    }
    let error =
        ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "the token is missing or wrong");
    let error = error.hint(
        "send `Authorization: Bearer TOKEN`; the token is in the file `token` of the data folder",
    );
    let mut response = error.into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn has_token(api: &Api, headers: &HeaderMap) -> bool {
    let token = &api.config.token;
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if let Some(given) = authorization {
        let scheme = given.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("bearer "));
        return scheme.is_some() && given.get(7..).is_some_and(|given| token.is(given.trim()));
    }
    let Some(session) = token.session() else { return false };
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .any(|(name, value)| {
            name == COOKIE && bool::from(value.as_bytes().ct_eq(session.as_bytes()))
        })
}
