//! How do I add an action of agent.json?
//!
//! An action is one struct. Its fields are the action's, its doc comments are the schema's, and `bind` registers a handler.
//!
//! ```sh
//! cargo run -p pintle-actions --example own_action
//! ```

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "an example, and its tests"
)]

use pintle::{Cx, Envelope, Event, Hooks, PluginFilter, Verdict, points::ToolPre};
use pintle_actions::{
    Action, BUILT_IN, BindError, Binding, Bound, Host, Kind, Webhooks, bind, does, in_profiles,
    kind,
};
use pintle_profile::{
    ActionCheck, Bounds, Hook, Node, OnlyIn, Operator, OperatorEnv, Profile, ProfileErrors,
    bad_inner_path,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{error::Error, path::Path};

/// Refuses calls while a file is there.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Freeze {
    /// The file, relative to the profile's folder.
    file: String,
}

impl Action for Freeze {
    const NAME: &'static str = "freeze";
    const ALSO_CALLED: &'static [&'static str] = &["halt"];
    const ONLY_IN: Option<OnlyIn> = Some(OnlyIn {
        bucket: "onToolCall",
        label: "there is no call to refuse here",
        why: "only a tool call can be refused",
    });

    fn check(action: &Node, check: &mut ActionCheck<'_>) {
        let file = action.get("file");
        let wrong = file.and_then(|file| bad_inner_path(file.text()?, &file.span, check.folder));
        check.problems.extend(wrong);
    }

    fn does(&self, _: &Hook) -> (&'static str, String) {
        ("freezes", format!("while there is {}", self.file))
    }

    fn bind(self, binding: &mut Binding<'_>) -> Result<(), BindError> {
        let file = binding.host.profile.dir.join(&self.file);
        let judge = move |_: Event<ToolPre>| {
            if file.exists() { Verdict::block("frozen") } else { Verdict::allow() }
        };
        let registered = binding.registrar().register_gate(judge);
        registered.map(drop).map_err(|error| binding.error(error))
    }
}

/// The line in the list.
fn actions() -> Vec<Kind> {
    BUILT_IN.into_iter().chain([kind::<Freeze>()]).collect()
}

fn load(dir: &Path, agent: &str, actions: &[Kind]) -> Result<Profile, ProfileErrors> {
    std::fs::write(dir.join("agent.json"), agent).unwrap();
    Profile::load(dir, Bounds { actions: &in_profiles(actions), ..Bounds::default() })
}

fn operator(settings: &str) -> Operator {
    Operator::new(settings, OperatorEnv::default()).unwrap()
}

async fn refusal(hooks: &Hooks, tool: &str) -> Option<String> {
    let cx = Cx::new(Envelope::default(), PluginFilter::BuiltinsOnly);
    let call =
        || ToolPre::default().tool_call_id("t1").tool_name(tool).tool_input(json!({})).zone(2);
    hooks.fire_gate(&cx, call).await.blocked().map(|blocked| blocked.reason.clone())
}

const AGENT: &str = r#"{ "hooks": { "onToolCall": [
  { "action": "freeze", "file": "FROZEN", "tools": ["terminal"] },
  { "action": "save_json", "path": "events.jsonl" }
] } }"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (folder, data) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let actions = actions();
    let profile = load(folder.path(), AGENT, &actions)?;
    let said = does(&actions, &profile.hooks[0]);
    assert_eq!(said, Some(("freezes", "while there is FROZEN".to_owned())));

    let (hooks, operator) = (Hooks::new(), operator("disable_hooks = true\n"));
    let host = Host::new(&actions, &profile, &operator, data.path());
    let Bound { disabled, .. } = bind(&host, Webhooks::Own, &hooks)?;
    // R10.2, R10.8: the operator switches observers off; an action that guards stays on.
    assert_eq!(disabled.len(), 1, "save_json only observes");

    assert_eq!(refusal(&hooks, "terminal").await, None);
    std::fs::write(folder.path().join("FROZEN"), "")?;
    assert_eq!(refusal(&hooks, "terminal").await.as_deref(), Some("frozen"));
    assert_eq!(refusal(&hooks, "read_file").await, None);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_of_an_embedder_is_bound_from_agent_json_and_blocks() {
        main().unwrap();
    }

    #[tokio::test]
    async fn an_action_that_the_list_lacks_neither_loads_nor_binds() {
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let errors = load(folder.path(), AGENT, &BUILT_IN).unwrap_err();
        assert_eq!(errors.errors()[0].message, "there is no action `freeze`");
        let profile = load(folder.path(), AGENT, &actions()).unwrap();
        let (hooks, operator) = (Hooks::new(), operator(""));
        let host = Host::new(&BUILT_IN, &profile, &operator, data.path());
        assert!(bind(&host, Webhooks::Own, &hooks).is_err());
    }

    #[test]
    fn the_fields_and_rules_of_an_own_action_are_checked_like_those_of_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let message_of = |bucket: &str, action: &str| {
            let agent = format!(r#"{{ "hooks": {{ "{bucket}": [{{ {action} }}] }} }}"#);
            let errors = load(folder.path(), &agent, &actions()).unwrap_err();
            let error = &errors.errors()[0];
            format!("{}; {}", error.message, error.helps[0])
        };
        for (bucket, action, expected) in [
            (
                "onToolCall",
                r#""action": "freeze""#,
                "the action `freeze` has no `file`; add `file`: the file, relative",
            ),
            (
                "onToolCall",
                r#""action": "freeze", "file": "x", "fil": 1"#,
                "the action `freeze` has no field `fil`; did you mean `file`?",
            ),
            (
                "onToolCall",
                r#""action": "freeze", "file": "../x""#,
                "`../x` leads out of the profile's folder",
            ),
            (
                "onToolCall",
                r#""action": "halt", "file": "x""#,
                "there is no action `halt`; did you mean `freeze`?",
            ),
            (
                "onError",
                r#""action": "freeze", "file": "x""#,
                "`freeze` does not belong in `onError`; move it to `onToolCall`",
            ),
        ] {
            let message_of = message_of(bucket, action);
            assert!(message_of.starts_with(expected), "{message_of}");
        }
        let schema = pintle_profile::agent_schema(&in_profiles(&actions()));
        let kinds = schema["$defs"]["Action"]["oneOf"].as_array().unwrap();
        assert_eq!(kinds[5]["properties"]["action"]["const"], "freeze");
        assert_eq!(kinds[5]["description"], "Refuses calls while a file is there.");
    }
}
