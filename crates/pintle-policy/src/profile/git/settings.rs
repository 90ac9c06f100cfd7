//! What of git's settings makes it run something.

use crate::profile::reaches::parts;
use std::path::Path;

/// More than anybody sets.
const MOST_BYTES: u64 = 1024 * 1024;

/// Settings that name no program and no further settings, whatever their value: a section, and its keys (none: all of them).
/// What is not among them counts.
const HARMLESS: &[(&str, &[&str])] = &[
    ("advice", &[]),
    ("author", &["email", "name"]),
    ("color", &[]),
    ("column", &[]),
    ("commit", &["cleanup", "gpgsign", "status", "verbose"]),
    ("committer", &["email", "name"]),
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bare",
            "checkstat",
            "commentchar",
            "compression",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "longpaths",
            "precomposeunicode",
            "preloadindex",
            "quotepath",
            "repositoryformatversion",
            "safecrlf",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
            "trustctime",
            "untrackedcache",
            "whitespace",
        ],
    ),
    (
        "diff",
        &[
            "algorithm",
            "colormoved",
            "context",
            "mnemonicprefix",
            "noprefix",
            "renamelimit",
            "renames",
        ],
    ),
    (
        "extensions",
        &["compatobjectformat", "objectformat", "partialclone", "refstorage", "worktreeconfig"],
    ),
    ("fetch", &["parallel", "prune", "prunetags", "recursesubmodules", "writecommitgraph"]),
    ("gc", &["auto", "autodetach", "autopacklimit", "logexpiry", "pruneexpire"]),
    ("gui", &["encoding", "geometry", "wmstate"]),
    ("http", &["extraheader", "lowspeedlimit", "lowspeedtime", "postbuffer", "version"]),
    ("index", &["threads", "version"]),
    ("init", &["defaultbranch"]),
    ("lfs", &["access", "locksverify", "repositoryformatversion"]),
    ("log", &["abbrevcommit", "date", "decorate", "follow"]),
    ("maintenance", &["auto", "strategy"]),
    ("merge", &["conflictstyle", "ff", "log", "renames", "stat"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["autosetupremote", "default", "followtags", "recursesubmodules"]),
    ("rebase", &["autosquash", "autostash", "stat", "updaterefs"]),
    (
        "remote",
        &[
            "fetch",
            "gh-resolved",
            "mirror",
            "partialclonefilter",
            "promisor",
            "prune",
            "prunetags",
            "push",
            "pushdefault",
            "pushurl",
            "skipdefaultupdate",
            "skipfetchall",
            "tagopt",
            "url",
        ],
    ),
    ("rerere", &["autoupdate", "enabled"]),
    ("status", &[]),
    ("submodule", &["active", "branch", "fetchjobs", "ignore", "recurse", "url"]),
    ("tag", &["gpgsign", "sort"]),
    ("user", &["email", "name", "signingkey", "useconfigonly"]),
    ("worktree", &["guessremote"]),
];
/// Sections of drivers, which attributes turn on.
const DRIVERS: [&str; 3] = ["diff", "filter", "merge"];

/// What a file of settings makes git run.
#[derive(Default)]
pub(super) struct Settings {
    /// The settings that count, one in a line. Empty where none does.
    running: String,
    /// Words of them that may name a program, or a folder of them.
    pub(super) words: Vec<String>,
    /// Further files of settings, as they are written.
    pub(super) includes: Vec<String>,
    /// Whether there are drivers.
    pub(super) drives: bool,
}

impl Settings {
    /// Of a file, if it is there.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok().filter(|it| it.is_file())?;
        let small = meta.len() <= MOST_BYTES;
        let bytes = if small { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
        let text = String::from_utf8(bytes).ok().filter(|_| small);
        Some(text.map_or_else(|| Self::unread("?"), |text| Self::of(&text)))
    }

    fn of(text: &str) -> Self {
        Self::parsed(text).unwrap_or_else(|| Self::unread(text))
    }

    pub(super) fn runs_something(&self) -> bool {
        !self.running.is_empty()
    }

