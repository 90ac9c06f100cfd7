//! Programs that write files whose names stand in another file, or are made by a rule.

use super::effect::{Effect, letters, operands};

/// Nothing but that is what they are for.
const ALWAYS: &[&str] = &[
    "arj",
    "atool",
    "aunpack",
    "borg",
    "cabextract",
    "csplit",
    "detox",
    "dtrx",
    "ftp",
    "lftp",
    "lha",
    "mmv",
    "munpack",
    "patch",
    "pax",
    "prename",
    "quilt",
    "rename",
    "restic",
    "ripmime",
    "sftp",
    "shar",
    "split",
    "tftp",
    "unace",
    "unar",
    "unison",
    "unp",
    "unrar",
    "unshar",
    "unsquashfs",
    "unzip",
    "uudecode",
    "vidir",
    "zmv",
];

/// Programs that take the end off a file's name.
const INFLATES: &[&str] = &[
    "brotli",
    "bunzip2",
    "bzip2",
    "gunzip",
    "gzip",
    "lz4",
    "lzip",
    "lzma",
    "uncompress",
    "unlz4",
    "unlzma",
    "unpigz",
    "unxz",
    "unzstd",
    "pigz",
    "xz",
    "zstd",
];

/// `None` for a program that does no such thing, or is not told to.
pub(super) fn effect(program: &str, args: &[String]) -> Option<Effect> {
    let first = args.first().map(String::as_str).unwrap_or_default();
    let verb = operands(args).next().unwrap_or_default();
    let is_module =
        |names: &[&str]| args.iter().any(|arg| names.iter().any(|name| arg.ends_with(name)));
    match program {
        "tar" | "bsdtar" | "gtar" | "star" => Some(tar(args)),
        "unzip" if is_asked_to_look(args, "lptvzZ", "dPIO") => None,
        "patch" if args.iter().any(|arg| arg.starts_with("--dry")) => None,
        "unrar" | "rar" | "ar" | "7z" | "7za" | "7zr" | "7zz"
            if ![first, verb].iter().any(|verb| verb.contains(['x', 'e', '$'])) =>
        {
            None
        }
        "rar" | "ar" | "7z" | "7za" | "7zr" | "7zz" => Some(fill(program, args)),
        "jar" => {
            let letters = first.trim_start_matches('-');
            let packs = letters.starts_with(['c', 't', 'u', 'i', 'l']) && !letters.contains('x');
            (!packs).then(|| fill(program, args))
        }
        "cpio" | "bsdcpio" => {
            let only_packs =
                first.starts_with("-o") || matches!(first, "--create" | "-t" | "-it" | "--list");
            (!only_packs).then(|| fill(program, args))
        }
        _ if program.starts_with("py") && is_module(&["zipfile", "tarfile"]) => {
            let looks = args.iter().any(|arg| {
                matches!(arg.as_str(), "-l" | "--list" | "-t" | "--test" | "-c" | "--create")
            });
            (!looks).then(|| fill(program, args))
        }
        "zip"
            if args.iter().any(|arg| {
                letters(arg).is_some_and(|l| l.contains('m')) || arg.starts_with("--mo")
            }) =>
        {
            Some(Effect::places(operands(args).map(str::to_owned).collect()))
        }
        _ if INFLATES.contains(&program) => Some(inflate(args)),
        _ if ALWAYS.contains(&program) => Some(fill(program, args)),
        _ => None,
    }
}

