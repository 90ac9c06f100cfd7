//! R12.6: the page without a browser: what it shows, what its forms do, and what it never does.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request, header},
};
use pintle_gateway::{
    Gateway,
    api::{ApiConfig, IdleHook, Token, cookie_of, router},
    channels::HttpChannel,
};
use serde_json::Value;
use std::sync::{Arc, atomic::Ordering};
use tower::ServiceExt;

use crate::{approvals::asked, support::*};

const HOST: &str = "127.0.0.1:8080";
const TOKEN: &str = "0123456789abcdef";

struct Page {
    router: Router,
    gateway: Gateway,
}

struct Seen {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Seen {
    fn goes_to(&self) -> &str {
        self.headers.get(header::LOCATION).map_or("", |it| it.to_str().unwrap())
    }
}

impl Page {
    async fn new(world: &World) -> Self {
        let gateway = world.builder().channel(Arc::new(HttpChannel::new())).start().await.unwrap();
        let note = "Its file changed. Fix: pintle trust".into();
        let (name, state) = ("notify".into(), "untrusted".into());
        let config = ApiConfig {
            token: Token::new(TOKEN),
            operator: vec!["me".into(), "test:boss".into()],
            hosts: Vec::new(),
            idle_hooks: vec![IdleHook { point: "agent_done".into(), name, state, note }],
        };
        let router = router(gateway.clone(), config, HOST.parse().unwrap(), None);
        Self { router, gateway }
    }

    async fn send(&self, request: axum::http::request::Builder, body: &str) -> Seen {
        let request = request.header("host", HOST).body(Body::from(body.to_string())).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = to_bytes(response.into_body(), 1 << 22).await.unwrap();
        Seen { status, headers, text: String::from_utf8(body.to_vec()).unwrap() }
    }

    fn cookie() -> String {
        let cookie = cookie_of(Some(&Token::new(TOKEN))).unwrap();
        cookie.to_str().unwrap().split(';').next().unwrap().to_string()
    }

    async fn get(&self, path: &str) -> Seen {
        let request = Request::get(path).header("accept", "text/html");
        self.send(request.header("cookie", Self::cookie()), "").await
    }

    /// A form as a browser sends it.
    async fn post(&self, path: &str, form: &str) -> Seen {
        let request = Request::post(path)
            .header("cookie", Self::cookie())
            .header("origin", format!("http://{HOST}"))
            .header("sec-fetch-site", "same-origin")
            .header("content-type", "application/x-www-form-urlencoded");
        self.send(request, form).await
    }

