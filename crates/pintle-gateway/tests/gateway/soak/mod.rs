//! Many chats, many messages, `kill -9` in the middle: everything accepted is answered, in order, and no tool runs twice.
//!
//! The gateway is a process of its own with SQLite, its HTTP API and a signed webhook. This side sends, kills, restarts and
//! counts. A tool writes a line into a file: that is the witness of what ran.

mod gateway_process;
mod no_ledger;
mod receiver;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, RwLock},
    time::{Duration, Instant},
};

use pintle::points::ToolOutcome;
use pintle_agent::store::{
    CallFilter, Ledger, MessageState, OutgoingFilter, OutgoingState, Queues,
};
use pintle_http::reqwest::{Client, header};
use pintle_store::SqliteStore;
use serde_json::{Value, json};
use tokio::task::JoinSet;

pub(crate) use gateway_process::{is_gateway, serve};
use receiver::Receiver;

const TOKEN: &str = "a token for the soak";
const SECRET: &str = "a secret for the soak";
/// How long everything may stand still.
const PATIENCE: Duration = Duration::from_secs(120);
const SENDERS: usize = 16;

/// A chat and the number of a message in it.
type Id = (usize, usize);

/// What is done.
#[derive(Clone)]
pub(crate) struct Soak {
    pub(crate) chats: usize,
    /// In each chat.
    pub(crate) messages: usize,
    pub(crate) kills: usize,
    /// Whether tool calls are written down before they run. Without it the soak has to fail.
    pub(crate) ledger: bool,
    /// This very program, in the role of the gateway.
    pub(crate) gateway: fn() -> Command,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) accepted: usize,
    pub(crate) duplicates: usize,
    pub(crate) answered: usize,
    /// Answers that came before the answer to an earlier message of their chat.
    pub(crate) out_of_order: usize,
    /// Answers that were sent again under their key, after a crash.
    pub(crate) resent: usize,
    pub(crate) bad_signatures: usize,
    pub(crate) tools_twice: usize,
    /// Calls whose outcome is listed as unknown.
    pub(crate) unknown: usize,
    /// Messages whose tool did not run, or whose answer says "unknown", and that are not listed.
    pub(crate) unlisted: usize,
    /// Messages and answers that are still open at the end.
    pub(crate) left: usize,
    /// Memory of the gateway after the last restart and at the end.
    pub(crate) early_kib: u64,
    pub(crate) end_kib: u64,
}

impl Report {
    /// What is wrong, if anything.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let zero = [
            ("not answered", self.accepted - self.answered),
            ("out of order", self.out_of_order),
            ("wrongly signed", self.bad_signatures),
            ("tools that ran twice", self.tools_twice),
            ("unknown outcomes that are not listed", self.unlisted),
            ("left in the queues", self.left),
        ];
        let wrong = zero.into_iter().filter(|(_, count)| *count > 0);
        wrong.map(|(what, count)| format!("{count} {what}")).collect()
    }
}

impl Soak {
    fn total(&self) -> usize {
        self.chats * self.messages
    }

    pub(crate) async fn run(&self) -> Report {
        let folder = tempfile::tempdir().unwrap();
        let receiver = Receiver::start().await;
        let process = GatewayProcess::start(self, folder.path(), &receiver.address);
        let address = Arc::new(RwLock::new(process.address.clone()));
        let sent = Arc::new(Mutex::new(HashMap::new()));
        let duplicates = Arc::new(Mutex::new(0));
        let mut senders = JoinSet::new();
        for number in 0..SENDERS {
            let (soak, address, sent) = (self.clone(), address.clone(), sent.clone());
            senders.spawn(soak.send(number, address, sent, duplicates.clone()));
        }
        let (process, early_kib) =
            self.break_things(process, folder.path(), &receiver, &address).await;
        senders.join_all().await;
        self.wait_for_answers(&receiver).await;
        // An answer may be here before the gateway has written down that it is.
        let store = SqliteStore::open(folder.path().join("pintle.db")).await.unwrap();
        let began = Instant::now();
        while left(&store).await > 0 && began.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut report = Report {
            end_kib: process.memory_kib(),
            early_kib,
            duplicates: *duplicates.lock().unwrap(),
            ..Report::default()
        };
        drop(process);
        let sent = std::mem::take(&mut *sent.lock().unwrap());
        report.check(&sent, &receiver, &store, folder.path()).await;
        report
    }

    /// Sends the messages of some chats, each chat's in order, every third twice, until each was accepted.
    async fn send(
        self,
        number: usize,
        address: Arc<RwLock<String>>,
        sent: Arc<Mutex<HashMap<String, Id>>>,
        duplicates: Arc<Mutex<usize>>,
    ) {
        let client = pintle_http::client().timeout(Duration::from_secs(30)).build().unwrap();
        let mine: Vec<usize> = (number..self.chats).step_by(SENDERS).collect();
        for n in 0..self.messages {
            for chat in &mine {
                let times = if (chat + n) % 3 == 0 { 2 } else { 1 };
                for _ in 0..times {
                    let run_id = deliver(&client, &address, *chat, n).await;
                    let before = sent.lock().unwrap().insert(run_id, (*chat, n));
                    if let Some(before) = before {
                        assert_eq!(before, (*chat, n), "two messages share a run");
                        *duplicates.lock().unwrap() += 1;
                    }
                }
            }
        }
    }

