//! Texts that are plain now and become commands later.

/// Variables whose value some program runs or loads.
const RUN_BY_PROGRAMS: &[&str] = &[
    "BASH_ENV",
    "BROWSER",
    "DYLD_INSERT_LIBRARIES",
    "EDITOR",
    "ENV",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "JAVA_TOOL_OPTIONS",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LESSOPEN",
    "MANPAGER",
    "NODE_OPTIONS",
    "PAGER",
    "PATH",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PYTHONSTARTUP",
    "RUBYOPT",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "VISUAL",
];

/// Whether `NAME=value` decides what some program will run: `PAGER=evil git log`, `PATH=/tmp ls`.
pub(crate) fn steers_programs(assignment: &str) -> bool {
    let Some((name, value)) = assignment.split_once('=') else { return false };
    let harmless = matches!(value.trim_matches(['"', '\'']), "" | "cat" | "less" | "true" | ":");
    RUN_BY_PROGRAMS.contains(&name.trim_end_matches('+')) && !harmless
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

/// Whether git's own settings on its command line name something to run.
pub(crate) fn steers_git(arg: &str) -> bool {
    let lower = arg.to_ascii_lowercase();
    let keys = [
        "pager=",
        "editor=",
        "sshcommand=",
        "fsmonitor=",
        "hookspath=",
        "askpass=",
        "helper=",
        "--exec-path=",
        "--upload-pack=",
        "--receive-pack=",
        "=!",
        "='!",
        "textconv=",
        "external=",
        "program=",
        "ext::",
    ];
    keys.iter().any(|key| lower.contains(key))
        && !lower.ends_with("pager=cat")
        && !lower.ends_with("pager=")
}
