//! Files of a profile that its scripts speak of: a script may run or load any of them.

use super::awaited::Awaited;
use super::company::Company;
use super::data::Use;
use super::entries::{Entry, entries};
use super::installed;
use super::scripts::MOST_FILES;
use crate::contents::{Contents, Known};
use crate::paths::{is_inside, normal, resolve};
use crate::profile::AGENT_FILE;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// No interpreter is given these: what they name are programs at most, as a `package.json` does. A list of the project's files
/// would make all of it count otherwise.
const TEXTS: [&str; 14] = [
    "css", "csv", "html", "json", "jsonl", "lock", "log", "md", "rst", "toml", "txt", "xml",
    "yaml", "yml",
];

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

/// What was met on the way through scripts.
#[derive(Default)]
pub(super) struct Followed {
    /// The folders of installed modules that scripts can load from.
    pub(super) installed: BTreeSet<PathBuf>,
    pub(super) awaited: Awaited,
    /// Files that scripts speak of, each with the first script that does.
    pub(super) by: BTreeMap<String, String>,
    /// Those of them that a script only looks into, and those that one may load.
    pub(super) read: BTreeSet<String>,
    pub(super) loaded: BTreeSet<String>,
}

/// Adds to `files` each that one of them speaks of, and so on until nothing is new.
pub(super) fn follow(
    among: &Among<'_>,
    files: &mut BTreeSet<String>,
    contents: &mut Contents,
) -> Followed {
    let mut places = Places { among, listed: HashMap::new(), found: Followed::default() };
    let mut pending: Vec<String> = files.iter().cloned().collect();
    while let Some(file) = pending.pop() {
        let path = Path::new(&file);
        if path.is_absolute() {
            continue;
        }
        places.found.installed.extend(installed::around(path));
        // What is installed does not know the profile it was installed in: its words mean files of its own.
        if installed::holds(path) && !among.named.contains(&file) {
            continue;
        }
        let Ok(known) = contents.read_words(among.folder, &file) else { continue };
        let found = match installed::holds(path) {
            true => places.modules(path, &known),
            false => places.spoken_of(&known, path),
        };
        for found in found {
            places.found.by.entry(found.clone()).or_insert_with(|| file.clone());
            if files.insert(found.clone()) {
                pending.push(found);
            }
        }
    }
    places.found
}

/// Where the files are that scripts may speak of.
pub(super) struct Among<'a> {
    pub(super) folder: &'a Path,
    pub(super) company: &'a Company,
    /// What commands name.
    pub(super) named: BTreeSet<String>,
    /// What hooks save to, also before they did.
    pub(super) saved: BTreeSet<String>,
    /// What hooks keep.
    pub(super) aside: BTreeSet<String>,
    /// Whether a command starts Node, which may run a file that does not look like it.
    pub(super) starts_node: bool,
}

struct Places<'a> {
    among: &'a Among<'a>,
    /// What is in a folder. Most words name no file; to list is cheaper than to ask for each.
    listed: HashMap<PathBuf, HashSet<OsString>>,
    found: Followed,
}

