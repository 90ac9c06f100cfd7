//! Programs of a profile that its scripts speak of: a script may run or load any of them.

use super::scripts::{MOST_FILES, entries};
use crate::contents::Contents;
use crate::paths::{is_inside, normal};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What is installed does not know the profile it was installed in: its words mean files of its own.
const INSTALLED: [&str; 3] = ["node_modules", ".venv", ".git"];

/// How programs are called that a shebang, an `import` or a `source` can reach.
const PROGRAMS: [&str; 21] = [
    "awk", "bash", "cjs", "cts", "jq", "js", "jsx", "lua", "mjs", "mts", "php", "pl", "pm", "ps1",
    "py", "rb", "sed", "sh", "ts", "tsx", "zsh",
];

/// What runners read when they are not told what.
const RUNNERS: &[(&str, &[&str])] = &[
    ("just", &["justfile", "Justfile"]),
    ("make", &["GNUmakefile", "Makefile", "makefile"]),
    ("npm", &["package.json"]),
    ("npx", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("rake", &["Rakefile", "rakefile"]),
    ("tox", &["tox.ini"]),
    ("yarn", &["package.json"]),
];

/// Adds to `files` each program that one of them speaks of, and so on until nothing is new.
pub(super) fn follow(folder: &Path, files: &mut BTreeSet<String>, contents: &mut Contents) {
    let mut places = Places { folder, listed: HashMap::new() };
    let mut pending: Vec<String> = files.iter().cloned().collect();
    while let Some(file) = pending.pop() {
        let installed = |part: &OsStr| INSTALLED.iter().any(|name| part == *name);
        if Path::new(&file).is_absolute() || Path::new(&file).iter().any(installed) {
            continue;
        }
        let Ok(known) = contents.read(folder, &file) else { continue };
        for program in places.programs_among(&known.words, Path::new(&file)) {
            if files.insert(program.clone()) {
                pending.push(program);
            }
        }
    }
}

struct Places<'a> {
    folder: &'a Path,
    /// What is in a folder. Most words name no file; to list is cheaper than to ask for each.
    listed: HashMap<PathBuf, HashSet<OsString>>,
}

impl Places<'_> {
    fn programs_among(&mut self, words: &HashSet<String>, script: &Path) -> BTreeSet<String> {
        let beside = script.parent().unwrap_or(Path::new(""));
        let kind = script.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        let mut found = BTreeSet::new();
        for word in words {
            let path = word.trim_end_matches(['.', '/']);
            // `$HERE/../lib/x.sh`: what stands before the slash is known only when it runs.
            let behind = path.split_once('/').map_or("", |(_, behind)| behind);
            // `lib.rules` of Python is `lib/rules`.
            let module = path.replace('.', "/");
            for spelling in [path, behind, &module].into_iter().filter(|it| !it.is_empty()) {
                for place in [Path::new(""), beside] {
                    let candidate = normal(&place.join(spelling).to_string_lossy());
                    self.reach(Path::new(candidate.trim_start_matches('/')), kind, &mut found);
                }
            }
        }
        self.what_runners_read(words, kind, &mut found);
        found
    }

    /// The program there, by this name or with the ending that its like has; or, of a folder, its programs of that kind.
    fn reach(&mut self, place: &Path, kind: &str, found: &mut BTreeSet<String>) {
        let mut add = |place: PathBuf| found.insert(place.to_string_lossy().into_owned());
        let with_ending = PathBuf::from(format!("{}.{kind}", place.display()));
        if self.has(place) && self.folder.join(place).is_dir() {
            if !INSTALLED.iter().any(|name| place.ends_with(name))
                && is_inside(self.folder, self.folder, place)
            {
                for file in self.of_kind(place, kind) {
                    add(file);
                }
            }
        } else if self.has(place) && self.is_program(place) {
            add(place.to_owned());
        }
        if self.has(&with_ending) && self.is_program(&with_ending) {
            add(with_ending);
        }
    }

    /// Programs of the same kind in and below a folder that a script speaks of: `. rules.d/*.sh`, `from lib import rules`.
    fn of_kind(&mut self, start: &Path, kind: &str) -> Vec<PathBuf> {
        let same =
            |file: &Path| file.extension().and_then(OsStr::to_str).unwrap_or_default() == kind;
        let mut pending = vec![start.to_owned()];
        let mut files = Vec::new();
        while let Some(place) = pending.pop() {
            for (file, is_folder) in entries(self.folder, &place) {
                match is_folder {
                    true if files.len() < MOST_FILES => pending.push(file),
                    false if same(&file) => files.push(file),
                    _ => {}
                }
            }
        }
        files
    }

    /// A runner that a script starts reads files that nobody names; Node finds its modules without a path.
    fn what_runners_read(
        &mut self,
        words: &HashSet<String>,
        kind: &str,
        found: &mut BTreeSet<String>,
    ) {
        let mut reads: Vec<&str> = Vec::new();
        for (runner, files) in RUNNERS {
            if words.contains(*runner) {
                reads.extend(*files);
            }
        }
        if matches!(kind, "js" | "mjs" | "cjs" | "ts") {
            reads.push("package.json");
            let modules = self.of_kind(Path::new("node_modules"), "js");
            found.extend(modules.into_iter().map(|file| file.to_string_lossy().into_owned()));
        }
        let there = reads.into_iter().filter(|file| self.folder.join(file).is_file());
        found.extend(there.map(str::to_owned));
    }

    fn has(&mut self, place: &Path) -> bool {
        let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else { return false };
        self.list(parent).contains(name)
    }

    fn list(&mut self, place: &Path) -> &HashSet<OsString> {
        let names = || {
            entries(self.folder, place).filter_map(|(path, _)| Some(path.file_name()?.to_owned()))
        };
        self.listed.entry(place.to_owned()).or_insert_with(|| names().collect())
    }

    fn is_program(&self, place: &Path) -> bool {
        is_program(&self.folder.join(place)) && is_inside(self.folder, self.folder, place)
    }
}

pub(super) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let named_so = path.extension().and_then(|kind| kind.to_str());
    std::fs::metadata(path).is_ok_and(|meta| {
        let runs = meta.permissions().mode() & 0o111 != 0;
        meta.is_file() && (runs || named_so.is_some_and(|kind| PROGRAMS.contains(&kind)))
    })
}
