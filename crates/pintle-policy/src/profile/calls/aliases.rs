//! Under which names a script has the functions that load and run things.

use super::known::{FOREIGN, Rule, is_starter, rule};
use super::spans::{closing, opening, part};
use super::tokens::{Kind, Part, Token, Tongue};
use std::collections::{HashMap, HashSet};

#[derive(Debug, Default)]
pub(super) struct Aliases {
    /// `import subprocess as sp`
    modules: HashMap<String, String>,
    /// `from subprocess import run as r`: the module, and the function there.
    functions: HashMap<String, (String, String)>,
    /// Places in the script at which names are only brought in.
    brought: HashSet<usize>,
    /// Where something is handed on by which anything can be run.
    pub(super) unknown: Option<(usize, String)>,
}

impl Aliases {
    pub(super) fn of(tongue: Tongue, tokens: &[Token]) -> Self {
        let mut found = Self::default();
        match tongue {
            Tongue::Python => found.python(tokens),
            Tongue::Node => found.node(tokens),
            _ => return found,
        }
        found.assigned(tongue, tokens);
        found.handed_on(tongue, tokens);
        found
    }

    fn module(&mut self, line: usize, called: &str, module: &str) {
        let plain = module.strip_prefix("node:").unwrap_or(module);
        self.modules.insert(called.to_owned(), plain.to_owned());
        let first = plain.split('.').next().unwrap_or_default();
        if FOREIGN.contains(&plain) || FOREIGN.contains(&first) {
            self.unknown
                .get_or_insert((line, format!("`{plain}` runs programs in ways of its own")));
        }
    }

    fn function(&mut self, called: &str, module: &str, name: &str) {
        let plain = module.strip_prefix("node:").unwrap_or(module);
        self.functions.insert(called.to_owned(), (plain.to_owned(), name.to_owned()));
    }

    fn python(&mut self, tokens: &[Token]) {
        for (at, token) in tokens.iter().enumerate() {
            let is_statement = at
                .checked_sub(1)
                .and_then(|it| tokens.get(it))
                .is_none_or(|before| before.line < token.line || before.is(';') || before.is(':'));
            if !is_statement || !(token.is_name("import") || token.is_name("from")) {
                continue;
            }
            // Up to the end of the statement; brackets may go over several lines.
            let open = part(tokens, at..tokens.len())
                .iter()
                .take_while(|it| it.line == token.line)
                .position(|it| it.is('('));
            let end = match open.and_then(|it| closing(tokens, at.saturating_add(it))) {
                Some(close) => close,
                None => {
                    let rest = part(tokens, at..tokens.len());
                    let end = rest.iter().position(|it| it.line > token.line || it.is(';'));
                    end.map_or(tokens.len(), |it| at.saturating_add(it))
                }
            };
            self.brought.extend(at..end);
            let words: Vec<&Token> = part(tokens, at.saturating_add(1)..end).iter().collect();
            let dotted = |words: &[&Token]| -> String {
                words.iter().map(|it| it.name().unwrap_or(".")).collect()
            };
            let import = words.iter().position(|it| it.is_name("import"));
            match import.filter(|_| token.is_name("from")) {
                Some(import) => {
                    let module = dotted(words.get(..import).unwrap_or_default());
                    let listed = words.get(import.saturating_add(1)..).unwrap_or_default();
                    for one in listed.split(|it| it.is(',')) {
                        let names: Vec<&str> = one.iter().filter_map(|it| it.name()).collect();
                        match names.as_slice() {
                            [name, "as", called] => self.brings(token.line, &module, name, called),
                            [name] => self.brings(token.line, &module, name, name),
                            _ if one.iter().any(|it| it.is('*')) && is_starter(&module) => {
                                self.unknown
                                    .get_or_insert((token.line, "all of it is brought in".into()));
                            }
                            _ => {}
                        }
                    }
                }
                None => {
                    for one in words.split(|it| it.is(',')) {
                        let at_as = one.iter().position(|it| it.is_name("as"));
                        let module =
                            dotted(one.get(..at_as.unwrap_or(one.len())).unwrap_or_default());
                        let called = at_as.and_then(|it| one.get(it.saturating_add(1))?.name());
                        let first = module.split('.').next().unwrap_or_default().to_owned();
                        match called {
                            Some(called) => self.module(token.line, called, &module),
                            None => self.module(token.line, &first, &first),
                        }
                    }
                }
            }
        }
    }

    /// `from x import y`: a function, or a module of a package.
    fn brings(&mut self, line: usize, module: &str, name: &str, called: &str) {
        let is_module = (module == "importlib" && name == "util") || is_starter(name);
        match is_module {
            true => self.module(line, called, name),
            false => {
                if FOREIGN.contains(&module) {
                    self.module(line, called, module);
                }
                self.function(called, module, name);
            }
        }
    }

