//! Another process: this test program again, running the same test in another role.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

const ROLE: &str = "PINTLE_STORE_TEST_DB";
const MARK: &str = "@ ";

/// The database this process was started for, if it is a child.
pub(crate) fn role() -> Option<PathBuf> {
    std::env::var_os(ROLE).map(PathBuf::from)
}

/// Tells the parent something. What was told has left this process when it returns.
pub(crate) fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    // On a line of its own, whatever the test runner printed before.
    write!(out, "\n{MARK}{line}\n").unwrap();
    out.flush().unwrap();
}

/// Waits until the parent says something.
pub(crate) fn wait_for_parent() {
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

pub(crate) struct Other {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Other {
    /// Runs `test` of this program in its child role.
    pub(crate) fn start(test: &str, db: &Path) -> Self {
        Self::spawn(Command::new(std::env::current_exe().unwrap()), test, db)
    }

    pub(crate) fn spawn(mut program: Command, test: &str, db: &Path) -> Self {
        let mut child = program
            .args(["--exact", test, "--nocapture"])
            .env(ROLE, db)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next thing it tells; none when it has ended.
    pub(crate) fn next(&mut self) -> Option<String> {
        loop {
            let line = self.lines.next()?.unwrap();
            if let Some(told) = line.strip_prefix(MARK) {
                return Some(told.to_owned());
            }
        }
    }

    pub(crate) fn go(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    /// `kill -9`, then whatever it had told before.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        let rest = std::iter::from_fn(|| self.next()).collect();
        self.child.wait().unwrap();
        rest
    }

    /// Everything it tells until it ends by itself, in peace.
    pub(crate) fn finish(mut self) -> Vec<String> {
        let told = std::iter::from_fn(|| self.next()).collect();
        assert!(self.child.wait().unwrap().success(), "the other process failed");
        told
    }
}
