//! Reading the files of a profile, which may be anything at all on the disk.

use super::report::Problem;
use pintle_policy::is_inside;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Write};
use std::path::Path;

/// The largest text a profile may be read from.
pub(crate) const MAX_TEXT: u64 = 1024 * 1024;

/// Reads a file of the profile in `dir`: an ordinary one, inside the folder, of at most `most` bytes. A link that leads
/// out would show another file to the model or on the screen; a pipe or a device would never end.
///
/// # Errors
/// When it is none of that, or cannot be read.
pub fn read_inside(dir: &Path, file: &str, most: u64) -> Result<Vec<u8>, Error> {
    if !is_inside(dir, dir, Path::new(file)) {
        return Err(Error::new(
            ErrorKind::PermissionDenied,
            "it leads out of the profile's folder",
        ));
    }
    let mut bytes = Vec::new();
    read_file(&dir.join(file), most, &mut bytes)?;
    Ok(bytes)
}

/// Reads an ordinary file of at most `most` bytes into `to`. What came before an error is not the whole file.
///
/// # Errors
/// When it is not an ordinary file, is larger, or cannot be read.
pub fn read_file(path: &Path, most: u64, to: &mut impl Write) -> Result<(), Error> {
    // Asked before opening: to open a pipe is to wait for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not an ordinary file"));
    }
    if std::io::copy(&mut File::open(path)?.take(most.saturating_add(1)), to)? <= most {
        return Ok(());
    }
    let size = match most >= MAX_TEXT {
        true => format!("{} MiB", most / MAX_TEXT),
        false => format!("{most} bytes"),
    };
    Err(Error::new(ErrorKind::FileTooLarge, format!("it is larger than {size}")))
}

/// The same for text.
pub(crate) fn read_text(dir: &Path, file: &str) -> Result<String, Error> {
    let bytes = read_inside(dir, file, MAX_TEXT)?;
    let invalid = |why| Error::new(ErrorKind::InvalidData, why);
    // Half of its bytes are zeros, and those are text in UTF-8 too.
    if matches!(bytes.as_slice(), [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, ..] | [_, 0, ..]) {
        return Err(invalid("it is text in UTF-16, not in UTF-8"));
    }
    String::from_utf8(bytes).map_err(|_| invalid("it is not text in UTF-8"))
}

/// Names that a file may have that was meant to be `agent.json`.
const NEARLY: [&str; 6] =
    ["agent.jsonc", "agent.json5", "agent.yaml", "agent.yml", "agent.toml", "agent.json.txt"];

/// What keeps agent.json from being read, and what to do about it. With its text, as far as it is one.
pub(crate) fn unreadable(dir: &Path, file: &str, error: &Error) -> (String, Problem) {
    let told = |place, why: String| {
        let why = why.split(" (os error").next().unwrap_or_default();
        Problem::new(place, format!("{file} cannot be read: {why}"))
    };
    if error.kind() == ErrorKind::InvalidData {
        let bytes = read_inside(dir, file, MAX_TEXT).unwrap_or_default();
        let help =
            "save it as UTF-8 (an editor asks for the encoding when it saves a file under a name)";
        let Some(wrong) = std::str::from_utf8(&bytes).err().filter(|wrong| wrong.valid_up_to() > 0)
        else {
            return (String::new(), told(0..0, error.to_string()).help(help));
        };
        let start = wrong.valid_up_to();
        let place = start..start + char::REPLACEMENT_CHARACTER.len_utf8();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        return (text, told(place, error.to_string()).label("from here on").help(help));
    }
    let problem = told(0..0, error.to_string());
    let nearly = NEARLY.into_iter().find(|name| dir.join(name).is_file());
    let help = match (dir.is_file(), nearly) {
        (true, _) => {
            "a profile is a folder with an `agent.json`: name the folder, not a file".into()
        }
        (false, Some(name)) if error.kind() == ErrorKind::NotFound => {
            format!("there is `{name}`: write it as JSON, and call it `{file}`")
        }
        _ => "a profile is a folder with an `agent.json`; `pintle init` writes one".to_owned(),
    };
    (String::new(), problem.help(help))
}
