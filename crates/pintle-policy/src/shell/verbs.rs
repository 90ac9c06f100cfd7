//! Programs that run another one after a word of their own: `uv run pytest`.

use super::Word;
use super::runners::{Behind, joined};

const VERBS: &[(&str, &[&str])] = &[
    ("asdf", &["exec"]),
    ("bun", &["run", "x"]),
    ("bundle", &["exec"]),
    ("conda", &["run"]),
    ("dotenvx", &["run"]),
    ("fnm", &["exec"]),
    ("goenv", &["exec"]),
    ("hatch", &["run"]),
    ("jenv", &["exec"]),
    ("lerna", &["exec"]),
    ("mamba", &["run"]),
    ("meson", &["devenv"]),
    ("micromamba", &["run"]),
    ("nodenv", &["exec"]),
    ("npm", &["exec", "explore", "x"]),
    ("nvm", &["exec"]),
    ("pdm", &["run"]),
    ("phpenv", &["exec"]),
    ("pipenv", &["run"]),
    ("pipx", &["run"]),
    ("pixi", &["run"]),
    ("plenv", &["exec"]),
    ("pnpm", &["exec", "dlx"]),
    ("poetry", &["run"]),
    ("pyenv", &["exec"]),
    ("rbenv", &["exec"]),
    ("rustup", &["run"]),
    ("rye", &["run"]),
    ("tox", &["exec"]),
    ("uv", &["run", "x"]),
    ("volta", &["run"]),
    ("yarn", &["exec", "dlx"]),
];

/// The same, with something else in front of the command, or a way of their own to name it.
const STRANGE_VERBS: &[(&str, &[&str])] = &[
    ("aws-vault", &["exec"]),
    ("devbox", &["run"]),
    ("direnv", &["exec"]),
    ("doppler", &["run"]),
    ("dotenv", &["run"]),
    ("foreman", &["run"]),
    ("ip", &["exec"]),
    ("mise", &["exec", "x"]),
    ("op", &["run"]),
    ("sops", &["exec-env", "exec-file"]),
];

/// Options of these that surely have no value.
const VERB_FLAGS: &[&str] = &[
    "--",
    "--yes",
    "-y",
    "--no",
    "--no-install",
    "--quiet",
    "-q",
    "--verbose",
    "-v",
    "--frozen",
    "--locked",
    "--offline",
];

/// What such a program would run; `None` if it is none of them.
pub(super) fn after_a_verb(program: &str, args: &[Word]) -> Option<Vec<Behind>> {
    match program {
        "npx" | "uvx" | "bunx" => return Some(vec![past_flags(args)]),
        "bear" => return Some(vec![past_dashes(args)]),
        "cargo" => return Some(cargo(args)),
        "just" => return Some(just(args)),
        "mix" => return Some(mix(args)),
        _ => {}
    }
    let strange = STRANGE_VERBS.iter().find(|(name, _)| *name == program);
    if let Some((_, verbs)) = strange {
        let runs = args.iter().any(|a| a.is_dynamic() || verbs.contains(&a.text()));
        return Some(if runs { vec![Behind::Unknown] } else { Vec::new() });
    }
    let (_, verbs) = VERBS.iter().find(|(name, _)| *name == program)?;
    let mut behind = Vec::new();
    if args.iter().find(|a| !a.text().starts_with('-')).is_some_and(Word::is_dynamic) {
        behind.push(Behind::Unknown);
    }
    let mut rest = args;
    while let [first, tail @ ..] = rest {
        if verbs.contains(&first.text()) {
            behind.push(behind_verb(program, first.text(), tail));
        }
        rest = tail;
    }
    Some(behind)
}

fn behind_verb(program: &str, verb: &str, args: &[Word]) -> Behind {
    let after_one = || match args.split_first() {
        Some((Word::Literal(first), rest)) if !first.starts_with('-') => past_flags(rest),
        _ => Behind::Unknown,
    };
    match (program, verb) {
        // Without a command it is a shell.
        ("npm", "explore") => match past_dashes(args) {
            Behind::Command(words) if args.iter().any(|arg| arg.text() == "--") => {
                Behind::Command(words)
            }
            _ => Behind::Unknown,
        },
        ("rustup", _) => after_one(),
        ("nvm", _) if args.first().is_some_and(is_version) => after_one(),
        ("dotenvx" | "lerna" | "tox", _) => past_dashes(args),
        _ => past_flags(args),
    }
}

