//! What is in the files of a profile, read once for as long as they stay the same.

use crate::paths::{is_inside, resolve};
use crate::profile::{git, installed, reaches::Reaches, read_file, read_pieces};
use crate::trust::{content_hash, written_hash};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Programs that were compiled are large; none is this large.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// No script that somebody wrote is longer; of what is, the words are not looked at.
const MOST_TEXT: usize = 1024 * 1024;
/// A file that was just written can be written again without a later date: it is read again while it is so young.
const SETTLED: Duration = Duration::from_secs(2);

/// A write through memory that was mapped earlier leaves the times as they were: files up to this size are read each time,
const SMALL: u64 = 64 * 1024;
/// and of all of them together so much.
const MOST_READ_AGAIN: u64 = 1024 * 1024;

/// The files that were read, by what tells whether they changed.
#[derive(Debug, Default)]
pub struct Contents {
    known: HashMap<String, (Stamp, Arc<Known>)>,
    /// What was seen in this look at them: it is one state of each file, however often it is asked for.
    seen: HashMap<String, (Stamp, Arc<Known>)>,
    folders: HashMap<PathBuf, Marks>,
    /// Folders that were found to lie in the profile's in this look: to resolve a path takes longer than to read a file.
    inner: HashSet<PathBuf>,
    read_again: u64,
}

/// What told the files apart when they were looked at.
#[derive(Debug, Clone, Default)]
pub struct Stamps {
    files: HashMap<String, Stamp>,
    folders: HashMap<PathBuf, Marks>,
}

impl Stamps {
    /// A file that is there in both looks and was written, or put in place of another, in between, if only to put it back.
    #[must_use]
    pub fn moved(&self, later: &Self) -> Option<&str> {
        let differs =
            |file: &str, stamp: &Stamp| later.files.get(file).is_some_and(|it| it != stamp);
        let mut moved = self.files.iter().filter(|(file, stamp)| differs(file, stamp));
        moved.next().map(|(file, _)| file.as_str())
    }

    /// A folder in which something came or went in between, if only for a moment.
    #[must_use]
    pub fn stirred(&self, later: &Self) -> Option<&Path> {
        let differs =
            |folder: &Path, marks: &Marks| later.folders.get(folder).is_some_and(|it| it != marks);
        let mut stirred = self.folders.iter().filter(|(folder, marks)| differs(folder, marks));
        stirred.next().map(|(folder, _)| folder.as_path())
    }
}

/// What is known of a file.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) hash: String,
    /// What it says, if that was asked for: to find it takes many times as long as to hash the file.
    said: Option<Said>,
}

#[derive(Debug)]
struct Said {
    words: Words,
    reaches: Reaches,
}

impl Known {
    pub(crate) fn words(&self) -> &HashSet<String> {
        static NONE: LazyLock<HashSet<String>> = LazyLock::new(HashSet::new);
        self.said.as_ref().map_or(&NONE, |said| &said.words.all)
    }

    /// What it reaches, if it is a script.
    pub(crate) fn reaches(&self) -> &Reaches {
        static NONE: LazyLock<Reaches> = LazyLock::new(Reaches::default);
        self.said.as_ref().map_or(&NONE, |said| &said.reaches)
    }

    pub(crate) fn is_only_written(&self, word: &str) -> bool {
        self.said.as_ref().is_some_and(|said| said.words.only_written.contains(word))
    }
}

/// What a text speaks of.
#[derive(Debug)]
pub(crate) struct Words {
    /// Every word that could be a name or a path.
    pub(crate) all: HashSet<String>,
    /// Those of them that stand only where something is written to.
    pub(crate) only_written: HashSet<String>,
}

/// What no write leaves as it was: the file's place on the disk, its size and its times. The time of a change is the
/// system's to set. A link counts with what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    is_link: bool,
    own: Marks,
    led_to: Option<Marks>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Marks {
    place: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Result<Self, Error> {
        let own = std::fs::symlink_metadata(path)?;
        let is_link = own.is_symlink();
        let led_to = is_link.then(|| std::fs::metadata(path).ok()).flatten();
        Ok(Self { is_link, own: Marks::of(&own), led_to: led_to.as_ref().map(Marks::of) })
    }

    fn is_older_than(&self, moment: SystemTime) -> bool {
        let moment = moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let older = |marks: &Marks| u64::try_from(marks.changed.0).unwrap_or(0) < moment;
        older(&self.own) && self.led_to.as_ref().is_none_or(older)
    }
}

