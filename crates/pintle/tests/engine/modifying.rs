//! How a Modifying point combines: R4.5, R4.6, and the Modifying row of §3.

use std::{
    ptr,
    sync::{Arc, Mutex},
};

use crate::common::{Diary, before_call, cx, prompt, watched};
use pintle::{
    DynEvent, Event, Failure, FireError, Hooks, ModelKind, Modifying, PluginFilter, patch, point,
    points::{BeforePromptBuild, BeforeToolCall, PromptPatch, ToolCallPatch},
};
use serde_json::{Value, json};

patch! {
    /// One key of each kind that has an "empty" value.
    pub struct Settings {
        /// Text.
        pub text: Option<String>,
        /// A number.
        pub number: Option<i64>,
        /// A flag.
        pub flag: Option<bool>,
        /// Anything.
        pub anything: Option<Value>,
    }
}

point! {
    /// A point to try the merge on.
    pub struct Configure = "test_configure": Modifying<Settings> {}
}

fn append(text: &str) -> Option<PromptPatch> {
    Some(PromptPatch::default().append_system(text))
}

// R4.5
#[tokio::test]
async fn the_first_value_of_each_key_wins_and_the_record_says_who() {
    let (hooks, records) = watched();
    hooks
        .named("low")
        .priority(-1)
        .register_modifying(|_: Event<BeforePromptBuild>| async {
            Some(PromptPatch::default().append_system("low").prepend_system("low"))
        })
        .unwrap();
    hooks
        .named("high")
        .register_modifying(|_: Event<BeforePromptBuild>| async { append("high") })
        .unwrap();

    let merged = hooks.fire_modifying(&cx(), prompt).await.unwrap();
    assert_eq!(merged.append_system.as_deref(), Some("high"));
    assert_eq!(merged.prepend_system.as_deref(), Some("low"));
    assert_eq!(merged.override_system, None);
    let winners: Vec<_> = merged.winners().collect();
    assert_eq!(winners, [("appendSystem", "high"), ("prependSystem", "low")]);
    assert_eq!(merged.winner("overrideSystem"), None);

    let handlers = records.only();
    assert_eq!((&*handlers[0].name, &*handlers[1].name), ("high", "low"));
    assert_eq!((&*handlers[0].won, &*handlers[0].lost), (&["appendSystem"][..], &[][..]));
    assert_eq!(
        (&*handlers[1].won, &*handlers[1].lost),
        (&["prependSystem"][..], &["appendSystem"][..])
    );
}

// R4.5
#[tokio::test]
async fn empty_text_zero_and_false_are_values_and_null_is_not() {
    let hooks = Hooks::new();
    hooks
        .named("nulls")
        .register_dyn("test_configure", ModelKind::Modifying, |_: DynEvent| async {
            Ok::<_, Failure>(
                json!({ "text": null, "number": null, "flag": null, "anything": null }),
            )
        })
        .unwrap_err();
    hooks.declare::<Configure>().unwrap();
    hooks
        .named("nulls")
        .register_dyn("test_configure", ModelKind::Modifying, |_: DynEvent| async {
            Ok::<_, Failure>(
                json!({ "text": null, "number": null, "flag": null, "anything": null }),
            )
        })
        .unwrap();
    hooks
        .named("typed-null")
        .register_modifying(|_: Event<Configure>| async {
            Some(Settings { anything: Some(Value::Null), ..Default::default() })
        })
        .unwrap();
    hooks
        .named("empties")
        .register_modifying(|_: Event<Configure>| async {
            Some(Settings {
                text: Some(String::new()),
                number: Some(0),
                flag: Some(false),
                anything: Some(json!("")),
            })
        })
        .unwrap();
    hooks
        .named("late")
        .register_modifying(|_: Event<Configure>| async {
            Some(Settings {
                text: Some("x".into()),
                number: Some(1),
                flag: Some(true),
                anything: Some(json!(1)),
            })
        })
        .unwrap();

    let merged = hooks.fire_modifying(&cx(), || Configure {}).await.unwrap();
    let empties = Settings {
        text: Some(String::new()),
        number: Some(0),
        flag: Some(false),
        anything: Some(json!("")),
    };
    assert_eq!(merged.patch, empties);
    assert!(merged.winners().all(|(_, name)| name == "empties"));
}

// R4.5
#[tokio::test]
async fn every_handler_gets_the_original_payload_and_can_read_what_is_merged_so_far() {
    let hooks = Hooks::new();
    let diary = Diary::default();
    for name in ["one", "two", "three"] {
        let note = diary.clone();
        hooks
            .named(name)
            .register_modifying(move |e: Event<BeforePromptBuild>| {
                let merged = e.merged().and_then(|merged| merged.append_system.clone());
                note.write(format!("{name}: {} {merged:?}", e.system));
                async move { append(name) }
            })
            .unwrap();
    }
    let note = diary.clone();
    hooks
        .register_dyn("before_prompt_build", ModelKind::Modifying, move |e: DynEvent| {
            note.write(format!("dynamic: {} {}", e.json["system"], e.merged));
            async { Ok::<_, Failure>(Value::Null) }
        })
        .unwrap();
    hooks.fire_modifying(&cx(), prompt).await.unwrap();
    assert_eq!(
        diary.lines(),
        [
            "one: You help. None",
            "two: You help. Some(\"one\")",
            "three: You help. Some(\"one\")",
            "dynamic: \"You help.\" {\"appendSystem\":\"one\"}",
        ]
    );
}

