//! Text as it comes: the program shows what a model has said while it is still speaking.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::Stdio,
    sync::mpsc,
};

use serde_json::json;

use crate::support::{PATIENCE, World};

/// A model that says one half, waits to be told to go on, and says the other.
fn halting_model() -> (String, mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/", listener.local_addr().unwrap());
    let (go_on, told) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        read_request(&stream);
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        for (half, finish) in [("One half,", json!(null)), (" the other.", json!("stop"))] {
            let delta = json!({"index": 0, "delta": {"content": half}, "finish_reason": finish});
            let chunk = json!({"id": "c1", "object": "chat.completion.chunk", "choices": [delta]});
            stream.write_all(format!("data: {chunk}\n\n").as_bytes()).unwrap();
            stream.flush().unwrap();
            if finish.is_null() {
                told.recv_timeout(PATIENCE).expect("somebody has seen the first half");
            }
        }
        stream.write_all(b"data: [DONE]\n\n").unwrap();
    });
    (url, go_on)
}

fn read_request(stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
}

// Fails, by waiting for ever, if the text came only when it is complete.
#[test]
fn the_first_half_is_seen_before_the_other_is_said() {
    let arguments: [(&[&str], &str); 2] =
        [(&["chat"], "One half,"), (&["chat", "--json"], "One half,")];
    for (arguments, awaited) in arguments {
        let world = World::new();
        let (url, go_on) = halting_model();
        let mut command = world.command(&[arguments, &["--model", "openai/gpt-4o"]].concat());
        command.env("OPENAI_BASE_URL", url).env("OPENAI_API_KEY", "none");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
        let mut out = child.stdout.take().unwrap();
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains(awaited) {
            let mut more = [0; 1024];
            let count = out.read(&mut more).unwrap();
            assert!(count > 0, "it ended: {}", world.said(child.wait_with_output().unwrap()));
            seen.extend(&more[..count]);
        }
        let early = String::from_utf8_lossy(&seen).into_owned();
        assert!(!early.contains("the other"), "{early}");
        go_on.send(()).unwrap();
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert!(rest.contains(" the other."), "{early}|{rest}");
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}
