//! What is not delivered is on disk, and sent by whoever comes next.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use pintle_exec::{
    EndpointStats, WebhookOptions, WebhookQueue, WebhookSecret, WebhookSpec, kept_webhooks,
};

use crate::{
    support::SLACK,
    webhook_delivery::{observe, prompt, prompts, quick},
    webhook_server::{Reply, Server},
};

/// A folder, and an endpoint nobody listens at until later.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    pub(crate) port: u16,
}

impl Place {
    pub(crate) fn new() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        Self::at(listener.local_addr().unwrap().port())
    }

    pub(crate) fn at(port: u16) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), port }
    }

    fn spool(&self) -> PathBuf {
        self.folder.path().join("webhooks")
    }

    pub(crate) fn options(&self) -> WebhookOptions {
        WebhookOptions { spool: Some(self.spool()), ..quick() }
    }

    pub(crate) fn spec(&self) -> WebhookSpec {
        WebhookSpec::new(format!("http://127.0.0.1:{}/hook", self.port), "p")
    }

    fn signed(&self, name: &str, value: &str) -> WebhookSpec {
        let secret = WebhookSecret { name: name.into(), value: value.into() };
        WebhookSpec { secret: Some(secret), ..self.spec() }
    }

    /// A process that could not deliver.
    async fn left(&self, spec: WebhookSpec, texts: &[&str]) -> EndpointStats {
        let queue = WebhookQueue::open(self.options()).unwrap();
        let hooks = observe(&queue, spec);
        for text in texts {
            prompt(&hooks, text).await;
        }
        queue.close(Duration::from_millis(50)).await.remove(0)
    }

    pub(crate) fn kept(&self) -> usize {
        kept_webhooks(&self.spool()).unwrap().iter().map(|kept| kept.messages).sum()
    }
}

fn file(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder.join("0")).unwrap().map(|entry| entry.unwrap().path());
    let mut files = files.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
    let file = files.next().expect("something is kept");
    assert_eq!(files.next(), None);
    file
}

#[tokio::test]
async fn what_could_not_be_delivered_is_sent_after_a_restart_in_order() {
    let place = Place::new();
    let queue = WebhookQueue::open(place.options()).unwrap();
    let hooks = observe(&queue, place.spec());
    for text in ["one", "two", "three"] {
        prompt(&hooks, text).await;
    }
    let stats = queue.close(Duration::from_millis(200)).await;
    assert_eq!((stats[0].queued, stats[0].dropped), (3, 0));
    prompt(&hooks, "after closing").await;
    assert_eq!(queue.stats()[0].dropped, 1);
    drop((queue, hooks));

    let server = Server::start_at(place.port, []).await;
    let queue = WebhookQueue::open(place.options()).unwrap();
    let hooks = observe(&queue, place.spec());
    prompt(&hooks, "four").await;
    let received = server.wait_for(4).await;
    assert_eq!(prompts(&received), ["one", "two", "three", "four"]);
    queue.close(SLACK).await;
    assert_eq!(place.kept(), 0);
}

