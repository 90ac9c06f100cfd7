//! The terminal guard: denies destructive commands, and asks about those that reach others. What it objects to is one table,
//! in `pintle-policy`'s `shell/terminal_guard.rs`.

use pintle::{Event, Hooks, RegisterError, Verdict, points::ToolPre};
use pintle_policy::shell::{Objection, objection};

use crate::Host;

pub(crate) const NAME: &str = "terminal guard";

/// It runs before the hooks of a profile: no one is asked about what it denies.
const PRIORITY: i32 = 100;

pub(crate) fn register(host: &Host<'_>, hooks: &Hooks) -> Result<(), RegisterError> {
    let workspace = host.workspace.to_path_buf();
    let guard = move |e: Event<ToolPre>| {
        let said = |key: &str| e.tool_input.get(key).and_then(serde_json::Value::as_str);
        let Some(command) = said("command") else { return Verdict::allow() };
        let cwd = said("cwd").map_or_else(|| workspace.clone(), |cwd| workspace.join(cwd));
        match objection(command, &workspace, &cwd) {
            Some(Objection::Deny(reason)) => Verdict::block(reason),
            Some(Objection::Ask(reason)) => Verdict::ask(&e, reason),
            None => Verdict::allow(),
        }
    };
    let registrar = hooks.named(NAME).source("built-in").tools(["terminal"]).priority(PRIORITY);
    registrar.register_gate(guard).map(drop)
}