/// `18`, `v20.1`, `lts/*`
fn is_version(word: &Word) -> bool {
    let text = word.text().trim_start_matches('v');
    text.starts_with(|c: char| c.is_ascii_digit())
        || text.starts_with("lts/")
        || matches!(text, "default" | "node" | "stable" | "system")
}

/// The command behind `--`, whatever options stand before it.
fn past_dashes(args: &[Word]) -> Behind {
    let dashes = args.iter().position(|arg| arg.text() == "--");
    let before = args.get(..dashes.unwrap_or_default()).unwrap_or_default();
    match dashes {
        Some(at) if !before.iter().any(Word::is_dynamic) => {
            Behind::Command(args.iter().skip(at.saturating_add(1)).cloned().collect())
        }
        _ => past_flags(args),
    }
}

fn past_flags(args: &[Word]) -> Behind {
    let mut rest = args;
    while let [Word::Literal(text), tail @ ..] = rest
        && text.starts_with('-')
    {
        if !VERB_FLAGS.contains(&text.as_str()) {
            return Behind::Unknown;
        }
        rest = tail;
    }
    Behind::Command(rest.to_vec())
}

/// `just --command rm x`
fn just(args: &[Word]) -> Vec<Behind> {
    let at = args.iter().position(|arg| matches!(arg.text(), "--command" | "-c"));
    let rest = at.map(|at| args.iter().skip(at.saturating_add(1)).cloned().collect());
    rest.map(Behind::Command).into_iter().collect()
}

/// `mix cmd rm x`: a shell gets it.
fn mix(args: &[Word]) -> Vec<Behind> {
    let at = args.iter().position(|arg| arg.text() == "cmd");
    at.map(|at| joined(args.iter().skip(at.saturating_add(1)))).into_iter().collect()
}

/// `cargo --config 'build.rustc-wrapper="rm"'`, `cargo watch -s 'rm x'`
fn cargo(args: &[Word]) -> Vec<Behind> {
    const RUN: &[&str] =
        &["alias", "browser", "credential", "linker", "runner", "rustc", "rustdoc", "wrapper"];
    let own = || args.iter().take_while(|arg| arg.text() != "--");
    let mut behind = Vec::new();
    for (at, arg) in own().enumerate() {
        let value = match arg.text().strip_prefix("--config") {
            Some("") => args.get(at.saturating_add(1)),
            Some(glued) if glued.starts_with('=') => Some(arg),
            _ => None,
        };
        let steers = |value: &Word| {
            let lower = value.text().to_ascii_lowercase();
            value.is_dynamic() || RUN.iter().any(|part| lower.contains(part))
        };
        if value.is_some_and(steers) {
            behind.push(Behind::Unknown);
        }
    }
    let mut words = own().filter(|arg| !arg.text().starts_with(['-', '+']));
    if words.next().is_some_and(|verb| verb.text() == "watch") {
        watch(args, &mut behind);
    }
    behind
}

fn watch(args: &[Word], behind: &mut Vec<Behind>) {
    for (at, arg) in args.iter().enumerate() {
        let next = args.get(at.saturating_add(1));
        match arg.text() {
            "--" => {
                let rest = args.iter().skip(at.saturating_add(1)).cloned();
                return behind.push(Behind::Command(rest.collect()));
            }
            "-s" | "--shell" => behind.push(joined(next.into_iter())),
            "-x" | "--exec" => {
                let cargo = Word::Literal("cargo".into());
                behind.push(joined([&cargo].into_iter().chain(next)));
            }
            text if arg.is_dynamic() && !text.contains('/') => behind.push(Behind::Unknown),
            text if text.starts_with("--shell=") || text.starts_with("--exec=") => {
                behind.push(Behind::Unknown);
            }
            text if text.starts_with("-s") || text.starts_with("-x") => {
                behind.push(Behind::Unknown);
            }
            _ => {}
        }
    }
}
