//! What the names in a script stand for: what is assigned to them, and which are given to a function by whoever calls it.

use super::spans::{arguments, closing, expression, opening, part, receiver};
use super::tokens::{Kind, Token, Tongue};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// One assignment.
#[derive(Debug, Clone)]
pub(super) struct Assigned {
    /// What is assigned.
    pub(super) what: Range<usize>,
    /// Each that is in it, one after another: the name of a loop.
    pub(super) each: bool,
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: Option<String>,
    pub(super) params: Vec<Param>,
    /// All of it.
    pub(super) range: Range<usize>,
    /// The name's place: it is no call of it.
    pub(super) at: usize,
}

#[derive(Debug)]
pub(super) struct Param {
    pub(super) name: String,
    /// All that is left: `*args`, `...args`.
    pub(super) rest: bool,
    pub(super) default: Option<Range<usize>>,
}

#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) assigned: HashMap<String, Vec<Assigned>>,
    /// Those to which something is added later.
    pub(super) grown: HashSet<String>,
    pub(super) functions: Vec<Function>,
}

/// Methods that call what they are given for each of theirs.
const EACH: [&str; 9] =
    ["each", "every", "filter", "find", "flatMap", "forEach", "map", "select", "some"];
const GROWS: [&str; 7] = ["append", "concat!", "extend", "insert", "push", "splice", "unshift"];

