//! Variables by which a script decides where the programs it starts look for more: `os.environ["PATH"] = "bin:" + …`.

use super::Search;
use super::spans::{arguments, closing, part};
use super::tokens::{Kind, Part, Token, Tongue};
use super::values::{Bound, Piece};
use crate::contents::is_of_the_system;
use crate::shell::steers_programs;
use std::path::Path;

/// Functions that set one variable.
const SETTERS: [&str; 4] = ["putenv", "setdefault", "setenv", "store"];
/// What the environment is called.
const ENVIRONMENTS: [&str; 3] = ["ENV", "env", "environ"];
/// Functions by which a table comes out of a file.
const FROM_DATA: [&str; 6] = ["dotenv_values", "load", "loads", "parse", "read_text", "safe_load"];
/// Types, and no values.
const TYPES: [&str; 6] = ["any", "boolean", "number", "str", "string", "unknown"];

/// Whether programs look at this variable for what they load or run.
fn decides(name: &str) -> bool {
    const MORE: [&str; 9] = [
        "CURL_HOME",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "HOME",
        "PERL5LIB",
        "PYTHONHOME",
        "PYTHONUSERBASE",
        "RUBYLIB",
        "ZDOTDIR",
    ];
    let is_variable =
        name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    is_variable
        && name.len() > 2
        && (name.contains("PATH")
            || MORE.contains(&name)
            || (!["PWD", "OLDPWD"].contains(&name) && steers_programs(&format!("{name}=x"))))
}

