//! Where a shell takes a text for a number: in arithmetic the value of a variable is read as arithmetic again, and an index in it
//! (`a[$(rm x)]`) is run. So what is calculated with must come from the line itself, or from what prints nothing but numbers.

use super::options::has_option;
use super::unwrap::is_name;
use super::values::{Inside, closed};
use super::wrappers::is_shell;
use super::{SimpleCommand, Word, simple_commands};
use std::collections::{HashMap, HashSet};

/// Stands for `$1`, `$@` and their like.
pub(super) const WORDS: &str = "@";

/// What the variables of a line are set to, and what it calculates with.
#[derive(Default)]
pub(crate) struct Values {
    /// What each is set to; nothing for what comes from outside the line.
    set: Vec<(String, Option<Word>)>,
    /// Where each name stands in that.
    places: HashMap<String, Vec<usize>>,
    /// Texts that are taken for numbers.
    calculated: Vec<String>,
    functions: Vec<String>,
    /// Some text in the line that is printed may end a part of a script when it is read again.
    says_more: bool,
    /// Arrays may have any text for an index.
    has_keys: bool,
    /// Variables that take whatever they are set to for a number.
    numbers: Vec<String>,
    /// For each `read` that reads what a pipe prints, the variable.
    piped: Vec<String>,
}

impl Values {
    pub(super) fn set(&mut self, name: &str, value: Option<Word>) {
        self.places.entry(name.to_owned()).or_default().push(self.set.len());
        self.set.push((name.to_owned(), value));
    }

    fn set_all(&mut self, all: impl IntoIterator<Item = (String, Option<Word>)>) {
        all.into_iter().for_each(|(name, value)| self.set(&name, value));
    }

    fn values_of(&self, name: &str) -> impl Iterator<Item = Option<&Word>> {
        let places = self.places.get(name).into_iter().flatten();
        places.filter_map(|at| self.set.get(*at)).map(|(_, value)| value.as_ref())
    }

    pub(super) fn calculate(&mut self, text: &str) {
        self.calculated.push(text.to_owned());
    }

    pub(super) fn function(&mut self, name: &str) {
        self.functions.push(name.to_owned());
    }

    pub(super) fn append(&mut self, mut other: Self) {
        self.set_all(other.set);
        self.calculated.append(&mut other.calculated);
        self.functions.append(&mut other.functions);
        self.piped.append(&mut other.piped);
    }

    /// `seq 5 | while read name`: one `read` of that name is known by what is printed there.
    pub(super) fn read_from(&mut self, printing: &str, name: &str) {
        self.set(name, Some(Word::Dynamic(format!("$({printing})"))));
        self.piped.push(name.to_owned());
    }

    /// `${name:=value}`, `${name:offset}`
    pub(super) fn expansion(&mut self, text: &str) {
        let inside = text.trim_start_matches("${").trim_end_matches('}');
        let rest = inside.strip_prefix(['@', '*', '!']).unwrap_or(inside);
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let rest = match rest.strip_prefix('[').and_then(|index| index.split_once(']')) {
            Some((_, rest)) => rest,
            None => rest,
        };
        let name = inside.get(..inside.len().saturating_sub(rest.len())).unwrap_or_default();
        if let Some(value) = rest.strip_prefix(":=").or_else(|| rest.strip_prefix('=')) {
            self.set(name, Some(Word::Dynamic(value.to_owned())));
        } else if let Some(offset) = rest.strip_prefix(':')
            && !offset.starts_with(['-', '?', '+'])
        {
            self.calculate(offset);
        }
    }

