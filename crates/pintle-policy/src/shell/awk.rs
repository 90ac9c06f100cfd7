//! What a program of `awk` does besides turning its input into output.

use super::ansi_c;
use super::pieces::{NUMBERS, OPEN};
use super::scripts::Does;

/// How a set of letters in a pattern is read: awks differ in what ends the pattern there.
#[derive(Clone, Copy)]
enum Sets {
    /// `[^]/]`, `[[:alpha:]/]`
    Whole,
    /// To the next `]`, whatever it is.
    Short,
    /// A slash ends the pattern wherever it stands.
    None,
}

/// All names that the program could use stand in its strings, as far as it does not put them together.
pub(super) fn awk(program: &str) -> Does {
    // No line ends there.
    let program = program.replace("\\\n", " ");
    let runs = has_word(&program, &["system"]);
    let readings = [Sets::Whole, Sets::Short, Sets::None].map(|sets| read(&program, sets));
    let known = readings.into_iter().flatten().reduce(Does::and);
    let known = known.unwrap_or_else(Does::anything);
    Does { runs: runs || known.runs, files: known.files }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// Whether one of these is a word of it; a number may stand right before one (`1system`).
fn has_word(text: &str, names: &[&str]) -> bool {
    let is_it = |word: &str, name: &str| {
        word == name || (word.starts_with(|c: char| c.is_ascii_digit()) && word.ends_with(name))
    };
    words(text).any(|word| names.iter().any(|name| is_it(word, name)))
}

/// One way to read it; `None` when it is no program in that way.
fn read(program: &str, sets: Sets) -> Option<Does> {
    let mut strings = Vec::new();
    let mut plain = String::new();
    let mut rest = program;
    let mut before = '\n';
    // Only a whole grammar could tell whether it divides: `x++ / y`, `if (x) /y/`, `print /y/`.
    let mut is_unclear = false;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..)?;
        let starts_a_pattern = !before.is_ascii_alphanumeric() && !"_)].".contains(before);
        is_unclear |= c == '/' && (")$+-".contains(before) || ends_with_a_keyword(&plain));
        if c == '"' || (c == '/' && starts_a_pattern) {
            let end = if c == '"' { end_of_string(rest)? } else { end_of_pattern(rest, sets)? };
            let (text, after) = rest.split_at_checked(end)?;
            rest = after.get(1..)?;
            if c == '"' {
                strings.push(ansi_c(text).unwrap_or_else(|| text.to_owned()));
            }
            // A value stands here.
            plain.push('0');
            before = '0';
            continue;
        }
        if c == '#' {
            let (comment, after) = rest.split_once('\n').unwrap_or((rest, ""));
            is_unclear |= comment.contains(NUMBERS);
            rest = after;
            plain.push('\n');
            before = '\n';
            continue;
        }
        plain.push(c);
        if !matches!(c, ' ' | '\t') {
            before = if c == NUMBERS { '0' } else { c };
        }
    }
    if is_unclear {
        plain = program.to_owned();
        strings = program.split('"').map(str::to_owned).collect();
    } else if !is_balanced(&plain) {
        return None;
    }
    let pipes = plain.replace("||", "").contains('|');
    let opens = plain.contains('>') || has_word(&plain, &["getline", "ARGV"]);
    let opens_any = opens && strings.iter().any(|text| text.contains([OPEN, NUMBERS]));
    if opens && (is_unclear || makes_a_name(&plain)) {
        strings.push(OPEN.to_string());
    }
    Some(Does {
        runs: pipes || opens_any || plain.contains(['@', OPEN]),
        files: if opens { strings } else { Vec::new() },
    })
}

/// Whether a file that it opens is more than one text of its own: `print > ("." "env")`, `getline < f`.
fn makes_a_name(plain: &str) -> bool {
    if has_word(plain, &["ARGV"]) {
        return true;
    }
    plain.split([';', '{', '}', '\n']).any(|statement| {
        let written = statement_part(statement, &["print", "printf"], '>');
        let read = statement_part(statement, &["getline"], '<');
        [written, read].into_iter().flatten().any(|name| !is_one_text(name))
    })
}

