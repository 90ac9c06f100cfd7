//! Which commands may reach the agent's own files.
//!
//! A command line says three things: which words name a file, which programs write under names that are not there (those
//! of an archive, of another folder, of another version), and where it all happens. A program that only looks may be
//! given any name. What a program does of its own accord, a script or a build, is not known here.

use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};
use pintle_policy::{
    commands_with_values, files_found, resolve,
    shell::{SimpleCommand, Word},
};

use super::{Look, bases::Bases, effect::Effect, reasons::NOBODY_KNOWS};

/// Programs that are given names, versions and addresses all day: a word that is nothing but a run-time value does no harm there.
const USUAL: &[&str] = &[
    "cargo", "docker", "gcc", "git", "go", "kill", "make", "mkdir", "npm", "npx", "pnpm", "pytest",
    "rustc", "ssh", "touch", "yarn",
];

/// Programs whose words are files.
const FILERS: &[&str] =
    &["chmod", "cp", "install", "ln", "mkdir", "mv", "rm", "rmdir", "tee", "touch", "truncate"];

/// Before a file's name in a word of short options: `tar -czfFILE`.
const MOST_LETTERS: usize = 6;

/// What may be in the folders among them, whether or not it is there.
const INSIDE: [&str; 4] = ["pintle.toml", "pintle.db", "trust.json", "new/SOUL.md"];

/// Each is looked up in the file system.
const MAX_PATTERNS: usize = 32;

const EXACT: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

fn is_pattern(word: &Word) -> bool {
    word.is_dynamic() && has_signs(word.text())
}

