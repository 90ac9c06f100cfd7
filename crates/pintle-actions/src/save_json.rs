//! The `save_json` action: one line per event, in a file that cannot be outside the profile's folder (R10.6).

use std::{
    fs::File,
    io::{Error, ErrorKind, Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions, OpenOptionsExt},
};
use pintle::{DynEvent, Failure, now_ms};
use pintle_policy::{normal, resolve};
use pintle_profile::{
    ActionCheck, HOOKS_FOLDER, Hook, Node, Problem, Profile, bad_inner_path, pattern,
};
use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Action, BindError, Binding, Scrubber};

/// Appends the event to a file, one JSON line each.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SaveJson {
    /// The file, relative to the profile's folder and inside it.
    #[schemars(extend("format" = "line", "pattern" = path_pattern()))]
    path: String,
}

/// Named like a list of events; no folder, no name longer than any file's, nothing of git's or of the profile itself.
fn path_pattern() -> String {
    let own = r"[Aa][Gg][Ee][Nn][Tt]\.[Jj][Ss][Oo][Nn](/|$)|[Pp][Ee][Rr][Ss][Oo][Nn][Aa][Ll][Ii][Tt][Ii][Ee][Ss]/";
    let not = format!(r"(?!.*\.\.)(.*[^/]{{256}}|(.*/)?\.[Gg][Ii][Tt](/|$)|(\./+)*({own}))");
    format!(r"^(?=.*\.(jsonl?|ndjson|log|txt)$)(?!.*/$)(?!{not}){}", pattern::inner_path())
}

impl Action for SaveJson {
    const NAME: &'static str = "save_json";
    const ALSO_CALLED: &'static [&'static str] = &["save", "file", "write", "append", "record"];
    const OBSERVES: bool = true;

    fn check(action: &Node, check: &mut ActionCheck<'_>) {
        let Some((node, text)) = action.get("path").and_then(|node| Some((node, node.text()?)))
        else {
            return;
        };
        check.problems.extend(bad_path(text, node, check.folder));
        if is_saved_as(&normal(text)) {
            check.problems.extend(bad_target(text, node, check));
        }
    }

    fn does(&self, _: &Hook) -> (&'static str, String) {
        ("saves to", normal(&self.path))
    }

    fn bind(self, binding: &mut Binding<'_>) -> Result<(), BindError> {
        let (profile, scrubber) = (binding.host.profile, binding.scrubber.clone());
        let file = EventFile::new(profile, &normal(&self.path), scrubber)
            .map_err(|error| binding.error(error))?;
        binding.register(move |event| file.clone().append(event))
    }
}

/// File systems take no longer name.
const LONGEST_NAME: usize = 255;

/// No runner and no shell takes a file of these kinds for a program.
const SAVED_AS: [&str; 5] = ["json", "jsonl", "log", "ndjson", "txt"];

fn is_saved_as(file: &str) -> bool {
    let kind = Path::new(file).extension().and_then(|kind| kind.to_str());
    kind.is_some_and(|kind| SAVED_AS.contains(&kind))
}

const OWN_FILE: &str = "save to a file of its own, like `logs/events.jsonl`";

fn bad_path(text: &str, node: &Node, folder: &Path) -> Option<Problem> {
    let span = node.span.clone();
    if let Some(problem) = bad_inner_path(text, &span, folder) {
        return Some(problem);
    }
    let plain = normal(text);
    let lower = plain.to_lowercase();
    let is_file = |it: &&Path| folder.join(it).exists() && !folder.join(it).is_dir();
    let (what, label) = if !leads_nowhere_else(folder, &plain) {
        ("is a link, or goes through one".to_owned(), "events would be written to another file")
    } else if let Some(long) = plain.split('/').find(|part| part.len() > LONGEST_NAME) {
        let message =
            format!("a name of {} bytes, and none is longer than {LONGEST_NAME}", long.len());
        return Some(Problem::at(span, message, "", "give the file a shorter name"));
    } else if let Some(file) = Path::new(&plain).ancestors().skip(1).find(is_file) {
        let what = format!("cannot be: `{}` is a file, not a folder", file.display());
        (what, "goes through a file")
    } else if lower == "agent.json" || lower.starts_with("personalities/") {
        ("is part of the profile itself".into(), "would be overwritten by events")
    } else if lower.split('/').any(|part| part == ".git") {
        ("is in a folder of git".into(), "git runs what is written there")
    } else if plain.is_empty() || text.ends_with('/') || folder.join(&plain).is_dir() {
        let help = "name the file too, like `logs/events.jsonl`";
        return Some(Problem::at(span, format!("`{text}` is a folder"), "expected a file", help));
    } else if !is_saved_as(&plain) {
        // A program is made by its name too: `Makefile`, `.bashrc`, `BUILD.SH`.
        let label = "expected a name that ends in .jsonl, .ndjson, .json, .log or .txt";
        ("is not named like a list of events".into(), label)
    } else {
        return None;
    };
    Some(Problem::at(span, format!("`{text}` {what}"), label, OWN_FILE))
}

/// Whether no part of the path is a link, and the file has no second name.
fn leads_nowhere_else(folder: &Path, plain: &str) -> bool {
    let place = resolve(folder, Path::new(""));
    let same =
        |place: PathBuf| resolve(folder, Path::new(plain)).is_ok_and(|it| it == place.join(plain));
    let one_name = std::fs::symlink_metadata(folder.join(plain))
        .map_or(true, |meta| !meta.is_file() || meta.nlink() == 1);
    place.is_ok_and(same) && one_name
}

const BECOMES_COMMANDS: &str = "events would become commands";

