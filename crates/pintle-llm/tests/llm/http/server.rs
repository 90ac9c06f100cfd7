//! A server that answers as told: byte by byte, too late, or only in part.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};

/// One answer.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Each piece is sent as a chunk of its own.
    pub(crate) pieces: Vec<Vec<u8>>,
    pub(crate) framing: Framing,
    pub(crate) close: Close,
}

/// How the client can tell where the body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// By the last chunk: an early end shows.
    Chunked,
    /// By the end of the connection: an early end looks like any other.
    UntilClose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    Properly,
    /// Without the last chunk.
    Early,
    /// Not until the client hangs up.
    Never,
    /// Not even the status line is sent.
    BeforeHeaders,
}

impl Reply {
    pub(crate) fn ok(pieces: Vec<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            pieces,
            framing: Framing::Chunked,
            close: Close::Properly,
        }
    }

    pub(crate) fn error(status: u16, body: &str) -> Self {
        Self { status, ..Self::ok(vec![body.as_bytes().to_vec()]) }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn framed(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    pub(crate) fn closed(mut self, close: Close) -> Self {
        self.close = close;
        self
    }
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    /// The body as it stands on the wire.
    pub(crate) raw: Vec<u8>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// Gives its replies in order, the last one for ever. Stops when dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    hung_up: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let hung_up = Arc::new(Notify::new());
        let task = tokio::spawn({
            let (seen, hung_up) = (Arc::clone(&seen), Arc::clone(&hung_up));
            async move {
                for turn in 0.. {
                    let (mut socket, _) = listener.accept().await.unwrap();
                    socket.set_nodelay(true).unwrap();
                    let request = read_request(&mut socket).await;
                    seen.lock().unwrap().push(request);
                    let reply = replies.get(turn).or(replies.last()).unwrap();
                    // The client may hang up in the middle, as it should after an error.
                    let _ = answer(&mut socket, reply, &hung_up).await;
                }
            }
        });
        Self { url, seen, hung_up, task }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until a client hangs up on a reply that never closes.
    pub(crate) async fn hung_up(&self) {
        self.hung_up.notified().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read_request(socket: &mut TcpStream) -> Seen {
    let mut bytes = Vec::new();
    let head_len = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        assert_ne!(
            socket.read_buf(&mut bytes).await.unwrap(),
            0,
            "the client hung up inside its request"
        );
    };
    let head = String::from_utf8(bytes[..head_len].to_vec()).unwrap();
    let mut lines = head.lines();
    let target = lines.next().unwrap().split(' ').take(2).collect::<Vec<_>>().join(" ");
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .unwrap()
        .1
        .parse::<usize>()
        .unwrap();
    while bytes.len() < head_len + length {
        assert_ne!(
            socket.read_buf(&mut bytes).await.unwrap(),
            0,
            "the client hung up inside its body"
        );
    }
    let raw = bytes[head_len..head_len + length].to_vec();
    let body = serde_json::from_slice(&raw).unwrap();
    Seen { target, headers, raw, body }
}

async fn answer(socket: &mut TcpStream, reply: &Reply, hung_up: &Notify) -> std::io::Result<()> {
    if reply.close == Close::BeforeHeaders {
        return wait_for_hang_up(socket, hung_up).await;
    }
    let mut head = format!("HTTP/1.1 {} Said\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if reply.framing == Framing::Chunked {
        head.push_str("transfer-encoding: chunked\r\n");
    }
    socket.write_all(format!("{head}\r\n").as_bytes()).await?;
    for piece in &reply.pieces {
        match reply.framing {
            Framing::Chunked => {
                let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
                chunk.extend_from_slice(piece);
                chunk.extend_from_slice(b"\r\n");
                socket.write_all(&chunk).await?;
            }
            Framing::UntilClose => socket.write_all(piece).await?,
        }
    }
    match (reply.close, reply.framing) {
        (Close::Properly, Framing::Chunked) => socket.write_all(b"0\r\n\r\n").await?,
        (Close::Never, _) => return wait_for_hang_up(socket, hung_up).await,
        _ => {}
    }
    socket.shutdown().await
}

async fn wait_for_hang_up(socket: &mut TcpStream, hung_up: &Notify) -> std::io::Result<()> {
    let mut rest = Vec::new();
    let ended = socket.read_to_end(&mut rest).await;
    hung_up.notify_one();
    ended.map(|_| ())
}
