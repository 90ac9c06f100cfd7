//! The skill queue: runs that did real work wait in a file for a person to look at what can be learned from them.
//!
//! A run is queued at `agent_done` if enough of its tool calls succeeded, and its personality has not queued one for a while.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use pintle::{Envelope, Event, Hooks, RegisterError, points::AgentDone};
use pintle_profile::SkillQueueSettings;
use serde::{Deserialize, Serialize};

use crate::Host;

pub(crate) const NAME: &str = "skill queue";

/// The most of a prompt or an answer that is kept.
const MOST_TEXT: usize = 4 * 1024;

/// A run that waits to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedRun {
    /// The run.
    pub run_id: String,
    /// Its session.
    pub session_id: String,
    /// Whose run it was.
    pub personality: String,
    /// What was asked.
    pub prompt: String,
    /// What was answered.
    pub text: String,
    /// The tools it used.
    pub tool_names: Vec<String>,
    /// How many of its calls succeeded.
    pub successful_tool_calls: u32,
    /// When it was queued, in milliseconds since 1970.
    pub queued_at: u64,
}

/// The queue in a data folder. Processes that share the folder share the queue.
#[derive(Debug, Clone)]
pub struct SkillQueue {
    file: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Contents {
    /// Oldest first.
    pending: Vec<QueuedRun>,
    /// When each personality last queued a run.
    last: BTreeMap<String, u64>,
}

pub(crate) fn register(host: &Host<'_>, hooks: &Hooks) -> Result<(), RegisterError> {
    let (queue, settings) = (SkillQueue::in_folder(host.data), host.settings.skill_queue.clone());
    let done = move |e: Event<AgentDone>| {
        let (queue, settings) = (queue.clone(), settings.clone());
        async move {
            let Some(run) = substantive(e.envelope(), &e, &settings) else { return Ok(()) };
            let offered = tokio::task::spawn_blocking(move || queue.offer(run, &settings)).await;
            let failed = |error: &dyn std::fmt::Display| {
                pintle::Failure::errored(format!("the run could not be queued: {error}"))
            };
            offered.map_err(|error| failed(&error))?.map_err(|error| failed(&error))
        }
    };
    hooks.named(NAME).source("built-in").register_void(done).map(drop)
}

/// The run, if it ended well and did enough. A sub-agent's work is part of its parent's.
fn substantive(
    envelope: &Envelope,
    done: &AgentDone,
    settings: &SkillQueueSettings,
) -> Option<QueuedRun> {
    let enough = done.successful_tool_calls >= settings.min_tool_calls;
    if !enough || done.outcome != "end_turn" || envelope.parent_session_id.is_some() {
        return None;
    }
    Some(QueuedRun {
        run_id: envelope.run_id.clone()?,
        session_id: envelope.session_id.clone()?,
        personality: envelope.personality_id.clone().unwrap_or_default(),
        prompt: cut(&done.initial_prompt),
        text: cut(&done.text),
        tool_names: done.tool_names.clone(),
        successful_tool_calls: done.successful_tool_calls,
        queued_at: envelope.ts,
    })
}

fn cut(text: &str) -> String {
    text.get(..text.floor_char_boundary(MOST_TEXT)).unwrap_or(text).to_string()
}

impl SkillQueue {
    /// The queue of this data folder.
    pub fn in_folder(data: &Path) -> Self {
        Self { file: data.join("skills.json") }
    }

    /// The runs that wait, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn pending(&self) -> io::Result<Vec<QueuedRun>> {
        Ok(self.read()?.pending)
    }

    /// Takes a run out of the queue; `false` if it is not there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn drop_run(&self, run_id: &str) -> io::Result<bool> {
        self.change(|contents| {
            let before = contents.pending.len();
            contents.pending.retain(|run| run.run_id != run_id);
            contents.pending.len() < before
        })
    }

    /// Queues the run, unless its personality has queued one within the cool-down. A full queue loses its oldest run.
    fn offer(&self, run: QueuedRun, settings: &SkillQueueSettings) -> io::Result<()> {
        let cool_down = settings.cool_down_minutes.saturating_mul(60_000);
        self.change(|contents| {
            let last = contents.last.get(&run.personality);
            if last.is_some_and(|last| run.queued_at < last.saturating_add(cool_down)) {
                return;
            }
            contents.last.insert(run.personality.clone(), run.queued_at);
            contents.pending.push(run);
            let too_many = contents.pending.len().saturating_sub(settings.max_pending);
            contents.pending.drain(..too_many);
        })
    }

    fn read(&self) -> io::Result<Contents> {
        match fs::read(&self.file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Contents::default()),
            Err(error) => Err(error),
        }
    }

    /// One process at a time; a reader sees the file before or after, never in between.
    fn change<T>(&self, change: impl FnOnce(&mut Contents) -> T) -> io::Result<T> {
        let lock = File::create(self.file.with_extension("lock"))?;
        lock.lock()?;
        let mut contents = self.read()?;
        let changed = change(&mut contents);
        let written = self.file.with_extension("new");
        fs::write(&written, serde_json::to_vec_pretty(&contents).map_err(io::Error::other)?)?;
        fs::rename(&written, &self.file)?;
        Ok(changed)
    }
}
