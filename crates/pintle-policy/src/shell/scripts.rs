//! What the scripts of `sed` and `awk` do besides turning their input into output.

use super::awk::awk;
use super::pieces::{NUMBERS, OPEN, is_plain, pieces};
use super::told::{Telling, Told, told};
use super::{SimpleCommand, Values, Word};

/// More scripts than anybody writes in one line.
const MOST: usize = 64;

/// What a text in a program's own language does.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Does {
    /// It runs a program.
    pub(crate) runs: bool,
    /// What it may read or write by a name of its own.
    pub(crate) files: Vec<String>,
}

impl Does {
    pub(super) fn anything() -> Self {
        Self { runs: true, files: Vec::new() }
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        self.runs |= other.runs;
        self.files.extend(other.files);
        self
    }

    /// A file whose name nobody knows is anything.
    fn opens(&mut self, file: &str) {
        self.runs |= is_open(file);
        self.files.push(file.trim().to_owned());
    }
}

fn is_open(text: &str) -> bool {
    text.contains([OPEN, NUMBERS])
}

/// Programs whose scripts are read here.
pub(crate) fn is_read(program: &str) -> bool {
    matches!(program, "sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk")
}

/// Whether a text among the command's words runs a program, or may; of what the shell puts together this is known when all that
/// the line sets is ([`runs_by_values`]).
pub(crate) fn runs(command: &SimpleCommand) -> bool {
    let is_known = |told: &Told<'_>| told.texts.iter().all(Option::is_some);
    match told(command) {
        Telling::None => false,
        Telling::Unknown => true,
        Telling::Known(told) => is_known(&told) && does(command, &told, &Values::default()).runs,
    }
}

/// Whether such a program, started by another one with these words, runs a program by its script.
pub(crate) fn runs_by_script(program: &str, args: &[Word]) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    let command = || SimpleCommand::new(Word::Literal(program.to_owned()), args.to_vec());
    is_read(name) && runs(&command())
}

/// The same for a command of which words are decided at run time.
pub(crate) fn runs_by_values(command: &SimpleCommand, values: &Values) -> bool {
    let is_dynamic = command.args.iter().any(Word::is_dynamic);
    if !is_dynamic || !command.program().is_some_and(is_read) || runs(command) {
        return false;
    }
    let Telling::Known(told) = told(command) else { return false };
    // `x=-e1e; sed p $x`
    let is_option = |word: &&Word| {
        let others = word.is_dynamic() && !told.words.iter().any(|text| std::ptr::eq(*text, *word));
        let texts = others.then(|| pieces(word, values)).flatten().unwrap_or_default();
        texts.iter().any(|text| text.starts_with('-'))
    };
    command.args.iter().any(|word| is_option(&word)) || does(command, &told, values).runs
}

/// What the texts in a command do, whatever they may become.
pub(crate) fn does(command: &SimpleCommand, told: &Told<'_>, values: &Values) -> Does {
    let program = command.program().unwrap_or_default();
    if !is_read(program) {
        return Does::default();
    }
    let mut scripts = vec![String::new()];
    for (word, text) in told.words.iter().zip(&told.texts) {
        let texts = match text {
            Some(text) => Some(vec![(*text).to_owned()]),
            None => pieces(word, values),
        };
        let Some(texts) = texts.filter(|texts| texts.len().saturating_mul(scripts.len()) <= MOST)
        else {
            return Does::anything();
        };
        let with = |script: &String| texts.iter().map(|t| format!("{script}{t}\n")).collect();
        scripts = scripts.iter().flat_map(|script| -> Vec<String> { with(script) }).collect();
    }
    // What comes from outside may be nothing at all.
    let emptied = scripts.iter().filter(|script| is_open(script));
    let emptied: Vec<String> = emptied.map(|it| it.replace([OPEN, NUMBERS], "")).collect();
    scripts.extend(emptied);
    let read = |script: &String| match program {
        "sed" | "gsed" => {
            // In a set of letters the sign that ends a pattern is one of them to some, and the end to others.
            let both = [true, false].map(|in_sets| sed(script, in_sets));
            let is_open = script.contains([OPEN, NUMBERS]);
            // What we cannot read may do anything.
            let known = both.into_iter().filter_map(|does| match does {
                None if is_open => Some(Does::anything()),
                does => does,
            });
            known.reduce(Does::and).unwrap_or_else(Does::anything)
        }
        _ => awk(script),
    };
    scripts.iter().map(read).fold(Does::default(), Does::and)
}