impl Places<'_> {
    fn spoken_of(&mut self, known: &Known, script: &Path) -> BTreeSet<String> {
        let beside = script.parent().unwrap_or(Path::new(""));
        let kind = script.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        let is_text = is_text(kind);
        // `conf.d/*.conf`: the ending stands by itself.
        let endings = known.words().iter().filter_map(|word| word.strip_prefix('.'));
        let all_kinds = !is_text && !known.reaches().only_modules;
        let kinds: HashSet<&str> =
            endings.filter(|it| all_kinds && !it.is_empty()).chain([kind]).collect();
        let mut endings = vec![kind];
        if installed::is_of_node(script, known.words()) {
            endings.extend(["cjs", "js", "mjs"].iter().filter(|it| **it != kind));
        }
        if known.reaches().python_here {
            endings.push("py");
        }
        let mut found = self.modules(script, known);
        for word in known.words() {
            let used = known.reaches().data.get(word).copied().unwrap_or(Use::Other);
            let path = word.trim_end_matches(['.', '/']);
            // `$HERE/../lib/x.sh`: what stands before the slash is known only when it runs.
            let behind = path.split_once('/').map_or("", |(_, behind)| behind);
            // `lib.rules` of Python is `lib/rules`.
            let module = path.replace('.', "/");
            let loaded = !is_text && !known.is_only_written(word) && used != Use::Written;
            let spellings = [(path, loaded), (behind, loaded), (&*module, false)];
            for (spelling, any) in spellings.into_iter().filter(|it| !it.0.is_empty()) {
                for place in [Path::new(""), beside] {
                    let candidate = normal(&place.join(spelling).to_string_lossy());
                    let candidate = Path::new(candidate.trim_start_matches('/'));
                    if any && used != Use::Said && !is_text && !self.has(candidate) {
                        self.found.awaited.file(candidate, script);
                    }
                    match used {
                        Use::Other => {
                            self.reach(candidate, any, (&endings, &kinds), (script, &mut found));
                        }
                        Use::Read if any && self.has(candidate) && self.counts(candidate) => {
                            let file = candidate.to_string_lossy().into_owned();
                            self.found.read.insert(file.clone());
                            found.insert(file);
                        }
                        Use::Read | Use::Said | Use::Written => {}
                    }
                }
            }
        }
        self.what_runners_read(known.words(), script, &mut found);
        // A link runs where it leads to: its neighbours there are the ones it finds.
        if self.among.folder.join(script).is_symlink()
            && let Ok(reached) = resolve(self.among.folder, script)
            && let Ok(folder) = resolve(self.among.folder, Path::new(""))
            && let Ok(inner) = reached.strip_prefix(folder)
            && reached.is_file()
        {
            found.insert(inner.to_string_lossy().into_owned());
        }
        found
    }

    /// The file there (a program, or `any`), or a program with the ending that its like has; or, of a folder, its files of
    /// these kinds.
    fn reach(
        &mut self,
        place: &Path,
        any: bool,
        (endings, kinds): (&[&str], &HashSet<&str>),
        (script, found): (&Path, &mut BTreeSet<String>),
    ) {
        let mut added = Vec::new();
        let mut add = |place: PathBuf| added.push(place.to_string_lossy().into_owned());
        if self.has(place) {
            self.found.installed.extend(installed::around_existing(self.among.folder, place));
            if self.among.folder.join(place).is_dir() {
                if !installed::holds(place) && self.is_inside(place) {
                    let kinds_here = kinds.iter().map(|it| (*it).to_owned());
                    self.found.awaited.folder(place, kinds_here, script);
                    for file in self.of_kinds(place, kinds) {
                        add(file);
                    }
                }
            } else if (any && self.counts(place)) || self.is_program(place) {
                add(place.to_owned());
            }
        }
        for ending in endings {
            let with_ending = PathBuf::from(format!("{}.{ending}", place.display()));
            if self.has(&with_ending) && self.is_program(&with_ending) {
                add(with_ending);
            }
        }
        self.found.loaded.extend(added.iter().cloned());
        found.extend(added);
    }

    /// Files of these kinds in and below a folder that a script speaks of: `. rules.d/*.sh`, `from lib import rules`.
    fn of_kinds(&mut self, start: &Path, kinds: &HashSet<&str>) -> Vec<PathBuf> {
        let same = |file: &Path| {
            kinds.contains(file.extension().and_then(OsStr::to_str).unwrap_or_default())
        };
        let mut pending = vec![start.to_owned()];
        let mut files = Vec::new();
        while let Some(place) = pending.pop() {
            for Entry { path: file, is_folder, .. } in entries(self.among.folder, &place) {
                match is_folder {
                    true if files.len() < MOST_FILES && !installed::holds(&file) => {
                        pending.push(file)
                    }
                    false if same(&file) => files.push(file),
                    _ => {}
                }
            }
        }
        files
    }

    /// A runner that a script starts reads files that nobody names.
    fn what_runners_read(
        &mut self,
        words: &HashSet<String>,
        script: &Path,
        found: &mut BTreeSet<String>,
    ) {
        let started = RUNNERS.iter().filter(|(runner, _)| words.contains(*runner));
        for file in started.flat_map(|(_, files)| *files) {
            match self.among.folder.join(file).is_file() {
                true => drop(found.insert((*file).to_owned())),
                false => self.found.awaited.all_below(Path::new(file), script),
            }
        }
    }

    /// Node finds its modules without a path, on the way up from the script; what they are is said in a `package.json`.
    fn modules(&mut self, script: &Path, known: &Known) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        if !self.among.starts_node && !installed::is_of_node(script, known.words()) {
            return found;
        }
        let kind = script.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        let loads = !is_text(kind);
        for place in script.ancestors().skip(1) {
            let modules = place.join("node_modules");
            if self.has(&modules) && self.among.folder.join(&modules).is_dir() {
                self.found.installed.insert(modules);
            } else if loads {
                self.found.awaited.all_below(&modules, script);
            }
            let package = place.join("package.json");
            if self.has(&package) && self.counts(&package) {
                found.insert(package.to_string_lossy().into_owned());
            } else if loads {
                self.found.awaited.all_below(&package, script);
            }
        }
        found
    }

    fn has(&mut self, place: &Path) -> bool {
        let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else { return false };
        self.list(parent).contains(name)
            || place.to_str().is_some_and(|place| self.among.saved.contains(place))
    }

    fn list(&mut self, place: &Path) -> &HashSet<OsString> {
        let names = || {
            entries(self.among.folder, place)
                .filter_map(|entry| Some(entry.path.file_name()?.to_owned()))
        };
        self.listed.entry(place.to_owned()).or_insert_with(|| names().collect())
    }

    fn is_program(&self, place: &Path) -> bool {
        is_program(&self.among.folder.join(place))
    }

    /// agent.json counts by itself, and pintle's records change with every run.
    fn counts(&self, place: &Path) -> bool {
        let path = self.among.folder.join(place);
        let is_there = path.is_file() || !path.exists();
        is_there
            && place != Path::new(AGENT_FILE)
            && !self.among.company.keeps(place)
            && !place.to_str().is_some_and(|it| self.among.aside.contains(it))
    }

    fn is_inside(&self, place: &Path) -> bool {
        is_inside(self.among.folder, self.among.folder, place)
    }
}

pub(super) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|meta| {
        let runs = meta.permissions().mode() & 0o111 != 0;
        meta.is_file() && (runs || is_named_like_a_program(path))
    })
}

pub(super) fn is_text(kind: &str) -> bool {
    TEXTS.contains(&kind)
}

pub(super) fn is_named_like_a_program(path: &Path) -> bool {
    path.extension().and_then(|kind| kind.to_str()).is_some_and(|kind| PROGRAMS.contains(&kind))
}
