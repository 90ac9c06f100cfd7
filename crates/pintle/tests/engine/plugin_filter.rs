//! Whose handlers a fire reaches: R4.3, and what a handler cannot change: R4.4.

use crate::common::{Diary, cx, cx_with, dispatch, envelope, model_pre, prompt, started};
use pintle::{
    Cx, DynEvent, Event, Failure, Hooks, ModelKind, PluginFilter, Verdict,
    points::{
        BeforeDispatch, BeforePromptBuild, BeforeToolCall, ModelPre, PromptPatch, SessionOpened,
        Suppressed, ToolCallPatch,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::json;

fn owners() -> [(&'static str, Option<&'static str>); 3] {
    [("built-in", None), ("of-a", Some("a")), ("of-b", Some("b"))]
}

/// For each gate, who is reached.
fn expectations() -> Vec<(PluginFilter, Vec<&'static str>)> {
    vec![
        (PluginFilter::All, vec!["built-in", "of-a", "of-b"]),
        (PluginFilter::BuiltinsOnly, vec!["built-in"]),
        (PluginFilter::only(["b"]), vec!["built-in", "of-b"]),
        (PluginFilter::only(["nobody"]), vec!["built-in"]),
        (PluginFilter::only(Vec::<String>::new()), vec!["built-in"]),
    ]
}

// R4.3
#[tokio::test]
async fn the_plugin_filter_holds_under_every_model() {
    let hooks = Hooks::new();
    let diary = Diary::default();
    for (name, plugin) in owners() {
        let options = || {
            let options = hooks.named(name);
            if let Some(plugin) = plugin { options.plugin(plugin) } else { options }
        };
        let note = diary.clone();
        options()
            .register_void(move |_: Event<SessionOpened>| {
                note.write(name);
                async {}
            })
            .unwrap();
        let note = diary.clone();
        options()
            .register_modifying(move |_: Event<BeforePromptBuild>| {
                note.write(name);
                async { None::<PromptPatch> }
            })
            .unwrap();
        let note = diary.clone();
        options()
            .register_claiming(move |_: Event<BeforeDispatch>| {
                note.write(name);
                async { None::<Suppressed> }
            })
            .unwrap();
        let note = diary.clone();
        options()
            .register_gate(move |_: Event<ModelPre>| {
                note.write(name);
                async { Verdict::allow() }
            })
            .unwrap();
    }
    let mut seen = 0;
    let mut since = || {
        let lines = diary.lines();
        let new = lines[seen..].to_vec();
        seen = lines.len();
        new
    };
    for (gate, reached) in expectations() {
        let cx = cx_with(gate.clone());
        hooks.fire_void(&cx, started).await.unwrap();
        assert_eq!(since(), reached, "Void through {gate:?}");
        hooks.fire_modifying(&cx, prompt).await.unwrap();
        assert_eq!(since(), reached, "Modifying through {gate:?}");
        hooks.fire_claiming(&cx, dispatch).await.unwrap();
        assert_eq!(since(), reached, "Claiming through {gate:?}");
        assert!(hooks.fire_gate(&cx, model_pre).await.verdicts.is_empty());
        assert_eq!(since(), reached, "Gate through {gate:?}");
    }
}

// R4.3
#[tokio::test]
async fn the_payload_is_not_even_built_when_the_gate_keeps_everybody_out() {
    let hooks = Hooks::new();
    hooks.options().plugin("a").register_void(|_: Event<SessionOpened>| async {}).unwrap();
    let cx = cx_with(PluginFilter::BuiltinsOnly);
    hooks.fire_void(&cx, || -> SessionOpened { panic!("nobody listens") }).await.unwrap();
}

// R4.3: absent = All, [] = BuiltinsOnly, ["a"] = Only
#[test]
fn a_plugin_filter_on_the_wire_is_an_optional_list() {
    #[derive(Serialize, Deserialize)]
    struct Personality {
        #[serde(default = "everybody", skip_serializing_if = "is_everybody")]
        plugins: PluginFilter,
    }
    fn everybody() -> PluginFilter {
        PluginFilter::All
    }
    fn is_everybody(gate: &PluginFilter) -> bool {
        *gate == PluginFilter::All
    }
    for (json, gate) in [
        (json!({}), PluginFilter::All),
        (json!({ "plugins": [] }), PluginFilter::BuiltinsOnly),
        (json!({ "plugins": ["a", "b"] }), PluginFilter::only(["b", "a"])),
    ] {
        let read: Personality = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(read.plugins, gate);
        assert_eq!(serde_json::to_value(&read).unwrap(), json);
    }
    assert_eq!(serde_json::from_value::<PluginFilter>(json!(null)).unwrap(), PluginFilter::All);
    assert_eq!(serde_json::to_value(PluginFilter::All).unwrap(), json!(null));
    assert!(serde_json::from_value::<PluginFilter>(json!("a")).is_err());
}

// R4.3
#[test]
fn a_context_always_says_which_plugins_it_reaches() {
    let cx = Cx::new(envelope(), PluginFilter::only(["a"]));
    assert_eq!(cx.plugins(), &PluginFilter::only(["a"]));
    let elsewhere = cx.with_envelope(pintle::Envelope::default());
    assert_eq!(elsewhere.plugins(), cx.plugins(), "another envelope, the same gate");
    assert_eq!(elsewhere.envelope().platform, "");
}

// R4.4: a handler works on its own copy; the next handler and the caller see the original.
#[tokio::test]
async fn a_handler_cannot_change_what_later_handlers_see() {
    let hooks = Hooks::new();
    let diary = Diary::default();
    hooks
        .register_modifying(|e: Event<BeforeToolCall>| async move {
            let mut mine = BeforeToolCall::clone(&e);
            mine.args["path"] = json!("/etc/passwd");
            None::<ToolCallPatch>
        })
        .unwrap();
    hooks
        .register_dyn("before_tool_call", ModelKind::Modifying, |e: DynEvent| async move {
            let mut mine = (*e.json).clone();
            mine["args"]["path"] = json!("/etc/shadow");
            Ok::<_, Failure>(json!({ "args": { "path": "amended" } }))
        })
        .unwrap();
    let note = diary.clone();
    hooks
        .register_modifying(move |e: Event<BeforeToolCall>| {
            note.write(e.args.to_string());
            note.write(e.to_json()["args"].to_string());
            async { None::<ToolCallPatch> }
        })
        .unwrap();
    let payload = crate::common::before_call(json!({ "path": "a.txt" }));
    let merged = hooks.fire_modifying(&cx(), || payload.clone()).await.unwrap();
    assert_eq!(diary.lines(), [r#"{"path":"a.txt"}"#, r#"{"path":"a.txt"}"#]);
    assert_eq!(payload.args, json!({ "path": "a.txt" }));
    assert_eq!(merged.args, Some(json!({ "path": "amended" })), "only the answer carries changes");
}

// R4.4
#[tokio::test]
async fn all_handlers_of_a_fire_share_one_payload() {
    let hooks = Hooks::new();
    let diary = Diary::default();
    for _ in 0..3 {
        let note = diary.clone();
        hooks
            .register_void(move |e: Event<SessionOpened>| {
                note.write(format!("{:p} {:p}", &*e, e.clone().envelope()));
                async {}
            })
            .unwrap();
    }
    hooks.fire_void(&cx(), started).await.unwrap();
    let lines = diary.lines();
    assert_eq!((&lines[0], &lines[0]), (&lines[1], &lines[2]));
}