fn sed(script: &str, in_sets: bool) -> Option<Does> {
    let mut does = Does::default();
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        if rest.is_empty() {
            return Some(does);
        }
        rest = past_addresses(rest, in_sets)?.trim_start_matches([' ', '\t', '!']);
        let command = rest.chars().next()?;
        // Where a number is missing (`,3p`) it does nothing at all.
        if command == ',' && !is_open(script) {
            return Some(Does::default());
        }
        let after = rest.get(command.len_utf8()..)?;
        let (line, next) = after.split_once('\n').unwrap_or((after, ""));
        rest = match command {
            '{' | '}' => after,
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F'
            | 'l' | 'q' | 'Q' => {
                let number = after.trim_start_matches([' ', '\t']);
                end_of(number.trim_start_matches(|c: char| c.is_ascii_digit()))?
            }
            '#' => {
                does.runs |= line.contains(NUMBERS);
                next
            }
            ':' | 'b' | 't' | 'T' | 'v' => {
                let label = after.trim_start_matches([' ', '\t']);
                let is_end = |c: char| c.is_whitespace() || matches!(c, ';' | '}');
                let (name, rest) =
                    label.split_at_checked(label.find(is_end).unwrap_or(label.len()))?;
                does.runs |= is_open(name);
                end_of(rest)?
            }
            'a' | 'i' | 'c' => {
                let rest = past_text(after);
                let text = after.strip_suffix(rest).unwrap_or(after);
                does.runs |= text.contains(NUMBERS);
                rest
            }
            'r' | 'R' | 'w' | 'W' => {
                does.opens(line);
                next
            }
            'e' => {
                does.runs = true;
                next
            }
            's' | 'y' => {
                let sign =
                    after.chars().next().filter(|c| !matches!(*c, '\\' | '\n' | OPEN | NUMBERS))?;
                let pattern = after.get(sign.len_utf8()..)?;
                let replacement = past(pattern, sign, in_sets && command == 's')?;
                let flags = past(replacement, sign, false)?;
                past_flags(flags, &mut does)?
            }
            _ => return None,
        };
    }
}

/// What follows the flags of `s///`.
fn past_flags<'s>(flags: &'s str, does: &mut Does) -> Option<&'s str> {
    let end = flags.find(|c: char| !"gpiImMe0123456789 \t".contains(c)).unwrap_or(flags.len());
    let (letters, rest) = flags.split_at_checked(end)?;
    does.runs |= letters.contains('e');
    if let Some(file) = rest.strip_prefix('w') {
        let (file, next) = file.split_once('\n').unwrap_or((file, ""));
        does.opens(file);
        return Some(next);
    }
    end_of(rest)
}

/// The text, if a command ends where it starts.
fn end_of(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches([' ', '\t']);
    (rest.is_empty() || rest.starts_with([';', '}', '\n', '#'])).then_some(rest)
}

