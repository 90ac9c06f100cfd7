//! Reads the environment of the process. No other file does.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{
        ErrorKind::{NotADirectory, NotFound},
        IsTerminal,
    },
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use crate::profile::built_in_tools;
use anstream::ColorChoice;
use nix::unistd::{Uid, User};
use pintle_agent::store::OPERATOR;
use pintle_llm::{ProviderConfig, Settings, key_variable, providers};
use pintle_profile::{OPERATOR_FILE, Operator, OperatorEnv, ProfileError, ProfileErrors};
use pintle_sandbox::{Launcher, Sandbox};

use crate::{
    args::{Cli, Command, When},
    out::columns_of,
    problem::Problem,
    term,
};

/// The variables that a tool's process inherits; no others, so that no key leaks into it.
const PASSED_ON: [&str; 6] = ["PATH", "HOME", "LANG", "TMPDIR", "TERM", "USER"];

/// The database in the data folder.
pub(crate) const DATABASE: &str = "pintle.db";

/// How long the sandbox may take to be tried.
const TRIAL: Duration = Duration::from_secs(5);

pub(crate) struct Environment {
    data: Option<PathBuf>,
    /// The folder to work in; the current one unless this says otherwise.
    works_in: Option<PathBuf>,
    /// Starts confined processes.
    launcher: Launcher,
    /// What this machine can hold, once it was tried.
    sandbox: OnceLock<Sandbox>,
    /// The folder for temporary files.
    pub(crate) temporary: PathBuf,
    pub(crate) json: bool,
    /// Only errors and questions are shown.
    pub(crate) quiet: bool,
    /// How much more than usual is shown.
    pub(crate) verbose: u8,
    pub(crate) model: Option<String>,
    pub(crate) profile: Option<PathBuf>,
    variables: BTreeMap<String, String>,
    /// The name of the user who runs this program, from the system and not from a variable.
    user: Option<String>,
    pub(crate) stdin_is_terminal: bool,
    pub(crate) stdout_is_terminal: bool,
    pub(crate) stderr_is_terminal: bool,
}

impl Environment {
    pub(crate) fn read(cli: &Cli, launcher: Launcher) -> Self {
        let sandbox = OnceLock::new();
        if cli.command.as_ref().is_some_and(Command::needs_sandbox) {
            // The trial goes on while the command is prepared.
            sandbox.get_or_init(|| Sandbox::probe(&launcher, TRIAL));
        }
        let variables: BTreeMap<_, _> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let data = cli.data.clone().or_else(|| path("PINTLE_DATA")).or_else(|| {
            directories::ProjectDirs::from("", "", "pintle")
                .map(|dirs| dirs.data_dir().to_path_buf())
        });
        Self {
            data,
            works_in: None,
            launcher,
            sandbox,
            json: cli.json,
            quiet: cli.quiet,
            verbose: cli.verbose,
            model: set(&variables, "PINTLE_MODEL").map(str::to_string),
            profile: path("PINTLE_PROFILE"),
            temporary: path("TMPDIR").unwrap_or_else(|| "/tmp".into()),
            variables,
            user: User::from_uid(Uid::current()).ok().flatten().map(|user| user.name),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
        }
    }

    /// The same for the demo: with other folders, and with command hooks allowed.
    pub(crate) fn for_demo(&self, data: PathBuf, works_in: PathBuf) -> Self {
        let mut variables = self.variables.clone();
        variables.insert("PINTLE_ALLOW_COMMAND_HOOKS".to_owned(), "1".to_owned());
        variables.remove("PINTLE_DISABLE_HOOKS");
        Self {
            data: Some(data),
            works_in: Some(works_in),
            launcher: self.launcher.clone(),
            sandbox: self.sandbox.clone(),
            temporary: self.temporary.clone(),
            model: None,
            profile: None,
            variables,
            user: self.user.clone(),
            ..*self
        }
    }

    /// What this machine can hold: tried once for this process, from the first call on (R17.2).
    pub(crate) fn sandbox(&self) -> Sandbox {
        self.sandbox.get_or_init(|| Sandbox::probe(&self.launcher, TRIAL)).clone()
    }

