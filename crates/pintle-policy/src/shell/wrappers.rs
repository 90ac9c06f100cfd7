//! Programs whose arguments are another program: which of their options take a value.

use super::Word;

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
        long_flags: &[
            "null",
            "open-tty",
            "interactive",
            "no-run-if-empty",
            "verbose",
            "exit",
            "replace",
            "max-lines",
        ],
        long_valued: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars"],
        ..PLAIN
    },
    FLOCK,
    Wrapper { name: "caffeinate", flags: "dimsu", valued: "tw", ..PLAIN },
    Wrapper { name: "taskset", flags: "ac", operands: 1, ..PLAIN },
    Wrapper { name: "prlimit", ..PLAIN },
    Wrapper { name: "chrt", flags: "abfimorRv", operands: 1, ..PLAIN },
    Wrapper { name: "choom", valued: "n", ..PLAIN },
    Wrapper { name: "linux32", flags: "BFILRSTXZv3", ..PLAIN },
    Wrapper { name: "linux64", flags: "BFILRSTXZv3", ..PLAIN },
    Wrapper { name: "i386", flags: "BFILRSTXZv3", ..PLAIN },
    Wrapper { name: "x86_64", flags: "BFILRSTXZv3", ..PLAIN },
    Wrapper { name: "ssh-agent", flags: "cDds", valued: "atOPE", ..PLAIN },
    Wrapper { name: "fakeroot", flags: "u", valued: "lsifbc", ..PLAIN },
    Wrapper { name: "xvfb-run", flags: "al", valued: "efnpsw", ..PLAIN },
    Wrapper { name: "dbus-run-session", ..PLAIN },
    Wrapper { name: "gosu", operands: 1, ..PLAIN },
    Wrapper { name: "su-exec", operands: 1, ..PLAIN },
    Wrapper { name: "setuidgid", operands: 1, ..PLAIN },
    Wrapper { name: "tini", flags: "gsv", ..PLAIN },
    Wrapper { name: "dumb-init", flags: "cv", ..PLAIN },
    Wrapper { name: "unbuffer", flags: "p", ..PLAIN },
    Wrapper { name: "chronic", flags: "ev", ..PLAIN },
    Wrapper { name: "ifne", flags: "n", ..PLAIN },
    Wrapper { name: "zrun", ..PLAIN },
    Wrapper { name: "eatmydata", ..PLAIN },
    Wrapper { name: "ccache", flags: "sCzchVvpx", valued: "FMokX", ..PLAIN },
    Wrapper { name: "sccache", flags: "szhV", long_flags: &["show-stats"], ..PLAIN },
    Wrapper { name: "distcc", ..PLAIN },
    Wrapper { name: "icecc", ..PLAIN },
    Wrapper { name: "coreutils", ..PLAIN },
    Wrapper { name: "cross-env", assigns: true, ..PLAIN },
    Wrapper {
        name: "systemd-cat",
        valued: "tp",
        long_valued: &["identifier", "priority", "stderr-priority", "level-prefix"],
        ..PLAIN
    },
    Wrapper {
        name: "gpg-agent",
        flags: "cqsv",
        long_flags: &["daemon", "verbose", "quiet", "sh", "csh", "enable-ssh-support", "no-detach"],
        long_valued: &["homedir", "default-cache-ttl", "max-cache-ttl"],
        ..PLAIN
    },
    Wrapper {
        name: "debconf",
        valued: "fop",
        long_flags: &["terse"],
        long_valued: &["frontend", "owner", "priority"],
        ..PLAIN
    },
    Wrapper {
        name: "heaptrack",
        flags: "dr",
        valued: "o",
        long_flags: &["debug", "raw", "record-only"],
        long_valued: &["output"],
        ..PLAIN
    },
    Wrapper { name: "faketime", flags: "fm", operands: 1, ..PLAIN },
];

pub(crate) fn wrapper(program: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|w| w.name == program)
}