// A process that is killed has no time to write: what is queued is on disk already, whatever the endpoint does.
#[tokio::test]
async fn messages_are_on_disk_while_an_endpoint_takes_its_time() {
    let place = Place::new();
    let server = Server::start_at(place.port, std::iter::repeat_n(Reply::Silence, 100)).await;
    let options = WebhookOptions { request_timeout: Duration::from_secs(3600), ..place.options() };
    let queue = WebhookQueue::open(options).unwrap();
    let hooks = observe(&queue, place.spec());
    prompt(&hooks, "first").await;
    server.wait_for(1).await;
    for text in ["second", "third"] {
        prompt(&hooks, text).await;
    }
    let deadline = Instant::now() + SLACK;
    while place.kept() < 3 {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let kept = kept_webhooks(&place.spool()).unwrap().remove(0);
    assert!(kept.held && kept.url.ends_with("/hook"), "{kept:?}");
}

#[tokio::test]
async fn what_was_delivered_before_a_crash_is_not_sent_again() {
    let place = Place::new();
    let server = Server::start_at(
        place.port,
        [Reply::Status(200), Reply::Status(200)]
            .into_iter()
            .chain(std::iter::repeat_n(Reply::Silence, 100)),
    )
    .await;
    let queue = WebhookQueue::open(place.options()).unwrap();
    let hooks = observe(&queue, place.spec());
    for text in ["one", "two", "three"] {
        prompt(&hooks, text).await;
    }
    server.wait_for(3).await;
    let deadline = Instant::now() + SLACK;
    while place.kept() != 1 {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

// R10.5
#[tokio::test]
async fn what_was_kept_is_signed_with_its_own_secret_of_today() {
    let place = Place::new();
    let queue = WebhookQueue::open(place.options()).unwrap();
    let specs = [place.signed("A", "old a"), place.spec(), place.signed("B", "old b")];
    let hooks = specs.map(|spec| observe(&queue, spec));
    for number in 0..6 {
        prompt(&hooks[number % 3], &number.to_string()).await;
    }
    assert_eq!(queue.close(Duration::from_millis(50)).await[0].queued, 6);
    drop((queue, hooks));

    let server = Server::start_at(place.port, []).await;
    let queue = WebhookQueue::open(place.options()).unwrap();
    // While only one of them is there, what the others left waits for them.
    let _first = observe(&queue, place.signed("B", "new b"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    let _others = [place.spec(), place.signed("A", "new a")].map(|spec| observe(&queue, spec));
    let received = server.wait_for(6).await;
    assert_eq!(prompts(&received), ["0", "1", "2", "3", "4", "5"]);
    let secrets = [Some("new a"), None, Some("new b")];
    for (request, secret) in received.iter().zip(secrets.into_iter().cycle()) {
        let signature = secret.map(|secret| request.signature(secret));
        assert_eq!(request.header("x-pintle-signature"), signature.as_deref());
    }
}

#[tokio::test]
async fn what_was_kept_is_signed_with_another_secret_when_its_own_is_gone() {
    let place = Place::new();
    place.left(place.signed("OLD", "old"), &["one"]).await;
    place.left(place.spec(), &["two"]).await;
    let server = Server::start_at(place.port, []).await;
    let queue = WebhookQueue::open(place.options()).unwrap();
    let hooks = observe(&queue, place.signed("NEW", "new"));
    prompt(&hooks, "three").await;
    let received = server.wait_for(3).await;
    assert_eq!(prompts(&received), ["one", "two", "three"]);
    for request in received {
        assert_eq!(request.header("x-pintle-signature"), Some(&*request.signature("new")));
    }
}

#[tokio::test]
async fn hooks_with_different_secrets_share_an_endpoint_and_its_order() {
    let server = Server::start([]).await;
    let place = Place::at(server.port);
    let queue = WebhookQueue::open(quick()).unwrap();
    let hooks = ["a", "b"].map(|secret| observe(&queue, place.signed(secret, secret)));
    for number in 0..6 {
        prompt(&hooks[number % 2], &number.to_string()).await;
    }
    let received = server.wait_for(6).await;
    assert_eq!(prompts(&received), ["0", "1", "2", "3", "4", "5"]);
    for (request, secret) in received.iter().zip(["a", "b"].into_iter().cycle()) {
        assert_eq!(request.header("x-pintle-signature"), Some(&*request.signature(secret)));
    }
}

#[tokio::test]
async fn a_secret_whose_value_changes_while_messages_wait_signs_them_with_the_new_one() {
    let place = Place::new();
    let queue = WebhookQueue::open(place.options()).unwrap();
    let hooks = ["old", "new"].map(|value| observe(&queue, place.signed("A", value)));
    prompt(&hooks[0], "one").await;
    let server = Server::start_at(place.port, []).await;
    let received = server.wait_for(1).await;
    assert_eq!(received[0].header("x-pintle-signature"), Some(&*received[0].signature("new")));
}

#[tokio::test]
async fn damaged_lines_are_skipped_and_counted() {
    let place = Place::new();
    place.left(place.spec(), &["one", "two", "three"]).await;
    let file = file(&place.spool());
    let mut bytes = fs::read(&file).unwrap();
    let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    bytes.splice(second..second, *b"\xff\xfe\n{\"id\":\"y\"}\n");
    bytes.extend(b"{\"id\":\"x\",\"body\":\"\xc3");
    fs::write(&file, bytes).unwrap();

    let server = Server::start_at(place.port, []).await;
    let queue = WebhookQueue::open(place.options()).unwrap();
    let hooks = observe(&queue, place.spec());
    prompt(&hooks, "four").await;
    assert_eq!(prompts(&server.wait_for(4).await), ["one", "two", "three", "four"]);
    assert_eq!(queue.stats()[0].damaged, 3);
}

#[tokio::test]
async fn a_message_that_alone_fails_is_passed_and_given_up_across_restarts() {
    let server = Server::choking_on("poison").await;
    let place = Place::at(server.port);
    let mut stats = place.left(place.spec(), &["poison"]).await;
    // Each of them has too little time to try it often enough, as a program that asks one question.
    for number in 0..100 {
        if stats.refused > 0 {
            break;
        }
        stats = place.left(place.spec(), &[&number.to_string()]).await;
    }
    let mut taken = prompts(&server.received());
    taken.retain(|text| text != "poison");
    let numbers: Vec<_> = (0..taken.len()).map(|number| number.to_string()).collect();
    assert!(taken.len() > 1 && taken == numbers, "{taken:?}");
    assert_eq!(stats.refused, 1, "{stats:?}");
    assert!(stats.last_refusal.unwrap().contains("while others arrive"));
}

// R10.5: in order, also when several processes left something.
#[tokio::test]
async fn what_dead_processes_left_is_taken_over_by_time() {
    let place = Place::new();
    let queues = [0, 1].map(|_| WebhookQueue::open(place.options()).unwrap());
    let hooks = [0, 1].map(|at: usize| observe(&queues[at], place.spec()));
    for (at, text) in [(0, "one"), (1, "two"), (0, "three"), (1, "four")] {
        prompt(&hooks[at], text).await;
        // Times are in milliseconds.
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    for queue in &queues {
        assert_eq!(queue.close(Duration::from_millis(50)).await[0].queued, 2);
    }
    drop((hooks, queues));
    assert_eq!(kept_webhooks(&place.spool()).unwrap().len(), 2);

    let server = Server::start_at(place.port, []).await;
    let queue = WebhookQueue::open(place.options()).unwrap();
    let hooks = observe(&queue, place.spec());
    prompt(&hooks, "five").await;
    assert_eq!(prompts(&server.wait_for(5).await), ["one", "two", "three", "four", "five"]);
    queue.close(SLACK).await;
    assert_eq!(place.kept(), 0);
}

#[tokio::test]
async fn nobody_sends_what_another_owner_left() {
    let place = Place::new();
    let server = Server::start_at(place.port, []).await;
    let owned = |owner: &str| WebhookOptions { owner: owner.into(), ..place.options() };
    let queue = WebhookQueue::open(owned("ours")).unwrap();
    // Nobody listens at port 1.
    let nowhere = WebhookSpec::new("http://127.0.0.1:1/hook", "p");
    prompt(&observe(&queue, nowhere.clone()), "for nobody").await;
    queue.close(Duration::from_millis(50)).await;
    drop(queue);

    let queue = WebhookQueue::open(owned("theirs")).unwrap();
    let hooks = [observe(&queue, nowhere), observe(&queue, place.spec())];
    prompt(&hooks[1], "hello").await;
    server.wait_for(1).await;
    let stats = queue.stats();
    assert!(stats.iter().all(|stats| stats.url.ends_with(":1/hook") || stats.dropped == 0));
    let kept = kept_webhooks(&place.spool()).unwrap();
    let ours: Vec<_> = kept.iter().filter(|kept| kept.owner == "ours").collect();
    assert_eq!((ours.len(), ours[0].messages, ours[0].held), (1, 1, false), "{kept:?}");
    assert_eq!(ours[0].url, "http://127.0.0.1:1/hook");
}

#[tokio::test]
async fn what_is_kept_on_disk_is_bounded() {
    let place = Place::new();
    let options = WebhookOptions { max_messages: 5, ..place.options() };
    for (run, dropped) in [(0, 3), (1, 8), (2, 8)] {
        let queue = WebhookQueue::open(options.clone()).unwrap();
        let hooks = observe(&queue, place.spec());
        for number in 0..8 {
            prompt(&hooks, &format!("{run}-{number}")).await;
        }
        let stats = queue.close(Duration::from_millis(50)).await;
        assert_eq!((stats[0].queued, stats[0].dropped), (5, dropped), "{stats:?}");
    }
    assert_eq!(place.kept(), 5);
}

#[tokio::test]
async fn what_is_taken_over_is_bounded() {
    let place = Place::new();
    let open = || {
        let options = WebhookOptions { max_messages: 5, ..place.options() };
        let queue = WebhookQueue::open(options).unwrap();
        let hooks = observe(&queue, place.spec());
        (queue, hooks)
    };
    let at_once = [open(), open(), open()];
    for (queue, hooks) in &at_once {
        for number in 0..5 {
            prompt(hooks, &number.to_string()).await;
        }
        queue.close(Duration::from_millis(50)).await;
    }
    assert_eq!(place.kept(), 15);
    drop(at_once);
    for dropped in [10, 0] {
        let stats = open().0.close(Duration::from_millis(50)).await;
        assert_eq!((stats[0].queued, stats[0].dropped), (5, dropped), "{stats:?}");
        assert_eq!(place.kept(), 5);
    }
}

#[tokio::test]
async fn a_broken_folder_loses_nothing_in_silence() {
    let place = Place::new();
    let queue = WebhookQueue::open(place.options()).unwrap();
    prompt(&observe(&queue, place.spec()), "one").await;
    fs::remove_dir_all(place.spool()).unwrap();
    fs::write(place.spool(), "not a folder").unwrap();
    let stats = queue.close(Duration::from_millis(100)).await;
    assert_eq!((stats[0].lost, stats[0].queued), (1, 0));
    assert!(stats[0].last_error.as_ref().unwrap().contains("cannot be kept"), "{stats:?}");
}
