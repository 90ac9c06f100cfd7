//! Which commands may reach the agent's own files.

use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};
use pintle_policy::{
    files_found, resolve,
    shell::{SimpleCommand, Word, simple_commands},
};

use super::Look;

/// Programs that only look: a word that is decided at run time does no harm there.
const READERS: &[&str] = &[
    "",
    ":",
    "[",
    "basename",
    "cat",
    "cd",
    "cmp",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "expr",
    "export",
    "false",
    "fgrep",
    "file",
    "grep",
    "head",
    "id",
    "jq",
    "less",
    "local",
    "ls",
    "md5sum",
    "more",
    "nl",
    "od",
    "printf",
    "pwd",
    "read",
    "readlink",
    "realpath",
    "rg",
    "return",
    "seq",
    "set",
    "sha256sum",
    "shift",
    "sleep",
    "stat",
    "tac",
    "tail",
    "test",
    "tr",
    "true",
    "type",
    "unset",
    "wait",
    "wc",
    "which",
    "whoami",
];

/// Programs that are given names, versions and addresses all day: a word that is nothing but a run-time value does no harm there.
const USUAL: &[&str] = &[
    "cargo", "docker", "gcc", "git", "go", "kill", "make", "mkdir", "npm", "npx", "pnpm", "pytest",
    "rustc", "ssh", "touch", "yarn",
];

/// Programs that put files into a folder under the names they had, or take folders away.
const COPIERS: &[&str] = &["cp", "mv", "ln", "install", "rsync", "scp"];
const REMOVERS: &[&str] =
    &["rm", "rmdir", "mv", "shred", "unlink", "chmod", "chown", "chgrp", "rsync"];

/// Each is looked up in the file system.
const MAX_PATTERNS: usize = 32;

fn is_pattern(word: &Word) -> bool {
    word.is_dynamic() && word.text().contains(['*', '?', '['])
}

/// Where a command's words start from.
struct Bases {
    known: Vec<PathBuf>,
    /// It goes to a folder that nobody knows.
    anywhere: bool,
}

