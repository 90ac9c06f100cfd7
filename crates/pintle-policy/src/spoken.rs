//! Words that name no file, whatever they look like: what is printed, what is said about a change, patterns, scripts, places on
//! other machines.

use crate::outside::{Outside, PROGRAM_FOLDERS};
use crate::shell::{
    SimpleCommand, Telling, Values, Word, does, is_one_word, is_variable_name, told,
};

/// What is spoken of in a command.
#[derive(Default)]
pub(crate) struct Spoken<'c> {
    pub(crate) words: Vec<&'c Word>,
    /// Files that a script among the words names.
    pub(crate) files: Vec<String>,
}

impl Outside<'_> {
    pub(crate) fn spoken<'c>(&self, command: &'c SimpleCommand) -> Spoken<'c> {
        let name = command.name.literal().unwrap_or_default();
        let is_program = !name.contains('/') || PROGRAM_FOLDERS.iter().any(|f| name.starts_with(f));
        let program = command.program().unwrap_or_default();
        if !is_program || self.values.is_function(program) {
            return Spoken::default();
        }
        match program {
            "echo" | "printf" if !self.texts.are_repeated => printed(command),
            "scp" | "sftp" | "rsync" => {
                let words = command.args.iter().filter(|word| is_elsewhere(word)).collect();
                Spoken { words, ..Spoken::default() }
            }
            "tr" => Spoken { words: command.args.iter().collect(), ..Spoken::default() },
            "cut" | "paste" => separated(command, "-d"),
            "join" | "sort" => separated(command, "-t"),
            "git" if message(command).is_some() => {
                Spoken { words: message(command).into_iter().collect(), ..Spoken::default() }
            }
            _ => self.scripts(command),
        }
    }
}

/// Printing a name opens nothing; who uses what is printed is looked at with it. But a file pattern looks for files, and a default
/// value is kept.
fn printed(command: &SimpleCommand) -> Spoken<'_> {
    let is_only_printed = |word: &&Word| {
        let text = word.text();
        let keeps = text.contains("${") && text.contains('=');
        let looks = text.contains(['*', '?', '[']) && !is_one_word(word);
        !word.is_dynamic() || !(looks || keeps)
    };
    Spoken { words: command.args.iter().filter(is_only_printed).collect(), ..Spoken::default() }
}

/// `cut -d/`, `sort -t /`
fn separated<'c>(command: &'c SimpleCommand, option: &str) -> Spoken<'c> {
    let glued = command.args.iter().filter(|word| word.text().strip_prefix(option) == Some("/"));
    let next = command.args.windows(2).filter_map(|pair| match pair {
        [before, word] if before.text() == option && word.text() == "/" => Some(word),
        _ => None,
    });
    Spoken { words: glued.chain(next).collect(), ..Spoken::default() }
}

impl Outside<'_> {
    fn scripts<'c>(&self, command: &'c SimpleCommand) -> Spoken<'c> {
        let Telling::Known(told) = told(command) else { return Spoken::default() };
        let does = does(command, &told, self.values);
        let is_grep = matches!(command.program(), Some("git" | "grep" | "egrep" | "fgrep" | "rg"));
        // What is put together may be no text of the script at all, but an option.
        let is_text = |word: &&Word| {
            let starts = word.text().trim_start_matches('"').starts_with(['$', '`', '-']);
            !word.is_dynamic() || (!is_grep && !starts && is_one_word(word))
        };
        // A text that may turn out to be a file's name is one if there is such a file: none of these programs makes one.
        let is_there =
            |word: &Word| self.folders.iter().any(|folder| folder.join(word.text()).exists());
        let is_no_file = |word: &&Word| !told.may_be_files || !is_there(word);
        let words = told.words.iter().copied().filter(is_no_file).filter(is_text);
        Spoken { words: words.chain(told.separators.iter().copied()).collect(), files: does.files }
    }
}

/// `user@host:path`, on another machine than this one.
fn is_elsewhere(word: &Word) -> bool {
    let host = word.literal().and_then(|text| text.split_once(':')).map(|(host, _)| host);
    let host = host.map(|host| host.rsplit('@').next().unwrap_or(host));
    host.is_some_and(|host| {
        let is_here = host.starts_with("127.") || host == "0" || host.contains("localhost");
        let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        !host.is_empty() && !is_here && !host.starts_with('-') && host.chars().all(is_name)
    })
}

/// The files that an editor or a database is told of in a language of its own: `vim -c 'w ../x'`, `sqlite3 a.db '.output ../x'`.
pub(crate) fn told_of(command: &SimpleCommand) -> Vec<&str> {
    const FILE_WORDS: &[&str] =
        &["attach", "readfile", "writefile", "edit(", "load_extension", "into", "fsdir"];
    let texts = command.args.iter().chain(&command.documents).map(Word::text);
    let lines = texts.flat_map(str::lines).map(str::trim);
    match command.program() {
        Some("sqlite3") => lines
            .flat_map(|line| {
                let lower = line.to_ascii_lowercase();
                let speaks = FILE_WORDS.iter().any(|word| lower.contains(word));
                let words = line.split_whitespace().skip(1).filter(|_| line.starts_with('.'));
                let quoted = line.split(['\'', '"']).skip(1).step_by(2).filter(move |_| speaks);
                words.chain(quoted).map(|it| it.trim_matches(['\'', '"'])).collect::<Vec<_>>()
            })
            .collect(),
        Some("ed" | "ex" | "nvim" | "red" | "vi" | "view" | "vim" | "vimdiff") => lines
            .flat_map(|line| line.split('|'))
            .flat_map(|line| line.split_whitespace().skip(1))
            .collect(),
        _ => Vec::new(),
    }
}

/// What is said about a change in `git`, which names no file.
pub(crate) fn message(command: &SimpleCommand) -> Option<&Word> {
    let mut words = command.args.iter();
    let says = loop {
        match words.next()?.text() {
            "-C" | "-c" => drop(words.next()),
            option if option.starts_with('-') => {}
            verb => break matches!(verb, "commit" | "merge" | "notes" | "stash" | "tag"),
        }
    };
    let by_option = |word: &str| {
        let is_short = word.starts_with('-') && !word.starts_with("--") && word.ends_with('m');
        is_short || word == "--message"
    };
    (command.program() == Some("git") && says && words.any(|word| by_option(word.text())))
        .then(|| words.next())
        .flatten()
}

/// The command without what names nothing in any program: what `read` is told to cut at (`IFS=/ read a b`).
pub(crate) fn without_separators(command: &SimpleCommand) -> SimpleCommand {
    let mut command = command.clone();
    if command.program() == Some("read") {
        command.assignments.retain(|word| word.literal() != Some("IFS=/"));
    }
    command
}

/// The command with a number for each list of indices (`for i in "${!list[@]}"`), which are numbers as long as no list has keys.
pub(crate) fn numbered(command: &SimpleCommand, values: &Values) -> SimpleCommand {
    let is_list = |word: &Word| {
        let inside = word.text().trim_matches('"').strip_prefix("${!");
        let ends = |it: &str| it.strip_suffix("[@]}").is_some_and(is_variable_name);
        word.is_dynamic() && inside.is_some_and(ends)
    };
    let mut command = command.clone();
    if command.name.text().is_empty() && !values.has_keys() {
        let lists = command.args.iter_mut().filter(|word| is_list(word));
        lists.for_each(|word| *word = Word::Literal("0".into()));
    }
    command
}
