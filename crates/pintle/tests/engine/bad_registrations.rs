//! Registrations that do not hold: each is a typed error, with a message that says what and where, and nothing is
//! half-registered. R3.3, R4.2.

use std::time::Duration;

use pintle::{
    DynEvent, Event, Failure, FailurePolicy, HandlerInfo, Hooks, ModelKind, RegisterError,
    Registrar, Registration, Source, Verdict, Void, point,
    points::{ModelPre, SessionOpened, ToolPre},
};
use serde_json::json;

type Refused = Result<Registration, RegisterError>;

fn bind(options: Registrar) -> Refused {
    options.register_gate(|_: Event<ToolPre>| async { Verdict::allow() })
}

/// Tries `wrong` and says what the error says; makes sure that nothing of it stays behind.
fn refused(wrong: impl FnOnce(Registrar) -> Refused) -> (RegisterError, String) {
    let hooks = Hooks::new();
    hooks
        .named("there-before")
        .source("agent.json:3")
        .register_gate(|_: Event<ToolPre>| async { Verdict::allow() })
        .unwrap();
    let before: Vec<HandlerInfo> = hooks.list();
    let points = hooks.known_points().len();

    let error = wrong(hooks.named("mine")).expect_err("it is refused");

    assert_eq!(hooks.list(), before, "{error}: nothing was registered");
    assert_eq!(hooks.known_points().len(), points, "{error}: no point was declared");
    assert_eq!(bind(hooks.named("mine")).unwrap().name(), "mine", "{error}: its name is free");
    (error.clone(), error.to_string())
}

// R4.2: it must never pass for a built-in.
#[test]
fn an_empty_plugin_id_is_refused() {
    let (error, message) = refused(|options| bind(options.plugin("")));
    assert_eq!(error, refused(|options| bind(options.plugin(" \t"))).0);
    assert_eq!(error, RegisterError::EmptyPluginId { point: "tool.pre" });
    assert_eq!(
        message,
        "tool.pre: the plugin id is empty; leave it out for a built-in, or name the plugin"
    );
}

#[test]
fn an_empty_name_is_refused() {
    let (error, message) = refused(|options| bind(options.named("")));
    assert_eq!(error, refused(|options| bind(options.named("  "))).0);
    assert_eq!(error, RegisterError::EmptyName { point: "tool.pre" });
    assert_eq!(
        message,
        "tool.pre: the handler's name is empty; leave it out to get one, or give one"
    );
}

#[test]
fn a_duplicate_name_on_one_point_is_refused_and_says_where_the_other_is() {
    let (error, message) = refused(|options| bind(options.named("there-before")));
    assert_eq!(
        error,
        RegisterError::DuplicateName {
            point: "tool.pre",
            name: "there-before".into(),
            existing: Source::Named("agent.json:3".into()),
        }
    );
    assert_eq!(
        message,
        "tool.pre: there is a handler named `there-before` already (from agent.json:3); names are unique per point"
    );
}

#[test]
fn the_same_name_on_another_point_or_after_unregistering_is_fine() {
    let hooks = Hooks::new();
    let first = bind(hooks.named("twice")).unwrap();
    hooks.named("twice").register_gate(|_: Event<ModelPre>| async { Verdict::allow() }).unwrap();
    first.unregister();
    bind(hooks.named("twice")).unwrap();
}

#[test]
fn a_zero_deadline_is_refused() {
    let (error, message) = refused(|options| bind(options.deadline(Duration::ZERO)));
    assert_eq!(error, RegisterError::ZeroDeadline { point: "tool.pre", name: "mine".into() });
    assert_eq!(
        message,
        "tool.pre: the deadline of `mine` is zero, so it could never answer; give it some time"
    );
}

