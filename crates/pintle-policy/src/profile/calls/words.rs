//! Lists of words that a script gives to a program, written as a line for a shell: what a line may run is known already.

use super::forms::{alternatives, bare};
use super::names::Param;
use super::spans::{arguments, closing, outermost, part, split};
use super::tokens::{Kind, Token};
use super::values::{Bound, Piece, Value, Values};
use super::{Doubt, Said};
use crate::contents::is_of_the_system;
use crate::profile::loaders::{CHECKERS, runs_others};
use std::path::Path;

/// Lists of words, one for each alternative.
pub(super) type Lists = Vec<Vec<Vec<Piece>>>;

const MOST: usize = 24;
const DEEPEST: usize = 12;

/// Interpreters with an option by which they only look whether a script is well formed.
const CHECKS: [(&str, &[&str]); 6] = [
    ("bash", &["-n"]),
    ("dash", &["-n"]),
    ("node", &["--check", "-c"]),
    ("php", &["-l"]),
    ("sh", &["-n"]),
    ("zsh", &["-n"]),
];

/// One line for each, if it says with what it begins.
pub(super) fn lines(value: &Value) -> Result<Vec<Said>, Doubt> {
    for pieces in value {
        let first =
            pieces.iter().find(|it| !matches!(it, Piece::Text(text) if text.trim().is_empty()));
        match first {
            Some(Piece::Any | Piece::Content) => return Err(Doubt::Open),
            Some(Piece::Given(function, _)) => return Err(Doubt::Given(*function)),
            _ => {}
        }
    }
    settled(value.iter().map(|pieces| line(pieces)).collect(), value.iter())
}

/// A line of pieces.
pub(super) fn line(pieces: &[Piece]) -> Said {
    let mut line = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => line.push_str(text),
            Piece::Place | Piece::Elsewhere => line.push_str("$PINTLE_PROFILE_DIR"),
            Piece::Listed => {}
            Piece::Any | Piece::Content | Piece::Given(..) => line.push_str("${x}"),
        }
    }
    let is_word = |c: char| c.is_alphanumeric() || "_.-/".contains(c);
    let mut words = line.split(|c| !is_word(c)).filter(|it| !it.is_empty());
    let runs_listed = is_listed(pieces) && (line.contains('$') || words.any(may_run));
    Said { line, place: String::new(), is_open: is_open(pieces), runs_listed }
}

fn is_listed(pieces: &[Piece]) -> bool {
    pieces.contains(&Piece::Listed)
}

/// `["sh"]`, `["python3", "-"]`, `["xargs", "sh"]`: a line that runs what it is handed while it runs.
pub(super) fn runs_what_it_reads(line: &str) -> bool {
    let mut words = line.split_whitespace().map(|it| it.trim_matches(['\'', '"']));
    let program = words.next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    const READERS: [&str; 12] =
        ["bash", "bun", "dash", "deno", "ksh", "lua", "node", "perl", "php", "ruby", "sh", "zsh"];
    const QUICK: [&str; 5] = ["--help", "--version", "-V", "-h", "-v"];
    match program {
        "xargs" | "parallel" => words.any(may_run),
        _ if READERS.contains(&program) || program.starts_with("python") => {
            words.all(|it| it.starts_with('-') && !QUICK.contains(&it))
        }
        _ => false,
    }
}

/// Whether a program may run a file that it is given.
fn may_run(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    runs_others(name) || (program.contains('/') && !is_of_the_system(Path::new(program)))
}

fn is_open(pieces: &[Piece]) -> bool {
    pieces.iter().any(|it| matches!(it, Piece::Any | Piece::Content | Piece::Given(..)))
}

