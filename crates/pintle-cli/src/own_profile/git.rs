//! Which uses of git leave the files of the work tree alone.

use pintle_policy::shell::Word;

use super::{
    copies,
    effect::{Effect, letters, operands},
};

/// They read files, or write what is in no folder: the index, a branch, another machine.
const LOOKS: &[&str] = &[
    "add",
    "blame",
    "branch",
    "cat-file",
    "check-ignore",
    "cherry",
    "commit",
    "count-objects",
    "describe",
    "diff",
    "diff-index",
    "diff-tree",
    "fetch",
    "for-each-ref",
    "fsck",
    "gc",
    "grep",
    "help",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "name-rev",
    "notes",
    "range-diff",
    "reflog",
    "remote",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "stage",
    "status",
    "tag",
    "update-index",
    "var",
    "version",
    "whatchanged",
];

/// They write where their words say.
const NAMES: &[&str] = &["archive", "config", "format-patch", "init", "worktree"];

/// Options before the verb whose value is the next word.
const VALUED: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"];

/// Whatever is not known to leave the work tree alone may write any file in it: aliases and verbs of tomorrow too.
pub(super) fn effect(args: &[Word]) -> Effect {
    let mut words = args.iter();
    let verb = loop {
        match words.next() {
            None => return Effect::nothing(),
            Some(Word::Dynamic(_)) => return Effect::work_tree(),
            Some(Word::Literal(word)) if VALUED.contains(&word.as_str()) => drop(words.next()),
            Some(Word::Literal(word)) if word.starts_with('-') => {}
            Some(Word::Literal(verb)) => break verb.as_str(),
        }
    };
    let rest = words.as_slice();
    let first = rest.first().map_or("", Word::text);
    let has = |starts: &[&str]| {
        rest.iter().any(|word| starts.iter().any(|start| word.text().starts_with(start)))
    };
    let has_letter = |letter: char| {
        rest.iter().any(|word| letters(word.text()).is_some_and(|letters| letters.contains(letter)))
    };
    // What makes a push into this repository change its files.
    if args.iter().any(|word| word.text().to_ascii_lowercase().contains("denycurrentbranch")) {
        return Effect::work_tree();
    }
    match verb {
        "push" => push(rest),
        verb if LOOKS.contains(&verb) => match has(&["--ou"]) {
            true => Effect::named(),
            false => Effect::nothing(),
        },
        verb if NAMES.contains(&verb) => Effect::named(),
        "mv" | "rm" | "clone" => {
            let args: Vec<String> = rest.iter().flat_map(Word::readings).collect();
            match verb {
                "rm" => Effect::places(operands(&args).map(str::to_owned).collect()),
                "clone" => copies::clone(&args),
                _ => copies::effect(verb, &args).unwrap_or_else(Effect::work_tree),
            }
        }
        "checkout" | "switch" if only_makes_a_branch(rest) => Effect::nothing(),
        "stash" if ["list", "show", "drop", "clear", "create", "store"].contains(&first) => {
            Effect::nothing()
        }
        "reset" if rest.iter().all(|w| !w.is_dynamic()) && !has(&["--h", "--k", "--me"]) => {
            Effect::nothing()
        }
        "restore" if has(&["--staged", "-S"]) && !has(&["--w"]) && !has_letter('W') => {
            Effect::nothing()
        }
        "apply" if ["--check", "--stat", "--numstat"].contains(&first) && !has(&["--ap", "-3"]) => {
            Effect::nothing()
        }
        "clean" if only_shows(rest) => Effect::nothing(),
        "restore" if !has(&["--p", "-p"]) => {
            within(rest.iter().filter(|word| !word.text().starts_with('-')))
        }
        "checkout" if !rest.is_empty() && rest.iter().all(is_a_path) => {
            Effect { unless_files: texts(rest), ..Effect::work_tree() }
        }
        "checkout" | "stash" | "clean" => {
            within(rest.iter().skip_while(|word| word.text() != "--").skip(1))
        }
        _ => Effect::work_tree(),
    }
}

/// `clean -fdx -n`: but the word after `-e` is its value, and the last word for or against it holds.
fn only_shows(words: &[Word]) -> bool {
    let takes_next = |word: &str| {
        letters(word).is_some_and(|letters| letters.ends_with('e')) || word.starts_with("--e")
    };
    let mut before = "";
    let mut shows = false;
    for word in words.iter().take_while(|word| word.text() != "--") {
        let text = word.text();
        let is_option = text.starts_with('-') && !takes_next(before);
        if word.is_dynamic() || (is_option && text.starts_with("--no")) {
            return false;
        }
        let by_letter = letters(text)
            .is_some_and(|l| l.contains('n') && l.chars().all(|c| "dfnqxX".contains(c)));
        shows |= is_option && (by_letter || text == "--dry-run");
        before = text;
    }
    shows
}

/// `checkout -b NAME` goes on with the files as they are; with a start it would take those of the start.
fn only_makes_a_branch(words: &[Word]) -> bool {
    let is_quiet = |word: &&Word| matches!(word.text(), "-q" | "--quiet");
    let words: Vec<&Word> = words.iter().filter(|word| !is_quiet(word)).collect();
    let [option, name] = words.as_slice() else { return false };
    let is_one = |name: &str| name.starts_with('"') && name.ends_with('"');
    let makes = matches!(
        option.text(),
        "-b" | "-B" | "-c" | "-C" | "-qb" | "-qB" | "-qc" | "-qC" | "--create"
    );
    makes && (!name.is_dynamic() || is_one(name.text()))
}

/// To another machine, or into this repository?
fn push(words: &[Word]) -> Effect {
    let to = words.iter().find(|word| !word.text().starts_with('-'));
    let is_path = |word: &Word| {
        let text = word.text();
        let is_address = text.split_once(':').is_some_and(|(host, _)| !host.contains('/'));
        word.is_dynamic() || text.starts_with("file:") || (text.contains('/') && !is_address)
    };
    // `.` may stand behind the value of an option.
    let is_here =
        |word: &Word| word.text().starts_with(['.', '/', '~']) || word.text().contains("=.");
    match to.is_some_and(is_path) || words.iter().any(is_here) {
        true => Effect::work_tree(),
        false => Effect { pushes: true, ..Effect::nothing() },
    }
}

/// A name that is nothing but a path to git, or the name of a version.
fn is_a_path(word: &Word) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    let text = word.literal().unwrap_or_default();
    let is_number = text.chars().all(|c| c.is_ascii_hexdigit());
    !text.starts_with('-') && !is_number && !text.contains("..") && text.chars().all(is_part)
}

fn texts(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| word.text().to_owned()).collect()
}

/// Only what these name; git has patterns and signs of its own, which may name anything.
fn within<'a>(paths: impl Iterator<Item = &'a Word>) -> Effect {
    let paths: Vec<&str> = paths.map(Word::text).collect();
    let is_plain =
        |path: &&str| !path.starts_with(':') && !path.contains(['*', '?', '[', '$', '`', '{', '~']);
    match !paths.is_empty() && paths.iter().all(is_plain) {
        true => Effect::places(paths.into_iter().map(str::to_owned).collect()),
        false => Effect::work_tree(),
    }
}