impl Marks {
    fn of(meta: &Metadata) -> Self {
        Self {
            place: (meta.dev(), meta.ino()),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

impl Contents {
    /// Begins to look anew.
    pub(crate) fn look_again(&mut self) {
        self.seen.clear();
        self.folders.clear();
        self.inner.clear();
        self.read_again = 0;
    }

    /// A folder of which every file counts. One that comes and goes there leaves its mark on the folder.
    pub(crate) fn see_folder(&mut self, folder: &Path, place: &Path) {
        if let Ok(meta) = std::fs::symlink_metadata(folder.join(place)) {
            self.folders.insert(place.to_owned(), Marks::of(&meta));
        }
    }

    /// What told apart those of the files that were read since. One that was only looked into does not count.
    pub(crate) fn stamps<'f>(&self, files: impl Iterator<Item = &'f String>) -> Stamps {
        let stamp = |file: &String| Some((file.clone(), self.seen.get(file)?.0.clone()));
        Stamps { files: files.filter_map(stamp).collect(), folders: self.folders.clone() }
    }

    /// What is in a file of the profile's folder, or outside it if its full path is given.
    ///
    /// # Errors
    /// When it is not an ordinary file, leads out of the folder, or cannot be read.
    pub(crate) fn read(&mut self, folder: &Path, file: &str) -> Result<Arc<Known>, Error> {
        self.look_at(folder, file, false)
    }

    /// The same, and what it speaks of.
    ///
    /// # Errors
    /// As before.
    pub(crate) fn read_words(&mut self, folder: &Path, file: &str) -> Result<Arc<Known>, Error> {
        self.look_at(folder, file, true)
    }

    fn look_at(&mut self, folder: &Path, file: &str, words: bool) -> Result<Arc<Known>, Error> {
        let is_enough = |known: &Known| !words || known.said.is_some();
        if let Some((_, known)) = self.seen.get(file).filter(|(_, known)| is_enough(known)) {
            return Ok(known.clone());
        }
        let path = folder.join(file);
        let stamp = Stamp::of(&path)?;
        let then = self.known.get(file).filter(|(then, known)| *then == stamp && is_enough(known));
        let then = then.map(|(_, known)| known.clone());
        let known = match then {
            Some(known) if !self.is_read_again(file, &stamp) => known,
            then => self.read_now(folder, file, &stamp, words, then)?,
        };
        self.seen.insert(file.to_owned(), (stamp, known.clone()));
        Ok(known)
    }

    fn is_read_again(&mut self, file: &str, stamp: &Stamp) -> bool {
        let size = stamp.led_to.as_ref().unwrap_or(&stamp.own).size;
        if size > SMALL || installed::holds(Path::new(file)) {
            return false;
        }
        self.read_again = self.read_again.saturating_add(size);
        self.read_again <= MOST_READ_AGAIN
    }

    /// What is no link lies where its folder does.
    fn is_plainly_inside(&mut self, folder: &Path, file: &str, stamp: &Stamp) -> bool {
        let Some(parent) = Path::new(file).parent().filter(|_| !stamp.is_link) else {
            return false;
        };
        if parent.is_absolute() {
            return false;
        }
        if !self.inner.contains(parent) {
            if !is_inside(folder, folder, parent) {
                return false;
            }
            self.inner.insert(parent.to_owned());
        }
        true
    }

    fn read_now(
        &mut self,
        folder: &Path,
        file: &str,
        stamp: &Stamp,
        words: bool,
        then: Option<Arc<Known>>,
    ) -> Result<Arc<Known>, Error> {
        let begun = SystemTime::now();
        let words = words || then.as_ref().is_some_and(|then| then.said.is_some());
        let is_settings = installed::holds(Path::new(file)) && file.contains("config");
        let mut gone_through =
            GoneThrough { hash: Sha256::new(), text: (words || is_settings).then(Vec::new) };
        if self.is_plainly_inside(folder, file, stamp) {
            read_file(&folder.join(file), MOST_BYTES, |piece| gone_through.take(piece))?;
        } else {
            bytes_of(folder, file, &folder.join(file), &mut gone_through)?;
        }
        let settings = gone_through.text.as_ref().filter(|_| is_settings);
        let hash = match settings.and_then(|text| git::counted(Path::new(file), text)) {
            Some(counted) => content_hash(counted.as_bytes()),
            None => written_hash(gone_through.hash),
        };
        gone_through.text = gone_through.text.filter(|_| words);
        let known = match then.filter(|then| then.hash == hash) {
            Some(same) => same,
            None => Arc::new(Known { hash, said: gone_through.text.map(|it| Said::of(file, &it)) }),
        };
        if begun.checked_sub(SETTLED).is_some_and(|moment| stamp.is_older_than(moment)) {
            self.known.insert(file.to_owned(), (stamp.clone(), known.clone()));
        }
        Ok(known)
    }
}

/// A file that is read piece by piece: the hash of it all, and the text, if it is wanted and no longer than anybody writes.
struct GoneThrough {
    hash: Sha256,
    text: Option<Vec<u8>>,
}

impl GoneThrough {
    fn take(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        if let Some(text) = self.text.as_mut().filter(|text| text.len() <= MOST_TEXT) {
            text.extend_from_slice(bytes);
        }
    }

    fn take_file(&mut self, folder: &Path, file: &str) -> Result<(), Error> {
        read_pieces(folder, file, MOST_BYTES, |piece| self.take(piece))
    }
}

/// A link is what it says, and the bytes of the file it leads to. What the system brings is the system's to change; the
/// files of a folder of the profile count by themselves; and a link to nothing says only where nothing is.
fn bytes_of(folder: &Path, file: &str, path: &Path, to: &mut GoneThrough) -> Result<(), Error> {
    if Path::new(file).is_absolute() && !is_inside(folder, folder, path) {
        return to.take_file(path.parent().unwrap_or(folder), file);
    }
    let target = match std::fs::read_link(path) {
        Ok(target) => target,
        Err(_) if is_inside(folder, folder, Path::new(file)) => return to.take_file(folder, file),
        // One of its folders is a link.
        Err(_) => resolve(folder, Path::new(file))?,
    };
    to.take(format!("link to {}\n", target.display()).as_bytes());
    let reached = resolve(folder, Path::new(file))?;
    let counts_by_itself = reached.is_dir() && is_inside(folder, folder, Path::new(file));
    if is_of_the_system(&reached) || counts_by_itself || !reached.exists() {
        return Ok(());
    }
    if reached.is_dir() {
        let why = format!("it is a link to a folder outside the profile, {}", reached.display());
        return Err(Error::new(ErrorKind::PermissionDenied, why));
    }
    let place = reached.parent().unwrap_or(folder);
    to.take_file(place, &reached.to_string_lossy())
}

/// Whether only the system's own packages put files there.
pub(crate) fn is_of_the_system(path: &Path) -> bool {
    const PLACES: [&str; 6] = ["/bin", "/sbin", "/lib", "/usr/bin", "/usr/sbin", "/usr/lib"];
    PLACES.iter().any(|place| path.starts_with(place))
}

impl Said {
    fn of(file: &str, bytes: &[u8]) -> Self {
        let is_text = bytes.len() <= MOST_TEXT && !bytes.contains(&0);
        let text = if is_text { String::from_utf8_lossy(bytes) } else { "".into() };
        Self { words: Words::of(bytes), reaches: Reaches::of(Path::new(file), &text) }
    }
}

impl Words {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let (mut words, mut read) = (HashSet::new(), HashSet::new());
        if bytes.len() <= MOST_TEXT && !bytes.contains(&0) {
            let text = String::from_utf8_lossy(bytes);
            let mut rest: &str = &text;
            while let Some(start) = rest.find(is_part_of_a_path) {
                let (_, from) = rest.split_at(start);
                let (word, behind) =
                    from.split_at(from.find(|c| !is_part_of_a_path(c)).unwrap_or(from.len()));
                let before = text.len().saturating_sub(from.len());
                if !is_written_to(text.get(..before).unwrap_or_default(), behind) {
                    read.insert(word.to_owned());
                }
                words.insert(word.to_owned());
                rest = behind;
            }
        }
        let only_written = words.difference(&read).cloned().collect();
        Self { all: words, only_written }
    }
}

pub(crate) fn is_part_of_a_path(c: char) -> bool {
    c.is_alphanumeric() || "_./@+-".contains(c)
}

/// `>> "$HERE/seen"`, `touch seen`, `tee -a seen`, `open("seen", "a")`: a list that a script keeps is not loaded by it.
fn is_written_to(before: &str, behind: &str) -> bool {
    const FAR: usize = 256;
    let word = |c: char| !c.is_whitespace() && !">;|&(<`".contains(c);
    let near = before.floor_char_boundary(before.len().saturating_sub(FAR));
    let before = before.get(near..).unwrap_or_default();
    let before = before.trim_end_matches(word);
    let command = before.trim_end_matches([' ', '\t']);
    let command = command.strip_suffix(" -a").unwrap_or(command);
    let redirected = command.ends_with('>') && !command.ends_with("=>") && !command.ends_with("->");
    let by_name = ["touch", "tee"].iter().any(|name| {
        command.len() < before.len()
            && command
                .strip_suffix(name)
                .is_some_and(|it| it.is_empty() || it.ends_with([' ', '\t', '\n', ';', '|', '&']))
    });
    let quotes = ['"', '\''];
    let mode = behind.trim_start_matches(quotes).trim_start_matches(')').strip_prefix(',');
    let mode = mode.map(|it| it.trim_start().trim_start_matches("mode="));
    let opened = behind.starts_with(quotes)
        && mode.and_then(|it| it.strip_prefix(quotes)).is_some_and(|it| {
            ["w", "a", "x", "wb", "ab", "xb"]
                .iter()
                .any(|mode| it.strip_prefix(mode).is_some_and(|it| it.starts_with(quotes)))
        });
    redirected || by_name || opened
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// As if it had been written without a trace: what is remembered is not what is there, and nothing else tells.
    fn remembers_wrongly(contents: &mut Contents, folder: &Path, file: &str) {
        let stamp = Stamp::of(&folder.join(file)).unwrap();
        let known = Arc::new(Known { hash: "as it was".into(), said: None });
        contents.known.insert(file.to_owned(), (stamp, known));
    }

    // R10.9
    #[test]
    fn small_files_are_read_each_time_and_large_ones_and_trees_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let small = usize::try_from(SMALL).unwrap();
        std::fs::create_dir_all(folder.path().join("node_modules")).unwrap();
        let hash = |file: &str, size: usize| {
            std::fs::write(folder.path().join(file), vec![b'x'; size]).unwrap();
            let mut contents = Contents::default();
            remembers_wrongly(&mut contents, folder.path(), file);
            contents.read(folder.path(), file).unwrap().hash.clone()
        };
        assert_eq!(hash("check.sh", small), content_hash(&vec![b'x'; small]));
        assert_eq!(hash("large.bin", small + 1), "as it was");
        assert_eq!(hash("node_modules/x.js", 3), "as it was");
    }

    #[test]
    fn so_much_is_read_again_and_no_more_and_each_file_once_in_a_look() {
        let folder = tempfile::tempdir().unwrap();
        let mut contents = Contents::default();
        let files: Vec<String> = (10..30).map(|number| format!("{number}.sh")).collect();
        for file in &files {
            std::fs::write(folder.path().join(file), vec![b'x'; 64 * 1024]).unwrap();
            remembers_wrongly(&mut contents, folder.path(), file);
        }
        let mut fresh = || {
            let seen = files.iter().map(|file| contents.read(folder.path(), file).unwrap());
            seen.filter(|known| known.hash != "as it was").count()
        };
        assert_eq!((fresh(), fresh()), (16, 16));
        contents.look_again();
        assert_eq!(contents.read_again, 0);
    }
}
