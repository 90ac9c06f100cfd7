//! Texts that are plain now and become commands later.

use super::Word;

/// Variables whose value some program runs or loads, or by which a shell finds the folder it runs things in.
const RUN_BY_PROGRAMS: &[&str] = &[
    "BASH_ALIASES",
    "BASH_CMDS",
    "BASH_ENV",
    "BROWSER",
    "CDPATH",
    "EDITOR",
    "ENV",
    "EXINIT",
    "FCEDIT",
    "GCONV_PATH",
    "GIT_ALLOW_PROTOCOL",
    "GIT_ASKPASS",
    "GIT_DIR",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "GOFLAGS",
    "HOME",
    "INPUTRC",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESSCLOSE",
    "LESSOPEN",
    "LUA_INIT",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "NODE_OPTIONS",
    "OLDPWD",
    "PAGER",
    "PATH",
    "PERL5DB",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PS0",
    "PS4",
    "PWD",
    "PYTHONSTARTUP",
    "RIPGREP_CONFIG_PATH",
    "RSYNC_RSH",
    "RUBYOPT",
    "RUSTC",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "SHELL",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "SYSTEMD_EDITOR",
    "SYSTEMD_PAGER",
    "TAR_OPTIONS",
    "VIMINIT",
    "VISUAL",
    "XDG_CONFIG_HOME",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

/// The same for whole families of names: what a loader loads, what git is told, functions that a shell takes over.
const RUN_BY_PREFIX: &[&str] = &["BASH_FUNC_", "DYLD_", "GIT_CONFIG", "LD_"];

/// Whether the value of this variable decides what some program will run.
pub(crate) fn is_steering_variable(name: &str) -> bool {
    let name = name.split_once('[').map_or(name, |(name, _)| name).trim_end_matches('+');
    RUN_BY_PROGRAMS.contains(&name) || RUN_BY_PREFIX.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether `NAME=value` decides what some program will run: `PAGER=evil git log`, `PATH=/tmp ls`.
pub(crate) fn steers_programs(assignment: &str) -> bool {
    let Some((name, value)) = assignment.split_once('=') else { return false };
    let harmless = matches!(value.trim_matches(['"', '\'']), "" | "cat" | "less" | "true" | ":");
    is_steering_variable(name) && !harmless && !is_plain_editor(name, value)
}

/// `EDITOR=vi git commit`: a program that everybody knows, listed as what runs.
fn is_plain_editor(name: &str, value: &str) -> bool {
    const EDITORS: &[&str] = &["emacs", "micro", "nano", "nvim", "vi", "vim"];
    matches!(name, "EDITOR" | "VISUAL" | "GIT_EDITOR" | "GIT_SEQUENCE_EDITOR" | "SUDO_EDITOR")
        && EDITORS.contains(&value)
}

/// Variables that hold a program, which `make`, `zgrep` and their like run.
const PROGRAMS: &[&str] = &[
    "AR",
    "AS",
    "CARGO",
    "CC",
    "CMP",
    "CO",
    "CPP",
    "CXX",
    "DIFF",
    "EGREP",
    "F77",
    "FC",
    "FGREP",
    "GET",
    "GREP",
    "HOSTCC",
    "HOSTCXX",
    "INSTALL",
    "LD",
    "LEX",
    "M2C",
    "MAKE",
    "MAKEINFO",
    "NM",
    "NODE",
    "OBJCOPY",
    "OBJDUMP",
    "PC",
    "PERL",
    "PYTHON",
    "RANLIB",
    "RM",
    "SED",
    "SELECTED_EDITOR",
    "STRIP",
    "TAR",
    "TEX",
    "YACC",
];

pub(crate) fn holds_a_program(name: &str) -> bool {
    let of_cargo = name.starts_with("CARGO_TARGET_")
        && (name.ends_with("_LINKER") || name.ends_with("_RUNNER"));
    PROGRAMS.contains(&name) || of_cargo || name.starts_with("CARGO_BUILD_RUST")
}

/// The programs that `NAME=value` names for another to run, each as a text for a shell; with a `$` it is not known.
pub(crate) fn programs_named(assignment: &Word) -> Vec<String> {
    let texts = assignment.readings().into_iter().filter_map(|text| {
        let (name, value) = text.split_once('=')?;
        let name = name.trim_end_matches(['+', ':', '?']);
        let is_itself = value.strip_prefix('$') == Some(name) || value.is_empty();
        let holds = holds_a_program(name) || is_plain_editor(name, value);
        (holds && !is_itself).then(|| value.to_owned())
    });
    texts.collect()
}

/// Whether such a variable is named anywhere in this arithmetic, which can set it: `((PATH=1))` is a folder too.
pub(crate) fn names_a_steering_variable(arithmetic: &str) -> bool {
    arithmetic.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(is_steering_variable)
}

/// `${PATH:=./evil}`
pub(crate) fn sets_in_expansion(expansion: &str) -> bool {
    let inside = expansion.trim_start_matches("${");
    let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inside.len());
    let (name, rest) = inside.split_at_checked(end).unwrap_or((inside, ""));
    (rest.starts_with('=') || rest.starts_with(":=")) && is_steering_variable(name)
}

/// Whether the shell would run something inside this text when it takes it for a number: in `a[$(rm x)]` the index is
/// expanded wherever arithmetic, `test -v`, `unset` or `printf -v` meets it, quoted or not.
pub(crate) fn hides_in_an_index(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let index = after.find(']').and_then(|end| after.get(..end)).unwrap_or(after);
        let named = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if named && (index.contains("$(") || index.contains('`')) {
            return true;
        }
        rest = after.get(1..).unwrap_or_default();
    }
    false
}