impl Search<'_> {
    pub(super) fn environment(&mut self, tokens: &[Token]) {
        for (at, token) in tokens.iter().enumerate() {
            let name = match &token.kind {
                Kind::Name(name) => name.as_str(),
                Kind::Text(parts) => match parts.as_slice() {
                    [Part::Plain(text)] => text,
                    _ => continue,
                },
                Kind::Sign('[' | '{') => {
                    self.by_a_computed_name(tokens, at);
                    continue;
                }
                _ => continue,
            };
            if let Some((name, value)) = name.split_once('=').filter(|it| decides(it.0))
                && is_given_to(tokens, at, &SETTERS)
            {
                let value = vec![vec![Piece::Text(value.to_owned())]];
                self.set(name, &value, token.line);
                continue;
            }
            if !decides(name) {
                self.by_data(tokens, at);
                if token.is_name("update") || token.is_name("assign") {
                    self.by_many(tokens, at);
                }
                continue;
            }
            let Some(value) = value(self.values.tongue, tokens, at) else { continue };
            if matches!(value, [one] if TYPES.iter().any(|it| one.is_name(it))) {
                continue;
            }
            let value = self.values.of(value, at, &Bound::new());
            self.set(name, &value, token.line);
        }
    }

    /// `os.environ[key] = value`, `$ENV{$key} = …`
    fn by_a_computed_name(&mut self, tokens: &[Token], open: usize) {
        let before = open.checked_sub(1).and_then(|it| tokens.get(it));
        if !before.and_then(Token::name).is_some_and(|it| ENVIRONMENTS.contains(&it)) {
            return;
        }
        let Some(close) = closing(tokens, open) else { return };
        let is_set = assigned(tokens, close.saturating_add(1)).is_some();
        let is_plain = match part(tokens, open.saturating_add(1)..close) {
            [one] => match &one.kind {
                Kind::Text(parts) => matches!(parts.as_slice(), [Part::Plain(_)]),
                Kind::Name(_) => self.values.tongue == Tongue::Perl,
                _ => false,
            },
            _ => false,
        };
        let line = tokens.get(open).map_or(0, |it| it.line);
        // `for k in ("LANG", "TZ")`: each of them is known.
        let inside = part(tokens, open.saturating_add(1)..close);
        if is_set && !is_plain {
            let names = self.values.of(inside, open, &Bound::new());
            let is_harmless =
                |it: &Vec<Piece>| matches!(it.as_slice(), [Piece::Text(name)] if !decides(name));
            if !names.iter().all(is_harmless) {
                self.unknown(line, Some("which variable it sets is not said"));
            }
        }
    }

    /// `os.environ.update(all)`, `Object.assign(process.env, all)`
    fn by_many(&mut self, tokens: &[Token], at: usize) {
        let Some(token) = tokens.get(at) else { return };
        let open = at.saturating_add(1);
        if !tokens.get(open).is_some_and(|it| it.is('(')) {
            return;
        }
        let Some(close) = closing(tokens, open) else { return };
        let given = arguments(part(tokens, open.saturating_add(1)..close));
        let is_environment = |it: Option<&Token>| {
            it.and_then(Token::name).is_some_and(|it| ENVIRONMENTS.contains(&it))
        };
        let on = at.checked_sub(2).and_then(|it| tokens.get(it));
        let given = match given.split_first() {
            Some((first, rest)) if token.is_name("assign") && is_environment(first.last()) => rest,
            _ if token.is_name("update") && is_environment(on) => given.as_slice(),
            _ => return,
        };
        let is_said =
            |it: &&[Token]| it.first().is_some_and(|first| first.is('{')) || super::is_keyword(it);
        if !given.iter().all(is_said) {
            self.unknown(token.line, Some("which variables it sets is not said"));
        }
    }

    /// `env=json.load(file)`, `os.environ |= values()`: whatever is there is set.
    fn by_data(&mut self, tokens: &[Token], at: usize) {
        let Some(token) = tokens.get(at) else { return };
        let next = at.saturating_add(1);
        let sign = |at: usize, c: char| tokens.get(at).is_some_and(|it| it.is(c));
        if token.is_name("environ") && sign(next, '|') && sign(next.saturating_add(1), '=') {
            let is_said = sign(next.saturating_add(2), '{');
            if !is_said {
                self.unknown(token.line, Some("which variables it sets is not said"));
            }
        }
        if !token.is_name("env") || !(sign(next, '=') || sign(next, ':')) {
            return;
        }
        let given = item(tokens, next.saturating_add(1));
        let assigned = match given {
            [one] => one.name().and_then(|it| self.values.names.assigned.get(it)),
            _ => None,
        };
        let assigned = assigned.into_iter().flatten();
        let values = assigned.flat_map(|it| part(self.values.tokens, it.what.clone()));
        let is_data = |it: &Token| it.name().is_some_and(|it| FROM_DATA.contains(&it));
        if given.iter().chain(values).any(is_data) {
            self.unknown(token.line, Some("which variables it sets is not said"));
        }
    }

    /// Each folder in the value may hold what is run.
    fn set(&mut self, name: &str, value: &[Vec<Piece>], line: usize) {
        for pieces in value {
            let folders = split_at_colons(pieces);
            let is_list = folders.len() > 1;
            for folder in folders {
                match folder.as_slice() {
                    // The folder in which it runs.
                    [] if !is_list || !name.contains("PATH") => {}
                    [] | [Piece::Place] => self.unknown(line, Some(name)),
                    [Piece::Elsewhere, rest @ ..] if super::is_known(rest) => {}
                    [Piece::Text(text), ..]
                        if text.starts_with('/') && is_of_the_system(Path::new(text)) => {}
                    _ if !super::is_known(&folder) => self.unknown(line, Some(name)),
                    _ => {
                        let text: String = folder
                            .iter()
                            .filter_map(|it| match it {
                                Piece::Text(text) => Some(text.as_str()),
                                _ => None,
                            })
                            .collect();
                        match text.trim_matches(['.', '/']).is_empty() {
                            true => self.unknown(line, Some(name)),
                            false => drop(self.found.loaded.insert(text)),
                        }
                    }
                }
            }
        }
    }
}

