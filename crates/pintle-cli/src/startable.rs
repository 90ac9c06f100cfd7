//! Checks whether the programs of a profile's hooks can be started: a gate that cannot run blocks every call it judges.

use std::path::{Path, PathBuf};

use pintle_profile::{HOOKS_FOLDER, Hook, Operator, Profile, Run};
use rustix::fs::{Access, access};

use crate::environment::Environment;

/// Warnings about hooks whose program is missing or not executable.
pub(crate) fn unstartable(
    environment: &Environment,
    operator: &Operator,
    profile: &Profile,
) -> Vec<String> {
    let set =
        operator.hook_env.iter().find(|(name, _)| *name == "PATH").map(|(_, path)| path.as_str());
    let Some(path) = set.or(environment.search_path()) else { return Vec::new() };
    let places: Vec<PathBuf> = path.split(':').map(|place| profile.dir.join(place)).collect();
    let warning = |hook: &Hook| {
        let why = why_not(&hook.uses.program.as_ref()?.value, &profile.dir, &places)?;
        let so = "so this hook cannot run, and it blocks everything that it judges";
        Some(format!("{}: {why}, {so}", hook.source))
    };
    profile.hooks.iter().filter_map(warning).collect()
}

fn why_not(run: &Run, folder: &Path, places: &[PathBuf]) -> Option<String> {
    let may_run = |file: &Path| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    // What a line for the shell starts is the shell's to find.
    let Run::Argv(words) = run else { return None };
    let bad_program = |name: &String| {
        let file = folder.join(name);
        if !name.contains('/') {
            let found = places.iter().any(|place| may_run(&place.join(name)));
            return (!found).then(|| format!("there is no program `{name}` on the PATH"));
        }
        match () {
            () if may_run(&file) => None,
            () if file.is_file() => {
                Some(format!("`{name}` may not be executed (`chmod +x {name}`)"))
            }
            () => Some(format!("there is no program `{name}`")),
        }
    };
    let missing_script = |word: &String| {
        let is_missing = Path::new(word).starts_with(HOOKS_FOLDER) && !folder.join(word).exists();
        is_missing.then(|| format!("there is no script `{word}`"))
    };
    words.first().and_then(bad_program).or_else(|| words.iter().find_map(missing_script))
}
