//! The rules of the house, read from the manifests and the sources.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

#[path = "architecture/four_tasks.rs"]
mod four_tasks;
#[path = "architecture/public_api.rs"]
mod public_api;
#[path = "architecture/publishing.rs"]
mod publishing;
#[path = "architecture/wire_names.rs"]
mod wire_names;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Which room a room may open a door to. A room that is not here may open none.
const DOORS: &[(&str, &[&str])] = &[
    ("pintle", &[]),
    ("pintle-http", &[]),
    ("pintle-otlp", &[]),
    ("pintle-sandbox", &[]),
    ("pintle-policy", &["pintle"]),
    ("pintle-profile", &["pintle", "pintle-policy"]),
    ("pintle-exec", &["pintle", "pintle-http", "pintle-sandbox"]),
    (
        "pintle-actions",
        &["pintle", "pintle-sandbox", "pintle-policy", "pintle-profile", "pintle-exec"],
    ),
    ("pintle-agent", &["pintle", "pintle-sandbox", "pintle-policy"]),
    ("pintle-consumers", &["pintle", "pintle-policy", "pintle-profile", "pintle-agent"]),
    ("pintle-llm", &["pintle", "pintle-http", "pintle-policy", "pintle-agent"]),
    ("pintle-tools", &["pintle", "pintle-http", "pintle-sandbox", "pintle-policy", "pintle-agent"]),
    ("pintle-store", &["pintle", "pintle-policy", "pintle-agent"]),
    ("pintle-gateway", &["pintle", "pintle-http", "pintle-policy", "pintle-agent"]),
    (
        "pintle-plugins",
        &["pintle", "pintle-sandbox", "pintle-policy", "pintle-exec", "pintle-agent"],
    ),
    ("pintle-wasm", &["pintle", "pintle-plugins"]),
    (
        "pintle-cli",
        &[
            "pintle",
            "pintle-sandbox",
            "pintle-policy",
            "pintle-profile",
            "pintle-exec",
            "pintle-actions",
            "pintle-agent",
            "pintle-consumers",
            "pintle-llm",
            "pintle-tools",
            "pintle-store",
            "pintle-gateway",
            "pintle-plugins",
            "pintle-otlp",
            "pintle-wasm",
        ],
    ),
];

/// Not rooms: they measure and check the house, and may look into any of them.
const OUTSIDE: [&str; 2] = ["pintle-bench", "xtask"];

/// Each of these is a large part of a build, so only one room may ask for it.
const HEAVY: [&str; 9] = [
    "axum",
    "frankenstein",
    "genai",
    "opentelemetry-proto",
    "reqwest",
    "rmcp",
    "rusqlite",
    "rustls",
    "wasmtime",
];

const ENGINE_BUDGET: usize = 22;
const LONGEST_FILE: usize = 500;

