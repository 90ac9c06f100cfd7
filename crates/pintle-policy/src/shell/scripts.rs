//! What the scripts of `sed` and `awk` do besides turning their input into output.

use super::told::{Telling, Told, told};
use super::{SimpleCommand, unescaped};

/// What a text in a program's own language does.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Does {
    /// It runs a program.
    pub(crate) runs: bool,
    /// What it may read or write by a name of its own.
    pub(crate) files: Vec<String>,
}

/// Whether a text among the command's words runs a program, or may.
pub(crate) fn runs(command: &SimpleCommand) -> bool {
    let is_script = !matches!(command.program(), Some("git" | "grep" | "egrep" | "fgrep" | "rg"));
    match told(command) {
        Telling::None => false,
        Telling::Unknown => is_script,
        Telling::Known(told) => match does(command, &told) {
            Some(does) => does.runs,
            // Of the rest of it nobody knows.
            None => is_script && told.words.iter().any(|word| word.text().contains("system")),
        },
    }
}

/// What the texts in a command do; `None` when they are decided at run time.
pub(crate) fn does(command: &SimpleCommand, told: &Told<'_>) -> Option<Does> {
    let texts: Option<Vec<&str>> = told.texts.iter().copied().collect();
    let script = texts?.join("\n");
    match command.program()? {
        "sed" | "gsed" => {
            // In a set of letters the sign that ends a pattern is one of them to some, and the end to others.
            let both = [true, false].map(|in_sets| sed(&script, in_sets));
            let known = both.into_iter().flatten().reduce(|mut one, other| {
                one.runs |= other.runs;
                one.files.extend(other.files);
                one
            });
            // What we cannot read may do anything.
            Some(known.unwrap_or(Does { runs: true, files: Vec::new() }))
        }
        "awk" | "gawk" | "mawk" | "nawk" => Some(awk(&script)),
        _ => Some(Does::default()),
    }
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
        let after = rest.get(command.len_utf8()..)?;
        let (line, next) = after.split_once('\n').unwrap_or((after, ""));
        rest = match command {
            '{' | '}' => after,
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F'
            | 'l' | 'q' | 'Q' => {
                let number = after.trim_start_matches([' ', '\t']);
                end_of(number.trim_start_matches(|c: char| c.is_ascii_digit()))?
            }
            '#' => next,
            ':' | 'b' | 't' | 'T' | 'v' => {
                let label = after.trim_start_matches([' ', '\t']);
                let is_end = |c: char| c.is_whitespace() || matches!(c, ';' | '}');
                end_of(label.get(label.find(is_end).unwrap_or(label.len())..)?)?
            }
            'a' | 'i' | 'c' => past_text(after),
            'r' | 'R' | 'w' | 'W' => {
                does.files.push(line.trim().to_owned());
                next
            }
            'e' => {
                does.runs = true;
                next
            }
            's' | 'y' => {
                let sign = after.chars().next().filter(|c| !matches!(c, '\\' | '\n'))?;
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
        does.files.push(file.trim().to_owned());
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
                let sign = rest.chars().nth(1).filter(|c| !matches!(c, '\\' | '\n'))?;
                past_modifiers(past(rest.get(1..)?.get(sign.len_utf8()..)?, sign, in_sets)?)
            }
            '0'..='9' | '$' | '+' | '~' => {
                rest.trim_start_matches(|c: char| c.is_ascii_digit() || "$+~".contains(c))
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

/// All names that the program could use stand in its strings, as far as it does not put them together.
fn awk(program: &str) -> Does {
    let mut strings = Vec::new();
    let mut plain = String::new();
    let mut chars = program.chars().peekable();
    let mut before = '\n';
    // Only a whole grammar could tell whether it divides: `x++ / y`, `if (x) /y/`, `print /y/`.
    let mut is_unclear = false;
    while let Some(c) = chars.next() {
        let starts_a_pattern = !before.is_ascii_alphanumeric() && !"_)]".contains(before);
        is_unclear |= c == '/' && (")$+-".contains(before) || ends_with_a_keyword(&plain));
        if c == '"' || (c == '/' && starts_a_pattern) {
            let mut text = String::new();
            let mut in_set = false;
            while let Some(next) = chars.next() {
                match next {
                    '\\' => text.extend([next].into_iter().chain(chars.next())),
                    '[' if c == '/' => in_set = true,
                    ']' => in_set = false,
                    _ if next == c && !in_set => break,
                    _ => text.push(next),
                }
            }
            if c == '"' {
                strings.push(unescaped(&text).unwrap_or(text));
            }
            // A value stands here.
            plain.push('0');
            before = '0';
            continue;
        }
        if c == '#' {
            chars.find(|c| *c == '\n');
            plain.push('\n');
            before = '\n';
            continue;
        }
        plain.push(c);
        if !matches!(c, ' ' | '\t') {
            before = c;
        }
    }
    if is_unclear {
        plain = program.to_owned();
        strings = program.split('"').map(str::to_owned).collect();
    }
    let words = || plain.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let pipes = plain.replace("||", "").contains('|');
    let opens = plain.contains('>') || words().any(|word| matches!(word, "getline" | "ARGV"));
    Does {
        runs: pipes || plain.contains('@') || words().any(|word| word == "system"),
        files: if opens { strings } else { Vec::new() },
    }
}

fn ends_with_a_keyword(program: &str) -> bool {
    const KEYWORDS: &[&str] = &["case", "do", "else", "getline", "in", "print", "printf", "return"];
    let words = program.trim_end_matches([' ', '\t']);
    let last = words.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
    last.is_some_and(|word| KEYWORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::super::simple_commands;
    use super::*;

    fn done(line: &str) -> Option<Does> {
        let commands = simple_commands(line).unwrap_or_default();
        let command = commands.first()?;
        match told(command) {
            Telling::Known(told) => does(command, &told),
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