fn has_signs(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

impl Look<'_> {
    /// Why a person must see the command first.
    pub(super) fn of_command(&self, line: &str, cwd: &Path) -> Option<String> {
        let Ok(commands) = commands_with_values(line) else {
            return Some(
                "it cannot be read, so it may change the rules the agent works under".into(),
            );
        };
        let words = commands.iter().flat_map(|command| &command.args);
        if words.filter(|word| is_pattern(word)).count() > MAX_PATTERNS {
            return Some("it has too many file patterns to look which rules it may change".into());
        }
        let bases = Bases::of(line, &commands, cwd);
        if let Some(own) = commands.iter().find(|command| self.is_pintle(command, &bases)) {
            return Some(format!(
                "it runs pintle itself, and only a person may trust, approve or start an agent ({})",
                own.summary()
            ));
        }
        let found = commands
            .iter()
            .find_map(|command| self.reached(command, &commands, &bases))
            .or_else(|| self.kept(&commands, &bases))
            .or_else(|| self.carried(&commands, &bases))
            .or_else(|| self.in_a_document(line, &commands, &bases))?;
        Some(self.changes(&found, &pieces(&found), &bases.known))
    }

    fn is_pintle(&self, command: &SimpleCommand, bases: &Bases) -> bool {
        let name = command.name.literal().unwrap_or_default();
        let is_running = |base: &PathBuf| {
            self.own.program.is_some() && resolve(base, Path::new(name)).ok() == self.own.program
        };
        command.program() == Some("pintle")
            || (name.contains('/') && bases.known.iter().any(is_running))
    }

    /// What in the command may lead to one of the agent's own files.
    fn reached(
        &self,
        command: &SimpleCommand,
        commands: &[SimpleCommand],
        bases: &Bases,
    ) -> Option<String> {
        let effect = Effect::of(command);
        let usual = command.program().is_some_and(|program| USUAL.contains(&program));
        let packs = command.program() == Some("tar");
        let is_read = |word: &Word| {
            let is_one = packs && word.text().starts_with('"') && !word.text().contains('@');
            let is_said =
                |text: &String| effect.read.contains(text) && (is_one || !text.contains('$'));
            !effect.read.is_empty() && word.readings().iter().all(is_said)
        };
        let args = command.args.iter().filter(|word| effect.named && !is_read(word));
        let outputs = command.redirects.iter().filter(|redirect| redirect.writes());
        let leading: Vec<&Word> = outputs
            .map(|redirect| (&redirect.target, false))
            .chain(args.map(|word| (word, usual && !outputs_to(command, word))))
            .filter(|(word, usual)| self.word(word, *usual, bases))
            .map(|(word, _)| word)
            .collect();
        let is_filer = command.program().is_some_and(|program| FILERS.contains(&program));
        let named = self.best_name(&leading, is_filer, bases);
        let only_files = || {
            let is_other = |other: &&SimpleCommand| !std::ptr::eq(*other, command);
            let makes_versions = |other: &SimpleCommand| {
                let verb = other.args.first().map_or("", Word::text);
                other.program() == Some("git") && !["diff", "log", "show", "status"].contains(&verb)
            };
            let is_idle =
                |other: &SimpleCommand| Effect::of(other).is_nothing() && !makes_versions(other);
            !bases.anywhere
                && commands.iter().filter(is_other).all(is_idle)
                && bases.only_files(&effect.unless_files)
        };
        let changes_the_tree = match effect.unless_files.as_slice() {
            [] => effect.work_tree || (effect.pushes && bases.takes_pushes()),
            files if only_files() => files.iter().any(|file| self.place(file, bases)),
            _ => true,
        };
        let in_tree = || {
            changes_the_tree
                && (bases.anywhere
                    || bases.work_trees().any(|tree| self.touches(&tree, "."))
                    || self.assigned(command, bases))
        };
        let in_place = || {
            effect.only.as_ref().is_none_or(|name| self.may_be_called(name))
                && effect.places.iter().any(|place| self.place(place, bases))
        };
        named
            .or_else(|| (in_place() || in_tree()).then(|| command.summary()))
            .or_else(|| (effect.open && self.is_near(bases)).then(|| NOBODY_KNOWS.to_owned()))
    }

    /// Of the words that may name one of them the one that says most: a file that is there, or at least looks like one.
    fn best_name(&self, leading: &[&Word], is_filer: bool, bases: &Bases) -> Option<String> {
        let is_there = |piece: &&str| bases.known.iter().any(|base| base.join(piece).exists());
        let exists = |word: &&&Word| {
            let mut there = pieces(word.text()).into_iter().filter(is_there);
            has_signs(word.text()) || there.any(|piece| self.plain(piece, bases))
        };
        // Where any file counts, a word that is no option need not be a file.
        let looks_like_one = |word: &&&Word| {
            let text = word.text();
            let is_file = is_filer || text.contains(['.', '/']);
            !self.any_counts() || (!text.starts_with('-') && is_file)
        };
        let best = leading.iter().find(exists).or_else(|| leading.iter().find(looks_like_one));
        let shown = best.map_or(NOBODY_KNOWS, |word| word.text());
        (!leading.is_empty()).then(|| shown.to_owned())
    }

    /// Whether one of them is in the workspace, or where the command runs.
    fn is_near(&self, bases: &Bases) -> bool {
        let mut places = bases.known.iter().chain([&self.own.workspace]);
        bases.anywhere || places.any(|place| self.touches(place, "."))
    }

    /// `GIT_WORK_TREE=.. git checkout …`
    fn assigned(&self, command: &SimpleCommand, bases: &Bases) -> bool {
        let words = command.assignments.iter().chain(&command.args);
        let mut values =
            words.filter_map(|word| word.text().split_once('=')).map(|(_, value)| value);
        values.any(|value| value.contains('$') || self.place(value, bases))
    }

    fn word(&self, word: &Word, usual: bool, bases: &Bases) -> bool {
        match word {
            Word::Literal(text) => {
                pieces(text).iter().any(|piece| self.plain(piece, bases))
                    || self.spoken_of(text, bases)
            }
            // The mark that `find` and `xargs` put any file's name in place of.
            Word::Dynamic(raw)
                if raw.contains("{}")
                    || !raw.contains(['$', '`', '{', '*', '?', '[', '~', '(']) =>
            {
                !self.near.is_empty()
            }
            Word::Dynamic(_) => word.readings().iter().any(|text| {
                self.spoken_of(text, bases)
                    || pieces(text).iter().any(|piece| {
                        if piece.contains(Word::ANYWHERE) {
                            !usual && !self.near.is_empty()
                        } else if usual && is_bare(piece) {
                            false
                        } else if piece.contains('$') || piece.starts_with('~') {
                            self.ends_like(piece, false)
                        } else if has_signs(piece) {
                            self.found_by(piece, bases, false)
                        } else {
                            self.plain(piece, bases)
                        }
                    })
            }),
        }
    }

    /// Whether a variable that the line sets is a way to one of them, for a program that may write to it: `GIT_TRACE=agent.json git log`.
    fn kept(&self, commands: &[SimpleCommand], bases: &Bases) -> Option<String> {
        let writes = |command: &SimpleCommand| {
            command.program() == Some("git")
                || Effect::of(command).named
                || command.redirects.iter().any(|redirect| redirect.writes())
        };
        if !commands.iter().any(writes) {
            return None;
        }
        // What a file pattern finds is written to by name: `for f in *; do tool $f; done`.
        let is_used = commands.iter().filter(|command| writes(command)).any(|command| {
            let targets = command.redirects.iter().map(|redirect| &redirect.target);
            command
                .args
                .iter()
                .chain(targets)
                .any(|word| word.is_dynamic() && word.text().contains('$'))
        });
        let mut words = commands.iter().flat_map(|command| {
            let sets = matches!(
                command.program(),
                Some("" | "env" | "export" | "local" | "readonly" | "set" | "sudo")
            );
            let read = command.redirects.iter().filter(|redirect| redirect.operator == "<<<");
            let args = command.args.iter().filter(move |_| sets);
            command.assignments.iter().chain(args).chain(read.map(|redirect| &redirect.target))
        });
        words.find(|word| self.leads_there(word, is_used, bases)).map(|word| word.text().to_owned())
    }

    fn leads_there(&self, word: &Word, is_used: bool, bases: &Bases) -> bool {
        word.readings().iter().any(|text| {
            let value = text.split_once('=').map_or(text.as_str(), |(_, value)| value);
            let name = value.rsplit('/').next().unwrap_or_default();
            match value.contains('$') {
                true => !name.contains('$') && self.ends_like(value, false),
                false if has_signs(value) => {
                    is_used && word.is_dynamic() && self.found_by(value, bases, false)
                }
                false => pieces(value).iter().any(|it| self.plain(it, bases)),
            }
        })
    }

    /// Whether one of them, or a folder above, has such a name.
    fn may_be_called(&self, pattern: &str) -> bool {
        let Ok(pattern) = Pattern::new(pattern) else { return true };
        let mut files = self.near.iter().chain(&self.near_scripts).copied().chain(&self.real);
        let last = |name: &str| name.rsplit('/').next().is_some_and(|it| pattern.matches(it));
        INSIDE.iter().any(|name| last(name))
            || files.any(|file| file.iter().any(|part| pattern.matches(&part.to_string_lossy())))
    }

    fn plain(&self, path: &str, bases: &Bases) -> bool {
        bases.known.iter().any(|base| self.leads(base, path))
            || (bases.anywhere && self.is_named_like(path, bases))
    }

    /// Whether one of them, or something in it, may be meant when nobody knows where the path starts.
    fn is_named_like(&self, path: &str, bases: &Bases) -> bool {
        bases.tails.iter().map(|tail| lexical(&tail.join(path))).any(|path| {
            let is_end = |file: &PathBuf| {
                path.ancestors().any(|part| !part.as_os_str().is_empty() && file.ends_with(part))
            };
            let in_one = |file: &PathBuf| INSIDE.iter().any(|name| is_end(&file.join(name)));
            self.near.iter().any(|file| is_end(file) || in_one(file))
        })
    }

    /// The same for a folder above.
    fn is_above(&self, path: &str, bases: &Bases) -> bool {
        bases.tails.iter().map(|tail| lexical(&tail.join(path))).any(|path| {
            let mut above = self.near.iter().flat_map(|file| file.ancestors());
            !path.as_os_str().is_empty() && above.any(|folder| folder.ends_with(&path))
        })
    }

    /// Whether all that is in the place, or may come to be there, counts one of them.
    fn place(&self, place: &str, bases: &Bases) -> bool {
        if place.contains('$') || place.starts_with('~') {
            let leaves = place.split('/').any(|part| part == "..") && !self.near.is_empty();
            return leaves || self.ends_like(&lexical(Path::new(place)).to_string_lossy(), true);
        }
        if has_signs(place) && self.found_by(place, bases, true) {
            return true;
        }
        let is_here = matches!(place.trim_end_matches('/'), "." | "");
        bases.known.iter().any(|base| self.touches(base, place))
            || (bases.anywhere
                && (is_here || self.is_named_like(place, bases) || self.is_above(place, bases)))
    }

    /// Whether a text speaks of one of them: a program in another language, a line for an editor. Links are not followed there.
    fn spoken_of(&self, text: &str, bases: &Bases) -> bool {
        let is_apart = |c: char| c.is_whitespace() || "'\"`()[]{}<>|&;,=:!".contains(c);
        let parts = text.split(is_apart).filter(|part| !part.is_empty() && part.len() < text.len());
        parts.into_iter().any(|part| match part.contains('$') {
            true => !is_bare(part) && self.ends_like(part, false),
            false => {
                let leads = |base: &PathBuf| {
                    let path = lexical(&base.join(part));
                    let mut files = self.own.files.iter().chain(&self.real);
                    files.any(|file| path.starts_with(file))
                };
                bases.known.iter().any(leads) || (bases.anywhere && self.is_named_like(part, bases))
            }
        })
    }

    /// The text of a here-document goes to a program, or to a file that one may run.
    fn in_a_document(
        &self,
        line: &str,
        commands: &[SimpleCommand],
        bases: &Bases,
    ) -> Option<String> {
        let (_, text) = line.split_once("<<")?;
        let runs = commands.iter().find(|command| Effect::of(command).named)?;
        self.spoken_of(text, bases).then(|| runs.summary())
    }

    /// Whether a file pattern finds one of them, by its name or through a link; or also a folder above.
    fn found_by(&self, pattern: &str, bases: &Bases, above: bool) -> bool {
        let loose = bases.anywhere && self.ends_like(pattern, above);
        loose
            || bases.known.iter().any(|base| {
                let whole =
                    lexical(&Path::new(&Pattern::escape(&base.to_string_lossy())).join(pattern));
                let named = Pattern::new(&whole.to_string_lossy()).map_or(true, |whole| {
                    let mut files = self.own.files.iter();
                    let most = if above { usize::MAX } else { 1 };
                    let fits = |path: &Path| whole.matches_path_with(path, EXACT);
                    files.any(|file| file.ancestors().take(most).any(fits))
                });
                let found = files_found(pattern, base);
                named
                    || found.is_none_or(|found| {
                        found.iter().any(|path| match above {
                            true => self.touches(base, &path.to_string_lossy()),
                            false => self.leads(base, &path.to_string_lossy()),
                        })
                    })
            })
    }

    /// Whether one of them, or also a folder above, could be what a run-time word becomes: it ends as the word ends.
    fn ends_like(&self, text: &str, above: bool) -> bool {
        let mut pattern = String::new();
        // `~`, `~+` and `~name` are folders.
        let mut rest = match text.strip_prefix('~').map(|rest| rest.split_once('/')) {
            None => text.to_owned(),
            Some(None) => "$()".to_owned(),
            Some(Some((_, rest))) => format!("$()/{rest}"),
        };
        while let Some((before, after)) = rest.split_once('$') {
            pattern.push_str(before);
            pattern.push('*');
            let after = after.strip_prefix("()").unwrap_or(after);
            rest = after
                .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_')
                .to_owned();
        }
        pattern.push_str(&rest);
        // A variable may hold `../..`: of what stands before it only the start of a name counts.
        let start = pattern.find('*').and_then(|at| pattern.get(..at)).and_then(|it| it.rfind('/'));
        let pattern = match start.and_then(|at| pattern.get(at..)) {
            Some(tail) => format!("*{tail}"),
            None if pattern.starts_with('*') => pattern,
            None => format!("*/{pattern}"),
        };
        let Ok(pattern) = Pattern::new(&pattern) else { return true };
        let matches = |file: &Path| pattern.matches(&file.to_string_lossy());
        let mut scripts = self.near_scripts.iter();
        scripts.any(|file| matches(file))
            || self.near.iter().any(|file| {
                let inside = INSIDE.map(|name| file.join(name));
                let most = if above { usize::MAX } else { 1 };
                file.ancestors().take(most).any(matches) || inside.iter().any(|file| matches(file))
            })
    }
}

