//! What the tests of several tools need.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use pintle::{Cx, Hooks};
use pintle_agent::{
    Notebook, OutsideMark, Progress, TicketBoard, ToolCx, store::NoteScope, testing::MemoryStore,
};
use rustix::process::{Pid, test_kill_process};
use tokio_util::sync::CancellationToken;

pub(crate) fn cx(workspace: &Path) -> ToolCx {
    ToolCx {
        workspace: Arc::new(workspace.to_path_buf()),
        session_id: "s1".into(),
        run_id: "r1".into(),
        cancel: CancellationToken::new(),
        progress: Progress::default(),
        sandbox: Default::default(),
        tickets: TicketBoard::for_agent(Arc::new(MemoryStore::default()), Hooks::new(), Cx::test()),
        notes: Notebook::new(
            Arc::new(MemoryStore::default()),
            NoteScope { personality: "main".into(), workspace: "/w".into() },
            false,
        ),
        outside: OutsideMark::default(),
    }
}

/// A context whose progress can be read, and awaited.
pub(crate) fn watched(workspace: &Path) -> (ToolCx, Watched) {
    let watched = Watched::default();
    let sink = watched.clone();
    let progress = Progress::new(move |text| {
        sink.said.lock().unwrap().push_str(text);
        sink.more.notify_waiters();
    });
    (ToolCx { progress, ..cx(workspace) }, watched)
}

#[derive(Clone, Default)]
pub(crate) struct Watched {
    said: Arc<Mutex<String>>,
    more: Arc<tokio::sync::Notify>,
}

impl Watched {
    pub(crate) fn text(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until the progress holds `needle`.
    pub(crate) async fn says(&self, needle: &str) {
        loop {
            let more = self.more.notified();
            if self.text().contains(needle) {
                return;
            }
            more.await;
        }
    }
}

/// The process ids in a text, one per line.
pub(crate) fn pids(text: &str) -> Vec<i32> {
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Waits until none of the processes lives. A zombie does not.
pub(crate) async fn all_gone(pids: &[i32]) {
    let started = Instant::now();
    while let Some(pid) = pids.iter().find(|pid| lives(**pid)) {
        assert!(started.elapsed() < Duration::from_secs(30), "process {pid} is still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) fn lives(pid: i32) -> bool {
    let Some(id) = Pid::from_raw(pid) else { return false };
    if test_kill_process(id).is_err() {
        return false;
    }
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        // The state follows the name, which stands in parentheses and may hold any character.
        Ok(stat) => stat.rsplit(") ").next().is_none_or(|rest| !rest.starts_with('Z')),
        Err(_) => !Path::new("/proc/self/stat").exists(),
    }
}
