//! Programs with a language of options and subcommands of their own, some of which run another program.

use super::Word;
use super::options::{is_one_word, may_be_long};
use glob::Pattern;

/// `find`'s and `fd`'s ways to start a program.
const EXEC: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];
const FD_EXEC: &[&str] = &["-x", "-X", "--exec", "--exec-batch"];

/// Tests of `find` whose next word is surely their value.
const FIND_VALUED: &[&str] = &[
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-user",
    "-wholename",
    "-xtype",
];

/// What stands behind a program's arguments.
pub(crate) enum Behind {
    /// A program and its arguments.
    Command(Vec<Word>),
    /// A text for a shell.
    Script(String),
    /// Something that cannot be known.
    Unknown,
}

/// The commands that `find` runs. Each word that may be `-exec` starts one, also inside another: a word decided at run time
/// may have ended that.
pub(crate) fn find(args: &[Word]) -> Vec<Behind> {
    let mut behind = Vec::new();
    let mut before: Option<&Word> = None;
    let mut rest = args;
    while let [first, tail @ ..] = rest {
        let is_value = before.and_then(Word::literal).is_some_and(|b| FIND_VALUED.contains(&b));
        if EXEC.contains(&first.text()) {
            behind.push(Behind::Command(executed(tail)));
        } else if first.is_dynamic()
            && !(is_value && is_one_word(first))
            && may_execute(first, tail)
        {
            behind.push(Behind::Unknown);
        }
        before = Some(first);
        rest = tail;
    }
    behind
}

/// The words up to `;`, or to a `+` right after `{}`.
fn executed(words: &[Word]) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let mut after_braces = false;
    for word in words {
        if word.text() == ";" || (word.text() == "+" && after_braces) {
            break;
        }
        after_braces = word.text() == "{}";
        found.push(match word {
            Word::Literal(text) if text.contains("{}") => Word::Dynamic(text.clone()),
            other => other.clone(),
        });
    }
    found
}

/// Whether a run-time word of `find` may be `-exec`: then the next word is a program, and a later one ends it.
fn may_execute(word: &Word, after: &[Word]) -> bool {
    if is_expansion(word) && !is_one_word(word) {
        return true;
    }
    let could_be = is_expansion(word) || EXEC.iter().any(|exec| could_find(word, exec));
    let [program, rest @ ..] = after else { return false };
    let no_program =
        program.literal().is_some_and(|p| p.starts_with('-') || matches!(p, "!" | "(" | ")"));
    could_be && !no_program && rest.iter().any(|w| w.is_dynamic() || matches!(w.text(), ";" | "+"))
}

/// A variable or a substitution, rather than only a file pattern.
pub(crate) fn is_expansion(word: &Word) -> bool {
    word.is_dynamic() && (word.text().contains(['$', '`', '{']) || word.text().contains("<("))
}

fn could_find(word: &Word, name: &str) -> bool {
    Pattern::new(word.text()).map_or(true, |pattern| pattern.matches(name))
}

/// `fd -x rm`; an option in another shape than these counts as unknown.
pub(crate) fn fd(args: &[Word]) -> Vec<Behind> {
    let mut behind = Vec::new();
    let mut rest = args;
    while let [first, tail @ ..] = rest {
        let text = first.text();
        let runs = text.starts_with("--exec")
            || (text.starts_with('-') && !text.starts_with("--") && text.contains(['x', 'X']));
        if FD_EXEC.contains(&text) {
            behind.push(Behind::Command(executed(tail)));
        } else if runs || (is_expansion(first) && !tail.is_empty()) {
            behind.push(Behind::Unknown);
        }
        rest = tail;
    }
    behind
}

/// The words with spaces between them are a script.
pub(crate) fn joined<'w>(words: impl Iterator<Item = &'w Word>) -> Behind {
    let words: Option<Vec<&str>> = words.map(Word::literal).collect();
    words.map_or(Behind::Unknown, |words| Behind::Script(words.join(" ")))
}

