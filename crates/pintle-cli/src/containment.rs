//! The sandbox of the processes that this program starts: the agent's commands, a profile's hooks and its servers (§17).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pintle_agent::{Containment, Policy};
use pintle_plugins::{Capability, InstalledPlugin};
use pintle_policy::Zone;
use pintle_profile::{Operator, Profile, SandboxMode, SandboxNetwork, SandboxSettings};
use pintle_sandbox::{
    Confinement, Hosts, Rights, Sandbox, Settings, Surroundings, Tier, Unconfined,
};
use tempfile::TempDir;

use crate::{environment::Environment, out::tell, problem::Problem, protection, shown::yellow};

/// The tier of this machine.
pub(crate) fn tier_here(environment: &Environment) -> Tier {
    let mode = environment.settings().ok().and_then(Result::ok).map(|it| it.sandbox.mode);
    match mode {
        Some(SandboxMode::Off) => Tier::None,
        _ => environment.sandbox().tier(),
    }
}

/// The sandbox of an agent's processes, and the folders that they need while it lives.
pub(crate) struct Held {
    pub(crate) sandbox: Sandbox,
    mode: SandboxMode,
    settings: Settings,
    /// No folder is created for a hook.
    pub(crate) leaves_no_trace: bool,
    /// Of the agent itself; a program of the profile has its own.
    surroundings: Arc<Surroundings>,
    /// Holds a `/tmp` for the commands of this session, and one for each of its other programs.
    temporary: TempDir,
}

impl Held {
    /// Probes the sandbox of this machine, and applies the settings of the operator and the profile.
    pub(crate) fn new(
        environment: &Environment,
        operator: &Operator,
        profile: Option<&Profile>,
        workspace: &Path,
    ) -> Result<Self, Problem> {
        let mode = operator.sandbox.mode;
        let temporary = tempfile::Builder::new()
            .prefix("pintle-")
            .tempdir_in(&environment.temporary)
            .map_err(|error| {
                let place = environment.temporary.display();
                Problem::io(format!("cannot create a temporary folder in {place}"), &error)
                    .fix("choose another place with TMPDIR")
            })?;
        let data = environment.data().map(|data| environment.absolute(data)).transpose()?;
        let mut settings =
            settings(environment, &operator.sandbox, profile, workspace, data, temporary.path());
        settings.tmp = Some(own_tmp(&temporary)?);
        let surroundings = Arc::new(Surroundings::new(settings.clone()));
        let sandbox = match mode {
            SandboxMode::Off => Sandbox::none("`mode = \"off\"` in pintle.toml"),
            SandboxMode::Ask | SandboxMode::Required => environment.sandbox(),
        };
        if mode == SandboxMode::Required && sandbox.tier() == Tier::None {
            let why = sandbox.why_not_full().unwrap_or_default();
            let problem = Problem::new(
                "this machine has no sandbox, and pintle.toml has `mode = \"required\"`",
            )
            .cause(why);
            return Err(what_helps(&sandbox).into_iter().fold(problem, Problem::fix));
        }
        let leaves_no_trace = false;
        Ok(Self { sandbox, mode, settings, leaves_no_trace, surroundings, temporary })
    }

    /// Warns at every start, unless the sandbox is full (R17.3).
    pub(crate) fn warn(&self) {
        if let Some(warning) = self.warning() {
            tell!("{}: {}", yellow("warning"), warning);
        }
    }

    fn warning(&self) -> Option<String> {
        let why = self.sandbox.why_not_full().unwrap_or_default();
        match (self.mode, self.sandbox.tier()) {
            (SandboxMode::Off, _) => Some(
                "the sandbox is switched off in pintle.toml: nothing holds a command to its zone"
                    .into(),
            ),
            (_, Tier::None) => Some(format!(
                "there is no sandbox here ({why}): every command is asked about; see `pintle doctor`"
            )),
            (_, Tier::Floor) => {
                Some(format!("the sandbox holds less here ({why}); see `pintle doctor`"))
            }
            (_, Tier::Full | Tier::View) => None,
        }
    }

