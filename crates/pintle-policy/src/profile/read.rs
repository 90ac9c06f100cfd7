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
    let mut bytes = Vec::new();
    read_pieces(dir, file, most, |piece| bytes.extend_from_slice(piece))?;
    Ok(bytes)
}

/// The same, piece by piece. What came before an error is no whole file.
pub(crate) fn read_pieces(
    dir: &Path,
    file: &str,
    most: u64,
    take: impl FnMut(&[u8]),
) -> Result<(), Error> {
    if !is_inside(dir, dir, Path::new(file)) {
        return Err(Error::new(
            ErrorKind::PermissionDenied,
            "it leads out of the profile's folder",
        ));
    }
    read_file(&dir.join(file), most, take)
}

/// The same of a file that is known to lie there.
pub(crate) fn read_file(path: &Path, most: u64, mut take: impl FnMut(&[u8])) -> Result<(), Error> {
    // Asked before opening: to open a pipe is to wait for whoever writes to it.
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not an ordinary file"));
    }
    let mut opened = File::open(path)?.take(most.saturating_add(1));
    let room = usize::try_from(meta.len()).unwrap_or(LARGEST_PIECE).saturating_add(1);
    let mut piece = vec![0; room.min(LARGEST_PIECE)];
    let mut all = 0_u64;
    loop {
        let length = match opened.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        if length == 0 {
            return Ok(());
        }
        all = all.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        if all > most {
            let size = if most >= MAX_TEXT {
                format!("{} MiB", most / MAX_TEXT)
            } else {
                format!("{most} bytes")
            };
            return Err(Error::new(ErrorKind::FileTooLarge, format!("it is larger than {size}")));
        }
        take(piece.get(..length).unwrap_or_default());
    }
}

/// More at once is no faster.
const LARGEST_PIECE: usize = 64 * 1024;

/// The same for text.
pub(crate) fn read_text(dir: &Path, file: &str) -> Result<String, Error> {
    let bytes = read_inside(dir, file, MAX_TEXT)?;
    String::from_utf8(bytes)
        .map_err(|_| Error::new(ErrorKind::InvalidData, "it is not text in UTF-8"))
}
