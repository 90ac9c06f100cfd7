//! The hooks of a profile: which action at which moment.

use super::action::{AllUses, Uses};
use super::bucket::{BUCKETS, Bucket};
use super::document::{Field, Node};
use super::report::Problem;
use super::{ActionKind, written_at};
use serde_json::Value;

/// One action bound to one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    /// The moment.
    pub bucket: &'static Bucket,
    /// Its name; if it has none, what it does and where it is written.
    pub name: String,
    /// Globs of the tools it is for; none means every tool.
    pub tools: Vec<String>,
    /// The name of its action.
    pub action: &'static str,
    /// Whether it only observes.
    pub observes: bool,
    /// Whether it is only tried: what it says is recorded, and has no effect.
    pub shadow: bool,
    /// What it needs beyond the process.
    pub uses: Uses,
    /// The fields of its action.
    pub fields: Value,
    /// Where it is written, like `agent.json:14`.
    pub source: String,
}

/// The hooks of a file that has been checked.
///
/// # Errors
/// When one cannot be read after all.
pub(crate) fn build(
    document: &Node,
    source: &str,
    kinds: &[ActionKind],
    uses: &mut AllUses,
) -> Result<Vec<Hook>, Problem> {
    let mut built: Vec<Hook> = Vec::new();
    for bucket in &BUCKETS {
        let hooks = document.get("hooks").map(|hooks| hooks.list(bucket.name)).unwrap_or_default();
        for node in hooks {
            let unread = |why: String| Problem::new(node.span.clone(), why);
            let kind = kinds.iter().find(|kind| node.str("action") == Some(kind.name));
            let kind = kind.ok_or_else(|| unread("there is no such action".to_owned()))?;
            let (fields, tools) =
                (own_fields(node), node.list("tools").iter().filter_map(Node::text));
            (kind.read)(fields.clone()).map_err(|error| unread(error.to_string()))?;
            let at = written_at(source, node);
            let taken = |name: &str| built.iter().any(|h| h.bucket == bucket && h.name == name);
            let name = node.str("name").map(str::to_owned);
            built.push(Hook {
                bucket,
                name: name.unwrap_or_else(|| default_name(kind.name, &at, taken)),
                tools: tools.map(str::to_owned).collect(),
                action: kind.name,
                observes: kind.observes,
                shadow: node.get("shadow").is_some_and(|said| said.to_json() == true),
                uses: uses.remove(&node.span.start).unwrap_or_default(),
                fields,
                source: at,
            });
        }
    }
    Ok(built)
}

/// Without those that every action has.
fn own_fields(node: &Node) -> Value {
    let is_own =
        |field: &&Field| !["action", "name", "tools", "shadow"].contains(&field.key.as_str());
    let own = node.fields().iter().filter(is_own);
    Value::Object(own.map(|field| (field.key.clone(), field.value.to_json())).collect())
}

/// What a hook without a name is called: what it does and where it is written, and among several on one line which.
pub(super) fn default_name(action: &str, source: &str, taken: impl Fn(&str) -> bool) -> String {
    let first = format!("{action} at {source}");
    if !taken(&first) {
        return first;
    }
    let mut numbered = (2..).map(|number| format!("{first} ({number})"));
    numbered.find(|name| !taken(name)).unwrap_or(first)
}
