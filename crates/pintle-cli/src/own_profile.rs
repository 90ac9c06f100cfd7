//! An agent that changes the rules it works under, or runs the program that keeps them, is asked about, whatever the rules
//! say.

mod awk;
mod bases;
mod carried;
mod commands;
mod copies;
mod effect;
mod git;
mod reasons;
#[cfg(test)]
mod tests;
mod unpack;

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use pintle::{Event, Hooks, Verdict, points::ToolPre};
use pintle_policy::{
    PATH_FIELDS, Profile, Zone,
    profile::{Awaited, is_module_here},
    resolve,
};
use serde_json::Value;

use crate::problem::Problem;
use reasons::Counts;

/// What the hook is called.
pub(crate) const GUARD: &str = "profile guard";

/// Binds the profile guard: a call that would write to agent.json, a personality, a hook's script or anything in its
/// folder, or the operator's data waits for a person. The profile is read anew between runs, so a word too many in it would be
/// in force at once. So does a command that runs `pintle`: trust and approvals are a person's to give. Without a profile the
/// operator's data is left to guard: it may lie in the workspace, as it does for whoever works in their home folder.
pub(crate) fn bind(
    hooks: &Hooks,
    profile: Option<&Profile>,
    data: Option<PathBuf>,
    workspace: &Path,
) -> Result<(), Problem> {
    let (mut files, mut scripts) = (Vec::from_iter(data), Vec::new());
    let (mut counts, mut modules, mut awaited) = (Vec::new(), None, None);
    if let Some(profile) = profile {
        counts = reasons::of(profile);
        awaited = Some((profile.dir.clone(), profile.scripts.awaited.clone()));
        modules = profile.scripts.python_here.as_ref().map(|_| profile.dir.clone());
        files.extend(profile.scripts.places().map(|place| profile.dir.join(place)));
        files.extend(["agent.json", "personalities"].map(|name| profile.dir.join(name)));
        scripts.extend(profile.scripts.files.iter().map(|file| profile.dir.join(file)));
    }
    let program = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    let workspace = workspace.to_path_buf();
    let own = Own { files, scripts, modules, awaited, counts, program, workspace };
    let guard = move |e: Event<ToolPre>| {
        let found = (e.zone > Zone::Safe.number())
            .then(|| own.concern(&e.tool_name, &e.tool_input, e.zone < Zone::Machine.number()))
            .flatten();
        async move { found.map_or_else(Verdict::allow, Verdict::ask) }
    };
    let registrar = hooks.named(GUARD).source("built-in").priority(i32::MIN);
    registrar.register_gate(guard).map(drop).map_err(Problem::new)
}

/// What an agent works under.
struct Own {
    /// Files, and folders of which everything counts.
    files: Vec<PathBuf>,
    /// What is known to be in them: a word that is decided at run time may end like one.
    scripts: Vec<PathBuf>,
    /// Where Python looks for modules first, if a hook's script gives it a program.
    modules: Option<PathBuf>,
    /// What is not there and would count, and the profile's folder.
    awaited: Option<(PathBuf, Awaited)>,
    /// Why some of them count.
    counts: Vec<Counts>,
    /// The running program.
    program: Option<PathBuf>,
    workspace: PathBuf,
}

impl Own {
    /// Why a person must see the call first. One that stays in the workspace, as its zone says, can mean only what is there.
    fn concern(&self, tool: &str, input: &Value, stays: bool) -> Option<String> {
        let real = self.files.iter().filter_map(|file| resolve(file, Path::new("")).ok());
        let all = self.files.iter().chain(self.scripts.iter().take(MOST_LOOKED_AT));
        let workspace = resolve(&self.workspace, Path::new("")).ok();
        let may_be_meant = |file: &&PathBuf| {
            let real = resolve(file, Path::new("")).ok();
            let places = workspace.as_ref().zip(real);
            !stays || places.is_none_or(|(a, b)| a.starts_with(&b) || b.starts_with(a))
        };
        let near: Vec<&PathBuf> = self.files.iter().filter(may_be_meant).collect();
        // There may be thousands: they are told by the folders that they count with, and not looked up.
        let is_near = |script: &&PathBuf| near.iter().any(|place| script.starts_with(place));
        let look = Look {
            own: self,
            near_scripts: self.scripts.iter().filter(is_near).collect(),
            near,
            real: real.collect(),
            identities: all.filter_map(|file| identity(file)).collect(),
        };
        let changes =
            |path: &str| look.changes(path, &[path], std::slice::from_ref(&self.workspace));
        let text = |field: &str| input.get(field).and_then(Value::as_str);
        if tool == "terminal" {
            let command = text("command").unwrap_or_default();
            let cwd = self.workspace.join(text("cwd").unwrap_or_default());
            return look.of_command(command, &cwd);
        }
        let named: Vec<&str> = match Zone::of_tool(tool) {
            // Nobody knows which of a stranger's fields are paths.
            Zone::External => texts(input),
            _ => PATH_FIELDS.iter().filter_map(|field| text(field)).collect(),
        };
        named.into_iter().find(|path| look.leads(&self.workspace, path)).map(changes)
    }
}

/// The same for one call: links are followed once.
struct Look<'a> {
    own: &'a Own,
    /// Those that a word which is decided at run time may mean.
    near: Vec<&'a PathBuf>,
    near_scripts: Vec<&'a PathBuf>,
    /// The files as they really are.
    real: Vec<PathBuf>,
    /// The same as the system tells files apart: a file may have a second name, or be written in other letters.
    identities: Vec<(u64, u64)>,
}

/// For each call the files of a profile are looked at.
const MOST_LOOKED_AT: usize = 256;

fn identity(file: &Path) -> Option<(u64, u64)> {
    file.metadata().ok().map(|it| (it.dev(), it.ino()))
}

impl Look<'_> {
    /// Whether the path is one of the files, or in one of the folders.
    fn leads(&self, base: &Path, path: &str) -> bool {
        !path.is_empty() && resolve(base, Path::new(path)).is_ok_and(|path| self.holds(&path))
    }

    fn holds(&self, path: &Path) -> bool {
        let mut known = path.ancestors().filter_map(identity);
        let folder = self.own.modules.as_ref().and_then(|it| resolve(it, Path::new("")).ok());
        let inner = folder.as_ref().and_then(|folder| path.strip_prefix(folder).ok());
        self.real.iter().any(|file| path.starts_with(file))
            || inner.is_some_and(is_module_here)
            || self.awaited(path).is_some()
            || known.any(|found| self.identities.contains(&found))
    }

    /// Why a file that is not there would be one of them.
    fn awaited(&self, path: &Path) -> Option<String> {
        let (folder, awaited) = self.own.awaited.as_ref()?;
        let folder = resolve(folder, Path::new("")).ok()?;
        awaited.why(path.strip_prefix(folder).ok()?)
    }

    /// The same, or a folder above one of them.
    fn touches(&self, base: &Path, path: &str) -> bool {
        !path.is_empty()
            && resolve(base, Path::new(path)).is_ok_and(|path| {
                self.holds(&path) || self.real.iter().any(|file| file.starts_with(&path))
            })
    }
}

/// Every text in a JSON value.
fn texts(input: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut pending = vec![input];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) => found.push(text.as_str()),
            Value::Array(items) => pending.extend(items),
            Value::Object(fields) => pending.extend(fields.values()),
            _ => {}
        }
    }
    found
}
