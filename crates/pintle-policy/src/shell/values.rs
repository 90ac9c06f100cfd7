//! What a word that is decided at run time may become, as far as its own text says.

use super::{Word, ansi_c, heredoc};

/// More choices than anybody writes by hand.
const MOST: usize = 64;
/// A default value in a default value in a default value…
const DEEPEST: usize = 8;
/// Longer words are not read, so that judging stays cheap.
const LONGEST: usize = 4096;

impl Word {
    /// Stands, in [`Word::readings`], for what could be any place: what nobody can tell from the text.
    pub const ANYWHERE: &'static str = "$()/..";

    /// The texts that this word may become: quotes taken off, each of `{a,b}` chosen, each default (`${X:-/}`) put in its place.
    /// What only running it would tell stays as `$NAME`, or as `$()` for a substitution; file patterns stay as they are.
    ///
    /// ```
    /// # use pintle_policy::shell::Word;
    /// let word = Word::Dynamic("\"${X:-/}\"{a,b}".into());
    /// assert_eq!(word.readings(), ["$Xa", "$Xb", "/a", "/b"]);
    /// ```
    #[must_use]
    pub fn readings(&self) -> Vec<String> {
        match self {
            Self::Literal(text) => vec![text.clone()],
            Self::Dynamic(raw) if raw.len() > LONGEST => anywhere(),
            Self::Dynamic(raw) => alternatives(raw, 0),
        }
    }
}

fn anywhere() -> Vec<String> {
    vec![Word::ANYWHERE.to_owned()]
}

fn alternatives(raw: &str, depth: usize) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut rest = raw;
    let mut quoted = false;
    while let Some(first) = rest.chars().next() {
        let (choices, used) = match first {
            '"' => {
                quoted = !quoted;
                (vec![String::new()], 1)
            }
            '\'' | '{' if quoted => (vec![first.to_string()], 1),
            _ => next(rest, depth).unwrap_or((anywhere(), rest.len())),
        };
        if found.len().saturating_mul(choices.len()) > MOST {
            return anywhere();
        }
        found = followed_by_each(found, &choices);
        rest = rest.get(used.max(1)..).unwrap_or_default();
    }
    found
}

/// The choices for what `rest` starts with, and how many bytes that was; `None` when it does not end.
fn next(rest: &str, depth: usize) -> Option<(Vec<String>, usize)> {
    let one = |text: &str, used: usize| Some((vec![text.to_owned()], used));
    let mut chars = rest.chars();
    let first = chars.next()?;
    let after = chars.as_str();
    match (first, chars.next()) {
        ('\'', _) => {
            let end = after.find('\'')?;
            one(after.get(..end)?, end.saturating_add(2))
        }
        ('\\', Some('\n')) => one("", 2),
        ('\\', Some(escaped)) => one(escaped.encode_utf8(&mut [0; 4]), 1 + escaped.len_utf8()),
        ('`', _) => one("$()", 1 + closed(after, Inside::Backquotes)?),
        ('$' | '<' | '>', Some('(')) => {
            one("$()", 2 + closed(after.get(1..)?, Inside::Parentheses)?)
        }
        ('$', Some('\'')) => {
            let end = after.get(1..)?.find('\'')?;
            let text = after.get(1..)?.get(..end)?;
            one(if text.contains('\\') { Word::ANYWHERE } else { text }, end.saturating_add(3))
        }
        ('$', Some('{')) => {
            let end = closed(after.get(1..)?, Inside::Expansion)?;
            Some((expansion(after.get(1..end)?, depth), 2 + end))
        }
        ('{', _) => {
            let end = closed(after, Inside::Braces)?;
            let inside = after.get(..end.saturating_sub(1))?;
            match parts(inside).as_slice() {
                _ if depth >= DEEPEST => None,
                [only] if is_numbers(only) => Some((numbers(only), 1 + end)),
                [only] if is_letters(only) => one("?", 1 + end),
                [_] => one("{", 1),
                parts => {
                    let choices =
                        parts.iter().flat_map(|part| alternatives(part, depth.saturating_add(1)));
                    Some((choices.collect(), 1 + end))
                }
            }
        }
        (c, _) => one(c.encode_utf8(&mut [0; 4]), c.len_utf8()),
    }
}

/// `a..z`, `a..z..2`
fn is_letters(inside: &str) -> bool {
    let is_end = |end: &str| end.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    inside.contains("..") && inside.split("..").all(is_end)
}

/// `1..9`, `01..10..2`
fn is_numbers(inside: &str) -> bool {
    let is_number = |text: &str| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    let ends: Vec<&str> = inside.split("..").collect();
    matches!(ends.len(), 2 | 3) && ends.into_iter().all(is_number)
}

