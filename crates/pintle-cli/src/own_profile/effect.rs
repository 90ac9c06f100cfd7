//! What a program may do to files, as far as its command line says.

use pintle_policy::shell::{SimpleCommand, Word};

use super::{awk, copies, git, unpack};

/// Programs that write no file, whatever they are told; and those in front of another, which is looked at by itself.
const LOOKS: &[&str] = &[
    "",
    ":",
    "[",
    "[[",
    "basename",
    "break",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "column",
    "comm",
    "command",
    "continue",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "env",
    "exit",
    "export",
    "expr",
    "false",
    "fgrep",
    "fold",
    "grep",
    "head",
    "hexdump",
    "id",
    "join",
    "jq",
    "local",
    "ls",
    "md5sum",
    "nice",
    "nl",
    "nohup",
    "od",
    "paste",
    "printf",
    "ps",
    "pushd",
    "popd",
    "pwd",
    "read",
    "readlink",
    "realpath",
    "return",
    "rev",
    "rg",
    "seq",
    "set",
    "sha1sum",
    "sha256sum",
    "shift",
    "sleep",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "test",
    "timeout",
    "tr",
    "true",
    "type",
    "uname",
    "unset",
    "wait",
    "wc",
    "which",
    "whoami",
    "xargs",
    "zcat",
    "zgrep",
];

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh"];

/// Programs that take away or change all that is in a folder.
const WHOLE: &[&str] =
    &["rm", "rmdir", "shred", "unlink", "chmod", "chown", "chgrp", "trash", "setfacl"];

/// Other keepers of versions, with what leaves the files alone.
const VERSIONS: &[&str] = &["bzr", "cvs", "darcs", "fossil", "hg", "jj", "p4", "sl", "svn"];
const VERSIONS_LOOK: &[&str] = &[
    "add", "annotate", "blame", "cat", "ci", "commit", "diff", "info", "log", "st", "stat",
    "status",
];

/// Which files may be changed.
#[derive(Default)]
pub(super) struct Effect {
    /// Those that a word names.
    pub(super) named: bool,
    /// But not by these words, which are only read from.
    pub(super) read: Vec<String>,
    /// All in these places, under names that are not in the command line.
    pub(super) places: Vec<String>,
    /// Of those only what is called like this.
    pub(super) only: Option<String>,
    /// All in git's work tree.
    pub(super) work_tree: bool,
    /// But only these if they are files, and not the names of versions.
    pub(super) unless_files: Vec<String>,
    /// What is sent may come back here, if the repository is told so.
    pub(super) pushes: bool,
    /// Whatever it puts a name together of.
    pub(super) open: bool,
}

impl Effect {
    pub(super) fn nothing() -> Self {
        Self::default()
    }

    pub(super) fn is_nothing(&self) -> bool {
        !self.named && !self.work_tree && !self.pushes && self.places.is_empty()
    }

    pub(super) fn named() -> Self {
        Self { named: true, ..Self::default() }
    }

    pub(super) fn places(places: Vec<String>) -> Self {
        Self { places, ..Self::named() }
    }

    pub(super) fn work_tree() -> Self {
        Self { work_tree: true, ..Self::named() }
    }

    pub(super) fn of(command: &SimpleCommand) -> Self {
        let Some(program) = command.program() else { return Self::named() };
        let args: Vec<String> = command.args.iter().flat_map(Word::readings).collect();
        let first = operands(&args).next().unwrap_or_default();
        match program {
            _ if LOOKS.contains(&program) => Self::nothing(),
            _ if SHELLS.contains(&program) && gives_a_script(&command.args) => Self::nothing(),
            _ if WHOLE.contains(&program) => {
                Self::places(operands(&args).map(str::to_owned).collect())
            }
            _ if VERSIONS.contains(&program) => match VERSIONS_LOOK.contains(&first) {
                true => Self::named(),
                false => Self::work_tree(),
            },
            "find" => find(&args),
            "sed" => sed(&args),
            "awk" | "gawk" | "mawk" | "nawk" => awk(&args),
            "git" => git::effect(&command.args),
            _ => copies::effect(program, &args)
                .or_else(|| unpack::effect(program, &args))
                .unwrap_or_else(Self::named),
        }
    }
}

