//! Components in JavaScript and Python, built once from `examples/plugins` and kept by content. `cargo xtask test` installs the tools.

use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// A language that components are written in: the example with its build command, and the suite's source around it.
pub(crate) struct Language {
    pub(crate) name: &'static str,
    source: &'static str,
    example: &'static str,
    suite: &'static str,
    /// Files that the build needs, and one that says which tools it takes.
    files: [&'static str; 3],
    tools: &'static str,
    build: &'static [&'static str],
}

pub(crate) const JAVASCRIPT: Language = Language {
    name: "javascript",
    source: "plugin.js",
    example: "example.js",
    suite: include_str!("suite.js"),
    files: ["plugin.wit", "package.json", "package-lock.json"],
    tools: "node_modules",
    build: &["npm", "run", "--silent", "build"],
};

pub(crate) const PYTHON: Language = Language {
    name: "python",
    source: "main.py",
    example: "example.py",
    suite: include_str!("suite.py"),
    files: ["plugin.wit", "build.sh", "requirements.txt"],
    tools: ".venv",
    build: &["./build.sh"],
};

/// A component, and where its machine code is kept. While it lives, no other test builds or compiles one.
pub(crate) struct Built {
    pub(crate) file: PathBuf,
    pub(crate) cache: PathBuf,
    _turn: File,
}

impl Language {
    pub(crate) fn folder(&self) -> PathBuf {
        let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins");
        plugins.canonicalize().unwrap().join(self.name)
    }

    /// The source of the example.
    pub(crate) fn example(&self) -> String {
        fs::read_to_string(self.folder().join(self.source)).unwrap()
    }

    pub(crate) fn built(&self) -> Built {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("components");
        fs::create_dir_all(&kept).unwrap();
        let turn = File::create(kept.join(format!("{}.lock", self.name))).unwrap();
        turn.lock().unwrap();
        let from = self.folder();
        let read = |file: &str| fs::read_to_string(from.join(file)).unwrap();
        let mut files = self.files.map(|file| (file, read(file))).to_vec();
        files.extend([(self.example, self.example()), (self.source, self.suite.to_owned())]);
        let mut hash = DefaultHasher::new();
        files.hash(&mut hash);
        let folder = kept.join(format!("{}-{:016x}", self.name, hash.finish()));
        let file = folder.join("plugin.wasm");
        if !file.exists() {
            self.build(&folder, &files);
        }
        Built { file, cache: kept.join("cache"), _turn: turn }
    }

    fn build(&self, folder: &Path, files: &[(&str, String)]) {
        let tools = self.folder().join(self.tools);
        assert!(tools.exists(), "{} is missing: `cargo xtask test` installs it", tools.display());
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        symlink(&tools, folder.join(self.tools)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", tools.join("bin").display());
        let (program, arguments) = self.build.split_first().unwrap();
        let program = match program.strip_prefix("./") {
            Some(script) => {
                let mut shell = Command::new("sh");
                shell.arg(script);
                shell
            }
            None => Command::new(program),
        }
        .args(arguments)
        .current_dir(folder)
        .env("PATH", path)
        .output()
        .unwrap();
        assert!(program.status.success() && folder.join("plugin.wasm").exists(), "{program:?}");
    }
}