/// The numbers of a short range; of another one, all that starts like a number. A shell without ranges takes it as written.
fn numbers(inside: &str) -> Vec<String> {
    let as_written = format!("{{{inside}}}");
    let ends = inside.split_once("..").map(|(from, to)| (from.parse::<i64>(), to.parse::<i64>()));
    let short = match ends {
        Some((Ok(from), Ok(to))) if !inside.contains(['+', '-']) && !is_padded(inside) => {
            let (from, to) = (from.min(to), from.max(to));
            (to.saturating_sub(from) < 16).then(|| (from..=to).map(|n| n.to_string()).collect())
        }
        _ => None,
    };
    let mut found: Vec<String> = short.unwrap_or_else(|| vec!["[0-9]*".into(), "-".into()]);
    found.push(as_written);
    found
}

/// `01..10`
fn is_padded(inside: &str) -> bool {
    inside.split("..").any(|end| end.len() > 1 && end.starts_with('0'))
}

/// Every start with every choice behind it.
pub(super) fn followed_by_each(mut starts: Vec<String>, choices: &[String]) -> Vec<String> {
    if let [only] = choices {
        starts.iter_mut().for_each(|start| start.push_str(only));
        return starts;
    }
    let each = |start: &String| {
        choices.iter().map(|choice| format!("{start}{choice}")).collect::<Vec<_>>()
    };
    starts.iter().flat_map(each).collect()
}

/// The same, each once; `None` when they are more than `most`, or take more steps than are left.
pub(super) fn with_each(
    starts: Vec<String>,
    choices: &[String],
    most: usize,
    takes: impl Fn(usize) -> Option<()>,
) -> Option<Vec<String>> {
    let longest = choices.iter().map(String::len).max().unwrap_or_default();
    takes(starts.len().saturating_mul(choices.len()).saturating_mul(longest.max(1)))?;
    let mut found = followed_by_each(starts, choices);
    if choices.len() > 1 {
        found.sort_unstable();
        found.dedup();
    }
    (found.len() <= most).then_some(found)
}

