//! R12.6: the page without a browser: what it shows, what its forms do, and what it never does.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request, header},
};
use pintle::{
    Event, Failure,
    points::{AgentDone, MessageSent, SubagentEnded, ToolOutcome},
};
use pintle_agent::store::{CallEnd, Intent, NewSession, NewTicket, TicketMove};
use pintle_gateway::{
    Gateway,
    api::{AddedPlugin, ApiConfig, IdleHook, Listing, Token, cookie_of, router},
    channels::HttpChannel,
};
use serde_json::Value;
use std::sync::{Arc, atomic::Ordering};
use tower::ServiceExt;

use crate::{approvals::asked, support::*};

const HOST: &str = "127.0.0.1:8080";
const TOKEN: &str = "0123456789abcdef";

fn plugin((id, state): (&str, &str)) -> AddedPlugin {
    AddedPlugin {
        id: id.into(),
        version: "1.2.3".into(),
        kind: "process".into(),
        grants: vec!["amend:prompt".into()],
        state: state.into(),
        notes: vec![format!("a note on {id}")],
    }
}

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
        let listing = Listing {
            idle_hooks: vec![IdleHook { point: "agent_done".into(), name, state, note }],
            plugins: [("style", "active"), ("linter", "active"), ("today", "unusable")]
                .map(plugin)
                .into(),
        };
        let config = ApiConfig {
            token: Token::new(TOKEN),
            operator: vec!["me".into(), "test:boss".into()],
            hosts: Vec::new(),
            listed: listing.fixed(),
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

const PAGES: [&str; 6] = ["/", "/approvals", "/hooks", "/runs", "/tickets", "/messages"];

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
    let world = World::echo();
    let fine = |_: Event<AgentDone>| async {};
    world.hooks.named("fine").register_void(fine).unwrap();
    let breaks = |_: Event<AgentDone>| async { Err::<(), _>(Failure::errored("no disk")) };
    world.hooks.named("breaks").register_void(breaks).unwrap();
    let of_plugin = |_: Event<MessageSent>| async { Err::<(), _>(Failure::errored("no net")) };
    world.hooks.named("also breaks").plugin("linter").register_void(of_plugin).unwrap();
    let unreached = |_: Event<SubagentEnded>| async {};
    world.hooks.named("waits").register_void(unreached).unwrap();
    let page = Page::new(&world).await;
    let run = page.say("/personality coder").await;
    page.gateway.wait_until_settled(&run).await.unwrap();
    let run = page.say("hello").await;
    page.gateway.wait_until_settled(&run).await.unwrap();
    let mut seen = page.get("/hooks").await.text;
    while !seen.contains("also breaks</b><small>") {
        tokio::task::yield_now().await;
        seen = page.get("/hooks").await.text;
    }
    // The class of a hook's row, its mark and word, its place on the page, and what it says.
    let row = |name: &str| {
        let at = seen.find(&format!("<b>{name}</b>")).unwrap_or_else(|| panic!("{name}: {seen}"));
        let from = seen[..at].rfind("<tr").unwrap();
        (at, &seen[from..at + seen[at..].find("</tr>").unwrap()])
    };
    let (refused, failing, never, active) =
        (row("notify"), row("breaks"), row("waits"), row("fine"));
    for (row, class, outcome) in [
        (refused, "is-block", r#"outcome block">refused"#),
        (failing, "is-fail", r#"outcome fail">failing"#),
        (never, "is-idle", r#"outcome idle">never fired"#),
        (active, "is-ok", r#"outcome ok">active"#),
    ] {
        assert!(row.1.contains(class) && row.1.contains(outcome), "{}", row.1);
    }
    assert!(refused.1.contains("Its file changed. Fix: pintle trust"), "{}", refused.1);
    assert!(failing.1.contains("1 of 1 calls failed."), "{}", failing.1);
    assert!(never.1.contains("No run has reached it yet."), "{}", never.1);
    assert!([refused.0, failing.0, never.0, active.0].is_sorted(), "{seen}");
    assert!(seen.contains("need attention"), "{seen}");

    // R13.4: the plugins, with what is wrong first.
    let (unusable, failing, active) = (row("today"), row("linter"), row("style"));
    assert!(unusable.1.contains(r#"outcome block">unusable"#), "{}", unusable.1);
    assert!(failing.1.contains(r#"outcome fail">failing"#), "{}", failing.1);
    assert!(failing.1.contains("Its hook at message_sent fails."), "{}", failing.1);
    for fact in [r#"outcome ok">active"#, "1.2.3", "process", "amend:prompt", "a note on style"] {
        assert!(active.1.contains(fact), "{fact}: {}", active.1);
    }
    assert!(active.0 > unusable.0.max(failing.0), "{seen}");
}

/// R12.3: a dead letter is tried again from the page, once.
#[tokio::test]
async fn a_dead_letter_is_tried_again_by_its_button() {
    let world = World::echo();
    crate::api::waiting::leave_dead_letter(&world).await;
    let page = Page::new(&world).await;
    let seen = page.get("/messages").await.text;
    assert!(seen.contains("1 dead letter") && seen.contains("it is poison"), "{seen}");
    assert!(seen.contains(r#"action="/messages/r1/retry""#), "{seen}");
    let tried = page.post("/messages/r1/retry", "").await;
    assert_eq!((tried.status, tried.goes_to()), (303, "/messages"));
    let done = page.gateway.wait_until_settled("r1").await.unwrap().unwrap();
    assert_eq!(done.outcome.as_deref(), Some("end_turn"));
    assert!(page.get("/messages").await.text.contains("No dead letters"));
    assert_eq!(page.post("/messages/r1/retry", "").await.status, 404);
}

/// R11.6: a call that was cut off, and a message that may have arrived, are listed on the page and over HTTP.
#[tokio::test]
async fn unknown_outcomes_are_listed() {
    let world = World::echo();
    let page = Page::new(&world).await;
    assert!(!page.get("/messages").await.text.contains("Unknown outcome"));
    let new = NewSession { key: "http:c".into(), ..NewSession::default() };
    let session = world.store.open(new).await.unwrap();
    let claim = world.store.claim(&session).await.unwrap();
    let intent = Intent {
        id: "i1".into(),
        run_id: "r1".into(),
        tool_call_id: "c1".into(),
        tool: "deploy".into(),
        args_hash: "h".into(),
        approval_id: None,
    };
    world.store.begin_call(&claim, intent).await.unwrap();
    let end = CallEnd { outcome: ToolOutcome::Unknown, text: String::new(), duration_ms: 0 };
    world.store.end_call(&claim, "i1", end).await.unwrap();
    let seen = page.get("/messages").await.text;
    assert!(seen.contains("1 of unknown outcome") && seen.contains("<b>deploy</b>"), "{seen}");
    assert!(seen.contains(r#"href="/runs/r1""#), "{seen}");
    let listed: Value = serde_json::from_str(&page.get("/v1/messages/unknown").await.text).unwrap();
    assert_eq!(
        (&listed["calls"][0]["tool"], &listed["messages"]),
        (&"deploy".into(), &Value::Array(vec![]))
    );
}

#[tokio::test]
async fn the_board_has_tickets_by_state_with_what_the_verifier_said_and_each_reputation() {
    let world = World::echo();
    let page = Page::new(&world).await;
    assert!(page.get("/tickets").await.text.contains("No tickets"));
    let new = |title: &str| NewTicket {
        title: title.into(),
        acceptance_criteria: Some(format!("{title}: there are tests")),
        check: Some("cargo test".into()),
        created_by: "ann".into(),
    };
    for (title, accepted) in [("Mend <it>", Some(false)), ("Write it", Some(true)), ("Later", None)]
    {
        let ticket = world.store.create_ticket(new(title)).await.unwrap();
        let Some(accepted) = accepted else { continue };
        let take = TicketMove::Take { assignee: "coder".into() };
        let taken = world.store.move_ticket(&ticket, take).await.unwrap().unwrap();
        let summary = format!("I did {title}");
        let end = match accepted {
            true => TicketMove::Accept { summary },
            false => TicketMove::Reject { summary, reason: "no test fails without it".into() },
        };
        world.store.move_ticket(&taken, end).await.unwrap().unwrap();
    }
    let seen = page.get("/tickets").await.text;
    let at = |text: &str| seen.find(text).unwrap_or_else(|| panic!("no `{text}` in {seen}"));
    let order = [
        "3 tickets, 2 open",
        "Needs revision",
        "Mend &#60;it&#62;",
        "To do",
        "Later",
        "Done",
        "Write it",
    ];
    assert!(order.map(at).is_sorted(), "{seen}");
    for fact in
        ["Later: there are tests", "cargo test", "no test fails without it", "I did Write it"]
    {
        at(fact);
    }
    let reputation = &seen[at("Reputation of each")..];
    for fact in
        ["coder", "50 %", r#"data-label="Completions accepted">1"#, r#"data-label="Rejected">1"#]
    {
        assert!(reputation.contains(fact), "{fact}: {reputation}");
    }
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