    /// Kills the gateway in the first half of the work, each time right after a tool took effect and before its result
    /// was stored. Returns the last process, and its memory some time after its start.
    async fn break_things(
        &self,
        mut process: GatewayProcess,
        folder: &Path,
        receiver: &Receiver,
        address: &RwLock<String>,
    ) -> (GatewayProcess, u64) {
        let (mut known, mut read) = (0, 0);
        for kill in 1..=self.kills {
            let due = self.total() / 2 * kill / self.kills;
            let mut moved = Instant::now();
            loop {
                let (fresh, end) = effects(folder, read);
                let is_slow = |(_, n): &Id| gateway_process::is_slow(*n);
                (known, read) = (known + fresh.len(), end);
                if known >= due && fresh.iter().any(is_slow) {
                    break;
                }
                if !fresh.is_empty() {
                    moved = Instant::now();
                }
                assert!(moved.elapsed() < PATIENCE, "no tool runs any more, {known} have run");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            drop(process);
            process = GatewayProcess::start(self, folder, &receiver.address);
            address.write().unwrap().clone_from(&process.address);
        }
        // A tenth of the work later everything that is ever in memory was there once.
        let warm = receiver.answered() + self.total() / 10;
        let began = Instant::now();
        while receiver.answered() < warm.min(self.total()) && began.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let early_kib = process.memory_kib();
        (process, early_kib)
    }

    async fn wait_for_answers(&self, receiver: &Receiver) {
        let (mut known, mut moved) = (0, Instant::now());
        while known < self.total() && moved.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let answered = receiver.answered();
            if answered > known {
                (known, moved) = (answered, Instant::now());
            }
        }
    }
}

impl Report {
    async fn check(
        &mut self,
        sent: &HashMap<String, Id>,
        receiver: &Receiver,
        store: &SqliteStore,
        folder: &Path,
    ) {
        let answers = receiver.answers();
        self.accepted = sent.len();
        self.answered = answers.len();
        self.resent = receiver.resent();
        self.bad_signatures = receiver.bad_signatures();
        let mut newest: BTreeMap<usize, usize> = BTreeMap::new();
        for (chat, n) in receiver.order() {
            let newest = newest.entry(chat).or_insert(n);
            self.out_of_order += usize::from(n < *newest);
            *newest = n.max(*newest);
        }
        let mut ran: BTreeMap<Id, usize> = BTreeMap::new();
        for id in effects(folder, 0).0 {
            *ran.entry(id).or_default() += 1;
        }
        self.tools_twice = ran.values().filter(|times| **times > 1).count();

        let unknown = CallFilter { outcome: Some(ToolOutcome::Unknown), ..CallFilter::default() };
        let listed = store.calls(unknown).await.unwrap();
        let listed: BTreeSet<Id> = listed.iter().map(|call| sent[&call.run_id]).collect();
        self.unknown = listed.len();
        let says_unknown =
            |id: &Id| answers.get(id).is_some_and(|text| text.starts_with("unknown"));
        let is_unlisted =
            |id: &&Id| (!ran.contains_key(id) || says_unknown(id)) && !listed.contains(id);
        self.unlisted = sent.values().filter(is_unlisted).count();
        self.left = left(store).await;
    }
}

/// Messages and answers that are not settled.
async fn left(store: &SqliteStore) -> usize {
    let mut left = 0;
    for state in [MessageState::Queued, MessageState::Parked, MessageState::Dead] {
        left += store.messages(state).await.unwrap().len();
    }
    for state in [OutgoingState::Prepared, OutgoingState::Failed, OutgoingState::Unknown] {
        let filter = OutgoingFilter { state: Some(state), ..OutgoingFilter::default() };
        left += store.outgoing(filter).await.unwrap().len();
    }
    left
}

/// Posts one message until it is accepted, and returns the id of its run.
async fn deliver(client: &Client, address: &RwLock<String>, chat: usize, n: usize) -> String {
    let body = json!({
        "chat": format!("c{chat}"), "messageId": n.to_string(), "sender": "ann", "text": format!("{chat} {n}"),
    });
    let began = Instant::now();
    loop {
        let url = format!("http://{}/v1/messages", address.read().unwrap());
        let posted = client
            .post(url)
            .header(header::AUTHORIZATION, format!("Bearer {TOKEN}"))
            .header(header::CONTENT_TYPE, "application/json")
            .header("prefer", "respond-async")
            .body(body.to_string())
            .send()
            .await;
        if let Ok(response) = posted
            && response.status() == 202
            && let Ok(text) = response.text().await
        {
            let reply: Value = serde_json::from_str(&text).unwrap();
            return reply["runId"].as_str().unwrap().to_string();
        }
        // It was killed, or starts.
        assert!(began.elapsed() < PATIENCE, "message {n} of chat {chat} is not accepted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What the tool did, in order, from this byte of the witness on; and where to read on.
fn effects(folder: &Path, from: u64) -> (Vec<Id>, u64) {
    let mut text = String::new();
    if let Ok(mut file) = std::fs::File::open(folder.join("effects")) {
        file.seek(SeekFrom::Start(from)).unwrap();
        file.read_to_string(&mut text).unwrap();
    }
    let id = |line: &str| {
        let (chat, n) = line.split_once(' ')?;
        Some((chat.parse().ok()?, n.parse().ok()?))
    };
    // The last line may be in the middle of being written.
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    (whole.lines().filter_map(id).collect(), from + whole.len() as u64)
}

/// A gateway in a process of its own, killed when it is dropped.
struct GatewayProcess {
    process: Child,
    address: String,
}

impl GatewayProcess {
    fn start(soak: &Soak, folder: &Path, webhook: &str) -> Self {
        let role = json!({ "folder": folder, "webhook": webhook, "ledger": soak.ledger });
        let mut process = (soak.gateway)()
            .env(gateway_process::ROLE, role.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let said = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix(gateway_process::MARK)?.to_string()));
        Self { process, address: said.expect("the gateway says where it listens") }
    }

    fn memory_kib(&self) -> u64 {
        let status = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }
}

impl Drop for GatewayProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
