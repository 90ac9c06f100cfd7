//! What is meant by a name that other tools use, or that stands in another place.

use super::document::{Kind, Node};
use pintle::similar::nearest;
use serde_json::Value;
use std::collections::BTreeMap;

/// How to refuse, for an author who looks for an action that does.
pub(super) fn refusal(written: &str) -> Option<&'static str> {
    matches!(written.to_lowercase().as_str(), "deny" | "block" | "reject" | "forbid" | "refuse" | "stop")
        .then_some("refusals belong in `policies`: [{ \"tool\": \"terminal\", \"kind\": \"shell\", \"deny\": [\"git push *\"] }]; a tool that is off, in `tools`: { \"deny\": [ … ] }")
}

/// Where this file says what other programs say in a field of this name.
pub(super) fn elsewhere(called: &str, written: &str, value: &Node) -> Option<&'static str> {
    let name = written.to_lowercase().replace(['_', '-'], "");
    Some(match (called, name.as_str()) {
        ("the file", "permissions" | "guards" | "guardrails" | "rules") => {
            "refusals belong in `policies`: [{ \"tool\": \"terminal\", \"kind\": \"shell\", \"deny\": [\"git push *\"] }]"
        }
        ("the file", "instructions" | "prompt" | "system" | "systemprompt") => {
            "a prompt belongs to a personality: \"personalities\": { \"NAME\": { \"prompt\": … } }"
        }
        ("the file", "env" | "environment") => {
            "variables for hooks are the operator's to give: `[hook_env]` in pintle.toml"
        }
        ("the file", "agent" | "profile" | "config") if value.is_object() => {
            "remove it: its fields belong at the top of the file"
        }
        (_, "allowedtools" | "disallowedtools" | "allowtools" | "denytools") => {
            "the selection of tools belongs at the top of the file: \"tools\": { \"allow\": [ … ], \"deny\": [ … ] }"
        }
        ("`security`", "mode" | "zones" | "sandbox" | "permissionmode") => {
            "`level` says how far calls may reach: `permissive`, `standard`, `strict` or `paranoid`"
        }
        _ => return None,
    })
}

/// A length of time as a number, for a field that says its unit in its name.
pub(super) fn duration(called: &str, written: &str) -> Option<u64> {
    let written = written.trim();
    let digits = written.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = written.split_at_checked(digits)?;
    let ms: u64 = match unit.trim() {
        "ms" => 1,
        "s" | "sec" | "seconds" => 1000,
        "m" | "min" | "minutes" => 60_000,
        "h" | "hours" => 3_600_000,
        _ => return None,
    };
    let ms = number.parse::<u64>().ok()?.checked_mul(ms)?;
    match called.trim_matches('`') {
        name if name.ends_with("Ms") => Some(ms),
        name if name.ends_with("Seconds") && ms.is_multiple_of(1000) => Some(ms / 1000),
        _ => None,
    }
}

/// How to write an action that was written some other way, without `key`.
pub(super) fn action_without(node: &Node, key: &str, names: &[&str]) -> Option<String> {
    let fields = node.fields();
    let names_it = |node: &Node| node.text().filter(|text| names.contains(text)).is_some();
    if let Some(other) = fields.iter().find(|field| names_it(&field.value)) {
        return Some(format!("did you mean `{key}` where `{}` is written?", other.key));
    }
    if let Some(named) = fields.iter().find(|field| names.contains(&field.key.as_str())) {
        return Some(format!("write {{ \"{key}\": \"{}\", … }}", named.key));
    }
    let nested = fields.iter().any(|field| matches!(field.key.as_str(), "matcher" | "hooks"));
    nested.then(|| {
        format!("write it flat: {{ \"{key}\": \"command\", \"command\": \"…\", \"tools\": [\"terminal\"] }}")
    })
}

/// Where a field belongs that does not belong here: the part of the file that has one of this name.
pub(super) fn belongs(root: &Value, written: &str, at_the_top: bool) -> Option<String> {
    let top = root.get("properties")?.as_object()?;
    if !at_the_top {
        let known = top.contains_key(written);
        return known.then(|| format!("`{written}` belongs at the top of the file"));
    }
    let names_of = |part: &Value| -> Vec<String> {
        let inner = part.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix('#'));
        let part = inner.and_then(|pointer| root.pointer(pointer)).unwrap_or(part);
        let names = part.get("properties").and_then(Value::as_object);
        names.map(|names| names.keys().cloned().collect()).unwrap_or_default()
    };
    // Sorted here: a build may keep a JSON map's keys in any order.
    let inner: BTreeMap<&String, Vec<String>> =
        top.iter().map(|(name, part)| (name, names_of(part))).collect();
    let write = |part: &str, name: &str| format!("\"{part}\": {{ \"{name}\": … }}");
    if let Some((part, _)) = inner.iter().find(|(_, names)| names.iter().any(|it| it == written)) {
        return Some(format!("it belongs in `{part}`: {}", write(part, written)));
    }
    let all = || inner.values().flatten().map(String::as_str);
    let near = nearest(written, all())?;
    let (part, _) = inner.iter().find(|(_, names)| names.iter().any(|it| it == near))?;
    Some(format!("did you mean `{near}` in `{part}`? Write {}", write(part, near)))
}

/// How a part of the file looks, for an author who wrote it as something else.
pub(super) fn example(called: &str, node: &Node, expected: &str) -> Option<String> {
    if let ("string", [one]) = (expected, node.items())
        && let Some(text) = one.text()
    {
        return Some(format!("write it without the list: \"{text}\""));
    }
    let example = match (called.trim_matches('`'), &node.kind) {
        ("security", Kind::Text(level)) => {
            return Some(format!("write {{ \"level\": \"{level}\" }}"));
        }
        ("tools", Kind::List(_)) => "write { \"allow\": [ … ] }",
        ("policies", Kind::Object(_)) if node.get("tool").is_none() => {
            "each names its tool: [{ \"tool\": \"terminal\", \"kind\": \"shell\", \"deny\": [ … ] }]"
        }
        ("hooks", Kind::List(_)) => {
            "name the moment: { \"onToolCall\": [{ \"action\": \"log\" }] }"
        }
        ("personalities", Kind::List(_)) => {
            "give each its name: { \"NAME\": { \"prompt\": \"…\" } }"
        }
        ("personality", Kind::Object(_)) => "write it in `personalities`, and here its name",
        ("mcpServers" | "channels", Kind::List(_)) => "give each its name: { \"NAME\": { … } }",
        ("command", Kind::List(_)) => {
            "write the program alone; its arguments belong in `args`, or all of it in `argv` of a hook"
        }
        ("argv" | "args", Kind::Text(line)) => {
            let words: Vec<String> =
                line.split_whitespace().map(|it| format!("\"{it}\"")).collect();
            return Some(format!("put each word in a list: [{}]", words.join(", ")));
        }
        _ => return None,
    };
    Some(example.to_owned())
}