/// A file that is well named and already means something.
fn bad_target(text: &str, node: &Node, check: &ActionCheck<'_>) -> Option<Problem> {
    let target = normal(text);
    let (what, label) = if is_record(&target, check) {
        ("lies in the operator's data folder", "the records of trust and approvals are there")
    } else if check.scripts.contains(&target) {
        ("is a script that a hook runs", BECOMES_COMMANDS)
    } else if Path::new(&target.to_lowercase()).starts_with(HOOKS_FOLDER) {
        ("lies in `hooks/`, among the scripts", BECOMES_COMMANDS)
    } else if may_be_run(&check.folder.join(&target)) {
        ("is a program", BECOMES_COMMANDS)
    } else {
        return None;
    };
    Some(Problem::at(node.span.clone(), format!("`{text}` {what}"), label, OWN_FILE))
}

/// What the data folder holds that a path of events could name.
const RECORDS: [&str; 5] = ["history.txt", "locks", "trust.json", "trusted", "webhooks"];

/// Whether it is among the operator's records. Where the profile is the data folder itself, only some names are.
fn is_record(target: &str, check: &ActionCheck<'_>) -> bool {
    let real = |place: &Path| resolve(place, Path::new("")).ok();
    let Some((folder, data)) = real(check.folder).zip(check.data.and_then(real)) else {
        return false;
    };
    let target = resolve(check.folder, Path::new(target)).unwrap_or_default();
    match folder == data {
        true => RECORDS.iter().any(|record| target.starts_with(data.join(record))),
        false => data.starts_with(&folder) && target.starts_with(&data),
    }
}

/// Whether the file could be run as it is.
fn may_be_run(path: &Path) -> bool {
    let is_executable =
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    let has_interpreter = || {
        let mut start = [0; 2];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
        read.is_ok() && start == *b"#!"
    };
    is_executable || (path.is_file() && has_interpreter())
}

#[derive(Clone)]
struct EventFile(Arc<Inner>);

struct Inner {
    /// The folder that the profile was read from, also when another has its name by now.
    dir: Dir,
    path: PathBuf,
    profile: String,
    scrubber: Arc<Scrubber>,
    /// One line at a time: lines of concurrent runs never interleave.
    turn: Mutex<()>,
}

impl EventFile {
    fn new(profile: &Profile, path: &str, scrubber: Arc<Scrubber>) -> std::io::Result<Self> {
        Ok(Self(Arc::new(Inner {
            dir: Dir::open_ambient_dir(&profile.dir, ambient_authority())?,
            path: Path::new(path).components().collect(),
            profile: profile.name.clone(),
            scrubber,
            turn: Mutex::default(),
        })))
    }

    async fn append(self, event: DynEvent) -> Result<Value, Failure> {
        let written = tokio::task::spawn_blocking(move || self.0.append(&event)).await;
        match written {
            Ok(Ok(())) => Ok(Value::Null),
            Ok(Err(error)) => Err(Failure::errored(format!("the line cannot be saved: {error}"))),
            Err(_) => Err(Failure::errored("the line cannot be saved")),
        }
    }
}

impl Inner {
    fn append(&self, event: &DynEvent) -> std::io::Result<()> {
        let mut line = format!("{}\n", self.line(event));
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = self.open()?;
        // Another process may append to the same file: the lock keeps its lines whole too.
        file.lock()?;
        let length = file.metadata()?.len();
        if !is_whole(&mut file, length)? {
            line.insert(0, '\n');
        }
        file.write_all(line.as_bytes()).inspect_err(|_| {
            // A half line is worse than none, and if this fails too the next one still begins a line of its own.
            drop(file.set_len(length));
        })
    }

    /// The object that a webhook posts (R10.5): a reader of one can read the other.
    fn line(&self, event: &DynEvent) -> Value {
        let mut context = Value::clone(&event.json);
        if let Some(fields) = context.as_object_mut() {
            fields.insert("event".into(), event.point.into());
        }
        self.scrubber.scrub_json(&mut context);
        let ts = if event.envelope.ts > 0 { event.envelope.ts } else { now_ms() };
        json!({ "v": 1, "ts": ts, "profile": self.profile, "event": event.point, "context": context })
    }

    /// Opened anew each time, part by part below the folder's own handle: no link, also one made since, can lead to another
    /// file than the one that is written in agent.json.
    fn open(&self) -> std::io::Result<File> {
        let mut dir = self.dir.try_clone()?;
        let mut parts = self.path.iter().peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return Self::open_in(&dir, Path::new(part));
            }
            match dir.create_dir(part) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => dir = dir.open_dir_nofollow(part)?,
            }
        }
        Err(ErrorKind::InvalidFilename.into())
    }

    fn open_in(dir: &Dir, name: &Path) -> std::io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).follow(FollowSymlinks::No);
        // A pipe is not waited for, and nothing but a file is written to.
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let mut file = dir.open_with(name, &options)?.into_std();
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(Error::other("it is not an ordinary file"));
        }
        // The file may have become a program since the profile was read.
        let mut start = Vec::new();
        std::io::Read::by_ref(&mut file).take(2).read_to_end(&mut start)?;
        if meta.mode() & 0o111 != 0 || start == b"#!" {
            return Err(Error::other("it may be run, and events would become commands"));
        }
        if meta.nlink() > 1 {
            return Err(Error::other("it has a second name, and may be part of the profile"));
        }
        Ok(file)
    }
}

/// Whether the last line has an end: who wrote it may have been killed, or the disk full.
fn is_whole(file: &mut File, length: u64) -> std::io::Result<bool> {
    let Some(last) = length.checked_sub(1) else { return Ok(true) };
    let mut end = [0];
    file.seek(SeekFrom::Start(last))?;
    file.read_exact(&mut end)?;
    Ok(end == *b"\n")
}
