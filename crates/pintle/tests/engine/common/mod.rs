//! What several test files need: contexts, payloads, a sink that keeps what it gets.

mod random;

use std::sync::{Arc, Mutex};

pub(crate) use random::cases;

use pintle::{
    Cx, Envelope, FireRecord, HandlerRecord, Hooks, PluginFilter, RecordSink,
    points::{
        BeforeDispatch, BeforePromptBuild, BeforeToolCall, ModelPre, SessionOpened, ToolPre,
        UserPromptSubmit,
    },
};
use serde_json::{Value, json};

pub(crate) fn envelope() -> Envelope {
    Envelope {
        session_id: Some("s-1".into()),
        session_key: Some("cli:default".into()),
        run_id: Some("r-1".into()),
        turn_index: Some(0),
        platform: "cli".into(),
        trace_id: "t-1".into(),
        ts: 1_700_000_000_000,
        ..Envelope::default()
    }
}

/// A context that reaches everybody.
pub(crate) fn cx() -> Cx {
    Cx::new(envelope(), PluginFilter::All)
}

pub(crate) fn cx_with(plugins: PluginFilter) -> Cx {
    Cx::new(envelope(), plugins)
}

/// Keeps every record.
#[derive(Default)]
pub(crate) struct Records(Mutex<Vec<FireRecord>>);

impl RecordSink for Records {
    fn record(&self, record: Arc<FireRecord>) {
        self.0.lock().unwrap().push(Arc::unwrap_or_clone(record));
    }
}

impl Records {
    pub(crate) fn all(&self) -> Vec<FireRecord> {
        self.0.lock().unwrap().clone()
    }

    /// The handlers of the only record there is.
    pub(crate) fn only(&self) -> Vec<HandlerRecord> {
        let all = self.all();
        assert_eq!(all.len(), 1, "one record per fire");
        all.into_iter().next().unwrap().handlers
    }

    /// Name and outcome of each handler of the only record.
    pub(crate) fn outcomes(&self) -> Vec<(String, &'static str)> {
        self.only().iter().map(|h| (h.name.to_string(), h.outcome.name())).collect()
    }
}

/// A registry that is watched.
pub(crate) fn watched() -> (Hooks, Arc<Records>) {
    let records = Arc::new(Records::default());
    (Hooks::builder().sink(records.clone()).build(), records)
}

/// What handlers write down, in the order they do.
#[derive(Clone, Default)]
pub(crate) struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    pub(crate) fn write(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Writes a line when dropped.
pub(crate) struct OnDrop(pub(crate) Diary, pub(crate) &'static str);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.write(self.1);
    }
}

pub(crate) fn started() -> SessionOpened {
    SessionOpened::default()
}

pub(crate) fn prompt() -> BeforePromptBuild {
    BeforePromptBuild::default().history(vec![]).system("You help.")
}

pub(crate) fn before_call(args: Value) -> BeforeToolCall {
    BeforeToolCall::default().tool_call_id("t1").tool_name("write_file").args(args)
}

pub(crate) fn dispatch() -> BeforeDispatch {
    BeforeDispatch::default().chat_id("c").platform("cli").text("hello")
}

pub(crate) fn submit() -> UserPromptSubmit {
    UserPromptSubmit::default().prompt("hi")
}

pub(crate) fn model_pre() -> ModelPre {
    ModelPre::default().model("offline").message_count(1)
}

pub(crate) fn tool(name: &str) -> ToolPre {
    ToolPre::default()
        .tool_call_id("t1")
        .tool_name(name)
        .tool_input(json!({ "path": "a.txt" }))
        .zone(1)
}
