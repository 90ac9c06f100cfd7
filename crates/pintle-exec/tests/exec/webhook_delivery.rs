//! Webhooks on a real socket: delivered in order, retried, signed, kept.

use std::time::Duration;

use pintle::{Hooks, ModelKind};
use pintle_exec::{WebhookOptions, WebhookQueue, WebhookSecret, WebhookSpec};
use serde_json::json;
use tokio::io::AsyncBufReadExt;

use crate::{
    support::{SLACK, cx},
    webhook_server::{Received, Reply, Server},
};

pub(crate) fn quick() -> WebhookOptions {
    WebhookOptions {
        first_retry: Duration::from_millis(10),
        longest_retry: Duration::from_millis(50),
        request_timeout: Duration::from_secs(5),
        ..WebhookOptions::default()
    }
}

pub(crate) fn observe(queue: &WebhookQueue, spec: WebhookSpec) -> Hooks {
    let hooks = Hooks::new();
    let observer = queue.webhook(spec).unwrap();
    hooks.register_dyn("user.prompt.submit", ModelKind::Gate, observer).unwrap();
    hooks
}

pub(crate) async fn prompt(hooks: &Hooks, text: &str) {
    hooks.fire_dyn("user.prompt.submit", &cx(), json!({ "prompt": text })).await.unwrap();
}

pub(crate) fn prompts(received: &[Received]) -> Vec<String> {
    received.iter().map(Received::prompt).collect()
}

#[tokio::test]
async fn the_body_says_what_happened_where_and_when() {
    let server = Server::start([]).await;
    let queue = WebhookQueue::open(quick()).unwrap();
    let hooks = observe(&queue, WebhookSpec::new(server.url(), "my-profile"));
    prompt(&hooks, "hello").await;
    let received = server.wait_for(1).await;
    let body = received[0].json();
    assert_eq!((&body["v"], &body["profile"]), (&json!(1), &json!("my-profile"))); // R10.5
    assert_eq!(
        (&body["event"], &body["ts"]),
        (&json!("user.prompt.submit"), &json!(1_700_000_000_000_u64))
    );
    assert_eq!(body["context"]["prompt"], "hello");
    assert_eq!(body["context"]["sessionId"], "s-1");
    assert!(received[0].head.starts_with("POST /hook HTTP/1.1"));
    assert_eq!(received[0].header("content-type"), Some("application/json"));
    assert_eq!(received[0].header("x-pintle-signature"), None);
    assert!(received[0].header("x-pintle-delivery").is_some());
}

#[tokio::test]
async fn a_signature_is_the_hmac_of_the_very_bytes() {
    let server = Server::start([]).await;
    let queue = WebhookQueue::open(quick()).unwrap();
    let secret = WebhookSecret { name: "KEY".into(), value: "s3cret".into() };
    let spec = WebhookSpec { secret: Some(secret), ..WebhookSpec::new(server.url(), "p") };
    prompt(&observe(&queue, spec), "hello «ü»").await;
    let received = server.wait_for(1).await;
    // R10.5
    assert_eq!(received[0].header("x-pintle-signature"), Some(&*received[0].signature("s3cret")));
}

#[tokio::test]
async fn known_secrets_are_scrubbed_from_the_body() {
    let server = Server::start([]).await;
    let queue = WebhookQueue::open(quick()).unwrap();
    let mut spec = WebhookSpec::new(server.url(), "profile hunter2");
    spec.scrub = Some(std::sync::Arc::new(|text: &str| text.replace("hunter2", "[secret]")));
    prompt(&observe(&queue, spec), "log in with hunter2").await;
    let received = server.wait_for(1).await;
    assert_eq!(received[0].json()["context"]["prompt"], "log in with [secret]"); // R10.7
    assert_eq!(received[0].json()["profile"], "profile [secret]");
}

#[tokio::test]
async fn trouble_is_retried_and_order_is_kept() {
    let replies = [Reply::Status(500), Reply::HangUp, Reply::Status(429), Reply::Status(503)];
    let server = Server::start(replies).await;
    let queue = WebhookQueue::open(quick()).unwrap();
    let hooks = observe(&queue, WebhookSpec::new(server.url(), "p"));
    for text in ["one", "two", "three"] {
        prompt(&hooks, text).await;
    }
    let received = server.wait_for(7).await;
    assert_eq!(prompts(&received), ["one", "one", "one", "one", "one", "two", "three"]); // R10.5
    let ids: Vec<_> = received.iter().map(|it| it.header("x-pintle-delivery").unwrap()).collect();
    assert!(ids[..5].iter().all(|id| *id == ids[0]), "one message, one id");
    assert_ne!(ids[4], ids[5]);
    let stats = queue.close(SLACK).await;
    assert_eq!((stats[0].delivered, stats[0].queued, stats[0].dropped), (3, 0, 0));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::start([]).await;
    let server = Server::start([Reply::Redirect(elsewhere.url())]).await;
    let queue = WebhookQueue::open(quick()).unwrap();
    let hooks = observe(&queue, WebhookSpec::new(server.url(), "p"));
    prompt(&hooks, "one").await;
    prompt(&hooks, "two").await;
    server.wait_for(2).await;
    let stats = queue.close(SLACK).await;
    assert_eq!((stats[0].refused, stats[0].delivered), (1, 1)); // R10.5
    assert!(stats[0].last_refusal.as_ref().unwrap().contains("not followed"), "{stats:?}");
    assert!(elsewhere.received().is_empty());
}

