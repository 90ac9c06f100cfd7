//! Links that a program comes upon by itself: whoever goes through a folder and follows what is in it (`grep -R`, `cp -rL`,
//! `zip -r`) is where those links lead. So is whoever opens what another lists (`ls | xargs cat`).

use crate::Reach;
use crate::folders::Place;
use crate::outside::{Outside, PROGRAM_FOLDERS, is_harmless_device};
use crate::paths::resolve;
use crate::shell::{SimpleCommand, Word, may_be_long};
use glob::Pattern;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// No more is looked through, so that judging stays cheap: this takes a fraction of a second.
const MOST_ENTRIES: usize = 100_000;

/// Programs that go through the folder they run in when they are given none.
const GO_THROUGH_HERE: [&str; 18] = [
    "ack", "ag", "dir", "du", "egrep", "fd", "fdfind", "fgrep", "find", "gfind", "ggrep", "git",
    "gls", "grep", "ls", "rclone", "rg", "tree",
];

/// How a program goes through folders.
#[derive(PartialEq)]
enum Goes {
    /// It reads what it comes upon.
    Reading,
    /// It may change it, or hand it to a program that does.
    Changing,
    Nowhere,
}

/// Whether the command goes through folders and follows links in them.
fn goes(command: &SimpleCommand) -> Goes {
    let texts = || command.args.iter().map(Word::text);
    let short = |letters: &[char]| {
        texts().any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letters))
    };
    let long = |names: &[&str]| {
        texts().any(|arg| arg.len() > 3 && names.iter().any(|name| may_be_long(arg, name)))
    };
    let is = |words: &[&str]| texts().any(|arg| words.contains(&arg));
    // `tar chf`: the letters of the first word are options also without a dash.
    let bundled = |letters: &[char]| {
        texts().next().is_some_and(|arg| !arg.starts_with('-') && arg.contains(letters))
    };
    let program = command.program().unwrap_or_default();
    let follows = match program {
        "grep" | "egrep" | "fgrep" | "ggrep" => short(&['R']) || long(&["dereference-recursive"]),
        "rg" | "ag" | "ack" | "fd" | "fdfind" => short(&['L', 'f']) || long(&["follow"]),
        "cp" | "gcp" => {
            (short(&['r', 'R', 'a']) || long(&["recursive", "archive"]))
                && (short(&['L']) || long(&["dereference"]))
        }
        "tar" | "bsdtar" | "gtar" => {
            short(&['h', 'L']) || bundled(&['h', 'L']) || long(&["dereference"])
        }
        "pax" | "cpio" => short(&['L']) || long(&["dereference"]),
        "find" | "gfind" | "chmod" | "chown" | "chgrp" | "setfacl" => {
            short(&['L']) || is(&["-follow"]) || long(&["dereference"])
        }
        "rsync" | "rclone" => {
            short(&['L', 'k']) || long(&["copy-links", "copy-unsafe-links", "copy-dirlinks"])
        }
        "zip" => (short(&['r', 'R']) || long(&["recurse-paths"])) && !short(&['y']),
        "7z" | "7za" | "7zr" => is(&["a", "u"]) && !texts().any(|arg| arg.starts_with("-snl")),
        "jar" => bundled(&['c', 'u']) || short(&['c', 'u']) || long(&["create", "update"]),
        "du" => short(&['L']) || long(&["dereference"]),
        "ls" | "gls" => {
            (short(&['R']) || long(&["recursive"])) && (short(&['L']) || long(&["dereference"]))
        }
        "tree" => short(&['l']),
        "diff" | "colordiff" => {
            (short(&['r']) || long(&["recursive"])) && !long(&["no-dereference"])
        }
        "scp" => short(&['r']),
        _ => false,
    };
    match program {
        _ if !follows => Goes::Nowhere,
        "find" | "gfind" | "chmod" | "chown" | "chgrp" | "setfacl" => Goes::Changing,
        _ => Goes::Reading,
    }
}

/// What makes git print names of files.
const GIT_LISTS: [&str; 5] = ["ls-files", "ls-tree", "status", "--name-only", "--name-status"];

/// Which entries of folders a program prints, links among them.
struct Listing {
    /// Also of the folders in them.
    deep: bool,
    /// Only what is called like this.
    only: Option<Pattern>,
}

fn listing(command: &SimpleCommand) -> Option<Listing> {
    let args: Vec<&str> = command.args.iter().map(Word::text).collect();
    let has = |option: &str, values: &[&str]| {
        args.windows(2).any(|pair| matches!(pair, [o, v] if *o == option && values.contains(v)))
    };
    let all = |deep: bool| Some(Listing { deep, only: None });
    match command.program()? {
        "ls" | "gls" | "dir" => all(args
            .iter()
            .any(|arg| arg.starts_with('-') && arg.contains('R') || arg.starts_with("--rec"))),
        "find" | "gfind" if has("-type", &["f", "d"]) && !has("-type", &["l"]) => None,
        "find" | "gfind" => {
            let is_plain =
                !args.iter().any(|arg| matches!(*arg, "-o" | "-or" | "!" | "-not" | ","));
            let named = args.windows(2).find_map(|pair| match pair {
                ["-name", pattern] => Pattern::new(pattern).ok(),
                _ => None,
            });
            Some(Listing { deep: true, only: named.filter(|_| is_plain) })
        }
        "fd" | "fdfind" if has("-t", &["f", "d"]) || has("--type", &["f", "file", "d"]) => None,
        "fd" | "fdfind" | "du" | "tree" => all(true),
        "git" if args.iter().any(|arg| GIT_LISTS.contains(arg)) => all(true),
        _ => None,
    }
}

