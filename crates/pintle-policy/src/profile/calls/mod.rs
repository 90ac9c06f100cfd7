//! What a script in another language loads and runs, call by call. What stands there as a text is known; where nobody can tell
//! by reading, it could be any file.

mod aliases;
mod endings;
mod environment;
mod forms;
mod known;
mod names;
mod paths;
mod spans;
mod tables;
mod tokens;
mod values;
mod words;

pub(super) use tokens::Tongue;

use aliases::Aliases;
use known::{Rule, Runs};
use names::Names;
use spans::{arguments, closing, part};
use std::collections::BTreeSet;
use tokens::{Kind, Part, Token};
use values::{Bound, Piece, Value, Values, is_known};

/// What the calls of a script come to.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Lines as a shell would read them, with `$x` for what only running the script tells.
    pub(super) lines: Vec<Said>,
    /// Texts that are parts of what is loaded: each may be a file or a folder.
    pub(super) loaded: BTreeSet<String>,
    /// Whether it loads files or code by what it works out, and not only modules by their names.
    pub(super) loads_files: bool,
    /// Whether it may load or run what it finds in a folder.
    runs_listed: bool,
    /// The first place at which nobody can tell what is loaded or run.
    pub(super) unknown: Option<String>,
}

/// A line that a script runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) line: String,
    /// Where, and how the script says it.
    pub(super) place: String,
    /// Whether a part of it is not known.
    pub(super) is_open: bool,
    /// Whether it may run what was found in a folder.
    runs_listed: bool,
}

/// How deep functions of a script hand on what they are given.
const DEEPEST: usize = 6;
/// So many calls of a script are looked at, and no more.
const MOST_CALLS: usize = 2_000;

/// What is in the way of knowing.
enum Doubt {
    /// Nobody can tell.
    Open,
    /// Whoever calls this function can.
    Given(usize),
}

impl Calls {
    /// Whether it may load or run what it finds in a folder, as far as anybody can tell.
    pub(super) fn may_run_listed(&self) -> bool {
        self.unknown.is_some() || self.runs_listed
    }

    pub(super) fn of(tongue: Tongue, script: &str) -> Self {
        let tokens = tokens::tokens(tongue, script);
        let mut names = Names::of(tongue, &tokens);
        if tongue == Tongue::Node {
            names.arrows(&tokens);
        }
        let aliases = Aliases::of(tongue, &tokens);
        let mut search = Search {
            values: Values { tongue, tokens: &tokens, names: &names },
            aliases: &aliases,
            script,
            found: Self::default(),
            looked_at: 0,
        };
        if let Some((line, why)) = &aliases.unknown {
            search.unknown(*line, Some(why));
        }
        search.all(&tokens, None);
        search.environment(&tokens);
        search.found.loaded.extend(endings::imported(tongue, &tokens));
        search.found
    }
}

struct Search<'a> {
    values: Values<'a>,
    aliases: &'a Aliases,
    script: &'a str,
    found: Calls,
    looked_at: usize,
}

