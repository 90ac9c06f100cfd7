//! Guards on parsed commands. The rules are described in the module above.

use super::advice::{needs_no_rule, rule_for};
use super::globs::no_choices;
use super::operands::{Place, may_end_like, may_follow};
use super::{PatternError, Refusal, glob};
use crate::Reach;
use crate::shell::{SimpleCommand, Word, simple_commands};
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
        Ok(Self { allow: super::each(allow, Rule::new)?, deny: super::each(deny, Rule::new)? })
    }

    pub(crate) fn judge(&self, input: &Value, reach: &Reach) -> Option<Refusal> {
        let Some(command) = input.get("command").and_then(Value::as_str) else {
            return Some(Refusal::unreadable(
                "the input has no text `command`, so the shell guard cannot judge it",
            ));
        };
        let commands = match simple_commands(command) {
            Ok(commands) => commands,
            Err(error) => return Some(Refusal::unreadable(error.to_string())),
        };
        let place = Place::of(reach);
        commands.iter().find_map(|command| match command.name.is_dynamic() {
            true => Some(Refusal::unreadable(format!(
                "the shell guard cannot judge it: what `{}` runs is decided at run time",
                command.summary()
            ))),
            false => self.judge_one(command, &place),
        })
    }

    fn judge_one(&self, command: &SimpleCommand, place: &Place<'_>) -> Option<Refusal> {
        let shown = format!("`{}`", command.summary());
        if let Some(rule) = self.deny.iter().find(|rule| rule.may_match(command, place)) {
            return Some(match rule.only_by(command, place) {
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
        let is_empty = command.name.text().is_empty() && command.assignments.is_empty();
        let is_allowed = is_empty
            || needs_no_rule(command)
            || self.allow.iter().any(|rule| rule.surely_matches(command));
        if !is_allowed {
            return Some(Refusal::not_among(&shown, rule_for(command).as_deref()));
        }
        let writes = command
            .redirects
            .iter()
            .filter(|r| r.writes() && r.target.literal() != Some("/dev/null"));
        let files = self.allow.iter().filter(|rule| rule.writes).flat_map(|rule| &rule.words);
        let files: Vec<&Pattern> = files.collect();
        let is_allowed =
            |target: &Word| target.literal().is_some_and(|target| place.surely_is(&files, target));
        let mut stray = writes.filter(|r| !is_allowed(&r.target));
        stray.next().map(|r| {
            let file = r.target.text();
            let rule = r.target.literal().map(|file| format!("> {file}"));
            Refusal::not_among(&format!("writing to `{file}`"), rule.as_deref())
        })
    }
}

/// What means any arguments, or a regular expression, to other programs.
fn other_spelling(text: &str) -> Option<String> {
    if text.split_whitespace().any(|word| word.ends_with(":*")) {
        let words = text.split_whitespace().map(|word| word.strip_suffix(":*").unwrap_or(word));
        let words: Vec<&str> = words.collect();
        return Some(format!(
            "ends a word with `:*`, which does not stand for its arguments here: write `{} *`; a colon itself is `[:]`",
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
    fn only_by<'c>(&self, command: &'c SimpleCommand, place: &Place<'_>) -> Option<&'c str> {
        let mut known = command.clone();
        known.args.retain(|word| !word.is_dynamic());
        known.redirects.retain(|redirect| !redirect.target.is_dynamic());
        let targets = command.redirects.iter().filter(|it| it.writes()).map(|it| &it.target);
        let mut words: Vec<&Word> = targets.filter(|_| self.writes).collect();
        words.extend(command.args.iter().filter(|_| !self.writes));
        let word = words.into_iter().find(|word| word.is_dynamic())?;
        (!self.may_match(&known, place)).then_some(word.text())
    }

    fn may_match(&self, command: &SimpleCommand, place: &Place<'_>) -> bool {
        if self.writes {
            let mut targets =
                command.redirects.iter().filter(|it| it.writes()).map(|it| &it.target);
            return targets.any(|target| {
                self.words.iter().any(|pattern| match target {
                    Word::Literal(text) => place.may_be(pattern, text),
                    Word::Dynamic(raw) => may_end_like(raw, pattern),
                })
            });
        }
        let Some((first, rest)) = self.words.split_first() else { return false };
        if first.as_str().contains('=') {
            let set = command.assignments.iter().any(|a| a.is_dynamic() || first.matches(a.text()));
            return set && rest.is_empty();
        }
        let named = command.name.literal().is_some_and(|n| first.matches(n))
            || command.program().is_some_and(|p| first.matches(p));
        named && may_follow(rest, command, place)
    }
}