/// The same of lists of words.
pub(super) fn programs(lists: &Lists) -> Result<Vec<Said>, Doubt> {
    let mut all = Vec::new();
    for list in lists {
        let Some(program) = list.first() else { continue };
        match program.as_slice() {
            [] | [Piece::Place | Piece::Elsewhere] | [Piece::Any | Piece::Content, ..] => {
                return Err(Doubt::Open);
            }
            [Piece::Given(function, _), ..] => return Err(Doubt::Given(*function)),
            _ => {}
        }
        let words: Vec<String> = list.iter().map(|it| word(it)).collect();
        let plain = words.first().map(|it| it.trim_matches('\'')).unwrap_or_default();
        let name = plain.rsplit('/').next().unwrap_or_default();
        let checks = CHECKS.iter().find(|it| it.0 == name).map(|it| it.1).unwrap_or_default();
        if words.get(1).is_some_and(|option| checks.contains(&option.trim_matches('\''))) {
            continue;
        }
        // What a program does that is found on the PATH is its own affair, whatever it is told.
        let told = match !plain.contains('/') && !runs_others(name) {
            true => list.iter().take_while(|it| !is_open(it)).count(),
            false => list.len(),
        };
        let is_open = list.iter().take(told).any(|it| is_open(it));
        let plain_at = |at: usize| words.get(at).map(|it| it.trim_matches('\''));
        let checks = name.starts_with("python")
            && plain_at(1) == Some("-m")
            && plain_at(2).is_some_and(|it| CHECKERS.contains(&it));
        let is_program = program.contains(&Piece::Listed);
        let runs_listed = is_program
            || (list.iter().any(|it| is_listed(it)) && may_run(plain.trim_matches('"')) && !checks);
        let words = words.get(..told).unwrap_or_default();
        all.push(Said { line: words.join(" "), place: String::new(), is_open, runs_listed });
    }
    settled(all, lists.iter().flatten())
}

/// Where a line with something unknown in it could run that, whoever gives it has to tell.
fn settled<'p>(
    all: Vec<Said>,
    pieces: impl Iterator<Item = &'p Vec<Piece>>,
) -> Result<Vec<Said>, Doubt> {
    let mut given = None;
    for piece in pieces.flatten() {
        match piece {
            Piece::Given(function, _) => given = Some(*function),
            Piece::Any => return Ok(all),
            _ => {}
        }
    }
    match given.filter(|_| {
        all.iter().any(|said| said.is_open && super::super::reaches::may_run_anything(&said.line))
    }) {
        Some(function) => Err(Doubt::Given(function)),
        None => Ok(all),
    }
}

/// One word of a line, in quotes.
fn word(pieces: &[Piece]) -> String {
    match pieces {
        [Piece::Text(text)] => format!("'{}'", text.replace('\'', "'\\''")),
        [] => "''".to_owned(),
        pieces => {
            let text = line(pieces).line;
            let is_plain = pieces.iter().all(|it| match it {
                Piece::Text(text) => !text.contains(['"', '`', '$', '\\']),
                _ => true,
            });
            let is_text = pieces.iter().all(|it| matches!(it, Piece::Text(_)));
            match (is_text, is_plain) {
                (true, _) => format!("'{}'", text.replace('\'', "'\\''")),
                (_, true) => format!("\"{text}\""),
                _ => "\"${x}\"".to_owned(),
            }
        }
    }
}

/// Each list with each of the others behind it; `unknown` says that more words follow.
pub(super) fn behind(lists: Lists, more: &Lists, unknown: bool) -> Lists {
    if unknown {
        return lists.into_iter().map(|it| [it, vec![vec![Piece::Any]]].concat()).collect();
    }
    if more.is_empty() {
        return lists;
    }
    if lists.len().saturating_mul(more.len()) > MOST {
        return vec![vec![vec![Piece::Any]]];
    }
    lists
        .iter()
        .flat_map(|one| more.iter().map(move |other| [one.clone(), other.clone()].concat()))
        .collect()
}

