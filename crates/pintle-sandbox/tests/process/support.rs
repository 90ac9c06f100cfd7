//! Processes in a folder of their own, and a look at what they leave behind.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use pintle_sandbox::{
    Command, Confinement, Folder, Output, Process, Stdin, Streams, TERM_GRACE, Unconfined,
};
use tempfile::TempDir;
use tokio::{io::AsyncReadExt, net::unix::pipe::Receiver, time::sleep};

/// The machine is shared: what should take a moment gets this long.
pub(crate) const LAG: Duration = Duration::from_secs(20);

/// Is in the environment of every process of a test, whatever the supervisor finds them by.
const MARK: &str = "PINTLE_TEST_MARK";

/// A folder, and the mark of all processes that are started in it.
pub(crate) struct Place {
    dir: TempDir,
    mark: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let nanos = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
        Self {
            dir: tempfile::tempdir().unwrap(),
            mark: format!("{}-{nanos}-{count}", std::process::id()),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn command(&self, program: impl Into<PathBuf>, args: &[&str]) -> Command {
        Command {
            env: vec![("PATH".into(), "/usr/bin:/bin".into()), (MARK.into(), (&self.mark).into())],
            ..command_in(&self.path(), program, args)
        }
    }

    pub(crate) fn shell(&self, line: &str) -> Command {
        self.command("/bin/sh", &["-c", line])
    }

    /// Writes an executable script.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Waits until no process carries this place's mark.
    pub(crate) async fn nothing_left(&self) {
        let needle = format!("{MARK}={}", self.mark);
        let is_marked = |pid: &u32| {
            fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
                environ.split(|byte| *byte == 0).any(|var| var == needle.as_bytes())
            })
        };
        none(|| pids().filter(is_marked).collect()).await;
    }

    /// Waits until no process has this place as its current folder, whatever else it got rid of.
    pub(crate) async fn nothing_stays(&self) {
        let folder = self.path();
        let stays = |pid: &u32| {
            fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|current| current == folder)
        };
        none(|| pids().filter(stays).collect()).await;
    }

    /// The PIDs in this file, a line each.
    pub(crate) fn pids_in(&self, file: &str) -> Vec<u32> {
        let text = fs::read_to_string(self.path().join(file)).unwrap();
        text.lines().map(|line| line.trim().parse().unwrap()).collect()
    }

    /// Waits until the processes are gone whose PIDs are in this file. They need not carry any mark.
    pub(crate) async fn gone(&self, file: &str) {
        let pids = self.pids_in(file);
        assert!(!pids.is_empty());
        none(|| pids.iter().copied().filter(|pid| is_alive(*pid)).collect()).await;
    }

    /// Waits until a process has made this file and written a line to it.
    pub(crate) async fn made(&self, file: &str) {
        let deadline = Instant::now() + LAG;
        while !fs::read_to_string(self.path().join(file)).is_ok_and(|text| text.ends_with('\n')) {
            assert!(Instant::now() < deadline, "there is no {file}");
            sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A program without an environment.
pub(crate) fn command_in(folder: &Path, program: impl Into<PathBuf>, args: &[&str]) -> Command {
    Command {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        env: Vec::new(),
        folder: Folder::Path(folder.to_owned()),
        stdin: Stdin::Null,
        output: Output::Separate,
    }
}

pub(crate) fn try_start(command: &Command) -> std::io::Result<(Process, Streams)> {
    Process::start(command, &Confinement::Unconfined(Unconfined::by("this test")))
}

#[track_caller]
pub(crate) fn start(command: &Command) -> (Process, Streams) {
    try_start(command).unwrap()
}

/// Runs it to its end, and says what it wrote to stdout. Nothing of it may be left.
pub(crate) async fn run(command: &Command) -> String {
    let (mut process, streams) = start(command);
    let status = process.wait().await.unwrap();
    process.exited().await;
    let said = text(streams.stdout).await;
    assert!(status.success(), "{status}: {said}");
    said
}

pub(crate) async fn text(mut stream: Receiver) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

async fn none(mut alive: impl FnMut() -> Vec<u32>) {
    let deadline = Instant::now() + TERM_GRACE + LAG;
    loop {
        let left = alive();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "these processes survive: {left:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// A zombie is dead.
pub(crate) fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']))
}