/// The words that are no options.
pub(super) fn operands(args: &[String]) -> impl Iterator<Item = &str> {
    args.iter().map(String::as_str).filter(|arg| !arg.starts_with('-'))
}

/// The letters of a word of short options.
pub(super) fn letters(arg: &str) -> Option<&str> {
    arg.strip_prefix('-').filter(|letters| !letters.starts_with('-'))
}

/// `sh -c TEXT`: the text is looked at by itself, if it is known.
fn gives_a_script(args: &[Word]) -> bool {
    let mut options = args.iter().map_while(|arg| letters(arg.text()));
    options.any(|letters| letters.contains('c')) && !args.iter().any(Word::is_dynamic)
}

fn find(args: &[String]) -> Effect {
    if !args.iter().any(|arg| arg.starts_with("-delete") || arg.starts_with("-f")) {
        return Effect::nothing();
    }
    let is_option =
        |arg: &&String| matches!(arg.as_str(), "-H" | "-L" | "-P") || arg.starts_with("-O");
    let is_start = |arg: &&String| !arg.starts_with(['-', '(', '!']);
    let starts: Vec<String> =
        args.iter().skip_while(is_option).take_while(is_start).cloned().collect();
    let tests = args.iter().skip_while(is_option).skip(starts.len());
    let tests: Vec<&str> = tests.map(String::as_str).collect();
    // Through links it may come to a rule by another name.
    let only = only_called(&tests).filter(|_| !args.first().is_some_and(|arg| is_option(&arg)));
    let starts = if starts.is_empty() { vec![".".to_owned()] } else { starts };
    Effect { only, ..Effect::places(starts) }
}

/// The pattern in `-type f -name '*.pyc' -delete`, where nothing but plain tests stands before the end.
fn only_called(tests: &[&str]) -> Option<String> {
    let mut only = None;
    let mut rest = tests;
    loop {
        rest = match rest {
            ["-name", pattern, tail @ ..] if !pattern.contains('$') => {
                only = Some((*pattern).to_owned());
                tail
            }
            ["-type" | "-maxdepth" | "-mindepth" | "-mtime" | "-mmin" | "-size", _, tail @ ..] => {
                tail
            }
            ["-delete"] | ["-delete", "-print"] | ["-print", "-delete"] => return only,
            _ => return None,
        }
    }
}

/// Without `-i` its files are only read, and its script says what it writes to.
fn sed(args: &[String]) -> Effect {
    let changes = |arg: &String| {
        letters(arg).is_some_and(|letters| !letters.chars().all(|c| "nrEuzb".contains(c)))
            || (arg.starts_with("--")
                && !["--quiet", "--silent", "--regexp-extended", "--posix", "--debug"]
                    .contains(&arg.as_str()))
    };
    if args.iter().any(changes) {
        return Effect::named();
    }
    let script = operands(args).next().unwrap_or_default();
    let after_w =
        script.match_indices(['w', 'W']).filter_map(|(at, _)| script.get(at.saturating_add(1)..));
    let files = after_w.filter_map(|rest| rest.split([';', '\n', '}']).next()).map(str::trim);
    let files = files.filter(|file| !file.is_empty() && !file.ends_with('/')).map(str::to_owned);
    let read = operands(args).skip(1).map(str::to_owned).collect();
    Effect { read, ..Effect::places(files.collect()) }
}

/// Its files may be changed in place; its program, whichever of the words that is, says what it writes to.
fn awk(args: &[String]) -> Effect {
    let outputs: Vec<_> = args.iter().map(|arg| awk::outputs(arg)).collect();
    let open = outputs.iter().any(|it| it.open);
    Effect { open, ..Effect::places(outputs.into_iter().flat_map(|it| it.named).collect()) }
}