    /// What a command does with variables.
    pub(super) fn of_command(&mut self, command: &SimpleCommand) {
        let program = command.program().unwrap_or_default();
        for word in command.assignments.iter().chain(&command.args) {
            self.assigned(word);
        }
        let texts = command.redirects.iter().filter(|redirect| redirect.operator == "<<<");
        let texts = texts.map(|redirect| &redirect.target).chain(&command.documents);
        let printed = command.args.iter().filter(|_| matches!(program, "echo" | "printf"));
        let ends = |word: &Word| word.text().contains(['/', '|', ',', '#', '@', '~', '!', '\\']);
        self.says_more |= texts.chain(printed).any(ends);
        let operands = || command.args.iter().filter(|arg| !arg.text().starts_with('-'));
        match program {
            "read" | "mapfile" | "readarray" | "getopts" => {
                let is_it = |name: &String| operands().any(|operand| operand.text() == name);
                if program == "read"
                    && operands().count() == 1
                    && let Some(at) = self.piped.iter().position(is_it)
                {
                    self.piped.swap_remove(at);
                    return;
                }
                self.set_all(operands().map(|name| (name.text().to_owned(), None)));
            }
            "printf" => {
                if let [option, name, values @ ..] = command.args.as_slice()
                    && option.text() == "-v"
                {
                    let is_plain = |word: &Word| !word.text().contains('\\');
                    let known = values.iter().all(is_plain);
                    let values = values.iter().cloned().map(|word| known.then_some(word));
                    self.set_all(values.map(|value| (name.text().to_owned(), value)));
                } else if command.args.first().is_some_and(|arg| arg.text().starts_with("-v")) {
                    let name = command.args.first().map_or("", Word::text);
                    self.set(name.trim_start_matches("-v"), None);
                }
            }
            "let" => self.calculated.extend(command.args.iter().map(|arg| arg.text().to_owned())),
            "declare" | "local" | "typeset" | "readonly" | "export" => {
                self.has_keys |= has_option(&command.args, "A");
                // In other letters than it was written.
                if has_option(&command.args, "clu") {
                    let names = operands().filter_map(|arg| arg.text().split('=').next());
                    self.set_all(names.map(|name| (name.to_owned(), None)));
                }
                if has_option(&command.args, "i") {
                    let names = operands().map(|arg| arg.text().split(['=', '+', '[']).next());
                    self.numbers.extend(names.flatten().map(str::to_owned));
                }
            }
            "test" | "[" => {
                let tested = command.args.windows(2).filter_map(|pair| match pair {
                    [option, name] if matches!(option.text(), "-v" | "-R") => Some(name),
                    _ => None,
                });
                tested.for_each(|name| self.named(name));
            }
            "unset" => operands().for_each(|name| self.named(name)),
            _ => {}
        }
        if program == "set" || is_shell(program) || self.is_function(program) {
            let mut words = command.args.as_slice();
            while let ("set", [Word::Literal(option), rest @ ..]) = (program, words)
                && option.starts_with(['-', '+'])
            {
                words = rest;
                if option == "--" {
                    break;
                }
            }
            let words = words.iter().cloned();
            self.set_all(words.map(|word| (WORDS.to_owned(), Some(word))));
        }
    }

    /// The name of a variable, with an index in it perhaps.
    pub(super) fn named(&mut self, word: &Word) {
        if word.is_dynamic() {
            self.calculate(word.text());
        } else if let Some((_, index)) = word.text().split_once('[') {
            self.calculate(index.trim_end_matches(']'));
        }
    }

    /// `NAME=value`, `NAME+=value`, `NAME[index]=value`
    fn assigned(&mut self, word: &Word) {
        let text = word.text().trim_start_matches(['"', '\'']);
        let Some((left, value)) = text.split_once('=') else { return };
        let (name, is_more) = left.strip_suffix('+').map_or((left, false), |name| (name, true));
        let (name, index) = name.split_once('[').unwrap_or((name, ""));
        if !is_name(name) {
            return;
        }
        self.calculate(index.trim_end_matches(']'));
        // `a=([index]=value)`
        if value.starts_with('(') && value.contains("]=") {
            self.calculate(value);
        }
        self.set(
            name,
            Some(match word {
                Word::Dynamic(_) => Word::Dynamic(value.to_owned()),
                Word::Literal(_) if is_more && !value.contains(['$', '`']) => {
                    Word::Dynamic(format!("${{{name}}}{value}"))
                }
                Word::Literal(_) => Word::Literal(value.to_owned()),
            }),
        );
        if is_more {
            self.set(name, Some(Word::Dynamic(format!("${name}"))));
        }
    }

    /// The texts that are taken for numbers, and the variables that are.
    pub(super) fn calculations(&self) -> impl Iterator<Item = &String> {
        self.calculated.iter().chain(&self.numbers)
    }

