//! The commands of a line with what it sets its variables to: `for f in *.txt; do mv "$f" "${f%.txt}.md"; done` moves `*.txt` to
//! `*.md`, whatever these are.

use crate::cuts::left_of;
use crate::movers::is_mover;
use crate::shell::{
    Redirect, ShellError, SimpleCommand, Values, Word, is_one_word, is_variable_name, read,
};

/// A command that could be more is left as it was written.
const MOST: usize = 16;

/// Every simple command of `line`, as [`simple_commands`](crate::shell::simple_commands) lists them. A command with variables
/// that only the line itself sets is listed once for each of their values, and once with none, as it is before they are set;
/// a file pattern among these stays one. Whatever goes to another folder is left as it was written.
///
/// # Errors
/// When the line cannot be read.
///
/// ```
/// # use pintle_policy::commands_with_values;
/// let commands = commands_with_values("for f in *.c; do rm \"${f%.c}.o\"; done; rm $g").unwrap();
/// let lines: Vec<String> = commands.iter().map(|command| command.summary()).collect();
/// assert_eq!(lines, ["*.c", "rm *.o", "rm .o", "rm $g"]);
/// ```
pub fn commands_with_values(line: &str) -> Result<Vec<SimpleCommand>, ShellError> {
    let script = read(line)?;
    let sets_separators = script.values.of("IFS").is_none_or(|set| !set.is_empty());
    let is_open = sets_separators || script.commands().any(sets_anything);
    let mut found = Vec::new();
    for command in script.commands() {
        match variants(command, &script.values).filter(|_| !is_open) {
            Some(variants) => found.extend(variants),
            None => found.push(command.clone()),
        }
    }
    Ok(found)
}

fn variants(command: &SimpleCommand, values: &Values) -> Option<Vec<SimpleCommand>> {
    let targets = command.redirects.iter().map(|redirect| &redirect.target);
    let mut names: Vec<&str> = command.args.iter().chain(targets).filter_map(variable).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() || is_mover(command) {
        return None;
    }
    let mut all: Vec<Vec<(&str, String)>> = vec![Vec::new()];
    for name in names {
        let texts = texts(name, values)?;
        let mut more = Vec::new();
        for one in &all {
            more.extend(
                texts.iter().map(|text| [one.as_slice(), &[(name, text.clone())]].concat()),
            );
        }
        all = more;
        if all.len() > MOST {
            return None;
        }
    }
    let mut found: Vec<SimpleCommand> = Vec::new();
    for held in &all {
        for one in filled(command, held)? {
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    Some(found)
}

/// The variable of the line's own that the word has, if that is all there is to find out about it: `$f`, `"${f%.c}.o"`.
fn variable(word: &Word) -> Option<&str> {
    let text = word.text();
    let (_, after) = text.split_once('$').filter(|_| word.is_dynamic())?;
    let braced = after.strip_prefix('{');
    let after = braced.unwrap_or(after);
    let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
    let name = after.get(..end)?;
    let is_own = is_variable_name(name) && name.contains(|c: char| c.is_ascii_lowercase());
    let is_all = text.matches('$').count() == 1 && !text.contains(['`', '(', '\\', '\'', '~']);
    // `${f,,}` is another text, `${f:-x}` one more.
    let is_same = braced.is_none() || after.get(end..)?.starts_with(['}', '%', '#']);
    let is_option = text.trim_start_matches('"').starts_with('-');
    (is_own && is_all && is_same && !is_option).then_some(name)
}

/// Whether the command may set a variable of which the name or the value is made at run time: `printf -v $n x`, `declare -n r=f`.
fn sets_anything(command: &SimpleCommand) -> bool {
    let args = || command.args.iter();
    let is_named_later = |word: &Word| {
        word.is_dynamic() && word.text().trim_start_matches('"').starts_with(['$', '`'])
    };
    let has = |letter: char| {
        args().any(|word| word.text().starts_with('-') && word.text().contains(letter))
    };
    match command.program() {
        // What it makes of the format is known to nobody.
        Some("printf") => has('v'),
        Some("declare" | "export" | "local" | "readonly" | "typeset") => {
            has('n') || args().any(is_named_later)
        }
        Some("getopts" | "let" | "mapfile" | "read" | "readarray") => args().any(is_named_later),
        _ => false,
    }
}

/// What the line sets the variable to, and nothing; `None` when only running it would tell.
fn texts(name: &str, values: &Values) -> Option<Vec<String>> {
    let set = values.of(name).filter(|set| !set.is_empty() && set.len() <= MOST)?;
    let mut found = Vec::new();
    for text in set.into_iter().flat_map(Word::readings) {
        let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%*?[] ".contains(c);
        if !text.chars().all(is_plain) || text.starts_with('-') {
            return None;
        }
        found.push(text);
    }
    found.push(String::new());
    Some(found)
}

/// The command with these values in it: once for each text that one of its words may be then.
fn filled(command: &SimpleCommand, held: &[(&str, String)]) -> Option<Vec<SimpleCommand>> {
    let args = command.args.iter().map(|word| choices(word, held)).collect::<Option<Vec<_>>>()?;
    let targets = command.redirects.iter().map(|redirect| choices(&redirect.target, held));
    let targets = targets.collect::<Option<Vec<_>>>()?;
    let most = args.iter().chain(&targets).map(Vec::len).max().unwrap_or(1);
    let pick = |choices: &Vec<Vec<Word>>, at: usize| {
        let last = choices.len().saturating_sub(1);
        choices.get(at.min(last)).cloned().unwrap_or_default()
    };
    let one = |at: usize| {
        let redirects = command.redirects.iter().zip(&targets).flat_map(|(redirect, choices)| {
            let operator = redirect.operator.clone();
            let with = move |target| Redirect { operator: operator.clone(), target };
            pick(choices, at).into_iter().map(with)
        });
        SimpleCommand {
            args: args.iter().flat_map(|choices| pick(choices, at)).collect(),
            redirects: redirects.collect(),
            ..command.clone()
        }
    };
    (most <= MOST).then(|| (0..most).map(one).collect())
}

/// What the word may be with these values in it, each cut at blanks if it has no quotes.
fn choices(word: &Word, held: &[(&str, String)]) -> Option<Vec<Vec<Word>>> {
    let Some(name) = variable(word) else { return Some(vec![vec![word.clone()]]) };
    let value = held.iter().find(|(held, _)| *held == name).map(|(_, value)| value.as_str())?;
    let mut left = left_of(value, &word.cuts());
    if left.is_empty() {
        left.push(value.to_owned());
    }
    let mark = format!("${name}");
    let as_word = |text: &str| match text.contains(['*', '?', '[']) {
        true => Word::Dynamic(text.to_owned()),
        false => Word::Literal(text.to_owned()),
    };
    let mut found: Vec<Vec<Word>> = Vec::new();
    for reading in word.readings() {
        for value in &left {
            let text = reading.replace(&mark, value);
            let is_whole = is_one_word(word);
            let pieces: Vec<&str> = match is_whole {
                true => vec![text.as_str()],
                false => text.split_whitespace().collect(),
            };
            if text.contains('$') {
                return None;
            }
            // Before it is set, it is nothing.
            let pieces =
                pieces.into_iter().filter(|it| !it.trim_matches('/').is_empty() || value == "/");
            let words: Vec<Word> = pieces.map(as_word).collect();
            if !found.contains(&words) {
                found.push(words);
            }
        }
    }
    Some(found)
}
