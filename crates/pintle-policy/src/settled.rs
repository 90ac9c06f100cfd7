//! Variables of which the order of a line says what they hold: `OUT=dist; cp a "$OUT/b"` copies to `dist/b`, `x=/; x=build; rm -r "$x"`
//! removes `build`. A variable that may be unset, or something else by then, stays as it was written.

use crate::movers::is_mover;
use crate::shell::{Scope, Script, SimpleCommand, Step, Word, is_variable_name};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// A line that sets more is not looked through.
const MOST: usize = 200;

/// A command's place in the line: the scopes around it, outermost first.
type Around = Vec<usize>;

/// One `NAME=value`.
struct Set {
    name: String,
    value: Word,
    at: usize,
    around: Around,
    /// The scope in which it holds from there on; nothing for the whole line.
    within: Option<usize>,
}

/// Puts into each word what the variables in it hold at that point, as far as that is plain text. The line starts in `start`, and
/// `top` is the folder of the repository around that, if it is known.
pub(crate) fn settle(script: &mut Script, start: &Path, top: Option<&Path>) {
    let commands = || script.steps.iter().filter_map(Step::command);
    let is_open = script.values.of("IFS").is_none_or(|set| !set.is_empty());
    if is_open || commands().any(unsettles) {
        return;
    }
    let start = start.to_str().filter(|text| is_plain(text));
    let renames_pwd = script.values.is_function("pwd");
    let top = top.and_then(Path::to_str).filter(|text| is_plain(text)).map(str::to_owned);
    let mut line = Line { top, ..Line::default() };
    line.count(script);
    let (mut around, mut fresh): (Around, Vec<bool>) = (Vec::new(), Vec::new());
    let mut at = 0_usize;
    for step in &mut script.steps {
        match step {
            Step::Enter(scope) => {
                around.push(line.scopes.len());
                fresh.push(true);
                line.scopes.push(*scope);
            }
            Step::Leave => drop((around.pop(), fresh.pop())),
            Step::Script(_) => {}
            Step::Command(command) => {
                line.has_moved |=
                    around.iter().any(|id| line.is(*id, &[Scope::Loop, Scope::Later]));
                let here = start.filter(|_| !line.has_moved);
                let fill = |word: &mut Word, here: Option<&str>| {
                    let filled = line.filled(word, at, &around, here, renames_pwd);
                    if let Some(filled) = filled.filter(|_| line.sets.len() <= MOST) {
                        *word = filled;
                    }
                };
                command.assignments.iter_mut().for_each(|word| fill(word, here));
                let keeps = is_keeper(command);
                command.args.iter_mut().for_each(|word| fill(word, here.filter(|_| keeps)));
                command.redirects.iter_mut().for_each(|it| fill(&mut it.target, None));
                if command.name.is_dynamic() {
                    fill(&mut command.name, None);
                }
                let within = line.within(&around, &fresh);
                if let Ok(within) = within {
                    line.sets.extend(sets(command).map(|(name, value)| Set {
                        name: name.to_owned(),
                        value,
                        at,
                        around: around.clone(),
                        within,
                    }));
                } else {
                    // It may be set, or not.
                    line.loose.extend(sets(command).map(|(name, _)| name.to_owned()));
                }
                line.has_moved |= is_mover(command);
                fresh.iter_mut().for_each(|fresh| *fresh = false);
                at = at.saturating_add(1);
            }
        }
    }
}

/// Whether nobody can tell what variables hold after this.
fn unsettles(command: &SimpleCommand) -> bool {
    let is_option = |arg: &Word| arg.text().starts_with(['-', '+']);
    match command.program() {
        Some("." | "source" | "unset" | "readonly" | "getopts" | "coproc") => true,
        // Without a value, a variable of its own is unset.
        Some("declare" | "local" | "typeset") => {
            command.args.iter().any(|arg| is_option(arg) || !arg.text().contains('='))
        }
        Some("export" | "wait") => command.args.iter().any(is_option),
        _ => false,
    }
}

fn is_keeper(command: &SimpleCommand) -> bool {
    matches!(command.program(), Some("declare" | "export" | "local" | "typeset"))
}

/// What the command sets for those after it.
fn sets(command: &SimpleCommand) -> impl Iterator<Item = (&str, Word)> {
    let is_bare = command.name.literal() == Some("") && command.args.is_empty();
    let alone = command.assignments.iter().filter(move |_| is_bare);
    let kept = command.args.iter().filter(|_| is_keeper(command));
    alone.chain(kept).filter_map(|word| {
        let (name, value) = word.text().split_once('=')?;
        let value = match word {
            Word::Literal(_) => Word::Literal(value.to_owned()),
            Word::Dynamic(_) => Word::Dynamic(value.to_owned()),
        };
        is_variable_name(name).then_some((name, value))
    })
}

fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "_./-+,@%:".contains(c))
}

#[derive(Default)]
struct Line {
    scopes: Vec<Scope>,
    sets: Vec<Set>,
    /// How often each variable is set.
    counts: HashMap<String, usize>,
    /// Variables that may be set at any time, or in another way.
    loose: HashSet<String>,
    /// The folder of the repository, and whether the line may have gone elsewhere.
    top: Option<String>,
    has_moved: bool,
}

impl Line {
    fn is(&self, id: usize, kinds: &[Scope]) -> bool {
        self.scopes.get(id).is_some_and(|scope| kinds.contains(scope))
    }

