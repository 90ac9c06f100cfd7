//! The memory tools on a store in memory.

use std::sync::Arc;

use pintle_agent::{Notebook, Tool, ToolError, store::NoteScope, testing::MemoryStore};
use serde_json::{Value, json};

use super::MemoryTool;

async fn call(
    store: &MemoryStore,
    who: &str,
    untrusted: bool,
    tool: &str,
    args: Value,
) -> Result<String, ToolError> {
    let scope = NoteScope { personality: who.into(), workspace: "/w".into() };
    let notes = Notebook::new(Arc::new(store.clone()), scope, untrusted);
    let named = MemoryTool::all().into_iter().find(|it| it.spec().name == tool).unwrap();
    (named.run)(args, notes).await
}

// R6.8
#[tokio::test]
async fn a_note_is_found_by_its_author_and_untrusted_ones_are_marked() {
    let store = MemoryStore::default();
    let write = |text: &str| json!({ "text": text });
    call(&store, "main", false, "memory_write", write("Ann likes tabs")).await.unwrap();
    let told = call(&store, "main", true, "memory_write", write("tabs are evil")).await.unwrap();
    assert!(told.contains("marked as untrusted"), "{told}");
    let find = || json!({"query": "tabs?"});
    let found = call(&store, "main", false, "memory_search", find()).await.unwrap();
    assert!(found.contains("- Ann likes tabs"), "{found}");
    assert!(found.contains("- tabs are evil [untrusted"), "{found}");
    let none = call(&store, "other", false, "memory_search", find()).await.unwrap();
    assert_eq!(none, "[no note has any of these words]");
}

#[tokio::test]
async fn a_note_is_neither_blank_nor_endless() {
    let store = MemoryStore::default();
    for text in [" ".to_string(), "x".repeat(Notebook::LONGEST + 1)] {
        let error = call(&store, "main", false, "memory_write", json!({ "text": text })).await;
        assert!(error.unwrap_err().to_string().contains("1 to 2000 characters"));
    }
}
