//! Texts that are plain now and become commands later.

use super::{SimpleCommand, Word};

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
    is_steering_variable(name) && !harmless
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
    PROGRAMS.contains(&name) || of_cargo
}

/// The programs that `NAME=value` names for another to run, each as a text for a shell; with a `$` it is not known.
pub(crate) fn programs_named(assignment: &Word) -> Vec<String> {
    let texts = assignment.readings().into_iter().filter_map(|text| {
        let (name, value) = text.split_once('=')?;
        let name = name.trim_end_matches(['+', ':', '?']);
        let is_itself = value.strip_prefix('$') == Some(name) || value.is_empty();
        (holds_a_program(name) && !is_itself).then(|| value.to_owned())
    });
    texts.collect()
}

/// Whether a shell that reads this text takes the value of some variable for a number, and runs what it finds in it.
pub(crate) fn calculates(text: &str) -> bool {
    const SAID: &[&str] = &[
        "let", "unset", "-v", "-i", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-ai", "-ia", "-gi",
        "-ig",
    ];
    let is_index = text
        .split('[')
        .rev()
        .skip(1)
        .any(|before| before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'));
    let is_offset = text.split("${").skip(1).any(|inside| {
        let rest = inside.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        rest.strip_prefix(':').is_some_and(|rest| !rest.starts_with(['-', '=', '?', '+']))
    });
    text.contains("((")
        || is_index
        || is_offset
        || text.split_whitespace().any(|word| SAID.contains(&word))
}

/// Whether the command puts a `$` or a backquote, as a sign and not for what it means, where a variable may get it.
pub(crate) fn keeps_a_dollar(command: &SimpleCommand) -> bool {
    const SETS: &[&str] = &["", "declare", "export", "local", "readonly", "set", "typeset"];
    const READS: &[&str] = &["mapfile", "read", "readarray"];
    let program = command.program().unwrap_or_default();
    let prints = program == "printf" && command.args.iter().any(|a| a.text().starts_with("-v"));
    let args = command.args.iter().filter(|arg| {
        SETS.contains(&program) || prints || (program == "env" && arg.text().contains('='))
    });
    let read = command.redirects.iter().filter(|r| r.operator == "<<<").map(|r| &r.target);
    let read = read.chain(&command.documents).filter(|_| READS.contains(&program));
    command.assignments.iter().chain(args).chain(read).any(has_a_quoted_dollar)
}

fn has_a_quoted_dollar(word: &Word) -> bool {
    let Word::Dynamic(raw) = word else { return word.text().contains(['$', '`']) };
    let (mut single, mut double) = (false, false);
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match c {
            '$' | '`' if single => return true,
            '\'' if !double => single = !single,
            '"' if !single => double = !double,
            '\\' if !single && chars.next().is_some_and(|c| matches!(c, '$' | '`')) => return true,
            _ => {}
        }
    }
    false
}

/// Whether an assignment runs something when its value is used: by what it steers, or because the value would be
/// evaluated (`PS4`, arithmetic).
pub(crate) fn decides_later(assignment: &Word) -> bool {
    let later = match assignment {
        Word::Literal(text) => text.contains("$(") || text.contains('`'),
        Word::Dynamic(raw) => raw.contains('\'') && (raw.contains("$(") || raw.contains('`')),
    };
    later || steers_programs(assignment.text())
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
