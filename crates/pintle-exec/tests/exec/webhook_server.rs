//! A small HTTP server that does as it is told, on a real socket.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use hmac::{Hmac, Mac};
use serde_json::Value;
use sha2::Sha256;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::support::SLACK;

/// What the server does with a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Status(u16),
    Redirect(String),
    /// Takes the request and never answers.
    Silence,
    /// Closes the connection.
    HangUp,
}

#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn prompt(&self) -> String {
        self.json()["context"]["prompt"].as_str().unwrap().into()
    }

    /// What a signature with this secret looks like.
    pub(crate) fn signature(&self, secret: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(self.body.as_bytes());
        let hex = mac
            .finalize()
            .into_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>();
        format!("sha256={hex}")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

pub(crate) struct Server {
    pub(crate) port: u16,
    received: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Replies in this order, then with 200 for ever.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::start_at(0, replies).await
    }

    pub(crate) async fn start_at(port: u16, replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut replies = replies.into_iter().collect::<VecDeque<_>>();
        Self::serve(port, move |_| replies.pop_front().unwrap_or(Reply::Status(200))).await
    }

    /// Takes everything but this word.
    pub(crate) async fn choking_on(word: &'static str) -> Self {
        let choke = move |request: &Received| request.body.contains(word);
        Self::serve(0, move |request| Reply::Status(if choke(request) { 500 } else { 200 })).await
    }

    /// Takes everything but this word when it comes sooner than this after another request.
    pub(crate) async fn choking_in_haste_on(word: &'static str, pause: Duration) -> Self {
        let mut last: Option<Instant> = None;
        let reply = move |request: &Received| {
            let haste = last.replace(Instant::now()).is_none_or(|last| last.elapsed() < pause);
            Reply::Status(if haste && request.body.contains(word) { 500 } else { 200 })
        };
        Self::serve(0, reply).await
    }

    /// Replies to each request as this says.
    pub(crate) async fn serve(
        port: u16,
        reply: impl FnMut(&Received) -> Reply + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let replies: Replies = Arc::new(Mutex::new(reply));
        let seen = received.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, seen.clone(), replies.clone()));
            }
        });
        Self { port, received, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Waits until so many requests have arrived.
    pub(crate) async fn wait_for(&self, count: usize) -> Vec<Received> {
        let deadline = Instant::now() + SLACK;
        while self.received().len() < count {
            assert!(Instant::now() < deadline, "only {} arrived", self.received().len());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.received()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Replies = Arc<Mutex<dyn FnMut(&Received) -> Reply + Send>>;

async fn converse(mut stream: TcpStream, received: Arc<Mutex<Vec<Received>>>, replies: Replies) {
    while let Some(request) = read_request(&mut stream).await {
        let reply = replies.lock().unwrap()(&request);
        received.lock().unwrap().push(request);
        let answer = match reply {
            Reply::Status(status) => format!("HTTP/1.1 {status} It\r\ncontent-length: 0\r\n\r\n"),
            Reply::Redirect(to) => {
                format!("HTTP/1.1 307 There\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
            }
            Reply::Silence => return std::future::pending().await,
            Reply::HangUp => return,
        };
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let request = Received { head, body: String::new() };
    let length: usize = request.header("content-length")?.parse().ok()?;
    while bytes.len() < head_end + length {
        stream.read_buf(&mut bytes).await.ok()?;
    }
    let body = String::from_utf8(bytes[head_end..head_end + length].to_vec()).unwrap();
    Some(Received { body, ..request })
}
