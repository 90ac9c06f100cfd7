//! The messages that wait for an endpoint, on disk: a file of JSON lines that grows with each message and each thing that
//! happens to one, and is rewritten when most of its lines are settled.
//!
//! Processes share a folder with numbered folders in it: the first process that uses an endpoint has its file in `0`, a second
//! one at the same time has its file in `1`. A later process takes over the files of processes that are gone.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// One message, ready to be sent. Kept as it will be sent: a signature is over these very bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Message {
    /// When it was accepted, in milliseconds; never less than that of the message before.
    pub(super) at: u64,
    pub(super) id: Arc<str>,
    /// Where it goes, and whose it is: so that a file can be understood alone.
    pub(super) url: Arc<str>,
    pub(super) owner: Arc<str>,
    /// The name of the secret that signs it; never its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<Arc<str>>,
    /// How often the endpoint could not take it.
    #[serde(default)]
    pub(super) tries: u32,
    /// What the body is if it is not JSON. It is kept in base64 then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content_type: Option<Arc<str>>,
    pub(super) body: Arc<str>,
}

/// One line of a file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    Message(Message),
    /// That message needs nothing any more.
    Gone {
        gone: Arc<str>,
    },
    /// How often that message could not be taken, from then on.
    Tries {
        of: Arc<str>,
        tries: u32,
    },
}

/// So many processes can be at the same endpoint.
const MOST_PROCESSES: u32 = 1024;

/// A file is written anew when it is twice as long as it was then, and this much.
const WORTH_REPLACING: u64 = 1024 * 1024;

/// The file of one endpoint. No other process uses it while this lives.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    _lock: File,
    file: Option<File>,
    length: u64,
    /// Its length when it was last written anew.
    replaced: u64,
    /// A line may be there in part: no other may follow it.
    torn: bool,
}

/// What a file holds.
#[derive(Default)]
pub(super) struct Left {
    /// Oldest first.
    pub(super) messages: Vec<Message>,
    /// Lines that cannot be read.
    pub(super) damaged: u64,
}

impl Journal {
    /// The first file for this endpoint that no living process has, with what dead ones left in theirs.
    ///
    /// # Errors
    /// When the folder cannot be made, read or written.
    pub(super) fn open(shared: &Path, owner: &str, url: &str) -> io::Result<(Self, Left)> {
        let name = file_name(owner, url);
        let mut folders = (0..MOST_PROCESSES).map(|number| shared.join(number.to_string()));
        let (path, lock) = loop {
            let Some(folder) = folders.next() else {
                return Err(io::Error::other("too many processes use it"));
            };
            make_folder(&folder)?;
            let path = folder.join(&name);
            if let Some(lock) = lock(&path)? {
                break (path, lock);
            }
        };
        let mut left = read(&path)?;
        let mut theirs = Vec::new();
        for path in folders.take_while(|folder| folder.exists()).map(|folder| folder.join(&name)) {
            if path.exists()
                && let Some(lock) = self::lock(&path)?
            {
                left.add(read(&path)?);
                theirs.push((path, lock));
            }
        }
        let mut journal =
            Self { path, _lock: lock, file: None, length: 0, replaced: 0, torn: true };
        journal.replace(&left.messages)?;
        for (path, _lock) in theirs {
            fs::remove_file(path)?;
        }
        Ok((journal, left))
    }

    /// Adds lines behind those there are.
    pub(super) fn append(&mut self, lines: &[Line]) -> io::Result<()> {
        let bytes = to_bytes(lines)?;
        self.torn = true;
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(private().create_new(true).open(&self.path)?),
        };
        file.write_all(&bytes)?;
        self.torn = false;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Whether it should be rewritten before more is added.
    pub(super) fn is_worn(&self) -> bool {
        self.torn || self.length > 2 * self.replaced + WORTH_REPLACING
    }

    /// Whether the file has everything that was written to it.
    pub(super) fn is_intact(&self) -> bool {
        let length = fs::metadata(&self.path).map_or(0, |file| file.len());
        !self.torn && length == self.length
    }

    /// Replaces the content with these messages, or leaves it as it is. Without messages the file is removed.
    pub(super) fn replace(&mut self, messages: &[Message]) -> io::Result<()> {
        let mut length = 0;
        self.file = if messages.is_empty() {
            match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => None,
            }
        } else {
            let unfinished = self.path.with_extension("part");
            let mut file = private().create(true).truncate(true).open(&unfinished)?;
            let bytes = to_bytes(messages)?;
            file.write_all(&bytes)?;
            fs::rename(&unfinished, &self.path)?;
            length = bytes.len() as u64;
            Some(file)
        };
        (self.length, self.replaced, self.torn) = (length, length, false);
        Ok(())
    }
}

impl Left {
    /// Among its own messages each process has kept their order, and their times grow: by time, all of it stays so.
    fn add(&mut self, other: Self) {
        self.damaged += other.damaged;
        self.messages.extend(other.messages);
        self.messages.sort_by_key(|message| message.at);
        // A process that was killed while it took over another one's file has written some messages twice.
        let mut seen = HashSet::new();
        self.messages.retain(|message| seen.insert(message.id.clone()));
    }
}

