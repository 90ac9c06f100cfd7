//! Links that a line makes, and folders that it moves: after either, `..` leads elsewhere than it did when the line was read.

use crate::folders::Place;
use crate::shell::{SimpleCommand, Word, may_be_long};
use std::path::{Path, PathBuf};

/// What a command does to the folders that names lead through.
#[derive(PartialEq)]
enum Change {
    /// Its first words are the texts of links.
    Links,
    /// What is moved or copied may be a link.
    Carries,
    Nothing,
}

fn change(command: &SimpleCommand) -> Change {
    let has = |letters: &[char], long: &[&str]| {
        command.args.iter().map(Word::text).any(|arg| {
            let is_short = arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letters);
            is_short || (arg.len() > 2 && long.iter().any(|long| may_be_long(arg, long)))
        })
    };
    match command.program() {
        // `-r` writes the link's text so that it leads where the word does from here.
        Some("ln") if has(&['r'], &["relative"]) => Change::Carries,
        Some("ln") if has(&['s'], &["symbolic"]) => Change::Links,
        Some("cp") if has(&['s'], &["symbolic-link"]) => Change::Links,
        Some("cp") if has(&['a', 'd', 'P', 'r', 'R'], &["archive", "no-dereference"]) => {
            Change::Carries
        }
        Some("mv" | "rename" | "rsync") => Change::Carries,
        Some("git") if command.args.iter().any(|arg| arg.text() == "mv") => Change::Carries,
        _ => Change::Nothing,
    }
}

/// The words of a command that are no options.
fn operands(command: &SimpleCommand) -> Vec<&Word> {
    command.args.iter().filter(|word| !word.text().starts_with('-')).collect()
}

/// `..` anywhere in the word.
fn goes_up(word: &Word) -> bool {
    let has = |text: &str| text.split(['/', '=', ':', ' ']).any(|part| part == "..");
    word.readings().iter().any(|text| has(text))
}

/// `a/../b`: through a folder that may be a link.
fn goes_through(word: &Word) -> bool {
    let through = |text: &String| {
        let mut parts = text.split('/').skip_while(|part| matches!(*part, ".." | "." | ""));
        parts.any(|part| part == "..")
    };
    word.readings().iter().any(through)
}

/// The texts of the links that this command makes, with the folders from which each counts; `None` when it makes none, or when
/// only running it would tell where they come to lie.
pub(crate) fn link<'c>(command: &'c SimpleCommand, folders: &[PathBuf]) -> Option<Link<'c>> {
    let into = |arg: &Word| arg.text().starts_with("-t") || arg.text().starts_with("--t");
    if change(command) != Change::Links || command.args.iter().any(into) {
        return None;
    }
    match operands(command).as_slice() {
        [text @ Word::Literal(_), Word::Literal(at)] if !goes_through(text) => {
            let mut from = Vec::new();
            for place in folders.iter().map(|folder| folder.join(at)) {
                // What is a folder now may be gone by then.
                from.extend(place.parent().map(Path::to_path_buf));
                let is_folder = at.ends_with('/') || at.ends_with("..") || place.is_dir();
                from.extend(is_folder.then_some(place));
            }
            Some(Link { text, from })
        }
        _ => None,
    }
}

/// A link that is made in one of some folders.
pub(crate) struct Link<'c> {
    pub(crate) text: &'c Word,
    pub(crate) from: Vec<PathBuf>,
}

/// Whether nobody can tell where `..` leads in this line: it makes a link, or moves one or a folder, and goes up.
pub(crate) fn unsettles<'c>(
    commands: &[&'c SimpleCommand],
    places: &[Place],
) -> Option<&'c SimpleCommand> {
    let each = || commands.iter().copied().zip(places);
    let goes_up_in = |command: &SimpleCommand| {
        let targets = command.redirects.iter().map(|r| &r.target);
        command.args.iter().chain(&command.assignments).chain(targets).any(goes_up)
    };
    let is_moved = |command: &SimpleCommand, place: &Place| {
        let may_be_folder = |word: &&Word| {
            let is_file = |folder: &PathBuf| folder.join(word.text()).is_file();
            word.is_dynamic() || !place.folders.iter().any(is_file)
        };
        let words = operands(command);
        let from = words.split_last().map_or(&[][..], |(_, from)| from);
        from.iter().any(may_be_folder)
    };
    let is_link = |command: &SimpleCommand, place: &Place| {
        let leads_up = |word: &&Word| {
            let found = place.folders.iter().map(|folder| folder.join(word.text()));
            let texts = found.filter_map(|path| std::fs::read_link(path).ok());
            let mut texts = texts.filter(|text| text.starts_with(".."));
            texts.next().is_some()
        };
        operands(command).iter().any(leads_up)
    };
    let moves_itself = commands.iter().any(|c| crate::movers::is_mover(c));
    for (at, (command, place)) in each().enumerate() {
        let others =
            || each().enumerate().filter(|(other, _)| *other != at).map(|(_, pair)| pair.0);
        let is_unsettled = match change(command) {
            Change::Links => {
                let link = link(command, &place.folders);
                let leads_up = link.as_ref().is_none_or(|link| goes_up(link.text));
                let carried = |other: &SimpleCommand| change(other) != Change::Nothing;
                let is_open = link.is_none() && operands(command).into_iter().any(goes_up);
                is_open || others().any(goes_up_in) || (leads_up && others().any(carried))
            }
            Change::Carries if is_link(command, place) => true,
            Change::Carries => moves_itself && is_moved(command, place) && others().any(goes_up_in),
            Change::Nothing => false,
        };
        if is_unsettled {
            return Some(command);
        }
    }
    None
}

/// The folders that a line copies, moves or links: what is in one of them may have another name afterwards.
pub(crate) fn carried(
    commands: &[&SimpleCommand],
    places: &[Place],
    values: Option<&[String]>,
) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for (command, place) in commands.iter().zip(places) {
        let packs = matches!(command.program(), Some("tar" | "bsdtar" | "cpio" | "pax"));
        if change(command) == Change::Nothing && !packs {
            continue;
        }
        let link = link(command, &place.folders);
        let linked =
            link.iter().flat_map(|link| link.from.iter().map(|it| it.join(link.text.text())));
        found.extend(linked);
        let readings = operands(command).into_iter().flat_map(Word::readings);
        for text in readings.take(MOST) {
            let here = text.strip_prefix("$PWD/").unwrap_or(&text);
            // A variable is one of the texts that the line has.
            let held = values.filter(|_| here.contains('$')).unwrap_or_default();
            let names = held.iter().map(String::as_str).chain([here]);
            for name in names {
                let patterns =
                    place.folders.iter().map(|base| match name.contains(['*', '?', '[']) {
                        true => crate::files_found(name, base).unwrap_or_default(),
                        false => vec![base.join(name)],
                    });
                found.extend(patterns.flatten());
            }
        }
    }
    found.retain(|folder| folder.is_dir());
    found.sort();
    found.dedup();
    found.truncate(MOST);
    found
}

/// No more are looked into, so that judging stays cheap.
const MOST: usize = 64;
