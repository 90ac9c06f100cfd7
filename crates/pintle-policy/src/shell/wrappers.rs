//! The programs whose arguments are another program, and which of their options take a value.

/// How to find the inner command behind a program's own options.
pub(crate) struct Wrapper {
    pub(crate) name: &'static str,
    /// Short options without a value.
    pub(crate) flags: &'static str,
    /// Short options with one.
    pub(crate) valued: &'static str,
    /// Long options without a value, separated by blanks.
    pub(crate) long_flags: &'static str,
    /// Long options with one.
    pub(crate) long_valued: &'static str,
    /// Operands before the inner command.
    pub(crate) operands: usize,
    /// Whether `NAME=value` may stand before the inner command.
    pub(crate) assigns: bool,
}

const PLAIN: Wrapper = Wrapper {
    name: "",
    flags: "",
    valued: "",
    long_flags: "",
    long_valued: "",
    operands: 0,
    assigns: false,
};

/// An option that is not in the table makes what runs undecidable: its value could be taken for the command.
const WRAPPERS: &[Wrapper] = &[
    Wrapper { name: "nohup", ..PLAIN },
    Wrapper { name: "coproc", ..PLAIN },
    Wrapper { name: "builtin", ..PLAIN },
    Wrapper { name: "command", flags: "p", ..PLAIN },
    Wrapper { name: "exec", flags: "cl", valued: "a", ..PLAIN },
    Wrapper { name: "doas", flags: "Lns", valued: "uC", ..PLAIN },
    Wrapper { name: "nice", flags: "0123456789", valued: "n", long_valued: "adjustment", ..PLAIN },
    Wrapper {
        name: "time",
        flags: "pavq",
        valued: "fo",
        long_flags: "portability append verbose quiet",
        long_valued: "format output",
        ..PLAIN
    },
    Wrapper {
        name: "timeout",
        flags: "fpv",
        valued: "ks",
        long_flags: "foreground preserve-status verbose",
        long_valued: "kill-after signal",
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "env",
        flags: "i0v",
        valued: "uC",
        long_flags: "ignore-environment null debug",
        long_valued: "unset chdir",
        assigns: true,
        ..PLAIN
    },
    Wrapper {
        name: "sudo",
        flags: "ABbEHiKknPsS",
        valued: "CDghpRrTtuU",
        long_flags: "askpass background preserve-env set-home login non-interactive preserve-groups shell stdin reset-timestamp",
        long_valued: "user group host prompt chdir chroot role type close-from",
        assigns: true,
        ..PLAIN
    },
    Wrapper {
        name: "xargs",
        flags: "0oprtx",
        valued: "adEILnPs",
        long_flags: "null open-tty interactive no-run-if-empty verbose exit replace max-lines",
        long_valued: "arg-file delimiter max-args max-procs max-chars",
        ..PLAIN
    },
];

pub(crate) fn wrapper(program: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|w| w.name == program)
}

/// Shells whose language is the one that is read here.
pub(crate) fn reads_as_bash_does(shell: &str) -> bool {
    matches!(shell, "sh" | "bash" | "dash" | "ash" | "rbash")
}

/// Shells that run a string given with `-c`.
pub(crate) fn is_shell(program: &str) -> bool {
    reads_as_bash_does(program)
        || matches!(
            program,
            "zsh" | "ksh" | "mksh" | "yash" | "fish" | "csh" | "tcsh" | "pwsh" | "nu"
        )
}
