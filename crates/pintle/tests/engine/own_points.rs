//! Points that an embedder declares: R5.1. They are as good as the catalogue's, typed and by name.

use crate::common::{cx, watched};
use pintle::{
    Advisory, Binding, Claiming, DynEvent, DynOutcome, Event, Failure, Gate, Hooks, ModelKind,
    Modifying, Point, PointInfo, Verdict, Void, claim, patch, point,
};
use serde_json::json;

point! {
    /// A release was published.
    pub struct Released = "release.published": Void {
        /// Which.
        pub version: String,
    }
}

point! {
    /// The notes of a release are about to be written.
    pub struct WriteNotes = "release.notes": Modifying<NotesPatch> {
        /// The commits it is made of.
        pub commit_ids: Vec<String>,
    }
}

patch! {
    /// What may be changed about the notes.
    pub struct NotesPatch {
        /// The headline.
        pub head_line: Option<String>,
        /// The length.
        pub max_lines: Option<u32>,
    }
}

point! {
    /// Who publishes it?
    pub struct WhoPublishes = "release.publisher": Claiming<Publisher> {}
}

claim! {
    /// Somebody does.
    pub struct Publisher {
        /// Where to.
        pub registry_url: String,
    }
}

point! {
    /// May it be published?
    pub struct MayPublish = "release.gate": Gate<Binding>, tool = tool_name {
        /// With what.
        pub tool_name: String,
        /// Whether it is only tried.
        #[serde(default)]
        pub dry_run: bool,
    }
}

point! {
    /// It was tried.
    pub struct Tried = "release.tried": Gate<Advisory> {}
}

// R5.1
#[tokio::test]
async fn own_points_work_under_every_model() {
    let (hooks, records) = watched();
    hooks.register_void(|e: Event<Released>| async move { assert_eq!(e.version, "1.0") }).unwrap();
    hooks
        .named("short")
        .register_modifying(|e: Event<WriteNotes>| async move {
            Some(NotesPatch { head_line: None, max_lines: Some(e.commit_ids.len() as u32) })
        })
        .unwrap();
    hooks
        .register_claiming(|_: Event<WhoPublishes>| async {
            Some(Publisher { registry_url: "https://example.org".into() })
        })
        .unwrap();
    hooks
        .options()
        .tools(["cargo*"])
        .register_gate(|e: Event<MayPublish>| async move {
            if e.dry_run { Verdict::allow() } else { Verdict::block("only dry runs") }
        })
        .unwrap();
    hooks.register_gate(|_: Event<Tried>| async { Verdict::allow().with_output("tried") }).unwrap();

    hooks.fire_void(&cx(), || Released { version: "1.0".into() }).await.unwrap();
    let merged =
        hooks.fire_modifying(&cx(), || WriteNotes { commit_ids: vec!["a".into()] }).await.unwrap();
    assert_eq!((merged.max_lines, merged.winner("maxLines")), (Some(1), Some("short")));
    let claimed = hooks.fire_claiming(&cx(), || WhoPublishes {}).await.unwrap().unwrap();
    assert_eq!(claimed.registry_url, "https://example.org");
    let publish = |tool: &str| MayPublish { tool_name: tool.into(), dry_run: false };
    assert!(hooks.fire_gate(&cx(), || publish("cargo")).await.blocked().is_some());
    assert!(
        hooks.fire_gate(&cx(), || publish("npm")).await.blocked().is_none(),
        "bound to cargo only"
    );
    assert_eq!(hooks.fire_gate(&cx(), || Tried {}).await.verdicts.len(), 1);
    assert!(records.all().iter().all(|record| record.point.starts_with("release.")));
}

