//! What a command may run that is not listed as its own: the words and texts given to a program of which nobody knows that it leaves
//! them alone (`foo rm x`, `ssh host 'rm x'`), and what the line writes to a file that it runs.

use super::written::written;
use crate::shell::{
    Line, OPEN, Script, SimpleCommand, Use, Word, gives_to_a_shell, is_one_word, is_shell,
    may_be_told, read, runs_by_script, speaks_of_running, use_of_words,
};
use std::collections::HashSet;

/// A text in a text in a text…
const DEEPEST: usize = 4;
/// More than anybody writes in one line: judging stays cheap.
const MOST_CHOICES: usize = 64;
const MOST_TEXTS: usize = 400;
const MOST_WORDS: usize = 100_000;

/// Something that a command of the line may run.
pub(super) struct MayRun {
    /// Which command of the line, by its place among them.
    pub(super) by: usize,
    /// What; its name is dynamic when only running it tells.
    pub(super) command: SimpleCommand,
}

/// All that the line's commands may run, of programs that are `wanted`.
pub(super) fn may_run(script: &Script, wanted: &dyn Fn(&str) -> bool) -> Vec<MayRun> {
    let mut search = Search {
        wanted,
        by: 0,
        found: Vec::new(),
        texts: MOST_TEXTS,
        words: MOST_WORDS,
        seen: HashSet::new(),
        is_heard: false,
    };
    search.script(script, 0);
    search.found
}

/// What a line holds, looked up once.
struct Held<'l> {
    line: &'l Line<'l>,
    spoken: &'l [Spoken],
    moved: &'l [&'l Word],
}

struct Search<'a> {
    wanted: &'a dyn Fn(&str) -> bool,
    by: usize,
    found: Vec<MayRun>,
    texts: usize,
    words: usize,
    /// Texts that were looked at.
    seen: HashSet<String>,
    /// What this line prints into a pipe was looked at.
    is_heard: bool,
}

