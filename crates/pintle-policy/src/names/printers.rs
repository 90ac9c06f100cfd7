//! Programs of which it is known what they print: the names of what is there, numbers, dates, lines of what they read. What any other
//! program prints may be any name.

use crate::shell::{SimpleCommand, Word, is_wrapper};

/// They print lines of what they read, names of what is there, or nothing, whatever their options.
const PLAIN: &[&str] = &[
    "",
    ":",
    "[",
    "[[",
    "break",
    "cat",
    "cd",
    "chmod",
    "cmp",
    "comm",
    "continue",
    "cp",
    "declare",
    "echo",
    "eval",
    "exit",
    "export",
    "false",
    "kill",
    "let",
    "ln",
    "local",
    "mapfile",
    "mkdir",
    "mv",
    "nproc",
    "pgrep",
    "pidof",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "rm",
    "rmdir",
    "set",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "shift",
    "shopt",
    "sleep",
    "sort",
    "sync",
    "tac",
    "tee",
    "test",
    "touch",
    "trap",
    "true",
    "typeset",
    "ulimit",
    "umask",
    "uname",
    "uniq",
    "unset",
    "uuidgen",
    "wait",
    "wc",
    "whoami",
];

/// Whether the command prints no name of its own making.
pub(super) fn is_known(command: &SimpleCommand) -> bool {
    let args: Vec<&str> = command.args.iter().map(Word::text).collect();
    let has = |options: &[&str]| args.iter().any(|arg| options.contains(arg));
    let options = || args.iter().filter(|arg| arg.starts_with('-'));
    let only = |known: &[&str]| options().all(|arg| known.contains(arg));
    let program = command.program().unwrap_or_default();
    match program {
        "declare" | "export" | "set" | "typeset" if is_bare(&args) => false,
        // Where a program lies, which is outside.
        "type" => only(&["-t"]) && has(&["-t"]),
        "command" => !has(&["-v", "-V"]),
        "env" => runs_another(&args),
        // It lists `..` as well.
        "ls" | "gls" | "dir" | "vdir" if options().any(|arg| lists_all(arg)) => false,
        "fd" | "fdfind" | "ls" | "gls" | "tree" | "du" | "rg" | "ag" | "ack" | "grep" | "egrep"
        | "fgrep" | "shuf" | "id" | "hostname" | "arch" | "md5sum" | "cksum" | "b2sum"
        | "shasum" => options().all(|arg| adds_no_text(arg)) && !args.iter().any(goes_up),
        "jobs" => has(&["-p"]),
        "find" | "gfind" => prints_found(&args),
        "seq" => only(&["-w"]),
        "date" | "gdate" => command.assignments.is_empty() && args.iter().all(|arg| is_date(arg)),
        "stat" => args.iter().all(|arg| !arg.starts_with('-') || is_stat(arg)) && is_format(&args),
        "basename" => !args.iter().any(|arg| arg.contains("..") || arg.ends_with('.')),
        "dirname" => !args.iter().any(|arg| arg.contains("..") || arg.starts_with('/')),
        "realpath" => only(&["-e", "-m", "-s", "-q", "-z", "--"]),
        // The text of a link counts from where the link lies.
        "readlink" => only(&["-f", "-e", "-m"]) && has(&["-f", "-e", "-m"]),
        "mktemp" => only(&["-d", "-u", "-q"]),
        "expr" => !has(&[":", "substr", "match", "index"]),
        "head" | "tail" | "nl" | "column" => {
            options().all(|arg| is_count(arg) || matches!(*arg, "-q" | "-f" | "-t" | "-r"))
        }
        "git" => git(&args),
        "go" => args.first() == Some(&"list") && only(&[]),
        "lsof" => has(&["-t"]) && options().all(|arg| adds_no_text(arg)),
        "docker" | "podman" => {
            matches!(args.first(), Some(&("ps" | "images")))
                && args.iter().all(|arg| is_template(arg))
        }
        "openssl" => args.first() == Some(&"rand") && has(&["-hex"]),
        "xxd" => only(&["-p"]),
        "pkg-config" => only(&["--cflags", "--libs", "--modversion", "--static"]),
        "sqlite3" | "psql" | "mysql" => args.iter().all(|arg| is_question(arg)),
        "bash" | "dash" | "sh" => args.iter().any(|arg| arg.starts_with('-') && arg.ends_with('c')),
        "busybox" | "toybox" | "coreutils" => false,
        _ => PLAIN.contains(&program) || is_wrapper(program),
    }
}

/// Options and nothing to set: they list all variables.
fn is_bare(args: &[&str]) -> bool {
    args.iter().all(|arg| arg.starts_with('-') && !arg.contains('='))
}

/// Whether `env` is given a program; without one it lists all variables.
fn runs_another(args: &[&str]) -> bool {
    let mut before = "";
    args.iter().any(|arg| {
        let is_value = matches!(before, "-u" | "-C" | "--unset" | "--chdir");
        before = arg;
        !is_value && !arg.starts_with('-') && !arg.contains('=')
    })
}

fn lists_all(arg: &str) -> bool {
    let is_short = !arg.starts_with("--") && arg.contains(['a', 'f']);
    is_short || arg.starts_with("--al")
}

/// An option that cannot have a text in it that is printed.
fn adds_no_text(arg: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=,.:*!".contains(c);
    let adds = ["--format", "--label", "--line-buffered=", "--out", "--repl", "--time", "--path-s"];
    let runs = ["-x", "-X", "--exec", "--pre"];
    let is_glob = ["-g", "-E", "--glob=", "--include=", "--exclude"];
    (arg.chars().all(is_plain) || is_glob.iter().any(|it| arg.starts_with(it)))
        && !adds.iter().any(|it| arg.starts_with(it))
        && !runs.iter().any(|it| arg.starts_with(it))
        && !arg.contains("..")
}

