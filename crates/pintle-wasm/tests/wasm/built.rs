//! Components in JavaScript and Python, built once from `examples/plugins` with the commands of docs/plugins.md, and kept by content.

use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

/// A language that components are written in: the example, and the suite's source around it.
pub(crate) struct Language {
    pub(crate) name: &'static str,
    source: &'static str,
    example: &'static str,
    suite: &'static str,
    /// What else is in the example's folder.
    files: [&'static str; 4],
}

pub(crate) const JAVASCRIPT: Language = Language {
    name: "javascript",
    source: "plugin.js",
    example: "example.js",
    suite: include_str!("suite.js"),
    files: ["plugin.json", "plugin.wit", "package.json", "package-lock.json"],
};

pub(crate) const PYTHON: Language = Language {
    name: "python",
    source: "main.py",
    example: "example.py",
    suite: include_str!("suite.py"),
    files: ["plugin.json", "plugin.wit", "build.sh", "requirements.txt"],
};

/// A component in a folder like the example's, and where its machine code is kept. While it lives, no other test builds or compiles one.
pub(crate) struct Built {
    pub(crate) folder: PathBuf,
    pub(crate) cache: PathBuf,
    _turn: File,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

impl Language {
    pub(crate) fn folder(&self) -> PathBuf {
        root().join("examples/plugins").join(self.name)
    }

    /// What docs/plugins.md has below the source of the example: the commands that build a component, and those of `pintle` that follow.
    pub(crate) fn commands(&self) -> (String, String) {
        let page = fs::read_to_string(root().join("docs/plugins.md")).unwrap();
        let example = fs::read_to_string(self.folder().join(self.source)).unwrap();
        let (_, below) = page
            .split_once(&format!("\n{example}```\n\n```sh\n"))
            .expect("docs/plugins.md shows the example as it is, and commands below it");
        let (commands, _) = below.split_once("```\n").unwrap();
        let program = commands.find("pintle ").expect("a command of `pintle`");
        let (build, add) = commands.split_at(program);
        (build.into(), add.into())
    }

    pub(crate) fn built(&self) -> Built {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("components");
        fs::create_dir_all(&kept).unwrap();
        let turn = File::create(kept.join(format!("{}.lock", self.name))).unwrap();
        turn.lock().unwrap();
        let from = self.folder();
        let (commands, _) = self.commands();
        let mut hash = DefaultHasher::new();
        (&commands, self.suite).hash(&mut hash);
        for file in self.files.iter().chain([&self.source]) {
            fs::read(from.join(file)).unwrap().hash(&mut hash);
        }
        let made_of = format!("{:016x}", hash.finish());
        let folder = kept.join(self.name);
        let mark = folder.join("made-of");
        if fs::read_to_string(&mark).ok().as_ref() != Some(&made_of) {
            self.build(&folder, &commands);
            fs::write(mark, made_of).unwrap();
        }
        Built { folder, cache: kept.join("cache"), _turn: turn }
    }

    fn build(&self, folder: &Path, commands: &str) {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).unwrap();
        let from = self.folder();
        for file in self.files {
            fs::copy(from.join(file), folder.join(file)).unwrap();
        }
        fs::copy(from.join(self.source), folder.join(self.example)).unwrap();
        fs::write(folder.join(self.source), self.suite).unwrap();
        let said = Command::new("sh").args(["-ec", commands]).current_dir(folder).output().unwrap();
        assert!(said.status.success() && folder.join("plugin.wasm").exists(), "{said:?}");
    }
}