impl Look<'_> {
    /// Why a person must see the command first.
    pub(super) fn of_command(&self, command: &str, cwd: &Path) -> Option<String> {
        let Ok(commands) = simple_commands(command) else {
            return Some(
                "it cannot be read, so it may change the rules the agent works under".into(),
            );
        };
        let words = commands.iter().flat_map(|command| &command.args);
        if words.filter(|word| is_pattern(word)).count() > MAX_PATTERNS {
            return Some("it has too many file patterns to look which rules it may change".into());
        }
        let bases = Bases::of(&commands, cwd);
        if let Some(own) = commands.iter().find(|command| self.is_pintle(command, &bases)) {
            return Some(format!(
                "it runs pintle itself, and only a person may trust, approve or start an agent ({})",
                own.summary()
            ));
        }
        let found = commands.iter().find_map(|command| self.reached(command, &bases))?;
        Some(format!("it may change the rules the agent works under ({found})"))
    }

    fn is_pintle(&self, command: &SimpleCommand, bases: &Bases) -> bool {
        let name = command.name.literal().unwrap_or_default();
        let is_running = |base: &PathBuf| {
            self.own.program.is_some() && resolve(base, Path::new(name)).ok() == self.own.program
        };
        command.program() == Some("pintle")
            || (name.contains('/') && bases.known.iter().any(is_running))
    }

    /// The first word that may lead to one of the agent's own files.
    fn reached(&self, command: &SimpleCommand, bases: &Bases) -> Option<String> {
        let program = command.program().unwrap_or_default();
        let looks = READERS.contains(&program) || (program == "find" && !finds_and_writes(command));
        let targets = command.redirects.iter().map(|r| (&r.target, r.writes()));
        let usual = USUAL.contains(&program);
        let message = message(program, &command.args);
        let args = command
            .args
            .iter()
            .filter(|word| !message.is_some_and(|said| std::ptr::eq(said, *word)));
        let args = args.map(|word| (word, !looks));
        let words = args
            .map(|(word, writes)| (word, writes, usual))
            .chain(targets.map(|(word, writes)| (word, writes, false)))
            .find(|(word, writes, usual)| self.word(word, *writes, *usual, bases));
        words
            .map(|(word, ..)| word.text().to_owned())
            .or_else(|| self.by_folder(program, command, bases))
    }

    fn word(&self, word: &Word, writes: bool, usual: bool, bases: &Bases) -> bool {
        match word {
            Word::Literal(text) => pieces(text).iter().any(|piece| self.plain(piece, bases)),
            Word::Dynamic(_) if !writes => false,
            // The mark that `find` and `xargs` put any file's name in place of.
            Word::Dynamic(raw)
                if raw.contains("{}")
                    || !raw.contains(['$', '`', '{', '*', '?', '[', '~', '(']) =>
            {
                true
            }
            Word::Dynamic(_) => word.readings().iter().any(|text| {
                pieces(text).iter().any(|piece| {
                    if piece.contains(Word::ANYWHERE) {
                        !usual
                    } else if usual && is_bare(piece) {
                        false
                    } else if piece.contains('$') || piece.starts_with('~') {
                        self.ends_like(piece)
                    } else if piece.contains(['*', '?', '[']) {
                        self.found_by(piece, bases)
                    } else {
                        self.plain(piece, bases)
                    }
                })
            }),
        }
    }

    fn plain(&self, path: &str, bases: &Bases) -> bool {
        let named = |file: &PathBuf| {
            Path::new(path.trim_start_matches("./"))
                .ancestors()
                .any(|part| !part.as_os_str().is_empty() && file.ends_with(part))
        };
        bases.known.iter().any(|base| self.leads(base, path))
            || (bases.anywhere && self.own.files.iter().any(named))
    }

    /// Whether a file pattern finds one of them, by its name or through a link.
    fn found_by(&self, pattern: &str, bases: &Bases) -> bool {
        const EXACT: MatchOptions = MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: false,
        };
        let loose = bases.anywhere && self.ends_like(pattern);
        loose
            || bases.known.iter().any(|base| {
                let whole = format!("{}/{pattern}", Pattern::escape(&base.to_string_lossy()));
                let named = Pattern::new(&whole).map_or(true, |whole| {
                    self.own.files.iter().any(|file| whole.matches_path_with(file, EXACT))
                });
                let found = files_found(pattern, base);
                named
                    || found.is_none_or(|found| {
                        found.iter().any(|path| self.leads(base, &path.to_string_lossy()))
                    })
            })
    }

    /// Whether one of them could be what a run-time word becomes: it ends as the word ends.
    fn ends_like(&self, text: &str) -> bool {
        let mut pattern = String::new();
        let mut rest =
            text.strip_prefix('~').map_or_else(|| text.to_owned(), |rest| format!("$(){rest}"));
        while let Some((before, after)) = rest.split_once('$') {
            pattern.push_str(before);
            pattern.push('*');
            let after = after.strip_prefix("()").unwrap_or(after);
            rest = after
                .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_')
                .to_owned();
        }
        pattern.push_str(&rest);
        // A variable may hold `../..`: of what stands before it only the start of a name counts.
        let start = pattern.find('*').and_then(|at| pattern.get(..at)).and_then(|it| it.rfind('/'));
        let pattern = match start.and_then(|at| pattern.get(at..)) {
            Some(tail) => format!("*{tail}"),
            None if pattern.starts_with('*') => pattern,
            None => format!("*/{pattern}"),
        };
        let Ok(pattern) = Pattern::new(&pattern) else { return true };
        let matches = |file: &Path| pattern.matches(&file.to_string_lossy());
        self.own.files.iter().any(|file| {
            let inside = ["pintle.toml", "new/SOUL.md"].map(|name| file.join(name));
            matches(file) || inside.iter().any(|file| matches(file))
        })
    }

    /// Whether files are put into a folder of theirs under their names, or a folder above them is taken away.
    fn by_folder(&self, program: &str, command: &SimpleCommand, bases: &Bases) -> Option<String> {
        let args: Vec<String> = command.args.iter().flat_map(Word::readings).collect();
        let operands: Vec<&str> =
            args.iter().map(String::as_str).filter(|a| !a.starts_with('-')).collect();
        let touches = |path: &str| {
            bases.known.iter().any(|base| self.touches(base, path)) || self.plain(path, bases)
        };
        let shown = || Some(command.summary());
        if (unpacks(program, &operands, &args) || is_told_names(program, &args)) && touches(".") {
            return shown();
        }
        if program == "find" && finds_and_writes(command) {
            let is_start = |arg: &&String| !arg.starts_with(['-', '(', '!']);
            let mut starts = args.iter().skip_while(|a| is_find_option(a)).take_while(is_start);
            let first = starts.next().map_or(".", String::as_str);
            if touches(first) || starts.any(|start| touches(start)) {
                return shown();
            }
        }
        if REMOVERS.contains(&program) && operands.iter().any(|operand| touches(operand)) {
            return shown();
        }
        let downloads = downloads(program, &args);
        if COPIERS.contains(&program) || downloads {
            // `-t DIR` may stand anywhere, so each operand may be the folder.
            let into = |folder: &str| {
                operands.iter().any(|source| {
                    let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
                    let name = match downloads {
                        true => name.split(['?', '#']).next().unwrap_or(name),
                        false => name,
                    };
                    match name {
                        "." | ".." | "*" => touches(folder),
                        // Such an address is decoded, or stands for several.
                        name if downloads && name.contains(['%', '{', '[']) => touches(folder),
                        name if name.contains(['*', '?', '[']) => {
                            self.found_by(&format!("{folder}/{name}"), bases)
                        }
                        name => touches(&format!("{folder}/{name}")),
                    }
                })
            };
            let letter = if downloads { 'P' } else { 't' };
            let in_cluster = |arg: &'_ String| {
                let rest = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
                rest.find(letter).map(|at| at.saturating_add(2))
            };
            let glued = args.iter().filter_map(|a| {
                let by_letter = in_cluster(a).and_then(|at| a.get(at..));
                by_letter.filter(|v| !v.is_empty()).or_else(|| a.split_once('=').map(|(_, v)| v))
            });
            let by_option = downloads
                || args
                    .iter()
                    .any(|a| a.starts_with("--t") || in_cluster(a).is_some_and(|at| at == a.len()));
            let last = operands.last().copied();
            let folders = if by_option { operands.clone() } else { last.into_iter().collect() };
            // With one name alone it is put here.
            let here = (downloads || program == "ln").then_some(".");
            if folders.into_iter().chain(glued).chain(here).any(into) {
                return shown();
            }
        }
        None
    }
}

