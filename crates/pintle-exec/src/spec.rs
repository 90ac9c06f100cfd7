//! What is run, where, with what environment and for how long.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use pintle::Failure;
use pintle_sandbox::{Confinement, Report};

/// Takes known secrets out of a text. Applied to every string that leaves the process (R10.7).
pub type Scrub = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Looks at what is about to be started; an error says why it is not.
pub type BeforeStart = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// What is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A program and its arguments, with no shell between. A program with a slash in its name is found from the
    /// profile's folder, one without on the `PATH` of the hook's environment.
    Argv(Vec<OsString>),
    /// A line for `/bin/sh -c`. Never a login shell.
    Shell(String),
}

/// How a process outside is run: for a [`CommandHook`](crate::CommandHook) once per event, for a
/// [`Worker`](crate::Worker) once.
///
/// The environment starts empty. [`inherit`](Self::inherit) lets the allowlisted variables of yours in,
/// [`env`](Self::env) adds what the operator wants; nothing else gets through.
///
/// ```
/// use std::time::Duration;
/// use pintle_exec::{CommandSpec, Unconfined};
///
/// let confinement = Unconfined::by("the operator of this example");
/// let spec = CommandSpec::argv("/srv/profile", ["./hooks/no-prod.sh", "--strict"], confinement)
///     .inherit([("PATH".into(), "/usr/bin:/bin".into()), ("AWS_SECRET_ACCESS_KEY".into(), "hunter2".into())])
///     .env("TEAM", "payments")
///     .timeout(Duration::from_secs(2));
/// assert_eq!(spec.env.len(), 2);
/// ```
#[derive(Clone)]
pub struct CommandSpec {
    /// What is started.
    pub program: Program,
    /// How long one event may take; the default is five seconds.
    pub timeout: Duration,
    /// The profile's folder: the working directory, and `PINTLE_PROFILE_DIR`.
    pub profile_dir: PathBuf,
    /// A folder in which the hook keeps things between events: `PINTLE_STATE_DIR`. It is made on first use.
    pub state_dir: Option<PathBuf>,
    /// The whole environment, but for the `PINTLE_` variables that are added for each event.
    pub env: Vec<(OsString, OsString)>,
    /// How its process is held.
    pub confinement: Confinement,
    /// What widens that, for the reason of a failure: the field of a hook, unless another program is run.
    pub widened_by: String,
    /// Takes secrets out of the context that the process gets.
    pub scrub: Option<Scrub>,
    /// Called before each start. An error keeps the process from starting, as `Untrusted`.
    pub before_start: Option<BeforeStart>,
}

impl CommandSpec {
    /// Runs this program in the profile's folder, held like this.
    pub fn new(
        profile_dir: impl Into<PathBuf>,
        program: Program,
        confinement: impl Into<Confinement>,
    ) -> Self {
        let dir: PathBuf = profile_dir.into();
        Self {
            program,
            timeout: Duration::from_secs(5),
            profile_dir: std::path::absolute(&dir).unwrap_or(dir),
            state_dir: None,
            env: Vec::new(),
            confinement: confinement.into(),
            widened_by: "`\"sandbox\": \"network\"` or `\"none\"` on the hook".to_owned(),
            scrub: None,
            before_start: None,
        }
    }

    /// Runs a program with arguments, without a shell.
    pub fn argv<I>(
        profile_dir: impl Into<PathBuf>,
        argv: I,
        confinement: impl Into<Confinement>,
    ) -> Self
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        let argv = argv.into_iter().map(Into::into).collect();
        Self::new(profile_dir, Program::Argv(argv), confinement)
    }

    /// Runs a line of shell.
    pub fn shell(
        profile_dir: impl Into<PathBuf>,
        line: impl Into<String>,
        confinement: impl Into<Confinement>,
    ) -> Self {
        Self::new(profile_dir, Program::Shell(line.into()), confinement)
    }

    /// Lets the allowlisted variables of this environment in (R8.6), such as `std::env::vars_os()`.
    #[must_use]
    pub fn inherit(mut self, vars: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.env.extend(default_environment(vars));
        self
    }

    /// Adds a variable, whatever its name.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// How long one event may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Gives the hook a folder of its own to keep things in (R8.6).
    #[must_use]
    pub fn state_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(dir.into());
        self
    }

    /// Takes secrets out of the context that the process gets.
    #[must_use]
    pub fn scrub(mut self, scrub: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.scrub = Some(Arc::new(scrub));
        self
    }

    /// Looks at what is about to be started, before each start.
    #[must_use]
    pub fn before_each_start(
        mut self,
        look: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.before_start = Some(Arc::new(look));
        self
    }

    /// Names what the kernel refused a process that failed, and the field that would allow it (R8.8).
    pub(crate) fn with_refusals(
        &self,
        mut failure: Failure,
        output: &str,
        report: &Report,
    ) -> Failure {
        if let Some(refused) = self.confinement.refused_in_words(self.folder(), output, report) {
            let Self { widened_by, .. } = self;
            failure
                .message
                .push_str(&format!(" (its sandbox {refused}; {widened_by} widens that)"));
        }
        failure
    }

    pub(crate) fn path(&self) -> Option<&OsStr> {
        self.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str())
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.profile_dir
    }
}

impl fmt::Debug for CommandSpec {
    /// Without the environment's values: they may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandSpec")
            .field("program", &self.program)
            .field("timeout", &self.timeout)
            .field("profile_dir", &self.profile_dir)
            .field("state_dir", &self.state_dir)
            .field("confinement", &self.confinement)
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// What of an environment a hook may see by default: `PATH, HOME, LANG, LC_*, TMPDIR, TERM` (R8.6).
pub fn default_environment(
    vars: impl IntoIterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    vars.into_iter().filter(|(name, _)| {
        name.to_str().is_some_and(|name| {
            matches!(name, "PATH" | "HOME" | "LANG" | "TMPDIR" | "TERM") || name.starts_with("LC_")
        })
    })
}
