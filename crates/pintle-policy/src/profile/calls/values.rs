//! What an expression in a script comes to, as far as reading it tells.

use super::forms::{alternatives, bare};
use super::names::Names;
use super::paths::{ATTRIBUTES, FOLDERS, LISTERS, PASS_ON, PLACES, READS, STARTS};
use super::spans::{arguments, closing, outermost, part, split};
use super::tokens::{Kind, Part, Token, Tongue};
use std::collections::HashMap;

/// A part of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// A folder or a name that holds nothing unknown: of the script itself, of the profile, of what a listed folder has.
    Place,
    /// The same of the operator or the system: `$HOME`, `$PATH`.
    Elsewhere,
    /// What follows is not the name of a file, but what is in it.
    Content,
    /// What comes before is a folder, and this whatever is in it.
    Listed,
    /// Nobody can tell.
    Any,
    /// What a function is given, by its number and that of the parameter.
    Given(usize, usize),
}

/// The alternatives.
pub(super) type Value = Vec<Vec<Piece>>;

/// What functions are given where they are called.
pub(super) type Bound = HashMap<(usize, usize), (Vec<Token>, usize)>;

/// More alternatives than anybody writes.
const MOST: usize = 24;
const DEEPEST: usize = 24;

pub(super) struct Values<'a> {
    pub(super) tongue: Tongue,
    pub(super) tokens: &'a [Token],
    pub(super) names: &'a Names,
}

fn any() -> Value {
    vec![vec![Piece::Any]]
}

fn place() -> Value {
    vec![vec![Piece::Place]]
}

/// The value of a variable of the environment.
fn of_variable(name: &str) -> Value {
    match FOLDERS.iter().find(|it| name.starts_with(**it)) {
        Some(&"PINTLE_" | &"PWD") => place(),
        Some(_) => vec![vec![Piece::Elsewhere]],
        None => any(),
    }
}

fn text(text: &str) -> Value {
    vec![vec![Piece::Text(text.to_owned())]]
}

pub(super) fn is_known(pieces: &[Piece]) -> bool {
    !pieces.iter().any(|it| matches!(it, Piece::Any | Piece::Given(..)))
}

/// Modules of Node that work with paths and files.
const OF_NODE: [&str; 7] = ["fs", "fs/promises", "os", "path", "path/posix", "url", "util"];

fn is_of_node(given: &[&[Token]]) -> bool {
    let [[Token { kind: Kind::Text(parts), .. }]] = given else { return false };
    let [Part::Plain(module)] = parts.as_slice() else { return false };
    OF_NODE.contains(&module.strip_prefix("node:").unwrap_or(module))
}

/// One behind the other, each with each.
fn joined(before: Value, after: &Value, between: &str) -> Value {
    if before.len().saturating_mul(after.len()) > MOST {
        return any();
    }
    let mut all = Vec::new();
    for one in &before {
        for other in after {
            let mut pieces = one.clone();
            if !between.is_empty() && !pieces.is_empty() {
                pieces.push(Piece::Text(between.to_owned()));
            }
            pieces.extend(other.iter().cloned());
            all.push(pieces);
        }
    }
    all
}