impl Bases {
    fn of(commands: &[SimpleCommand], cwd: &Path) -> Self {
        let mut bases = Self { known: vec![cwd.to_path_buf()], anywhere: false };
        for command in commands {
            let args = &command.args;
            if matches!(command.program(), Some("cd" | "pushd")) {
                bases.go(args.iter().find(|a| !a.text().starts_with('-')));
            }
            for (at, _) in args
                .iter()
                .enumerate()
                .filter(|(_, arg)| matches!(arg.text(), "-C" | "--chdir" | "--directory"))
            {
                bases.go(args.get(at.saturating_add(1)));
            }
        }
        bases
    }

    fn go(&mut self, place: Option<&Word>) {
        match place {
            Some(Word::Literal(place)) if self.known.len() <= 8 => {
                let further: Vec<PathBuf> =
                    self.known.iter().map(|base| base.join(place)).collect();
                self.known.extend(further);
            }
            _ => self.anywhere = true,
        }
    }
}

/// The parts of a word that could be a path: all of it, what follows `=`, and what is glued to a short option.
fn pieces(word: &str) -> Vec<&str> {
    let option = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    // `-j8` is a number to every program that knows it.
    let glued = option.filter(|rest| !rest.starts_with('j')).and_then(|rest| rest.get(1..));
    let value = word.rsplit('=').next();
    [Some(word), value, glued].into_iter().flatten().filter(|piece| !piece.is_empty()).collect()
}

/// Whether it is one run-time value and nothing else.
fn is_bare(piece: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || "_@*#?!-$".contains(c);
    piece.strip_prefix('$').is_some_and(|rest| rest == "()" || rest.chars().all(name))
}

/// What is said about a change in `git`, which names no file.
fn message<'a>(program: &str, args: &'a [Word]) -> Option<&'a Word> {
    let mut words = args.iter();
    let says = loop {
        match words.next()?.text() {
            "-C" | "-c" => drop(words.next()),
            option if option.starts_with('-') => {}
            verb => break matches!(verb, "commit" | "merge" | "notes" | "stash" | "tag"),
        }
    };
    let by_option = |word: &str| {
        let is_short = word.starts_with('-') && !word.starts_with("--") && word.ends_with('m');
        is_short || word == "--message"
    };
    (program == "git" && says && words.any(|word| by_option(word.text())))
        .then(|| words.next())
        .flatten()
}

/// Programs that write a file named like the end of an address.
fn downloads(program: &str, args: &[String]) -> bool {
    let names = |arg: &String| {
        arg.starts_with("--remote-n") || (!arg.starts_with("--") && is_option_with(arg, 'O'))
    };
    program == "wget" || (program == "curl" && args.iter().any(names))
}

/// Downloads whose files are named by the other side, or in a list.
fn is_told_names(program: &str, args: &[String]) -> bool {
    let (letters, long): (&[char], &[&str]) = match program {
        "curl" => (&['J', 'K'], &["--remote-h", "--config"]),
        "wget" => (&['i', 'r', 'm'], &["--i", "--rec", "--mi", "--content-d", "--trust"]),
        _ => return false,
    };
    args.iter().any(|arg| match arg.starts_with("--") {
        true => long.iter().any(|start| arg.starts_with(start)),
        false => letters.iter().any(|letter| is_option_with(arg, *letter)),
    })
}

fn is_option_with(arg: &str, letter: char) -> bool {
    arg.strip_prefix('-').is_some_and(|letters| letters.contains(letter))
}

/// What `find` takes before the folders it starts in.
fn is_find_option(arg: &str) -> bool {
    matches!(arg, "-H" | "-L" | "-P") || arg.starts_with("-O")
}

fn finds_and_writes(command: &SimpleCommand) -> bool {
    command.args.iter().any(|a| a.text().starts_with("-delete") || a.text().starts_with("-f"))
}

/// Programs that write files whose names are in another file.
fn unpacks(program: &str, operands: &[&str], args: &[String]) -> bool {
    match program {
        "unzip" | "patch" | "cpio" | "7z" => true,
        "tar" | "bsdtar" => {
            operands.first().is_some_and(|first| first.contains('x'))
                || args.iter().any(|a| {
                    a.starts_with("--ex")
                        || a.starts_with("--get")
                        || (!a.starts_with("--") && a.contains('x') && a.starts_with('-'))
                })
        }
        "git" => operands.iter().any(|verb| matches!(*verb, "apply" | "am")),
        _ => false,
    }
}
