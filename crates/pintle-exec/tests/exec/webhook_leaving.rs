//! What the end of a program costs when an endpoint does not take what is left. Attempts are counted: with pauses of
//! some ten milliseconds, whoever tries until the limit tries hundreds of times.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use pintle_exec::{WebhookOptions, WebhookQueue, WebhookSpec};

use crate::{
    support::SLACK,
    webhook_delivery::{observe, prompt, prompts},
    webhook_keeping::Place,
    webhook_server::{Received, Reply, Server},
};

/// One that was under way, and one last chance.
const AT_THE_END: usize = 2;

#[tokio::test]
async fn an_endpoint_that_fails_gets_one_last_chance() {
    let bad = [Reply::Status(503), Reply::HangUp, Reply::Status(429), Reply::Status(500)];
    for reply in bad {
        let server = Server::start(std::iter::repeat_n(reply.clone(), 10_000)).await;
        let place = Place::at(server.port);
        let queue = WebhookQueue::open(place.options()).unwrap();
        let hooks = observe(&queue, place.spec());
        prompt(&hooks, "one").await;
        prompt(&hooks, "two").await;
        let stats = queue.close(SLACK).await;
        let tried = prompts(&server.received());
        assert!((1..=AT_THE_END).contains(&tried.len()), "{reply:?}: {}", tried.len());
        assert!(tried.iter().all(|text| text == "one"));
        assert_eq!((stats[0].queued, stats[0].lost, place.kept()), (2, 0, 2), "{stats:?}");
    }
}

#[tokio::test]
async fn an_endpoint_where_nobody_listens_gets_one_last_chance() {
    let looked_up = Arc::new(AtomicUsize::new(0));
    let count = looked_up.clone();
    let place = Place::new();
    let options = WebhookOptions {
        lookup: Some(Arc::new(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            async { Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]) }.boxed()
        })),
        ..place.options()
    };
    let queue = WebhookQueue::open(options).unwrap();
    let url = format!("http://localhost:{}/hook", place.port);
    prompt(&observe(&queue, WebhookSpec::new(url, "p")), "one").await;
    let stats = queue.close(SLACK).await;
    assert_eq!((stats[0].queued, place.kept()), (1, 1), "{stats:?}");
    let tried = looked_up.load(Ordering::SeqCst);
    assert!((1..=AT_THE_END).contains(&tried), "{tried}");
}

// R10.5: an endpoint that takes messages gets them all, whatever it cannot take.
#[tokio::test]
async fn what_waits_behind_a_suspect_is_flushed_and_the_suspect_alone_holds_nobody_up() {
    let server = Server::choking_on("poison").await;
    let place = Place::at(server.port);
    let mut before = 0;
    let mut tried = || {
        let all = prompts(&server.received());
        all[std::mem::replace(&mut before, all.len())..].to_vec()
    };
    for run in 0..6 {
        let queue = WebhookQueue::open(place.options()).unwrap();
        let hooks = observe(&queue, place.spec());
        if run == 0 {
            prompt(&hooks, "poison").await;
        }
        assert_eq!(queue.close(SLACK).await[0].queued, 1);
        let tried = tried().len();
        assert!((1..=AT_THE_END).contains(&tried), "{tried}");
    }

    // It is tried before anything else is there, and rests when the end comes.
    let rest = Duration::from_secs(3600);
    let options = WebhookOptions { first_retry: rest, longest_retry: rest, ..place.options() };
    let queue = WebhookQueue::open(options).unwrap();
    let hooks = observe(&queue, place.spec());
    let deadline = Instant::now() + SLACK;
    while queue.stats()[0].last_error.is_none() {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let fine: Vec<_> = (0..12).map(|number| number.to_string()).collect();
    for text in &fine {
        prompt(&hooks, text).await;
    }
    let stats = &queue.close(SLACK).await[0];
    assert_eq!((stats.delivered, stats.queued, place.kept()), (12, 1, 1), "{stats:?}");
    let (poison, others): (Vec<_>, Vec<_>) = tried().into_iter().partition(|it| it == "poison");
    assert_eq!(others, fine);
    assert_eq!(poison.len(), 3, "at the start, before the others, after them");
}

#[tokio::test]
async fn what_is_refused_behind_a_suspect_holds_up_nothing_either() {
    let reply = |request: &Received| match request.prompt().as_str() {
        "poison" => Reply::Status(500),
        "refused" => Reply::Status(404),
        _ => Reply::Status(200),
    };
    let server = Server::serve(0, reply).await;
    let place = Place::at(server.port);
    let options = WebhookOptions { suspect_after: 2, ..place.options() };
    for texts in [&["poison"][..], &[], &["refused", "fine"]] {
        let queue = WebhookQueue::open(options.clone()).unwrap();
        let hooks = observe(&queue, place.spec());
        for text in texts {
            prompt(&hooks, text).await;
        }
        let stats = &queue.close(SLACK).await[0];
        let expected = if texts.len() == 2 { (1, 1, 1) } else { (0, 0, 1) };
        assert_eq!((stats.delivered, stats.refused, stats.queued), expected, "{stats:?}");
    }
    assert_eq!(server.received().len(), 6, "{:?}", prompts(&server.received()));
}