impl Values<'_> {
    /// A list for each alternative of one word.
    pub(super) fn lists_of_one(&self, tokens: &[Token], at: usize, bound: &Bound) -> Lists {
        match tokens {
            [star, rest @ ..] if star.is('*') => self.spread(rest, at, bound, 0),
            [one, two, three, rest @ ..] if one.is('.') && two.is('.') && three.is('.') => {
                self.spread(rest, at, bound, 0)
            }
            tokens => self.of(tokens, at, bound).into_iter().map(|pieces| vec![pieces]).collect(),
        }
    }

    fn spread(&self, tokens: &[Token], at: usize, bound: &Bound, depth: usize) -> Lists {
        let lists = self.list(tokens, at, bound, depth);
        if !lists.is_empty() {
            return lists;
        }
        let given = self.of(tokens, at, bound);
        let of_function = given.into_iter().find(|it| matches!(it.as_slice(), [Piece::Given(..)]));
        vec![vec![of_function.unwrap_or_else(|| vec![Piece::Any])]]
    }

    /// The lists that an expression may be; none if it is no list.
    pub(super) fn lists(&self, tokens: &[Token], at: usize, bound: &Bound) -> Lists {
        self.list(tokens, at, bound, 0)
    }

    fn list(&self, tokens: &[Token], at: usize, bound: &Bound, depth: usize) -> Lists {
        if depth > DEEPEST {
            return vec![vec![vec![Piece::Any]]];
        }
        let deeper = depth.saturating_add(1);
        let is_tuple = tokens.first().is_some_and(|it| it.is('('))
            && closing(tokens, 0) == Some(tokens.len().saturating_sub(1));
        let outer = outermost(tokens);
        let sign = |at: usize, c: char| tokens.get(at).is_some_and(|it| it.is(c));
        if !is_tuple
            && !outer.iter().any(|at| sign(*at, ','))
            && let Some(parts) = alternatives(self.tongue, tokens, &outer)
        {
            let all: Vec<Lists> = parts.iter().map(|it| self.list(it, at, bound, deeper)).collect();
            return match all.iter().any(Vec::is_empty) {
                true => Lists::new(),
                false => all.concat(),
            };
        }
        if outer.iter().any(|at| sign(*at, '+')) {
            let parts = split(tokens, |at| sign(at, '+'));
            let mut all: Lists = vec![Vec::new()];
            for (number, one) in parts.iter().enumerate() {
                let lists = self.list(one, at, bound, deeper);
                if number == 0 && lists.is_empty() {
                    return Lists::new();
                }
                all = behind(all, &lists, lists.is_empty());
            }
            return all;
        }
        if let Some((all, _)) = self.looked_up(tokens).filter(|it| it.1 == tokens.len()) {
            let all: Vec<Lists> = all.iter().map(|it| self.list(it, at, bound, deeper)).collect();
            return if all.iter().any(Vec::is_empty) { Lists::new() } else { all.concat() };
        }
        match tokens {
            [open, ..] if open.is('[') || is_tuple => {
                let close = closing(tokens, 0).unwrap_or(tokens.len());
                let rest = part(tokens, close.saturating_add(1)..tokens.len());
                let inside = part(tokens, 1..close);
                let parts = arguments(inside);
                if is_tuple && parts.len() < 2 && !inside.last().is_some_and(|it| it.is(',')) {
                    return self.list(bare(tokens), at, bound, deeper);
                }
                if inside.iter().any(|it| it.is_name("for")) {
                    return vec![vec![vec![Piece::Any]]];
                }
                let mut all: Lists = vec![Vec::new()];
                for one in parts {
                    let next = self.lists_of_one(one, at, bound);
                    all = behind(all, &next, next.is_empty());
                }
                // `[…].concat(more)`, `[…].filter(Boolean)`
                match rest {
                    [] => all,
                    [dot, method, ..] if dot.is('.') && method.is_name("concat") => {
                        behind(all, &Lists::new(), true)
                    }
                    [dot, method, ..] if dot.is('.') && method.is_name("filter") => all,
                    _ => Lists::new(),
                }
            }
            [name, open, ..]
                if open.is('(') && ["list", "tuple"].iter().any(|it| name.is_name(it)) =>
            {
                let close = closing(tokens, 1).unwrap_or(tokens.len());
                self.list(part(tokens, 2..close), at, bound, deeper)
            }
            [one] if one.name().is_some() => {
                self.list_of_name(one.name().unwrap_or_default(), at, bound, deeper)
            }
            [own, dot, one] if dot.is('.') && (own.is_name("self") || own.is_name("this")) => {
                self.list_of_name(one.name().unwrap_or_default(), at, bound, deeper)
            }
            _ => Lists::new(),
        }
    }

    fn list_of_name(&self, name: &str, at: usize, bound: &Bound, depth: usize) -> Lists {
        let mut all = Lists::new();
        if let Some(given) = self.names.given(name, at) {
            match bound.get(&given) {
                Some((tokens, from)) => all.extend(self.list(tokens, *from, bound, depth)),
                None => return Lists::new(),
            }
        }
        for one in self.names.assigned.get(name).into_iter().flatten() {
            let tokens = part(self.tokens, one.what.clone());
            let lists = match one.each {
                true => self.each(tokens, one.what.start, bound, depth),
                false if tokens.iter().any(|it| it.is_name(name)) => vec![vec![vec![Piece::Any]]],
                false => self.list(tokens, one.what.start, bound, depth),
            };
            if lists.is_empty() {
                return Lists::new();
            }
            all.extend(lists);
        }
        match self.names.grown.contains(name) && !all.is_empty() {
            true => behind(all, &Lists::new(), true),
            false => all,
        }
    }

    /// `for cmd in [["git", "diff"], ["git", "status"]]`
    fn each(&self, tokens: &[Token], at: usize, bound: &Bound, depth: usize) -> Lists {
        if let Some(all) = self.gone_through(tokens) {
            let all: Vec<Lists> = all.iter().map(|it| self.list(it, at, bound, depth)).collect();
            return if all.iter().any(Vec::is_empty) { Lists::new() } else { all.concat() };
        }
        let tokens = match tokens {
            [one] if one.name().is_some() => {
                let assigned = self.names.assigned.get(one.name().unwrap_or_default());
                match assigned.map(Vec::as_slice) {
                    Some([only]) if !only.each => part(self.tokens, only.what.clone()),
                    _ => return Lists::new(),
                }
            }
            tokens => tokens,
        };
        let is_list = tokens.first().is_some_and(|it| it.is('[') || it.is('('))
            && closing(tokens, 0) == Some(tokens.len().saturating_sub(1));
        if !is_list {
            return Lists::new();
        }
        let inside = part(tokens, 1..tokens.len().saturating_sub(1));
        let all: Vec<Lists> =
            arguments(inside).iter().map(|it| self.list(it, at, bound, depth)).collect();
        if all.iter().any(Vec::is_empty) { Lists::new() } else { all.concat() }
    }

    /// What a function is given, for each place where it is called.
    pub(super) fn bindings(&self, function: usize, is_other: impl Fn(usize) -> bool) -> Vec<Bound> {
        let Some(called) = self.names.functions.get(function) else { return Vec::new() };
        let Some(name) = &called.name else { return Vec::new() };
        let mut all = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let open = at.saturating_add(1);
            if !token.is_name(name) || at == called.at || is_other(at) {
                continue;
            }
            if !self.tokens.get(open).is_some_and(|it| it.is('(')) {
                // Handed on: nobody can tell what it is given.
                let is_declared = self.tokens.get(open).is_some_and(|it| it.is('='))
                    || self.tokens.get(open).is_some_and(|it| it.is(':'));
                if is_declared {
                    continue;
                }
                return Vec::new();
            }
            let close = closing(self.tokens, open).unwrap_or(self.tokens.len());
            let given = arguments(part(self.tokens, open.saturating_add(1)..close));
            all.push(self.bind(function, &called.params, &given, at));
        }
        all
    }

    fn bind(&self, function: usize, params: &[Param], given: &[&[Token]], at: usize) -> Bound {
        let positional: Vec<&[Token]> =
            given.iter().filter(|it| !super::is_keyword(it)).copied().collect();
        let mut bound = Bound::new();
        for (index, param) in params.iter().enumerate() {
            let keyword = given.iter().find_map(|it| match it {
                [name, equals, rest @ ..] if equals.is('=') && name.is_name(&param.name) => {
                    Some(rest.to_vec())
                }
                _ => None,
            });
            let tokens = match (param.rest, positional.get(index)) {
                (true, _) => list_of(positional.get(index..).unwrap_or_default()),
                (false, Some(given)) => given.to_vec(),
                (false, None) => match (keyword, &param.default) {
                    (Some(keyword), _) => keyword,
                    (None, Some(default)) => part(self.tokens, default.clone()).to_vec(),
                    (None, None) => Vec::new(),
                },
            };
            bound.insert((function, index), (tokens, at));
        }
        bound
    }
}

fn list_of(words: &[&[Token]]) -> Vec<Token> {
    let sign = |c: char| Token { kind: Kind::Sign(c), line: 0, indent: 0 };
    let mut tokens = vec![sign('[')];
    for word in words {
        tokens.extend(word.iter().cloned());
        tokens.push(sign(','));
    }
    tokens.push(sign(']'));
    tokens
}