/// The parts of a word that could be a path: all of it, what follows `=`, and what is glued to a short option.
fn pieces(word: &str) -> Vec<&str> {
    let option = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    // `-j8` is a number to every program that knows it.
    let cluster = option.filter(|rest| !rest.starts_with('j')).unwrap_or_default();
    let letters = cluster.bytes().take(MOST_LETTERS).take_while(u8::is_ascii_alphanumeric).count();
    let first = usize::from(!cluster.is_empty());
    let glued = (1..=letters.max(first)).filter_map(|at| cluster.get(at..));
    let value = word.rsplit('=').next();
    [Some(word), value].into_iter().flatten().chain(glued).filter(|it| !it.is_empty()).collect()
}

/// Whether the word is what an option says the output is to be: `-o $X`, `--output=$X`.
fn outputs_to(command: &SimpleCommand, word: &Word) -> bool {
    let program = command.program().unwrap_or_default();
    let is_option = |text: &str| match program {
        "kill" | "make" | "mkdir" | "pytest" | "ssh" | "touch" => false,
        "git" if matches!(text, "-f" | "--file") => true,
        _ => text == "-MF" || text.starts_with("-o") || text.starts_with("--out"),
    };
    let mut pairs = command.args.windows(2);
    (word.is_dynamic() && is_option(word.text()))
        || pairs.any(|pair| matches!(pair, [option, value] if std::ptr::eq(value, word) && is_option(option.text())))
}

/// Whether it is one run-time value and nothing else.
fn is_bare(piece: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || "_@*#?!-$".contains(c);
    piece.strip_prefix('$').is_some_and(|rest| rest == "()" || rest.chars().all(name))
}

/// The path without `.` and `..`, by its text alone.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}