impl Search<'_> {
    fn finds(&mut self, command: SimpleCommand) {
        self.found.push(MayRun { by: self.by, command });
    }

    fn script(&mut self, script: &Script, depth: usize) {
        let line = &script.held();
        let held = Held { line, spoken: &spoken(script, line), moved: &moved(script) };
        self.is_heard = false;
        for (at, command) in script.commands().enumerate() {
            if depth == 0 {
                self.by = at;
            }
            let is_own = command.program().is_some_and(|name| script.values.is_function(name));
            if !is_own {
                self.command(command, script, &held, depth);
            }
        }
    }

    fn command(&mut self, command: &SimpleCommand, script: &Script, held: &Held<'_>, depth: usize) {
        let (start, is_read) = match use_of_words(command) {
            Use::Alone => return self.told(command, depth),
            Use::Words(start) => (start, false),
            Use::Lines(start) => (start, true),
        };
        let program = command.program().unwrap_or_default();
        let is_fed = script.pipes
            || !command.documents.is_empty()
            || command.redirects.iter().any(|it| it.operator.starts_with('<'));
        for (at, word) in command.args.iter().enumerate().skip(start) {
            let rest = command.args.get(at.saturating_add(1)..).unwrap_or_default();
            let Some(texts) = texts(word, held.line) else {
                if gives_to_a_shell(program) {
                    self.finds(SimpleCommand::undecidable(command.summary()));
                }
                continue;
            };
            // `{rm,x}`, `"$@"`: each of them may be followed by the others.
            let others = texts.iter().flat_map(|text| text.split_whitespace());
            let others: Vec<Word> = others.map(|it| Word::Literal(it.to_owned())).collect();
            let is_one = is_one_word(word) || others.len() > MOST_CHOICES;
            let more = if is_one { Vec::new() } else { [others.as_slice(), rest].concat() };
            if changes(word) && texts.iter().any(|text| !text.is_empty() && !text.contains(OPEN)) {
                let parts = texts.iter().flat_map(|text| beginnings_and_ends(text));
                parts.for_each(|part| self.starts(part, rest));
            }
            for text in texts {
                match is_one {
                    // `-wrapper rm,-rf,x`
                    true if text.contains(',') => {
                        let parts = text.split(',').map(|it| Word::Literal(it.to_owned()));
                        let more: Vec<Word> = parts.chain(rest.iter().cloned()).collect();
                        self.starts(&text, &more);
                    }
                    true => self.starts(&text, rest),
                    false => text.split_whitespace().for_each(|it| self.starts(it, &more)),
                }
                let is_open = is_shell(&text) && is_fed && !rest.iter().any(is_operand);
                if is_open || runs_by_script(&text, rest) {
                    self.finds(SimpleCommand::undecidable(text.clone()));
                }
                if is_read && is_line(&text) {
                    self.text(&text, program, depth);
                }
            }
        }
        if is_read {
            let strings = command.redirects.iter().filter(|it| it.operator == "<<<");
            let mut given: Vec<String> = strings.flat_map(|it| it.target.readings()).collect();
            for document in &command.documents {
                given.push(document.text().to_owned());
                given.push(document.text().replace("\\$", "$").replace("\\`", "`"));
            }
            let values = command.assignments.iter().flat_map(Word::readings);
            given.extend(values.filter(|text| is_line(text)));
            let is_heard = |it: &&Spoken| {
                it.files.is_empty() || it.files.iter().any(|file| runs(command, file, held.moved))
            };
            // What goes into a pipe is looked at once for all that may hear it.
            let is_new = |it: &&Spoken| !it.files.is_empty() || !self.is_heard;
            let heard = held.spoken.iter().filter(is_new).filter(is_heard);
            given.extend(heard.flat_map(|it| it.texts.clone()));
            self.is_heard = true;
            given.iter().for_each(|text| self.text(text, program, depth));
        }
    }

    /// What a program that leaves its words alone may be told to run: `--pager='rm x'`, `GH_EDITOR='rm x'`, `make X='$(shell rm x)'`.
    fn told(&mut self, command: &SimpleCommand, depth: usize) {
        if !may_be_told(command) {
            return;
        }
        let program = command.program().unwrap_or_default();
        let is_make = matches!(program, "make" | "gmake" | "bmake");
        // One of the shell's own may be in the environment if it is written like those.
        let is_own = |name: &str| program.is_empty() && name.contains(char::is_lowercase);
        let words = command.assignments.iter().chain(&command.args);
        for text in words.flat_map(Word::readings) {
            let Some((name, value)) = text.split_once('=') else { continue };
            if (speaks_of_running(name) && !is_own(name)) || is_make {
                self.starts(value, &[]);
                self.text(value, program, depth);
            }
        }
        for (at, pair) in command.args.windows(2).enumerate() {
            let [option, value] = pair else { continue };
            if option.text().starts_with('-') && speaks_of_running(option.text()) {
                self.starts(
                    value.text(),
                    command.args.get(at.saturating_add(2)..).unwrap_or_default(),
                );
                value.readings().iter().for_each(|text| self.text(text, program, depth));
            }
        }
    }

    /// The commands that a word and those behind it may be: `rm`, `--run=rm`, `+!rm`, `-crm`.
    fn starts(&mut self, text: &str, rest: &[Word]) {
        let mut names = vec![text];
        names.extend(text.split(['=', ',']));
        names.push(text.trim_start_matches(['+', '!', ':', '|', '@']));
        if let Some(letters) = text.strip_prefix('-').filter(|it| !it.starts_with('-')) {
            names.extend(letters.char_indices().skip(1).filter_map(|(at, _)| letters.get(at..)));
        }
        names.sort_unstable();
        names.dedup();
        for name in names {
            // `tests/docker` is a place, `/usr/bin/docker` a program.
            let is_program = |folder: &str| name.starts_with('/') || folder.ends_with("bin");
            let program = name.rsplit_once('/').filter(|(folder, _)| is_program(folder));
            let program = program.map(|(_, program)| program);
            if !(self.wanted)(program.unwrap_or(name)) && !(self.wanted)(name) {
                continue;
            }
            if rest.len() >= self.words {
                return self.finds(SimpleCommand::undecidable("words"));
            }
            self.words = self.words.saturating_sub(rest.len().saturating_add(1));
            let name = Word::Literal(name.to_owned());
            let mut command = SimpleCommand::new(name.clone(), rest.to_vec());
            if name.text().contains('=') {
                command.assignments.push(name);
            }
            self.finds(command);
        }
    }

    /// What a text that may be a line for a shell holds.
    fn text(&mut self, text: &str, program: &str, depth: usize) {
        let text = &text.replace(OPEN, "_");
        if !self.seen.insert(text.clone()) {
            return;
        }
        let mut lines = vec![text.as_str()];
        lines.extend(text.split_once('=').map(|(_, value)| value));
        lines.extend(text.split_once(':').map(|(_, value)| value));
        let bare = text.trim_start_matches(['+', '!', ':', '|', '@', '%', '(', ' ']);
        lines.push(bare.trim_end_matches(')'));
        lines.extend(text.get(2..).filter(|_| text.starts_with('-') && !text.starts_with("--")));
        lines.sort_unstable_by_key(|line| std::cmp::Reverse(line.len()));
        lines.dedup();
        for line in lines.into_iter().filter(|line| !line.trim().is_empty()) {
            self.texts = self.texts.saturating_sub(1);
            if self.texts == 0 || depth > DEEPEST {
                return self.finds(SimpleCommand::undecidable(text.clone()));
            }
            let is_whole = line == text;
            match read(line) {
                Ok(script) => {
                    let commands = script.commands().filter(|it| !is_file_pattern(&it.name));
                    let commands: Vec<SimpleCommand> = commands.cloned().collect();
                    if commands.iter().all(|it| it.name.text().is_empty()) {
                        self.words_of(line, depth);
                    }
                    commands.into_iter().for_each(|command| self.finds(command));
                    self.script(&script, depth.saturating_add(1));
                }
                // What a shell surely gets is a command, also where we cannot read it.
                Err(_) if gives_to_a_shell(program) && is_whole => {
                    self.finds(SimpleCommand::undecidable(line));
                }
                Err(_) if is_whole => self.words_of(line, depth),
                Err(_) => {}
            }
        }
    }

    /// A text that is no line for a shell may hold a command all the same: `["rm","x"]`, `{cmd: "rm x"}`.
    fn words_of(&mut self, text: &str, depth: usize) {
        let signs = |c: char| if c.is_alphanumeric() || "_-./+@%*".contains(c) { c } else { ' ' };
        let words: String = text.chars().map(signs).collect();
        if let Ok(script) = read(&words) {
            let commands: Vec<SimpleCommand> = script.commands().cloned().collect();
            commands.into_iter().filter(|it| !it.name.is_dynamic()).for_each(|it| self.finds(it));
            self.script(&script, depth.saturating_add(1));
        }
    }
}

