//! The web page. Its session is here: the token is typed once into a form and never stands in an address.

use axum::{
    Form, Router,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use serde::Deserialize;

use crate::api::{Api, cookie_of};

const POLICY: &str =
    "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What is served to those who have the token.
pub(crate) fn routes() -> Router<Api> {
    Router::new().route("/logout", post(logout))
}

/// What is served to everybody.
pub(crate) fn open_routes() -> Router<Api> {
    Router::new().route("/login", get(async || login_form(StatusCode::OK, "")).post(login))
}

pub(crate) fn login_redirect() -> Response {
    to("/login")
}

fn to(address: &'static str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, HeaderValue::from_static(address))]).into_response()
}

#[derive(Deserialize)]
struct Typed {
    token: String,
}

async fn login(State(api): State<Api>, Form(typed): Form<Typed>) -> Response {
    let token = &api.config.token;
    match cookie_of(Some(token)).filter(|_| token.is(typed.token.trim())) {
        Some(cookie) => with_cookie(to("/"), cookie),
        None => login_form(StatusCode::UNAUTHORIZED, "This is not the token."),
    }
}

async fn logout() -> Response {
    match cookie_of(None) {
        Some(cookie) => with_cookie(to("/login"), cookie),
        None => to("/login"),
    }
}

fn with_cookie(mut response: Response, cookie: HeaderValue) -> Response {
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response
}

fn login_form(status: StatusCode, problem: &'static str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>pintle</title><h1>pintle</h1><p role=\"alert\">{problem}</p><form method=\"post\" action=\"/login\">\
         <p><label>Token <input name=\"token\" type=\"password\" autocomplete=\"current-password\" required></label></p>\
         <p>It is in the file <code>token</code> of the data folder.</p><p><button>Open</button></p></form></html>"
    );
    let policy = [(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY))];
    (status, policy, Html(page)).into_response()
}
