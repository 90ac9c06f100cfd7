//! Guards on parsed commands. The rules are described in the module above.

use super::globs::no_choices;
use super::{PatternError, Refusal, glob};
use crate::paths::normal;
use crate::shell::{SimpleCommand, Word, may_be_long, read};
use glob::Pattern;
use serde_json::Value;

#[derive(Debug, Clone)]
struct Rule {
    written: String,
    writes: bool,
    words: Vec<Pattern>,
}

#[derive(Debug, Clone)]
pub(crate) struct Rules {
    allow: Vec<Rule>,
    deny: Vec<Rule>,
}

impl Rules {
    pub(crate) fn new(allow: &[String], deny: &[String]) -> Result<Self, PatternError> {
        let read =
            |rules: &[String]| rules.iter().map(|r| Rule::new(r)).collect::<Result<Vec<_>, _>>();
        Ok(Self { allow: read(allow)?, deny: read(deny)? })
    }

    pub(crate) fn judge(&self, input: &Value) -> Option<Refusal> {
        let Some(command) = input.get("command").and_then(Value::as_str) else {
            return Some(Refusal::unreadable(
                "the input has no text `command`, so the shell guard cannot judge it",
            ));
        };
        let script = match read(command) {
            Ok(script) => script,
            Err(error) => return Some(Refusal::unreadable(error.to_string())),
        };
        script.commands().find_map(|command| match command.name.is_dynamic() {
            true => {
                let why = script.undecided(command);
                Some(Refusal::unreadable(format!("the shell guard cannot judge it: {why}")))
            }
            false => self.judge_one(command),
        })
    }

    fn judge_one(&self, command: &SimpleCommand) -> Option<Refusal> {
        let shown = format!("`{}`", command.summary());
        if let Some(rule) = self.deny.iter().find(|rule| rule.may_match(command)) {
            return Some(Refusal::denied(&shown, &rule.written));
        }
        if self.allow.is_empty() {
            return None;
        }
        if !is_empty(command) && !self.allow.iter().any(|rule| rule.surely_matches(command)) {
            return Some(Refusal::not_allowed(&shown));
        }
        let writes = command
            .redirects
            .iter()
            .filter(|r| r.writes() && r.target.literal() != Some("/dev/null"));
        let mut stray =
            writes.filter(|r| !self.allow.iter().any(|rule| rule.surely_writes(&r.target)));
        stray.next().map(|r| Refusal::not_allowed(&format!("writing to `{}`", r.target.text())))
    }
}

fn is_empty(command: &SimpleCommand) -> bool {
    command.name.text().is_empty()
        && (command.assignments.is_empty() || command.only_keeps_what_is_printed())
}

/// What means any arguments, or a regular expression, to other programs.
fn other_spelling(text: &str) -> Option<String> {
    if text.split_whitespace().any(|word| word.ends_with(":*")) {
        let words = text.split_whitespace().map(|word| word.strip_suffix(":*").unwrap_or(word));
        let words: Vec<&str> = words.collect();
        return Some(format!(
            "ends a word with `:*`, which is no sign for its arguments here: write `{} *`; a colon itself is `[:]`",
            words.join(" ")
        ));
    }
    let inside = text.trim().strip_prefix('/')?.strip_suffix('/')?;
    let program = inside.split_whitespace().next()?;
    // `/bin/ls src/` is a program and a folder.
    (!program.contains('/')).then(|| {
        format!(
            "stands between slashes, and rules are globs, not regular expressions: write `{inside}`"
        )
    })
}

impl Rule {
    fn new(written: &str) -> Result<Self, PatternError> {
        let (writes, text) = match written.trim().strip_prefix('>') {
            Some(rest) => (true, rest.trim_start_matches('>')),
            None => (false, written),
        };
        if let Some(bad) = text.chars().find(|c| "|&;<>`$()\"'\\".contains(*c)) {
            let message = format!(
                "`{written}` is not a rule for commands: `{bad}` has no meaning here; write one program and its words, like `git push *`"
            );
            return Err(PatternError { message });
        }
        let is_a_list = |word: &str| word.ends_with(',') && !word.starts_with(['-', ',']);
        if text.trim_start().starts_with('!') || text.split_whitespace().any(is_a_list) {
            let message = format!(
                "`{written}` is not a rule for commands: write one rule for each program, and in `allow` what is to be let through"
            );
            return Err(PatternError { message });
        }
        if let Some(message) = other_spelling(text).filter(|_| !writes) {
            return Err(PatternError { message: format!("`{written}` {message}") });
        }
        no_choices(written)?;
        let mut words = text.split_whitespace().map(glob).collect::<Result<Vec<_>, _>>()?;
        if words.len() > 1 && words.last().is_some_and(|w| w.as_str() == "*") {
            words.pop();
        }
        if words.is_empty() || (writes && words.len() > 1) {
            let message = format!(
                "`{written}` is not a rule for commands: write a program and its words, like `git push *`, or `> glob`"
            );
            return Err(PatternError { message });
        }
        Ok(Self { written: written.to_owned(), writes, words })
    }

    fn surely_matches(&self, command: &SimpleCommand) -> bool {
        let name = (!command.name.text().is_empty()).then_some(&command.name);
        let mut words = command.assignments.iter().chain(name).chain(&command.args);
        !self.writes
            && self.words.iter().all(|pattern| {
                words.next().and_then(Word::literal).is_some_and(|w| pattern.matches(w))
            })
    }

    fn surely_writes(&self, target: &Word) -> bool {
        self.writes
            && target.literal().is_some_and(|t| self.words.iter().any(|p| p.matches(&normal(t))))
    }

