//! What a machine, its operator and a workspace offer, and the policies that are made of it.

use std::{
    ffi::{OsStr, OsString},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use crate::{
    Policy,
    policy::{Hosts, Limits, Network},
};

/// The trees that make up a system. Missing ones grant nothing. No folder with a service's socket is among them: to connect
/// to a socket is to reach that service, whatever the network is.
pub(crate) const SYSTEM: [&str; 20] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/nix/var/nix/profiles",
    "/gnu/store",
    "/var/guix/profiles",
    "/snap",
    "/home/linuxbrew",
    "/run/current-system",
    "/run/systemd/resolve/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
    "/var/lib/dpkg",
    "/var/cache/fontconfig",
];

/// Where a system keeps its own keys and passwords, among much else.
const SYSTEM_SETTINGS: &str = "/etc";

/// The parts of a home folder that toolchains live in, each with what in it holds passwords or tokens and stays closed (R11.2). The
/// rest of the home folder is closed.
const HOME_TOOLS: [(&str, &[&str]); 36] = [
    (".asdf", &[]),
    (".bun", &[]),
    (".cabal", &[]),
    (".cache", &["huggingface/stored_tokens", "huggingface/token"]),
    (".cargo", &["credentials", "credentials.toml"]),
    (".composer", &["auth.json"]),
    (".config/git", &["credentials"]),
    (".deno", &[]),
    (".elan", &[]),
    (".fnm", &[]),
    (".gem", &["credentials"]),
    (".ghcup", &[]),
    (".gitconfig", &[]),
    (".gitignore", &[]),
    (".gradle", &["gradle.properties"]),
    (".juliaup", &[]),
    (".local/bin", &[]),
    (".local/lib", &[]),
    (".local/pipx", &[]),
    (".local/share/pnpm", &[]),
    (".local/share/uv", &["credentials"]),
    (".m2", &["settings.xml", "settings-security.xml"]),
    (".nix-profile", &[]),
    (".npm", &[]),
    (".nvm", &[]),
    (".opam", &[]),
    (".pnpm-store", &[]),
    (".pyenv", &[]),
    (".rbenv", &[]),
    (".rustup", &[]),
    (".rvm", &[]),
    (".sdkman", &[]),
    (".stack", &["upload"]),
    (".volta", &[]),
    (".yarn", &[]),
    ("go", &[]),
];

/// The caches that builds write to, copied on write unless the operator names others.
const HOME_CACHES: [&str; 7] = [".cache", ".cargo", ".gradle", ".m2", ".npm", ".pnpm-store", "go"];

/// What git runs or obeys, in a git folder. `commondir` and `gitdir` lead it to another one. Of `info` only the attributes:
/// `git gc` writes there.
const GIT_PROTECTED: [&str; 6] =
    ["hooks", "config", "config.worktree", "info/attributes", "commondir", "gitdir"];

/// How deep submodules may lie in one another or in folders.
const DEEPEST_MODULE: usize = 8;

/// Files of a workspace that a shell, an editor or another agent runs by itself.
const RUN_BY_THEMSELVES: [&str; 8] =
    [".envrc", ".vscode", ".idea", ".mcp.json", ".claude", ".codex", ".cursor", ".gemini"];

/// The same in a home folder, should that be the workspace.
const RUN_BY_A_SHELL: [&str; 9] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".config/fish",
];

/// What the operator and the program say about confined processes.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The folder the agent works in.
    pub workspace: PathBuf,
    /// The user's home folder: closed but for its toolchains.
    pub home: Option<PathBuf>,
    /// The `PATH` of confined processes: the programs on it can be read, with what lies beside them.
    pub path: Option<OsString>,
    /// Read-only whatever the zone: the agent's own rules.
    pub protect: Vec<PathBuf>,
    /// Never readable.
    pub secrets: Vec<PathBuf>,
    /// More trees to read.
    pub read: Vec<PathBuf>,
    /// More trees to write.
    pub write: Vec<PathBuf>,
    /// The caches; `None` for the usual ones.
    pub caches: Option<Vec<PathBuf>>,
    /// Where copies of the caches go: one for each workspace and set of rights, so that no command prepares what a hook or
    /// another project builds with.
    pub cache_store: Option<PathBuf>,
    /// The folder that processes see as `/tmp`.
    pub tmp: Option<PathBuf>,
    /// The hosts of zone `network`.
    pub hosts: Hosts,
    /// Whether zone `network` is the machine's own network instead of the proxy.
    pub direct_network: bool,
    /// How much a process may use.
    pub limits: Limits,
}

