//! The files that a program in the language of `awk` writes to by a name of its own.

/// What `print > …` says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outputs {
    /// Names that stand there as they are.
    pub(super) named: Vec<String>,
    /// A name is put together, held in a variable, or written in escapes: only running it would tell.
    pub(super) open: bool,
}

#[derive(Debug, PartialEq)]
enum Token {
    Text(String),
    Word(String),
    Sign(char),
}

/// All outputs of the program.
pub(super) fn outputs(program: &str) -> Outputs {
    let mut found = Outputs::default();
    if !program.contains('>') || !program.contains("print") {
        return found;
    }
    let Some(tokens) = tokens(program) else { return Outputs { open: true, ..found } };
    let (mut depth, mut printing) = (0_usize, None);
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        rest = after;
        match token {
            Token::Word(word) if word == "print" || word == "printf" => printing = Some(depth),
            Token::Sign('(' | '[') => depth = depth.saturating_add(1),
            Token::Sign(')' | ']') => depth = depth.saturating_sub(1),
            Token::Sign(';' | '{' | '}' | '\n') => printing = None,
            // In brackets, and after anything but `print`, it compares.
            Token::Sign('>')
                if printing == Some(depth) && after.first() != Some(&Token::Sign('=')) =>
            {
                let name = match after {
                    [Token::Sign('>'), name @ ..] | name => name,
                };
                match name {
                    [Token::Text(name)]
                    | [Token::Text(name), Token::Sign(';' | '}' | '\n'), ..]
                        if !name.contains('\\') =>
                    {
                        found.named.push(name.clone());
                    }
                    _ => found.open = true,
                }
                printing = None;
            }
            _ => {}
        }
    }
    found
}

/// `None` where only a whole grammar could tell what is a text and what a pattern.
fn tokens(program: &str) -> Option<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut chars = program.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => tokens.push(Token::Text(until('"', &mut chars)?)),
            '/' => match slash(tokens.last(), chars.clone()) {
                Slash::Divides => tokens.push(Token::Sign('/')),
                // A value stands here.
                Slash::Pattern => {
                    until('/', &mut chars)?;
                    tokens.push(Token::Word("0".into()));
                }
                Slash::Unclear => return None,
            },
            '#' => {
                chars.by_ref().find(|c| *c == '\n');
                tokens.push(Token::Sign('\n'));
            }
            '\\' => drop(chars.next_if(|c| *c == '\n')),
            // A statement goes on after these.
            '\n' if matches!(tokens.last(), Some(Token::Sign(',' | '&' | '|' | '?' | ':'))) => {}
            _ if c.is_alphanumeric() || c == '_' => {
                let mut word = String::from(c);
                while let Some(next) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    word.push(next);
                }
                tokens.push(Token::Word(word));
            }
            ' ' | '\t' | '\r' => {}
            _ => tokens.push(Token::Sign(c)),
        }
    }
    Some(tokens)
}

enum Slash {
    Divides,
    Pattern,
    Unclear,
}

/// What a slash after this is, when it matters: `x++ / y`, `if (x) /y/`, `print /y/`.
fn slash(before: Option<&Token>, mut after: impl Iterator<Item = char>) -> Slash {
    const KEYWORDS: &[&str] = &["case", "do", "else", "getline", "in", "print", "printf", "return"];
    let is_unclear = match before {
        Some(Token::Word(word)) => KEYWORDS.contains(&word.as_str()),
        Some(Token::Sign(sign)) => ")+-$".contains(*sign),
        _ => false,
    };
    let matters =
        |text: &String| text.contains("print") || text.contains(|c| "\"#>{}();[]\\\n".contains(c));
    match before {
        _ if is_unclear => match until('/', &mut after).is_some_and(|text| matters(&text)) {
            true => Slash::Unclear,
            false => Slash::Divides,
        },
        Some(Token::Word(_) | Token::Text(_) | Token::Sign(']')) => Slash::Divides,
        _ => Slash::Pattern,
    }
}

/// What stands before the next such sign that is not escaped.
fn until(sign: char, chars: &mut impl Iterator<Item = char>) -> Option<String> {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.extend([c].into_iter().chain(chars.next())),
            _ if c == sign => return Some(text),
            _ => text.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Outputs {
        Outputs { named: names.iter().map(|it| (*it).to_owned()).collect(), open: false }
    }

    #[test]
    fn a_name_that_stands_there_is_read_and_any_other_is_open() {
        for program in [
            "$3 > 5 {print $1}",
            "{if ($1 > 3) print $2; else print \">\"}",
            "{print ($1 > 3)}",
            "{x = a > b; print x # > y\n}",
            "{print $1/2, $2/3}",
            "BEGIN{print \"a\"} $1>2",
            "/[\"(]/ && $2 > 5 {print}",
            "$1 ~ /print;{/ && $2 > 5 {print $1/2, $2/3}",
        ] {
            assert_eq!(outputs(program), named(&[]), "{program}");
        }
        assert_eq!(outputs("{print > \"x\"}"), named(&["x"]));
        assert_eq!(outputs("/\"/ {print > \"x\"}"), named(&["x"]));
        assert_eq!(
            outputs("{print a,\n b >> \"x\"; printf(\"%s\", $1) > \"y\"\n}"),
            named(&["x", "y"])
        );
        for program in [
            "BEGIN{print \"{}\" > \"\\141gent.json\"}",
            "{print > \"agent.js\" \"on\"}",
            "{print > f}",
            "{print > $1}",
            "{print > (\"agent\" \".json\")}",
            "{print $1 \\\n > f}",
            "{print $0 ~ /a{2}[(]/ > f}",
            "{if (1) /\"/; print > \"agent.json\"} /\"/",
            "{x = y++ / 2; print x / 3 > f}",
            "{print \"a\" > \"b\" x}",
            "{print > \"a",
        ] {
            assert!(outputs(program).open, "{program}");
        }
    }
}
