//! What does accepting a message cost? Prints one JSON object per line.
//!
//! `cargo run --release -p pintle-store --example bench_accept`
//!
//! Accepting is one transaction: the duplicate's key, the lane's bound, the place in the lane, the message. It is
//! compared with the smallest transaction of the same store, which writes one short value. Both wait for the disk. They
//! are timed one by one, in turns, so that whatever else the machine does hits both.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing, missing_docs)]

use std::time::{Duration, Instant};

use pintle::points::{InboundMessage, Sender};
use pintle_agent::store::{Accepted, NewInbound, Queues};
use pintle_store::SqliteStore;
use serde_json::json;

/// Messages of each chat, and chats.
const MESSAGES: usize = 20;
const CHATS: usize = 100;

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("pintle.db")).await.unwrap();
    let (mut accepting, mut smallest) = (Vec::new(), Vec::new());
    for n in 0..MESSAGES {
        for chat in 0..CHATS {
            let new = message(chat, n);
            let began = Instant::now();
            assert_eq!(store.accept(new, 100).await.unwrap(), Accepted::Queued);
            accepting.push(began.elapsed());
            let key = format!("{chat} {n}");
            let began = Instant::now();
            store.put_value(&key, "", u64::MAX).await.unwrap();
            smallest.push(began.elapsed());
        }
    }
    let (accepting, smallest) = (median(accepting), median(smallest));
    let row = json!({
        "row": "accepting a message, kept in SQLite",
        "value": accepting,
        "unit": "ns",
        "against": "the smallest transaction of the same store",
        "base": smallest,
        "ratio": accepting / smallest,
        "hold": "≤ 2×",
    });
    println!("{row}");
}

fn message(chat: usize, n: usize) -> NewInbound {
    let said = InboundMessage::default()
        .id(n.to_string())
        .platform("bench")
        .chat_id(chat.to_string())
        .sender(Sender::default().id("ann"))
        .text("Is the release out? If not, tell me what it waits for.");
    NewInbound {
        dedup_key: format!("bench/{chat}/{n}"),
        lane: format!("bench:{chat}"),
        run_id: format!("run {chat} {n}"),
        session_id: format!("session {chat}"),
        personality: None,
        message: said,
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_nanos() as f64
}
