//! The plugins of an agent: those that its profile names, as the operator added and granted them (R13.4).

use std::{path::PathBuf, sync::Arc, time::Duration};

use pintle::Hooks;
use pintle_actions::NO_BYTECODE;
use pintle_exec::CommandSpec;
use pintle_plugins::{
    GuestPlugin, Installed, InstalledError, InstalledPlugin, Kind, PluginInfo, Plugins,
    process_plugin,
};
use pintle_profile::typed;

use crate::{
    containment::Held, environment::Environment, out::tell, problem::Problem, profile::Plan,
    shown::yellow,
};

/// How long a handler of a process plugin may take whose manifest does not say.
const HANDLER: Duration = Duration::from_secs(5);

/// Loads every plugin that the profile names; a plugin that cannot be loaded keeps the agent from starting (R10.11). With `only_looks`
/// nothing is started: the hooks are bound as the manifests declare them.
pub(crate) async fn load(
    environment: &Environment,
    plan: &Plan,
    held: &Held,
    hooks: &Hooks,
    only_looks: bool,
) -> Result<Plugins, Problem> {
    let mut plugins = Plugins::new(hooks.clone());
    if plan.operator.disable_hooks {
        plugins = plugins.without_observers();
    }
    let named = plan.profile.iter().flat_map(|profile| profile.named_plugins());
    for id in named {
        if let Err(problem) = load_one(environment, held, &plugins, id, only_looks).await {
            plugins.shutdown().await;
            return Err(problem);
        }
    }
    let list = plugins.list();
    let loose = list.iter().filter(|it| held.is_off() && it.manifest.kind == Kind::Process);
    let loose: Vec<String> = loose.map(|it| format!("`{}`", it.manifest.id)).collect();
    if !loose.is_empty() {
        tell!(
            "{}: the sandbox is switched off in pintle.toml: nothing holds these plugins to what they were granted: {}",
            yellow("warning"),
            loose.join(", ")
        );
    }
    for PluginInfo { manifest, silenced, .. } in list {
        if !silenced.is_empty() {
            let (id, points) = (manifest.id, silenced.join(", "));
            tell!(
                "{}: the plugin `{}` does not observe {}: switched off by the operator (PINTLE_DISABLE_HOOKS, or disable_hooks in pintle.toml)",
                yellow("warning"),
                id,
                points
            );
        }
    }
    for info in plugins.list().iter().filter(|_| !only_looks) {
        let withheld: Vec<String> = info.withheld().map(ToString::to_string).collect();
        if !withheld.is_empty() {
            let id = &info.manifest.id;
            tell!(
                "{}: the plugin `{}` was not granted {}; `pintle plugins grant {} {}` grants it",
                yellow("warning"),
                id,
                withheld.join(", "),
                id,
                withheld.join(" ")
            );
        }
    }
    Ok(plugins)
}

async fn load_one(
    environment: &Environment,
    held: &Held,
    plugins: &Plugins,
    id: &str,
    only_looks: bool,
) -> Result<(), Problem> {
    let data = environment.data_dir()?;
    let installed = Installed::read(&data).and_then(|all| all.get(id)).map_err(of_installed)?;
    let grants = installed.grants.clone();
    let plugin = match only_looks {
        true => {
            // A plugin that cannot be held here is not listed as if it could run.
            if installed.manifest.kind == Kind::Process {
                held.of_plugin(environment, &installed, &state_of(environment, id)?)?;
            }
            GuestPlugin::only_declared(installed.manifest)
        }
        false => start(environment, held, installed)?,
    };
    plugins.load(Arc::new(plugin), &grants).await.map_err(|error| {
        Problem::new(error)
            .fix(format!("mend it and add it again, or take `{id}` out of `plugins` in agent.json"))
    })
}

