//! What a line reads, writes and asks for, beside what it runs: whoever can change what a gate reads can change its answer.

use super::scripts::{MOST_FILES, Named, Search};
use super::{AGENT_FILE, installed, mentions};
use crate::contents::{Words, is_part_of_a_path};
use crate::paths::normal;
use crate::shell::{SimpleCommand, Word, is_wrapper};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Programs that change the files they are given, and look into none.
pub(super) const WRITERS: [&str; 9] =
    ["mkdir", "mkfifo", "mktemp", "mv", "rm", "rmdir", "tee", "touch", "truncate"];
/// The last of their operands is where the others go.
const COPIERS: [&str; 3] = ["cp", "install", "ln"];
/// What `test` asks of a file.
const QUESTIONS: [&str; 10] = ["-e", "-f", "-s", "-r", "-w", "-x", "-L", "-h", "-O", "-N"];

/// How many letters of short options may stand before a value in one word: `-qfetc/deny.txt`.
const MOST_LETTERS: usize = 6;

/// The words by which a line speaks of files, or of what could be one.
#[derive(Default)]
pub(super) struct LookedAt {
    pub(super) read: BTreeSet<String>,
    pub(super) written: BTreeSet<String>,
    /// What the shell puts the names of files for.
    pub(super) patterns: BTreeSet<String>,
    /// Whether it is there is asked, and what is in it is not.
    pub(super) asked: BTreeSet<String>,
    /// Programs, and what they are told to do.
    named: BTreeSet<String>,
}

impl LookedAt {
    /// Of the commands, and of the line as it is written: of a variable or a program of `awk` its words are all there is.
    pub(super) fn of(commands: &[SimpleCommand], line: &str) -> Self {
        let mut found = Self::default();
        let is_end = |c: char| c.is_whitespace() || ";|&()<>`=\"'".contains(c);
        let texts: Vec<&str> = line.split(is_end).filter(|word| !word.is_empty()).collect();
        found.asked.extend(texts.windows(2).filter_map(asked_for));
        for command in commands {
            found.look(command);
        }
        let words = Words::of(line.as_bytes());
        let more = words.all.difference(&words.only_written).filter(|word| !found.explains(word));
        let more: Vec<String> = more.cloned().collect();
        found.read.extend(more);
        let paths = texts.into_iter().filter(|word| word.contains('/'));
        found.patterns.extend(paths.filter_map(pattern));
        found
    }

    /// Whether the commands said what is done with it.
    fn explains(&self, word: &str) -> bool {
        [&self.written, &self.asked, &self.named].iter().any(|said| said.contains(word))
    }

    fn look(&mut self, command: &SimpleCommand) {
        for redirect in command.redirects.iter().filter(|it| it.names_a_file()) {
            let target = redirect.target.text().to_owned();
            match redirect.writes() {
                true => self.written.insert(target),
                false => self.read.insert(target),
            };
        }
        self.named.insert(command.name.text().to_owned());
        let dynamic = command.args.iter().filter(|word| word.is_dynamic()).map(Word::text);
        self.patterns.extend(dynamic.filter_map(pattern));
        let program = command.program().unwrap_or_default();
        let texts: Vec<&str> = command.args.iter().map(Word::text).collect();
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        match program {
            // What it runs is listed on its own.
            _ if is_wrapper(program) => {}
            "cd" | "pushd" => {}
            // The words of a loop, or what stands in brackets.
            "" => {
                let words = texts.iter().filter(|text| !self.asked.contains(**text));
                self.read.extend(words.map(|text| (*text).to_owned()).collect::<Vec<_>>());
            }
            "[" | "[[" | "test" => self.asked.extend(texts.windows(2).filter_map(asked_for)),
            "git" => {
                let mut rest = texts.iter().skip_while(|text| text.starts_with('-'));
                self.named.extend(rest.next().map(|verb| (*verb).to_owned()));
                self.data(&rest.copied().collect::<Vec<_>>());
            }
            _ if WRITERS.contains(&program) => self.written.extend::<Vec<String>>(owned(&texts)),
            _ if COPIERS.contains(&program) => {
                if let Some((last, rest)) = texts.split_last() {
                    self.written.insert((*last).to_owned());
                    self.read.extend::<Vec<String>>(owned(rest));
                }
            }
            _ => self.data(&texts),
        }
    }

    /// `-o FILE` is where the program writes to.
    fn data(&mut self, texts: &[&str]) {
        let mut before = "";
        for text in texts {
            match before {
                "-o" | "--output" => self.written.insert((*text).to_owned()),
                _ => self.read.insert((*text).to_owned()),
            };
            before = text;
        }
    }
}

