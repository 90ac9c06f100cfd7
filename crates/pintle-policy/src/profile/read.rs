//! Reading the files of a profile, which may be anything at all on the disk.

use crate::paths::is_inside;
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// The largest text a profile may be read from.
pub(crate) const MAX_TEXT: u64 = 1024 * 1024;

/// Reads a file of the profile in `dir`: an ordinary one, inside the folder, of at most `most` bytes. A link that leads
/// out would show another file to the model or on the screen; a pipe or a device would never end.
///
/// # Errors
/// When it is none of that, or cannot be read.
pub fn read_inside(dir: &Path, file: &str, most: u64) -> Result<Vec<u8>, Error> {
    let path = dir.join(file);
    if !is_inside(dir, dir, Path::new(file)) {
        return Err(Error::new(
            ErrorKind::PermissionDenied,
            "it leads out of the profile's folder",
        ));
    }
    // Asked before opening: to open a pipe is to wait for whoever writes to it.
    if !std::fs::metadata(&path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not an ordinary file"));
    }
    let mut bytes = Vec::new();
    File::open(&path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
        let size = if most >= MAX_TEXT {
            format!("{} MiB", most / MAX_TEXT)
        } else {
            format!("{most} bytes")
        };
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it is larger than {size}")));
    }
    Ok(bytes)
}

/// The same for text.
pub(crate) fn read_text(dir: &Path, file: &str) -> Result<String, Error> {
    let bytes = read_inside(dir, file, MAX_TEXT)?;
    String::from_utf8(bytes)
        .map_err(|_| Error::new(ErrorKind::InvalidData, "it is not text in UTF-8"))
}