/// `-n`, `-5`, `-n5`
fn is_count(arg: &str) -> bool {
    let number = arg.trim_start_matches('-').trim_start_matches('n');
    number.bytes().all(|b| b.is_ascii_digit())
}

/// `find` prints what it finds; a format may say more.
fn prints_found(args: &[&str]) -> bool {
    let is_format = |text: &str| {
        let rest = text.replace("\\n", " ").replace("\\t", " ").replace("\\0", " ");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "%@ :,-".contains(c);
        // `%h` is the folder above, and nothing stands between two names.
        let is_apart =
            !rest.split(' ').any(|word| word.matches('%').count() > 1 && word.contains("%p"));
        rest.chars().all(is_plain) && !rest.contains("%l") && !rest.contains("%h") && is_apart
    };
    let format = |pair: &[&str]| match pair {
        [option, text] if option.ends_with("printf") => is_format(text),
        _ => true,
    };
    args.windows(2).all(format) && !args.iter().any(goes_up)
}

/// What is found there has a name that leads up, and elsewhere that is another place.
fn goes_up(arg: &&str) -> bool {
    arg.split('/').any(|part| part == "..")
}

/// A part of `date`'s line after which it prints a date: no blank is before a `/`, and no `.` before another.
fn is_date(arg: &str) -> bool {
    let Some(format) = arg.strip_prefix('+') else { return !arg.contains('/') };
    let mut before = ' ';
    let mut chars = format.chars();
    while let Some(mut c) = chars.next() {
        if c == '%' {
            c = chars.find(|c| !"-_0^#:+".contains(*c) && !c.is_ascii_digit()).unwrap_or('n');
            if !c.is_ascii_alphabetic() || "ntZ".contains(c) {
                return false;
            }
        } else if matches!(c, '/' | '.') {
            if !before.is_ascii_alphanumeric() {
                return false;
            }
        } else if !c.is_ascii_alphanumeric() && !" -_:+,()".contains(c) {
            return false;
        }
        before = c;
    }
    true
}

fn is_stat(arg: &str) -> bool {
    matches!(arg, "-c" | "-f" | "-L") || arg.starts_with("--format=")
}

/// What `stat` is to print: sizes, times, names.
fn is_format(args: &[&str]) -> bool {
    let formats = args.iter().filter(|arg| arg.contains('%'));
    let is_plain = |arg: &&&str| {
        let text = arg.strip_prefix("--format=").unwrap_or(arg);
        let letters =
            text.split('%').skip(1).all(|part| part.starts_with(['s', 'n', 'Y', 'X', 'a', 'z']));
        letters && text.chars().all(|c| c.is_ascii_alphanumeric() || "% :,-".contains(c))
    };
    formats.clone().count() > 0 && formats.clone().all(|arg| is_plain(&arg))
}

/// `docker ps --format '{{.Names}}'`
fn is_template(arg: &str) -> bool {
    arg.chars().all(|c| c.is_ascii_alphanumeric() || "-_=.{}, :\t".contains(c))
        && !arg.contains("..")
}

/// `select path from files where id < 5`: no text is in it, and none is put together.
fn is_question(arg: &str) -> bool {
    let asks = arg.to_ascii_lowercase().starts_with("select ");
    (asks || !arg.contains(char::is_whitespace) && !arg.starts_with('.'))
        && arg.chars().all(|c| c.is_ascii_alphanumeric() || "-_=.,;<>* \n".contains(c))
}

/// What `git` prints of a repository; of the folders that it lies in, nothing is known.
fn git(args: &[&str]) -> bool {
    const VERBS: &[&str] = &[
        "add",
        "blame",
        "branch",
        "cat-file",
        "checkout",
        "commit",
        "describe",
        "diff",
        "diff-tree",
        "fetch",
        "for-each-ref",
        "grep",
        "log",
        "ls-files",
        "ls-tree",
        "merge-base",
        "name-rev",
        "remote",
        "rev-list",
        "rev-parse",
        "shortlog",
        "show",
        "show-ref",
        "stash",
        "status",
        "symbolic-ref",
        "tag",
    ];
    // Whole names of folders, and texts that are put to what is found.
    let is_open = |arg: &&str| {
        let Some(option) = arg.strip_prefix('-') else { return false };
        let is_place =
            ["dir", "path", "top", "cdup", "prefix", "toplevel", "quote", "superproject"];
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=%:, ()|@'*!^~<>".contains(c);
        is_place.iter().any(|it| option.contains(it))
            || option.contains("%x")
            || option.contains("%n")
            || !(option.chars().all(is_plain) || is_glob(arg))
    };
    let mut words = args.iter();
    let verb = loop {
        match words.next() {
            Some(&("-C" | "-c")) => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            verb => break verb,
        }
    };
    let is_known = verb.is_some_and(|verb| VERBS.contains(verb));
    is_known && !args.iter().any(is_open) && !args.iter().any(goes_up)
}

/// `--exclude=*.rs`, `--since=2.weeks`
fn is_glob(arg: &str) -> bool {
    let starts = ["--exclude=", "--since=", "--until=", "--after=", "--before=", "--author="];
    starts.iter().any(|it| arg.starts_with(it)) || arg.starts_with("-S") || arg.starts_with("-G")
}