impl Search<'_> {
    /// `! grep -qf etc/deny.txt`: what only reads a file may say by it what a gate says, or hand it to one that runs it.
    pub(super) fn look_at(&mut self, words: &LookedAt, places: &[PathBuf]) {
        let file_of = |search: &Self, word: &str| {
            let found = spellings(word).into_iter();
            found.filter_map(|it| search.named_from(places, &it)).find_map(|named| match named {
                Named::Script(script) => Some(script),
                // A link that leads out of the profile.
                Named::Outside(path) => {
                    let inner = Path::new(&path).strip_prefix(search.folder).ok()?;
                    let goes_up = inner.iter().any(|part| part == "..");
                    (!goes_up).then(|| normal(&inner.to_string_lossy()))
                }
                Named::Folder(_) => None,
            })
        };
        let counts = |search: &Self, file: &String| {
            let place = Path::new(file);
            file != AGENT_FILE
                && !search.saved.contains(file)
                && !search.company.keeps(place)
                && !installed::is_data_of_git(place)
        };
        let written: BTreeSet<String> =
            words.written.iter().filter_map(|word| file_of(self, word)).collect();
        let mut read: BTreeSet<String> =
            words.read.iter().filter_map(|word| file_of(self, word)).collect();
        read.extend(words.patterns.iter().flat_map(|pattern| self.fitting(pattern)));
        let is_file = |word: &&String| {
            let plain = word.chars().all(is_part_of_a_path) && !word.starts_with(['-', '/']);
            plain && word.contains(['.', '/']) && !word.contains("..") && !words.explains(word)
        };
        let awaited = words.read.iter().filter(is_file).filter(|it| !self.folder.join(it).exists());
        let awaited = awaited.map(|word| glob::Pattern::escape(&normal(word)));
        self.found.awaited.patterns.extend(words.patterns.iter().cloned().chain(awaited));
        for file in read.into_iter().filter(|file| counts(self, file)).collect::<Vec<_>>() {
            if mentions::is_program(&self.folder.join(&file)) {
                self.found.files.insert(file);
            } else if written.contains(&file) {
                self.found.kept.insert(file);
            } else {
                self.data.insert(file);
            }
        }
        let plain = words.written.iter().flat_map(|word| spellings(word));
        let plain = plain.filter(|it| !it.contains('$') && !it.starts_with(['-', '/']));
        self.written.extend(plain.map(|it| normal(&it)));
        // Programs count, whatever is done with them.
        for file in written {
            if mentions::is_program(&self.folder.join(&file)) && counts(self, &file) {
                self.found.files.insert(file);
            }
        }
        let is_plain =
            |word: &&String| !word.starts_with(['/', '-', '$', '~']) && !word.contains("..");
        let both = words.read.intersection(&words.written);
        for word in words.asked.iter().chain(both).filter(is_plain) {
            let file = normal(word);
            if !self.folder.join(&file).is_dir() && counts(self, &file) {
                self.found.kept.insert(file);
            }
        }
    }

    /// `etc/*.txt`: the files that a shell would put there.
    fn fitting(&self, pattern: &str) -> Vec<String> {
        let is_file = |place: &String| self.folder.join(place).is_file();
        self.fitting_places(pattern).into_iter().filter(is_file).collect()
    }

    pub(super) fn fitting_places(&self, pattern: &str) -> Vec<String> {
        let folder = glob::Pattern::escape(&self.folder.to_string_lossy());
        let found = glob::glob(&format!("{folder}/{pattern}")).into_iter().flatten().flatten();
        let found = found.take(MOST_FILES);
        let inner = found.filter_map(|it| it.strip_prefix(self.folder).ok().map(Path::to_owned));
        inner.map(|it| normal(&it.to_string_lossy())).collect()
    }
}

fn asked_for(pair: &[&str]) -> Option<String> {
    match pair {
        [question, file] if QUESTIONS.contains(question) => Some((*file).to_owned()),
        _ => None,
    }
}

/// `etc/*.txt`, `"$PINTLE_PROFILE_DIR"/etc/*`: the pattern from the profile's folder.
pub(super) fn pattern(word: &str) -> Option<String> {
    let plain = word.replace(['"', '\''], "");
    let variable = plain.strip_prefix('$').and_then(|it| it.split_once('/'));
    let inner = variable.map_or(&*plain, |(_, behind)| behind).replace("**", "*");
    let is_one = inner.contains(['*', '?', '[']) && !inner.contains(['$', '`', ' ']);
    (is_one && !inner.starts_with('/') && !inner.contains("..")).then_some(inner)
}

/// The paths that a word may hold, the likeliest first: `--rules=etc/a`, `-qfetc/a`, `@etc/a`, `$PINTLE_PROFILE_DIR/etc/a`.
pub(super) fn spellings(word: &str) -> Vec<String> {
    let plain = word.replace(['"', '\''], "");
    let mut found = vec![plain.clone()];
    let parts = plain.split(['=', ':', ',', '@']).filter(|part| *part != plain);
    found.extend(parts.map(str::to_owned));
    if plain.starts_with('-') {
        let glued = plain.char_indices().skip(2).take(MOST_LETTERS);
        found.extend(glued.filter_map(|(at, _)| plain.get(at..)).map(str::to_owned));
    }
    // What stands before the slash may be known only when it runs.
    found.extend(plain.split_once('/').map(|(_, behind)| behind.to_owned()));
    found.retain(|it| !it.is_empty());
    found
}