impl Names {
    pub(super) fn of(tongue: Tongue, tokens: &[Token]) -> Self {
        let mut names = Self::default();
        let mut open: Vec<char> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            match token.kind {
                Kind::Sign(c @ ('(' | '[' | '{')) => open.push(c),
                Kind::Sign(')' | ']' | '}') => drop(open.pop()),
                Kind::Sign('=') => {
                    let is_statement = match tongue {
                        Tongue::Python => open.is_empty() || is(tokens, at.checked_sub(1), ':'),
                        _ => open.last().is_none_or(|it| *it == '{'),
                    };
                    if is_statement {
                        names.assignment(tongue, tokens, at);
                    }
                }
                Kind::Name(_) => names.word(tongue, tokens, at),
                _ => {}
            }
        }
        names
    }

    fn assign(&mut self, name: &str, what: Range<usize>, each: bool) {
        self.assigned.entry(name.to_owned()).or_default().push(Assigned { what, each });
    }

    fn assignment(&mut self, tongue: Tongue, tokens: &[Token], at: usize) {
        let next = at.saturating_add(1);
        let Some(last) = at.checked_sub(1) else { return };
        if is(tokens, Some(next), '=') || is(tokens, Some(next), '>') || is(tokens, Some(next), '~')
        {
            return;
        }
        let what = expression(tongue, tokens, next);
        match tokens.get(last).map(|token| &token.kind) {
            Some(Kind::Name(name)) => {
                // `x: Path = …`
                let before = last.checked_sub(1);
                let annotated = is(tokens, before, ':')
                    .then(|| tokens.get(last.saturating_sub(2)).and_then(Token::name))
                    .flatten();
                self.assign(annotated.unwrap_or(name), what.clone(), false);
                let mut at = last;
                while let Some(comma) = at.checked_sub(1).filter(|it| is(tokens, Some(*it), ',')) {
                    let Some(name) = comma.checked_sub(1).and_then(|it| tokens.get(it)?.name())
                    else {
                        break;
                    };
                    self.assign(name, what.clone(), false);
                    at = comma.saturating_sub(1);
                }
            }
            // `cmd += [x]`, `x := y`
            Some(Kind::Sign('+' | '.' | '|' | '?')) => {
                let name = last.checked_sub(1).and_then(|it| tokens.get(it)?.name());
                if let Some(name) = name {
                    self.grown.insert(name.to_owned());
                }
            }
            Some(Kind::Sign(':')) => {
                if let Some(name) = last.checked_sub(1).and_then(|it| tokens.get(it)?.name()) {
                    self.assign(name, what, false);
                }
            }
            // `const { a, b } = …`, `cmd[0] = …`, `def f(): x = …`
            Some(Kind::Sign('}' | ']' | ')')) => {
                let Some(start) = opening(tokens, last) else { return };
                let target = start.checked_sub(1).and_then(|it| tokens.get(it)?.name());
                // `x: dict[str, str] = …`
                let colon = start.checked_sub(2).filter(|it| is(tokens, Some(*it), ':'));
                let annotated =
                    colon.and_then(|it| it.checked_sub(1)).filter(|_| tongue == Tongue::Python);
                if let Some(name) = annotated.and_then(|it| tokens.get(it)?.name()) {
                    return self.assign(name, what, false);
                }
                let declares = ["const", "let", "var", "my"];
                match target.filter(|name| !declares.contains(name)) {
                    Some(name) => drop(self.grown.insert(name.to_owned())),
                    None => {
                        for name in part(tokens, start..last).iter().filter_map(Token::name) {
                            self.assign(name, what.clone(), false);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn word(&mut self, tongue: Tongue, tokens: &[Token], at: usize) {
        let Some(word) = tokens.get(at).and_then(Token::name) else { return };
        let next = at.saturating_add(1);
        let before = at.checked_sub(1);
        match word {
            "for" | "foreach" => self.of_loop(tongue, tokens, next),
            "as" if tongue == Tongue::Python => {
                // `with open(x) as f`
                let with = part(tokens, 0..at).iter().rposition(|token| token.is_name("with"));
                let from = with.map(|it| it.saturating_add(1)..at);
                let here = tokens.get(at).map(|token| token.line);
                let same = with.and_then(|it| tokens.get(it)).map(|token| token.line) == here;
                if let (Some(from), Some(name), true) =
                    (from, tokens.get(next).and_then(Token::name), same)
                {
                    self.assign(name, from, false);
                }
            }
            "def" | "function" | "func" => {
                let name = tokens.get(next).and_then(Token::name);
                let open = if name.is_some() { next.saturating_add(1) } else { next };
                let name = name.or_else(|| assigned_name(tokens, at));
                if is(tokens, Some(open), '(') {
                    self.function(tongue, tokens, name, (at, open));
                }
            }
            "lambda" => {
                let end = part(tokens, next..tokens.len()).iter().position(|token| token.is(':'));
                let end = next.saturating_add(end.unwrap_or_default());
                let params = params(tokens, next..end);
                let range = at..expression(tongue, tokens, end.saturating_add(1)).end;
                let name = assigned_name(tokens, at).map(str::to_owned);
                self.functions.push(Function { name, params, range, at: next });
            }
            _ if GROWS.contains(&word) && is(tokens, before, '.') => {
                let on =
                    before.and_then(|it| it.checked_sub(1)).and_then(|it| tokens.get(it)?.name());
                if let Some(name) = on {
                    self.grown.insert(name.to_owned());
                }
            }
            _ if tongue == Tongue::Node => self.arrow(tokens, at, word),
            _ => {}
        }
    }

    /// `f => …`, `(a, b) => …`, and a method `run(cmd) { … }`
    fn arrow(&mut self, tokens: &[Token], at: usize, word: &str) {
        const WORDS: [&str; 9] =
            ["catch", "function", "if", "require", "return", "super", "switch", "while", "with"];
        let next = at.saturating_add(1);
        if is(tokens, Some(next), '=') && is(tokens, Some(next.saturating_add(1)), '>') {
            let param = Param { name: word.to_owned(), rest: false, default: None };
            let body = next.saturating_add(2);
            self.closure(tokens, vec![param], (at, body));
        }
        let is_method = is(tokens, Some(next), '(')
            && !at.checked_sub(1).is_some_and(|it| {
                is(tokens, Some(it), '.') || tokens.get(it).is_some_and(|it| it.is_name("function"))
            })
            && !WORDS.contains(&word);
        if is_method
            && let Some(close) = closing(tokens, next)
            && is(tokens, Some(close.saturating_add(1)), '{')
        {
            self.function(Tongue::Node, tokens, Some(word), (at, next));
        }
    }

    /// An anonymous function: it may be given to a method that calls it for each.
    fn closure(&mut self, tokens: &[Token], params: Vec<Param>, (at, body): (usize, usize)) {
        let end = match is(tokens, Some(body), '{') {
            true => closing(tokens, body).unwrap_or(tokens.len()),
            false => expression(Tongue::Node, tokens, body).end,
        };
        let open = at.checked_sub(1).filter(|it| is(tokens, Some(*it), '('));
        let method = open.and_then(|it| it.checked_sub(1));
        let dot = method.and_then(|it| it.checked_sub(1)).filter(|it| is(tokens, Some(*it), '.'));
        let is_each =
            method.and_then(|it| tokens.get(it)?.name()).is_some_and(|name| EACH.contains(&name));
        if let (Some(dot), true, Some(first)) = (dot, is_each, params.first()) {
            let name = first.name.clone();
            self.assign(&name, receiver(tokens, dot)..dot, true);
            return;
        }
        let name = assigned_name(tokens, at).map(str::to_owned);
        self.functions.push(Function { name, params, range: at..end, at });
    }

    fn function(
        &mut self,
        tongue: Tongue,
        tokens: &[Token],
        name: Option<&str>,
        (at, open): (usize, usize),
    ) {
        let Some(close) = closing(tokens, open) else { return };
        let mut params = params(tokens, open.saturating_add(1)..close);
        if params.first().is_some_and(|it| ["self", "cls"].contains(&it.name.as_str())) {
            params.remove(0);
        }
        let indent = tokens.get(at).map_or(0, |token| token.indent);
        let after = close.saturating_add(1);
        let end = match tongue {
            Tongue::Python | Tongue::Ruby | Tongue::Lua => {
                let line = tokens.get(close).map_or(0, |token| token.line);
                let is_out = |token: &Token| token.line > line && token.indent <= indent;
                let rest = part(tokens, after..tokens.len());
                rest.iter().position(is_out).map_or(tokens.len(), |it| after.saturating_add(it))
            }
            _ => {
                let brace = part(tokens, after..tokens.len()).iter().position(|it| it.is('{'));
                brace
                    .and_then(|it| closing(tokens, after.saturating_add(it)))
                    .unwrap_or(tokens.len())
            }
        };
        let at = if tokens.get(at).is_some_and(|it| it.name() == name) {
            at
        } else {
            at.saturating_add(1)
        };
        self.functions.push(Function { name: name.map(str::to_owned), params, range: at..end, at });
    }

    /// `for f in files:`, `for (const f of files)`, `for my $f (glob "x")`
    fn of_loop(&mut self, tongue: Tongue, tokens: &[Token], start: usize) {
        let begin = if is(tokens, Some(start), '(') { start.saturating_add(1) } else { start };
        let mut names = Vec::new();
        for (at, token) in tokens.iter().enumerate().skip(begin).take(12) {
            let from = at.saturating_add(1);
            match &token.kind {
                Kind::Name(word) if ["in", "of", "as"].contains(&word.as_str()) => {
                    let (what, targets) = match word.as_str() {
                        "as" => (
                            begin..at,
                            tokens.get(from..from.saturating_add(3)).unwrap_or_default(),
                        ),
                        _ => (list(tongue, tokens, from), [].as_slice()),
                    };
                    let targets = targets.iter().filter_map(Token::name).map(str::to_owned);
                    for name in names.into_iter().chain(targets) {
                        self.assign(&name, what.clone(), true);
                    }
                    return;
                }
                Kind::Sign('(') if tongue == Tongue::Perl && !names.is_empty() => {
                    let end = closing(tokens, at).unwrap_or(at);
                    for name in names {
                        self.assign(&name, from..end, true);
                    }
                    return;
                }
                Kind::Name(word)
                    if !["const", "let", "var", "my", "await"].contains(&word.as_str()) =>
                {
                    names.push(word.clone());
                }
                Kind::Sign(';' | '{' | ':') => return,
                _ => {}
            }
        }
    }

    /// The innermost function around a place that is given this name, and as which of its parameters.
    pub(super) fn given(&self, name: &str, at: usize) -> Option<(usize, usize)> {
        let around = self.functions.iter().enumerate().filter(|(_, it)| it.range.contains(&at));
        let with = around.filter_map(|(number, it)| {
            let index = it.params.iter().position(|param| param.name == name)?;
            Some((number, index, it.range.len()))
        });
        with.min_by_key(|it| it.2).map(|(number, index, _)| (number, index))
    }
}

fn is(tokens: &[Token], at: Option<usize>, sign: char) -> bool {
    at.and_then(|at| tokens.get(at)).is_some_and(|token| token.is(sign))
}

/// What a loop goes through: up to the colon, the bracket or the end of the line.
fn list(tongue: Tongue, tokens: &[Token], start: usize) -> Range<usize> {
    let range = expression(tongue, tokens, start);
    let ends = [':', '{'];
    let outer = super::spans::outermost(part(tokens, range.clone()));
    let is_end = |at: &usize| {
        let token = tokens.get(range.start.saturating_add(*at));
        token.is_some_and(|token| {
            ends.iter().any(|sign| token.is(*sign)) || token.is_name("if") || token.is_name("do")
        })
    };
    let end = outer.into_iter().filter(|at| *at > 0).find(is_end);
    range.start..end.map_or(range.end, |end| range.start.saturating_add(end))
}

/// `NAME = async (…`: what stands behind is called so.
fn assigned_name(tokens: &[Token], at: usize) -> Option<&str> {
    let mut at = at.checked_sub(1)?;
    if tokens.get(at)?.is_name("async") || tokens.get(at)?.is('(') {
        at = at.checked_sub(1)?;
    }
    if tokens.get(at)?.is_name("async") {
        at = at.checked_sub(1)?;
    }
    let sign = tokens.get(at)?;
    (sign.is('=') || sign.is(':')).then(|| tokens.get(at.checked_sub(1)?)?.name()).flatten()
}

fn params(tokens: &[Token], range: Range<usize>) -> Vec<Param> {
    let inside = part(tokens, range.clone());
    let mut start = range.start;
    let mut found = Vec::new();
    for one in arguments(inside) {
        let name = one.iter().find_map(Token::name).unwrap_or_default().to_owned();
        let rest = one.first().is_some_and(|token| token.is('*') || token.is('.') || token.is('@'));
        let equals = one.iter().position(|token| token.is('='));
        let end = start.saturating_add(one.len());
        let default = equals.map(|at| start.saturating_add(at).saturating_add(1)..end);
        // What is taken apart has no name of its own.
        let is_apart = one.first().is_some_and(|token| token.is('{') || token.is('['));
        let is_mark = one.len() == 1 && name.is_empty();
        if !is_mark {
            found.push(Param { name: if is_apart { String::new() } else { name }, rest, default });
        }
        start = end.saturating_add(1);
    }
    found
}

impl Names {
    /// `(a, b) => …`: found by its arrow.
    pub(super) fn arrows(&mut self, tokens: &[Token]) {
        for (at, token) in tokens.iter().enumerate() {
            let next = at.saturating_add(1);
            let close = at.checked_sub(1).filter(|it| is(tokens, Some(*it), ')'));
            if !token.is('=') || !is(tokens, Some(next), '>') {
                continue;
            }
            if let Some(close) = close
                && let Some(open) = opening(tokens, close)
            {
                let params = params(tokens, open.saturating_add(1)..close);
                let begin = open
                    .checked_sub(1)
                    .filter(|it| tokens.get(*it).is_some_and(|it| it.is_name("async")));
                self.closure(tokens, params, (begin.unwrap_or(open), next.saturating_add(1)));
            }
        }
    }
}