/// What follows the line, and each one after it that a backslash takes along.
fn past_text(text: &str) -> &str {
    let mut escaped = false;
    let end = text.find(|c| {
        let ends = c == '\n' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.and_then(|end| text.get(end..)).unwrap_or_default()
}

/// `1,/end/`, `$`, `\,pattern,I`, `0~2`, `1,+3`
fn past_addresses(script: &str, in_sets: bool) -> Option<&str> {
    let mut rest = script;
    loop {
        rest = match rest.chars().next()? {
            '/' => past_modifiers(past(rest.get(1..)?, '/', in_sets)?),
            '\\' => {
                let sign =
                    rest.chars().nth(1).filter(|c| !matches!(*c, '\\' | '\n' | OPEN | NUMBERS))?;
                past_modifiers(past(rest.get(1..)?.get(sign.len_utf8()..)?, sign, in_sets)?)
            }
            '0'..='9' | '$' | '+' | '~' | NUMBERS => {
                rest.trim_start_matches(|c: char| c.is_ascii_digit() || "$+~\u{2}".contains(c))
            }
            _ => return Some(rest),
        };
        let next = rest.trim_start_matches([' ', '\t']);
        match next.strip_prefix(',') {
            Some(after) => rest = after.trim_start_matches([' ', '\t']),
            None => return Some(next),
        }
    }
}

fn past_modifiers(text: &str) -> &str {
    text.trim_start_matches(['I', 'M'])
}

/// What follows the next such sign that is not escaped, nor in a set of letters if that counts.
fn past(text: &str, sign: char, in_sets: bool) -> Option<&str> {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            // It may hold that sign.
            OPEN if is_plain(sign) => return None,
            '\\' => drop(chars.next()),
            _ if c == sign => return text.get(at.saturating_add(c.len_utf8())..),
            '[' if in_sets => {
                chars.next_if(|(_, c)| *c == '^');
                chars.next_if(|(_, c)| *c == ']');
                chars.find(|(_, c)| *c == ']')?;
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::simple_commands;
    use super::*;

    fn done(line: &str) -> Option<Does> {
        let commands = simple_commands(line).unwrap_or_default();
        let command = commands.first()?;
        match told(command) {
            Telling::Known(told) => Some(does(command, &told, &Values::default())),
            _ => None,
        }
    }

    #[test]
    fn a_script_that_only_edits_does_nothing_else() {
        for line in [
            "sed '/^#/d' f",
            "sed -n '/foo/,/bar/p' f",
            "sed -n -e 1,3p -e '$!N;P;D' f",
            "sed 's/[/]e/w/g; s,a,b,2p' f",
            "sed -E 's|^(.*)/x$|\\1|;:a;N;$!ba' f",
            "sed '1i\\\nw /etc/x\nd' f",
            "sed -i.bak '\\,x,{s/a/b/;n}' f",
            "sed y/we/ab/ f",
            "awk '/a|b/ {print $1}' f",
            "awk -F: -v x=1 '$3 > 5 || x {n++} END {print n/2 \"|\"}' f",
            "awk '{split($0, a, \"|\"); gsub(/[/|]/, \"\")}' f",
        ] {
            assert_eq!(done(line).map(|it| it.runs), Some(false), "{line}");
        }
        assert_eq!(done("sed '/w/d;s/r/e/;1i\\\nw /etc/x\nd' f"), Some(Does::default()));
    }

    #[test]
    fn a_script_that_runs_a_program_or_opens_a_file_says_so() {
        for line in [
            "sed '/x/e' f",
            "sed '1e rm x' f",
            "sed 's/a/rm/e' f",
            "sed -n 's/a/rm/gep' f",
            "sed 's/[/]/a/;s/b/c/e' f",
            "sed -e p -e '1!e' f",
            "sed '1i hi\ne' f",
            "awk 'BEGIN{system(\"rm\")}'",
            "awk '{print | \"sh\"}' f",
            "awk '{\"date\" | getline x}' f",
            "gawk '{f=\"system\"; @f(\"rm\")}' f",
            "awk '{x = 1 / 2; system(\"a\") / 1}' f",
            "awk '{if (1) /\"/; system(\"rm\") \"/\"}' f",
            "awk '{x = 1 ? /\"/ : system(\"rm /\")}' f",
            "awk '{print /\"/; print | \"sh /\"}' f",
            "sed ':a w /etc/x' f",
            "sed --expression='1e' f",
            "sed -ne1e f",
            "gawk -e 'BEGIN{system(\"id\")}'",
            "sed 'p w /etc/x' f",
        ] {
            assert_eq!(done(line).map(|it| it.runs), Some(true), "{line}");
        }
        for line in [
            "sed -e 'w /etc/x' f",
            "sed --posix 'w /etc/x' f",
            "sed --expression='w /etc/x' f",
            "sed -n '/x/w /etc/x' f",
            "sed 's/a/b/w /etc/x' f",
            "sed 's/[/]/b/gw /etc/x' f",
            "sed '1r /etc/x' f",
            "sed '$!{/a/R /etc/x\n}' f",
            "awk '{print > \"/etc/x\"}' f",
            "awk '{print >> \"\\057etc/x\"}' f",
            "awk '{getline l < \"/etc/x\"}' f",
            "awk 'BEGIN{ARGV[1]=\"/etc/x\";ARGC=2} 1'",
        ] {
            let files = done(line).map(|it| it.files);
            assert!(files.is_some_and(|all| all.contains(&"/etc/x".into())), "{line}");
        }
    }
}
