//! What git runs besides itself: by its settings, its verbs and the addresses it is given.

use super::Word;
use super::options::{is_one_word, may_be_long};
use super::runners::{Behind, is_expansion, joined};

/// Settings of git whose value it runs, or through which it finds more settings.
const GIT_RUNS: &[&str] = &[
    "alias.",
    "askpass",
    "browser",
    "clean",
    "cmd",
    "command",
    "difffilter",
    "driver",
    "editor",
    "external",
    "filter.",
    "fsmonitor",
    "helper",
    "hook",
    "include",
    "insteadof",
    "pager",
    "program",
    "protocol",
    "proxy",
    "receivepack",
    "smudge",
    "templatedir",
    "textconv",
    "uploadpack",
    ".vcs",
];

fn steers_git(setting: &str) -> bool {
    let lower = setting.to_ascii_lowercase();
    let (key, value) = lower.split_once('=').unwrap_or((&lower, "?"));
    let shows = key.ends_with("pager") && matches!(value, "" | "cat" | "less");
    // `submodule.x.update=!rm x`
    let updates = key.starts_with("submodule.")
        && key.ends_with(".update")
        && !matches!(value, "checkout" | "merge" | "none" | "rebase");
    (GIT_RUNS.iter().any(|part| key.contains(part)) && !shows) || updates
}

/// What git would run besides itself.
pub(crate) fn git(args: &[Word]) -> Vec<Behind> {
    if args.iter().any(names_a_command) {
        return vec![Behind::Unknown];
    }
    let mut rest = args;
    while let [first, tail @ ..] = rest {
        let Word::Literal(text) = first else { return vec![Behind::Unknown] };
        rest = match (text.as_str(), tail) {
            ("-c", [value, tail @ ..]) => {
                if !is_one_word(value) || value.is_dynamic() || steers_git(value.text()) {
                    return vec![Behind::Unknown];
                }
                tail
            }
            ("-C" | "--git-dir" | "--work-tree" | "--namespace", [value, tail @ ..])
                if is_one_word(value) =>
            {
                tail
            }
            (option, tail) if option.starts_with('-') => {
                if option.starts_with("--exec-path=")
                    || option.starts_with("--config-env")
                    || matches!(option, "-c" | "-C")
                {
                    return vec![Behind::Unknown];
                }
                tail
            }
            (verb, tail) => return git_verb(verb, tail),
        };
    }
    Vec::new()
}

/// `ext::rm x` is the address of a program.
fn names_a_command(word: &Word) -> bool {
    let is_address = |text: &str| text.trim_start().starts_with("ext::");
    let is_named = |text: &String| text.split('=').any(is_address);
    word.readings().iter().any(is_named)
}

/// Whether one of the letters stands in a cluster of short options, before one that takes the rest as its value.
fn has_letter(arg: &str, wanted: &str, valued: &str) -> bool {
    let cluster = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
    let mut until_value = true;
    cluster
        .chars()
        .take_while(|c| std::mem::replace(&mut until_value, !valued.contains(*c)))
        .any(|c| wanted.contains(c))
}

pub(crate) fn git_verb(verb: &str, args: &[Word]) -> Vec<Behind> {
    let texts = || args.iter().map(Word::text);
    let dynamic = args.iter().any(Word::is_dynamic);
    let any = |options: &[&str]| texts().any(|a| options.iter().any(|o| may_be_long(a, o)));
    let any_letter =
        |wanted: &str, valued: &str| texts().any(|arg| has_letter(arg, wanted, valued));
    let unknown = |is: bool| if is { vec![Behind::Unknown] } else { Vec::new() };
    match verb {
        "bisect" => match args.iter().position(|a| a.text() == "run") {
            Some(at) => {
                vec![Behind::Command(args.iter().skip(at.saturating_add(1)).cloned().collect())]
            }
            None => unknown(dynamic),
        },
        "submodule" => match args.iter().position(|a| a.text() == "foreach") {
            Some(at) => {
                let words = args
                    .iter()
                    .skip(at.saturating_add(1))
                    .skip_while(|a| matches!(a.text(), "--recursive" | "-q" | "--quiet"));
                vec![joined(words)]
            }
            None => unknown(dynamic),
        },
        "rebase" => rebase(args),
        "config" => unknown(dynamic || texts().any(steers_git)),
        "filter-branch" | "difftool" | "mergetool" | "daemon" | "instaweb" | "for-each-repo"
        | "remote-ext" | "remote-fd" | "send-email" => {
            vec![Behind::Unknown]
        }
        "grep" => unknown(any(&["open-files-in-pager"]) || any_letter("O", "efABCm")),
        "clone" => {
            let settings = any(&["config", "template", "upload-pack"]);
            unknown(settings || any_letter("cu", "bcjou") || texts().any(|a| a.contains("ext::")))
        }
        "fetch" | "pull" | "push" | "ls-remote" | "archive" | "fetch-pack" | "send-pack"
        | "remote" => {
            let programs = any(&["upload-pack", "receive-pack", "exec"]);
            unknown(programs || texts().any(|a| a.contains("ext::")))
        }
        _ => Vec::new(),
    }
}

/// `git rebase -x 'make test'`: each such text goes to a shell.
fn rebase(args: &[Word]) -> Vec<Behind> {
    let mut behind = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        let text = arg.text();
        if is_expansion(arg) && !is_one_word(arg) {
            behind.push(Behind::Unknown);
        }
        let long = may_be_long(text, "exec");
        let short = text.strip_prefix('-').filter(|t| !t.starts_with('-') && t.contains('x'));
        let value = match (text.split_once('='), short.and_then(|t| t.split_once('x'))) {
            (Some((_, value)), _) if long => Some(Word::Literal(value.to_owned())),
            (_, Some((_, value))) if !value.is_empty() => Some(Word::Literal(value.to_owned())),
            _ if long || short.is_some() => args.get(at.saturating_add(1)).cloned(),
            _ => continue,
        };
        behind.push(joined(value.iter()));
    }
    behind
}
