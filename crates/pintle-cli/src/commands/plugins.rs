//! `pintle plugins`: lists, adds, grants and creates plugins.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use pintle::Hooks;
use pintle_gateway::api::AddedPlugin;
use pintle_plugins::{Capability, Installed, InstalledPlugin, Kind, Manifest};
use pintle_profile::typed;
use rustix::termios::{QueueSelector, tcflush};
use serde_json::{Value, json};

use crate::{
    agents::refuse_agents,
    args::{Language, PluginsCommand, PluginsOf},
    environment::Environment,
    out::{say, say_json, say_line, say_pretty_json, tell},
    plugins::of_installed,
    problem::Problem,
    shown::{Show, Shown, bold, cyan, dim, green, red, text, yellow},
    term::{Column, Glyph, Table, width},
};

pub(crate) fn run(environment: &Environment, plugins: PluginsOf) -> Result<ExitCode, Problem> {
    match plugins.command.unwrap_or(PluginsCommand::List) {
        PluginsCommand::List => list(environment)?,
        PluginsCommand::New { dir, language } => new(environment, &dir, language)?,
        PluginsCommand::Add { dir, grant, yes } => add(environment, &dir, &grant, yes)?,
        PluginsCommand::Remove { id } => {
            refuse_agents("remove a plugin")?;
            Installed::remove(&environment.data_dir()?, &id).map_err(of_installed)?;
            report(environment, &id, "removed", json!({ "removed": id }))?;
        }
        PluginsCommand::Grant { id, capabilities } => {
            let grant = chosen(environment, &id, &capabilities)?;
            change(environment, &id, &grant, &[])?;
        }
        PluginsCommand::Revoke { id, capabilities } => {
            let revoke = chosen(environment, &id, &capabilities)?;
            change(environment, &id, &[], &revoke)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn report(environment: &Environment, id: &str, what: &str, json: Value) -> Result<(), Problem> {
    match environment.json {
        true => say_json(&json)?,
        false => say!("{} {} {}", Glyph::Ok, bold(id), what),
    }
    Ok(())
}

/// The capabilities that were named; all that the plugin asks for, if none was.
fn chosen(
    environment: &Environment,
    id: &str,
    named: &[String],
) -> Result<Vec<Capability>, Problem> {
    if named.is_empty() {
        let installed = Installed::read(&environment.data_dir()?).map_err(of_installed)?;
        return Ok(installed.get(id).map_err(of_installed)?.manifest.capabilities);
    }
    parsed(named)
}

fn parsed(named: &[String]) -> Result<Vec<Capability>, Problem> {
    named.iter().map(|it| it.parse().map_err(Problem::usage)).collect()
}

fn change(
    environment: &Environment,
    id: &str,
    grant: &[Capability],
    revoke: &[Capability],
) -> Result<(), Problem> {
    refuse_agents("grant a plugin anything")?;
    let data = environment.data_dir()?;
    Installed::set_grants(&data, id, grant, revoke).map_err(of_installed)?;
    let plugin = Installed::read(&data).and_then(|all| all.get(id)).map_err(of_installed)?;
    let has = granted(&plugin);
    let words = if has.is_empty() {
        "may do nothing".to_owned()
    } else {
        format!("may: {}", has.join(", "))
    };
    report(environment, id, &words, json!({ "id": id, "granted": has }))
}

fn granted(plugin: &InstalledPlugin) -> Vec<String> {
    let asked = plugin.manifest.capabilities.iter();
    asked.filter(|it| plugin.grants.allows(it)).map(ToString::to_string).collect()
}

/// Every plugin that was added, as the page shows it; `loaded` are the ids of those that the agent has.
pub(crate) fn on_page(
    environment: &Environment,
    loaded: &[String],
) -> Result<Vec<AddedPlugin>, Problem> {
    let installed = Installed::read(&environment.data_dir()?).map_err(of_installed)?;
    let view = |id: &str| {
        let plugin = installed.get(id).map_err(of_installed);
        let (state, notes) = state(&plugin);
        let state = match (state, loaded.iter().any(|it| it == id)) {
            ("ready", true) => "active",
            ("ready" | "lacks grants", false) => "not used",
            (state, _) => state,
        };
        let fact = |fact: fn(&Manifest) -> String| {
            plugin.as_ref().map(|it| fact(&it.manifest)).unwrap_or_default()
        };
        AddedPlugin {
            id: id.to_owned(),
            version: fact(|it| it.version.clone()),
            kind: fact(|it| it.kind.to_string()),
            grants: plugin.as_ref().map(granted).unwrap_or_default(),
            state: state.to_owned(),
            notes,
        }
    };
    Ok(installed.ids().map(view).collect())
}

/// Whether a plugin that was added can be used, in a word, and why not.
fn state(plugin: &Result<InstalledPlugin, Problem>) -> (&'static str, Vec<String>) {
    match plugin {
        Err(problem) => {
            let (said, _, fixes) = problem.parts();
            let fixes = fixes.iter().map(|fix| format!("fix: {fix}"));
            ("unusable", std::iter::once(said.to_owned()).chain(fixes).collect())
        }
        Ok(plugin) => {
            let problems = plugin.manifest.problems(&Hooks::new());
            if !problems.is_empty() {
                return ("invalid", problems);
            }
            let lacks = plugin.manifest.capabilities.iter().filter(|it| !plugin.grants.allows(it));
            let lacks: Vec<String> =
                lacks.map(|it| format!("`{it}` is not granted: {}", it.in_words())).collect();
            (if lacks.is_empty() { "ready" } else { "lacks grants" }, lacks)
        }
    }
}

fn list(environment: &Environment) -> Result<(), Problem> {
    let installed = Installed::read(&environment.data_dir()?).map_err(of_installed)?;
    let of = |id: &str| installed.get(id).map_err(of_installed);
    let all: Vec<_> = installed.ids().map(|id| (id, of(id))).collect();
    if environment.json {
        let facts = all.iter().map(|(id, plugin)| {
            let (state, notes) = state(plugin);
            let mut facts = json!({ "id": id, "state": state, "notes": notes });
            if let (Ok(plugin), Value::Object(facts)) = (plugin, &mut facts) {
                facts.insert("granted".into(), json!(granted(plugin)));
                facts.insert("from".into(), json!(plugin.from));
                facts.insert("manifest".into(), json!(plugin.manifest));
            }
            facts
        });
        return say_pretty_json(&facts.collect::<Vec<_>>());
    }
    if all.is_empty() {
        say!("No plugins yet. {} writes one.", cyan("pintle plugins new NAME"));
        return Ok(());
    }
    let mut table = Table::new([
        Column::new("PLUGIN"),
        Column::new("VERSION"),
        Column::new("KIND"),
        Column::new("STATE"),
        Column::new("MAY").loses_end(),
    ]);
    for (id, plugin) in &all {
        let fact = |fact: fn(&Manifest) -> String| {
            plugin.as_ref().map(|it| fact(&it.manifest)).unwrap_or_default()
        };
        table.row([
            bold(id),
            fact(|it| it.version.clone()).shown(),
            fact(|it| it.kind.to_string()).shown(),
            coloured(state(plugin).0),
            plugin.as_ref().map(|it| granted(it).join(", ")).unwrap_or_default().shown(),
        ]);
    }
    table.lines(width()).iter().for_each(say_line);
    for (id, plugin) in &all {
        for note in state(plugin).1 {
            say!("{} {}: {}", Glyph::Warning, id, note);
        }
    }
    Ok(())
}

fn coloured(state: &'static str) -> Shown {
    match state {
        "ready" => green(state),
        "lacks grants" => yellow(state),
        _ => bold(red(state.to_uppercase())),
    }
}

fn add(environment: &Environment, dir: &Path, grant: &[String], yes: bool) -> Result<(), Problem> {
    refuse_agents("add a plugin")?;
    let dir = environment.absolute(dir)?;
    let manifest = Installed::manifest_in(&dir).map_err(of_installed)?;
    let problems = manifest.problems(&Hooks::new());
    if let Some((first, rest)) = problems.split_first() {
        let problem = Problem::new(format!("{}: {first}", dir.join("plugin.json").display()));
        return Err(rest.iter().fold(problem, |problem, it| problem.fix(format!("also: {it}"))));
    }
    if manifest.kind == Kind::Native {
        return Err(Problem::new("a native plugin is part of a program and cannot be added"));
    }
    let grants = match (yes, grant.is_empty()) {
        (true, _) => manifest.capabilities.clone(),
        (false, false) => parsed(grant)?,
        (false, true) => asked(environment, &manifest)?,
    };
    let data = environment.create_data_dir()?;
    if let Some(stranger) = grants.iter().find(|it| !manifest.capabilities.contains(it)) {
        return Err(Problem::new(format!(
            "the plugin `{}` does not ask for `{stranger}`",
            manifest.id
        )));
    }
    let added = Installed::add(&data, &dir, grants).map_err(of_installed)?;
    let Manifest { id, version, .. } = &added.manifest;
    if environment.json {
        return say_json(&json!({ "id": id, "version": version, "granted": granted(&added) }));
    }
    say!("{} {} {} added as it is now", Glyph::Ok, bold(id), version);
    for capability in &added.manifest.capabilities {
        let mark = match added.grants.allows(capability) {
            true => green("granted"),
            false => yellow("not granted"),
        };
        say!("  {} {} · {}", mark, cyan(capability.to_string()), capability.in_words());
    }
    if added.manifest.capabilities.iter().any(|it| !added.grants.allows(it)) {
        say!("{}", dim(text!("pintle plugins grant {} grants the rest", id)));
    }
    say!("It runs for a profile that names it: {}", cyan(text!("\"plugins\": [\"{}\"]", id)));
    Ok(())
}

/// The capabilities that the person at the terminal grants; without a terminal, no new ones.
fn asked(environment: &Environment, manifest: &Manifest) -> Result<Vec<Capability>, Problem> {
    if manifest.capabilities.is_empty()
        || !environment.stdin_is_terminal
        || !environment.stderr_is_terminal
    {
        return Ok(Vec::new());
    }
    tell!("{} {} asks for:", bold(&manifest.id), manifest.version);
    for capability in &manifest.capabilities {
        tell!("  {} · {}", cyan(capability.to_string()), capability.in_words());
    }
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    tell!("{} {}", Glyph::Ask, bold("Grant all of it?  y yes   n nothing yet"));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(match answer.trim() {
        "y" | "Y" | "yes" => manifest.capabilities.clone(),
        _ => Vec::new(),
    })
}

const PYTHON: [(&str, &str); 4] = [
    ("plugin.json", include_str!("../sample/plugin/python.json")),
    ("plugin.py", include_str!("../sample/plugin/plugin.py")),
    ("test_plugin.py", include_str!("../sample/plugin/test_plugin.py")),
    ("pintle_worker.py", include_str!("../sample/plugin/pintle_worker.py")),
];
const NODE: [(&str, &str); 5] = [
    ("plugin.json", include_str!("../sample/plugin/node.json")),
    ("plugin.mjs", include_str!("../sample/plugin/plugin.mjs")),
    ("handlers.mjs", include_str!("../sample/plugin/handlers.mjs")),
    ("plugin.test.mjs", include_str!("../sample/plugin/plugin.test.mjs")),
    ("pintle-worker.mjs", include_str!("../sample/plugin/pintle-worker.mjs")),
];

fn new(environment: &Environment, dir: &Path, language: Language) -> Result<(), Problem> {
    let (files, test): (&[_], _) = match language {
        Language::Python => (&PYTHON, "python3 -m unittest"),
        Language::Node => (&NODE, "node --test"),
    };
    let folder = environment.absolute(dir)?;
    let id = folder.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let probe = Manifest::native(id.as_str(), "1").problems(&Hooks::new());
    if let Some(problem) = probe.first() {
        return Err(
            Problem::new(problem).fix("name the folder like `today`: its name is the plugin's id")
        );
    }
    if let Some((taken, _)) = files.iter().find(|(name, _)| folder.join(name).exists()) {
        let taken = folder.join(taken);
        return Err(Problem::new(format!(
            "{} already exists; nothing was written",
            taken.display()
        ))
        .fix("choose another folder: pintle plugins new DIR"));
    }
    for (name, text) in files {
        let path = folder.join(name);
        let failed = |error| Problem::io(format!("cannot write {}", path.display()), &error);
        fs::create_dir_all(&folder).map_err(failed)?;
        let mut file = fs::File::create_new(&path).map_err(failed)?;
        file.write_all(text.replace("PLUGIN_ID", &id).as_bytes()).map_err(failed)?;
        if !environment.json {
            say!("{} {}", green("wrote"), dir.join(name).display());
        }
    }
    if environment.json {
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        return say_json(&json!({ "id": id, "folder": folder, "files": names, "test": test }));
    }
    let shown = typed(dir);
    say!("\nnext:");
    say!("  {}", cyan(text!("(cd {} && {})", shown, test)));
    say!("  {}", cyan(text!("pintle plugins add {}", shown)));
    Ok(())
}