/// What stands behind the sign that follows one of these words, outside of all brackets that open after the word.
fn statement_part<'s>(statement: &'s str, words: &[&str], sign: char) -> Option<&'s str> {
    let word = words.iter().find(|word| has_word(statement, &[**word]))?;
    let (_, after) = statement.split_once(*word)?;
    let mut depth = 0_usize;
    for (at, c) in after.char_indices() {
        match c {
            '(' | '[' => depth = depth.saturating_add(1),
            ')' | ']' => depth = depth.saturating_sub(1),
            c if c == sign && depth == 0 => return after.get(at.saturating_add(1)..),
            _ => {}
        }
    }
    None
}

/// A text has become `0` by now.
fn is_one_text(name: &str) -> bool {
    let name = name.trim_start_matches(['>', ' ', '\t']);
    let end = name.find([')', '>', '&', '|', ' ', '\t']).unwrap_or(name.len());
    let (name, behind) = name.split_at_checked(end).unwrap_or((name, ""));
    let goes_on =
        behind.trim_start().starts_with(|c: char| c.is_alphanumeric() || "$(_".contains(c));
    name == "0" && !goes_on
}

fn end_of_string(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })
}

fn end_of_pattern(text: &str, sets: Sets) -> Option<usize> {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (c, sets) {
            ('\\', _) => drop(chars.next()),
            ('/', _) => return Some(at),
            ('\n', _) => return None,
            ('[', Sets::None) => {}
            ('[', _) => {
                if matches!(sets, Sets::Whole) {
                    chars.next_if(|(_, c)| *c == '^');
                    chars.next_if(|(_, c)| *c == ']');
                }
                while let Some((_, c)) = chars.next() {
                    let next = chars.peek().map(|(_, c)| *c);
                    match (c, next, sets) {
                        (']', ..) => break,
                        ('\\', ..) => drop(chars.next()),
                        ('[', Some(kind @ (':' | '.' | '=')), Sets::Whole) => {
                            chars.next();
                            chars.find(|(_, c)| *c == kind)?;
                            chars.next_if(|(_, c)| *c == ']');
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether each bracket has its other half; no program has one alone.
fn is_balanced(plain: &str) -> bool {
    let mut open = Vec::new();
    let is_matched = plain.chars().all(|c| match c {
        '(' | '[' | '{' => {
            open.push(c);
            true
        }
        ')' => open.pop() == Some('('),
        ']' => open.pop() == Some('['),
        '}' => open.pop() == Some('{'),
        _ => true,
    });
    is_matched && open.is_empty()
}

fn ends_with_a_keyword(program: &str) -> bool {
    const KEYWORDS: &[&str] = &["case", "do", "else", "getline", "in", "print", "printf", "return"];
    let last = words(program.trim_end_matches([' ', '\t'])).last();
    last.is_some_and(|word| has_word(word, KEYWORDS))
}

#[cfg(test)]
mod tests {
    use super::{OPEN, awk};

    #[test]
    fn a_file_is_known_when_its_name_is_one_text() {
        let is_open = |program: &str| awk(program).files.iter().any(|file| file.contains(OPEN));
        for open in [
            r#"{print > ("." "env")}"#,
            "{print > f}",
            "{print > $1}",
            r#"{print > $1".txt"}"#,
            r#"{print > "a" "b"}"#,
            r#"{print > "a" b}"#,
            "{print > FILENAME}",
            r#"BEGIN{while((getline l < f)>0) print l}"#,
            r#"BEGIN{ARGV[1]="x"} 1"#,
        ] {
            assert!(is_open(open), "{open}");
        }
        for known in [
            r#"{print > "a.txt"}"#,
            r#"{print $1, $2 >> "a.txt"; next}"#,
            "$3 > 10 {print $1}",
            "NR>1{print (a > b)}",
            "{if ($1 > x) print $2}",
            r#"BEGIN{while((getline l < "f")>0) print l}"#,
        ] {
            assert!(!is_open(known), "{known}");
        }
    }
}
