//! Runs with what the loop's own tests have doubles for: SQLite, the built-in tools, MCP servers, hooks that are programs, and
//! processes that die.

mod crash;
mod mcp;
mod outside;
#[path = "../../../../pintle/tests/engine/common/random.rs"]
mod random;
mod stopping;
#[path = "../../../../pintle-agent/tests/run/support.rs"]
#[allow(dead_code, reason = "the loop's tests need more of it")]
mod support;
mod swapped;

use std::sync::Arc;

use pintle_store::SqliteStore;
use pintle_tools::{Background, TerminalConfig, builtin};
use serde_json::Value;
use support::World;

/// A world with a database and the tools that every agent has.
async fn real(script: Value) -> World {
    let mut world = World::new(script).await;
    let db = world.workspace().parent().unwrap().join("pintle.db");
    world.store = Arc::new(SqliteStore::open(db).await.unwrap());
    let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    world.tools =
        builtin(TerminalConfig { env, ..TerminalConfig::default() }, &Background::default());
    world
}