// §3: a failing handler contributes nothing and the next one runs.
#[tokio::test]
async fn a_failing_handler_contributes_nothing_and_the_next_one_runs() {
    let (hooks, records) = watched();
    hooks
        .named("fails")
        .register_modifying(|_: Event<BeforePromptBuild>| async {
            Err::<Option<PromptPatch>, _>(Failure::errored("no idea"))
        })
        .unwrap();
    hooks
        .named("works")
        .register_modifying(|_: Event<BeforePromptBuild>| async { append("fine") })
        .unwrap();
    let merged = hooks.fire_modifying(&cx(), prompt).await.unwrap();
    assert_eq!(merged.winner("appendSystem"), Some("works"));
    assert_eq!(records.outcomes(), [("fails".into(), "errored"), ("works".into(), "patched")]);
}

// §3
#[tokio::test]
async fn a_fail_closed_handler_that_fails_is_the_fires_error_and_the_rest_do_not_run() {
    let (hooks, records) = watched();
    hooks
        .named("must")
        .fail_closed()
        .register_modifying(|_: Event<BeforePromptBuild>| async {
            Err::<Option<PromptPatch>, _>(Failure::errored("no idea"))
        })
        .unwrap();
    hooks
        .named("later")
        .register_modifying(|_: Event<BeforePromptBuild>| async { append("x") })
        .unwrap();
    let error = hooks.fire_modifying(&cx(), prompt).await.unwrap_err();
    assert_eq!(
        error,
        FireError::FailClosed {
            point: "before_prompt_build",
            handler: "must".into(),
            failure: Failure::errored("no idea"),
        }
    );
    assert_eq!(
        error.to_string(),
        "`must` at before_prompt_build returned an error: no idea, and it is registered fail-closed"
    );
    assert_eq!(records.outcomes(), [("must".into(), "errored")]);
}

// R4.6
#[tokio::test]
async fn an_empty_error_is_still_a_denial_and_says_who_denied() {
    let hooks = Hooks::new();
    hooks
        .named("mute")
        .register_modifying(|_: Event<BeforeToolCall>| async {
            Some(ToolCallPatch::default().error(String::new()))
        })
        .unwrap();
    let merged = hooks.fire_modifying(&cx(), || before_call(json!({}))).await.unwrap();
    assert_eq!(merged.denial().as_deref(), Some("blocked by mute"));
}

// R4.6
#[tokio::test]
async fn no_earlier_or_later_handler_can_mask_a_denial() {
    let rewrite = |args: Value| Some(ToolCallPatch::default().args(args));
    for position in [-1, 0, 1] {
        let hooks = Hooks::new();
        for (name, priority) in [("before", 0), ("after", 0)] {
            hooks
                .named(name)
                .priority(priority)
                .register_modifying(move |_: Event<BeforeToolCall>| async move {
                    rewrite(json!({ "path": name }))
                })
                .unwrap();
        }
        hooks
            .named("null-error")
            .register_dyn("before_tool_call", ModelKind::Modifying, |_: DynEvent| async {
                Ok::<_, Failure>(json!({ "error": null, "args": {} }))
            })
            .unwrap();
        hooks
            .named("crashes")
            .register_modifying(|_: Event<BeforeToolCall>| async {
                if true {
                    panic!("masking by crashing")
                }
                None::<ToolCallPatch>
            })
            .unwrap();
        hooks
            .named("denies")
            .priority(position)
            .register_modifying(|_: Event<BeforeToolCall>| async {
                Some(ToolCallPatch::default().error("not on production"))
            })
            .unwrap();
        let merged = hooks.fire_modifying(&cx(), || before_call(json!({}))).await.unwrap();
        assert_eq!(merged.denial().as_deref(), Some("not on production"), "at priority {position}");
        assert_eq!(merged.winner("error"), Some("denies"));
    }
}

// R4.6
#[tokio::test]
async fn without_an_error_there_is_no_denial() {
    let hooks = Hooks::new();
    let merged = hooks.fire_modifying(&cx(), || before_call(json!({}))).await.unwrap();
    assert_eq!(merged.denial(), None);
    assert!(!hooks.has_handlers::<BeforeToolCall>(&PluginFilter::All));
}

// R4.4, R4.5
#[tokio::test]
async fn an_event_that_a_handler_keeps_goes_on_showing_what_it_showed() {
    let hooks = Hooks::new();
    let kept = Arc::new(Mutex::new(Vec::new()));
    for (name, prepends) in [("one", false), ("two", true), ("three", false)] {
        let kept = kept.clone();
        hooks
            .named(name)
            .register_modifying(move |e: Event<BeforePromptBuild>| {
                kept.lock().unwrap().push(e);
                let text = Some(name.to_string());
                async move {
                    Some(match prepends {
                        true => PromptPatch::default().prepend_system(text),
                        false => PromptPatch::default().append_system(text),
                    })
                }
            })
            .unwrap();
    }
    let merged = hooks.fire_modifying(&cx(), prompt).await.unwrap();
    assert_eq!(
        (merged.append_system.as_deref(), merged.prepend_system.as_deref()),
        (Some("one"), Some("two"))
    );

    let seen = |e: &Event<BeforePromptBuild>| {
        let merged = e.merged().cloned().unwrap_or_default();
        (e.system.clone(), merged.append_system, merged.prepend_system)
    };
    let kept = kept.lock().unwrap();
    let text = |text: &str| Some(text.to_string());
    assert_eq!(
        kept.iter().map(seen).collect::<Vec<_>>(),
        [
            ("You help.".into(), None, None),
            ("You help.".into(), text("one"), None),
            ("You help.".into(), text("one"), text("two")),
        ]
    );
    assert!(ptr::eq(&*kept[0].to_json(), &*kept[2].to_json()), "serialised once per fire");
}
