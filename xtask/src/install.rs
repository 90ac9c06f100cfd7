//! Puts in place what the chores need and the machine lacks.

use std::{fs, path::Path, time::SystemTime};

use crate::step::{Failed, Step, Steps, root};

/// Debian packages that the tests need, as `(command that shows it is there, package)`. Installed only if missing.
///
/// Node and Python for the worker libraries and a real
/// MCP server; a browser for the web page; `prlimit`, `setsid` and `unshare` for hooks that misbehave; the rest for attacks on the sandbox and for work
/// that has to go on in it.
const DEBIAN_PACKAGES: [(&str, &str); 15] = [
    ("chromium", "chromium"),
    ("git", "git"),
    ("ip", "iproute2"),
    ("jq", "jq"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("python3", "python3"),
    ("unshare", "util-linux"),
    ("bwrap", "bubblewrap"),
    ("chattr", "e2fsprogs"),
    ("curl", "curl"),
    ("gdb", "gdb"),
    ("ps", "procps"),
    ("setcap", "libcap2-bin"),
    ("strace", "strace"),
];

/// npm packages that the tests need: an MCP server, and what drives a browser over the web page.
const TEST_NPM_FOLDERS: [&str; 2] = ["crates/pintle-tools/tests/mcp", BROWSER_TESTS];
const BROWSER_TESTS: &str = "crates/pintle-cli/tests/program/browser";

/// Python packages that the tests need: a fuzzer of HTTP APIs.
const TEST_PYTHON_FOLDER: &str = "crates/pintle-cli/tests/schemathesis";

/// The OpenTelemetry collector that receives the traces of the tests, from PyPI.
const COLLECTOR_FOLDER: &str = "crates/pintle-cli/tests/collector";

/// What building needs: a C compiler for SQLite, the shell grammar and the TLS library.
pub(crate) fn for_builds(steps: &mut Steps) -> Result<(), Failed> {
    debian(&[("cc", "build-essential")], steps)?;
    if !Step::cargo(&["nextest", "--version"]).works() {
        steps.run(Step::cargo(&["install", "cargo-nextest", "--locked"]))?;
    }
    Ok(())
}

/// What the tests need, besides a build.
pub(crate) fn for_tests(steps: &mut Steps) -> Result<(), Failed> {
    debian(&DEBIAN_PACKAGES, steps)?;
    if !Step::cargo(&["deny", "--version"]).works() {
        // Without the advisories' database it is small, and without optimisation it is built in a minute.
        let install = ["install", "cargo-deny", "--locked", "--debug", "--no-default-features"];
        steps.run(Step::cargo(&install).inside(std::env::temp_dir()))?;
    }
    TEST_NPM_FOLDERS.iter().try_for_each(|folder| npm(folder, steps))?;
    python(TEST_PYTHON_FOLDER, "schemathesis", steps)?;
    python(COLLECTOR_FOLDER, "rotel", steps)
}

/// What draws the pictures of the web page.
pub(crate) fn browser(steps: &mut Steps) -> Result<(), Failed> {
    debian(&[("chromium", "chromium"), ("node", "nodejs"), ("npm", "npm")], steps)?;
    npm(BROWSER_TESTS, steps)
}

/// What the benchmarks of the sandbox need.
pub(crate) fn bubblewrap(steps: &mut Steps) -> Result<(), Failed> {
    debian(&[("bwrap", "bubblewrap")], steps)
}

fn debian(packages: &[(&str, &str)], steps: &mut Steps) -> Result<(), Failed> {
    let there = |command: &str| Step::new("which", &[command]).works();
    let missing = packages.iter().filter(|(command, _)| !there(command));
    let missing: Vec<_> = missing.map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    steps.run(Step::new("apt-get", &["update"]))?;
    steps.run(Step::new("apt-get", &[&["install", "--yes"], &missing[..]].concat()))
}

/// What `cargo xtask bench` needs: the other hook systems.
pub(crate) fn peers(folder: &str, steps: &mut Steps) -> Result<(), Failed> {
    debian(&[("node", "nodejs"), ("npm", "npm"), ("python3", "python3")], steps)?;
    npm(folder, steps)?;
    python(folder, "pluggy", steps)
}

/// A virtual environment in `.venv` of the folder with what its `requirements.txt` asks for.
fn python(folder: &str, module: &str, steps: &mut Steps) -> Result<(), Failed> {
    let folder = root().join(folder);
    let python = folder.join(".venv/bin/python");
    let in_venv = |arguments: &[&str]| {
        Step::new(python.display().to_string(), arguments).inside(folder.clone())
    };
    let fresh = !is_newer(&folder.join("requirements.txt"), &python);
    if fresh && in_venv(&["-c", &format!("import {module}")]).works() {
        return Ok(());
    }
    // Debian's python3 cannot make virtual environments by itself.
    if !Step::new("python3", &["-c", "import ensurepip"]).works() {
        steps.run(Step::new("apt-get", &["update"]))?;
        steps.run(Step::new("apt-get", &["install", "--yes", "python3-venv"]))?;
    }
    steps.run(Step::new("python3", &["-m", "venv", "--clear", ".venv"]).inside(folder.clone()))?;
    steps.run(in_venv(&["-m", "pip", "install", "--quiet", "--requirement", "requirements.txt"]))
}

/// `npm ci` where there is a `package.json` and what it asks for is missing or older than the lock.
fn npm(folder: &str, steps: &mut Steps) -> Result<(), Failed> {
    let folder = root().join(folder);
    let installed = folder.join("node_modules/.package-lock.json");
    if folder.join("package.json").exists()
        && is_newer(&folder.join("package-lock.json"), &installed)
    {
        steps.run(Step::new("npm", &["ci", "--no-audit", "--no-fund"]).inside(folder))?;
    }
    Ok(())
}

fn is_newer(source: &Path, made_from_it: &Path) -> bool {
    let changed = |path: &Path| fs::symlink_metadata(path).and_then(|meta| meta.modified());
    changed(made_from_it)
        .map_or(true, |made| changed(source).unwrap_or(SystemTime::UNIX_EPOCH) > made)
}
