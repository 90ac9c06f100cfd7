//! Programs with a way to the shell in a language of their own, when they are given a text in it by the line itself.

use super::options::may_be_long;
use super::unwrap::is_a_file;
use super::{SimpleCommand, Word};

/// Whether a text that the line gives to the program may start another one. Such a text in a file is not looked at.
pub(crate) fn escapes(program: &str, command: &SimpleCommand) -> bool {
    match program {
        // All that it does it reads from its input.
        "ed" | "red" => {
            let is_file = command.redirects.iter().any(|redirect| redirect.operator == "<");
            let mut texts = given(command).skip(command.args.len()).peekable();
            let is_plain = |word: &Word| !word.is_dynamic() && !word.text().contains('!');
            !is_file && (texts.peek().is_none() || !texts.all(is_plain))
        }
        "ex" | "nvim" | "vi" | "view" | "vim" | "vimdiff" => editor(command),
        "sqlite3" => given(command).any(|word| of_sqlite(word.text())),
        "ipython" | "ipython3" => {
            given(command).any(|word| word.text().contains(['!', '%']) || is_open_code(word))
        }
        "psql" => given(command).any(|word| of_psql(word.text())),
        "mysql" | "mariadb" => given(command).any(|word| of_mysql(word.text())),
        "make" => make(&command.args),
        _ => false,
    }
}

/// What tells whether a text that the line prints starts a program when it is piped into this one; `None` when none does.
pub(super) fn escapes_by_input(program: &str, command: &SimpleCommand) -> Option<fn(&str) -> bool> {
    let is_told = |arg: &Word| matches!(arg.text(), "-" | "-e" | "-s" | "-es" | "-Es");
    match program {
        "sqlite3" => Some(of_sqlite),
        "psql" => Some(of_psql),
        "mysql" | "mariadb" => Some(of_mysql),
        "ipython" | "ipython3" => Some(|said| said.contains(['!', '%'])),
        "ex" => Some(may_run),
        "nvim" | "vi" | "view" | "vim" if command.args.iter().any(is_told) => Some(may_run),
        _ => None,
    }
}

/// `\\! ls`, `\\o | ls`
fn of_psql(text: &str) -> bool {
    let is_way = |line: &str| line.trim_start().starts_with('\\') && line.contains('|');
    text.contains("\\!") || text.lines().any(is_way)
}

/// `system ls`, `\\! ls`, `pager ls`
fn of_mysql(text: &str) -> bool {
    let is_way = |line: &str| {
        let line = line.trim_start().to_ascii_lowercase();
        ["system", "pager", "tee"].iter().any(|way| line.starts_with(way))
    };
    text.contains("\\!") || text.split(['\n', ';']).any(is_way)
}

fn is_open_code(word: &Word) -> bool {
    word.is_dynamic() && word.text().contains(['$', '`'])
}

/// What stands in here-documents and here-strings.
fn given(command: &SimpleCommand) -> impl Iterator<Item = &Word> {
    let strings = command.redirects.iter().filter(|redirect| redirect.operator == "<<<");
    command.args.iter().chain(strings.map(|it| &it.target)).chain(&command.documents)
}

/// Whether an editor may start something when it is told this.
fn may_run(text: &str) -> bool {
    const WAYS: &[&str] =
        &["!", "exe", "job", "lua", "mz", "perl", "py", "rub", "so", "system", "tcl", "term"];
    WAYS.iter().any(|way| text.contains(way))
}

/// `vim -c '!ls'`, `vi +':!ls' f`
fn editor(command: &SimpleCommand) -> bool {
    let is_told = |arg: &Word| {
        let text = arg.text().trim_start_matches('"');
        text.starts_with('+') || (text.starts_with('-') && text.contains('c'))
    };
    let has_input = given(command).count() > command.args.len();
    let is_script = command.args.iter().any(is_told) || has_input;
    let runs = |word: &Word| may_run(word.text());
    let is_open =
        |pair: &[Word]| matches!(pair, [option, text] if is_told(option) && text.is_dynamic());
    is_script && (given(command).any(runs) || command.args.windows(2).any(is_open))
}

/// `.shell ls`, which may be shortened; `.output |ls`
fn of_sqlite(text: &str) -> bool {
    let is_way = |line: &str| {
        let line = line.trim_start_matches([' ', '\t', '"']);
        let starts = [".sh", ".sy", ".l", ".ex"].iter().any(|start| line.starts_with(start));
        starts || (line.starts_with('.') && line.contains('|'))
    };
    let lower = text.to_ascii_lowercase();
    lower.contains("edit(") || lower.contains("load_extension") || lower.lines().any(is_way)
}

/// `make -f - <<E`, `make --eval='x:;ls'`
fn make(args: &[Word]) -> bool {
    let is_file = |text: &str| is_a_file(&Word::Literal(text.to_owned()));
    let value = |text: &str| text.split_once('=').map(|(_, value)| value.to_owned());
    args.iter().enumerate().any(|(at, arg)| {
        let text = arg.text();
        let next = || args.get(at.saturating_add(1)).is_some_and(|next| !is_a_file(next));
        let names_a_file = || may_be_long(text, "file") || may_be_long(text, "makefile");
        let short = text.strip_prefix('-').filter(|short| !short.starts_with('-'));
        match short {
            Some(short) if short.starts_with('E') => true,
            Some(short) => match short.strip_prefix('f') {
                Some("") => next(),
                Some(file) => !is_file(file),
                // `make -sf -`
                None => short.ends_with('f') && next(),
            },
            None if text.starts_with("--ev") => true,
            None if text.len() > 3 && names_a_file() => {
                value(text).map_or_else(next, |file| !is_file(&file))
            }
            None => false,
        }
    })
}
