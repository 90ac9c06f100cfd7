//! A small world for each attack: a home folder with secrets, a workspace with rules, and a host that has something to lose.

use std::{
    collections::BTreeMap,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
    thread,
    time::Duration,
};

use pintle_sandbox::{Held, Hosts, Rights, Settings, Surroundings, Tier};
use tempfile::TempDir;

use crate::{
    confined::{Outcome, SANDBOX, confined, runtime, shell},
    users,
};

/// What no command may read.
pub(crate) const SECRET: &str = "the-secret-of-the-host";

pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The programs that attacks need, compiled once for all tests. Root brings them to a plain user.
pub(crate) static PROGRAMS: LazyLock<PathBuf> = LazyLock::new(|| {
    if users::is_prepared() {
        return users::prepared("programs");
    }
    let sources = [
        ("tool", include_str!("programs/tool.c"), ["-O1", "-pthread"]),
        ("preload", include_str!("programs/preload.c"), ["-shared", "-fPIC"]),
    ];
    let mut hasher = DefaultHasher::new();
    sources.hash(&mut hasher);
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let programs = place.join(format!("programs-{:x}", hasher.finish()));
    if !programs.exists() {
        let folder = tempfile::tempdir_in(place).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for (name, source, options) in sources {
            compile(name, source, &options, folder.path());
        }
        // Another test may have been faster.
        let _ = fs::rename(folder.keep(), &programs);
    }
    programs
});

fn compile(name: &str, source: &str, options: &[&str], folder: &Path) {
    let (file, program) = (folder.join(name).with_extension("c"), folder.join(name));
    fs::write(&file, source).unwrap();
    let compiled = Command::new("cc").args(options).arg("-o").args([&program, &file]).output();
    let compiled = compiled.unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}

/// A program of `programs/`, compiled.
pub(crate) fn program(name: &str) -> PathBuf {
    PROGRAMS.join(name)
}

/// Files of the workspace that decide what the agent or its user runs.
const PROTECTED: [&str; 15] = [
    "agent.json",
    "hooks/gate.sh",
    ".envrc",
    ".vscode/tasks.json",
    ".mcp.json",
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/info/attributes",
    ".git/commondir",
    ".git/config.worktree",
    ".git/modules/libs/part/config",
    ".git/modules/libs/part/hooks/post-checkout",
    ".git/worktrees/other/commondir",
    ".git/worktrees/other/gitdir",
    ".git/worktrees/other/config.worktree",
];

/// Of those, the ones that a healthy repository does not have.
const ABSENT: [&str; 3] =
    [".git/commondir", ".git/config.worktree", ".git/worktrees/other/config.worktree"];

/// What is at a path, in a form that changes when anything about it does but its time of access.
type State = BTreeMap<PathBuf, String>;

pub(crate) struct World {
    _folder: Option<TempDir>,
    pub(crate) root: PathBuf,
}

impl World {
    /// In a folder of the build where that can be used, as most people's work is not under `/tmp`, and in `/tmp` for the
    /// plain user.
    pub(crate) fn new() -> Self {
        match users::is_prepared() {
            true => Self::in_folder(&std::env::temp_dir()),
            false => Self::in_folder(Path::new(env!("CARGO_TARGET_TMPDIR"))),
        }
    }

    pub(crate) fn in_folder(folder: &Path) -> Self {
        let folder = tempfile::tempdir_in(folder).unwrap();
        let root = folder.path().canonicalize().unwrap();
        let world = Self { _folder: Some(folder), root };
        for (path, text) in [
            ("home/.ssh/id_key", SECRET),
            ("home/.netrc", SECRET),
            ("home/letters/plan.txt", SECRET),
            ("home/letters/note", "before"),
            ("home/.bashrc", "before"),
            ("home/.cargo/config.toml", "before"),
            ("home/.cargo/credentials.toml", SECRET),
            ("data/token", SECRET),
            ("tools/readme", "for everyone"),
            ("home/project/README", "a project"),
            ("home/project/inner/keys/key", SECRET),
            ("home/project/.git/HEAD", "ref: refs/heads/main\n"),
            ("home/project/.git/modules/libs/part/HEAD", "ref: refs/heads/main\n"),
        ] {
            world.write(path, text);
        }
        for path in PROTECTED.iter().filter(|path| !ABSENT.contains(path)) {
            world.write(&format!("home/project/{path}"), "before");
        }
        for path in ["objects", "refs/heads"] {
            fs::create_dir_all(world.workspace().join(".git").join(path)).unwrap();
        }
        world.write("home/project/.git/config", "[core]\n\trepositoryformatversion = 0\n");
        let other = world.root.join("home/other/.git");
        world.write("home/project/.git/worktrees/other/gitdir", &format!("{}\n", other.display()));
        world.write("home/project/.git/worktrees/other/commondir", "../..\n");
        for path in ["data/tmp", "data/caches", "home/.config"] {
            fs::create_dir_all(world.root.join(path)).unwrap();
        }
        symlink("letters", world.root.join("home/mail")).unwrap();
        world
    }

