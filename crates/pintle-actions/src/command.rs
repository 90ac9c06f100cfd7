//! The `command` action: a program runs.

use std::{path::Path, time::Duration};

use pintle::DynEvent;
use pintle_exec::{CommandHook, CommandSpec, Program, Worker, WorkerSpec};
use pintle_policy::{Zone, shell::simple_commands};
use pintle_profile::{ActionCheck, Hook, Node, Problem, Run, Written, bad_inner_path};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Action, BindError, Binding, state, trust::Trusted};

/// Keeps Python from writing compiled files beside the scripts: they would be new files under `hooks/`.
pub const NO_BYTECODE: (&str, &str) = ("PYTHONDONTWRITEBYTECODE", "1");

/// Runs a program; at a gate its exit code decides.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("anyOf" = [
    { "required": ["command"], "properties": { "argv": false } },
    { "required": ["argv"], "properties": { "command": false } }
]))]
pub(crate) struct Command {
    /// A command for `/bin/sh -c`.
    command: Option<String>,
    /// A program and its arguments, without a shell.
    #[schemars(length(min = 1))]
    argv: Option<Vec<String>>,
    /// How long it may take, in milliseconds. Default: 5000.
    #[schemars(range(min = 1))]
    timeout_ms: Option<u64>,
    /// Whether one process serves many events.
    #[serde(default)]
    worker: bool,
    /// The zone of its process. Default: `build`.
    #[serde(default)]
    sandbox: HookSandbox,
}

/// What a command hook is held to (R8.8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum HookSandbox {
    /// Writes the workspace.
    Workspace,
    /// Writes the workspace and caches.
    #[default]
    Build,
    /// Reaches the network too.
    Network,
    /// Runs without a sandbox.
    None,
}

impl HookSandbox {
    fn zone(self) -> Zone {
        match self {
            Self::Workspace => Zone::Workspace,
            Self::Build => Zone::Build,
            Self::Network => Zone::Network,
            Self::None => Zone::Machine,
        }
    }
}

impl Action for Command {
    const NAME: &'static str = "command";
    const ALSO_CALLED: &'static [&'static str] =
        &["shell", "bash", "sh", "exec", "run", "script", "program"];

    fn check(action: &Node, check: &mut ActionCheck<'_>) {
        let argv =
            || action.list("argv").iter().filter_map(Node::text).map(str::to_owned).collect();
        let run =
            action.str("command").map_or_else(|| Run::Argv(argv()), |it| Run::Shell(it.into()));
        check.uses.program = action.get("action").map(|tag| Written::new(tag, run));
        check.uses.zone = action.get("sandbox").and_then(|node| {
            let sandbox: HookSandbox = serde_json::from_value(node.text()?.into()).ok()?;
            Some(Written::new(node, sandbox.zone()))
        });
        match (action.get("command"), action.get("argv")) {
            (None, None) => {
                let message = "the action `command` has neither `command` nor `argv`";
                let help =
                    "add \"argv\": [\"hooks/check.sh\"], or \"command\": a line for the shell";
                check.say(&action.head(), message, "nothing to run", help);
            }
            (Some(_), Some(argv)) => {
                let message = "the action `command` has both `command` and `argv`";
                let help = "keep `argv` if no shell is needed, `command` otherwise";
                check.say(&argv.span, message, "which one should run?", help);
            }
            (None, Some(argv)) => match argv.items() {
                [] if argv.is_list() => {
                    let help = "its first text is the program";
                    check.say(&argv.span, "`argv` is empty", "nothing to run", help);
                }
                [program, ..] if program.text() == Some("") => {
                    check.say(&program.span, "the program's name is empty", "", "name a program");
                }
                [program, ..] => {
                    let wrong =
                        program.text().and_then(|text| bad_program(text, program, check.folder));
                    check.problems.extend(wrong);
                }
                [] => {}
            },
            (Some(line), None) => check.problems.extend(bad_line(line, check.folder)),
        }
    }

    fn does(&self, hook: &Hook) -> (&'static str, String) {
        let run = hook.uses.program.as_ref().map(|program| &program.value);
        let line = match run {
            Some(Run::Shell(line)) => line.clone(),
            Some(Run::Argv(argv)) => argv.join(" "),
            None => String::new(),
        };
        ("runs", line)
    }

    fn bind(self, binding: &mut Binding<'_>) -> Result<(), BindError> {
        if let Some(stand_in) = binding.host.stand_in.clone() {
            let name = binding.hook.name.clone();
            return binding.register(move |event: DynEvent| stand_in(&name, &event));
        }
        let trust = binding.trust.clone();
        if trust.check().is_err() {
            binding.bound.untrusted.push(binding.hook.name.clone());
        }
        let worker = self.worker;
        let spec = self.spec(binding)?;
        if worker {
            let worker = Worker::new(WorkerSpec::new(spec));
            binding.bound.workers.push(worker.clone());
            let registrar = binding.registrar().deadline(worker.deadline());
            binding.register_with(registrar, Trusted { trust, handler: worker })
        } else {
            let command = CommandHook::new(spec);
            let registrar = binding.registrar().deadline(command.deadline());
            binding.register_with(registrar, Trusted { trust, handler: command })
        }
    }
}