/// The rights of a zone that the kernel holds (R11.2). A later one includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rights {
    /// Reads the workspace and the system, writes its own temporary folder.
    Safe,
    /// And writes the workspace.
    Workspace,
    /// And copies of the caches, with a loopback of its own.
    Build,
    /// And reaches the operator's hosts.
    Network,
}

/// The surroundings of a session, looked at once: a command cannot change what later commands are granted.
#[derive(Debug, Clone)]
pub struct Surroundings {
    settings: Settings,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    protect: Vec<PathBuf>,
    hide: Vec<PathBuf>,
    caches: Vec<PathBuf>,
    git_folders: Vec<PathBuf>,
}

impl Surroundings {
    /// Looks at the machine and the workspace.
    #[must_use]
    pub fn new(mut settings: Settings) -> Self {
        if let Ok(real) = settings.workspace.canonicalize() {
            settings.workspace = real;
        }
        let workspace = &settings.workspace;
        let home = settings.home.as_deref();
        let in_home = |names: &[&str]| -> Vec<PathBuf> {
            home.iter().flat_map(|home| names.iter().map(move |name| home.join(name))).collect()
        };
        let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        read.extend(in_home(&HOME_TOOLS.map(|(tool, _)| tool)));
        read.extend(toolchains(settings.path.as_ref(), home));
        read.extend(settings.read.iter().cloned());
        let repository = Repository::around(workspace, home);
        read.extend(repository.iter().map(|repository| repository.root.clone()));
        read.push(workspace.clone());

        let mut write = vec![workspace.clone()];
        write.extend(settings.write.iter().cloned());
        let git_folders: Vec<PathBuf> =
            repository.map(|repository| repository.folders).unwrap_or_default();
        write.extend(git_folders.iter().cloned());

        let mut protect = settings.protect.clone();
        protect.extend(RUN_BY_THEMSELVES.iter().map(|name| workspace.join(name)));
        protect.extend(in_home(&RUN_BY_A_SHELL));
        protect.extend(git_folders.iter().flat_map(|folder| rules_of(folder)));
        if git_folders.is_empty() {
            protect.push(workspace.join(".git/hooks"));
            protect.push(workspace.join(".git/config"));
        }
        if workspace.join(".git").is_file() {
            protect.push(workspace.join(".git"));
        }

        let mut hide = Vec::new();
        closed_to_others(Path::new(SYSTEM_SETTINGS), &mut hide);
        hide.extend(home.into_iter().flat_map(secrets_of_tools));
        hide.extend(settings.secrets.iter().cloned());
        let caches = settings.caches.clone().unwrap_or_else(|| in_home(&HOME_CACHES));
        let mut hasher = DefaultHasher::new();
        (workspace, &settings.write, &settings.protect).hash(&mut hasher);
        let own = format!("{:x}", hasher.finish());
        settings.cache_store = settings.cache_store.map(|store| store.join(own));
        Self { read, write, protect, hide, caches, git_folders, settings }
    }