    /// The world of another process.
    pub(crate) fn at(root: &Path) -> Self {
        Self { _folder: None, root: root.to_owned() }
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.join("home/project")
    }

    /// What a program would say about it.
    pub(crate) fn settings(&self) -> Settings {
        let home = self.home();
        let secrets = [".ssh", ".netrc", ".cargo/credentials.toml"].map(|name| home.join(name));
        Settings {
            workspace: self.workspace(),
            home: Some(home),
            path: Some(PATH.into()),
            protect: ["agent.json", "hooks"].map(|name| self.workspace().join(name)).to_vec(),
            secrets: secrets.into_iter().chain([self.root.join("data")]).collect(),
            read: vec![self.root.join("tools"), PROGRAMS.clone()],
            cache_store: Some(self.root.join("data/caches")),
            tmp: Some(self.root.join("data/tmp")),
            hosts: Hosts::Public,
            ..Settings::default()
        }
    }

    /// The policy of these rights, held in this tier.
    pub(crate) fn held(&self, tier: Tier, rights: Rights) -> Held {
        let policy = Surroundings::new(self.settings()).policy(rights);
        SANDBOX.at_most(tier).hold(policy).unwrap()
    }

    /// What a command finds in its environment.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("PATH", PATH.to_owned()),
            ("HOME", self.home().display().to_string()),
            ("ROOT", self.root.display().to_string()),
            ("TOOL", program("tool").display().to_string()),
        ]
    }

    /// Runs a script in the workspace.
    pub(crate) fn run(&self, held: &Held, script: &str) -> Outcome {
        let command = shell(script, &self.workspace(), &self.variables());
        runtime().block_on(confined(held.clone(), &command)).unwrap()
    }

    /// Runs a script, and does something as the host between its two halves.
    pub(crate) fn run_halves(
        &self,
        held: &Held,
        first: &str,
        between: impl FnOnce(),
        second: &str,
    ) -> Outcome {
        let script = format!("{first}\n: > ready; until [ -e go ]; do sleep 0.01; done\n{second}");
        thread::scope(|scope| {
            let running = scope.spawn(|| self.run(held, &script));
            while !self.workspace().join("ready").exists() && !running.is_finished() {
                thread::sleep(Duration::from_millis(5));
            }
            between();
            fs::write(self.workspace().join("go"), "").unwrap();
            running.join().unwrap()
        })
    }

    /// Everything outside the workspace and the process's own folders.
    pub(crate) fn outside(&self) -> State {
        let own = ["home/project", "data/tmp", "data/caches"].map(|path| self.root.join(path));
        let mut state = State::new();
        collect(&self.root, &own, &mut state);
        state
    }

    /// The protected files of the workspace.
    pub(crate) fn protected(&self) -> State {
        let mut state = State::new();
        for path in PROTECTED {
            let path = self.workspace().join(path);
            // Of a file that a sweep has put right, what it is and says, not its times.
            let said = fs::symlink_metadata(&path).ok().map(|found| {
                format!("{:o} {} {:?}", found.mode(), found.nlink(), fs::read(&path).ok())
            });
            state.insert(path, format!("{said:?}"));
        }
        for folder in [".git/hooks", "hooks", ".vscode", ".git/modules/libs/part/hooks"] {
            collect_names(&self.workspace().join(folder), &mut state);
        }
        state
    }
}

/// The names in a folder that must not change.
fn collect_names(folder: &Path, state: &mut State) {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().collect::<Vec<_>>());
    let mut names: Vec<_> =
        entries.unwrap_or_default().into_iter().map(|entry| entry.file_name()).collect();
    names.sort();
    state.insert(folder.to_owned(), format!("{:?} {names:?}", folder.canonicalize().ok()));
}

fn collect(path: &Path, own: &[PathBuf], state: &mut State) {
    if own.iter().any(|own| own == path) {
        return;
    }
    let found = fs::symlink_metadata(path).unwrap();
    let content = match () {
        () if found.is_symlink() => format!("{:?}", fs::read_link(path)),
        () if found.is_file() => format!("{:?} {}", fs::read(path), flags(path)),
        () => String::new(),
    };
    let mut names = [0_u8; 1024];
    let attributes =
        rustix::fs::llistxattr(path, &mut names).map(|length| names[..length].to_vec());
    let (mode, owner) = (found.mode(), (found.uid(), found.gid()));
    let changed = (found.mtime(), found.mtime_nsec());
    state.insert(
        path.to_owned(),
        format!("{mode:o} {owner:?} {changed:?} {attributes:?} {content}"),
    );
    if found.is_dir() {
        for entry in fs::read_dir(path).unwrap().flatten() {
            collect(&entry.path(), own, state);
        }
    }
}

/// The flags of a file that `chattr` sets.
fn flags(path: &Path) -> String {
    let file = fs::File::open(path).unwrap();
    format!("{:?}", rustix::fs::ioctl_getflags(&file))
}