#[tokio::test]
async fn an_endpoint_that_says_no_is_not_asked_again() {
    let server = Server::start([Reply::Status(404)]).await;
    let queue = WebhookQueue::open(quick()).unwrap();
    prompt(&observe(&queue, WebhookSpec::new(server.url(), "p")), "one").await;
    let stats = queue.close(SLACK).await;
    assert_eq!((stats[0].refused, stats[0].queued), (1, 0));
    assert_eq!(server.received().len(), 1);
}

// R10.5
#[tokio::test]
async fn an_outage_discards_nothing_however_long_it_is() {
    let bad = [Reply::Status(503), Reply::HangUp, Reply::Status(429), Reply::Status(500)];
    let server = Server::start(bad.into_iter().cycle().take(80)).await;
    let queue = WebhookQueue::open(quick()).unwrap();
    let hooks = observe(&queue, WebhookSpec::new(server.url(), "p"));
    for text in ["one", "two", "three"] {
        prompt(&hooks, text).await;
    }
    let received = server.wait_for(83).await;
    assert_eq!(prompts(&received[80..]), ["one", "two", "three"]);
    let stats = &queue.close(SLACK).await[0];
    assert_eq!((stats.delivered, stats.refused, stats.dropped), (3, 0, 0), "{stats:?}");
}

#[tokio::test]
async fn messages_an_endpoint_always_chokes_on_do_not_hold_up_the_rest() {
    let server = Server::choking_on("poison").await;
    let queue = WebhookQueue::open(quick()).unwrap();
    let hooks = observe(&queue, WebhookSpec::new(server.url(), "p"));
    let fine: Vec<_> = (0..12).map(|number| number.to_string()).collect();
    for text in ["poison a", "poison b"].into_iter().chain(fine.iter().map(String::as_str)) {
        prompt(&hooks, text).await;
    }
    let stats = queue.close(SLACK).await;
    let mut taken = prompts(&server.received());
    taken.retain(|text| !text.starts_with("poison"));
    assert_eq!(taken, fine);
    assert_eq!((stats[0].delivered, stats[0].refused), (12, 2), "{stats:?}");
}

// Of two machines behind one name one is sick, and who asks again at once gets the same one: a message that fails there
// while others arrive is not to blame.
#[tokio::test]
async fn a_suspect_is_not_asked_about_again_at_once() {
    let pause = Duration::from_secs(1);
    // It takes the word after a pause. Pauses are between half and all of what they are set to.
    let server = Server::choking_in_haste_on("suspect", pause / 3).await;
    let options = WebhookOptions { first_retry: pause, suspect_after: 1, ..quick() };
    let queue = WebhookQueue::open(WebhookOptions { longest_retry: pause, ..options }).unwrap();
    let hooks = observe(&queue, WebhookSpec::new(server.url(), "p"));
    prompt(&hooks, "suspect").await;
    prompt(&hooks, "another").await;
    assert_eq!(prompts(&server.wait_for(3).await), ["suspect", "another", "suspect"]);
    let stats = queue.close(SLACK).await;
    assert_eq!((stats[0].delivered, stats[0].refused), (2, 0), "{stats:?}");
}

// Nine of ten answers are bad: that is the endpoint's fault, and no message's.
#[tokio::test]
async fn an_endpoint_that_is_not_well_loses_nothing() {
    let bad = std::iter::repeat_n(Reply::Status(500), 9).chain([Reply::Status(200)]);
    let replies: Vec<_> = bad.collect();
    let server = Server::start(replies.into_iter().cycle().take(600)).await;
    let queue = WebhookQueue::open(quick()).unwrap();
    let hooks = observe(&queue, WebhookSpec::new(server.url(), "p"));
    for number in 0..20 {
        prompt(&hooks, &number.to_string()).await;
    }
    let stats = queue.close(SLACK).await;
    assert_eq!((stats[0].delivered, stats[0].refused), (20, 0), "{stats:?}");
}

