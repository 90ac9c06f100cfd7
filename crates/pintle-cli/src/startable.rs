//! Whether the programs of a profile's hooks can be started at all: a gate that cannot run blocks everything it judges, and
//! whoever looks a profile over hears of that before.

use std::path::{Path, PathBuf};

use pintle_policy::{
    Operator, Profile,
    profile::{Action, Hook, Run},
    shell::simple_commands,
};
use rustix::fs::{Access, access};

use crate::environment::Environment;

/// What a shell does itself.
const BUILT_IN: &[&str] = &[
    ".", ":", "[", "[[", "alias", "break", "cd", "command", "continue", "declare", "echo", "eval",
    "exec", "exit", "export", "false", "getopts", "hash", "kill", "let", "local", "printf", "pwd",
    "read", "readonly", "return", "set", "shift", "source", "test", "times", "trap", "true",
    "type", "ulimit", "umask", "unset", "wait",
];

/// A line that looks first whether a program is there knows what to do without it.
const LOOKS_FIRST: &[&str] = &["||", "if ", "command -v", "type ", "which ", "()", "PATH="];

/// What is told of hooks whose program is not there, or may not be executed.
pub(crate) fn unstartable(
    environment: &Environment,
    operator: &Operator,
    profile: &Profile,
) -> Vec<String> {
    let set =
        operator.hook_env.iter().find(|(name, _)| *name == "PATH").map(|(_, path)| path.as_str());
    let Some(path) = set.or(environment.search_path()) else { return Vec::new() };
    let places: Vec<PathBuf> = path.split(':').map(PathBuf::from).collect();
    let told = |hook: &Hook| {
        let Action::Command { run, .. } = &hook.action else { return None };
        let why = names(run).into_iter().find_map(|name| why_not(&name, &profile.dir, &places))?;
        let so = "so this hook cannot run, and what it judges is blocked";
        Some(format!("{}: {why}, {so}", hook.source))
    };
    profile.hooks.iter().filter_map(told).collect()
}

/// The programs that it surely starts.
fn names(run: &Run) -> Vec<String> {
    match run {
        Run::Argv(argv) => argv.iter().take(1).cloned().collect(),
        Run::Shell(line) if LOOKS_FIRST.iter().any(|sign| line.contains(sign)) => Vec::new(),
        Run::Shell(line) => {
            let commands = simple_commands(line).unwrap_or_default();
            let names = commands.iter().filter_map(|command| command.name.literal());
            let is_started = |name: &&str| !name.is_empty() && !BUILT_IN.contains(name);
            names.filter(is_started).map(str::to_owned).collect()
        }
    }
}

fn why_not(name: &str, folder: &Path, places: &[PathBuf]) -> Option<String> {
    let may_run = |file: &Path| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    if !name.contains('/') {
        let found = places.iter().any(|place| may_run(&folder.join(place).join(name)));
        return (!found).then(|| format!("there is no program `{name}` on the PATH"));
    }
    let file = folder.join(name);
    match () {
        () if may_run(&file) => None,
        () if file.is_file() => Some(format!("`{name}` may not be executed (`chmod +x {name}`)")),
        () => Some(format!("there is no program `{name}`")),
    }
}