impl Search<'_> {
    /// The calls in some tokens, which may be put into a text that stands at `around`.
    fn all(&mut self, tokens: &[Token], around: Option<usize>) {
        for (at, token) in tokens.iter().enumerate() {
            let place = around.unwrap_or(at);
            if let Kind::Text(parts) | Kind::Line(parts) = &token.kind {
                for code in parts {
                    if let Part::Code(code) = code {
                        self.all(code, Some(place));
                    }
                }
            }
            if matches!(token.kind, Kind::Line(_)) {
                let value = self.values.text(token, place, &Bound::new(), 0);
                let said = value.iter().map(|pieces| words::line(pieces)).collect();
                self.take(said, token.line);
                continue;
            }
            // `process.mainModule["req" + "uire"](x)`
            let hands_out = ["global", "globalThis", "mainModule", "module", "process"];
            let is_asked = tokens.get(at.saturating_add(1)).is_some_and(|next| next.is('['));
            if self.values.tongue == Tongue::Node
                && is_asked
                && token.name().is_some_and(|name| hands_out.contains(&name))
            {
                self.unknown(token.line, Some("what it takes from there is worked out"));
            }
            let Some(rule) = self.aliases.rule_at(self.values.tongue, tokens, at) else { continue };
            let Some(given) = given(self.values.tongue, tokens, at) else { continue };
            self.looked_at = self.looked_at.saturating_add(1);
            if self.looked_at > MOST_CALLS {
                return self.unknown(token.line, None);
            }
            self.call(rule, &given, (place, token.line), &Bound::new(), 0);
        }
    }

    fn call(
        &mut self,
        rule: Rule,
        given: &[&[Token]],
        at: (usize, usize),
        bound: &Bound,
        depth: usize,
    ) {
        let doubt = match self.judge(rule, given, at, bound) {
            Ok(said) => {
                self.handed(&said, given, at, bound);
                return self.take(said, at.1);
            }
            Err(doubt) => doubt,
        };
        let Doubt::Given(function) = doubt else { return self.unknown(at.1, None) };
        if depth > DEEPEST {
            return self.unknown(at.1, None);
        }
        let (tongue, tokens) = (self.values.tongue, self.values.tokens);
        let is_other = |at: usize| self.aliases.rule_at(tongue, tokens, at).is_some();
        let sites = self.values.bindings(function, is_other);
        if sites.is_empty() {
            return self.unknown(at.1, None);
        }
        for site in sites {
            self.looked_at = self.looked_at.saturating_add(1);
            if self.looked_at > MOST_CALLS {
                return self.unknown(at.1, None);
            }
            let bound: Bound = bound.clone().into_iter().chain(site).collect();
            self.call(rule, given, at, &bound, depth.saturating_add(1));
        }
    }

    /// The lines that a call runs, if they can be told.
    fn judge(
        &mut self,
        (runs, first): Rule,
        given: &[&[Token]],
        (at, _): (usize, usize),
        bound: &Bound,
    ) -> Result<Vec<Said>, Doubt> {
        let positional: Vec<&[Token]> =
            given.iter().filter(|it| !is_keyword(it)).copied().collect();
        let named = given.iter().find_map(|it| match it {
            [name, equals, rest @ ..]
                if equals.is('=')
                    && ["args", "cmd", "path", "name"].iter().any(|it| name.is_name(it)) =>
            {
                Some(rest)
            }
            _ => None,
        });
        let Some(what) = positional.get(first).copied().or(named) else { return Ok(Vec::new()) };
        let rest = positional.get(first.saturating_add(1)..).unwrap_or_default();
        match runs {
            Runs::Code | Runs::Module | Runs::File | Runs::Folder => {
                let value = self.values.of(what, at, bound);
                for pieces in &value {
                    doubt(pieces)?;
                }
                self.load(&value, runs);
                let is_plain = |it: &Vec<Piece>| matches!(it.as_slice(), [Piece::Text(_)]);
                let is_module = runs == Runs::Module && value.iter().all(is_plain);
                self.found.loads_files |= !is_module && runs != Runs::Folder;
                Ok(Vec::new())
            }
            Runs::Line => words::lines(&self.values.of(what, at, bound)),
            Runs::Words => match self.values.lists(what, at, bound) {
                lists if lists.is_empty() => words::lines(&self.values.of(what, at, bound)),
                lists => words::programs(&lists),
            },
            Runs::Pair => {
                let mut program = self.values.lists_of_one(what, at, bound);
                let list = rest.first().filter(|it| !it.first().is_some_and(|it| it.is('{')));
                let words = list.map(|it| self.values.lists(it, at, bound)).unwrap_or_default();
                let unknown = list.is_some() && words.is_empty();
                program = words::behind(program, &words, unknown);
                words::programs(&program)
            }
            Runs::Spread if rest.is_empty() => match self.values.lists(what, at, bound) {
                lists if lists.is_empty() => words::lines(&self.values.of(what, at, bound)),
                lists => words::programs(&lists),
            },
            Runs::Spread => {
                let mut all = self.values.lists_of_one(what, at, bound);
                for word in rest {
                    let next = self.values.lists_of_one(word, at, bound);
                    all = words::behind(all, &next, false);
                }
                words::programs(&all)
            }
        }
    }

    /// `subprocess.run(["sh"], input=text)`: what an interpreter without a script is handed is its program.
    fn handed(&mut self, said: &[Said], given: &[&[Token]], at: (usize, usize), bound: &Bound) {
        let tongue = self.values.tongue;
        let is_known_by_call = matches!(tongue, Tongue::Python | Tongue::Node);
        if !is_known_by_call || !said.iter().any(|it| words::runs_what_it_reads(&it.line)) {
            return;
        }
        let all: Vec<&Token> = given.iter().flat_map(|it| it.iter()).collect();
        let input = given.iter().find_map(|it| match it {
            [name, equals, rest @ ..] if equals.is('=') && name.is_name("input") => Some(rest),
            _ => None,
        });
        let known = input.map(|it| self.values.of(it, at.0, bound));
        match known {
            Some(value) if value.iter().all(|it| is_known(it)) => self.load(&value, Runs::Code),
            None if all.iter().any(|it| it.is_name("DEVNULL")) => {}
            _ => self.unknown(at.1, Some("what it is to run is handed to it")),
        }
    }

    /// What is loaded, as it is known.
    fn load(&mut self, value: &Value, runs: Runs) {
        self.found.runs_listed |= value.iter().any(|it| it.contains(&Piece::Listed));
        for pieces in value {
            let whole: String = pieces
                .iter()
                .filter_map(|it| match it {
                    Piece::Text(text) => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            let texts = pieces.iter().filter_map(|it| match it {
                Piece::Text(text) => Some(text.clone()),
                _ => None,
            });
            // A program in a text is looked at word by word anyway.
            if runs != Runs::Code || pieces.contains(&Piece::Content) {
                let found = endings::found_as(self.values.tongue, &whole, runs);
                self.found
                    .loaded
                    .extend(texts.chain([whole]).chain(found).filter(|it| it.len() > 1));
            }
        }
    }

    fn take(&mut self, said: Vec<Said>, line: usize) {
        for one in said {
            let place = self.place(line);
            if one.runs_listed {
                self.found.runs_listed = true;
                self.found.loaded.insert(one.line.clone());
            }
            let one = Said { place, ..one };
            if !self.found.lines.contains(&one) {
                self.found.lines.push(one);
            }
        }
    }

    fn unknown(&mut self, line: usize, why: Option<&str>) {
        let place = self.place(line);
        let told = match why {
            Some(why) => format!("{place} ({why})"),
            None => place,
        };
        self.found.unknown.get_or_insert(told);
    }

    fn place(&self, line: usize) -> String {
        place(self.script, line)
    }
}

/// `12: exec(source)`
pub(super) fn place(script: &str, line: usize) -> String {
    const LONGEST: usize = 80;
    let text = script.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim();
    let shown: String = text.chars().take(LONGEST).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("{line}: {shown}{more}")
}

fn doubt(pieces: &[Piece]) -> Result<(), Doubt> {
    if is_known(pieces) {
        return Ok(());
    }
    let given = pieces.iter().find_map(|it| match it {
        Piece::Given(function, _) => Some(*function),
        _ => None,
    });
    let is_open = pieces.contains(&Piece::Any);
    Err(given.filter(|_| !is_open).map_or(Doubt::Open, Doubt::Given))
}

fn is_keyword(tokens: &[Token]) -> bool {
    matches!(tokens, [name, equals, next, ..] if name.name().is_some() && equals.is('=') && !next.is('=') && !next.is('>'))
}

/// What a call is given: in brackets, or, where a language needs none, up to the end of the line.
fn given(tongue: Tongue, tokens: &[Token], at: usize) -> Option<Vec<&[Token]>> {
    let open = at.saturating_add(1);
    let next = tokens.get(open)?;
    if next.is('(') {
        let close = closing(tokens, open).unwrap_or(tokens.len());
        return Some(arguments(part(tokens, open.saturating_add(1)..close)));
    }
    let needs_brackets = matches!(tongue, Tongue::Python | Tongue::Node | Tongue::Awk);
    let is_same = tokens.get(at).is_some_and(|it| it.line == next.line);
    let starts = matches!(next.kind, Kind::Text(_) | Kind::Name(_)) || next.is('$') || next.is('@');
    if needs_brackets || !is_same || !starts {
        return None;
    }
    let range = spans::expression(tongue, tokens, open);
    let all = part(tokens, range.start..tokens.len());
    let line = next.line;
    let end = all.iter().position(|it| {
        it.line > line
            || it.is(';')
            || ["if", "unless", "or", "and", "do"].iter().any(|name| it.is_name(name))
    });
    Some(arguments(part(all, 0..end.unwrap_or(all.len()))))
}