    /// The policy of an agent in this sandbox. Its file tools stay off the same paths.
    pub(crate) fn applied_to(&self, policy: Policy) -> Policy {
        let surroundings = Arc::clone(&self.surroundings);
        let (protected, secret) =
            (surroundings.protected().to_vec(), surroundings.secrets().to_vec());
        let containment = match self.mode {
            SandboxMode::Off => Containment::Off,
            SandboxMode::Ask | SandboxMode::Required => {
                Containment::Kernel { sandbox: self.sandbox.clone(), surroundings }
            }
        };
        Policy { containment, protected, secret, ..policy }
    }

    /// For a program of the profile: a hook, or a server. It may also write in the profile's folder what is not the profile's
    /// own, and in its state folder (R8.8).
    pub(crate) fn of_program(
        &self,
        profile: &Profile,
        zone: Zone,
        state: Option<&Path>,
        hosts: Option<&Vec<String>>,
    ) -> Result<Confinement, Problem> {
        let mut settings = self.settings.clone();
        // The folder itself is open to its programs, and the profile's own files in it stay protected.
        let dir = profile.dir.canonicalize().unwrap_or_else(|_| profile.dir.clone());
        settings.protect.retain(|path| *path != dir);
        settings.write.push(profile.dir.clone());
        if let Some(state) = state.filter(|_| !self.leaves_no_trace) {
            std::fs::create_dir_all(state)?;
            settings.write.push(state.to_owned());
        }
        if let Some(hosts) = hosts {
            settings.hosts = Hosts::Only(hosts.clone());
        }
        self.confine(settings, zone)
    }

    /// For a process plugin: it reads its own folder and what it was granted, and reaches the hosts that it was granted.
    pub(crate) fn of_plugin(
        &self,
        environment: &Environment,
        plugin: &InstalledPlugin,
        state: &Path,
    ) -> Result<Confinement, Problem> {
        let InstalledPlugin { manifest, dir, grants, .. } = plugin;
        let rights = manifest.rights(grants);
        let mut settings = self.settings.clone();
        if let Some(data) = environment.data() {
            // The data folder is closed as a whole, and the plugin's own folder is in it.
            let data = environment.absolute(data)?;
            let closed = protection::secret_paths(None, Some(&data), &[dir.as_path()]);
            let data = data.canonicalize().unwrap_or(data);
            settings.secrets.retain(|path| *path != data);
            settings.secrets.extend(closed);
        }
        settings.protect.push(dir.clone());
        settings.read.push(dir.clone());
        let mut hosts = Vec::new();
        for capability in rights.iter() {
            match capability {
                Capability::Read(path) => settings.read.push(path.into()),
                Capability::Network(host) => hosts.push(host.clone()),
                _ => {}
            }
        }
        if !hosts.iter().any(|host| host == "*") {
            settings.hosts = Hosts::Only(hosts);
            // Only the proxy can limit hosts, whatever commands of the agent use.
            settings.direct_network = false;
        }
        if rights.zone() > Zone::Safe && !self.leaves_no_trace {
            std::fs::create_dir_all(state)?;
            settings.write.push(state.to_owned());
        }
        self.confine_plugin(&manifest.id, settings, rights.zone())
    }

    /// A plugin runs inside its zone or not at all, unless the operator switched the sandbox off.
    fn confine_plugin(
        &self,
        id: &str,
        mut settings: Settings,
        zone: Zone,
    ) -> Result<Confinement, Problem> {
        if self.is_off() {
            return Ok(Unconfined::by("the operator: `mode = \"off\"` in pintle.toml").into());
        }
        // No capability gives a plugin more than zone `network`.
        let rights = rights_of(zone).unwrap_or(Rights::Safe);
        settings.limits.private_memory = Some(PLUGIN_MEMORY);
        settings.tmp = Some(own_tmp(&self.temporary)?);
        let policy = Surroundings::new(settings).policy(rights);
        self.sandbox.hold(policy).map(Confinement::Held).map_err(|gap| {
            let zone = zone.name();
            let what = format!("no sandbox here can hold the plugin `{id}` to its zone `{zone}`");
            let helps = what_helps(&self.sandbox).into_iter();
            let problem = helps.fold(Problem::new(what).cause(gap), Problem::fix);
            problem.fix("or switch the sandbox off, also for commands: `mode = \"off\"` under [sandbox] in pintle.toml")
        })
    }

    /// Whether the operator switched the sandbox off.
    pub(crate) fn is_off(&self) -> bool {
        self.mode == SandboxMode::Off
    }

