//! Context files: an AGENTS.md near a file that the agent visits is offered to the model, once in a conversation.
//!
//! `tool_end_with_path` says which file was visited, and finds what lies near it; `tool.post`, which follows for the same call,
//! hands it to the model. Only files inside the workspace are read, and no link leads out of it.

use std::{
    collections::{HashMap, HashSet},
    io::Read,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions, OpenOptionsExt},
};
use pintle::{
    Event, Hooks, RegisterError, Verdict,
    points::{ToolEndWithPath, ToolPost},
};
use pintle_policy::normal;
use rustix::fs::OFlags;

use crate::Host;

pub(crate) const NAME: &str = "context files";

const FILE: &str = "AGENTS.md";
/// The most text that one call offers: a reminder of 4 KiB would be cut by the agent.
const MOST_BYTES: usize = 3 * 1024;
/// The most files in a conversation.
const MOST_FILES: usize = 16;
/// Conversations that are remembered; a gateway has many.
const MOST_SESSIONS: usize = 1024;

/// What was offered, by session.
#[derive(Clone)]
struct Offers(Arc<Mutex<HashMap<String, Offered>>>, Arc<Path>);

#[derive(Default)]
struct Offered {
    /// Files that the model knows of, from the workspace on.
    known: HashSet<PathBuf>,
    /// What the next `tool.post` says.
    pending: Vec<String>,
}

pub(crate) fn register(host: &Host<'_>, hooks: &Hooks) -> Result<(), RegisterError> {
    let offers = Offers(Arc::default(), host.workspace.into());
    let visited = {
        let offers = offers.clone();
        move |e: Event<ToolEndWithPath>| {
            let offers = offers.clone();
            async move {
                let session = e.envelope().session_id.clone().unwrap_or_default();
                let path = normal(&Path::new(&e.working_dir).join(&e.file_path).to_string_lossy());
                // What cannot be read is not offered.
                let _ = tokio::task::spawn_blocking(move || offers.visit(&session, &path)).await;
            }
        }
    };
    hooks.named(NAME).source("built-in").register_void(visited)?;
    let tell = move |e: Event<ToolPost>| {
        let session = e.envelope().session_id.as_deref().unwrap_or_default();
        match offers.take(session) {
            Some(text) => Verdict::allow().with_context(text),
            None => Verdict::allow(),
        }
    };
    hooks.named(NAME).source("built-in").register_gate(tell).map(drop)
}

impl Offers {
    /// Looks beside the visited file and in the folders above it, the nearest first.
    fn visit(&self, session: &str, path: &str) {
        let Ok(visited) = Path::new(path).strip_prefix(&self.1) else { return };
        let Ok(workspace) = Dir::open_ambient_dir(&self.1, ambient_authority()) else { return };
        let mut room = MOST_BYTES;
        for folder in visited.ancestors() {
            let file = folder.join(FILE);
            if !self.is_new(session, &file, visited) {
                continue;
            }
            let Some(text) = read(&workspace, &file, room) else { continue };
            room = room.saturating_sub(text.len());
            let place = match folder.as_os_str().is_empty() {
                true => "this workspace".to_string(),
                false => format!("`{}`", folder.display()),
            };
            self.offer(session, file, format!("{FILE} of {place} says:\n{text}"));
        }
    }

    /// Whether the model does not know the file. One that it has just read or written itself it knows.
    fn is_new(&self, session: &str, file: &Path, visited: &Path) -> bool {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() > MOST_SESSIONS {
            sessions.clear();
        }
        let known = &mut sessions.entry(session.to_string()).or_default().known;
        if file == visited {
            known.insert(file.to_path_buf());
        }
        known.len() < MOST_FILES && !known.contains(file)
    }

    fn offer(&self, session: &str, file: PathBuf, text: String) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let offered = sessions.entry(session.to_string()).or_default();
        if offered.known.insert(file) {
            offered.pending.push(text);
        }
    }

    fn take(&self, session: &str) -> Option<String> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pending = std::mem::take(&mut sessions.get_mut(session)?.pending);
        (!pending.is_empty()).then(|| pending.join("\n\n"))
    }
}

/// As much of the file as there is room for, and where the rest is. Opened below the workspace's own handle, so that no link
/// leads out of it.
fn read(workspace: &Dir, file: &Path, room: usize) -> Option<String> {
    let mut options = OpenOptions::new();
    // A pipe is not waited for.
    options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let opened = workspace.open_with(file, &options).ok()?;
    if !opened.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(room).unwrap_or(u64::MAX).saturating_add(1);
    opened.take(most).read_to_end(&mut bytes).ok()?;
    let is_cut = bytes.len() > room;
    bytes.truncate(room);
    let text = String::from_utf8_lossy(&bytes).trim().to_string();
    match (text.is_empty(), is_cut) {
        (true, false) => None,
        (_, true) => Some(format!("{text}\n[cut here: read `{}` for the rest]", file.display())),
        (_, false) => Some(text),
    }
}