    /// The folder the agent works in.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.settings.workspace
    }

    /// The paths that stay read-only.
    #[must_use]
    pub fn protected(&self) -> &[PathBuf] {
        &self.protect
    }

    /// The paths that are never readable.
    #[must_use]
    pub fn secrets(&self) -> &[PathBuf] {
        &self.hide
    }

    /// The policy of a process with these rights.
    #[must_use]
    pub fn policy(&self, rights: Rights) -> Policy {
        let builds = rights >= Rights::Build;
        let network = match rights {
            Rights::Safe | Rights::Workspace => Network::None,
            Rights::Build => Network::Loopback,
            Rights::Network if self.settings.direct_network => Network::Direct,
            Rights::Network => Network::Proxy(self.settings.hosts.clone()),
        };
        Policy {
            read: self.read.clone(),
            write: if rights >= Rights::Workspace { self.write.clone() } else { Vec::new() },
            protect: self.protect.iter().cloned().chain(self.other_git_folders()).collect(),
            hide: self.hide.clone(),
            caches: if builds { self.caches.clone() } else { Vec::new() },
            cache_store: self.settings.cache_store.clone(),
            tmp: self.settings.tmp.clone(),
            network,
            limits: self.settings.limits,
        }
    }

    /// The rights of a policy in words, with the workspace and the home folder by their usual names.
    #[must_use]
    pub fn in_words(&self, policy: &Policy) -> Vec<String> {
        let Settings { workspace, home, .. } = &self.settings;
        policy.in_words_with(|path| {
            if path == workspace {
                return "the workspace".to_owned();
            }
            if let Ok(inside) = path.strip_prefix(workspace) {
                return inside.display().to_string();
            }
            match home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
                Some(inside) => format!("~/{}", inside.display()),
                None => path.display().to_string(),
            }
        })
    }

    /// What git obeys in submodules and other worktrees, which come and go.
    fn other_git_folders(&self) -> Vec<PathBuf> {
        let mut rules = Vec::new();
        for folder in &self.git_folders {
            for worktree in folders_in(&folder.join("worktrees")) {
                rules.extend(rules_of(&worktree));
            }
            submodules(&folder.join("modules"), DEEPEST_MODULE, &mut rules);
        }
        rules
    }
}

fn secrets_of_tools(home: &Path) -> impl Iterator<Item = PathBuf> {
    HOME_TOOLS.iter().flat_map(move |(tool, secrets)| {
        let tool = home.join(tool);
        secrets.iter().map(move |secret| tool.join(secret))
    })
}

fn rules_of(git_folder: &Path) -> impl Iterator<Item = PathBuf> {
    GIT_PROTECTED.iter().map(|name| git_folder.join(name))
}

/// A submodule's git folder lies under its name, which may have slashes; its own submodules lie in it.
fn submodules(folder: &Path, depth: usize, rules: &mut Vec<PathBuf>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for entry in folders_in(folder) {
        if entry.join("HEAD").exists() {
            rules.extend(rules_of(&entry));
            submodules(&entry.join("modules"), depth, rules);
        } else {
            submodules(&entry, depth, rules);
        }
    }
}

fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path())
}

/// What this user could read and others cannot: for root, the keys and passwords of the system.
fn closed_to_others(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Half of such a folder is links, which the folder itself marks: no call for each.
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
        let needed = if metadata.is_dir() { 0o005 } else { 0o004 };
        if metadata.mode() & needed != needed {
            if access(&path, Access::READ_OK).is_ok() {
                found.push(path);
            }
        } else if metadata.is_dir() {
            closed_to_others(&path, found);
        }
    }
}

/// The programs on the `PATH` outside the system, each with the toolchain it belongs to.
fn toolchains(path: Option<&OsString>, home: Option<&Path>) -> Vec<PathBuf> {
    let path = path.map(|path| path.as_bytes()).unwrap_or_default();
    let entries =
        path.split(|byte| *byte == b':').map(|entry| PathBuf::from(OsStr::from_bytes(entry)));
    let entries = entries.filter(|entry| entry.is_absolute());
    let is_system = |entry: &PathBuf| SYSTEM.iter().any(|tree| entry.starts_with(tree));
    let toolchain = |entry: PathBuf| {
        let is_bin = entry
            .file_name()
            .is_some_and(|name| name == "bin" || name == "sbin" || name == "shims");
        let parent = entry.parent().filter(|parent| parent.components().count() > 1);
        // `~/bin` lies beside everything else in the home folder.
        let holds_home = |parent: &Path| home.is_some_and(|home| home.starts_with(parent));
        match parent.filter(|parent| is_bin && !holds_home(parent)) {
            Some(parent) => parent.to_owned(),
            None => entry,
        }
    };
    entries.filter(|entry| !is_system(entry)).map(toolchain).collect()
}