    /// The variables that the line sets.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.set.iter().map(|(name, _)| name.as_str())
    }

    /// Whether the line has a function of this name.
    pub(crate) fn is_function(&self, name: &str) -> bool {
        self.functions.iter().any(|function| function == name)
    }

    /// Whether nothing that the line prints could end a part of a script.
    pub(super) fn says_only_plain(&self) -> bool {
        !self.says_more
    }

    /// All that the line sets this variable to; `None` when only running it would tell.
    pub(crate) fn of(&self, name: &str) -> Option<Vec<&Word>> {
        self.values_of(name).collect()
    }

    /// What the line itself sets this variable to, and whether it is also set to something else.
    pub(super) fn known(&self, name: &str) -> (Vec<&Word>, bool) {
        let (known, unknown): (Vec<_>, Vec<_>) = self.values_of(name).partition(Option::is_some);
        (known.into_iter().flatten().collect(), !unknown.is_empty())
    }

    /// Every text that the line sets a variable to.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.set.iter().filter_map(|(_, value)| value.as_ref()).map(Word::text)
    }

    /// Whether an index of an array may be any text.
    pub(crate) fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// What the line calculates with although it may be no number, and the variable that may be none.
    pub(crate) fn no_number(&self) -> Option<(&str, Option<String>)> {
        const FROM_OUTSIDE: &[&str] = &[
            "BASH_ARGV",
            "BASH_COMMAND",
            "BASH_REMATCH",
            "DIRSTACK",
            "FUNCNAME",
            "MAPFILE",
            "OLDPWD",
            "OPTARG",
            "PWD",
            "REPLY",
            "_",
        ];
        if self.calculated.is_empty() && self.numbers.is_empty() {
            return None;
        }
        let needs: Vec<(&str, Option<Vec<String>>)> = self
            .set
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_ref().and_then(|it| self.needs(it))))
            .collect();
        let mut unknown: HashSet<&str> = FROM_OUTSIDE.iter().copied().collect();
        loop {
            let before = unknown.len();
            for (name, needs) in &needs {
                let is_known = |needs: &Vec<String>| !meets(needs, &unknown);
                if !needs.as_ref().is_some_and(is_known) {
                    unknown.insert(name);
                }
            }
            if unknown.len() == before {
                break;
            }
        }
        let is_unknown = |text: &&String| {
            let needs = Reading { values: self, calculated: true }.names(text);
            needs.is_none_or(|needs| meets(&needs, &unknown))
        };
        let number = self.numbers.iter().find(|name| unknown.contains(name.as_str()));
        let text = self.calculated.iter().find(is_unknown).or(number)?;
        let mut names = Reading { values: self, calculated: true }.names(text).unwrap_or_default();
        names.retain(|name| unknown.contains(name.as_str()) && is_name(name));
        Some((text, names.into_iter().next()))
    }

    /// The variables that the value is made of; `None` when something else is in it that may be no number.
    fn needs(&self, value: &Word) -> Option<Vec<String>> {
        match value {
            Word::Literal(text) if text.contains(['$', '`']) => None,
            Word::Literal(text) => Reading { values: self, calculated: true }.names(text),
            Word::Dynamic(raw) => Reading { values: self, calculated: false }.names(raw),
        }
    }

    /// The same for what a substitution prints.
    pub(super) fn printed(&self, script: &str) -> Option<Vec<String>> {
        // One pipeline and nothing else: what comes last in it prints.
        if script.contains([';', '&', '\n', '(', '{', '`']) || script.contains("||") {
            return None;
        }
        let commands = simple_commands(script).ok()?;
        let mut last = commands.iter().rev();
        loop {
            let command = last.next()?;
            let program = command.name.literal()?;
            if self.is_function(program) {
                return None;
            }
            let args: Vec<&str> = command.args.iter().map(Word::text).collect();
            return match (program, args.as_slice()) {
                ("tr", ["-d", _]) | ("xargs", []) => continue,
                ("echo" | "expr", args) => {
                    let is_plain = |arg: &&str| !arg.contains('\\') && !arg.starts_with('-');
                    args.iter().all(is_plain).then_some(())?;
                    let needs = command.args.iter().map(|arg| self.needs(arg));
                    needs.collect::<Option<Vec<_>>>().map(|all| all.concat())
                }
                // It goes from number to number.
                ("seq", [_] | [_, _] | [_, _, _]) if !args.iter().any(|a| a.starts_with('-')) => {
                    let needs = command.args.iter().map(|arg| self.needs(arg));
                    needs.collect::<Option<Vec<_>>>().map(|all| all.concat())
                }
                (program, args) => {
                    let is_known = !command.args.iter().any(Word::is_dynamic);
                    (is_known && prints_numbers(program, args)).then(Vec::new)
                }
            };
        }
    }
}

fn meets(needs: &[String], unknown: &HashSet<&str>) -> bool {
    needs.iter().any(|name| unknown.contains(name.as_str()))
}