/// Options whose value is a program to run, or a text that holds one. Short ones by how the word starts.
pub(super) const RUN_BY_OPTION: &[(&str, &[&str])] = &[
    ("cpio", &["--rsh-command"]),
    ("dpkg-architecture", &["-c", "--command"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("install", &["--strip-program"]),
    ("just", &["--chooser", "--shell"]),
    ("nc", &["-e", "-c"]),
    ("ncat", &["-e", "-c", "--exec", "--sh-exec", "--lua-exec"]),
    ("man", &["-P", "-H", "--pager", "--html"]),
    ("nix", &["-c", "--command"]),
    ("nix-shell", &["--run", "--command"]),
    ("prove", &["-e", "--exec"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("scp", &["-S", "-o", "-F"]),
    ("sftp", &["-S", "-o", "-F", "-D"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    ("ssh", &["-o", "-F"]),
    (
        "tar",
        &[
            "-F",
            "-I",
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
        ],
    ),
    ("zip", &["-TT", "--unzip-command"]),
];

/// Whether one of the program's options names a program.
pub(crate) fn runs_by_option(program: &str, args: &[Word]) -> bool {
    match program {
        "wget" => return wget(args),
        "go" => return go(args),
        _ if is_compiler(program) => return args.iter().any(|a| a.text() == "-wrapper"),
        _ => {}
    }
    let Some((_, options)) = RUN_BY_OPTION.iter().find(|(name, _)| *name == program) else {
        return false;
    };
    // `tar xIf` needs no dash.
    let bundled = program == "tar"
        && args
            .first()
            .is_some_and(|a| !a.text().starts_with('-') && a.text().contains(['I', 'F']));
    let args = match program {
        "ssh" | "scp" | "sftp" => without_plain_settings(args),
        _ => args.iter().collect(),
    };
    bundled
        || args.into_iter().map(Word::text).any(|arg| {
            options.iter().any(|option| match option.strip_prefix("--") {
                Some(full) => may_be_long(arg, full),
                // `tar -cIf`: the letter may stand in a cluster.
                None => match option.strip_prefix('-') {
                    Some(letter) if arg.starts_with('-') && !arg.starts_with("--") => {
                        arg.contains(letter)
                    }
                    _ => false,
                },
            })
        })
}

/// `wget -e use_askpass=rm`; in its settings neither case nor `-` and `_` count.
fn wget(args: &[Word]) -> bool {
    let names = |arg: &Word| {
        let plain = arg.text().to_ascii_lowercase().replace(['-', '_', ' '], "");
        plain.contains("useask")
    };
    let sets = |arg: &Word| {
        let text = arg.text();
        may_be_long(text, "execute")
            || (text.starts_with('-') && !text.starts_with("--") && text.ends_with('e'))
    };
    let unknown =
        |pair: &[Word]| matches!(pair, [option, value] if sets(option) && value.is_dynamic());
    args.iter().any(|arg| names(arg) || (sets(arg) && arg.is_dynamic()))
        || args.windows(2).any(unknown)
}

/// `go test -exec rm`
fn go(args: &[Word]) -> bool {
    args.iter().map(Word::text).filter_map(|arg| arg.strip_prefix('-')).any(|arg| {
        let name = arg.trim_start_matches('-').split('=').next().unwrap_or_default();
        matches!(name, "exec" | "toolexec" | "vettool")
    })
}

/// `gcc-12`, `x86_64-linux-gnu-g++`
fn is_compiler(program: &str) -> bool {
    ["gcc", "g++", "gfortran"].iter().any(|name| program.contains(name))
        || matches!(program, "cc" | "c++" | "cpp" | "gdc" | "gnat" | "gccgo")
}

/// `cmake -E env rm x`
pub(crate) fn cmake(args: &[Word]) -> Vec<Behind> {
    let Some(at) = args.iter().position(|arg| arg.text() == "-E") else { return Vec::new() };
    let rest = args.get(at.saturating_add(1)..).unwrap_or_default();
    let Some((verb, rest)) = rest.split_first() else { return Vec::new() };
    let command = |words: &[Word]| vec![Behind::Command(words.to_vec())];
    match verb {
        Word::Dynamic(_) => vec![Behind::Unknown],
        Word::Literal(verb) => match verb.as_str() {
            "env" => {
                let own = |arg: &&Word| arg.text().starts_with("--") || arg.text().contains('=');
                command(rest.get(rest.iter().take_while(own).count()..).unwrap_or_default())
            }
            "time" => command(rest),
            "chdir" => command(rest.get(1..).unwrap_or_default()),
            _ => Vec::new(),
        },
    }
}

/// GNU's programs, and what is called otherwise where the system has its own: `gfind`.
pub(crate) fn usual_name(program: &str) -> &str {
    const PREFIXED: &[&str] = &[
        "chroot", "env", "find", "install", "make", "nice", "nohup", "sort", "split", "stdbuf",
        "tar", "time", "timeout", "xargs",
    ];
    match program {
        "bsdtar" | "star" => "tar",
        _ => program.strip_prefix('g').filter(|name| PREFIXED.contains(name)).unwrap_or(program),
    }
}

/// Settings of ssh that neither run nor load anything: `-o BatchMode=yes`.
const PLAIN_SETTINGS: &[&str] = &[
    "addressfamily",
    "batchmode",
    "checkhostip",
    "compression",
    "connectionattempts",
    "connecttimeout",
    "controlmaster",
    "controlpersist",
    "forwardagent",
    "hostkeyalias",
    "identitiesonly",
    "loglevel",
    "numberofpasswordprompts",
    "passwordauthentication",
    "port",
    "preferredauthentications",
    "pubkeyauthentication",
    "requesttty",
    "serveralivecountmax",
    "serveraliveinterval",
    "stricthostkeychecking",
    "tcpkeepalive",
    "user",
    "userknownhostsfile",
];

fn without_plain_settings(args: &[Word]) -> Vec<&Word> {
    let is_plain = |setting: &str| {
        let key = setting.split(['=', ' ', '\t']).next().unwrap_or_default();
        PLAIN_SETTINGS.contains(&key.to_ascii_lowercase().as_str())
    };
    let mut kept = Vec::new();
    let mut rest = args;
    while let [first, tail @ ..] = rest {
        rest = match (first, tail) {
            (Word::Literal(option), [Word::Literal(value), tail @ ..])
                if option == "-o" && is_plain(value) =>
            {
                tail
            }
            (Word::Literal(option), tail) if option.strip_prefix("-o").is_some_and(is_plain) => {
                tail
            }
            (other, tail) => {
                kept.push(other);
                tail
            }
        };
    }
    kept
}
