//! The rules by which a person approves more than one call (R11.7): allow rules of a guard, one for each.

use super::advice::needs_no_rule;
use super::operands::has_subcommands;
use super::{Guard, GuardKind};
use crate::shell::{SimpleCommand, Word, simple_commands};

/// Programs that run another one. A rule for them would cover whatever they run.
const RUN_OTHERS: &[&str] = &[
    "at", "batch", "chroot", "command", "coproc", "crontab", "doas", "env", "eval", "exec", "find",
    "flock", "ionice", "nice", "nohup", "nsenter", "parallel", "pkexec", "runuser", "screen",
    "script", "setsid", "stdbuf", "strace", "su", "sudo", "time", "timeout", "tmux", "trap",
    "unshare", "watch", "xargs",
];

/// Programs that run what their first word names: a rule names it too.
const RUN_THEIR_FIRST_WORD: &[&str] = &[
    ".", "bash", "bunx", "dash", "fish", "ksh", "lua", "node", "npx", "perl", "php", "pwsh",
    "python", "rsh", "ruby", "sh", "source", "ssh", "ts-node", "tsx", "uvx", "zsh",
];

/// The rule to offer for a command line: the program, its subcommand and `*`.
///
/// There is none for a line whose commands need more than one, for one that is decided at run time, and for programs that run others.
///
/// ```
/// # use pintle_policy::guard::rule_for_line;
/// assert_eq!(rule_for_line("git push origin main").as_deref(), Some("git push *"));
/// assert_eq!(rule_for_line("git push && git push --tags || true").as_deref(), Some("git push *"));
/// assert_eq!(rule_for_line("make -j4 all").as_deref(), Some("make *"));
/// assert_eq!(rule_for_line("python3 tools/fetch.py --all").as_deref(), Some("python3 tools/fetch.py *"));
/// for line in ["sudo make", "sh -c 'git push'", "python3 -c 'x()'", "git -C x push", "cd x && git push", "git push $to"] {
///     assert_eq!(rule_for_line(line), None, "{line}");
/// }
/// ```
#[must_use]
pub fn rule_for_line(line: &str) -> Option<String> {
    let commands = simple_commands(line).ok()?;
    let mut rules = commands.iter().filter(|command| !needs_no_rule(command)).map(rule_for_one);
    let first = rules.next()??;
    rules.all(|rule| rule.as_ref() == Some(&first)).then_some(first)
}

fn rule_for_one(command: &SimpleCommand) -> Option<String> {
    let (name, program) = (command.name.literal()?, command.program()?);
    // `python3.12` is `python`.
    let family = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_one_of = |list: &[&str]| list.contains(&program) || list.contains(&family);
    let args: Vec<&str> = command.args.iter().map(Word::literal).collect::<Option<_>>()?;
    if !command.assignments.is_empty() || is_one_of(RUN_OTHERS) {
        return None;
    }
    let mut words = vec![name];
    if has_subcommands(program) || is_one_of(RUN_THEIR_FIRST_WORD) {
        words.push(args.first().filter(|word| !word.starts_with('-'))?);
    }
    // A `*` in a word would make the rule wider than the line.
    let is_plain = |c: char| c.is_alphanumeric() || "_-./+=:@%".contains(c);
    if !words.iter().all(|word| !word.is_empty() && word.chars().all(is_plain)) {
        return None;
    }
    let rule = format!("{} *", words.join(" "));
    Guard::check_rule(GuardKind::Shell, &rule).is_ok().then_some(rule)
}