fn split_at_colons(pieces: &[Piece]) -> Vec<Vec<Piece>> {
    let mut all = vec![Vec::new()];
    for piece in pieces {
        let Piece::Text(text) = piece else {
            if let Some(last) = all.last_mut() {
                last.push(piece.clone());
            }
            continue;
        };
        for (number, text) in text.split(':').enumerate() {
            if number > 0 {
                all.push(Vec::new());
            }
            if let Some(last) = all.last_mut().filter(|_| !text.is_empty()) {
                last.push(Piece::Text(text.to_owned()));
            }
        }
    }
    all
}

/// What is behind `=`, `+=`, `||=`, if that stands here.
fn assigned(tokens: &[Token], at: usize) -> Option<usize> {
    let sign = |at: usize, c: char| tokens.get(at).is_some_and(|it| it.is(c));
    let mut at = at;
    while ['+', '.', '|', '?'].iter().any(|c| sign(at, *c)) {
        at = at.saturating_add(1);
    }
    let next = at.saturating_add(1);
    let is_one = sign(at, '=') && !['=', '>', '~'].iter().any(|c| sign(next, *c));
    is_one.then_some(next)
}

/// What is set under the name at this place, if anything is.
fn value(tongue: Tongue, tokens: &[Token], at: usize) -> Option<&[Token]> {
    let next = at.saturating_add(1);
    let sign = |at: usize, c: char| tokens.get(at).is_some_and(|it| it.is(c));
    let before = at.checked_sub(1);
    let follows = |c: char| before.is_some_and(|it| sign(it, c));
    let is_text = tokens.get(at).is_some_and(|it| matches!(it.kind, Kind::Text(_)));
    let in_list = follows('{') || follows(',') || follows('(') || follows('[');
    let statement = |start: usize| part(tokens, super::spans::expression(tongue, tokens, start));
    // `env["PATH"] = …`, `$ENV{PATH} = …`
    if (sign(next, ']') && is_text) || (sign(next, '}') && follows('{')) {
        let start = assigned(tokens, next.saturating_add(1))?;
        return Some(statement(start));
    }
    // `process.env.PATH = …`
    if !is_text && follows('.') {
        return Some(statement(assigned(tokens, next)?));
    }
    // `{ PATH: … }`, `{"PATH": …}`, `"PATH" => …`
    if sign(next, ':') && (is_text || (tongue != Tongue::Python && in_list)) {
        return Some(item(tokens, next.saturating_add(1)));
    }
    if sign(next, '=') && sign(next.saturating_add(1), '>') {
        return Some(item(tokens, next.saturating_add(2)));
    }
    // `dict(os.environ, PATH=…)`
    if !is_text && tongue == Tongue::Python && in_list && sign(next, '=') {
        return Some(item(tokens, assigned(tokens, next)?));
    }
    // `os.putenv("PATH", …)`
    if is_text && sign(next, ',') && is_given_to(tokens, at, &SETTERS) {
        return Some(item(tokens, next.saturating_add(1)));
    }
    None
}

/// Up to the next comma, or the end of the list.
fn item(tokens: &[Token], start: usize) -> &[Token] {
    let rest = part(tokens, start..tokens.len());
    let mut depth = 0_usize;
    let end = rest.iter().position(|token| match token.kind {
        Kind::Sign('(' | '[' | '{') => {
            depth = depth.saturating_add(1);
            false
        }
        Kind::Sign(')' | ']' | '}') if depth == 0 => true,
        Kind::Sign(')' | ']' | '}') => {
            depth = depth.saturating_sub(1);
            false
        }
        Kind::Sign(',' | ';') => depth == 0,
        _ => false,
    });
    part(rest, 0..end.unwrap_or(rest.len()))
}

/// Whether it is the first that one of these functions is given.
fn is_given_to(tokens: &[Token], at: usize, functions: &[&str]) -> bool {
    let open = at.checked_sub(1).filter(|it| tokens.get(*it).is_some_and(|it| it.is('(')));
    let name = open.and_then(|it| it.checked_sub(1)).and_then(|it| tokens.get(it)?.name());
    name.is_some_and(|name| functions.contains(&name))
}