    /// Settings that are written as git does not write them may say anything.
    fn unread(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        let paths = lines.filter(|it| it.0.to_lowercase().contains("path"));
        Self {
            running: text.to_owned(),
            words: parts(text).collect(),
            includes: paths.map(|it| unquoted(it.1)).collect(),
            drives: true,
        }
    }

    fn parsed(text: &str) -> Option<Self> {
        let mut found = Self::default();
        let mut section: Option<(String, String)> = None;
        for line in text.lines() {
            // What follows would be a part of the same value.
            if line.ends_with('\\') {
                return None;
            }
            let mut rest = line.trim();
            while let Some(header) = rest.strip_prefix('[') {
                let (name, behind) = section_of(header)?;
                section = Some(name);
                rest = behind.trim_start();
            }
            if rest.is_empty() || rest.starts_with(['#', ';']) {
                continue;
            }
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let (key, value) =
                rest.split_at_checked(rest.find(|c| !is_part(c)).unwrap_or(rest.len()))?;
            let value = value.trim_start();
            let value = match value.strip_prefix('=') {
                Some(value) => value.trim(),
                None if value.is_empty() || value.starts_with(['#', ';']) => "",
                None => return None,
            };
            let (section, inner) = section.as_ref()?;
            if !key.starts_with(|c: char| c.is_ascii_alphabetic()) {
                return None;
            }
            found.set(section, inner, &key.to_ascii_lowercase(), value);
        }
        Some(found)
    }

    fn set(&mut self, section: &str, inner: &str, key: &str, value: &str) {
        if is_harmless(section, key, value) {
            return;
        }
        self.running.push_str(&format!("{section}.{inner}.{key}={value}\n"));
        self.words.extend(parts(value));
        self.drives |= DRIVERS.contains(&section) || key == "attributesfile";
        if section.starts_with("include") && key == "path" {
            self.includes.push(unquoted(value));
        }
    }
}

fn is_harmless(section: &str, key: &str, value: &str) -> bool {
    // `ext::sh -c …` is an address too, and `!cmd` a way to update.
    if value.contains("::") || value.trim_start_matches('"').starts_with('!') {
        return false;
    }
    match section {
        "branch" => key != "mergeoptions",
        _ => HARMLESS
            .iter()
            .any(|(name, keys)| *name == section && (keys.is_empty() || keys.contains(&key))),
    }
}

/// `core]`, `remote "origin"] …`, `branch.main]`: the section and what is named in it, and what stands behind.
fn section_of(header: &str) -> Option<((String, String), &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let (name, rest) =
        header.split_at_checked(header.find(|c| !is_part(c)).unwrap_or(header.len()))?;
    if name.is_empty() {
        return None;
    }
    let (section, inner) = name.split_once('.').unwrap_or((name, ""));
    let section = section.to_ascii_lowercase();
    if let Some(behind) = rest.strip_prefix(']') {
        return Some(((section, inner.to_ascii_lowercase()), behind));
    }
    let quoted = rest.trim_start().strip_prefix('"').filter(|_| inner.is_empty())?;
    let mut escaped = false;
    let end = quoted.find(|c| {
        let is_end = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        is_end
    })?;
    let behind = quoted.get(end.saturating_add(1)..)?.strip_prefix(']')?;
    Some(((section, quoted.get(..end)?.to_owned()), behind))
}

fn unquoted(value: &str) -> String {
    let bare = value.split(" #").next().unwrap_or_default().split(" ;").next().unwrap_or_default();
    bare.trim().trim_matches('"').to_owned()
}

/// What to hash in place of a file, if it holds a repository's settings: only what makes git run something.
pub(crate) fn counted(file: &Path, text: &[u8]) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let is_one = matches!(name, "config" | "config.worktree")
        && file.iter().any(|part| part == ".git")
        && u64::try_from(text.len()).is_ok_and(|length| length <= MOST_BYTES);
    let text = is_one.then(|| std::str::from_utf8(text).ok()).flatten()?;
    Some(Settings::parsed(text)?.running)
}
