//! The texts in a script, whatever its language: what stands between quotes.

const QUOTES: [char; 3] = ['"', '\'', '`'];
/// How far back what is done with a text is looked for.
const NEAR: usize = 24;
/// A text that others are held against names nothing that is loaded.
const COMPARES: [&str; 16] = [
    "==",
    "!=",
    "=~",
    "~",
    " in",
    " eq",
    "startswith(",
    "startsWith(",
    "endswith(",
    "endsWith(",
    "includes(",
    "indexOf(",
    "match(",
    "fnmatch(",
    "search(",
    "sub(",
];
/// Functions that list what is in a folder.
const LISTS: [&str; 12] = [
    "Path(",
    "glob(",
    "Glob(",
    "globSync(",
    "iglob(",
    "listdir(",
    "opendir(",
    "readdir(",
    "readdirSync(",
    "rglob(",
    "scandir(",
    "walk(",
];

/// What is named behind these is loaded.
const LOADS: [&str; 4] = ["from", "import", "import(", "require("];

/// By these a script runs, loads or lists what it does not name.
const REACHES: [&str; 33] = [
    "@INC",
    "Dir.",
    "Dir[",
    "__import__",
    "chdir",
    "child_process",
    "compile(",
    "createRequire",
    "cwd",
    "do $",
    "eval(",
    "exec(",
    "execfile",
    "fork",
    "glob",
    "import(",
    "import_module",
    "iterdir",
    "listdir",
    "load f",
    "loadfile",
    "popen",
    "readdir",
    "require File",
    "require_relative",
    "runpy",
    "scandir",
    "spawn",
    "spec_from",
    "subprocess",
    "sys.path",
    "system",
    "use lib",
];

/// Whether a script in whatever language may load more than it names: one that only looks at texts does not.
pub(super) fn reaches_out(script: &str) -> bool {
    let computed = |call: &str| !call.trim_start().starts_with(QUOTES);
    REACHES.iter().any(|way| script.contains(way))
        || script.contains("walk(")
        || script.split("require(").skip(1).any(computed)
}

pub(super) struct Found {
    pub(super) text: String,
    pub(super) is_compared: bool,
    pub(super) is_listed: bool,
    pub(super) is_loaded: bool,
    before: String,
}

impl Found {
    /// Whether it could be a line for a shell that loads something: to read each text as one would take long.
    pub(super) fn may_be_a_line(&self) -> bool {
        const SIGNS: [&str; 8] =
            ["cd ", "pushd ", "git ", "make ", "sh ", "python", "source ", "/"];
        self.text.starts_with(". ") || SIGNS.iter().any(|sign| self.text.contains(sign))
    }

    /// Whether it stands for all that is there: `walk(".")`, `rglob("x")`.
    pub(super) fn is_everything(&self) -> bool {
        let is_here = matches!(self.text.as_str(), "." | "./" | "") || self.text.starts_with("**");
        self.is_listed && (is_here || self.before.ends_with("rglob("))
    }

    /// It and what is done with it, to be shown.
    pub(super) fn line(&self) -> String {
        let name = self.before.rsplit(|c: char| !c.is_alphanumeric() && !"._(".contains(c)).next();
        format!("{}\"{}\")", name.unwrap_or_default(), self.text)
    }
}

/// All of them, as far as a text ends in the line in which it begins.
pub(super) fn strings(script: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for line in script.lines() {
        let mut rest = line;
        while let Some(start) = rest.find(QUOTES) {
            let (before, from) = rest.split_at(start);
            let mut chars = from.char_indices();
            let Some((_, quote)) = chars.next() else { break };
            let mut escaped = false;
            let end = chars.find(|(_, c)| {
                let ends = *c == quote && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            // A quote alone: an apostrophe, or a text of several lines.
            let Some((end, _)) = end else {
                rest = from.get(1..).unwrap_or_default();
                continue;
            };
            let text = from.get(1..end).unwrap_or_default().to_owned();
            let near = before.floor_char_boundary(before.len().saturating_sub(NEAR));
            let before = before.get(near..).unwrap_or_default();
            let before = before.trim_end_matches(['r', 'f', 'b', 'u']).trim_end();
            let ends_in = |ends: &[&str]| ends.iter().any(|end| before.ends_with(end));
            let (is_compared, is_listed) = (ends_in(&COMPARES), ends_in(&LISTS));
            let is_loaded = ends_in(&LOADS);
            found.push(Found {
                text,
                is_compared,
                is_listed,
                is_loaded,
                before: before.to_owned(),
            });
            rest = from.get(end.saturating_add(1)..).unwrap_or_default();
        }
    }
    found
}