fn prints_numbers(program: &str, args: &[&str]) -> bool {
    let is_option = |arg: &&str| arg.starts_with('-');
    match (program, args) {
        // With a file's name it prints that, too.
        ("wc", args) => args.iter().all(|arg| is_option(arg) && !arg.starts_with("--f")),
        ("nproc", args) => args.iter().all(is_option),
        ("seq", args) => {
            !args.iter().any(|arg| arg.starts_with(['-', '+']) && arg.contains(['f', 's']))
        }
        ("date", [format]) => {
            let is_part = |part: &str| part.is_empty() || "sYmdHMSNjyu".contains(part);
            format.strip_prefix("+%").is_some_and(|parts| parts.split('%').all(is_part))
        }
        ("id", ["-u" | "-g"]) | ("tput", ["cols" | "lines"]) | ("jq", ["length"]) => true,
        ("jq", ["length", _] | [_, "length"]) => true,
        ("stat", ["-c" | "-f", "%s" | "%z" | "%Y" | "%m", file]) => !is_option(file),
        ("grep", [count, rest @ ..]) => {
            let letters = count.strip_prefix('-').unwrap_or_default();
            let is_plain = letters.contains('c') && letters.chars().all(|c| "cEFPivwx".contains(c));
            is_plain && rest.len() <= 2 && !rest.iter().any(is_option)
        }
        ("git", ["rev-list", "--count", rest @ ..]) => !rest.iter().any(is_option),
        _ => false,
    }
}

/// How a text is read for the variables in it.
struct Reading<'v> {
    values: &'v Values,
    /// It is arithmetic: `*` multiplies.
    calculated: bool,
}

impl Reading<'_> {
    fn names(&self, text: &str) -> Option<Vec<String>> {
        let mut names = Vec::new();
        let mut rest = text;
        let mut quoted = false;
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        while let Some(first) = rest.chars().next() {
            let after = rest.get(first.len_utf8()..)?;
            let next = after.chars().next();
            rest = match (first, next) {
                ('\\', Some('$' | '`')) => return None,
                ('\\', Some(escaped)) => after.get(escaped.len_utf8()..)?,
                ('"', _) => {
                    quoted = !quoted;
                    after
                }
                ('\'', _) if !quoted && !self.calculated => {
                    let (inside, after) = after.split_once('\'')?;
                    (!inside.contains(['$', '`'])).then_some(())?;
                    names.extend(self.names(inside)?);
                    after
                }
                ('$', Some('\'')) => {
                    let (inside, after) = after.get(1..)?.split_once('\'')?;
                    (!inside.contains(['$', '`', '\\'])).then_some(())?;
                    after
                }
                ('<' | '>', Some('(')) => return None,
                ('*' | '?', _) if !self.calculated && !quoted => return None,
                ('`', _) => {
                    let end = closed(after, Inside::Backquotes)?;
                    names.extend(self.values.printed(after.get(..end.checked_sub(1)?)?)?);
                    after.get(end..)?
                }
                ('$', Some('(')) => {
                    let inside = after.get(1..)?;
                    let end = closed(inside, Inside::Parentheses)?;
                    // Arithmetic makes a number, and is looked at by itself.
                    if !inside.starts_with('(') {
                        names.extend(self.values.printed(inside.get(..end.checked_sub(1)?)?)?);
                    }
                    inside.get(end..)?
                }
                ('$', Some('{')) => {
                    let inside = after.get(1..)?;
                    let end = closed(inside, Inside::Expansion)?;
                    names.extend(self.expanded(inside.get(..end.checked_sub(1)?)?)?);
                    inside.get(end..)?
                }
                ('$', Some(c)) if c.is_ascii_digit() || c == '@' || c == '*' => {
                    names.push(WORDS.to_owned());
                    after.get(1..)?
                }
                ('$', Some('#' | '?' | '$' | '!' | '-')) => after.get(1..)?,
                (digit, _) if digit.is_ascii_digit() => after.trim_start_matches(is_part),
                (letter, _) if is_part(letter) => {
                    let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                    names.push(rest.get(..end)?.to_owned());
                    rest.get(end..)?
                }
                _ => after,
            };
        }
        Some(names)
    }

    /// What stands in `${…}`.
    fn expanded(&self, inside: &str) -> Option<Vec<String>> {
        let reading = Reading { values: self.values, calculated: true };
        match inside.chars().next()? {
            '#' => Some(Vec::new()),
            // The indices of an array are numbers, unless it has keys; other than that it is whatever the variable names.
            '!' => {
                let is_array = inside.ends_with("[@]") || inside.ends_with("[*]");
                (is_array && !self.values.has_keys).then(Vec::new)
            }
            '@' | '*' | '0'..='9' => {
                let mut names = reading.names(inside)?;
                names.push(WORDS.to_owned());
                Some(names)
            }
            _ => reading.names(inside),
        }
    }
}