/// Here and wherever a word leads, or in the one folder that an option says.
fn fill(program: &str, args: &[String]) -> Effect {
    let option = match program {
        "tar" => ("-C", "--directory"),
        "unzip" => ("-d", "-d"),
        "7z" | "7za" | "7zr" | "7zz" => ("-o", "-o"),
        "patch" => ("-d", "--directory"),
        "unar" => ("-o", "--output-directory"),
        _ => return everywhere(args),
    };
    let (short, long) = option;
    // What lets an archive out of the folder again, or may say another one.
    let leaves = |arg: &String| {
        let again = letters(arg)
            .is_some_and(|l| !arg.starts_with(short) && l.contains(short.trim_start_matches('-')));
        again
            || ["--abs", "--tr", "--xf", "--to-c", "-:", "-spf", "--one"]
                .iter()
                .any(|start| arg.starts_with(start))
            || letters(arg).is_some_and(|l| l.contains(['P', ':']))
            || (arg.starts_with("--d") && !arg.starts_with(long))
    };
    let mut folders = args.iter().enumerate().filter_map(|(at, arg)| {
        let next = || args.get(at.saturating_add(1)).cloned();
        match arg.strip_prefix(long).map(|rest| rest.trim_start_matches('=')) {
            _ if arg == short || arg == long => next(),
            Some(folder) if long.starts_with("--") => Some(folder.to_owned()),
            _ => arg.strip_prefix(short).map(str::to_owned),
        }
    });
    match (folders.next(), folders.next()) {
        (Some(folder), None) if !args.iter().any(leaves) => Effect::places(vec![folder]),
        _ => everywhere(args),
    }
}

fn everywhere(args: &[String]) -> Effect {
    let mut places = vec![".".to_owned()];
    let values = args.iter().filter_map(|arg| arg.split_once('=').map(|(_, value)| value));
    let glued = args.iter().filter_map(|arg| letters(arg).and_then(|l| l.get(1..)));
    places.extend(
        operands(args).chain(values).chain(glued).filter(|p| !p.is_empty()).map(str::to_owned),
    );
    Effect::places(places)
}

/// Whether one of the leading options is of those that only look; the letters behind one with a value are its value.
fn is_asked_to_look(args: &[String], looking: &str, valued: &str) -> bool {
    let leading = args.iter().map_while(|arg| letters(arg));
    leading
        .filter_map(|letters| letters.split(|c| valued.contains(c)).next())
        .any(|letters| letters.contains(|c| looking.contains(c)))
}

fn tar(args: &[String]) -> Effect {
    let first = args.first().map(String::as_str).unwrap_or_default();
    let modes = match letters(first) {
        Some(letters) => letters.split(|c| "fCbTXgHIKLNVF".contains(c)).next().unwrap_or_default(),
        None if first.starts_with("--") => {
            let packs = ["--cr", "--li", "--app", "--up", "--di", "--com"];
            if packs.iter().any(|start| first.starts_with(start)) { "c" } else { "" }
        }
        // Without the dash each is an option, and their values follow.
        None => first,
    };
    let packs = modes.contains(['c', 't', 'r', 'u', 'd']) && !modes.contains('x');
    if !packs || first.contains('$') {
        let leaves = !first.starts_with('-') && first.contains(['P', 'C']);
        return if leaves { everywhere(args) } else { fill("tar", args) };
    }
    let removes = args.iter().any(|arg| arg.starts_with("--rem"));
    let rest = args.get(2..).unwrap_or_default();
    let is_read = |arg: &String| !arg.starts_with('-') || arg.starts_with("--exclude=");
    if removes {
        Effect::places(operands(args).map(str::to_owned).collect())
    } else if first.ends_with('f') && rest.iter().all(is_read) {
        Effect { read: rest.to_vec(), ..Effect::named() }
    } else {
        Effect::named()
    }
}

/// `gunzip agent.json.gz`
fn inflate(args: &[String]) -> Effect {
    let has = |wanted: &[char], long: &[&str]| {
        args.iter().take_while(|arg| *arg != "--").any(|arg| {
            letters(arg).is_some_and(|letters| letters.contains(wanted))
                || long.iter().any(|start| arg.starts_with(start))
        })
    };
    if has(&['N', 'S', 'r'], &["--na", "--su", "--output-d", "--recu"]) {
        return everywhere(args);
    }
    let is_told_where = has(&['o'], &["--output"]);
    if !is_told_where && has(&['c', 't'], &["--stdout", "--to-std", "--test"]) {
        return Effect::nothing();
    }
    let without_end = |name: &str| name.rsplit_once('.').map(|(name, _)| name.to_owned());
    Effect::places(operands(args).filter_map(without_end).collect())
}
