//! Guards on parsed commands. The rules are described in the module above.

use super::advice::{needs_no_rule, rule_for};
use super::globs::no_choices;
use super::here::Here;
use super::may_run::may_run;
use super::operands::may_follow;
use super::written::{is_writer, written};
use super::{PatternError, Refusal, glob};
use crate::Reach;
use crate::shell::{
    Redirect, Script, SimpleCommand, Word, is_shell, is_wrapper, read, runs_by_a_script,
    runs_only_its_words,
};
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
        let line = script.held();
        let places = Here::of_each(&script, &line, input, reach);
        let handed = handed_on(&script);
        let mut commands = script.commands().zip(&places);
        let refusal = commands.find_map(|(command, here)| match command.name.is_dynamic() {
            true if self.allow.is_empty() && stands_for_another(command, here) => None,
            true => {
                let why = script.undecided(command);
                Some(Refusal::unreadable(format!("the shell guard cannot judge it: {why}")))
            }
            false if handed.is_empty() => self.judge_one(command, here),
            false => {
                let mut reading = command.clone();
                reading.redirects.extend(handed.iter().cloned());
                self.judge_one(&reading, here)
            }
        });
        refusal
            .or_else(|| self.judge_what_may_run(&script, &places))
            .or_else(|| self.open_to_options(&script))
    }

    /// What a program of which nobody knows what it does with its words may run.
    fn judge_what_may_run(&self, script: &Script, places: &[Here<'_>]) -> Option<Refusal> {
        if self.deny.is_empty() {
            return None;
        }
        let writes = self.deny.iter().any(|rule| rule.writes);
        let is_first = |rule: &Rule, name: &str| {
            !rule.writes && rule.words.first().is_some_and(|first| first.matches(name))
        };
        let wanted = |name: &str| {
            self.deny.iter().any(|rule| is_first(rule, name))
                || (writes && is_writer(name))
                || name.starts_with("git-")
        };
        let commands: Vec<&SimpleCommand> = script.commands().collect();
        may_run(script, &wanted).into_iter().find_map(|found| {
            let by = commands.get(found.by)?;
            let (line, program) = (by.summary(), by.name.text());
            if found.command.name.is_dynamic() {
                let reason = format!(
                    "the shell guard cannot judge `{line}`: `{program}` may run what it is given, and only running it tells what that is"
                );
                return Some(Refusal::unreadable(reason));
            }
            let here = places.get(found.by)?;
            let rule = self.denies(&found.command, here)?;
            let inner = found.command.summary();
            let shown = format!("`{line}`, as `{program}` may run `{inner}`,");
            Some(Refusal::denied(&shown, &rule.written))
        })
    }

    fn denies(&self, command: &SimpleCommand, here: &Here<'_>) -> Option<&Rule> {
        let short = self.deny.iter().find(|rule| {
            rule.in_full(command).is_some_and(|command| rule.may_match(&command, here))
        });
        if short.is_some() {
            return short;
        }
        let dashed = command.program().and_then(|name| name.strip_prefix("git-")).map(|verb| {
            let mut whole = command.clone();
            whole.name = Word::Literal("git".into());
            whole.args.insert(0, Word::Literal(verb.to_owned()));
            whole
        });
        self.deny.iter().find(|rule| {
            rule.may_match(command, here)
                || dashed.as_ref().is_some_and(|whole| rule.may_match(whole, here))
        })
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
        if let Some(rule) = self.denies(command, here) {
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
        let is_allowed = is_empty(command)
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
            |target: &Word| target.literal().is_some_and(|target| here.surely_is(&files, target));
        let mut stray = writes.filter(|r| !is_allowed(&r.target));
        stray.next().map(|r| {
            let file = r.target.text();
            let rule = r.target.literal().map(|file| format!("> {file}"));
            Refusal::not_among(&format!("writing to `{file}`"), rule.as_deref())
        })
    }
}

/// Whether the command only stands for what another one runs by words that are looked at one by one, or by what comes from outside
/// the line: nobody there gets around a rule.
fn stands_for_another(command: &SimpleCommand, here: &Here<'_>) -> bool {
    let is_operand = |arg: &Word| !arg.text().starts_with('-');
    // Without a program some of these start a shell, which reads what it is fed.
    let is_given = |it: &SimpleCommand| {
        let reads = it.redirects.iter().any(|it| it.operator.starts_with('<'));
        it.args.iter().any(is_operand) || !(here.script.pipes || reads)
    };
    let mut others = here.script.commands().filter(|it| it.summary() == command.name.text());
    others.any(|it| {
        let is_script = it.program().is_some_and(runs_by_a_script) && !here.runs_by_own_texts(it);
        is_script || (runs_only_its_words(it) && is_given(it))
    })
}

/// What commands read that others of the line hand on to them: `{ cat; } < x`, `time cat < x`, `exec < x; cat`.
fn handed_on(script: &Script) -> Vec<Redirect> {
    let hands_on = |command: &&SimpleCommand| {
        let program = command.program().unwrap_or_default();
        matches!(program, "" | "exec" | "env" | "time" | "timeout" | "coproc")
            || is_wrapper(program)
            || is_shell(program)
            || script.values.is_function(program)
    };
    let redirects = script.commands().filter(hands_on).flat_map(|command| &command.redirects);
    redirects.filter(|redirect| redirect.operator == "<").cloned().collect()
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

    /// The command with the word in full that says what it does: npm takes `pub` for `publish`, and git sends a pack to push.
    fn in_full(&self, command: &SimpleCommand) -> Option<SimpleCommand> {
        let wanted = self.words.get(1)?.as_str();
        let at = command.args.iter().position(|arg| !arg.text().starts_with('-'))?;
        let first = command.args.get(at)?.literal()?;
        let is_it = match command.program()? {
            "npm" => first.len() > 1 && wanted.starts_with(first),
            "git" => first == "send-pack" && wanted == "push",
            _ => false,
        };
        let mut whole = command.clone();
        *whole.args.get_mut(at)? = Word::Literal(wanted.to_owned());
        (is_it && first != wanted).then_some(whole)
    }

    fn may_match(&self, command: &SimpleCommand, here: &Here<'_>) -> bool {
        if self.writes {
            let mut targets =
                command.redirects.iter().filter(|it| it.writes()).map(|it| &it.target);
            let files = written(command, here.script);
            return self.words.iter().any(|pattern| {
                targets.any(|target| here.may_be_written(pattern, target))
                    || files
                        .iter()
                        .any(|file| file.text() == Word::ANYWHERE || here.may_name(pattern, file))
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
