//! A workspace, a data folder, and an agent whose model plays a script.

use std::{path::PathBuf, sync::Arc};

use futures_util::StreamExt;
use pintle::{Hooks, points::PersonalityConfig};
use pintle_agent::{
    Agent, Approver, Containment, Llm, Message, NoOneToAsk, Personalities, Personality, Policy,
    RunRequest, ToolCall, ToolError, ToolSpec, Zone,
    testing::{Answer, MemoryStore, ScriptedLlm, tool_fn},
};
use pintle_consumers::Host;
use pintle_policy::Level;
use pintle_profile::ConsumerSettings;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct World {
    folder: TempDir,
    pub(crate) hooks: Hooks,
    pub(crate) settings: ConsumerSettings,
    pub(crate) level: Level,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) classifier: Option<Arc<dyn Llm>>,
    pub(crate) approver: Arc<dyn Approver>,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self {
            folder,
            hooks: Hooks::new(),
            settings: ConsumerSettings::default(),
            level: Level::Permissive,
            store: Arc::default(),
            classifier: None,
            approver: Arc::new(NoOneToAsk),
        }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("work")
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let file = self.workspace().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// Binds the consumers, and runs the script to its end: the requests, and the events as they are on the wire.
    pub(crate) async fn play(&self, script: Vec<Answer>) -> (Vec<Vec<Message>>, Vec<Value>) {
        self.bind();
        self.run(script).await
    }

    pub(crate) fn bind(&self) {
        let (workspace, data) = (self.workspace(), self.data());
        let classifier = self.classifier.clone();
        let (settings, workspace, data) = (&self.settings, &*workspace, &*data);
        let host = Host { settings, workspace, data, classifier };
        pintle_consumers::bind(&host, &self.hooks).unwrap();
    }

    /// Another run, with what is bound already.
    pub(crate) async fn run(&self, script: Vec<Answer>) -> (Vec<Vec<Message>>, Vec<Value>) {
        let llm = Arc::new(ScriptedLlm::named("scripted:test", script));
        let agent = self.agent(llm.clone());
        let mut run = agent.run(RunRequest::new("cli:test", "go"));
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(serde_json::to_value(&event).unwrap());
        }
        agent.settle().await;
        (llm.requests().into_iter().map(|request| request.messages).collect(), events)
    }

    pub(crate) fn agent(&self, llm: Arc<dyn Llm>) -> Agent {
        let personality = Personality::new("main", PersonalityConfig::default()).unwrap();
        let policy = Policy {
            level: self.level,
            containment: Containment::Off,
            ..Policy::standard(self.workspace())
        };
        Agent::builder(
            self.hooks.clone(),
            llm,
            self.store.clone(),
            Personalities::new(personality),
            policy,
        )
        .approver(self.approver.clone())
        .tools(tools(self.data()))
        .build()
        .unwrap()
    }

    /// Which of the tools `post` and `save` have run.
    pub(crate) fn ran(&self) -> Vec<&'static str> {
        let ran = |tool: &&str| self.data().join(tool).exists();
        ["post", "save"].into_iter().filter(ran).collect()
    }
}

/// `read` answers with the file's text; `fetch` is in zone network, and answers with what it is asked for. `post` (zone
/// network) and `save` (zone workspace) leave a file in the data folder as a witness.
fn tools(data: PathBuf) -> Vec<Arc<dyn pintle_agent::Tool>> {
    let schema = |field: &str| json!({"type": "object", "properties": {field: {"type": "string"}}});
    let read = ToolSpec::new("read", "For a test.", schema("path"))
        .in_zone(Zone::Safe)
        .with_paths(["path"]);
    let fetch = ToolSpec::new("fetch", "For a test.", schema("text")).in_zone(Zone::Network);
    let witness = |name: &'static str, zone| {
        let (spec, file) = (ToolSpec::new(name, "For a test.", schema("text")), data.join(name));
        tool_fn(spec.in_zone(zone), move |_, _| {
            std::fs::write(&file, "").unwrap();
            std::future::ready(Ok("done".to_string()))
        })
    };
    vec![
        witness("post", Zone::Network),
        witness("save", Zone::Workspace),
        tool_fn(read, async |call, _| {
            let path = call.reach().path("path").unwrap().unwrap();
            std::fs::read_to_string(path).map_err(|error| ToolError::Failed(error.to_string()))
        }),
        tool_fn(fetch, async |call, _| Ok(call.args()["text"].as_str().unwrap().to_string())),
    ]
}

pub(crate) fn call(id: &str, tool: &str, input: Value) -> Answer {
    let (id, name) = (id.to_string(), tool.to_string());
    Answer::text("").with_calls(vec![ToolCall::default().id(id).name(name).input(input)])
}

pub(crate) fn read(id: &str, path: &str) -> Answer {
    call(id, "read", json!({ "path": path }))
}

/// The text of the last message of a request.
pub(crate) fn last_text(request: &[Message]) -> String {
    match request.last().unwrap() {
        Message::User { text, .. } | Message::Assistant { text, .. } => text.clone(),
        Message::ToolResults { results, .. } => results.last().unwrap().content.clone(),
    }
}

pub(crate) fn outcome(events: &[Value]) -> &str {
    events.iter().find(|event| event["type"] == "done").unwrap()["outcome"].as_str().unwrap()
}