/// `flock` and `watch` choose between a program and a text for a shell: they are looked at on their own.
pub(crate) const FLOCK: Wrapper = Wrapper {
    name: "flock",
    flags: "sxenouF",
    valued: "wE",
    long_flags: &["shared", "exclusive", "nonblock", "close", "no-fork", "verbose"],
    long_valued: &["timeout", "wait", "conflict-exit-code"],
    operands: 1,
    ..PLAIN
};
pub(crate) const WATCH: Wrapper = Wrapper {
    name: "watch",
    flags: "bcdegptwxC",
    valued: "nq",
    long_flags: &[
        "beep",
        "color",
        "differences",
        "errexit",
        "chgexit",
        "precise",
        "no-title",
        "exec",
    ],
    long_valued: &["interval", "equexit"],
    ..PLAIN
};

/// Whether the wrapper does nothing much when no program is given; the others start a shell, or are not known to do nothing.
pub(crate) fn is_idle_alone(wrapper: &str) -> bool {
    matches!(
        wrapper,
        "nohup"
            | "coproc"
            | "builtin"
            | "busybox"
            | "toybox"
            | "time"
            | "timeout"
            | "nice"
            | "ionice"
            | "env"
            | "exec"
            | "command"
            | "stdbuf"
            | "setsid"
            | "xargs"
            | "taskset"
            | "prlimit"
            | "chrt"
            | "choom"
            | "ssh-agent"
            | "ccache"
            | "sccache"
            | "coreutils"
            | "cross-env"
            | "systemd-cat"
            | "gpg-agent"
            | "debconf"
    )
}

/// Shells whose language is the one that is read here.
pub(crate) fn reads_as_bash_does(shell: &str) -> bool {
    matches!(shell, "sh" | "bash" | "dash" | "ash" | "rbash")
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
            | "elvish"
            | "hush"
            | "ksh93"
            | "lksh"
            | "nu"
            | "oksh"
            | "osh"
            | "posh"
            | "powershell"
            | "pwsh"
            | "rksh"
            | "xonsh"
            | "ysh"
    )
}

/// Programs that run another one in a way that is not read here: what runs counts as undecidable.
pub(crate) fn is_opaque(program: &str) -> bool {
    const OPAQUE: &[&str] = &[
        "at",
        "batch",
        "bwrap",
        "capsh",
        "cgexec",
        "chpst",
        "compgen",
        "concurrently",
        "cross-env-shell",
        "daemonize",
        "dbus-launch",
        "dotenv",
        "dtach",
        "entr",
        "env-cmd",
        "expect",
        "fc",
        "firejail",
        "gdb",
        "hyperfine",
        "lckdo",
        "ltrace",
        "mispipe",
        "newgrp",
        "nodemon",
        "nsenter",
        "numactl",
        "parallel",
        "pee",
        "perf",
        "pkexec",
        "proot",
        "proxychains",
        "proxychains4",
        "rlwrap",
        "run-parts",
        "run0",
        "runcon",
        "screen",
        "sem",
        "setarch",
        "setpriv",
        "socat",
        "softlimit",
        "start-stop-daemon",
        "strace",
        "systemd-inhibit",
        "systemd-run",
        "tmux",
        "torsocks",
        "trickle",
        "uclampset",
        "unshare",
        "valgrind",
        "watchexec",
        "xterm",
    ];
    let is_loader = ["ld-linux", "ld-musl", "ld.so"].iter().any(|name| program.starts_with(name));
    is_loader || OPAQUE.contains(&program)
}

/// Whether such a program is only asked what there is: `tmux ls`, `screen -ls`.
pub(crate) fn only_looks(program: &str, args: &[Word]) -> bool {
    const LOOKS: &[&str] = &[
        "-V",
        "has",
        "has-session",
        "kill-session",
        "list-panes",
        "list-sessions",
        "list-windows",
        "ls",
        "lsp",
        "lsw",
    ];
    let first = args.first().and_then(Word::literal).unwrap_or_default();
    // `;` starts another of its commands, and `#(…)` in a format is one for a shell.
    let is_plain = |arg: &Word| !arg.is_dynamic() && !arg.text().contains([';', '(']);
    match program {
        "tmux" => LOOKS.contains(&first) && args.iter().all(is_plain),
        "screen" => matches!(first, "-ls" | "-list" | "-v" | "-wipe") && args.len() == 1,
        _ => false,
    }
}
