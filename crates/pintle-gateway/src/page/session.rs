//! The session of the page. A person types the token into a form once; it is never in an address.

use askama::Template;
use axum::{
    Form,
    extract::{Query, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Deserialize;

use super::{html, to};
use crate::api::{Api, cookie_of};

#[derive(Template)]
#[template(path = "login.html")]
struct Login {
    problem: &'static str,
    next: String,
}

#[derive(Deserialize)]
pub(super) struct Next {
    next: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Typed {
    token: String,
    next: Option<String>,
}

/// Redirects to the form, and from there to the page that was asked for.
pub(crate) fn login_redirect(wanted: &str) -> Response {
    match wanted {
        "/" => to("/login"),
        wanted => to(&format!("/login?next={wanted}")),
    }
}

pub(super) async fn form(Query(said): Query<Next>) -> Response {
    html(StatusCode::OK, &Login { problem: "", next: local(said.next) })
}

pub(super) async fn login(State(api): State<Api>, Form(typed): Form<Typed>) -> Response {
    let token = &api.config.token;
    let next = local(typed.next);
    match cookie_of(Some(token)).filter(|_| token.is(typed.token.trim())) {
        Some(cookie) => with_cookie(to(&next), cookie),
        None => html(StatusCode::UNAUTHORIZED, &Login { problem: "This is not the token.", next }),
    }
}

pub(super) async fn logout() -> Response {
    match cookie_of(None) {
        Some(cookie) => with_cookie(to("/login"), cookie),
        None => to("/login"),
    }
}

/// Allows addresses of this server only: a link could name another site.
fn local(next: Option<String>) -> String {
    let is_local = |next: &String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.:".contains(c);
        next.starts_with('/') && !next.starts_with("//") && next.chars().all(is_plain)
    };
    next.filter(is_local).unwrap_or_else(|| "/".into())
}

fn with_cookie(mut response: Response, cookie: HeaderValue) -> Response {
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response
}
