//! Guards on parsed commands. The rules are described in the module above.

use super::globs::no_choices;
use super::here::Here;
use super::operands::may_follow;
use super::{PatternError, Refusal, glob};
use crate::Reach;
use crate::shell::{Script, SimpleCommand, Word, read};
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

    pub(crate) fn judge(&self, input: &Value, reach: &Reach) -> Option<Refusal> {
        let Some(command) = input.get("command").and_then(Value::as_str) else {
            return Some(Refusal::unreadable(
                "the input has no text `command`, so the shell guard cannot judge it",
            ));
        };
        let script = match read(command) {
            Ok(script) => script,
            Err(error) => return Some(Refusal::unreadable(error.to_string())),
        };
        let places = Here::of_each(&script, input, reach);
        let mut commands = script.commands().zip(&places);
        let refusal = commands.find_map(|(command, here)| match command.name.is_dynamic() {
            true => {
                let why = script.undecided(command);
                Some(Refusal::unreadable(format!("the shell guard cannot judge it: {why}")))
            }
            false => self.judge_one(command, here),
        });
        refusal.or_else(|| self.open_to_options(&script))
    }

    /// What is decided outside the line is not surely what was allowed, if it may make the program run another.
    fn open_to_options(&self, script: &Script) -> Option<Refusal> {
        if self.allow.is_empty() {
            return None;
        }
        let open = script.commands().zip(script.open_to_options());
        let (command, word) = open.filter_map(|(command, word)| Some((command, word?))).next()?;
        Some(Refusal::not_allowed(&format!(
            "`{}`, in which `{}` may be an option that runs a program (write `--` or `./` before it),",
            command.summary(),
            word.text()
        )))
    }

    fn judge_one(&self, command: &SimpleCommand, here: &Here<'_>) -> Option<Refusal> {
        let shown = format!("`{}`", command.summary());
        if let Some(rule) = self.deny.iter().find(|rule| rule.may_match(command, here)) {
            return Some(match rule.only_by(command, here) {
                Some(word) => Refusal::denied(
                    &format!("{shown}, in which only running it tells what `{word}` is,"),
                    &rule.written,
                ),
                None => Refusal::denied(&shown, &rule.written),
            });
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
        let files = self.allow.iter().filter(|rule| rule.writes).flat_map(|rule| &rule.words);
        let files: Vec<&Pattern> = files.collect();
        let is_allowed =
            |target: &Word| target.literal().is_some_and(|target| here.surely_is(&files, target));
        let mut stray = writes.filter(|r| !is_allowed(&r.target));
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

    /// The word that is decided at run time, when without it the command would not be what the rule says.
    fn only_by<'c>(&self, command: &'c SimpleCommand, here: &Here<'_>) -> Option<&'c str> {
        let mut known = command.clone();
        known.args.retain(|word| !word.is_dynamic());
        known.redirects.retain(|redirect| !redirect.target.is_dynamic());
        let targets = command.redirects.iter().filter(|it| it.writes()).map(|it| &it.target);
        let mut words: Vec<&Word> = targets.filter(|_| self.writes).collect();
        words.extend(command.args.iter().filter(|_| !self.writes));
        let word = words.into_iter().find(|word| word.is_dynamic())?;
        (!self.may_match(&known, here)).then_some(word.text())
    }

    fn may_match(&self, command: &SimpleCommand, here: &Here<'_>) -> bool {
        if self.writes {
            return command.redirects.iter().filter(|r| r.writes()).any(|r| {
                r.target.is_dynamic() || self.words.iter().any(|p| here.may_be(p, r.target.text()))
            });
        }
        let Some((first, rest)) = self.words.split_first() else { return false };
        if first.as_str().contains('=') {
            let set = command.assignments.iter().any(|a| a.is_dynamic() || first.matches(a.text()));
            return set && rest.is_empty();
        }
        let named = command.name.literal().is_some_and(|n| first.matches(n))
            || command.program().is_some_and(|p| first.matches(p));
        named && may_follow(rest, command, here)
    }
}
