//! Programs whose arguments are another program: which of their options take a value.

/// How to find the inner command behind a program's own options.
pub(crate) struct Wrapper {
    pub(crate) name: &'static str,
    /// Short options without a value.
    pub(crate) flags: &'static str,
    /// Short options with one.
    pub(crate) valued: &'static str,
    /// Long options without a value.
    pub(crate) long_flags: &'static [&'static str],
    /// Long options with one.
    pub(crate) long_valued: &'static [&'static str],
    /// Operands before the inner command.
    pub(crate) operands: usize,
    /// Whether `NAME=value` may stand before the inner command.
    pub(crate) assigns: bool,
}

const PLAIN: Wrapper = Wrapper {
    name: "",
    flags: "",
    valued: "",
    long_flags: &[],
    long_valued: &[],
    operands: 0,
    assigns: false,
};

/// An option that is not in the table makes what runs undecidable: its value could be taken for the command.
const WRAPPERS: &[Wrapper] = &[
    Wrapper { name: "nohup", ..PLAIN },
    Wrapper { name: "coproc", ..PLAIN },
    Wrapper { name: "builtin", ..PLAIN },
    Wrapper { name: "busybox", ..PLAIN },
    Wrapper { name: "toybox", ..PLAIN },
    Wrapper {
        name: "time",
        flags: "pavq",
        valued: "fo",
        long_flags: &["portability", "append", "verbose", "quiet"],
        long_valued: &["format", "output"],
        ..PLAIN
    },
    Wrapper {
        name: "sudo",
        flags: "ABbEHiKknPsS",
        valued: "CDghpRrTtuU",
        long_flags: &[
            "askpass",
            "background",
            "preserve-env",
            "set-home",
            "login",
            "non-interactive",
            "preserve-groups",
            "shell",
            "stdin",
            "reset-timestamp",
        ],
        long_valued: &[
            "user",
            "group",
            "host",
            "prompt",
            "chdir",
            "chroot",
            "role",
            "type",
            "close-from",
        ],
        assigns: true,
        ..PLAIN
    },
    Wrapper { name: "doas", flags: "Lns", valued: "uC", ..PLAIN },
    Wrapper {
        name: "timeout",
        flags: "fpv",
        valued: "ks",
        long_flags: &["foreground", "preserve-status", "verbose"],
        long_valued: &["kill-after", "signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "nice",
        flags: "0123456789",
        valued: "n",
        long_valued: &["adjustment"],
        ..PLAIN
    },
    Wrapper {
        name: "ionice",
        flags: "t",
        valued: "cn",
        long_flags: &["ignore"],
        long_valued: &["class", "classdata"],
        ..PLAIN
    },
    Wrapper {
        name: "env",
        flags: "i0v",
        valued: "uC",
        long_flags: &["ignore-environment", "null", "debug"],
        long_valued: &["unset", "chdir"],
        assigns: true,
        ..PLAIN
    },
    Wrapper { name: "exec", flags: "cl", valued: "a", ..PLAIN },
    Wrapper { name: "command", flags: "p", ..PLAIN },
    Wrapper { name: "stdbuf", valued: "ioe", long_valued: &["input", "output", "error"], ..PLAIN },
    Wrapper { name: "setsid", flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..PLAIN },
    Wrapper {
        name: "chroot",
        long_flags: &["skip-chdir"],
        long_valued: &["userspec", "groups"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "xargs",
        flags: "0oprtx",
        valued: "adEILnPs",
        long_flags: &["null", "open-tty", "interactive", "no-run-if-empty", "verbose", "exit"],
        long_valued: &[
            "arg-file",
            "delimiter",
            "max-lines",
            "max-args",
            "max-procs",
            "max-chars",
            "replace",
        ],
        ..PLAIN
    },
    Wrapper {
        name: "flock",
        flags: "sxenouF",
        valued: "wE",
        long_flags: &["shared", "exclusive", "nonblock", "close", "no-fork", "verbose"],
        long_valued: &["timeout", "wait", "conflict-exit-code"],
        operands: 1,
        ..PLAIN
    },
    Wrapper { name: "caffeinate", flags: "dimsu", valued: "tw", ..PLAIN },
    Wrapper { name: "taskset", flags: "ac", operands: 1, ..PLAIN },
    Wrapper { name: "strace", flags: "cCdfhiqrtTvVxy", valued: "abeEIoOpPsSuX", ..PLAIN },
];

pub(crate) fn wrapper(program: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|w| w.name == program)
}

/// Shells that run a string given with `-c`.
pub(crate) fn is_shell(program: &str) -> bool {
    matches!(
        program,
        "sh" | "bash"
            | "dash"
            | "zsh"
            | "ksh"
            | "mksh"
            | "ash"
            | "rbash"
            | "yash"
            | "fish"
            | "csh"
            | "tcsh"
    )
}

/// Programs that run another one in a way that is not read here: what runs counts as undecidable.
pub(crate) fn is_opaque(program: &str) -> bool {
    matches!(
        program,
        "parallel"
            | "systemd-run"
            | "unshare"
            | "nsenter"
            | "start-stop-daemon"
            | "setpriv"
            | "firejail"
            | "bwrap"
            | "at"
            | "batch"
    )
}
