//! The files that a command writes: by a redirect, as the target of a program that writes, by a script of `sed` or `awk`, or through a
//! link that it makes to them.

use crate::shell::{OPEN, Script, SimpleCommand, Telling, Word, does, may_be_long, told};
use glob::Pattern;

/// Programs that write all the files they are given.
const WRITE_ALL: &[&str] = &["ex", "nano", "sponge", "tee", "truncate", "vi", "vim"];
/// Programs that write the last of them, or into it.
const WRITE_LAST: &[&str] = &["cp", "install", "link", "ln", "mv", "rsync", "scp"];
/// Options whose value is a file to write, of programs that call it so.
const WRITE_BY_OPTION: &[(&str, &[&str])] = &[
    ("find", &["-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("git", &["-f", "--file"]),
    ("wget", &["-O", "--output-document"]),
];
/// Programs to which that is `-o`; to others it means many things. A long one that begins with `--out` says it to all.
const WRITE_BY_O: &[&str] = &[
    "ar", "as", "c++", "cc", "clang", "clang++", "curl", "dot", "g++", "gcc", "go", "gpg", "iconv",
    "ld", "nasm", "objcopy", "pandoc", "protoc", "rustc", "shuf", "sort", "strip", "time", "wget",
    "xmllint", "xz", "zstd",
];

/// Whether a program of this name writes files that it is given.
pub(super) fn is_writer(program: &str) -> bool {
    WRITE_ALL.contains(&program)
        || WRITE_LAST.contains(&program)
        || WRITE_BY_OPTION.iter().any(|(name, _)| *name == program)
        || matches!(program, "dd" | "perl" | "sed" | "gsed" | "uniq")
        || matches!(program, "awk" | "gawk" | "mawk" | "nawk")
}

/// Whether the command makes a link, after which a place may have another name.
pub(super) fn links(command: &SimpleCommand) -> bool {
    let short = |arg: &Word| {
        let text = arg.text();
        text.starts_with('-') && !text.starts_with("--") && text.contains(['s', 'l'])
    };
    let long = |arg: &Word| {
        ["symbolic-link", "link"]
            .iter()
            .any(|it| arg.text().len() > 3 && may_be_long(arg.text(), it))
    };
    match command.program() {
        Some("ln" | "link") => true,
        Some("cp" | "gcp") => command.args.iter().any(|arg| short(arg) || long(arg)),
        Some("mount") => true,
        _ => false,
    }
}

/// The words of the command that name such files, besides its redirects.
pub(super) fn written(command: &SimpleCommand, script: &Script) -> Vec<Word> {
    let program = command.program().unwrap_or_default();
    let args = command.args.as_slice();
    if !is_writer(program) {
        return by_option(program, args);
    }
    let operands: Vec<&Word> = args.iter().filter(|arg| !arg.text().starts_with('-')).collect();
    let all = || operands.iter().copied().cloned().collect::<Vec<_>>();
    let in_place = |arg: &Word| {
        let text = arg.text();
        let short = text.starts_with('-') && !text.starts_with("--") && text.contains('i');
        short || may_be_long(text, "in-place")
    };
    let mut found = match program {
        _ if WRITE_ALL.contains(&program) => all(),
        "perl" | "sed" | "gsed" if args.iter().any(in_place) => all(),
        "dd" => {
            let file = |arg: &Word| arg.text().strip_prefix("of=").map(|it| like(arg, it));
            args.iter().filter_map(file).collect()
        }
        _ if links(command) => all(),
        "uniq" => operands.get(1).map(|file| (*file).clone()).into_iter().collect(),
        _ if WRITE_LAST.contains(&program) => into(args, &operands),
        _ => by_option(program, args),
    };
    if let Telling::Known(told) = told(command) {
        let files = does(command, &told, &script.values).files;
        found.extend(files.into_iter().map(|file| match file.contains(OPEN) {
            true => Word::Dynamic(Word::ANYWHERE.to_owned()),
            false => Word::Literal(file),
        }));
    }
    found
}

/// A part of a word, known as far as the word is.
fn like(word: &Word, text: &str) -> Word {
    match word {
        Word::Literal(_) => Word::Literal(text.to_owned()),
        Word::Dynamic(_) => Word::Dynamic(text.to_owned()),
    }
}

/// The last operand, and the names that the others get if it is a folder; the folder of `-t`.
fn into(args: &[Word], operands: &[&Word]) -> Vec<Word> {
    let named = args.windows(2).filter_map(|pair| match pair {
        [option, folder] if option.text() == "-t" || option.text() == "--target-directory" => {
            Some(folder.clone())
        }
        _ => None,
    });
    let glued = args.iter().filter_map(|arg| {
        arg.text().strip_prefix("--target-directory=").map(|folder| like(arg, folder))
    });
    let mut folders: Vec<Word> = named.chain(glued).collect();
    folders.extend(operands.last().map(|last| (*last).clone()));
    let mut found = folders.clone();
    for folder in &folders {
        for operand in operands {
            let text = operand.text().trim_end_matches('/');
            let name = text.rsplit('/').next().unwrap_or_default();
            let is_known = !folder.is_dynamic() && !operand.is_dynamic();
            if is_known && !matches!(name, "" | "." | "..") {
                let place = folder.text().trim_end_matches('/');
                found.push(Word::Literal(format!("{place}/{name}")));
            }
        }
    }
    found
}

fn by_option(program: &str, args: &[Word]) -> Vec<Word> {
    let known = WRITE_BY_OPTION.iter().find(|(name, _)| *name == program);
    let known = known.into_iter().flat_map(|(_, options)| options.iter().copied());
    let short = WRITE_BY_O.contains(&program).then_some("-o");
    let openssl = (program == "openssl").then_some("-out");
    let options: Vec<&str> = known.chain(short).chain(openssl).collect();
    let mut found = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        let text = arg.text();
        let next = || args.get(at.saturating_add(1)).cloned();
        // `--output`, `--out-file`, `--outfile`, and what is left of it.
        let long = text.starts_with("--out") || text.starts_with("--log-f");
        match text.split_once('=').filter(|_| long) {
            Some((_, file)) => found.push(like(arg, file)),
            None if long || options.contains(&text) => found.extend(next()),
            None => {
                let glued = options.iter().find_map(|option| text.strip_prefix(option));
                found.extend(glued.map(|it| like(arg, it.strip_prefix('=').unwrap_or(it))));
            }
        }
    }
    found
}

/// Whether a word that is decided at run time may be named like that: its end is often known, `"log_$n.txt"` is no `.env`.
pub(super) fn may_end_like(word: &Word, pattern: &Pattern) -> bool {
    let wanted = last(pattern.as_str());
    let literal_end =
        wanted.rsplit(['*', '?', ']']).next().unwrap_or_default().trim_end_matches('/').to_owned();
    let may = |reading: &String| {
        // What stands for anything ends like anything.
        if reading.contains(Word::ANYWHERE) {
            return true;
        }
        let Some(at) = reading.rfind(['$', '*', '?', ']', '}', '`', OPEN_SIGN]) else {
            return true;
        };
        let after = reading.get(at.saturating_add(1)..).unwrap_or_default();
        let end = after
            .trim_start_matches("()")
            .trim_start_matches(['#', '!', '@', '-'])
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        match end.rsplit_once('/') {
            Some((_, "")) => true,
            Some((_, name)) => Pattern::new(&wanted).map_or(true, |wanted| wanted.matches(name)),
            None => literal_end.ends_with(end) || end.ends_with(&literal_end),
        }
    };
    // `$x.txt` without quotes may be several words; a redirect has only one.
    !word.is_dynamic() || word.readings().iter().any(may)
}

const OPEN_SIGN: char = crate::shell::OPEN;

fn last(text: &str) -> String {
    text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
}