/// The git repository that a workspace lies in.
struct Repository {
    root: PathBuf,
    /// Where git keeps its objects and branches. A commit writes there.
    folders: Vec<PathBuf>,
}

impl Repository {
    /// One that another user has put above the workspace is not taken, and neither is one that holds the home folder:
    /// to read that repository would be to read all of it.
    fn around(workspace: &Path, home: Option<&Path>) -> Option<Self> {
        let root = workspace.ancestors().find(|folder| folder.join(".git").exists())?;
        let owner = |path: &Path| path.metadata().map(|found| found.uid()).ok();
        let holds_home = home.is_none_or(|home| home.starts_with(root));
        if root != workspace && (holds_home || owner(root) != owner(workspace)) {
            return None;
        }
        let marker = root.join(".git");
        let root = root.to_owned();
        if marker.is_symlink() {
            return Some(Self { root, folders: Vec::new() });
        }
        if marker.is_dir() {
            return Some(Self { root, folders: vec![marker] });
        }
        let folders = worktree(&marker).unwrap_or_default();
        Some(Self { root, folders })
    }
}

/// The folders of a linked worktree. They are outside the workspace, so only a folder that points back and lies where git
/// puts it is believed: a `.git` file and a folder that a command has written grant nothing else.
fn worktree(marker: &Path) -> Option<Vec<PathBuf>> {
    let text = fs::read_to_string(marker).ok()?;
    let named = Path::new(text.strip_prefix("gitdir:")?.trim());
    let folder = marker.parent()?.join(named).canonicalize().ok()?;
    let points_back = fs::read_to_string(folder.join("gitdir")).ok()?;
    if Path::new(points_back.trim()).canonicalize().ok()? != marker.canonicalize().ok()? {
        return None;
    }
    let common = fs::read_to_string(folder.join("commondir")).ok()?;
    let common = folder.join(common.trim()).canonicalize().ok()?;
    (folder.parent()? == common.join("worktrees")).then(|| vec![folder, common])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(workspace: &Path) -> Settings {
        Settings { workspace: workspace.to_owned(), ..Settings::default() }
    }

    #[test]
    fn the_rights_of_a_zone_include_those_of_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let workspace = home.join("project");
        fs::create_dir_all(&workspace).unwrap();
        let all = Surroundings::new(Settings { home: Some(home.clone()), ..settings(&workspace) });
        let [safe, own, build, network] =
            [Rights::Safe, Rights::Workspace, Rights::Build, Rights::Network]
                .map(|rights| all.policy(rights));
        assert!(safe.write.is_empty() && own.write.contains(&workspace.canonicalize().unwrap()));
        assert!(own.caches.is_empty() && build.caches.contains(&home.join(".cargo")));
        assert_eq!((&safe.network, &own.network), (&Network::None, &Network::None));
        assert_eq!(
            (build.network, network.network),
            (Network::Loopback, Network::Proxy(Hosts::Public))
        );
        assert!(!safe.read.contains(&home), "the home folder is closed");
    }

    #[test]
    fn a_toolchain_is_read_with_its_folder_but_never_the_home_folder() {
        let path = OsString::from(
            "/home/a/.pyenv/shims:/home/a/bin:/srv/tools/bin:/usr/bin:/bin:relative/bin",
        );
        let found = toolchains(Some(&path), Some(Path::new("/home/a")));
        assert_eq!(found, ["/home/a/.pyenv", "/home/a/bin", "/srv/tools"].map(PathBuf::from));
    }

    #[test]
    fn a_git_file_that_a_command_could_have_written_grants_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("workspace");
        let target = folder.path().join("elsewhere");
        fs::create_dir_all(&workspace).unwrap();
        fs::create_dir_all(&target).unwrap();
        fs::write(workspace.join(".git"), format!("gitdir: {}\n", target.display())).unwrap();
        let policy = Surroundings::new(settings(&workspace)).policy(Rights::Build);
        assert_eq!(policy.write, [workspace.canonicalize().unwrap()]);
    }
}