    async fn say(&self, text: &str) -> String {
        let request = Request::post("/v1/messages")
            .header("authorization", format!("Bearer {TOKEN}"))
            .header("prefer", "respond-async")
            .header("content-type", "application/json");
        let body =
            serde_json::json!({ "chat": "c", "messageId": text, "sender": "ann", "text": text });
        let seen = self.send(request, &body.to_string()).await;
        let reply: Value = serde_json::from_str(&seen.text).unwrap();
        reply["runId"].as_str().unwrap().to_string()
    }
}

const PAGES: [&str; 5] = ["/", "/approvals", "/hooks", "/runs", "/messages"];

#[tokio::test]
async fn without_the_token_there_is_only_the_form_which_leads_back_to_where_one_wanted_to_go() {
    let page = Page::new(&World::echo()).await;
    for path in PAGES.into_iter().chain(["/approvals/1", "/runs/1/export.json"]) {
        let seen = page.send(Request::get(path).header("accept", "text/html"), "").await;
        assert_eq!(seen.status, 303, "{path}");
        let wanted = if path == "/" { "/login".into() } else { format!("/login?next={path}") };
        assert_eq!(seen.goes_to(), wanted);
    }
    assert_eq!(page.send(Request::get("/events"), "").await.status, 401);
    let form = page.get("/login?next=/approvals/1").await;
    assert!(form.text.contains(r#"name="next" value="/approvals/1""#), "{}", form.text);
    let login = async |form: &str| page.post("/login", form).await;
    let inside = login(&format!("token={TOKEN}&next=/approvals/1")).await;
    assert_eq!((inside.status, inside.goes_to()), (303, "/approvals/1"));
    let cookie = inside.headers.get(header::SET_COOKIE).unwrap().to_str().unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    // A link cannot lead to another site.
    for elsewhere in ["//evil.example", "https://evil.example", "/%5cevil.example"] {
        let inside = login(&format!("token={TOKEN}&next={elsewhere}")).await;
        assert_eq!(inside.goes_to(), "/", "{elsewhere}");
    }
    let wrong = login("token=wrong&next=/hooks").await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.text.contains("This is not the token."));
}

#[tokio::test]
async fn every_page_is_strict_whole_and_small() {
    let page = Page::new(&World::echo()).await;
    for path in PAGES.into_iter().chain(["/runs/nothing", "/login"]) {
        let seen = page.get(path).await;
        assert_eq!(seen.status, if path == "/runs/nothing" { 404 } else { 200 }, "{path}");
        let policy = seen.headers.get(header::CONTENT_SECURITY_POLICY).unwrap().to_str().unwrap();
        for rule in
            ["default-src 'none'", "require-trusted-types-for 'script'", "script-src 'self'"]
        {
            assert!(policy.contains(rule) && !policy.contains("unsafe"), "{path}: {policy}");
        }
        for inline in [" style=", "<style", " onclick=", "<script>", "http://", "https://"] {
            assert!(!seen.text.contains(inline), "{path} has {inline}");
        }
    }
    let mut bytes = 0;
    for asset in ["pintle.css", "page.js", "live.js", "timeline.js", "pintle.svg"] {
        let seen = page.send(Request::get(format!("/assets/{asset}")), "").await;
        assert_eq!(seen.status, 200, "{asset}");
        bytes += seen.text.len();
    }
    assert!(bytes < 80_000, "{bytes} bytes; with the pages it has to stay below 100 kB");
}

#[tokio::test]
async fn a_hook_that_never_fired_and_one_that_is_refused_come_first_with_what_to_do() {
    let page = Page::new(&World::echo()).await;
    let seen = page.get("/hooks").await.text;
    assert!(seen.contains("need a look") || seen.contains("needs a look"), "{seen}");
    let at = |text: &str| seen.find(text).unwrap_or_else(|| panic!("no `{text}` in {seen}"));
    assert!(at("Its file changed. Fix: pintle trust") > at("refused"));
}

/// R11.4: an answer from a form is one like any other: it names the arguments that were looked at, and the first wins.
#[tokio::test]
async fn a_form_answers_a_question_once_and_only_for_the_arguments_that_it_showed() {
    let world = World::new(deploys);
    let page = Page::new(&world).await;
    let run = page.say("deploy").await;
    let approval = asked(&world).await;
    let seen = page.get("/approvals").await.text;
    assert!(seen.contains("production") && seen.contains("One question waits"), "{seen}");
    let (id, hash) = (&approval.id, &approval.args_hash);
    assert!(seen.contains(&format!(r#"name="argsHash" value="{hash}""#)), "{seen}");
    let form = format!("/approvals/{id}");

    let wrong = page.post(&form, "answer=approve&argsHash=other&rule=").await;
    assert_eq!(wrong.status, 409);
    assert!(wrong.text.contains("role=\"alert\""), "{}", wrong.text);
    // What is no answer approves nothing.
    for fields in ["answer=yes", "answer=", "answer=approve&rule=ever"] {
        let seen = page.post(&form, &format!("{fields}&argsHash={hash}")).await;
        assert_eq!(seen.status, 400, "{fields}");
    }
    assert_eq!(world.tool_runs.load(Ordering::SeqCst), 0);

    let approve = format!("answer=approve&argsHash={hash}&rule=&one=1");
    let done = page.post(&form, &approve).await;
    assert_eq!((done.status, done.goes_to()), (303, form.as_str()));
    page.gateway.wait_until_settled(&run).await.unwrap();
    assert_eq!(world.tool_runs.load(Ordering::SeqCst), 1);
    let one = page.get(&form).await.text;
    assert!(one.contains("This question was approved") && one.contains("test:boss"), "{one}");
    assert!(!one.contains("value=\"deny\""), "an answered question has no form: {one}");
    let late = page.post(&form, &format!("answer=deny&argsHash={hash}")).await;
    assert_eq!(late.status, 409);
    assert!(late.text.contains("role=\"alert\""), "{}", late.text);
}

/// Another site can make a browser send a form, with the cookie of an old browser.
#[tokio::test]
async fn a_form_of_another_site_answers_nothing() {
    let world = World::new(deploys);
    let page = Page::new(&world).await;
    page.say("deploy").await;
    let approval = asked(&world).await;
    let body = format!("answer=approve&argsHash={}", approval.args_hash);
    for (name, value) in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let request = Request::post(format!("/approvals/{}", approval.id))
            .header("cookie", Page::cookie())
            .header("content-type", "application/x-www-form-urlencoded")
            .header(name, value);
        assert_eq!(page.send(request, &body).await.status, 403, "{name}: {value}");
    }
    assert!(asked(&world).await.answered_by.is_none());
    assert_eq!(world.tool_runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_run_that_waits_is_stopped_from_the_page() {
    let world = World::new(deploys);
    let page = Page::new(&world).await;
    let run = page.say("deploy").await;
    asked(&world).await;
    let mut stopped = page.post(&format!("/runs/{run}/stop"), "").await;
    assert_eq!((stopped.status, stopped.goes_to()), (303, format!("/live/{run}").as_str()));
    page.gateway.wait_until_settled(&run).await.unwrap();
    stopped = page.post(&format!("/runs/{run}/stop"), "").await;
    assert_eq!(stopped.status, 409, "{}", stopped.text);
    assert_eq!(world.tool_runs.load(Ordering::SeqCst), 0);
}
