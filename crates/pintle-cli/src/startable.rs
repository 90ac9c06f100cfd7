//! Whether the programs of a profile's hooks can be started at all: a gate that cannot run blocks everything it judges, and
//! whoever looks a profile over hears of that before.

use std::path::{Path, PathBuf};

use pintle_policy::{
    Operator, Profile,
    profile::{Action, Hook, Run},
    shell::{SimpleCommand, simple_commands},
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

/// Whoever starts programs of its own: those that it is told to start need not be on the PATH.
const BRINGS: &[&str] = &[
    "bundle", "bunx", "cargo", "docker", "nix", "npm", "npx", "pipx", "pnpm", "poetry", "podman",
    "ssh", "uv", "uvx", "yarn",
];

/// A line that looks first whether a program is there knows what to do without it.
const LOOKS_FIRST: &[&str] =
    &["||", "if ", "case ", "command -v", "type ", "which ", "()", "PATH=", ". ", "source "];

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
        let why = names(run)
            .into_iter()
            .find_map(|name| why_not(&name, &profile.dir, &places))
            .or_else(|| missing_script(run, &profile.dir))?;
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
            let Ok(commands) = simple_commands(line) else { return first_word(line) };
            let mut names = Vec::new();
            for name in commands.iter().filter_map(|command| command.name.literal()) {
                if is_started(name) {
                    names.push(name.to_owned());
                }
                if BRINGS.contains(&name) {
                    break;
                }
            }
            names
        }
    }
}

/// What runs the script that it is given.
const INTERPRETERS: &[&str] = &[
    "bash", "bun", "dash", "deno", "ksh", "lua", "node", "perl", "php", "ruby", "sh", "tsx", "zsh",
];

/// The script that an interpreter is given, if it is not there.
fn missing_script(run: &Run, folder: &Path) -> Option<String> {
    let commands: Vec<Vec<String>> = match run {
        Run::Argv(argv) => vec![argv.clone()],
        Run::Shell(line) if LOOKS_FIRST.iter().any(|sign| line.contains(sign)) => return None,
        Run::Shell(line) if line.contains("cd ") => return None,
        Run::Shell(line) => {
            let words = |command: &SimpleCommand| {
                let all = std::iter::once(&command.name).chain(&command.args);
                all.map_while(|word| word.literal().map(str::to_owned)).collect()
            };
            simple_commands(line).ok()?.iter().map(words).collect()
        }
    };
    let missing = |words: Vec<String>| {
        let (program, args) = words.split_first()?;
        let name = program.rsplit('/').next().unwrap_or(program);
        let is_one = INTERPRETERS.contains(&name) || name.starts_with("python");
        // An option may say that no script follows: `-c`, `-m`, `-e`.
        let script = args.first().filter(|it| is_one && !it.starts_with('-'))?;
        let is_path = script.contains('/') || Path::new(script).extension().is_some();
        (is_path && !folder.join(script).exists()).then(|| format!("there is no script `{script}`"))
    };
    commands.into_iter().find_map(missing)
}

/// Of a line that nobody else can read, as with an option of `uv run` that is not known here.
fn first_word(line: &str) -> Vec<String> {
    let is_plain =
        |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    let first = line.split_whitespace().next().filter(is_plain);
    first.filter(|word| is_started(word)).map(str::to_owned).into_iter().collect()
}

fn is_started(name: &str) -> bool {
    const RESERVED: &[&str] =
        &["case", "coproc", "for", "function", "if", "select", "time", "until", "while"];
    !name.is_empty() && !BUILT_IN.contains(&name) && !RESERVED.contains(&name)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_script_that_an_interpreter_is_given_has_to_be_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("there.py"), "").unwrap();
        let missing = |run: &Run| missing_script(run, folder.path());
        let line = |line: &str| missing(&Run::Shell(line.to_owned()));
        for script in
            ["python3 hooks/a.py", "node hooks/a.js x", "sh hooks/a.sh | cat", "bash a.sh"]
        {
            assert!(line(script).unwrap().starts_with("there is no script `"), "{script}");
        }
        let argv = ["python3", "hooks/a.py"].map(str::to_owned).to_vec();
        assert_eq!(missing(&Run::Argv(argv)).unwrap(), "there is no script `hooks/a.py`");
        for fine in [
            "python3 there.py",
            "python3 -m json.tool",
            "python3 -c 'import a.b'",
            "sh -c 'x.y'",
            "cd hooks && sh a.sh",
            "[ -f a.sh ] && sh a.sh || true",
            "cat hooks/a.py",
        ] {
            assert_eq!(line(fine), None, "{fine}");
        }
    }
}