    fn may_match(&self, command: &SimpleCommand) -> bool {
        if self.writes {
            return command.redirects.iter().filter(|r| r.writes()).any(|r| {
                r.target.is_dynamic()
                    || self.words.iter().any(|p| p.matches(&normal(r.target.text())))
            });
        }
        let Some((first, rest)) = self.words.split_first() else { return false };
        if first.as_str().contains('=') {
            let set = command.assignments.iter().any(|a| a.is_dynamic() || first.matches(a.text()));
            return set && rest.is_empty();
        }
        let named = command.name.literal().is_some_and(|n| first.matches(n))
            || command.program().is_some_and(|p| first.matches(p));
        named && may_follow(rest, command)
    }
}

/// Whether the arguments could be the ones the patterns describe.
fn may_follow(patterns: &[Pattern], command: &SimpleCommand) -> bool {
    let args = command.args.as_slice();
    if is_another_subcommand(patterns, command) {
        return false;
    }
    if args.iter().any(is_anything) {
        return true;
    }
    let (options, operands): (Vec<&Pattern>, Vec<&Pattern>) =
        patterns.iter().partition(|p| p.as_str().starts_with('-') && p.as_str().len() > 1);
    options.iter().all(|option| has_option(option, args)) && operands_in_order(&operands, args)
}

/// Programs whose first word that is no option says what they do.
const HAVE_SUBCOMMANDS: &[&str] = &[
    "apt",
    "apt-get",
    "aws",
    "brew",
    "cargo",
    "docker",
    "gcloud",
    "gh",
    "git",
    "go",
    "helm",
    "kubectl",
    "npm",
    "pip",
    "pnpm",
    "podman",
    "systemctl",
    "terraform",
    "yarn",
];

/// `git commit -m "$MESSAGE"` is not `git push`, whatever the message is; nor is it `git push*`.
fn is_another_subcommand(patterns: &[Pattern], command: &SimpleCommand) -> bool {
    let (Some(wanted), Some(Word::Literal(first))) = (patterns.first(), command.args.first())
    else {
        return false;
    };
    let text = match command.program() {
        Some(program) if HAVE_SUBCOMMANDS.contains(&program) => {
            wanted.as_str().strip_suffix('*').filter(|text| !text.is_empty())
        }
        _ => None,
    };
    let text = text.unwrap_or(wanted.as_str());
    let plain = !text.contains(['-', '/', '.', '*', '?', '[']);
    plain && !first.starts_with('-') && !wanted.matches(first)
}

/// A word that could expand to anything, an option or several words included.
fn is_anything(word: &Word) -> bool {
    match word {
        Word::Literal(_) => false,
        Word::Dynamic(text) => {
            text.contains(['$', '`', '{']) || text.contains("<(") || text.contains(">(")
        }
    }
}

fn has_option(option: &Pattern, args: &[Word]) -> bool {
    let text = option.as_str();
    let exact = args.iter().any(|arg| match arg {
        Word::Literal(arg) => option.matches(arg),
        // A file pattern could find a file named like the option.
        Word::Dynamic(written) => Pattern::new(written).map_or(true, |files| files.matches(text)),
    });
    if exact || text.contains(['*', '?', '[']) {
        return exact;
    }
    let has_letter = |letter: char| {
        args.iter().map(Word::text).filter(|arg| !arg.starts_with("--")).any(|arg| {
            let same = |c: char| match letter {
                // `-r` and `-R` are one option to `rm` and its like.
                'r' | 'R' => c.eq_ignore_ascii_case(&'r'),
                _ => c == letter,
            };
            arg.starts_with('-') && arg.contains(same)
        })
    };
    let has_long = |name: &str| args.iter().any(|arg| may_be_long(arg.text(), name));
    if let Some(long) = text.strip_prefix("--") {
        let name = long.split_once('=').map_or(long, |(name, _)| name);
        let letters =
            LONG_NAMES.iter().filter(|(_, long)| *long == name).map(|(letter, _)| *letter);
        return has_long(name) || letters.into_iter().any(has_letter);
    }
    text.chars().skip(1).all(|letter| {
        has_letter(letter)
            || LONG_NAMES
                .iter()
                .any(|(short, long)| short.eq_ignore_ascii_case(&letter) && has_long(long))
    })
}

/// The long names of letters that mean the same to nearly every program.
const LONG_NAMES: &[(char, &str)] = &[
    ('r', "recursive"),
    ('f', "force"),
    ('a', "all"),
    ('d', "delete"),
    ('i', "in-place"),
    ('i', "interactive"),
];

/// The patterns match words in order. Before a plain word (a subcommand) only options and what may be an option's value can
/// stand; before anything else (a file, a pattern) any word can.
fn operands_in_order(patterns: &[&Pattern], args: &[Word]) -> bool {
    let mut patterns = patterns.iter().peekable();
    let mut after_option = false;
    for arg in args {
        let Some(pattern) = patterns.peek() else { return true };
        let text = arg.text();
        let is_option = text.starts_with('-') && text.len() > 1;
        if pattern.matches(text) || pattern.matches(&normal(text)) || could_find(arg, pattern) {
            patterns.next();
            after_option = false;
        } else if is_option {
            after_option = true;
        } else if after_option || pattern.as_str().contains(['/', '.', '*', '?', '[']) {
            after_option = false;
        } else {
            return false;
        }
    }
    patterns.peek().is_none()
}

/// Whether a file pattern in the command could find what the rule names.
fn could_find(arg: &Word, pattern: &Pattern) -> bool {
    let plain = !pattern.as_str().contains(['*', '?', '[']);
    arg.is_dynamic()
        && plain
        && Pattern::new(arg.text()).map_or(true, |files| files.matches(pattern.as_str()))
}