// R5.1: by name, once it is declared or somebody bound a handler to it.
#[tokio::test]
async fn own_points_have_a_by_name_face() {
    let hooks = Hooks::new();
    let gate =
        |_: DynEvent| async { Ok::<_, Failure>(json!({ "continue": false, "reason": "frozen" })) };
    assert!(hooks.register_dyn("release.gate", ModelKind::Gate, gate).is_err(), "not known yet");
    hooks.declare::<MayPublish>().unwrap();
    hooks.declare::<MayPublish>().unwrap();
    hooks.register_dyn("release.gate", ModelKind::Gate, gate).unwrap();

    let outcome =
        hooks.fire_gate(&cx(), || MayPublish { tool_name: "cargo".into(), dry_run: true }).await;
    assert_eq!(outcome.blocked().unwrap().reason, "frozen");
    let outcome =
        hooks.fire_dyn("release.gate", &cx(), json!({ "toolName": "cargo" })).await.unwrap();
    assert!(matches!(outcome, DynOutcome::Gate(ref outcome) if outcome.blocked().is_some()));

    hooks.register_void(|_: Event<Released>| async {}).unwrap();
    hooks.fire_dyn("release.published", &cx(), json!({ "version": "1" })).await.unwrap();
    let known: Vec<_> = hooks
        .known_points()
        .iter()
        .map(|info| info.name)
        .filter(|name| name.starts_with("rel"))
        .collect();
    assert_eq!(known, ["release.gate", "release.published"]);
    assert_eq!(hooks.known_points().len(), Hooks::new().known_points().len() + 2);
}

// R5.1, R5.2: one declaration gives the description and the schemas too.
#[test]
fn own_points_describe_themselves() {
    let info = PointInfo::of::<MayPublish>();
    assert_eq!(
        serde_json::to_value(&info).unwrap(),
        json!({
            "name": "release.gate",
            "model": "gate",
            "binding": true,
            "hasTool": true,
            "doc": " May it be published?\n",
            "fields": ["toolName", "dryRun"],
            "powers": ["block", "output", "additionalContext", "ask"],
        })
    );
    let schema = info.payload_schema();
    assert_eq!(schema["required"], json!(["platform", "traceId", "ts", "toolName"]));
    assert_eq!(schema["properties"]["dryRun"]["type"], "boolean");
    assert_eq!(schema["properties"]["sessionId"]["type"], json!(["string", "null"]));
    assert_eq!(PointInfo::of::<Released>().result_schema(), None);
    let claim = PointInfo::of::<WhoPublishes>().result_schema().unwrap();
    assert_eq!(claim["required"], json!(["handled"]));
    assert_eq!(claim["then"]["required"], json!(["registryUrl"]));
}

// R3.1: the model belongs to the point's type.
#[test]
fn the_model_belongs_to_the_points_type() {
    assert_eq!(PointInfo::of::<Released>().model, ModelKind::Void);
    assert_eq!(PointInfo::of::<WriteNotes>().model, ModelKind::Modifying);
    assert_eq!(PointInfo::of::<WhoPublishes>().model, ModelKind::Claiming);
    assert_eq!(PointInfo::of::<Tried>().model, ModelKind::Gate);
    assert_eq!(PointInfo::of::<Tried>().binding, Some(false));
    assert_eq!(PointInfo::of::<WriteNotes>().fields, ["commitIds"]);
}

/// A point written by hand, with a number beyond what the quick look at "does anybody listen" has room for.
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct FarOut {
    number: u32,
}

impl Point for FarOut {
    type Model = Void;
    const NAME: &'static str = "test_far_out";
}

impl pintle::__private::PointStorage for FarOut {
    fn fields() -> &'static [&'static str] {
        &["number"]
    }

    fn index() -> usize {
        1_000
    }
}

// R5.1: the traits are public; and a process may have more points than fit the quick look.
#[tokio::test]
async fn the_thousandth_point_works_like_the_first() {
    let hooks = Hooks::new();
    hooks.fire_void(&cx(), || -> FarOut { panic!("nobody listens") }).await.unwrap();
    let diary = crate::common::Diary::default();
    let note = diary.clone();
    let registration = hooks
        .register_void(move |e: Event<FarOut>| {
            note.write(e.number.to_string());
            async {}
        })
        .unwrap();
    hooks.fire_void(&cx(), || FarOut { number: 7 }).await.unwrap();
    registration.unregister();
    hooks.fire_void(&cx(), || -> FarOut { panic!("nobody listens") }).await.unwrap();
    assert_eq!(diary.lines(), ["7"]);
}
