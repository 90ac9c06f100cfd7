//! Finds the command inside a command: `sudo rm`, `sh -c 'rm'`, `find -exec rm`.

use super::options::{leads_with_option, operands};
use super::wrappers::{Wrapper, is_shell, reads_as_bash_does, wrapper};
use super::{SimpleCommand, Step, Word};
use crate::paths::normal;

/// What the arguments of `command` make it run, as far as this is known beforehand.
pub(super) fn inside(command: &SimpleCommand) -> Vec<Step> {
    let args = command.args.as_slice();
    match command.program().unwrap_or_default() {
        "eval" => vec![script_of(args, command)],
        "trap" => trap(args, command),
        "find" => find(args, command),
        "." | "source" if !args.first().is_some_and(is_a_file) => vec![unknown(command)],
        // `command -v NAME` only asks where a program is.
        "command" if leads_with_option(args, "vV") => Vec::new(),
        shell if is_shell(shell) => self::shell(shell, command),
        program => wrapper(program).map_or_else(Vec::new, |it| wrapped(it, command)),
    }
}

fn unknown(command: &SimpleCommand) -> Step {
    Step::Command(SimpleCommand::undecidable(command.summary()))
}

/// The program that the words are; its input and output are those of the command in front of it.
fn run(mut words: impl Iterator<Item = Word>, outer: &SimpleCommand) -> Option<Step> {
    let mut command = SimpleCommand::new(words.next()?, words.collect());
    command.redirects.clone_from(&outer.redirects);
    command.documents.clone_from(&outer.documents);
    Some(Step::Command(command))
}

/// The arguments joined by spaces are a script.
fn script_of(args: &[Word], command: &SimpleCommand) -> Step {
    let words: Option<Vec<&str>> = args.iter().map(Word::literal).collect();
    match words {
        Some(words) => Step::Script(words.join(" ").trim_start_matches("-- ").to_owned()),
        None => unknown(command),
    }
}

fn trap(args: &[Word], command: &SimpleCommand) -> Vec<Step> {
    let action = args.iter().find(|arg| arg.text() != "--");
    match action {
        Some(Word::Literal(action)) if !action.starts_with('-') => {
            vec![Step::Script(action.clone())]
        }
        Some(Word::Dynamic(_)) => vec![unknown(command)],
        _ => Vec::new(),
    }
}

/// `find`'s ways to start a program, each up to `;`, or to a `+` right after `{}`.
fn find(args: &[Word], command: &SimpleCommand) -> Vec<Step> {
    let mut found = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        if !matches!(arg.text(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let mut words: Vec<Word> = Vec::new();
        for word in args.iter().skip(at.saturating_add(1)) {
            let after_braces = words.last().is_some_and(|last| last.text() == "{}");
            if word.text() == ";" || (word.text() == "+" && after_braces) {
                break;
            }
            words.push(match word {
                Word::Literal(text) if text.contains("{}") => Word::Dynamic(text.clone()),
                other => other.clone(),
            });
        }
        found.extend(run(words.into_iter(), command));
    }
    found
}

fn shell(program: &str, command: &SimpleCommand) -> Vec<Step> {
    if !reads_as_bash_does(program) {
        return vec![unknown(command)];
    }
    let mut is_string = false;
    let mut args = command.args.iter();
    while let Some(arg) = args.next() {
        let Word::Literal(text) = arg else { return vec![unknown(command)] };
        match text.as_str() {
            "--help" | "--version" => return Vec::new(),
            "--" | "-" => return shell_operand(args.next(), is_string, command),
            "--rcfile" | "--init-file" => {
                if !args.next().is_some_and(is_a_file) {
                    return vec![unknown(command)];
                }
            }
            long if long.starts_with("--") => {}
            short if short.starts_with(['-', '+']) => {
                // bash takes its long options with one dash too; `s` reads the input, and `k` makes arguments to variables.
                if short.len() == 1 || short.len() > 5 || short.contains(['s', 'k']) {
                    return vec![unknown(command)];
                }
                is_string |= short.starts_with('-') && short.contains('c');
                for _ in short.matches(['o', 'O']) {
                    if args.next().is_some_and(Word::is_dynamic) {
                        return vec![unknown(command)];
                    }
                }
            }
            _ => return shell_operand(Some(arg), is_string, command),
        }
    }
    shell_operand(None, is_string, command)
}

/// The first operand of a shell: a script to read, or a file to run. Without one it reads its input.
fn shell_operand(operand: Option<&Word>, is_string: bool, command: &SimpleCommand) -> Vec<Step> {
    match (operand, command.documents.as_slice()) {
        (Some(Word::Literal(script)), _) if is_string => vec![Step::Script(script.clone())],
        (Some(file), _) if !is_string && is_a_file(file) => Vec::new(),
        (None, [Word::Literal(script)]) if !is_string => vec![Step::Script(script.clone())],
        _ => vec![unknown(command)],
    }
}

fn wrapped(wrapper: &Wrapper, command: &SimpleCommand) -> Vec<Step> {
    let args = command.args.as_slice();
    let Some(rest) = operands(wrapper, args) else { return vec![unknown(command)] };
    // Without a program these start a shell.
    if rest.is_empty() && matches!(wrapper.name, "sudo" | "doas") {
        return vec![unknown(command)];
    }
    let found = match wrapper.name {
        "xargs" => xargs(args, rest, command),
        _ => run(rest.iter().cloned(), command),
    };
    found.into_iter().collect()
}

/// The inner command gets words from the input: at its end, or wherever the replacement string stands.
fn xargs(args: &[Word], rest: &[Word], command: &SimpleCommand) -> Option<Step> {
    const INPUT: &str = "$(input of xargs)";
    let own = args.len().saturating_sub(rest.len());
    let mut marks: Vec<String> = Vec::new();
    for (at, arg) in args.iter().take(own).enumerate() {
        let text = arg.text();
        if text == "--replace" {
            marks.push("{}".into());
        } else if let Some(mark) = text.strip_prefix("--replace=") {
            marks.push(mark.into());
        } else if let Some((_, mark)) = text.strip_prefix('-').and_then(|t| t.split_once('I')) {
            let next = args.get(at.saturating_add(1)).map(Word::text).unwrap_or_default();
            marks.push(if mark.is_empty() { next } else { mark }.to_owned());
        }
    }
    let replaced = |word: &Word| match marks.iter().find(|mark| word.text().contains(mark.as_str()))
    {
        Some(mark) => Word::Dynamic(word.text().replace(mark.as_str(), INPUT)),
        None => word.clone(),
    };
    let input = marks.is_empty().then(|| Word::Dynamic(INPUT.into()));
    run(rest.iter().map(replaced).chain(input.filter(|_| !rest.is_empty())), command)
}

/// Whether the word names a script in a file, rather than an option or a file that is some program's output.
fn is_a_file(word: &Word) -> bool {
    let Word::Literal(text) = word else { return false };
    let path = normal(text);
    let is_stream = |parts: &[&str]| {
        matches!(parts, ["dev", "stdin" | "stdout" | "stderr" | "fd" | "tty"] | ["proc", _])
    };
    let parts: Vec<&str> = path.split('/').collect();
    !text.starts_with('-') && !path.starts_with("/dev/") && !parts.windows(2).any(is_stream)
}
