//! Programs in other languages that stand in a line: what they print may be any name, unless they can do no more than calculate,
//! or show a field of a file (`node -p "require('./package.json').version"`).

use crate::shell::{SimpleCommand, Word};

/// The words of which a program is made that only calculates or shows fields.
const KNOWN: &[&str] = &[
    "JSON",
    "Math",
    "abs",
    "begin",
    "console",
    "const",
    "count",
    "enumerate",
    "float",
    "for",
    "from",
    "fs",
    "if",
    "import",
    "in",
    "int",
    "json",
    "len",
    "length",
    "let",
    "load",
    "loads",
    "log",
    "math",
    "max",
    "min",
    "name",
    "num",
    "open",
    "package",
    "parse",
    "print",
    "puts",
    "range",
    "read",
    "readFileSync",
    "require",
    "round",
    "size",
    "sqrt",
    "stdin",
    "sum",
    "sys",
    "tomllib",
    "utf8",
    "var",
    "version",
];

pub(super) fn is_language(program: &str) -> bool {
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(name, "python" | "pypy" | "perl" | "ruby" | "node" | "nodejs" | "deno" | "bun" | "php")
}

/// Whether the command runs a program that stands in the line, and can print no place of its own.
pub(super) fn says_no_place(command: &SimpleCommand) -> bool {
    let is_read = command.redirects.iter().any(|redirect| redirect.operator.starts_with('<'));
    if is_read || !command.documents.is_empty() || !command.assignments.is_empty() {
        return false;
    }
    let mut args = command.args.iter();
    let Some(option) = args.next().and_then(Word::literal) else { return false };
    // What follows the program is given to it.
    let given = (args.next(), args.next());
    let (Some(Word::Literal(code)), None) = given else { return false };
    let shows = command.program().is_some_and(|program| program.starts_with("node"));
    let is_code = matches!(option, "-c" | "-e" | "-E" | "-r");
    (is_code || (shows && matches!(option, "-p" | "-pe"))) && is_plain(code)
}

/// Whether it is made of known words, of numbers, of plain words in quotes and of names of files that are opened.
fn is_plain(code: &str) -> bool {
    if code.contains("..") {
        return false;
    }
    let mut rest = code;
    // A text that is cut, or put together with another one, may be any name.
    let (mut has_texts, mut works) = (false, false);
    let mut before = "";
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let used = match c {
            '\'' | '"' => {
                let Some((text, _)) = rest.get(1..).and_then(|rest| rest.split_once(c)) else {
                    return false;
                };
                let opens = ["open(", "require(", "readFileSync("];
                let is_opened = opens.iter().any(|it| before.ends_with(it)) && is_file(text);
                has_texts = true;
                if !is_opened && !text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                    return false;
                }
                text.len().saturating_add(2)
            }
            c if is_word(c) => {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let word = rest.get(..end).unwrap_or_default();
                let is_number = word.bytes().all(|b| b.is_ascii_digit());
                if !is_number && word.len() > 1 && !KNOWN.contains(&word) {
                    return false;
                }
                end
            }
            // After something else it is no division.
            '/' if !before.trim_end().ends_with(|c: char| is_word(c) || c == ')') => return false,
            '+' | '-' | '*' | '/' | '%' | ':' | ',' => {
                works = true;
                1
            }
            '(' | ')' | '[' | ']' | '.' | ';' | '=' | '<' | '>' | ' ' | '\n' => 1,
            _ => return false,
        };
        rest = rest.get(used..).unwrap_or_default();
        before = code.get(..code.len().saturating_sub(rest.len())).unwrap_or_default();
    }
    !has_texts || !works
}

/// `package.json`, `./a/b.json`
fn is_file(text: &str) -> bool {
    let text = text.strip_prefix("./").unwrap_or(text);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(is_name)
        && !text.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_calculates_or_shows_a_field_says_no_place() {
        let says_no_place = |code: &str| {
            let args = ["-c", code].map(|arg| Word::Literal(arg.to_owned())).to_vec();
            says_no_place(&SimpleCommand::new(Word::Literal("python3".to_owned()), args))
        };
        let plain = [
            "print(1+2)",
            "print(3*7)",
            "import json; print(json.load(open('package.json'))['version'])",
            "import sys; print(sys.version)",
        ];
        for code in plain {
            assert!(says_no_place(code), "{code}");
        }
        let open = [
            "print('/etc/passwd')",
            "print(/ /)",
            "print q(/a)",
            "print('.'+'./x')",
            "print('..')",
            "print(chr(47))",
            "print(bytes([47]).decode())",
            "puts 47.chr",
            "print(__file__)",
            "import os; print(os.sep)",
            "print('%c' % 47)",
            "print(f'{1}')",
            "print('a/../..')",
            "print('\\x2f')",
            "print('x/etc/passwd'[1:])",
            "puts 'x/etc/passwd'[1,9]",
            "print(open('x/etc').name[1:])",
            "import sys,json; print('..')",
            "print(open('f').name, sys.argv)",
        ];
        for code in open {
            assert!(!says_no_place(code), "{code}");
        }
    }
}
