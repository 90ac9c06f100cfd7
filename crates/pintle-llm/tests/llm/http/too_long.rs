//! R6.7: a run goes on when the provider finds its request too long.

use std::sync::Arc;

use pintle_agent::{
    Agent, Message, NewMessage, NewSession, Personalities, Personality, PersonalityConfig, Policy,
    RunOutcome, RunRequest,
    store::{Claims, Sessions},
    testing::MemoryStore,
};
use serde_json::json;

use super::{
    dialect::{ALL, Say, Stop},
    model,
    server::{Reply, Server},
};

#[tokio::test]
async fn a_conversation_that_a_provider_finds_too_long_goes_on() {
    for dialect in &ALL {
        let says = |text| {
            let frames = (dialect.frames)(&[Say::Text(text)], Stop::Normally);
            Reply::ok(frames.into_iter().map(String::into_bytes).collect())
        };
        let words = "prompt is too long; maximum context length exceeded";
        let too_long = json!({"error": {"message": words}}).to_string();
        let replies =
            vec![Reply::error(400, &too_long), says("They counted."), says("Twenty-one.")];
        let server = Server::start(replies).await;
        let store = MemoryStore::default();
        let new = NewSession { key: "k".into(), ..NewSession::default() };
        let session = store.open(new).await.unwrap();
        let claim = store.claim(&session).await.unwrap();
        for round in 0..20 {
            let asked = Message::user(format!("say {round}"));
            let said = Message::assistant(format!("{round}"), Vec::new());
            let stored = [asked, said].map(|message| NewMessage { run_id: "r".into(), message });
            store.append(&claim, stored.to_vec()).await.unwrap();
        }
        drop(claim);
        let plain =
            Personality::new("main", PersonalityConfig::default().prompt("Count.")).unwrap();
        let agent = Agent::builder(
            Default::default(),
            model(dialect, &server),
            Arc::new(store.clone()),
            Personalities::new(plain),
            Policy::standard("/"),
        )
        .build()
        .unwrap();
        let finished = agent.run(RunRequest::new("k", "say 21")).finish().await;
        let context = dialect.provider;
        assert_eq!(finished.text, "Twenty-one.", "{context}");
        assert_eq!(finished.outcome, RunOutcome::EndTurn, "{context}");
        let sent: Vec<String> =
            server.seen().iter().map(|seen| String::from_utf8(seen.raw.clone()).unwrap()).collect();
        assert_eq!(sent.len(), 3, "{context}");
        assert!(sent[0].contains("say 3") && !sent[2].contains("say 3"), "{context}");
        assert!(sent[2].contains("They counted.") && sent[2].contains("say 21"), "{context}");
        assert_eq!(store.history(&session.id).await.unwrap().len(), 42, "{context}");
    }
}
