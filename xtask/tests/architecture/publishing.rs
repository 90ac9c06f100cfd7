//! What a published crate needs, and what its dependencies may be. `cargo deny` would check the licences and versions too;
//! building it takes longer than all of these tests.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{OUTSIDE, files, output, read, root};

/// Licences under which a dependency may be linked.
const LICENCES: [&str; 10] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that may have another licence. `directories` brings `option-ext`, unchanged, which is all that MPL-2.0 asks; the
/// certificates of the other are linked on Android only.
/// The WTFPL of the Bot API's types asks for nothing.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("frankenstein", "WTFPL"),
    ("option-ext", "MPL-2.0"),
    ("webpki-root-certs", "CDLA-Permissive-2.0"),
];

/// A second TLS stack or a C build of minutes.
const BANNED: [&str; 5] = ["aws-lc-rs", "aws-lc-sys", "native-tls", "openssl", "openssl-sys"];

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
fn no_source_includes_a_file_of_another_folder() {
    let sources = files().filter(|path| path.starts_with("crates/") && path.contains("/src/"));
    for path in sources.filter(|path| path.ends_with(".rs")) {
        let folder = root().join(&path).parent().unwrap().to_path_buf();
        let krate = root().join(path.split('/').take(2).collect::<Vec<_>>().join("/"));
        for piece in read(&path).split("include_str!(\"").skip(1) {
            let included = folder.join(piece.split('"').next().unwrap()).canonicalize().unwrap();
            assert!(included.starts_with(&krate), "{path} includes {}", included.display());
        }
    }
}

#[test]
fn every_dependency_has_a_licence_that_is_allowed() {
    for package in metadata(&[]) {
        let licence = package["license"].as_str().unwrap_or_default();
        let excepted = EXCEPTIONS.contains(&(name(&package), licence));
        assert!(excepted || allows(licence), "{} is licensed `{licence}`", name(&package));
    }
}

/// Whether one of the alternatives consists of allowed licences. Parentheses stand around alternatives only.
fn allows(expression: &str) -> bool {
    let flat = expression.replace(['(', ')'], "").replace('/', " OR ");
    let is_allowed = |term: &str| LICENCES.contains(&term.trim());
    match flat.split_once(" AND ") {
        Some((left, right)) => allows(left) && allows(right),
        None => flat.split(" OR ").any(is_allowed),
    }
}

#[test]
fn an_expression_is_allowed_only_if_each_of_its_necessary_parts_is() {
    assert!(allows("GPL-3.0 OR MIT") && allows("(MIT OR GPL-3.0) AND Unicode-3.0"));
    assert!(!allows("GPL-3.0") && !allows("MIT AND GPL-3.0") && !allows(""));
}

#[test]
fn no_banned_crate_is_in_the_lock_file() {
    let lock = read("Cargo.lock");
    let found = BANNED.iter().find(|name| lock.contains(&format!("name = \"{name}\"")));
    assert_eq!(found, None);
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