    fn node(&mut self, tokens: &[Token]) {
        for (at, token) in tokens.iter().enumerate() {
            let next = at.saturating_add(1);
            let literal = |at: usize| match tokens.get(at).map(|it| &it.kind) {
                Some(Kind::Text(parts)) => match parts.as_slice() {
                    [Part::Plain(text)] => Some(text.clone()),
                    _ => None,
                },
                _ => None,
            };
            // `import x, { y as z } from "m"`
            if token.is_name("import")
                && !tokens.get(next).is_some_and(|it| it.is('(') || it.is('.'))
            {
                let rest = part(tokens, next..tokens.len());
                let end = rest.iter().position(|it| matches!(it.kind, Kind::Text(_)) || it.is(';'));
                let Some(end) = end.map(|it| next.saturating_add(it)) else { continue };
                let Some(module) = literal(end) else { continue };
                self.brought.extend(at..end);
                self.targets(token.line, part(tokens, next..end), &module);
            }
            let required = (token.is_name("require") || token.is_name("import"))
                && tokens.get(next).is_some_and(|it| it.is('('));
            if !required {
                continue;
            }
            let Some(module) = literal(next.saturating_add(1)) else { continue };
            let close = next.saturating_add(2);
            if !tokens.get(close).is_some_and(|it| it.is(')')) {
                continue;
            }
            let mut before = at.checked_sub(1);
            if before.and_then(|it| tokens.get(it)).is_some_and(|it| it.is_name("await")) {
                before = before.and_then(|it| it.checked_sub(1));
            }
            let equals = before.filter(|it| tokens.get(*it).is_some_and(|it| it.is('=')));
            let behind = tokens.get(close.saturating_add(1));
            let is_used_here = behind.is_some_and(|it| it.is('.') && it.line == token.line);
            match equals {
                Some(equals) if !is_used_here => {
                    let last = equals.saturating_sub(1);
                    let start = match tokens.get(last).is_some_and(|it| it.is('}')) {
                        true => opening(tokens, last).unwrap_or(last),
                        false => last,
                    };
                    self.brought.extend(start..equals);
                    self.targets(token.line, part(tokens, start..equals), &module);
                }
                _ if is_used_here => {}
                _ if is_starter(&module) => {
                    self.unknown.get_or_insert((token.line, "it is handed on".into()));
                }
                _ => {}
            }
        }
    }

    /// `x`, `* as x`, `{ a, b as c, d: e }`
    fn targets(&mut self, line: usize, tokens: &[Token], module: &str) {
        let open = tokens.iter().position(|it| it.is('{'));
        let before = part(tokens, 0..open.unwrap_or(tokens.len()));
        for called in
            before.iter().filter_map(Token::name).filter(|it| !["as", "from", "type"].contains(it))
        {
            self.module(line, called, module);
        }
        let Some(open) = open else { return };
        let close = closing(tokens, open).unwrap_or(tokens.len());
        let inside = part(tokens, open.saturating_add(1)..close);
        for one in inside.split(|it| it.is(',')) {
            let names: Vec<&str> =
                one.iter().filter_map(Token::name).filter(|it| *it != "as").collect();
            match names.as_slice() {
                ["default", called] => self.module(line, called, module),
                [name, called] => self.function(called, module, name),
                [name] => self.function(name, module, name),
                _ => {}
            }
            if let Some(called) = names.last().filter(|_| FOREIGN.contains(&module)) {
                self.module(line, called, module);
            }
        }
    }

    /// `const run = promisify(cp.exec)`, `run = subprocess.run`, `const load = createRequire(import.meta.url)`
    fn assigned(&mut self, tongue: Tongue, tokens: &[Token]) {
        for (at, token) in tokens.iter().enumerate() {
            let next = at.saturating_add(1);
            if token.is_name("createRequire") && tokens.get(next).is_some_and(|it| it.is('(')) {
                if let Some(called) = before_equals(tokens, at) {
                    self.function(&called, "module", "require");
                }
                continue;
            }
            let Some((start, module, name)) = self.meant(tokens, at) else { continue };
            let is_called = tokens.get(next).is_some_and(|it| it.is('('));
            if is_called
                || self.brought.contains(&at)
                || rule(tongue, module.as_deref(), &name).is_none()
            {
                continue;
            }
            let mut from = start;
            // `util.promisify(`
            if let Some(open) =
                from.checked_sub(1).filter(|it| tokens.get(*it).is_some_and(|it| it.is('(')))
            {
                let function = open.checked_sub(1);
                if function.and_then(|it| tokens.get(it)).is_some_and(|it| it.is_name("promisify"))
                {
                    from = super::spans::receiver(tokens, open);
                }
            }
            if let (Some(called), Some(module)) = (before_equals(tokens, from), module) {
                self.brought.insert(at);
                self.function(&called, &module, &name);
            }
        }
    }

