//! What needs no rule to be allowed, and which rule would allow what does.

use super::operands::has_subcommands;
use crate::shell::{SimpleCommand, Word};

/// Whether the command runs nothing and touches nothing: `cargo test || true`.
pub(super) fn needs_no_rule(command: &SimpleCommand) -> bool {
    let Some(name) = command.name.literal().filter(|_| command.assignments.is_empty()) else {
        return false;
    };
    // `: "${X:=y}"` sets a variable.
    let sets = |arg: &Word| arg.text().contains('=');
    match name {
        ":" | "true" | "false" | "exit" | "return" | "break" | "continue" | "shift" => {
            !command.args.iter().any(sets)
        }
        "wait" => !command.args.iter().any(|arg| arg.text().starts_with('-') || sets(arg)),
        "set" => !command.args.is_empty() && command.args.iter().all(is_plain_mode),
        _ => false,
    }
}

/// `-e`, `-euo pipefail`
fn is_plain_mode(arg: &Word) -> bool {
    let Some(text) = arg.literal() else { return false };
    let letters = text.strip_prefix(['-', '+']).unwrap_or_default();
    let is_short = !letters.is_empty() && letters.chars().all(|c| "euxvo".contains(c));
    is_short || matches!(text, "errexit" | "nounset" | "pipefail" | "verbose" | "xtrace")
}

/// The rule that would allow the command, if one can be written.
pub(super) fn rule_for(command: &SimpleCommand) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for assignment in &command.assignments {
        let (name, _) = assignment.text().split_once('=')?;
        words.push(format!("{name}=*"));
    }
    let name = command.name.literal()?;
    if !name.is_empty() {
        words.push(name.to_owned());
        let verb = command.args.first().and_then(Word::literal).filter(|it| !it.starts_with('-'));
        words.extend(verb.filter(|_| has_subcommands(name)).map(str::to_owned));
        words.push("*".to_owned());
    }
    let rule = words.join(" ");
    // What a rule cannot hold is for the person to think about.
    let is_plain = |c: char| c.is_alphanumeric() || "_-./+=* :@%".contains(c);
    (!rule.is_empty() && rule.chars().all(is_plain)).then_some(rule)
}
