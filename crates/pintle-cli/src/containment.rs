//! What holds the processes of this program: the agent's commands, a profile's hooks and its servers (§17).

use std::{path::Path, sync::Arc, time::Duration};

use pintle_agent::{Containment, Policy};
use pintle_policy::Profile;
use pintle_sandbox::{Confinement, Rights, Sandbox, Settings, Surroundings, Tier, Unconfined};
use tempfile::TempDir;

use crate::{environment::Environment, problem::Problem, protection};

/// How long the sandbox may take to be tried.
const TRIAL: Duration = Duration::from_secs(5);

/// What holds the processes of an agent, and the folders they need while it lives.
pub(crate) struct Held {
    pub(crate) sandbox: Sandbox,
    settings: Settings,
    /// The `/tmp` of every confined process of this session.
    _temporary: TempDir,
}

impl Held {
    /// Tries what this machine can hold.
    pub(crate) fn new(
        environment: &Environment,
        profile: Option<&Profile>,
        workspace: &Path,
    ) -> Result<Self, Problem> {
        let sandbox = Sandbox::probe(&environment.launcher, TRIAL);
        let temporary = tempfile::Builder::new()
            .prefix("pintle-")
            .tempdir_in(&environment.temporary)
            .map_err(|error| Problem::new(format!("no temporary folder can be made: {error}")))?;
        let data = environment.data().map(|data| environment.absolute(data)).transpose()?;
        let home = environment.home().map(Path::to_owned);
        let settings = Settings {
            workspace: workspace.to_owned(),
            path: environment.search_path().map(Into::into),
            protect: protection::protected_paths(profile, workspace),
            secrets: protection::secret_paths(home.as_deref(), data.as_deref()),
            cache_store: Some(match &data {
                Some(data) => data.join("caches"),
                None => temporary.path().join("caches"),
            }),
            tmp: Some(temporary.path().to_owned()),
            home,
            ..Settings::default()
        };
        Ok(Self { sandbox, settings, _temporary: temporary })
    }

    /// The policy of an agent whose calls are held by this, and whose file tools keep off the same paths.
    pub(crate) fn applied_to(&self, policy: Policy) -> Policy {
        let surroundings = Arc::new(Surroundings::new(self.settings.clone()));
        let (protected, secret) =
            (surroundings.protected().to_vec(), surroundings.secrets().to_vec());
        let containment = Containment::Kernel { sandbox: self.sandbox.clone(), surroundings };
        Policy { containment, protected, secret, ..policy }
    }

    /// For a program of the profile. It may read its own folder, and write there what is not the profile's own.
    pub(crate) fn of_profile(
        &self,
        profile: &Profile,
        rights: Rights,
        state: Option<&Path>,
    ) -> Result<Confinement, Problem> {
        if self.sandbox.tier() == Tier::None {
            return Ok(
                Unconfined::by("the operator, who trusts it: there is no sandbox here").into()
            );
        }
        let mut settings = self.settings.clone();
        settings.protect = protection::own_files(profile);
        settings.write.push(profile.dir.clone());
        if let Some(state) = state {
            std::fs::create_dir_all(state)?;
            settings.write.push(state.to_owned());
        }
        let policy = Surroundings::new(settings).policy(rights);
        self.sandbox.hold(policy).map(Confinement::Held).map_err(|gap| {
            Problem::new(format!("the programs of this profile cannot be confined: {gap}"))
        })
    }
}

/// What would make this machine hold more, for `doctor`.
pub(crate) fn what_helps(sandbox: &Sandbox) -> Vec<String> {
    match sandbox.tier() {
        Tier::Full => Vec::new(),
        Tier::View => vec!["a kernel with Landlock (Linux 5.13, `lsm=landlock,…` on its command line) holds it twice".into()],
        Tier::Floor | Tier::None => vec![
            "on Ubuntu: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or an AppArmor profile for pintle that allows `userns`".into(),
            "in a container: `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`, or run pintle outside of it".into(),
            "elsewhere: `sudo sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000`".into(),
        ],
    }
}
