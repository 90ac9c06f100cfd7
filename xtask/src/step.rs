//! Commands run one after another, each announced and timed; the first that fails stops the rest.

use std::{
    fmt,
    io::IsTerminal,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Why a chore stopped: one line for the person who started it.
pub(crate) struct Failed(pub(crate) String);

impl Failed {
    pub(crate) fn because(what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self(format!("{what}: {error}"))
    }
}

/// The repository's root, wherever the command was started from.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// One command.
pub(crate) struct Step {
    program: String,
    arguments: Vec<String>,
    folder: PathBuf,
    environment: Vec<(&'static str, String)>,
}

impl Step {
    pub(crate) fn new(program: impl Into<String>, arguments: &[&str]) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            folder: root(),
            environment: Vec::new(),
        }
    }

    pub(crate) fn cargo(arguments: &[&str]) -> Self {
        let step = Self::new("cargo", arguments);
        // Cargo colours for a terminal only; what it starts may not find out on its own.
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        if colour { step.env("CARGO_TERM_COLOR", "always") } else { step }
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    pub(crate) fn inside(mut self, folder: PathBuf) -> Self {
        self.folder = folder;
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder);
        // Set for this very program, and read by some of those it starts.
        command.env_remove("CARGO_MANIFEST_DIR").envs(self.environment.iter().cloned());
        command
    }

    /// Runs it with its output shown.
    pub(crate) fn show(&self) -> Result<(), Failed> {
        let status =
            self.command().status().map_err(|error| Failed::because(format!("`{self}`"), error))?;
        if status.success() { Ok(()) } else { Err(Failed(format!("`{self}` failed ({status})"))) }
    }

    /// Runs it and shows its output only if it fails.
    fn keep_output(&self) -> Result<(), Failed> {
        let output =
            self.command().output().map_err(|error| Failed::because(format!("`{self}`"), error))?;
        if output.status.success() {
            return Ok(());
        }
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        Err(Failed(format!("`{self}` failed ({})\n{text}", output.status)))
    }

    /// Runs it and returns what it wrote to stdout.
    pub(crate) fn read(&self) -> Result<String, Failed> {
        let output = self
            .command()
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| Failed::because(format!("`{self}`"), error))?;
        if !output.status.success() {
            return Err(Failed(format!("`{self}` failed ({})", output.status)));
        }
        String::from_utf8(output.stdout)
            .map_err(|error| Failed::because(format!("`{self}`"), error))
    }

    /// Whether it can be run at all, and says yes.
    pub(crate) fn works(&self) -> bool {
        let quiet = self.command().stdout(Stdio::null()).stderr(Stdio::null()).status();
        quiet.is_ok_and(|status| status.success())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            if *name != "CARGO_TERM_COLOR" {
                write!(f, "{name}={value:?} ")?;
            }
        }
        f.write_str(&self.program)?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
    }
}

/// What has been run, for the closing table.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<(String, Duration)>,
    in_background: bool,
}

impl Steps {
    /// Commands beside others: the output of those that pass is not shown.
    pub(crate) fn in_background() -> Self {
        Self { done: Vec::new(), in_background: true }
    }

    /// Announces a command, runs it and times it.
    pub(crate) fn run(&mut self, step: Step) -> Result<(), Failed> {
        println!("\n▶ {step}");
        let start = Instant::now();
        let result = if self.in_background { step.keep_output() } else { step.show() };
        let taken = start.elapsed();
        match &result {
            Ok(()) => println!("✔ {step} ({:.1} s)", taken.as_secs_f64()),
            Err(_) => println!("✘ {step} ({:.1} s)", taken.as_secs_f64()),
        }
        self.done.push((step.to_string(), taken));
        result
    }

    /// Adds what was run elsewhere.
    pub(crate) fn include(&mut self, other: Self) {
        self.done.extend(other.done);
    }

    /// Says what was run and how long it took.
    pub(crate) fn close(&self) {
        let width = self.done.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        println!("\nAll of these passed:");
        for (name, taken) in &self.done {
            println!("  {name:<width$}  {:>7.1} s", taken.as_secs_f64());
        }
        let total: Duration = self.done.iter().map(|(_, taken)| *taken).sum();
        println!("  {:<width$}  {:>7.1} s", "together", total.as_secs_f64());
    }
}