    /// Looks for what is set more than once, and where that may happen in another order than the one written.
    fn count(&mut self, script: &Script) {
        let (mut in_function, mut in_loop) = (HashSet::new(), HashSet::new());
        let mut around: Vec<Scope> = Vec::new();
        for step in &script.steps {
            match step {
                Step::Enter(scope) => around.push(*scope),
                Step::Leave => drop(around.pop()),
                Step::Command(command) => {
                    for (name, _) in sets(command) {
                        let count = self.counts.entry(name.to_owned()).or_default();
                        *count = count.saturating_add(1);
                        if around.contains(&Scope::Later) {
                            in_function.insert(name.to_owned());
                        }
                        if around.contains(&Scope::Loop) {
                            in_loop.insert(name.to_owned());
                        }
                    }
                }
                Step::Script(_) => {}
            }
        }
        let is_loose = |(name, count): (&String, &usize)| {
            let all = script.values.of(name).map(|set| set.len());
            let again = *count > 1 && in_loop.contains(name);
            let is_loose = all != Some(*count) || again || in_function.contains(name);
            is_loose.then(|| name.clone())
        };
        self.loose = self.counts.iter().filter_map(is_loose).collect();
    }

    /// Where what is set here holds; an error when it may not be set at all.
    fn within(&self, around: &[usize], fresh: &[bool]) -> Result<Option<usize>, ()> {
        for (id, fresh) in around.iter().zip(fresh).rev() {
            match self.scopes.get(*id) {
                Some(Scope::Group) => {}
                Some(Scope::Chain { .. } | Scope::Sure) if *fresh => {}
                Some(Scope::Branch) | None => return Err(()),
                Some(_) => return Ok(Some(*id)),
            }
        }
        Ok(None)
    }

    /// What the variable holds at this point.
    fn value(&self, name: &str, at: usize, around: &[usize]) -> Option<&str> {
        let is_special = ["PWD", "OLDPWD", "HOME", "IFS", "REPLY", "UID", "EUID", "PPID", "RANDOM"];
        // What is in a function runs when that is called.
        let is_later = around.iter().any(|id| self.is(*id, &[Scope::Later]))
            && self.counts.get(name).is_none_or(|count| *count > 1);
        if is_special.contains(&name) || self.loose.contains(name) || is_later {
            return None;
        }
        let of_name = || self.sets.iter().filter(|set| set.name == name && set.at < at);
        let holds = |set: &&Set| {
            let start = match set.within {
                Some(within) => around.iter().position(|id| *id == within),
                None => Some(0),
            };
            let inner = start.and_then(|start| around.get(start..));
            // What another program runs does not know it.
            let is_strange = |id: &usize| Some(*id) != set.within && self.is(*id, &[Scope::Inside]);
            inner.is_some_and(|inner| !inner.iter().any(is_strange))
        };
        let last = of_name().rfind(holds)?;
        let others = of_name().filter(|set| set.at > last.at);
        let is_apart = |set: &Set| {
            let kinds = [Scope::Apart, Scope::Word, Scope::Words];
            set.around.iter().any(|id| self.is(*id, &kinds) && !around.contains(id))
        };
        let is_alone = others.into_iter().all(is_apart);
        last.value.literal().filter(|text| is_alone && is_plain(text))
    }

    /// The word with what its variables hold; `None` when it has none that is known.
    fn filled(
        &self,
        word: &Word,
        at: usize,
        around: &[usize],
        here: Option<&str>,
        renames_pwd: bool,
    ) -> Option<Word> {
        let Word::Dynamic(raw) = word else { return None };
        let mut text = raw.clone();
        if !renames_pwd {
            text = text.replace("$(pwd)", "$PWD").replace("`pwd`", "$PWD");
        }
        if let Some(top) = self.top.as_deref().filter(|_| here.is_some() || !self.has_moved) {
            text = text.replace("$(git rev-parse --show-toplevel)", top);
        }
        if text.contains(['\'', '\\', '`']) || text.contains("$(") || text.contains("$$") {
            return None;
        }
        let mut found = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('$') {
            found.push_str(before);
            let (name, behind, written) = variable(after);
            let value = match (name, here) {
                ("PWD", Some(here)) => Some(here),
                _ => self.value(name, at, around),
            };
            match value {
                Some(value) => found.push_str(value),
                None => {
                    found.push('$');
                    found.push_str(written);
                }
            }
            rest = behind;
        }
        found.push_str(rest);
        if found == *raw {
            return None;
        }
        let is_open = found.contains(['$', '*', '?', '[', '{', '~', '(']);
        Some(match is_open {
            true => Word::Dynamic(found),
            false => Word::Literal(found.replace('"', "")),
        })
    }
}

/// The name that stands behind a `$`, if that is all there is, what follows it, and how it was written.
fn variable(after: &str) -> (&str, &str, &str) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let braced = after.strip_prefix('{');
    let inside = braced.unwrap_or(after);
    let end = inside.find(|c| !is_name(c)).unwrap_or(inside.len());
    let (name, behind) = inside.split_at_checked(end).unwrap_or((inside, ""));
    let behind = match braced {
        Some(_) => behind.strip_prefix('}'),
        None => Some(behind),
    };
    match behind.filter(|_| is_variable_name(name)) {
        Some(behind) => {
            let written = after.len().saturating_sub(behind.len());
            (name, behind, after.get(..written).unwrap_or_default())
        }
        None => ("", after, ""),
    }
}
