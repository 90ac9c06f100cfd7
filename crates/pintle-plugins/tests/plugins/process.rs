//! Process plugins: the suite, and both libraries for them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use pintle::{Cx, Hooks, points::BeforePromptBuild};
use pintle_exec::{CommandSpec, Unconfined};
use pintle_plugins::{
    CommandDeclaration, Entry, Grants, Kind, Manifest, Plugin, Plugins, process_plugin,
    testing::{Behaviour, Does, KindUnderTest},
};
use serde_json::json;

struct Process;

fn libraries() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/workers").canonicalize().unwrap()
}

fn spec() -> CommandSpec {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plugins");
    let path = std::env::var_os("PATH").unwrap();
    CommandSpec::argv(dir, ["true"], Unconfined::by("this test"))
        .env("PATH", path)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .timeout(Duration::from_secs(20))
}

impl KindUnderTest for Process {
    fn plugin(&self, mut manifest: Manifest, behaviour: Behaviour) -> Arc<dyn Plugin> {
        let does = match behaviour.does {
            Does::Answer(answer) => answer,
            Does::Tell => json!("tell"),
            Does::Crash => json!("crash"),
            Does::Hang => json!("hang"),
        };
        let behaviour = json!({ "activates": behaviour.activates, "does": does }).to_string();
        let libraries = libraries().display().to_string();
        manifest.kind = Kind::Process;
        manifest.entry = Some(Entry::Argv(
            ["python3", "guest.py", &behaviour, &libraries].map(Into::into).into(),
        ));
        Arc::new(process_plugin(manifest, spec()))
    }
}

pintle_plugins::plugin_conformance!(Process);

/// A plugin with a point, a tool and a command, in each language.
async fn serves_all(program: &str, file: &str, source: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(file);
    let source = source.replace("LIBRARIES", &libraries().display().to_string());
    std::fs::write(&file, source).unwrap();
    let mut manifest = Manifest::native("p", "1.0.0").point("before_prompt_build");
    manifest.kind = Kind::Process;
    manifest.entry = Some(Entry::Argv(vec![program.into(), file.display().to_string()]));
    for capability in ["amend:prompt", "commands"] {
        manifest = manifest.capability(capability).unwrap();
    }
    let command = CommandDeclaration { name: "shout".into(), description: String::new() };
    manifest.commands.push(command);
    let hooks = Hooks::new();
    let plugins = Plugins::new(hooks.clone());
    let plugin = process_plugin(manifest.clone(), spec());
    plugins.load(Arc::new(plugin), &Grants::All).await.unwrap();
    let merged = hooks.fire_modifying(&Cx::test(), BeforePromptBuild::default).await.unwrap();
    assert_eq!(merged.append_system.as_deref(), Some("granted: amend:prompt, commands"));
    assert_eq!(plugins.run_command("shout", "hey").await, Some(Ok("HEY".into())));
    // What it serves and what it declares have to be the same.
    manifest.commands.clear();
    let error = plugins.load(Arc::new(process_plugin(manifest, spec())), &Grants::All).await;
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("the command `/shout`, which its plugin.json does not declare")
    );
    plugins.shutdown().await;
    assert!(hooks.list().is_empty());
}

#[tokio::test]
async fn the_python_library_serves_points_and_commands() {
    let source = r#"
import sys
sys.path.insert(0, "LIBRARIES")
from pintle_worker import Plugin

plugin = Plugin()

@plugin.on("before_prompt_build")
def add(event):
    return {"appendSystem": "granted: " + ", ".join(plugin.granted)}

@plugin.command("shout")
def shout(text):
    return text.upper()

plugin.serve()
"#;
    serves_all("python3", "plugin.py", source).await;
}

#[tokio::test]
async fn the_node_library_serves_points_and_commands() {
    let source = r#"
import { plugin } from "LIBRARIES/pintle-worker.mjs";

let granted = [];
plugin({
  activate: (capabilities) => { granted = capabilities; },
  on: { before_prompt_build: () => ({ appendSystem: `granted: ${granted.join(", ")}` }) },
  commands: { shout: (text) => text.toUpperCase() },
});
"#;
    serves_all("node", "plugin.mjs", source).await;
}
