//! What a published crate needs. What its dependencies may be is in deny.toml, for cargo-deny.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{OUTSIDE, files, output, read, root};

/// What the program links in more than one version, until those who bring the older one update it.
const TWICE: [&str; 2] = ["getrandom", "io-lifetimes"];

fn metadata(extra: &[&str]) -> Vec<Value> {
    let arguments = [&["metadata", "--format-version", "1"], extra].concat();
    let metadata: Value = serde_json::from_str(&output("cargo", &arguments)).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap()
}

#[test]
fn every_public_crate_says_what_a_registry_shows() {
    let mut public = 0;
    for package in metadata(&["--no-deps"]) {
        let name = name(&package);
        if OUTSIDE.contains(&name) {
            assert_eq!(package["publish"], Value::from(Vec::<Value>::new()), "{name} is internal");
            continue;
        }
        public += 1;
        for key in ["description", "license", "readme", "rust_version"] {
            assert!(package[key].is_string(), "{name} has no `{key}`");
        }
        for key in ["keywords", "categories"] {
            let count = package[key].as_array().unwrap().len();
            assert!((1..=5).contains(&count), "{name} has {count} {key}");
        }
        assert!(package["metadata"]["docs"]["rs"].is_object(), "{name} has no docs.rs settings");
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(!read(&format!("crates/{name}/{file}")).is_empty(), "{name}: {file}");
        }
    }
    assert!(public > 9, "the crates are found: {public}");
}

/// A packaged crate has its own folder and nothing else.
#[test]
fn no_packaged_source_includes_a_file_of_another_folder() {
    let sources = files().filter(|path| path.starts_with("crates/") && path.ends_with(".rs"));
    for path in sources.filter(|path| is_packaged(path)) {
        let folder = root().join(&path).parent().unwrap().to_path_buf();
        let krate = root().join(path.split('/').take(2).collect::<Vec<_>>().join("/"));
        let source = read(&path);
        let pieces = ["include_str!(\"", "#[path = \""].map(|start| source.split(start).skip(1));
        for piece in pieces.into_iter().flatten() {
            // A link counts as the file that it leads to: `cargo package` packs its content.
            let mut included = folder.clone();
            for part in piece.split('"').next().unwrap().split('/') {
                match part {
                    ".." => assert!(included.pop()),
                    part => included.push(part),
                }
            }
            assert!(included.starts_with(&krate), "{path} includes {}", included.display());
            assert!(
                included.is_file(),
                "{path} includes {}, which is not there",
                included.display()
            );
        }
    }
}

fn is_packaged(path: &str) -> bool {
    let mut parts = path.splitn(4, '/');
    let (krate, folder) = (parts.nth(1).unwrap(), parts.next().unwrap());
    if OUTSIDE.contains(&krate) {
        return false;
    }
    let manifest: toml::Table = read(&format!("crates/{krate}/Cargo.toml")).parse().unwrap();
    let excluded = manifest["package"].get("exclude").and_then(toml::Value::as_array);
    !excluded.into_iter().flatten().any(|it| it.as_str() == Some(folder))
}

#[test]
fn the_program_links_no_crate_twice_but_those_that_are_listed() {
    let arguments = ["tree", "-p", "pintle-cli", "-e", "normal,no-proc-macro", "--prefix", "none"];
    let tree = output("cargo", &[&arguments[..], &["--format", "{p}"]].concat());
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(version)) = (words.next(), words.next()) {
            versions.entry(name).or_default().insert(version);
        }
    }
    let twice = versions.iter().filter(|(_, versions)| versions.len() > 1).map(|(name, _)| *name);
    assert_eq!(twice.collect::<Vec<_>>(), TWICE);
}