/// Whether `find` or `fd` hands what it finds to a program itself.
fn hands_over(command: &SimpleCommand) -> bool {
    let is_finder = matches!(command.program(), Some("find" | "gfind" | "fd" | "fdfind"));
    let starts = ["-exec", "-ok", "-x", "-X", "--exec"];
    is_finder && command.args.iter().any(|arg| starts.iter().any(|it| arg.text().starts_with(it)))
}

impl Outside<'_> {
    /// The first link to a place outside among what the command lists, if somebody opens what it prints.
    pub(crate) fn listed(&self, command: &SimpleCommand, place: &Place) -> Option<String> {
        let listing = listing(command)?;
        if !hands_over(command) && !self.texts.become_names(command, place) {
            return None;
        }
        let mut walk = Walk {
            reach: self.reach,
            goes: Goes::Reading,
            seen: HashSet::new(),
            left: MOST_ENTRIES,
            listing,
        };
        self.starts(command).into_iter().find_map(|start| walk.through(&start))
    }

    /// The first link to a place outside that the command comes upon in the folders it goes through, and where it leads.
    pub(crate) fn followed(&self, command: &SimpleCommand) -> Option<String> {
        let goes = goes(command);
        if goes == Goes::Nowhere {
            return None;
        }
        let listing = Listing { deep: true, only: None };
        let mut walk =
            Walk { reach: self.reach, goes, seen: HashSet::new(), left: MOST_ENTRIES, listing };
        self.starts(command).into_iter().find_map(|start| walk.through(&start))
    }

    /// The folders among the words; without any the one it runs in, if that is what the program takes then.
    fn starts(&self, command: &SimpleCommand) -> Vec<PathBuf> {
        let mut starts = Vec::new();
        for word in &command.args {
            for text in word.readings().iter().filter(|text| !text.starts_with('-')) {
                let here = text.strip_prefix("$PWD/").unwrap_or(text);
                for base in self.folders {
                    match word.is_dynamic() {
                        true if here.contains(['$', '`']) => starts.push(base.clone()),
                        true if here.contains(['*', '?', '[']) => {
                            starts.extend(crate::files_found(here, base).unwrap_or_default());
                        }
                        _ => starts.push(base.join(here)),
                    }
                }
            }
        }
        starts.retain(|start| start.is_dir());
        let is_here = command.program().is_some_and(|program| GO_THROUGH_HERE.contains(&program));
        if starts.is_empty() && is_here { self.folders.to_vec() } else { starts }
    }
}

struct Walk<'a> {
    reach: &'a Reach,
    goes: Goes,
    seen: HashSet<PathBuf>,
    left: usize,
    listing: Listing,
}

impl Walk<'_> {
    fn through(&mut self, start: &Path) -> Option<String> {
        let mut pending = vec![resolve(start, Path::new("")).ok()?];
        let mut link = None;
        while let Some(folder) = pending.pop() {
            if !self.seen.insert(folder.clone()) {
                continue;
            }
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                let is_meant = |only: &Pattern| only.matches(&entry.file_name().to_string_lossy());
                if kind.is_dir() {
                    pending.extend(self.listing.deep.then(|| entry.path()));
                } else if kind.is_symlink() && self.listing.only.as_ref().is_none_or(is_meant) {
                    let path = entry.path();
                    match resolve(&path, Path::new("")) {
                        Ok(real) if !self.may_lead_to(&real) => {
                            return Some(format!("{} is {}", self.shown(&path), real.display()));
                        }
                        Ok(real) if real.is_dir() && self.reach.is_inside(&real) => {
                            pending.push(real);
                        }
                        // One that leads in a circle leads nowhere.
                        _ => {}
                    }
                    link = Some(path);
                }
                self.left = self.left.saturating_sub(1);
                if self.left == 0 {
                    // Where there is one link, there may be others.
                    let too_much = "a link, like others that there may be in so large a folder";
                    return link.map(|link| format!("{} is {too_much}", self.shown(&link)));
                }
            }
        }
        None
    }

    fn shown(&self, path: &Path) -> String {
        let workspace = self.reach.workspace().unwrap_or(Path::new(""));
        path.strip_prefix(workspace).unwrap_or(path).display().to_string()
    }

    /// A program of the system may be read: `.venv/bin/python`.
    fn may_lead_to(&self, real: &Path) -> bool {
        let is_program = PROGRAM_FOLDERS.iter().any(|it| real.starts_with(it)) && real.is_file();
        self.reach.is_inside(real)
            || (is_program && self.goes == Goes::Reading)
            || is_harmless_device(&real.to_string_lossy())
    }
}
