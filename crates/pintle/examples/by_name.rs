//! How do I bind a handler to a point whose name comes from a config file?
//!
//! `cargo run --example by_name`
#![allow(clippy::print_stdout, clippy::indexing_slicing)]

use pintle::{Cx, DynEvent, Hooks, ModelKind};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (point, forbidden) = ("tool.pre", "rm");

    let hooks = Hooks::new();
    hooks.named("from-config").source("config.toml:3").register_dyn(
        point,
        ModelKind::Gate,
        move |e: DynEvent| {
            json!({ "continue": e.json["toolName"] != forbidden, "reason": "the config forbids it" })
        },
    )?;

    for tool in ["ls", "rm"] {
        let payload = json!({ "toolCallId": "1", "toolName": tool, "toolInput": {}, "zone": 1 });
        let outcome = hooks.fire_dyn(point, &Cx::test(), payload).await?;
        println!("{tool}: {}", serde_json::to_string(&outcome)?);
    }
    Ok(())
}
