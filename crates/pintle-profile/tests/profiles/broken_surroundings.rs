//! What is right by itself and does not fit the program it is for, and the exact answer (R10.4): `INSTA_UPDATE=always`
//! rewrites the snapshots.

use insta::assert_snapshot;
use pintle_profile::Bounds;
use pintle_profile::{Profile, ProfileErrors};
use tempfile::TempDir;

fn folder(agent: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.json"), agent).unwrap();
    folder
}

fn load(agent: &str) -> Result<Profile, ProfileErrors> {
    let providers = &["anthropic", "gemini", "open_router", "openai"];
    let hooks = &["terminal guard", "profile guard"];
    let bounds = Bounds { providers, hooks, ..Bounds::default() };
    crate::load_within(folder(agent).path(), bounds)
}

#[test]
fn a_hook_is_not_called_like_one_that_is_built_in() {
    let agent = r#"{ "hooks": {
  "onStart": [{ "action": "log", "name": "profile guard" }],
  "onToolCall": [{ "action": "approve", "name": "terminal guard" }, { "action": "log", "name": "my guard" }]
} }"#;
    assert_snapshot!(load(agent).unwrap_err());
}

#[test]
fn a_model_that_nobody_has_is_told_with_the_nearest() {
    let wrong = ["anthropc/x", "zzz/x", "ofline", "openai", "zzz", "gemini/"];
    let of = |model| (model, load(&format!("{{ \"model\": \"{model}\" }}")));
    assert_snapshot!(crate::page(wrong.map(of)));
    for model in ["offline", "scripted:x.jsonl", "anthropic/x", "open_router/openai/x"] {
        load(&format!("{{ \"model\": \"{model}\" }}")).unwrap();
    }
}

// R10.11
#[test]
fn a_plugin_has_to_be_added_and_listed() {
    let agent = r#"{
  "plugins": ["notes", "wether"],
  "personalities": { "a": { "prompt": "a", "plugins": ["notes", "weather"] } }
}"#;
    let added = ["weather".to_owned()];
    let bounds = Bounds { plugins: Some(&added), ..Bounds::default() };
    let folder = folder(agent);
    std::fs::create_dir_all(folder.path().join("personalities/b")).unwrap();
    std::fs::write(folder.path().join("personalities/b/SOUL.md"), "b").unwrap();
    let config = folder.path().join("personalities/b/config.json");
    std::fs::write(config, r#"{ "plugins": ["weather"] }"#).unwrap();
    assert_snapshot!(crate::load_within(folder.path(), bounds).unwrap_err());
    let named = crate::load(self::folder(r#"{ "plugins": ["a", "b"] }"#).path()).unwrap();
    assert_eq!(named.named_plugins().into_iter().collect::<Vec<_>>(), ["a", "b"]);
}

// What is not there here may be there where it runs.
#[test]
fn what_is_not_there_yet_is_told_and_keeps_nothing_from_loading() {
    let agent = r#"{
  "security": { "workspace": "nothere" },
  "hooks": { "onComplete": [
    { "action": "webhook", "url": "https://x.example", "secretEnv": "HOOK_KEY" },
    { "action": "webhook", "url": "https://x.example", "secretEnv": "OTHER_KEY" }
  ] }
}"#;
    let folder = folder(agent);
    let told = || {
        let profile = crate::load(folder.path()).unwrap();
        let told = profile.unready(|name| name == "OTHER_KEY").into_iter();
        told.map(|it| format!("{}: {}", it.source, it.message)).collect::<Vec<_>>()
    };
    assert_snapshot!(told().join("\n"));
    std::fs::create_dir(folder.path().join("nothere")).unwrap();
    assert_eq!(told().len(), 1);
}