/// Messages on disk that wait for an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptWebhooks {
    /// The endpoint; empty when the file is too damaged to say.
    pub url: String,
    /// Who sent them: see [`WebhookOptions::owner`](super::WebhookOptions::owner).
    pub owner: String,
    /// How many there are.
    pub messages: usize,
    /// Lines of the file that cannot be read.
    pub damaged: u64,
    /// Where they are.
    pub file: PathBuf,
    /// A living process has them in its queue.
    pub held: bool,
}

/// What waits in a folder of undelivered messages, for whomever. Looks, and changes nothing.
///
/// # Errors
/// When the folder is there and cannot be read.
pub fn kept_webhooks(spool: &Path) -> io::Result<Vec<KeptWebhooks>> {
    let mut kept = Vec::new();
    let folders = (0..MOST_PROCESSES).map(|number| spool.join(number.to_string()));
    for folder in folders.take_while(|folder| folder.exists()) {
        for entry in fs::read_dir(&folder)? {
            let file = entry?.path();
            if file.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            let Left { messages, damaged } = read(&file)?;
            let (url, owner) = match messages.first() {
                Some(message) => (message.url.to_string(), message.owner.to_string()),
                None if damaged == 0 => continue,
                None => (String::new(), String::new()),
            };
            let held = File::open(file.with_extension("lock"))
                .is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
            kept.push(KeptWebhooks { url, owner, messages: messages.len(), damaged, file, held });
        }
    }
    kept.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(kept)
}

fn file_name(owner: &str, url: &str) -> String {
    let hash = Sha256::digest(format!("{owner}\n{url}").as_bytes());
    let name: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}.jsonl")
}

/// The lock beside a file: its holder may change the file. `None` when another process has it.
fn lock(file: &Path) -> io::Result<Option<File>> {
    let lock = private().create(true).truncate(false).open(file.with_extension("lock"))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn read(file: &Path) -> io::Result<Left> {
    let bytes = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Left::default()),
        read => read?,
    };
    let mut left = Left::default();
    let (mut gone, mut tried) = (HashSet::new(), HashMap::new());
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(Line::Message(message)) => left.messages.push(message),
            Ok(Line::Gone { gone: id }) => drop(gone.insert(id)),
            Ok(Line::Tries { of, tries }) => drop(tried.insert(of, tries)),
            Err(_) => left.damaged += 1,
        }
    }
    left.messages.retain(|message| !gone.contains(&message.id));
    for message in &mut left.messages {
        message.tries = tried.get(&message.id).copied().unwrap_or(message.tries);
    }
    Ok(left)
}

fn to_bytes(lines: &[impl Serialize]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Other users must not read the contexts.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn message(number: u64, body: &str) -> Message {
        let id = number.to_string().into();
        let (url, owner) = ("u".into(), "o".into());
        Message {
            at: number,
            id,
            url,
            owner,
            secret: None,
            tries: 0,
            content_type: None,
            body: body.into(),
        }
    }

    #[test]
    fn a_file_is_written_anew_when_most_of_it_is_past() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path(), "o", "u").unwrap();
        let stays = message(0, "stays");
        journal.append(&[Line::Message(stays.clone())]).unwrap();
        let long = "x".repeat(100_000);
        for number in 1..=100 {
            let gone = number.to_string().into();
            let lines = [Line::Message(message(number, &long)), Line::Gone { gone }];
            match journal.is_worn() {
                true => journal.replace(std::slice::from_ref(&stays)).unwrap(),
                false => journal.append(&lines).unwrap(),
            }
            assert!(fs::metadata(&journal.path).unwrap().len() < 2 * WORTH_REPLACING);
            assert!(journal.is_intact());
        }
        drop(journal);
        let (_, left) = Journal::open(folder.path(), "o", "u").unwrap();
        assert_eq!((left.messages, left.damaged), (vec![stays], 0));
    }

    #[test]
    fn a_process_killed_while_taking_over_has_written_nothing_twice() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = [(); 2].map(|()| Journal::open(folder.path(), "o", "u").unwrap().0);
        for (mut journal, number) in [(first, 1), (second, 2)] {
            journal.append(&[Line::Message(message(number, "x"))]).unwrap();
        }
        let theirs = folder.path().join("1").join(file_name("o", "u"));
        let copy = fs::read(&theirs).unwrap();
        drop(Journal::open(folder.path(), "o", "u").unwrap());
        assert!(!theirs.exists());
        fs::write(theirs, copy).unwrap();
        let (_, left) = Journal::open(folder.path(), "o", "u").unwrap();
        assert_eq!(left.messages, [message(1, "x"), message(2, "x")]);
    }

    #[test]
    fn attempts_are_counted_across_restarts() {
        let folder = tempfile::tempdir().unwrap();
        for tries in [2, 7, 5] {
            let (mut journal, left) = Journal::open(folder.path(), "o", "u").unwrap();
            if left.messages.is_empty() {
                journal.append(&[Line::Message(message(1, "x"))]).unwrap();
            }
            journal.append(&[Line::Tries { of: "1".into(), tries }]).unwrap();
            drop(journal);
            let (_, left) = Journal::open(folder.path(), "o", "u").unwrap();
            assert_eq!(left.messages.first().map(|message| message.tries), Some(tries));
        }
    }
}