    fn confine(&self, mut settings: Settings, zone: Zone) -> Result<Confinement, Problem> {
        let Some(rights) = rights_of(zone) else {
            return Ok(Unconfined::by("the profile, as it was trusted").into());
        };
        if self.sandbox.tier() == Tier::None {
            return Ok(Unconfined::by("the person who trusted it: there is no sandbox here").into());
        }
        settings.tmp = Some(own_tmp(&self.temporary)?);
        let policy = Surroundings::new(settings).policy(rights);
        self.sandbox.hold(policy).map(Confinement::Held).map_err(|gap| {
            Problem::new("the sandbox cannot hold the programs of this profile")
                .cause(gap)
                .fix("to run one without a sandbox: `\"sandbox\": \"none\"` on the hook, or `\"zone\": \"machine\"` on the server")
        })
    }
}

/// The most private memory of one process of a plugin.
const PLUGIN_MEMORY: u64 = 1024 * 1024 * 1024;

/// The rights of a zone that a sandbox holds.
fn rights_of(zone: Zone) -> Option<Rights> {
    match zone {
        Zone::Safe => Some(Rights::Safe),
        Zone::Workspace => Some(Rights::Workspace),
        Zone::Build => Some(Rights::Build),
        Zone::Network => Some(Rights::Network),
        Zone::External | Zone::Machine | Zone::Never => None,
    }
}

/// A folder that one program sees as its `/tmp` (R11.2).
fn own_tmp(temporary: &TempDir) -> Result<PathBuf, Problem> {
    let folder = tempfile::Builder::new().prefix("tmp-").tempdir_in(temporary.path());
    folder.map(TempDir::keep).map_err(|error| {
        let place = temporary.path().display();
        Problem::io(format!("cannot create a temporary folder in {place}"), &error)
    })
}

fn settings(
    environment: &Environment,
    said: &SandboxSettings,
    profile: Option<&Profile>,
    workspace: &Path,
    data: Option<PathBuf>,
    temporary: &Path,
) -> Settings {
    let home = environment.home().map(Path::to_owned);
    let expanded = |paths: &[String]| -> Vec<PathBuf> {
        paths.iter().map(|path| expand(path, home.as_deref())).collect()
    };
    let mut protect = protection::protected_paths(profile, workspace);
    let mut secrets = {
        let used: Vec<&Path> =
            profile.map(|profile| profile.dir.as_path()).into_iter().chain([workspace]).collect();
        protection::secret_paths(home.as_deref(), data.as_deref(), &used)
    };
    secrets.extend(expanded(&said.secrets));
    if let Some(rules) = profile.map(|profile| &profile.sandbox) {
        protect.extend(rules.protect.iter().map(|path| workspace.join(path)));
        secrets.extend(rules.secrets.iter().flat_map(|glob| found(workspace, glob)));
    }
    Settings {
        workspace: workspace.to_owned(),
        path: environment.search_path().map(Into::into),
        protect,
        secrets,
        read: expanded(&said.read),
        write: expanded(&said.write),
        caches: said.caches.as_deref().map(expanded),
        cache_store: Some(
            data.map_or_else(|| temporary.join("caches"), |data| data.join("caches")),
        ),
        hosts: said.hosts.clone().map_or(Hosts::Public, Hosts::Only),
        direct_network: said.network == SandboxNetwork::Direct,
        home,
        ..Settings::default()
    }
}

/// A path of pintle.toml, with `~` as the home folder.
fn expand(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}

/// The files of the workspace that match a glob of the profile now.
fn found(workspace: &Path, glob: &str) -> Vec<PathBuf> {
    let workspace = glob::Pattern::escape(&workspace.to_string_lossy());
    let found = glob::glob(&format!("{workspace}/{glob}"));
    found.into_iter().flatten().filter_map(Result::ok).collect()
}

/// How to get a better tier on this machine, for `doctor`.
pub(crate) fn what_helps(sandbox: &Sandbox) -> Vec<String> {
    match sandbox.tier() {
        Tier::Full => Vec::new(),
        Tier::View => vec!["a kernel with Landlock (Linux 5.13, `lsm=landlock,…` on its command line) holds it twice".into()],
        Tier::Floor | Tier::None => vec![
            "on Ubuntu: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or an AppArmor profile for pintle that allows `userns`, as the one of bwrap does".into(),
            "in a container: `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`, or run pintle outside of it".into(),
            "elsewhere: `sudo sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000`".into(),
        ],
    }
}
