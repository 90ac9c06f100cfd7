//! Where a webhook may not go, whatever it is called.

use std::{net::IpAddr, sync::Arc, time::Duration};

use futures_util::FutureExt;
use pintle::{Hooks, ModelKind};
use pintle_exec::{Lookup, WebhookError, WebhookOptions, WebhookQueue, WebhookSpec};
use serde_json::json;

use crate::{
    support::{SLACK, cx},
    webhook_server::Server,
};

fn try_url(url: &str) -> Result<(), WebhookError> {
    let queue = WebhookQueue::open(WebhookOptions::default()).unwrap();
    queue.webhook(WebhookSpec::new(url, "p")).map(drop)
}

#[tokio::test]
async fn https_goes_anywhere_and_http_to_loopback() {
    for url in [
        "https://example.com/hooks",
        "https://10.0.0.7/internal",
        "https://localhost:8443/",
        "http://localhost:8080/",
        "http://127.0.0.1/",
        "http://127.1/",
        "http://[::1]:8080/",
        "http://LOCALHOST./",
        "http://127.9.9.9/x",
        "http://2130706433/x",
        "http://0x7f000001/x",
        "http://[::ffff:127.0.0.1]/x",
        "https://192.168.1.1/",
        "https://[2606:4700::1111]/",
    ] {
        try_url(url).unwrap_or_else(|error| panic!("{error}")); // R10.5
    }
}

#[tokio::test]
async fn look_alikes_and_the_machines_own_addresses_are_refused() {
    for url in [
        "http://example.com/",
        "http://localhost.example.com/",
        "http://127.0.0.1.example.com/",
        "http://localhost@example.com/",
        "http://example.com#localhost",
        "http://10.0.0.7/",
        "https://user:pass@example.com/",
        "https://169.254.169.254/latest/meta-data",
        "http://169.254.169.254/",
        "https://2852039166/",
        "https://0xa9fea9fe/",
        "https://0251.0376.0251.0376/",
        "https://169.254.43518/",
        "https://[::ffff:169.254.169.254]/",
        "https://[::ffff:a9fe:a9fe]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://[64:ff9b:1::a9fe:a9fe]/",
        "https://[2002:a9fe:a9fe::1]/",
        "https://[::a9fe:a9fe]/",
        // Routed like any other address, whatever is in it.
        "http://[2002:7f00:1::5]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[64:ff9b:1::7f00:1]/",
        "http://[::127.0.0.5]/",
        "https://[fd00:ec2::23]/",
        "https://[fd00:42::42]/",
        "https://[fe80::1]/",
        "https://[fd00:ec2::254]/",
        "https://[fd20:ce::254]/",
        "https://[fd00:c1::a9fe:a9fe]/",
        "https://100.100.100.200/",
        "https://192.0.0.192/",
        "https://0.1.2.3/",
        "https://[ff02::1]/",
        "https://[::ffff:0:169.254.169.254]/",
        "https://metadata.google.internal/",
        "https://METADATA.google.internal./",
        "https://168.63.129.16/",
        "https://169.254.1.1/",
        "https://0.0.0.0/",
        "https://0/",
        "https://[::]/",
        "https://224.0.0.1/",
        "https://255.255.255.255/",
        "ftp://localhost/",
        "file:///etc/passwd",
        "localhost:8080",
        "",
    ] {
        assert!(try_url(url).is_err(), "{url} was let through"); // R10.5
    }
}

/// A name server that gives these answers, one after another, and the last one for ever.
fn answers(answers: &'static [&'static [&'static str]]) -> Lookup {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    Arc::new(move |_| {
        let turn = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst).min(answers.len() - 1);
        let found: Vec<IpAddr> = answers[turn].iter().map(|ip| ip.parse().unwrap()).collect();
        async move { Ok(found) }.boxed()
    })
}

async fn deliver(url: String, lookup: Lookup) -> pintle_exec::EndpointStats {
    let options = WebhookOptions {
        lookup: Some(lookup),
        first_retry: Duration::from_millis(10),
        ..WebhookOptions::default()
    };
    let queue = WebhookQueue::open(options).unwrap();
    let hooks = Hooks::new();
    let observer = queue.webhook(WebhookSpec::new(url, "p")).unwrap();
    hooks.register_dyn("session_start", ModelKind::Void, observer).unwrap();
    hooks.fire_dyn("session_start", &cx(), json!({ "resumed": false })).await.unwrap();
    queue.close(SLACK).await.remove(0)
}

#[tokio::test]
async fn a_name_that_leads_where_it_may_not_is_refused_after_dns() {
    let table: [&'static [&'static [&'static str]]; 6] = [
        &[&["169.254.169.254"]],
        &[&["fe80::1"]],
        &[&["::ffff:169.254.169.254"]],
        &[&["127.0.0.1"]],
        &[&["::1"]],
        &[&["93.184.216.34", "169.254.169.254"]],
    ];
    for found in table {
        let stats = deliver("https://example.com/".into(), answers(found)).await;
        assert_eq!((stats.refused, stats.delivered), (1, 0), "{found:?}: {stats:?}"); // R10.5
        assert!(stats.last_refusal.unwrap().contains("resolves to"));
    }
}

#[tokio::test]
async fn localhost_has_to_be_this_machine() {
    let server = Server::start([]).await;
    let url = format!("http://localhost:{}/hook", server.port);
    let stats = deliver(url.clone(), answers(&[&["127.0.0.1"]])).await;
    assert_eq!(stats.delivered, 1);
    let stats = deliver(url, answers(&[&["93.184.216.34"]])).await;
    assert_eq!((stats.refused, stats.delivered), (1, 0));
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_used() {
    // The second answer would be refused; it must never be asked for, since the first was checked and is used.
    let server = Server::start([]).await;
    let url = format!("http://localhost:{}/hook", server.port);
    let stats = deliver(url, answers(&[&["127.0.0.1"], &["169.254.169.254"]])).await;
    assert_eq!((stats.delivered, stats.refused), (1, 0));
    assert_eq!(server.received().len(), 1);
}
