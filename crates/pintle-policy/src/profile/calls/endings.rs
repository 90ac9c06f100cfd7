//! What a language adds to the name of a module to find its file.

use super::known::Runs;
use super::tokens::{Kind, Part, Token, Tongue};

/// What Node tries, one after another, if nothing is called just as it was told.
const OF_NODE: [&str; 12] = [
    ".js",
    ".json",
    ".node",
    ".cjs",
    ".mjs",
    ".ts",
    ".cts",
    ".mts",
    "/index.js",
    "/index.json",
    "/index.node",
    "/package.json",
];
const OF_PYTHON: [&str; 4] = [".py", ".pyc", ".so", "/__init__.py"];

/// The files that a name may stand for, beside the one that is called just so.
pub(super) fn found_as(tongue: Tongue, name: &str, runs: Runs) -> Vec<String> {
    let with = |name: &str, endings: &[&str]| {
        endings.iter().map(|ending| format!("{name}{ending}")).collect::<Vec<_>>()
    };
    // `lib.rules` of Python is `lib/rules.py`, and `lib/__init__.py` goes before it.
    let dotted = |endings: &[&str]| {
        let parts: Vec<&str> = name.trim_start_matches('.').split('.').collect();
        let ups = (1..=parts.len()).filter_map(|count| parts.get(..count));
        ups.flat_map(|it| with(&it.join("/"), endings)).collect::<Vec<_>>()
    };
    match (tongue, runs) {
        (_, Runs::Code | Runs::Folder) => Vec::new(),
        (Tongue::Node, _) => with(name, &OF_NODE),
        (Tongue::Python, Runs::Module) => dotted(&OF_PYTHON),
        (Tongue::Lua, Runs::Module) => dotted(&[".lua", "/init.lua", ".so"]),
        (Tongue::Ruby, _) => with(name, &[".rb", ".so"]),
        _ => Vec::new(),
    }
}

/// `import x from "../lib/x"`, `export * from "../lib/x"`: what Node loads before the script begins.
pub(super) fn imported(tongue: Tongue, tokens: &[Token]) -> Vec<String> {
    let mut all = Vec::new();
    for pair in tokens.windows(2).filter(|_| tongue == Tongue::Node) {
        if let [word, Token { kind: Kind::Text(parts), .. }] = pair
            && (word.is_name("from") || word.is_name("import"))
            && let [Part::Plain(name)] = parts.as_slice()
            && name.starts_with(['.', '/', '#'])
        {
            all.extend(found_as(tongue, name, Runs::Module));
            all.push(name.clone());
        }
    }
    all
}
