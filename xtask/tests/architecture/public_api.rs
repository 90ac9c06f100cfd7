//! The public face of the engine, one line for each item: what changes in it is seen in review.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use super::{read, root};

const LIST: &str = "crates/pintle/public-api.txt";

/// What users may match without `_` or build with a literal. A new variant or field is a break, and docs/stability.md says so.
const COMPLETE: [&str; 6] =
    ["Decision", "DynOutcome", "FailurePolicy", "ModelKind", "PluginFilter", "points::Message"];

/// A new field breaks neither: `Envelope` is built with `..Envelope::default()`, and `Merged` has a private field.
const GROWING: [&str; 2] = ["Envelope", "Merged"];

/// What rustdoc says of the engine, as JSON.
///
/// Only a nightly rustdoc has that option, or one that is told so. Told to cargo, it would build every dependency again.
fn described() -> String {
    let folder = tempfile::tempdir().unwrap();
    let rustdoc = folder.path().join("rustdoc");
    fs::write(&rustdoc, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n").unwrap();
    fs::set_permissions(&rustdoc, fs::Permissions::from_mode(0o755)).unwrap();
    let done = Command::new("cargo")
        .args(["rustdoc", "--quiet", "--locked", "--package", "pintle", "--lib", "--target-dir"])
        .arg(root().join("target"))
        .args(["--", "-Zunstable-options", "--output-format", "json", "--cap-lints", "allow"])
        .env("RUSTDOC", &rustdoc)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    "target/doc/pintle.json".to_string()
}

#[test]
fn the_public_api_of_the_engine_is_the_one_that_was_reviewed() {
    let api = public_api::Builder::from_rustdoc_json(root().join(described()))
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .unwrap();
    let list: String = api.items().map(|item| format!("{item}\n")).collect();
    if std::env::var_os("PINTLE_UPDATE").is_some() {
        fs::write(root().join(LIST), &list).unwrap();
    }
    let reviewed = read(LIST);
    let only_in = |one: &str, other: &str, mark: char| -> String {
        let others: Vec<&str> = other.lines().collect();
        let lines = one.lines().filter(|line| !others.contains(line));
        lines.map(|line| format!("{mark} {line}\n")).collect()
    };
    assert!(
        list == reviewed,
        "the public API of `pintle` changed. `cargo xtask update` writes {LIST}; docs/stability.md says what may change.\n{}{}",
        only_in(&reviewed, &list, '-'),
        only_in(&list, &reviewed, '+')
    );
}

/// A type whose variants or fields other crates may name in full cannot grow.
#[test]
fn every_public_type_can_grow_except_those_that_are_complete() {
    let list = read(LIST);
    let mut closed = Vec::new();
    for line in list.lines() {
        if let Some(name) = line.strip_prefix("pub enum pintle::") {
            closed.push(name.to_owned());
        }
        let Some(name) = line.strip_prefix("pub struct pintle::") else { continue };
        let name = name.split(['<', '(']).next().unwrap().split(": ").next().unwrap();
        let has_field = |line: &str| {
            let field = line.strip_prefix("pub pintle::").and_then(|it| it.strip_prefix(name));
            field.is_some_and(|field| field.starts_with("::"))
        };
        if list.lines().any(has_field) {
            closed.push(name.to_owned());
        }
    }
    closed.sort_unstable();
    let mut allowed = [&COMPLETE[..], &GROWING[..]].concat();
    allowed.sort_unstable();
    assert_eq!(closed, allowed);
    let page = read("docs/stability.md");
    for name in COMPLETE {
        let name = name.rsplit("::").next().unwrap();
        assert!(page.contains(&format!("`{name}`")), "docs/stability.md does not name `{name}`");
    }
    for role in ["User", "Assistant", "ToolResults"] {
        let role = format!("#[non_exhaustive] pub pintle::points::Message::{role}\n");
        assert!(list.contains(&role), "a message can get a field: {role}");
    }
}
