//! A model provider on a socket of this machine: gives its replies in order, one connection each, and keeps what it was
//! sent.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::Instant,
};

use serde_json::{Value, json};

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A request as it came in.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) at: Instant,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Server {
    pub(crate) fn start(replies: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = seen.clone();
        std::thread::spawn(move || {
            for reply in replies {
                let (mut socket, _) = listener.accept().unwrap();
                kept.lock().unwrap().push(read(&mut socket));
                // A client that has read enough hangs up.
                let _ = socket.write_all(reply.as_bytes());
            }
        });
        Self { url, seen }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn read(socket: &mut TcpStream) -> Seen {
    let at = Instant::now();
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let mut more = |bytes: &mut Vec<u8>| {
        let read = socket.read(&mut buffer).unwrap();
        assert_ne!(read, 0, "the client hung up inside its request");
        bytes.extend_from_slice(&buffer[..read]);
    };
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        more(&mut bytes);
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let length: usize = length.trim().parse().unwrap();
    while bytes.len() < end + length {
        more(&mut bytes);
    }
    Seen { at, head, body: bytes[end..].to_vec() }
}

/// Refused for now.
pub(crate) fn too_many_requests(wait_seconds: u32) -> String {
    let body = r#"{"error": {"message": "slow down", "type": "rate_limit"}}"#;
    let length = body.len();
    format!(
        "HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\nretry-after: {wait_seconds}\r\ncontent-type: \
         application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// A streamed answer as OpenAI sends it. The body ends with the connection: an early end looks like any other.
pub(crate) struct Streamed(String);

impl Streamed {
    pub(crate) fn new() -> Self {
        Self(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n"
                .to_string(),
        )
    }

    fn frame(mut self, data: &Value) -> Self {
        self.0.push_str(&format!("data: {data}\n\n"));
        self
    }

    fn delta(self, delta: &Value) -> Self {
        self.frame(&json!({"id": "c1", "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.delta(&json!({"content": text}))
    }

    /// A whole call, its arguments in two halves.
    pub(crate) fn call(self, id: &str, name: &str, arguments: &Value) -> Self {
        let arguments = arguments.to_string();
        let (first, second) = arguments.split_at(arguments.len() / 2);
        let begun = json!({"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        let more =
            |half: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": half}}]});
        self.delta(&json!({"tool_calls": [begun]})).delta(&more(first)).delta(&more(second))
    }

    pub(crate) fn end(self, reason: &str) -> String {
        let last =
            self.frame(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
        let usage = json!({"prompt_tokens": 17, "completion_tokens": 9, "total_tokens": 26});
        last.frame(&json!({"choices": [], "usage": usage})).0 + "data: [DONE]\n\n"
    }

    /// Breaks off here.
    pub(crate) fn cut(self) -> String {
        self.0
    }
}