#[test]
fn doors_open_only_downwards() {
    let rooms = rooms();
    let mut wrong = Vec::new();
    for (room, dependencies) in &rooms {
        if OUTSIDE.contains(&room.as_str()) {
            continue;
        }
        let doors = DOORS.iter().find(|(name, _)| name == room).map_or(&[][..], |(_, doors)| doors);
        // A test program is outside its room: pintle-profile reads profiles with the actions of the room above.
        let is_door = |it: &&Dependency| it.is_linked() && rooms.contains_key(&it.name);
        for dependency in dependencies.iter().filter(is_door) {
            if !doors.contains(&dependency.name.as_str()) && dependency.name != *room {
                wrong.push(format!("{room} opens a door to {}", dependency.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_heavy_dependency_is_named_in_one_room_only() {
    for heavy in HEAVY {
        let named: Vec<_> = rooms()
            .into_iter()
            .filter(|(_, dependencies)| {
                dependencies
                    .iter()
                    .any(|dependency| dependency.name == heavy && dependency.is_linked())
            })
            .map(|(room, _)| room)
            .collect();
        assert!(named.len() <= 1, "`{heavy}` is named in {}", named.join(" and in "));
    }
}

#[test]
fn the_engine_stays_within_its_dependency_budget() {
    let tree = output(
        "cargo",
        &[
            "tree",
            "-p",
            "pintle",
            "-e",
            "normal,no-proc-macro",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ],
    );
    let linked: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "pintle")
        .collect();
    assert!(
        linked.len() <= ENGINE_BUDGET,
        "{} crates, not {ENGINE_BUDGET}: {linked:?}",
        linked.len()
    );
}

#[test]
fn every_dependency_has_its_reason_in_the_architecture_page() {
    let page = read("ARCHITECTURE.md");
    let rooms = rooms();
    let missing: BTreeSet<_> = rooms
        .values()
        .flatten()
        .map(|dependency| dependency.name.clone())
        .filter(|name| !rooms.contains_key(name) && !page.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md has no line for {missing:?}");
}

#[test]
fn every_crate_takes_the_workspace_lints() {
    for manifest in files().filter(|path| path.ends_with("/Cargo.toml")) {
        let text = read(&manifest);
        let lints = text.split("[lints]").nth(1).unwrap_or_default();
        assert!(
            // A fuzz target is a workspace of its own, for a nightly compiler.
            lints.trim_start().starts_with("workspace = true")
                || !text.contains("[package]")
                || manifest.contains("/fuzz/"),
            "{manifest} has no `[lints] workspace = true`"
        );
    }
}

/// Panic isolation needs unwinding.
#[test]
fn no_profile_aborts_on_panic() {
    for manifest in files().filter(|path| path.ends_with("Cargo.toml")) {
        let aborts = read(&manifest).lines().any(|line| {
            let line = line.replace(' ', "");
            line.starts_with("panic=") && line.contains("abort")
        });
        assert!(!aborts, "{manifest} sets panic = \"abort\"");
    }
}

#[test]
fn no_source_file_is_longer_than_500_lines() {
    let long: Vec<_> = sources()
        .map(|path| (read(&path).lines().count(), path))
        .filter(|(lines, _)| *lines > LONGEST_FILE)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn only_the_entrance_hall_prints_and_reads_the_environment() {
    // A launcher is a program of its own, which its first argument names.
    const LAUNCHER: [&str; 2] =
        ["crates/pintle-sandbox/src/launch/mod.rs", "crates/pintle-sandbox/src/bin/launcher.rs"];
    let forbidden = ["println!", "eprintln!", "print!(", "eprint!(", "dbg!(", "std::env", " env::"];
    let mut found = Vec::new();
    for path in
        sources().filter(|path| is_library_source(path) && !LAUNCHER.contains(&path.as_str()))
    {
        for (number, line) in library_lines(&read(&path)) {
            if let Some(word) = forbidden.iter().find(|word| line.contains(**word)) {
                found.push(format!("{path}:{number}: `{}`", word.trim()));
            }
        }
    }
    assert!(
        found.is_empty(),
        "only pintle-cli prints and reads the environment:\n{}",
        found.join("\n")
    );
}

/// The files that may decide that a process runs without a sandbox.
const DECIDE_UNCONFINED: [&str; 3] = [
    "crates/pintle-agent/src/containment.rs",
    "crates/pintle-agent/src/run/judge.rs",
    "crates/pintle-cli/src/containment.rs",
];

// R17.1
#[test]
fn a_process_without_a_sandbox_is_decided_in_three_files() {
    let decides = |path: &String| {
        path.starts_with("crates/")
            && path.contains("/src/")
            && !path.ends_with("/tests.rs")
            && library_lines(&read(path)).iter().any(|(_, line)| line.contains("Unconfined::by"))
    };
    let found: Vec<String> = sources().filter(decides).collect();
    assert_eq!(found, DECIDE_UNCONFINED);
}

/// A third store can be added without touching the rest of the program.
#[test]
fn the_program_names_its_store_in_one_file() {
    let names_it = |path: &String| {
        path.starts_with("crates/pintle-cli/src/") && read(path).contains("pintle_store")
    };
    let files: Vec<String> = sources().filter(names_it).collect();
    assert_eq!(files, ["crates/pintle-cli/src/store.rs"]);
}

/// Of two places a reader would have to try both.
#[test]
fn the_architecture_page_answers_each_question_with_one_file_or_folder() {
    let page = read("ARCHITECTURE.md");
    let table = page.split("## Where is…").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.contains("? |")).collect();
    assert!(rows.len() > 50, "the table is found: {} rows", rows.len());
    for row in rows {
        let cell = row.split('|').nth(2).unwrap().trim();
        let path = cell.strip_prefix('`').and_then(|cell| cell.strip_suffix('`'));
        let path = path.filter(|path| !path.contains('`'));
        let path = path.unwrap_or_else(|| panic!("one path in backticks, and nothing else: {row}"));
        assert!(root().join(path).exists(), "there is no {path}: {row}");
        assert_eq!(root().join(path).is_dir(), path.ends_with('/'), "{row}");
    }
}

/// Logic that stands in two places is mended in one of them.
#[test]
fn no_two_places_share_more_than_ten_lines_of_logic() {
    const LONGEST: usize = 10;
    let is_logic = |line: &str| {
        line.chars().any(char::is_alphanumeric)
            && !["//", "use ", "pub use ", "#[", "pub mod ", "mod "]
                .iter()
                .any(|start| line.starts_with(start))
    };
    let mut seen: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for path in sources().filter(|path| path.contains("/src/")) {
        let text = read(&path);
        let lines = library_lines(&text).into_iter().map(|(number, line)| (number, line.trim()));
        let lines: Vec<(usize, &str)> = lines.filter(|(_, line)| is_logic(line)).collect();
        for window in lines.windows(LONGEST + 1) {
            let place = format!("{path}:{}", window[0].0);
            let text = window.iter().map(|(_, line)| line.to_string()).collect();
            if let Some(first) = seen.insert(text, place.clone()) {
                found.insert(format!("{first} and {place}"));
            }
        }
    }
    assert!(seen.len() > 10_000, "the sources are found: {}", seen.len());
    assert!(found.is_empty(), "these are the same for more than {LONGEST} lines: {found:#?}");
}

#[test]
fn every_point_has_its_schema_and_its_docs() {
    let page = read("docs/points.md");
    let headings: Vec<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
    let schemas: Vec<String> = files().filter(|path| path.starts_with("schemas/points/")).collect();
    let points = pintle::Hooks::new().known_points();
    let declares = |path: &String| {
        path.starts_with("crates/pintle/src/points/") && read(path).contains("\npoint! {")
    };
    let declared = files().filter(declares).count();
    assert_eq!(points.len(), declared, "one file for each point of the catalogue");
    for point in points {
        let name = point.name;
        assert!(
            headings.iter().any(|heading| heading.split(['`', ' ']).any(|word| word == name)),
            "docs/points.md has no section on `{name}`; `cargo xtask update` writes it"
        );
        let start = format!("schemas/points/{name}.");
        assert!(
            schemas.iter().any(|path| path.starts_with(&start) && path.ends_with("json")),
            "schemas/points has no schema of `{name}`; `cargo xtask update` writes it"
        );
    }
}

#[test]
fn no_path_of_a_developers_machine_is_in_a_file() {
    // In two parts, so that this file passes its own test.
    let machine_paths =
        [["/wo", "rk/"], ["/ro", "ot/"], ["/fa", "rm/"]].map(|parts| parts.concat());
    let mut found = Vec::new();
    for path in files() {
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            if machine_paths.iter().any(|machine| starts_a_path(line, machine)) {
                found.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "paths of a developer's machine:\n{}", found.join("\n"));
}

/// Whether a path in this line begins with `start`: `/home/ada/` followed by it does not count.
fn starts_a_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_-./*~}>)$".contains(c))
    })
}

struct Dependency {
    name: String,
    /// `None` is an ordinary one; `dev` and `build` are the others.
    kind: Option<String>,
}

impl Dependency {
    fn is_linked(&self) -> bool {
        self.kind.is_none()
    }
}

/// The crates of the workspace, each with what its manifest names.
fn rooms() -> BTreeMap<String, Vec<Dependency>> {
    let metadata: Value =
        serde_json::from_str(&output("cargo", &["metadata", "--no-deps", "--format-version", "1"]))
            .unwrap();
    let text = |value: &Value| value.as_str().map(str::to_string);
    let dependencies = |package: &Value| {
        let named = package["dependencies"].as_array().unwrap().iter();
        named
            .map(|one| Dependency { name: text(&one["name"]).unwrap(), kind: text(&one["kind"]) })
            .collect()
    };
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|package| (text(&package["name"]).unwrap(), dependencies(package))).collect()
}

fn is_library_source(path: &str) -> bool {
    let exempt = ["crates/pintle-cli/", "crates/pintle-bench/"];
    let is_test = path
        .split('/')
        .any(|part| matches!(part.trim_end_matches(".rs"), "tests" | "test" | "testing"));
    path.starts_with("crates/")
        && path.split('/').nth(2) == Some("src")
        && !is_test
        && !exempt.iter().any(|exempt| path.starts_with(exempt))
}

/// The lines that end up in the library: no comments, and nothing from an inline test module on.
fn library_lines(text: &str) -> Vec<(usize, &str)> {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let lines = text[..end].lines().enumerate().map(|(number, line)| (number + 1, line));
    lines.filter(|(_, line)| !line.trim_start().starts_with("//")).collect()
}

fn sources() -> impl Iterator<Item = String> {
    files().filter(|path| path.ends_with(".rs"))
}

/// Every file of the repository, by its path from the root: what git tracks, or would.
fn files() -> impl Iterator<Item = String> {
    let listed = output("git", &["ls-files", "--cached", "--others", "--exclude-standard"]);
    let files: BTreeSet<String> =
        listed.lines().map(str::to_string).filter(|path| root().join(path).is_file()).collect();
    files.into_iter()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(root()).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
