//! Programs of a profile that its scripts speak of: a script may run or load any of them.

use super::scripts::entries;
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
        for word in words.iter().filter(|word| word.contains(['/', '.'])) {
            let path = word.trim_end_matches('.');
            // `$HERE/../lib/x.sh`: what stands before the slash is known only when it runs.
            let behind = path.split_once('/').map_or("", |(_, behind)| behind);
            let module = format!("{}.{kind}", path.replace('.', "/"));
            let spellings = [path.into(), behind.into(), format!("{path}.{kind}"), module];
            for spelling in &spellings {
                for place in [Path::new(""), beside] {
                    let candidate = normal(&place.join(spelling).to_string_lossy());
                    let candidate = candidate.trim_start_matches('/');
                    if self.is_program(Path::new(candidate)) {
                        found.insert(candidate.to_owned());
                    }
                }
            }
        }
        // `import helper`: a neighbour of the same kind needs no path.
        let neighbours = self.list(beside).iter().map(Path::new).filter(|neighbour| {
            let stem = neighbour.file_stem().and_then(OsStr::to_str);
            let same_kind = !kind.is_empty() && neighbour.extension() == script.extension();
            same_kind && stem.is_some_and(|stem| words.contains(stem))
        });
        let neighbours: Vec<PathBuf> = neighbours.map(|name| beside.join(name)).collect();
        let programs = neighbours.into_iter().filter(|neighbour| self.is_program(neighbour));
        found.extend(programs.map(|program| program.to_string_lossy().into_owned()));
        found
    }

    fn list(&mut self, place: &Path) -> &HashSet<OsString> {
        let names = || {
            entries(self.folder, place).filter_map(|(path, _)| Some(path.file_name()?.to_owned()))
        };
        self.listed.entry(place.to_owned()).or_insert_with(|| names().collect())
    }

    fn is_program(&mut self, place: &Path) -> bool {
        let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else { return false };
        self.list(parent).contains(name)
            && is_program(&self.folder.join(place))
            && is_inside(self.folder, self.folder, place)
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let named_so = path.extension().and_then(|kind| kind.to_str());
    std::fs::metadata(path).is_ok_and(|meta| {
        let runs = meta.permissions().mode() & 0o111 != 0;
        meta.is_file() && (runs || named_so.is_some_and(|kind| PROGRAMS.contains(&kind)))
    })
}
