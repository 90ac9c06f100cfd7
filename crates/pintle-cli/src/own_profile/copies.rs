//! Programs that put files into a folder under the names they had: copies, moves, links and downloads.

use super::effect::{Effect, letters, operands};

/// `None` for a program that does no such thing.
pub(super) fn effect(program: &str, args: &[String]) -> Option<Effect> {
    match program {
        "cp" | "install" | "scp" => Some(copy(args, Sources::Stay)),
        "mv" => Some(copy(args, Sources::Change)),
        "ln" | "link" => Some(copy(args, Sources::Change).and(".", args)),
        // What is in a folder, not the folder, is put there.
        "rsync" | "ditto" | "rclone" => {
            let into = if has_long(args, "--remove") {
                operands(args).collect()
            } else {
                targets(args, 'T')
            };
            Some(Effect { read: sources(args, &into), ..places(into) })
        }
        "wget" | "aria2c" => Some(download(args, &['i', 'r', 'm', 'S', 'M', 'T'])),
        "curl" => {
            let by_address = args.iter().any(|arg| {
                has_long(std::slice::from_ref(arg), "--remote-n") || has_letter(arg, 'O')
            });
            match by_address
                || args.iter().any(|arg| has_letter(arg, 'K'))
                || has_long(args, "--conf")
            {
                true => Some(download(args, &['J', 'K'])),
                false => None,
            }
        }
        _ => None,
    }
}

/// The folder that a copy of another repository gets.
pub(super) fn clone(args: &[String]) -> Effect {
    let all = operands(args).flat_map(|from| [from, name_of(from).trim_end_matches(".git")]);
    places(all.filter(|folder| !folder.contains('$')).collect())
}

#[derive(Clone, Copy, PartialEq)]
enum Sources {
    Stay,
    /// They are gone afterwards, or can be written to under another name.
    Change,
}

fn copy(args: &[String], sources_do: Sources) -> Effect {
    let into = targets(args, 't');
    let links = args.iter().any(|arg| has_letter(arg, 'l') || has_letter(arg, 's'))
        || has_long(args, "--l")
        || has_long(args, "--sy");
    let by_path = has_long(args, "--pa")
        || has_long(args, "--no-t")
        || args.iter().any(|arg| has_letter(arg, 'T'));
    let from = sources(args, &into);
    let mut effect = Effect::default().and_all(&into, args);
    if by_path {
        effect.places.extend(into.iter().map(|&folder| folder.to_owned()));
    }
    if sources_do == Sources::Change || links {
        effect.places.extend(if from.is_empty() {
            operands(args).map(str::to_owned).collect()
        } else {
            from
        });
    } else {
        effect.read = from;
    }
    effect
}

impl Effect {
    fn and(self, folder: &str, args: &[String]) -> Self {
        self.and_all(&[folder], args)
    }

    /// What may be put into the folders, by the names of the words.
    fn and_all(mut self, folders: &[&str], args: &[String]) -> Self {
        self.named = true;
        for folder in folders {
            let others = operands(args).filter(|source| source != folder);
            self.places.extend(others.map(|source| match name_of(source) {
                "" | "." | ".." | "*" | "{}" => (*folder).to_owned(),
                name => format!("{}/{name}", folder.trim_end_matches('/')),
            }));
        }
        self
    }
}

/// The other side's names are not known, or stand in a list, with one of these letters.
fn download(args: &[String], told: &[char]) -> Effect {
    let is_told = args.iter().any(|arg| told.iter().any(|letter| has_letter(arg, *letter)))
        || ["--remote-h", "--conf", "--i", "--rec", "--mi", "--content-d", "--trust", "--follow"]
            .iter()
            .any(|start| has_long(args, start));
    let mut folders = vec!["."];
    folders.extend(operands(args).filter(|arg| !arg.contains("://")));
    folders.extend(glued(args, 'P'));
    let mut effect = Effect::default();
    for address in operands(args) {
        let name = name_of(address.split(['?', '#']).next().unwrap_or_default());
        // Such an address is decoded, or stands for several.
        let is_unclear = name.is_empty() || name.contains(['%', '{', '[', '*']);
        effect.places.extend(folders.iter().filter(|folder| **folder != address).map(|folder| {
            match is_told || is_unclear {
                true => (*folder).to_owned(),
                false => format!("{folder}/{name}"),
            }
        }));
    }
    if is_told {
        effect.places.push(".".to_owned());
    }
    Effect { named: true, ..effect }
}

/// The last part of a path, of an address, or of a path on another machine.
fn name_of(source: &str) -> &str {
    source.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default()
}

/// What may be the folder that files are put into: the last operand, if that is clear.
fn targets(args: &[String], letter: char) -> Vec<&str> {
    let all: Vec<&str> = operands(args).collect();
    let last = all.last().copied();
    let at = args.iter().rposition(|arg| Some(arg.as_str()) == last);
    let before = at.and_then(|at| at.checked_sub(1)).and_then(|at| args.get(at));
    // It may be the value of an option that stands before it.
    let is_unclear = all.len() > 1 && before.is_some_and(|arg| arg.starts_with('-') && arg != "--");
    let by_option = has_long(args, "--t") || args.iter().any(|arg| has_letter(arg, letter));
    if by_option || is_unclear {
        all.into_iter().chain(glued(args, letter)).collect()
    } else {
        last.into_iter().collect()
    }
}

/// What is surely only read from; none if that is not clear.
fn sources(args: &[String], targets: &[&str]) -> Vec<String> {
    let all = operands(args).count();
    let sure = if targets.len() == 1 { all.saturating_sub(1) } else { 0 };
    operands(args).take(sure).map(str::to_owned).collect()
}

/// Folders that are one word with their option: `-tDIR`, `--target-directory=DIR`.
fn glued(args: &[String], letter: char) -> impl Iterator<Item = &str> {
    args.iter().filter_map(move |arg| {
        let by_letter = letters(arg).and_then(|l| l.split_once(letter)).map(|(_, folder)| folder);
        by_letter
            .filter(|folder| !folder.is_empty())
            .or_else(|| arg.split_once('=').map(|(_, value)| value))
    })
}

fn places(places: Vec<&str>) -> Effect {
    Effect::places(places.into_iter().map(str::to_owned).collect())
}

fn has_letter(arg: &str, letter: char) -> bool {
    letters(arg).is_some_and(|letters| letters.contains(letter))
}

fn has_long(args: &[String], start: &str) -> bool {
    args.iter().any(|arg| arg.starts_with(start))
}