/// What an escape, or a text in single quotes, at the start of `rest` stands for, and what follows it; nothing in the inner place
/// when `rest` starts with something else, and nothing at all when it never ends.
pub(super) fn unquoted(rest: &str, quoted: bool) -> Option<Option<(String, &str)>> {
    let mut chars = rest.chars();
    let (first, next) = (chars.next()?, chars.next());
    let after = rest.get(first.len_utf8()..)?;
    Some(match (first, next) {
        ('\\', Some('\n')) => Some((String::new(), after.get(1..)?)),
        ('\\', Some(c)) if !quoted || "$`\"\\".contains(c) => {
            Some((c.to_string(), after.get(c.len_utf8()..)?))
        }
        ('\'', _) if !quoted => {
            let (inside, tail) = after.split_once('\'')?;
            Some((inside.to_owned(), tail))
        }
        ('$', Some('\'')) if !quoted => {
            let (inside, tail) = after.get(1..)?.split_once('\'')?;
            Some((ansi_c(inside).unwrap_or_else(|| inside.to_owned()), tail))
        }
        _ => None,
    })
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Inside {
    Parentheses,
    Expansion,
    Braces,
    Quotes,
    Backquotes,
}

/// How many bytes it is to the end of what has just been opened, its bracket included. `None` when there is no end, or when only a
/// whole shell could tell.
pub(super) fn closed(text: &str, opened: Inside) -> Option<usize> {
    let mut open = vec![opened];
    let mut chars = text.char_indices().peekable();
    let mut before = ' ';
    let mut documents = Vec::new();
    while let Some((at, c)) = chars.next() {
        let inside = *open.last()?;
        let follows = chars.peek().map(|(_, c)| *c);
        let is_end = match inside {
            Inside::Parentheses => c == ')',
            Inside::Expansion | Inside::Braces => c == '}',
            Inside::Quotes => c == '"',
            Inside::Backquotes => c == '`',
        };
        match c {
            '\\' => drop(chars.next()),
            _ if is_end => {
                open.pop();
                if open.is_empty() {
                    return Some(at.saturating_add(1));
                }
            }
            _ if inside == Inside::Backquotes => {}
            '`' => open.push(Inside::Backquotes),
            '"' => open.push(Inside::Quotes),
            '$' if follows == Some('{') => {
                chars.next();
                open.push(Inside::Expansion);
            }
            '$' if follows == Some('(') => {
                chars.next();
                open.push(Inside::Parentheses);
            }
            // Whether it quotes there depends on the quotes around it all.
            '\'' if inside == Inside::Expansion => return None,
            '\'' if inside != Inside::Quotes => drop(chars.find(|(_, c)| *c == '\'')?),
            '(' if inside == Inside::Parentheses => open.push(inside),
            '{' if inside == Inside::Braces => open.push(inside),
            // A `)` in a comment or after a pattern of `case` closes nothing; nor one in a here-document, whose text is passed over.
            '#' if inside == Inside::Parentheses && " \t\n;&|(".contains(before) => return None,
            '<' if inside == Inside::Parentheses && follows == Some('<') => {
                let after = text.get(at.saturating_add(2)..)?;
                if let Some(string) = after.strip_prefix('<') {
                    let skipped = text.len().saturating_sub(string.len());
                    chars
                        .by_ref()
                        .take_while(|(at, _)| at.saturating_add(1) < skipped)
                        .for_each(drop);
                } else {
                    documents.push(heredoc::Awaited::from(after)?);
                }
            }
            '\n' if !documents.is_empty() => {
                let mut end = at.saturating_add(1);
                for document in documents.drain(..) {
                    end = end.saturating_add(document.length(text.get(end..)?)?);
                }
                while chars.peek().is_some_and(|(at, _)| *at < end) {
                    chars.next();
                }
            }
            'c' if inside == Inside::Parentheses
                && text.get(at..).is_some_and(|rest| rest.starts_with("case")) =>
            {
                return None;
            }
            _ => {}
        }
        before = c;
    }
    None
}

/// Whether the text is a single `$(…)` or its like in backquotes.
pub(super) fn is_one_substitution(text: &str) -> bool {
    let ends = |rest: Option<&str>, inside| {
        rest.is_some_and(|rest| closed(rest, inside) == Some(rest.len()))
    };
    let is_arithmetic = text.starts_with("$((");
    ends(text.strip_prefix("$(").filter(|_| !is_arithmetic), Inside::Parentheses)
        || ends(text.strip_prefix('`'), Inside::Backquotes)
}

/// Splits at the commas that are in no inner braces and no quotes.
pub(super) fn parts(inside: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    inside
        .split(|c| {
            if std::mem::take(&mut escaped) {
                return false;
            }
            match c {
                '\\' if quote != Some('\'') => escaped = true,
                '"' | '\'' if quote == Some(c) => quote = None,
                '"' | '\'' if quote.is_none() => quote = Some(c),
                '{' if quote.is_none() => depth = depth.saturating_add(1),
                '}' if quote.is_none() => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0 && quote.is_none()
        })
        .collect()
}

/// A piece that is cut off a variable: `${name%.rs}`, `${name##*/}`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cut {
    pub(crate) at_start: bool,
    /// What is cut off, if that is plain to read.
    pub(crate) pattern: Option<String>,
}

impl Word {
    /// The pieces that are cut off variables in this word.
    pub(crate) fn cuts(&self) -> Vec<Cut> {
        let mut cuts = Vec::new();
        let mut rest = if self.is_dynamic() { self.text() } else { "" };
        while let Some((_, after)) = rest.split_once("${") {
            rest = after;
            let operator =
                after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
            let at_start = match operator.chars().next() {
                Some('#') if operator.len() < after.len() => true,
                Some('%') => false,
                _ => continue,
            };
            let written = operator.trim_start_matches(if at_start { '#' } else { '%' });
            let end = closed(written, Inside::Expansion).map(|end| end.saturating_sub(1));
            let pattern = end.and_then(|end| written.get(..end)).map(str::to_owned);
            let is_plain = |text: &String| !text.contains(['$', '`', '"', '\'', '\\', '[', '(']);
            cuts.push(Cut { at_start, pattern: pattern.filter(is_plain) });
        }
        cuts
    }
}

/// Whether a variable of this name is one of the line's own: those of the environment are in capitals.
fn is_own(name: &str) -> bool {
    name.contains(|c: char| c.is_ascii_lowercase())
}

/// `${…}`: the variable itself, and what may stand in its place.
fn expansion(inside: &str, depth: usize) -> Vec<String> {
    let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inside.len());
    let (name, mut operator) = inside.split_at_checked(end).unwrap_or((inside, ""));
    if name.is_empty() || depth >= DEEPEST {
        // `${!X}` is whatever X names; `${#X}` and the like are numbers.
        let is_plain = matches!(operator, "@" | "*" | "#" | "?" | "-" | "$" | "!")
            || operator.starts_with('#');
        return if is_plain { vec!["$()".to_owned()] } else { anywhere() };
    }
    if let Some(index) = operator.strip_prefix('[') {
        match index.split_once(']') {
            Some((index, rest)) if !index.contains(['[', '$', '`', '"', '\'']) => operator = rest,
            _ => return anywhere(),
        }
    }
    let variable = format!("${name}");
    let is_same =
        operator.is_empty() || operator.starts_with(['?', '^', ',']) || operator.starts_with(":?");
    if is_same {
        return vec![variable];
    }
    // What is left of one of the line's own texts is looked at with these.
    if operator.starts_with(['%', '#']) && is_own(name) && !inside.contains('[') {
        return vec![variable];
    }
    match [":-", ":=", ":+", "-", "=", "+"].iter().find_map(|op| operator.strip_prefix(op)) {
        Some(text) => {
            let mut found = vec![variable];
            found.extend(alternatives(text, depth.saturating_add(1)));
            found
        }
        // Cutting a piece off a place, or changing one, leads to another place.
        None => anywhere(),
    }
}
