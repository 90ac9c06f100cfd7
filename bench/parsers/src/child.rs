//! One row, one grammar, one process.

use std::{
    io::{Read, Write},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use crate::{Grammar, names::plain};

const PATIENCE: Duration = Duration::from_secs(20);

pub enum Said {
    /// The names it found, sorted.
    Found(Vec<String>),
    Refused,
    Crashed,
}

impl Said {
    /// Whether something in it is decided at run time.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Found(names) if names.iter().any(|name| name == "?"))
    }
}

/// The child's part: a command on standard input, its names as JSON on standard output, or nothing and exit code 1.
pub fn serve(grammar: Option<Grammar>) -> ExitCode {
    let mut command = String::new();
    let Some(grammar) = grammar else { return ExitCode::from(2) };
    if std::io::stdin().read_to_string(&mut command).is_err() {
        return ExitCode::from(2);
    }
    match grammar(&command) {
        Ok(names) => {
            println!("{}", serde_json::json!(plain(names)));
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::from(1),
    }
}

/// The parent's part.
pub fn ask(grammar: &str, command: &str) -> Said {
    let program = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(program)
        .args(["--child", grammar])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program starts");
    // A child that dies early has not read everything: that shows in how it ends.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(command.as_bytes()));
    let mut stdout = child.stdout.take().expect("piped");
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = stdout.read_to_end(&mut said);
        said
    });
    let until = Instant::now() + PATIENCE;
    let ended = loop {
        match child.try_wait().expect("a child can be waited for") {
            Some(status) => break Some(status),
            None if Instant::now() > until => {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let said = reader.join().unwrap_or_default();
    match ended.and_then(|status| status.code()) {
        Some(0) => serde_json::from_slice(&said).map_or(Said::Crashed, Said::Found),
        Some(1) => Said::Refused,
        _ => Said::Crashed,
    }
}