#[tokio::test]
async fn a_slow_endpoint_delays_nothing() {
    let server = Server::start(std::iter::repeat_n(Reply::Silence, 100)).await;
    let options = WebhookOptions { request_timeout: Duration::from_secs(3600), ..quick() };
    let queue = WebhookQueue::open(options).unwrap();
    let hooks = observe(&queue, WebhookSpec::new(server.url(), "p"));
    // With an endpoint that takes an hour, a fire that waited for it would not be back in this test.
    for number in 0..200 {
        tokio::time::timeout(SLACK, prompt(&hooks, &number.to_string())).await.unwrap();
    }
    server.wait_for(1).await;
    let stats = tokio::time::timeout(SLACK, queue.close(Duration::from_millis(100))).await.unwrap();
    assert_eq!((stats[0].lost, stats[0].delivered), (200, 0), "no folder to keep them in");
}

#[tokio::test]
async fn what_does_not_fit_is_dropped_and_counted() {
    let server = Server::start(std::iter::repeat_n(Reply::Silence, 100)).await;
    let queue = WebhookQueue::open(WebhookOptions { max_messages: 10, ..quick() }).unwrap();
    let hooks = observe(&queue, WebhookSpec::new(server.url(), "p"));
    for number in 0..25 {
        prompt(&hooks, &number.to_string()).await;
    }
    let stats = queue.stats();
    assert_eq!((stats[0].queued, stats[0].dropped), (10, 15));

    let queue = WebhookQueue::open(WebhookOptions { max_bytes: 1000, ..quick() }).unwrap();
    let hooks = observe(&queue, WebhookSpec::new(server.url(), "p"));
    prompt(&hooks, &"x".repeat(2000)).await;
    assert_eq!(queue.stats()[0].dropped, 1);
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_not_written_down_yet_counts_too() {
    let port = Server::start([]).await.port;
    let queue = WebhookQueue::open(quick()).unwrap();
    let url = format!("http://127.0.0.1:{port}/");
    let observer = queue.webhook(WebhookSpec::new(url, "p")).unwrap();
    // Nothing is awaited in between: nobody has had a chance to write.
    for _ in 0..100 {
        let json = json!({ "prompt": "x".repeat(1_000_000) });
        let (point, envelope) = ("user.prompt.submit", pintle::Envelope::default());
        let event = pintle::DynEvent::new(point, ModelKind::Gate, envelope, json);
        drop(pintle::DynHandler::call(&observer, event));
    }
    let stats = queue.stats();
    assert_eq!((stats[0].queued, stats[0].dropped), (8, 92), "8 MiB");
}

#[tokio::test]
async fn the_operators_proxy_is_used() {
    let proxy = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", proxy.local_addr().unwrap());
    let queue = WebhookQueue::open(quick()).unwrap();
    let spec = WebhookSpec::new("https://hooks.example.com/hook", "p");
    prompt(&observe(&queue, WebhookSpec { proxy: Some(address), ..spec }), "hello").await;
    let (stream, _) = tokio::time::timeout(SLACK, proxy.accept()).await.unwrap().unwrap();
    let mut first = String::new();
    tokio::io::BufReader::new(stream).read_line(&mut first).await.unwrap();
    assert!(first.starts_with("CONNECT hooks.example.com:443 "), "{first}");
}

// R10.5: `127.0.0.1` is this machine; at the proxy it would be another, and plain http would leave this one.
#[tokio::test]
async fn what_stays_on_this_machine_goes_through_no_proxy() {
    let (proxy, server) = (Server::start([]).await, Server::start([]).await);
    let queue = WebhookQueue::open(quick()).unwrap();
    let spec = WebhookSpec::new(server.url(), "p");
    prompt(&observe(&queue, WebhookSpec { proxy: Some(proxy.url()), ..spec }), "hello").await;
    server.wait_for(1).await;
    assert!(proxy.received().is_empty());
}

/// The test runs itself again: only that process has a proxy in its environment.
#[test]
fn a_proxy_in_the_environment_is_not_used() {
    const INNER: &str = "PINTLE_TEST_WITH_PROXY";
    if std::env::var_os(INNER).is_none() {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "webhook_delivery::a_proxy_in_the_environment_is_not_used"]);
        // Nobody listens there: a message sent that way would not arrive.
        for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
            again.env(name, "http://127.0.0.1:1/");
        }
        assert!(again.env(INNER, "1").status().unwrap().success());
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::start([]).await;
        let queue = WebhookQueue::open(quick()).unwrap();
        prompt(&observe(&queue, WebhookSpec::new(server.url(), "p")), "hello").await;
        server.wait_for(1).await; // R10.5
    });
}
