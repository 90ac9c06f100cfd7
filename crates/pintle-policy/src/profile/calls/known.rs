//! Functions by which scripts in other languages load and run things.

use super::tokens::Tongue;

/// What a function makes of what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// A text in the same language.
    Code,
    /// The name of a module.
    Module,
    /// The path of a file.
    File,
    /// A folder to find modules in.
    Folder,
    /// A line for a shell.
    Line,
    /// A list of words, or a line.
    Words,
    /// The program, and then a list of its words.
    Pair,
    /// The program, and then its words one by one.
    Spread,
}

/// With which of its parameters it begins.
pub(super) type Rule = (Runs, usize);

/// Modules that are there to run things: whoever hands one on hands on all it can do.
pub(super) const STARTERS: &[&str] =
    &["builtins", "child_process", "imp", "importlib", "pty", "runpy", "subprocess", "vm"];

/// Modules of Python that make of a file whatever it says.
const PICKLES: [&str; 7] =
    ["_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "pickle"];

/// Modules of others by which programs are run in ways of their own.
pub(super) const FOREIGN: &[&str] = &[
    "cross-spawn",
    "delegator",
    "envoy",
    "execa",
    "fabric",
    "invoke",
    "nano-spawn",
    "pexpect",
    "plumbum",
    "sh",
    "shelljs",
    "tinyexec",
    "zx",
];

/// Whether a module may be handed on to anybody: nothing that can be done with it runs a file.
pub(super) fn is_starter(module: &str) -> bool {
    let module = module.strip_prefix("node:").unwrap_or(module);
    STARTERS.contains(&module.split(['.', '/']).next().unwrap_or_default())
}

/// The rule for a function of a module, or of nobody knows what, or for one that is there without any.
pub(super) fn rule(tongue: Tongue, module: Option<&str>, name: &str) -> Option<Rule> {
    let module = module.map(|it| it.strip_prefix("node:").unwrap_or(it));
    match tongue {
        Tongue::Python => python(module, name),
        Tongue::Node => node(module, name),
        _ => other(tongue, module, name),
    }
}

fn python(module: Option<&str>, name: &str) -> Option<Rule> {
    let is_bare = matches!(module, None | Some("builtins"));
    Some(match name {
        "exec" | "eval" if is_bare => (Runs::Code, 0),
        "FunctionType" | "runcode" | "runsource" => (Runs::Code, 0),
        // What is in there says what is called when it is read.
        "load" | "loads" | "Unpickler" if module.is_some_and(|it| PICKLES.contains(&it)) => {
            (Runs::Code, 0)
        }
        "open" if module == Some("shelve") => (Runs::File, 0),
        "FileFinder" | "discover" | "iter_modules" | "walk_packages" => (Runs::Folder, 0),
        "zipimporter" => (Runs::File, 0),
        "__import__" => (Runs::Module, 0),
        "execfile" | "run_path" | "CDLL" | "PyDLL" | "LoadLibrary" | "startfile" => (Runs::File, 0),
        "import_module" | "run_module" | "find_spec" => (Runs::Module, 0),
        "spec_from_file_location"
        | "SourceFileLoader"
        | "SourcelessFileLoader"
        | "ExtensionFileLoader"
        | "load_source"
        | "load_dynamic"
        | "load_compiled" => (Runs::File, 1),
        "system" if module != Some("platform") => (Runs::Line, 0),
        "popen" | "getoutput" | "getstatusoutput" | "create_subprocess_shell" => (Runs::Line, 0),
        "run" | "call" if module == Some("subprocess") => (Runs::Words, 0),
        "Popen" | "check_call" | "check_output" => (Runs::Words, 0),
        "spawn" if module == Some("pty") => (Runs::Words, 0),
        "create_subprocess_exec" | "execl" | "execle" | "execlp" | "execlpe" => (Runs::Spread, 0),
        "execv" | "execve" | "execvp" | "execvpe" | "posix_spawn" | "posix_spawnp" => {
            (Runs::Pair, 0)
        }
        "spawnv" | "spawnve" | "spawnvp" | "spawnvpe" => (Runs::Pair, 1),
        "spawnl" | "spawnle" | "spawnlp" | "spawnlpe" => (Runs::Spread, 1),
        "insert" if module == Some("sys.path") => (Runs::Folder, 1),
        "append" | "extend" if module == Some("sys.path") => (Runs::Folder, 0),
        "addsitedir" => (Runs::Folder, 0),
        _ => return None,
    })
}

fn node(module: Option<&str>, name: &str) -> Option<Rule> {
    Some(match name {
        "require" | "import" if matches!(module, None | Some("module")) => (Runs::Module, 0),
        "eval" | "Function" if module.is_none() => (Runs::Code, 0),
        "exec" if module == Some("child_process") => (Runs::Line, 0),
        "execSync" => (Runs::Line, 0),
        "spawn" if module == Some("Bun") => (Runs::Words, 0),
        "execFile" | "execFileSync" | "spawn" | "spawnSync" => (Runs::Pair, 0),
        "fork" if matches!(module, Some("child_process" | "cluster")) => (Runs::File, 0),
        "Worker" | "importScripts" => (Runs::File, 0),
        "dlopen" => (Runs::File, 1),
        "_load" => (Runs::Module, 0),
        "Script" if module == Some("vm") => (Runs::Code, 0),
        "compileFunction" | "runInContext" | "runInNewContext" | "runInThisContext" => {
            (Runs::Code, 0)
        }
        _ => return None,
    })
}

fn other(tongue: Tongue, module: Option<&str>, name: &str) -> Option<Rule> {
    let is_bare = matches!(module, None | Some("Kernel" | "os" | "io" | "IO" | "Process" | "CORE"));
    Some(match name {
        "system" | "exec" | "spawn" if is_bare && tongue != Tongue::Lua => (Runs::Spread, 0),
        "popen" | "execute" | "shell_exec" | "passthru" | "proc_open" | "popen2" | "popen3"
        | "capture2" | "capture2e" | "capture3" | "pipeline" => (Runs::Line, 0),
        "eval" | "instance_eval" | "class_eval" | "module_eval" | "loadstring" => (Runs::Code, 0),
        "load" if tongue == Tongue::Lua => (Runs::Code, 0),
        "load" if tongue == Tongue::Ruby && is_bare => (Runs::File, 0),
        "do" if tongue == Tongue::Perl => (Runs::File, 0),
        "loadfile" | "dofile" => (Runs::File, 0),
        "require" | "require_relative" if tongue != Tongue::Awk && is_bare => (Runs::Module, 0),
        "include" | "include_once" | "require_once" if tongue == Tongue::Php => (Runs::File, 0),
        _ => return None,
    })
}
