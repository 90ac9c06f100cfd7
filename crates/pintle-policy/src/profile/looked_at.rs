//! What a line reads, writes and asks for, beside what it runs: whoever can change what a gate reads can change its answer.

use crate::contents::Words;
use crate::shell::{SimpleCommand, Word, is_wrapper};
use std::collections::BTreeSet;

/// Programs that change the files they are given, and look into none.
const WRITERS: [&str; 9] =
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

fn asked_for(pair: &[&str]) -> Option<String> {
    match pair {
        [question, file] if QUESTIONS.contains(question) => Some((*file).to_owned()),
        _ => None,
    }
}

/// `etc/*.txt`, `"$PINTLE_PROFILE_DIR"/etc/*`: the pattern from the profile's folder.
fn pattern(word: &str) -> Option<String> {
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