impl Command {
    fn spec(self, binding: &Binding<'_>) -> Result<CommandSpec, BindError> {
        let program = match (self.command, self.argv) {
            (Some(line), _) => Program::Shell(line),
            (None, argv) => {
                Program::Argv(argv.unwrap_or_default().into_iter().map(Into::into).collect())
            }
        };
        let (host, scrubber) = (binding.host, binding.scrubber.clone());
        let state = state::folder(host.data, host.profile, binding.hook);
        let confinement = (host.confine)(self.sandbox.zone(), state.as_deref())?;
        let mut spec = CommandSpec::new(&host.profile.dir, program, confinement)
            .inherit(host.variables.clone())
            .scrub(move |text| scrubber.scrub(text).into_owned())
            .env(NO_BYTECODE.0, NO_BYTECODE.1);
        spec.state_dir = state;
        for (name, value) in &host.operator.hook_env {
            spec = spec.env(name, value);
        }
        Ok(match self.timeout_ms {
            Some(timeout) => spec.timeout(Duration::from_millis(timeout)),
            None => spec,
        })
    }
}

/// Any line for the shell is fine (R8.3); a script that it plainly names has to be there.
fn bad_line(node: &Node, folder: &Path) -> Option<Problem> {
    let text = node.text()?;
    if text.trim().is_empty() {
        let help = "write what `/bin/sh -c` should run";
        return Some(Problem::at(node.span.clone(), "this command is empty", "", help));
    }
    let commands = simple_commands(text).unwrap_or_default();
    let mut programs = commands.iter().filter_map(|command| command.name.literal());
    programs.find_map(|program| bad_program(program, node, folder))
}

/// A program given by a path is a script of the profile: it must be inside, and there.
fn bad_program(program: &str, node: &Node, folder: &Path) -> Option<Problem> {
    // A NUL is reported as a hidden character.
    if !program.contains('/') || program.contains('\0') {
        return None;
    }
    // `.venv/bin/python` is a link to a program elsewhere: the bytes it leads to are trusted, wherever they lie.
    let path = Path::new(program);
    let parent = path.parent().filter(|_| path.is_relative() && folder.join(path).is_symlink());
    let place = parent.and_then(Path::to_str).unwrap_or(program);
    if let Some(problem) = bad_inner_path(place, &node.span, folder) {
        return Some(problem.instead("name a program found on the PATH, or a script inside the profile's folder, like `hooks/check.sh`"));
    }
    if folder.join(program).is_file() {
        return None;
    }
    let message = format!("there is no script `{program}`");
    let help = "create it, or correct the path; it is relative to the profile's folder";
    Some(Problem::at(node.span.clone(), message, "not found in the profile's folder", help))
}