/// What a word may become, as far as the line tells; `None` when the line makes something else of its own texts.
fn texts(word: &Word, line: &Line<'_>) -> Option<Vec<String>> {
    match word {
        Word::Dynamic(raw) if raw == "$(input of xargs)" => Some(line.said().cloned().collect()),
        word => line.texts(word),
    }
}

/// Whether the word is a part of a variable's value: `${x%y}`.
pub(super) fn changes(word: &Word) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut expansions = word.text().split("${").skip(1);
    word.is_dynamic()
        && expansions.any(|inside| !inside.trim_start_matches(is_part).starts_with('}'))
}

fn beginnings_and_ends(text: &str) -> Vec<&str> {
    let cuts = text.char_indices().skip(1).take(MOST_CHOICES);
    cuts.flat_map(|(at, _)| [text.get(..at), text.get(at..)]).flatten().collect()
}

fn is_operand(word: &Word) -> bool {
    !word.text().starts_with(['-', '+'])
}

/// More than one word, or something that a shell would not take for a letter.
fn is_line(text: &str) -> bool {
    text.contains(|c: char| c.is_whitespace() || ";&|<>()[{`$'\"".contains(c))
}

/// `*.c`: what it finds is no program's name that anybody wrote.
fn is_file_pattern(name: &Word) -> bool {
    let text = name.text();
    name.is_dynamic() && text.contains(['*', '?', '[', '~', '{']) && !text.contains(['$', '`', ' '])
}

/// What a command of the line prints, and where to.
struct Spoken {
    texts: Vec<String>,
    /// Files that get it; none when it goes on in a pipe.
    files: Vec<Word>,
}

/// Programs that make other texts of what they read.
const MANGLERS: &[&str] = &[
    "awk", "base32", "base64", "gawk", "gunzip", "openssl", "perl", "python3", "rev", "sed", "tr",
    "uudecode", "xxd", "zcat",
];

fn spoken(script: &Script, line: &Line<'_>) -> Vec<Spoken> {
    let is_mangler = |it: &SimpleCommand| it.program().is_some_and(|name| MANGLERS.contains(&name));
    let is_mangled = script.commands().any(is_mangler);
    let mut found = Vec::new();
    for command in script.commands() {
        let targets = command.redirects.iter().filter(|it| it.writes());
        let mut files: Vec<Word> = targets.map(|it| it.target.clone()).collect();
        files.extend(written(command, script));
        if files.is_empty() && !script.pipes {
            continue;
        }
        let mut texts = line.said_by(command).unwrap_or_default();
        // What a pipe writes has no name of its own.
        let mangles = command.name.text().is_empty() && is_mangled || is_mangler(command);
        if mangles && script.pipes && !files.is_empty() {
            texts.push("$(what it makes of it)".to_owned());
        }
        if !texts.is_empty() {
            found.push(Spoken { texts, files });
        }
    }
    found
}

/// Whether the command runs the file, or may: also under a name that it is given in the line.
fn runs(runner: &SimpleCommand, file: &Word, moved: &[&Word]) -> bool {
    let last = |word: &Word| word.text().rsplit('/').next().unwrap_or_default().to_owned();
    let named = runner.args.iter().chain([&runner.name]).chain(moved.iter().copied());
    file.is_dynamic() || named.into_iter().any(|it| it.is_dynamic() || last(it) == last(file))
}

/// The words of commands that give a file another name.
fn moved(script: &Script) -> Vec<&Word> {
    const MOVERS: &[&str] = &["cp", "install", "ln", "mv", "tee"];
    let moves = |it: &&SimpleCommand| it.program().is_some_and(|name| MOVERS.contains(&name));
    script.commands().filter(moves).flat_map(|it| &it.args).collect()
}
