//! `cargo xtask dist`: the tarball that is handed out.

use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use serde_json::Value;

use crate::step::{Failed, Step, Steps, root};

pub(crate) const HELP: &str = "\
Builds the program and packs it: target/tarball/pintle-VERSION-TARGET.tar.gz, with its checksum beside it

Usage: cargo xtask dist [--program FILE]

The tarball holds the program, completions for bash, zsh and fish, man pages, the licences of the program and of what it
links, and a checksum of every file. It is unpacked and tried before this ends.

Options:
  --program FILE  Packs this program instead of building one

Examples:
  cargo xtask dist
  cargo xtask dist --program target/debug/pintle
";

const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "pintle.bash"), ("zsh", "_pintle"), ("fish", "pintle.fish")];
const COPIED: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];
const MAX_BYTES: u64 = 25_000_000;
const THIRD_PARTY: &str = "THIRD-PARTY-LICENSES.txt";

pub(crate) fn run(program: Option<&str>) -> Result<(), Failed> {
    let mut steps = Steps::default();
    let is_built_here = program.is_none();
    if is_built_here {
        steps.run(Step::cargo(&["build", "--locked", "--release", "-p", "pintle-cli"]))?;
    }
    let program = root().join(program.unwrap_or("target/release/pintle")).display().to_string();
    let version = Step::new(&*program, &["--version"]).read()?.trim().replace(' ', "-");
    let host = Step::new("rustc", &["--print", "host-tuple"]).read()?;
    let name = format!("{version}-{}", host.trim());

    let dist = root().join("target/tarball");
    if dist.exists() {
        fs::remove_dir_all(&dist).map_err(|error| Failed::because(dist.display(), error))?;
    }
    let folder = dist.join(&name);
    for (shell, file) in COMPLETIONS {
        let script = Step::new(&*program, &["completions", shell]).read()?;
        write(&folder.join("completions").join(file), script)?;
    }
    let pages = folder.join("man/man1").display().to_string();
    Step::new(&*program, &["man", &pages]).read()?;
    for file in COPIED {
        write(&folder.join(file), read(&root().join(file))?)?;
    }
    write(&folder.join(THIRD_PARTY), third_party()?)?;
    let packed = folder.join("pintle");
    let bytes =
        fs::copy(&program, &packed).map_err(|error| Failed::because(packed.display(), error))?;
    let size = format!("{:.1} MB", bytes as f64 / 1e6);
    if is_built_here && bytes > MAX_BYTES {
        return Err(Failed(format!("the program has {size}; at most 25 MB are promised")));
    }
    let files = Step::new("find", &[".", "-type", "f"]).inside(folder.clone()).read()?;
    write(&folder.join("SHA256SUMS"), sums(files.lines().collect(), &folder)?)?;

    let tarball = format!("{name}.tar.gz");
    // The same files make the same tarball on every machine.
    let same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"];
    Step::new("tar", &[&same[..], &["-czf", &tarball, &name]].concat())
        .inside(dist.clone())
        .read()?;
    write(&dist.join(format!("{tarball}.sha256")), sums(vec![&tarball], &dist)?)?;

    let tried = dist.join("tried");
    fs::create_dir(&tried).map_err(|error| Failed::because(tried.display(), error))?;
    Step::new("tar", &["-xf", &format!("../{tarball}")]).inside(tried.clone()).read()?;
    let tried = tried.join(&name);
    let check = ["--check", "--quiet", "--strict", "SHA256SUMS"];
    steps.run(Step::new("sha256sum", &check).inside(tried.clone()))?;
    let packed =
        [THIRD_PARTY, "completions/_pintle", "man/man1/pintle.1", "man/man1/pintle-chat.1"];
    if let Some(missing) = packed.iter().chain(&COPIED).find(|file| !tried.join(file).is_file()) {
        return Err(Failed(format!("the tarball has no {missing}")));
    }
    let answer = Step::new(tried.join("pintle").display().to_string(), &["--version"]).read()?;
    println!("Written: {} ({}, {size})", dist.join(tarball).display(), answer.trim());
    Ok(())
}

fn sums(mut files: Vec<&str>, folder: &Path) -> Result<String, Failed> {
    files.sort_unstable();
    Step::new("sha256sum", &files).inside(folder.to_path_buf()).read()
}

/// The licence texts of the crates that the program links. Most licences ask that a binary comes with them.
fn third_party() -> Result<String, Failed> {
    let tree = ["tree", "-p", "pintle-cli", "-e", "normal", "--prefix", "none", "--format", "{p}"];
    let tree = Step::cargo(&tree).read()?;
    let linked: BTreeSet<(&str, &str)> = tree
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(" v")?;
            Some((name, rest.split(' ').next()?))
        })
        .collect();
    let metadata = Step::cargo(&["metadata", "--locked", "--format-version", "1"]).read()?;
    let metadata: Value = serde_json::from_str(&metadata)
        .map_err(|error| Failed::because("cargo metadata", error))?;
    let mut text = String::new();
    for package in metadata.get("packages").and_then(Value::as_array).into_iter().flatten() {
        let field = |name: &str| package.get(name).and_then(Value::as_str).unwrap_or_default();
        let (name, version, manifest) = (field("name"), field("version"), field("manifest_path"));
        let folder = Path::new(manifest).parent().unwrap_or(Path::new("."));
        if !linked.contains(&(name, version)) || folder.starts_with(root()) {
            continue;
        }
        let _ = writeln!(text, "==== {name} {version}: {}\n", field("license"));
        for file in crate::bench::entries(&folder.display().to_string())? {
            let plain = file.to_uppercase();
            let is_licence = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];
            if is_licence.iter().any(|start| plain.starts_with(start))
                && folder.join(&file).is_file()
            {
                let _ = writeln!(text, "{}", read(&folder.join(&file))?);
            }
        }
    }
    Ok(text)
}

fn read(path: &Path) -> Result<String, Failed> {
    let bytes = fs::read(path).map_err(|error| Failed::because(path.display(), error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn write(path: &Path, text: String) -> Result<(), Failed> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| Failed::because(path.display(), error))
}