fn start(
    environment: &Environment,
    held: &Held,
    installed: InstalledPlugin,
) -> Result<GuestPlugin, Problem> {
    match installed.manifest.kind {
        Kind::Process => {
            let state = state_of(environment, &installed.manifest.id)?;
            let confinement = held.of_plugin(environment, &installed, &state)?;
            let rights = installed.manifest.rights(&installed.grants);
            let manifest = installed.manifest.clone();
            let mut spec = CommandSpec::argv(&installed.dir, [""; 0], confinement)
                .inherit(environment.variables())
                .env(NO_BYTECODE.0, NO_BYTECODE.1)
                .timeout(HANDLER)
                // R10.9: a process that died is not started from files that changed.
                .before_each_start(move || still(&installed));
            if rights.zone() > pintle_policy::Zone::Safe && !held.leaves_no_trace {
                spec = spec.state_dir(state);
            }
            Ok(process_plugin(manifest, spec))
        }
        Kind::Wasm => wasm(environment, held, installed),
        Kind::Native => Err(Problem::new(format!(
            "the plugin `{}` is native, which only a program that embeds pintle can load",
            installed.manifest.id
        ))
        .fix("use a process or wasm plugin")),
    }
}

/// The folder in which a plugin may keep files.
fn state_of(environment: &Environment, id: &str) -> Result<PathBuf, Problem> {
    Ok(environment.data_dir()?.join("plugin-state").join(id))
}

/// Whether a plugin's files are those that it was loaded with; if not, why, and a fix.
fn still(plugin: &InstalledPlugin) -> Result<(), String> {
    plugin.is_unchanged().map_err(|error| in_one_line(&of_installed(error)))
}

/// A problem for a place that shows one line.
pub(crate) fn in_one_line(problem: &Problem) -> String {
    let (what, cause, fixes) = problem.parts();
    let cause = cause.map(|cause| format!(": {cause}"));
    let fixes = fixes.iter().map(|fix| format!("; fix: {fix}"));
    std::iter::once(what.to_owned()).chain(cause).chain(fixes).collect()
}

/// Where compiled components are kept, in the data folder.
#[cfg(feature = "wasm")]
const COMPILED: &str = "wasm-cache";

#[cfg(feature = "wasm")]
fn wasm(
    environment: &Environment,
    held: &Held,
    plugin: InstalledPlugin,
) -> Result<GuestPlugin, Problem> {
    use crate::shown::{dim, text};

    let InstalledPlugin { manifest, dir, grants, .. } = plugin;

    let log = |plugin: &str, line: &str| tell!("{}", dim(text!("{}: {}", plugin, line)));
    let compiled = environment.data_dir()?.join(COMPILED);
    // A command that must create no files uses the cache only if it exists.
    let compiled = Some(compiled.as_path()).filter(|it| !held.leaves_no_trace || it.exists());
    let host = pintle_wasm::WasmHost::new(pintle_wasm::Limits::default(), compiled, log);
    let id = manifest.id.clone();
    host.and_then(|host| host.plugin_in(&dir, manifest, &grants))
        .map_err(|error| Problem::new(format!("the plugin `{id}` cannot be loaded: {error}")))
}

#[cfg(not(feature = "wasm"))]
fn wasm(_: &Environment, _: &Held, plugin: InstalledPlugin) -> Result<GuestPlugin, Problem> {
    let id = plugin.manifest.id;
    Err(Problem::new(format!("this build of pintle does not run the wasm plugin `{id}`"))
        .fix("build it with WASM: cargo install --path crates/pintle-cli --features wasm"))
}

/// Unloads every plugin that was removed or that lost a capability since it was loaded.
pub(crate) async fn unload_withdrawn(environment: &Environment, plugins: &Plugins) {
    let installed = environment.data_dir().ok().and_then(|data| Installed::read(&data).ok());
    for PluginInfo { manifest, rights, .. } in plugins.list() {
        let now = installed.as_ref().and_then(|all| all.get(&manifest.id).ok());
        let keeps = |now: InstalledPlugin| rights.iter().all(|it| now.grants.allows(it));
        if !now.is_some_and(keeps) {
            plugins.unload(&manifest.id).await;
        }
    }
}

/// The error for an added plugin that cannot be used, with its fix.
pub(crate) fn of_installed(error: InstalledError) -> Problem {
    let fix = match &error {
        InstalledError::Unknown { .. } => "`pintle plugins add DIR` adds one".to_owned(),
        InstalledError::Changed { from, .. } => {
            format!("look at what changed, then add it again: pintle plugins add {}", typed(from))
        }
        _ => return Problem::new(error),
    };
    Problem::new(error).fix(fix)
}
