//! What is in the files of a profile, read once for as long as they stay the same.

use crate::paths::{is_inside, resolve};
use crate::profile::read_inside;
use crate::trust::content_hash;
use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::io::Error;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Programs that were compiled are large; none is this large.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// No script that somebody wrote is longer; of what is, the words are not looked at.
const MOST_TEXT: usize = 1024 * 1024;
/// A file that was just written can be written again without a later date: it is read again while it is so young.
const SETTLED: Duration = Duration::from_secs(2);

/// The files that were read, by what tells whether they changed.
#[derive(Debug, Default)]
pub struct Contents {
    known: HashMap<String, (Stamp, Arc<Known>)>,
}

/// What is known of a file.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) hash: String,
    /// Every word in it that could be a name or a path.
    pub(crate) words: HashSet<String>,
}

/// What no write leaves as it was: the file's place on the disk, its size and its times. The time of a change is the
/// system's to set. A link counts with what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
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
        let led_to = own.is_symlink().then(|| std::fs::metadata(path).ok()).flatten();
        Ok(Self { own: Marks::of(&own), led_to: led_to.as_ref().map(Marks::of) })
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
    /// What is in a file of the profile's folder, or outside it if its full path is given.
    ///
    /// # Errors
    /// When it is not an ordinary file, leads out of the folder, or cannot be read.
    pub(crate) fn read(&mut self, folder: &Path, file: &str) -> Result<Arc<Known>, Error> {
        let path = folder.join(file);
        let stamp = Stamp::of(&path)?;
        if let Some((then, known)) = self.known.get(file)
            && *then == stamp
        {
            return Ok(known.clone());
        }
        let begun = SystemTime::now();
        let bytes = bytes_of(folder, file, &path)?;
        let known = Arc::new(Known { hash: content_hash(&bytes), words: words(&bytes) });
        if begun.checked_sub(SETTLED).is_some_and(|moment| stamp.is_older_than(moment)) {
            self.known.insert(file.to_owned(), (stamp, known.clone()));
        }
        Ok(known)
    }
}

/// A link is what it says, and the bytes of the file it leads to. What the system brings is the system's to change; the
/// files of a folder of the profile count by themselves; and a link to nothing says only where nothing is.
fn bytes_of(folder: &Path, file: &str, path: &Path) -> Result<Vec<u8>, Error> {
    if Path::new(file).is_absolute() && !is_inside(folder, folder, path) {
        return read_inside(path.parent().unwrap_or(folder), file, MOST_BYTES);
    }
    let Ok(target) = std::fs::read_link(path) else { return read_inside(folder, file, MOST_BYTES) };
    let mut bytes = format!("link to {}\n", target.display()).into_bytes();
    let reached = resolve(folder, Path::new(file))?;
    let counts_by_itself = reached.is_dir() && is_inside(folder, folder, Path::new(file));
    if is_of_the_system(&reached) || counts_by_itself || !reached.exists() {
        return Ok(bytes);
    }
    let place = reached.parent().unwrap_or(folder);
    bytes.extend(read_inside(place, &reached.to_string_lossy(), MOST_BYTES)?);
    Ok(bytes)
}

/// Whether only the system's own packages put files there.
pub(crate) fn is_of_the_system(path: &Path) -> bool {
    const PLACES: [&str; 6] = ["/bin", "/sbin", "/lib", "/usr/bin", "/usr/sbin", "/usr/lib"];
    PLACES.iter().any(|place| path.starts_with(place))
}

fn words(bytes: &[u8]) -> HashSet<String> {
    if bytes.len() > MOST_TEXT || bytes.contains(&0) {
        return HashSet::new();
    }
    let text = String::from_utf8_lossy(bytes);
    let part_of_a_path = |c: char| c.is_alphanumeric() || "_./@+-".contains(c);
    text.split(|c| !part_of_a_path(c)).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