    /// Sets colours and characters for everything that is printed.
    pub(crate) fn set_up_terminal(&self, cli: &Cli) {
        match cli.color {
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
            When::Auto => ColorChoice::Auto,
        }
        .write_global();
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|it| self.variable(it));
        let is_utf8 = |locale: &str| locale.to_lowercase().replace('-', "").ends_with("utf8");
        // Where no locale is named, in a container for example, terminals show UTF-8 all the same.
        let ascii = locale.is_some_and(|locale| !is_utf8(locale));
        term::set_ascii(ascii || self.variable("PINTLE_ASCII").is_some_and(|it| it != "0"));
    }

    /// Whether the terminal can show a spinner.
    pub(crate) fn shows_waiting(&self) -> bool {
        let moves = self.variable("TERM").is_some_and(|terminal| terminal != "dumb");
        self.stderr_is_terminal
            && moves
            && !self.json
            && !self.quiet
            && self.variable("CI").is_none()
    }

    /// The names under which the person here answers questions: their user name, and `operator`.
    pub(crate) fn names(&self) -> Vec<String> {
        self.user.iter().cloned().chain([OPERATOR.to_string()]).collect()
    }

    /// The folder all state lives in.
    pub(crate) fn data_dir(&self) -> Result<PathBuf, Problem> {
        self.data.clone().ok_or_else(|| {
            Problem::new("there is no home folder to keep data in")
                .fix("choose a folder with --data DIR or PINTLE_DATA")
        })
    }

    /// The same folder, created if it is missing.
    pub(crate) fn create_data_dir(&self) -> Result<PathBuf, Problem> {
        let data = self.data_dir()?;
        std::fs::create_dir_all(&data).map_err(|error| {
            Problem::io(format!("cannot create the data folder {}", data.display()), &error)
                .fix("choose another with --data DIR or PINTLE_DATA")
        })?;
        Ok(data)
    }

    pub(crate) fn database(&self) -> Result<PathBuf, Problem> {
        Ok(self.create_data_dir()?.join(DATABASE))
    }

    pub(crate) fn working_dir(&self) -> Result<PathBuf, Problem> {
        if let Some(folder) = &self.works_in {
            return Ok(folder.clone());
        }
        std::env::current_dir()
            .map_err(|error| Problem::io("cannot use the current folder", &error))
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.variable("HOME").map(Path::new)
    }

    /// Where programs are looked for.
    pub(crate) fn search_path(&self) -> Option<&str> {
        self.variable("PATH")
    }

    /// Keys and addresses of model providers, each under its provider's own variables.
    pub(crate) fn llm_settings(&self) -> Settings {
        let config = |provider: &'static str| {
            let address = format!("{}_BASE_URL", provider.to_uppercase());
            let config = ProviderConfig {
                base_url: self.variable(&address).map(str::to_string),
                api_key: key_variable(provider)
                    .and_then(|name| self.variable(name))
                    .map(str::to_string),
            };
            (provider.to_string(), config)
        };
        Settings { providers: providers().map(config).collect(), ..Settings::default() }
    }

    /// The variables that a tool's process inherits.
    pub(crate) fn passed_on(&self) -> Vec<(String, String)> {
        let passed = |name: &str| PASSED_ON.contains(&name) || name.starts_with("LC_");
        self.variables
            .iter()
            .filter(|(name, _)| passed(name))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect()
    }

    /// The same path, whether the file exists or not.
    pub(crate) fn data(&self) -> Option<&Path> {
        self.data.as_deref()
    }

    /// The path of the operator's file. Creates no folder.
    pub(crate) fn operator_file(&self) -> Option<PathBuf> {
        self.data.as_ref().map(|data| data.join(OPERATOR_FILE))
    }

    /// The operator's policy: `pintle.toml` in the data folder, and the environment over it (R10.8).
    pub(crate) fn operator(&self) -> Result<Operator, Problem> {
        self.settings()?.map_err(|errors| self.bad_settings(&errors))
    }

    /// The same, with its mistakes as values, to be shown with those of the profile.
    pub(crate) fn settings(&self) -> Result<Result<Operator, ProfileErrors>, Problem> {
        let file = self.operator_text().map_err(|error| {
            let path = self.operator_file().unwrap_or_default();
            Problem::io(format!("cannot read {}, so nothing runs", path.display()), &error)
                .fix("make it a text file in UTF-8 that you may read, or remove it")
        })?;
        let env = OperatorEnv {
            allow_command_hooks: self.variable("PINTLE_ALLOW_COMMAND_HOOKS"),
            disable_hooks: self.variable("PINTLE_DISABLE_HOOKS"),
            webhook_allowlist: self.variable("PINTLE_WEBHOOK_ALLOWLIST"),
            tools: &built_in_tools(),
        };
        Ok(Operator::new(&file, env))
    }

    /// The text of the operator's file, empty when there is none. A dangling link is an error: a file was meant.
    pub(crate) fn operator_text(&self) -> std::io::Result<String> {
        let Some(path) = self.operator_file() else { return Ok(String::new()) };
        match std::fs::read_to_string(&path) {
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
                match path.symlink_metadata() {
                    Ok(_) => Err(std::io::Error::other("it is a link that leads nowhere")),
                    Err(_) => Ok(String::new()),
                }
            }
            read => read,
        }
    }

    /// A path that the operator's file names: from the file's own folder, or from home with `~/`.
    pub(crate) fn beside_settings(&self, named: &str) -> Result<PathBuf, Problem> {
        let at_home = named.strip_prefix("~/").and_then(|rest| Some(self.home()?.join(rest)));
        match at_home {
            Some(path) => Ok(path),
            None => Ok(self.data_dir()?.join(named)),
        }
    }

    pub(crate) fn bad_settings(&self, errors: &ProfileErrors) -> Problem {
        let problem = Problem::new("pintle.toml has mistakes, so nothing runs").drawn(errors);
        self.where_settings_are(problem)
    }

    pub(crate) fn where_settings_are(&self, problem: Problem) -> Problem {
        match self.operator_file().filter(|file| file.exists()) {
            Some(file) => problem.fix(format!("edit {}", file.display())),
            None => problem,
        }
    }

    /// Names the file, if an error speaks of it.
    pub(crate) fn with_settings_file(&self, problem: Problem, errors: &ProfileErrors) -> Problem {
        let names = |error: &ProfileError| error.helps.iter().any(|it| it.contains(OPERATOR_FILE));
        match self.operator_file().filter(|_| errors.errors().iter().any(names)) {
            Some(file) => problem.fix(format!("{OPERATOR_FILE} is {}", file.display())),
            None => problem,
        }
    }

    /// Whether this machine has a user of this name.
    pub(crate) fn is_user(&self, name: &str) -> bool {
        User::from_name(name).is_ok_and(|user| user.is_some())
    }

    /// The users in this machine's own list of accounts.
    pub(crate) fn users(&self) -> Vec<String> {
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        accounts.lines().filter_map(|line| Some(line.split_once(':')?.0.to_string())).collect()
    }

    /// The values that must not leave this process: providers' keys and what the operator names.
    pub(crate) fn secrets(&self, operator: &Operator) -> Vec<String> {
        let keys = providers().filter_map(key_variable).filter_map(|name| self.variable(name));
        let named = operator.secrets.iter().filter_map(|name| self.variable(name));
        keys.chain(named).map(str::to_string).collect()
    }

    /// A secret a profile refers to by its variable's name.
    pub(crate) fn secret(&self, name: &str) -> Result<String, Problem> {
        self.variable(name).map(str::to_string).ok_or_else(|| {
            Problem::new(format!("the profile needs the environment variable {name}"))
                .fix(format!("export {name}=…"))
        })
    }

    fn variable(&self, name: &str) -> Option<&str> {
        set(&self.variables, name)
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.variables.iter().map(|(name, value)| (name.into(), value.into()))
    }

    /// A path as a person here would write it: from this folder, or from home.
    pub(crate) fn short(&self, path: &Path) -> String {
        let here = self.working_dir().ok().and_then(|here| path.strip_prefix(here).ok());
        let home = || path.strip_prefix(self.home()?).ok();
        match (here, home()) {
            (Some(rest), _) => format!("./{}", rest.display()),
            (None, Some(rest)) => format!("~/{}", rest.display()),
            (None, None) => path.display().to_string(),
        }
    }

    pub(crate) fn absolute(&self, path: &Path) -> Result<PathBuf, Problem> {
        std::path::absolute(path)
            .map_err(|error| Problem::io(format!("cannot use the path {}", path.display()), &error))
    }
}

/// Sets how wide lines may be. Help needs it before the command line is read.
pub(crate) fn set_up_width() {
    let named = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let of_messages = columns_of(std::io::stderr());
    let columns = columns_of(std::io::stdout()).or_else(named).or(of_messages);
    term::set_width(columns.unwrap_or(80));
    term::set_width_of_messages(of_messages);
}

/// The value of a variable; an empty one is treated as not set.
fn set<'a>(variables: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
}

/// The same for a path, which need not be text.
fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
