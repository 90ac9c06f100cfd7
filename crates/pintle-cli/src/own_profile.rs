//! An agent that changes the rules it works under is asked about, whatever the rules say.

use std::path::{Path, PathBuf};

use pintle::{Event, Hooks, Verdict, points::ToolPre};
use pintle_policy::{PATH_FIELDS, Profile, Zone, is_inside, shell};
use serde_json::Value;

use crate::problem::Problem;

/// Binds the profile guard: a call that would write to agent.json, a personality, a hook's script or anything in its
/// folder, or the operator's data waits for a person. The profile is read anew between runs, so a word too many in it would be in force at once.
pub(crate) fn bind(
    hooks: &Hooks,
    profile: &Profile,
    data: &Path,
    workspace: &Path,
) -> Result<(), Problem> {
    let mut own: Vec<PathBuf> =
        profile.scripts.places().map(|place| profile.dir.join(place)).collect();
    own.extend(["agent.json", "personalities"].map(|name| profile.dir.join(name)));
    own.push(data.to_path_buf());
    let workspace = workspace.to_path_buf();
    let guard = move |e: Event<ToolPre>| {
        let found = (e.zone > Zone::Safe.number())
            .then(|| reached(&e.tool_name, &e.tool_input, &workspace, &own))
            .flatten();
        async move {
            match found {
                Some(path) => {
                    Verdict::ask(format!("it may change the rules the agent works under ({path})"))
                }
                None => Verdict::allow(),
            }
        }
    };
    let registrar = hooks.named("profile guard").source("built-in").priority(i32::MIN);
    registrar.register_gate(guard).map(drop).map_err(Problem::new)
}

/// The first path in the call that leads to one of the agent's own files.
fn reached(tool: &str, input: &Value, workspace: &Path, own: &[PathBuf]) -> Option<String> {
    let leads =
        |base: &Path, path: &str| own.iter().any(|file| is_inside(file, base, Path::new(path)));
    let text = |field: &str| input.get(field).and_then(Value::as_str);
    if let Some(path) =
        PATH_FIELDS.iter().filter_map(|field| text(field)).find(|p| leads(workspace, p))
    {
        return Some(path.to_string());
    }
    let command = text("command").filter(|_| tool == "terminal")?;
    let cwd = workspace.join(text("cwd").unwrap_or_default());
    let commands = shell::simple_commands(command).ok()?;
    commands
        .iter()
        .flat_map(|command| {
            let targets = command.redirects.iter().map(|redirect| redirect.target.text());
            command.args.iter().map(|word| word.text()).chain(targets)
        })
        .flat_map(|word| [word, word.rsplit('=').next().unwrap_or(word)])
        .find(|word| !word.is_empty() && leads(&cwd, word))
        .map(str::to_string)
}