    /// A function or a whole module that is used as a value: whoever has it can run anything.
    fn handed_on(&mut self, tongue: Tongue, tokens: &[Token]) {
        for (at, token) in tokens.iter().enumerate() {
            let Some(name) = token.name() else { continue };
            let next = tokens.get(at.saturating_add(1));
            let before = at.checked_sub(1).and_then(|it| tokens.get(it));
            let is_of_something = before.is_some_and(|it| it.is('.'));
            if name == "__builtins__" || (name == "getattr" && self.takes_a_module(tokens, at)) {
                self.unknown
                    .get_or_insert((token.line, "what it takes from there is not said".into()));
                continue;
            }
            if self.brought.contains(&at) || next.is_some_and(|it| it.is('(')) {
                continue;
            }
            // The name of a parameter or a field.
            let is_key = next.is_some_and(|it| it.is('=') || it.is(':')) && !is_of_something;
            if let Some(module) = self.modules.get(name).filter(|_| !is_of_something && !is_key) {
                let is_looked_into = next.is_some_and(|it| it.is('.') || it.is('?'));
                if is_starter(module) && !is_looked_into {
                    self.unknown.get_or_insert((token.line, format!("`{name}` is handed on")));
                }
                continue;
            }
            let is_type = before.is_some_and(|it| it.is('>') || it.is('|'))
                || next.is_some_and(|it| it.is('['));
            if is_type || is_key {
                continue;
            }
            if let Some((_, module, name)) = self.meant(tokens, at)
                && (module.is_some()
                    || ["exec", "eval", "__import__", "execfile"].contains(&&*name))
                && (module.is_some() || !is_of_something)
                && rule(tongue, module.as_deref(), &name).is_some()
                && module.as_deref() != Some("sys.path")
                && !(tongue == Tongue::Node && module.is_none())
            {
                self.unknown.get_or_insert((token.line, format!("`{name}` is handed on")));
            }
        }
    }

    /// `getattr(os, name)`
    fn takes_a_module(&self, tokens: &[Token], at: usize) -> bool {
        let Some(first) = tokens.get(at.saturating_add(2)).and_then(Token::name) else {
            return false;
        };
        let module = self.modules.get(first).map(String::as_str);
        module.is_some_and(|module| is_starter(module) || module == "os")
    }

    /// The module and the function that a name at this place stands for, and where its chain begins.
    fn meant(&self, tokens: &[Token], at: usize) -> Option<(usize, Option<String>, String)> {
        let name = tokens.get(at)?.name()?;
        let dot = at.checked_sub(1).filter(|it| tokens.get(*it).is_some_and(|it| it.is('.')));
        let Some(dot) = dot else {
            return Some(match self.functions.get(name) {
                Some((module, name)) => (at, Some(module.clone()), name.clone()),
                None => (at, None, name.to_owned()),
            });
        };
        let start = super::spans::receiver(tokens, dot);
        let chain = part(tokens, start..dot);
        // `require("child_process").exec`
        if let [load, open, Token { kind: Kind::Text(parts), .. }, ..] = chain
            && (load.is_name("require") || load.is_name("import"))
            && open.is('(')
            && let [Part::Plain(module)] = parts.as_slice()
        {
            let module = module.strip_prefix("node:").unwrap_or(module);
            return Some((start, Some(module.to_owned()), name.to_owned()));
        }
        let names: Vec<&str> = chain.iter().filter_map(Token::name).collect();
        let module = match names.as_slice() {
            [one] => self.modules.get(*one).cloned().unwrap_or_else(|| (*one).to_owned()),
            [] => "?".to_owned(),
            [first, .., last] if chain.len() == names.len().saturating_mul(2).saturating_sub(1) => {
                let root = self.modules.get(*first).map_or(*first, String::as_str);
                match is_starter(root) {
                    true => root.to_owned(),
                    false => format!("{first}.{last}"),
                }
            }
            _ => "?".to_owned(),
        };
        Some((start, Some(module), name.to_owned()))
    }

    /// What the call at this place does, if it is one that loads or runs.
    pub(super) fn rule_at(&self, tongue: Tongue, tokens: &[Token], at: usize) -> Option<Rule> {
        let (start, module, name) = self.meant(tokens, at)?;
        let before = start.checked_sub(1).and_then(|it| tokens.get(it));
        let defines = ["def", "function", "class", "sub", "fn"];
        if before.is_some_and(|it| defines.iter().any(|name| it.is_name(name))) {
            return None;
        }
        // A method that is written here.
        if tongue == Tongue::Node && module.is_none() {
            let open = at.saturating_add(1);
            let close = closing(tokens, open)?;
            if tokens.get(close.saturating_add(1)).is_some_and(|it| it.is('{')) {
                return None;
            }
        }
        rule(tongue, module.as_deref(), &name)
    }
}

/// `NAME =`, right before a place.
fn before_equals(tokens: &[Token], at: usize) -> Option<String> {
    let equals = at.checked_sub(1)?;
    if !tokens.get(equals)?.is('=') {
        return None;
    }
    Some(tokens.get(equals.checked_sub(1)?)?.name()?.to_owned())
}