impl Values<'_> {
    pub(super) fn of(&self, tokens: &[Token], at: usize, bound: &Bound) -> Value {
        self.eval(tokens, at, bound, 0)
    }

    fn eval(&self, tokens: &[Token], at: usize, bound: &Bound, depth: usize) -> Value {
        let tokens = bare(tokens);
        let deeper = depth.saturating_add(1);
        if tokens.is_empty() || depth > DEEPEST {
            return any();
        }
        let outer = outermost(tokens);
        let sign = |at: usize, sign: char| tokens.get(at).is_some_and(|token| token.is(sign));
        let double = |at: usize, c: char| {
            (sign(at, c) && sign(at.saturating_add(1), c))
                || (sign(at, c) && at.checked_sub(1).is_some_and(|it| sign(it, c)))
        };
        if let Some(parts) = alternatives(self.tongue, tokens, &outer) {
            let all: Value = parts.iter().flat_map(|it| self.eval(it, at, bound, deeper)).collect();
            return if all.len() > MOST { any() } else { all };
        }
        let adds = |at: usize| match self.tongue {
            Tongue::Lua => double(at, '.'),
            Tongue::Php => sign(at, '.'),
            Tongue::Perl => sign(at, '.') && !double(at, '.'),
            Tongue::Python | Tongue::Ruby | Tongue::Node | Tongue::Awk => sign(at, '+'),
        };
        if outer.iter().any(|at| adds(*at)) {
            let parts = split(tokens, adds);
            let parts = parts.into_iter().filter(|it| !it.is_empty());
            let values = parts.map(|it| self.eval(it, at, bound, deeper));
            return values.fold(vec![Vec::new()], |before, it| joined(before, &it, ""));
        }
        let is_path = matches!(self.tongue, Tongue::Python | Tongue::Ruby);
        if is_path && outer.iter().any(|at| sign(*at, '/')) {
            let parts = split(tokens, |at| sign(at, '/'));
            let values = parts.into_iter().map(|it| self.eval(it, at, bound, deeper));
            return values.fold(vec![Vec::new()], |before, it| joined(before, &it, "/"));
        }
        let computes =
            |it: &usize| ['%', '*', '-', '<', '>', '&', '|', '?'].iter().any(|c| sign(*it, *c));
        if outer.iter().skip(1).any(computes) {
            return any();
        }
        self.primary(tokens, at, bound, deeper)
    }

    fn primary(&self, tokens: &[Token], at: usize, bound: &Bound, depth: usize) -> Value {
        let Some(first) = tokens.first() else { return any() };
        let mut value = match &first.kind {
            Kind::Text(_) => {
                let texts = tokens.iter().take_while(|it| matches!(it.kind, Kind::Text(_)));
                let count = texts.clone().count();
                let all = texts.fold(vec![Vec::new()], |before, it| {
                    joined(before, &self.text(it, at, bound, depth), "")
                });
                return self.behind(all, part(tokens, count..tokens.len()), at, bound, depth);
            }
            Kind::Number(_) => return place(),
            Kind::Line(_) => return any(),
            Kind::Sign('[') => {
                let close = closing(tokens, 0).unwrap_or(tokens.len());
                let parts = arguments(part(tokens, 1..close));
                let rest = part(tokens, close.saturating_add(1)..tokens.len());
                if let [dot, method, open, ..] = rest
                    && dot.is('.')
                    && method.is_name("join")
                    && open.is('(')
                {
                    let end = closing(rest, 2).unwrap_or(rest.len());
                    let between = self.plain(part(rest, 3..end), at, bound, depth);
                    return self.strung(&parts, between, at, bound, depth);
                }
                let all: Value =
                    parts.iter().flat_map(|it| self.eval(it, at, bound, depth)).collect();
                let value = if all.len() > MOST || all.is_empty() { any() } else { all };
                return self.behind(value, rest, at, bound, depth);
            }
            Kind::Sign('(') => {
                let close = closing(tokens, 0).unwrap_or(tokens.len());
                let value = self.eval(part(tokens, 1..close), at, bound, depth);
                let rest = part(tokens, close.saturating_add(1)..tokens.len());
                return self.behind(value, rest, at, bound, depth);
            }
            Kind::Name(_) => Vec::new(),
            Kind::Sign(_) => return any(),
        };
        if let Some((all, used)) = self.looked_up(tokens) {
            let all: Value = all.iter().flat_map(|it| self.eval(it, at, bound, depth)).collect();
            let all = if all.len() > MOST || all.is_empty() { any() } else { all };
            return self.behind(all, part(tokens, used..tokens.len()), at, bound, depth);
        }
        // `os.path`, `self.root`: a chain of names.
        let mut end = 1;
        while tokens.get(end).is_some_and(|it| it.is('.') || it.is(':'))
            && tokens.get(end.saturating_add(1)).is_some_and(|it| it.name().is_some() || it.is(':'))
        {
            end = end.saturating_add(
                if tokens.get(end.saturating_add(1)).is_some_and(|it| it.is(':')) { 1 } else { 2 },
            );
        }
        let chain: Vec<&str> = part(tokens, 0..end).iter().filter_map(Token::name).collect();
        let rest = part(tokens, end..tokens.len());
        if let Some((known, used)) = self.of_the_system(&chain, rest) {
            return self.behind(known, part(rest, used..rest.len()), at, bound, depth);
        }
        // `os.pathsep.join([…])`
        let sign = match chain.get(1).copied() {
            Some("pathsep" | "delimiter") => Some(":"),
            Some("sep") => Some("/"),
            _ => None,
        };
        if let Some(sign) = sign.filter(|_| matches!(chain.first(), Some(&"os" | &"path"))) {
            return self.behind(text(sign), part(tokens, 3..tokens.len()), at, bound, depth);
        }
        let root = chain.first().copied().unwrap_or_default();
        let is_own = ["self", "this"].contains(&root) && chain.len() > 1;
        let root = if is_own { chain.get(1).copied().unwrap_or_default() } else { root };
        let named = self.variable(root, at, bound, depth);
        let skipped = if is_own { 3 } else { 1 };
        // `const { join } = require("path")`
        let is_function = |found: &Value| {
            matches!(found.as_slice(), [one] if one.is_empty())
                && !is_own
                && tokens.get(1).is_some_and(|it| it.is('('))
        };
        match named.filter(|it| !is_function(it)) {
            Some(found) => {
                value.extend(found);
                self.behind(value, part(tokens, skipped..tokens.len()), at, bound, depth)
            }
            // A module, or a function that is not of this script.
            None if is_own => any(),
            None => match rest.first() {
                Some(open) if open.is('(') => {
                    let start = end.saturating_sub(1);
                    self.behind(
                        vec![Vec::new()],
                        part(tokens, start..tokens.len()),
                        at,
                        bound,
                        depth,
                    )
                }
                _ => any(),
            },
        }
    }

    /// What is known of the system and the script: `sys.executable`, `__dirname`, `process.env.HOME`.
    fn of_the_system(&self, chain: &[&str], rest: &[Token]) -> Option<(Value, usize)> {
        let last = chain.last().copied().unwrap_or_default();
        let index = match rest {
            [open, Token { kind: Kind::Number(number), .. }, close, ..]
                if open.is('[') && close.is(']') =>
            {
                Some(number.as_str())
            }
            _ => None,
        };
        match chain {
            ["sys", "executable"] => return Some((text("python3"), 0)),
            ["process", "execPath" | "argv0"] => return Some((text("node"), 0)),
            ["process", "argv"] if index == Some("0") => return Some((text("node"), 3)),
            ["process", "argv"] if index == Some("1") => return Some((place(), 3)),
            ["sys", "argv"] if index == Some("0") => return Some((place(), 3)),
            ["import", "meta", ..] => return Some((place(), 0)),
            ["True" | "False" | "None" | "true" | "false" | "null" | "undefined"] => {
                return Some((place(), 0));
            }
            _ => {}
        }
        if PLACES.contains(&last) {
            return Some((place(), 0));
        }
        let of_env = ["ENV", "env", "environ", "getenv"];
        let from = chain.iter().position(|it| of_env.contains(it))?;
        // `process.env.HOME`
        if let Some(name) =
            chain.get(from.saturating_add(1)).filter(|it| **it != "get" && **it != "fetch")
        {
            return Some((of_variable(name), 0));
        }
        let close = closing(rest, 0)?;
        let name = match rest.get(1).map(|token| &token.kind) {
            Some(Kind::Text(parts)) => match parts.as_slice() {
                [Part::Plain(name)] => name.as_str(),
                _ => "",
            },
            Some(Kind::Name(name)) => name,
            _ => "",
        };
        Some((of_variable(name), close.saturating_add(1)))
    }

    fn variable(&self, name: &str, at: usize, bound: &Bound, depth: usize) -> Option<Value> {
        let given = self.names.given(name, at);
        let assigned = self.names.assigned.get(name);
        let mut all = Value::new();
        if let Some(given) = given {
            match bound.get(&given) {
                Some((tokens, from)) => all.extend(self.eval(tokens, *from, bound, depth)),
                None => all.push(vec![Piece::Given(given.0, given.1)]),
            }
        }
        for one in assigned.into_iter().flatten() {
            let tokens = part(self.tokens, one.what.clone());
            // What is made of itself says nothing new.
            let deeper = if tokens.iter().any(|it| it.is_name(name)) {
                depth.saturating_add(8)
            } else {
                depth
            };
            all.extend(self.eval(tokens, one.what.start, bound, deeper));
            if all.len() > MOST {
                return Some(any());
            }
        }
        if self.names.grown.contains(name) && !all.is_empty() {
            all.push(vec![Piece::Any]);
        }
        (given.is_some() || assigned.is_some()).then_some(all)
    }

    /// What becomes of a value by what stands behind it: `.parent`, `.read()`, `[0]`.
    fn behind(
        &self,
        value: Value,
        rest: &[Token],
        at: usize,
        bound: &Bound,
        depth: usize,
    ) -> Value {
        let inside = |rest: &[Token], open: usize| {
            let close = closing(rest, open).unwrap_or(rest.len());
            (part(rest, open.saturating_add(1)..close).to_vec(), close.saturating_add(1))
        };
        match rest {
            [] => value,
            [end, ..] if end.is('\\') => {
                self.behind(value, part(rest, 1..rest.len()), at, bound, depth)
            }
            [question, dot, ..] if question.is('?') && dot.is('.') => {
                self.behind(value, part(rest, 1..rest.len()), at, bound, depth)
            }
            [dot, ..] if dot.is('.') => {
                self.behind(value, part(rest, 1..rest.len()), at, bound, depth)
            }
            [name, open, ..] if name.name().is_some() && open.is('(') => {
                let (given, used) = inside(rest, 1);
                let called =
                    self.called(value, name.name().unwrap_or_default(), &given, (at, bound, depth));
                self.behind(called, part(rest, used..rest.len()), at, bound, depth)
            }
            [name, ..] if name.name().is_some_and(|it| ATTRIBUTES.contains(&it)) => {
                self.behind(value, part(rest, 1..rest.len()), at, bound, depth)
            }
            [open, Token { kind: Kind::Number(_), .. }, close, ..]
                if open.is('[') && close.is(']') =>
            {
                self.behind(value, part(rest, 3..rest.len()), at, bound, depth)
            }
            _ => any(),
        }
    }

    fn called(
        &self,
        on: Value,
        name: &str,
        given: &[Token],
        (at, bound, depth): (usize, &Bound, usize),
    ) -> Value {
        let parts = arguments(given);
        let deeper = depth.saturating_add(1);
        let is_own = self.names.functions.iter().any(|it| it.name.as_deref() == Some(name));
        match name {
            _ if is_own => any(),
            // `require("path")`: what is behind it is a function of the system.
            "require" if self.tongue == Tongue::Node && is_of_node(&parts) => vec![Vec::new()],
            // `join("/", "lib", "x")`
            "join" | "implode" if matches!(self.tongue, Tongue::Perl | Tongue::Php) => {
                let Some((between, parts)) = parts.split_first() else { return any() };
                let between = self.plain(between, at, bound, deeper);
                self.strung(parts, between, at, bound, deeper)
            }
            // `"/".join([…])`, `os.path.join(…)`
            "join" => match (on.as_slice(), parts.as_slice()) {
                ([between], [list])
                    if matches!(between.as_slice(), [] | [Piece::Text(_)])
                        && list.first().is_some_and(|it| it.is('[') || it.is('(')) =>
                {
                    let between = match between.as_slice() {
                        [Piece::Text(between)] => Some(between.clone()),
                        _ => Some(String::new()),
                    };
                    let close = closing(list, 0).unwrap_or(list.len());
                    self.strung(&arguments(part(list, 1..close)), between, at, bound, deeper)
                }
                ([between], _) if between.is_empty() => {
                    self.strung(&parts, Some("/".to_owned()), at, bound, deeper)
                }
                _ => any(),
            },
            "concat" => {
                let values = parts.iter().map(|it| self.eval(it, at, bound, deeper));
                values.fold(on, |before, it| joined(before, &it, ""))
            }
            "joinpath" | "resolve" if !parts.is_empty() => {
                let values = parts.iter().map(|it| self.eval(it, at, bound, deeper));
                values.fold(on, |before, it| joined(before, &it, "/"))
            }
            "cwd" | "getcwd" if parts.is_empty() => place(),
            _ if STARTS.contains(&name) && parts.is_empty() => vec![vec![Piece::Elsewhere]],
            _ if PASS_ON.contains(&name) => {
                let values = parts.iter().map(|it| match it {
                    // `encoding="utf-8"`, `{ recursive: true }`
                    [_, equals, ..] if equals.is('=') => vec![Vec::new()],
                    [open, ..] if open.is('{') => vec![Vec::new()],
                    it => self.eval(it, at, bound, deeper),
                });
                let first = [
                    "open",
                    "which",
                    "compile",
                    "readFileSync",
                    "read_text",
                    "decode",
                    "split",
                    "relative",
                    "relpath",
                ];
                let all: Vec<Value> = match first.contains(&name) {
                    // Further ones say how: `open(x, "rb")`.
                    true => values.take(1).collect(),
                    false => values.collect(),
                };
                let on = match READS.contains(&name) {
                    true => joined(vec![vec![Piece::Content]], &on, ""),
                    false => on,
                };
                let whole = all.iter().fold(on, |before, it| joined(before, it, "/"));
                let whole = match LISTERS.contains(&name) {
                    true => joined(whole, &vec![vec![Piece::Listed]], ""),
                    false => whole,
                };
                // `read()` of nobody knows what.
                let is_nothing = |it: &Vec<Piece>| it.iter().all(|it| *it == Piece::Content);
                if whole.iter().all(is_nothing) { any() } else { whole }
            }
            _ => any(),
        }
    }

    fn strung(
        &self,
        parts: &[&[Token]],
        between: Option<String>,
        at: usize,
        bound: &Bound,
        depth: usize,
    ) -> Value {
        let Some(between) = between else { return any() };
        let spread = |it: &&[Token]| it.first().is_some_and(|it| it.is('*') || it.is('.'));
        if parts.iter().any(spread) {
            return any();
        }
        let values = parts.iter().map(|it| self.eval(it, at, bound, depth));
        values.fold(vec![Vec::new()], |before, it| joined(before, &it, &between))
    }

    fn plain(&self, tokens: &[Token], at: usize, bound: &Bound, depth: usize) -> Option<String> {
        match self.eval(tokens, at, bound, depth).as_slice() {
            [one] => match one.as_slice() {
                [] => Some(String::new()),
                [Piece::Text(text)] => Some(text.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn text(&self, token: &Token, at: usize, bound: &Bound, depth: usize) -> Value {
        let (Kind::Text(parts) | Kind::Line(parts)) = &token.kind else { return any() };
        let values = parts.iter().map(|it| match it {
            Part::Plain(plain) => text(plain),
            Part::Code(tokens) => self.eval(tokens, at, bound, depth.saturating_add(1)),
        });
        values.fold(vec![Vec::new()], |before, it| joined(before, &it, ""))
    }
}