#[test]
fn a_zero_default_deadline_is_refused_where_it_would_apply() {
    let hooks = Hooks::builder().default_deadline(Duration::ZERO).build();
    let error = hooks.register_void(|_: Event<SessionOpened>| async {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "session_start: the deadline is zero, so it could never answer; give it some time"
    );
    hooks
        .options()
        .deadline(Duration::from_secs(1))
        .register_void(|_: Event<SessionOpened>| async {})
        .unwrap();
}

#[test]
fn a_glob_that_does_not_parse_is_refused() {
    let (error, message) = refused(|options| bind(options.tools(["write_*", "a[b"])));
    assert!(
        matches!(error, RegisterError::BadGlob { point: "tool.pre", ref glob, .. } if glob == "a[b")
    );
    assert_eq!(message, "tool.pre: the tool glob `a[b` does not parse: invalid range pattern");
}

#[test]
fn tools_at_a_point_without_a_tool_are_refused() {
    let (error, message) =
        refused(|options| options.tools(["*"]).register_void(|_: Event<SessionOpened>| async {}));
    assert_eq!(error, RegisterError::NoTool { point: "session_start" });
    assert_eq!(
        message,
        "session_start is not about a tool, so a handler cannot be bound to tools there"
    );
}

// R3.3
#[test]
fn loosening_a_gate_is_refused() {
    let (error, message) = refused(|options| bind(options.failure_policy(FailurePolicy::FailOpen)));
    assert_eq!(error, RegisterError::Loosened { point: "tool.pre" });
    assert_eq!(
        message,
        "tool.pre is a Gate: a failing handler blocks there, and that cannot be loosened to fail-open"
    );
}

#[test]
fn an_unknown_capability_is_refused() {
    let (error, message) = refused(|options| bind(options.capabilities(["block", "veto"])));
    assert!(
        matches!(error, RegisterError::UnknownCapability { ref capability, .. } if capability == "veto")
    );
    assert_eq!(
        message,
        "tool.pre: there is no capability `veto` here; there are: block, output, additionalContext, ask"
    );

    let (_, message) = refused(|options| {
        options.capabilities(["block"]).register_void(|_: Event<SessionOpened>| async {})
    });
    assert_eq!(
        message,
        "session_start: there is no capability `block` here: a Void handler only observes"
    );
}

mod elsewhere {
    pintle::point! {
        /// Has the name of a point of the catalogue.
        pub struct Impostor = "tool.pre": pintle::Void {}
    }
}

#[test]
fn a_second_point_type_with_the_same_name_is_refused() {
    let (error, message) =
        refused(|options| options.register_void(|_: Event<elsewhere::Impostor>| async {}));
    assert_eq!(error, RegisterError::NameTaken { point: "tool.pre" });
    assert_eq!(
        message,
        "another point type is already declared under the name tool.pre; rename one of them"
    );

    let hooks = Hooks::new();
    assert_eq!(
        hooks.declare::<elsewhere::Impostor>(),
        Err(RegisterError::NameTaken { point: "tool.pre" })
    );
}

point! {
    /// A point that only a refused registration mentions.
    pub struct Unheard = "test_unheard_of": Void {}
}

#[test]
fn a_refused_registration_does_not_declare_its_point() {
    refused(|options| options.plugin("").register_void(|_: Event<Unheard>| async {}));
    let hooks = Hooks::new();
    assert!(hooks.known_points().iter().all(|info| info.name != "test_unheard_of"));
}

// R3.1
#[test]
fn an_unknown_point_or_a_wrong_model_is_refused() {
    let nothing = |_: DynEvent| async { Ok::<_, Failure>(json!(null)) };
    let (_, message) =
        refused(|options| options.register_dyn("tool.per", ModelKind::Gate, nothing));
    assert_eq!(message, "there is no hook point `tool.per`; did you mean `tool.pre`?");
    let (_, message) =
        refused(|options| options.register_dyn("tool.pre", ModelKind::Void, nothing));
    assert_eq!(message, "tool.pre is a Gate point; a Void handler cannot be bound to it");
    let (_, message) =
        refused(|options| options.plugin("").register_dyn("tool.pre", ModelKind::Gate, nothing));
    assert!(message.contains("plugin id is empty"));
}
