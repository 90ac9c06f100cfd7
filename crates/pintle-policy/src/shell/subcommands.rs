//! Programs whose first word says what they do, and behind which of their words a command may stand.

use super::Word;

/// Programs whose first word that is no option says what they do.
const HAVE_SUBCOMMANDS: &[&str] = &[
    "apk",
    "apt",
    "apt-get",
    "aws",
    "az",
    "brew",
    "buildah",
    "bun",
    "bundle",
    "cargo",
    "cdk",
    "composer",
    "conda",
    "deno",
    "dnf",
    "docker",
    "docker-compose",
    "doctl",
    "dotnet",
    "firebase",
    "fly",
    "flyctl",
    "gcloud",
    "gem",
    "gh",
    "git",
    "glab",
    "go",
    "helm",
    "heroku",
    "hg",
    "jj",
    "kubectl",
    "minikube",
    "netlify",
    "nix",
    "npm",
    "oc",
    "pip",
    "pip3",
    "pipenv",
    "pixi",
    "pnpm",
    "podman",
    "poetry",
    "pulumi",
    "rustup",
    "snap",
    "supabase",
    "svn",
    "systemctl",
    "terraform",
    "tofu",
    "uv",
    "vault",
    "vercel",
    "wrangler",
    "yarn",
    "yum",
    "zypper",
];

/// What cargo does itself; another word is another program.
const OF_CARGO: &[&str] = &[
    "add",
    "b",
    "bench",
    "build",
    "c",
    "check",
    "clean",
    "clippy",
    "d",
    "doc",
    "fetch",
    "fix",
    "fmt",
    "generate-lockfile",
    "help",
    "info",
    "init",
    "install",
    "login",
    "logout",
    "metadata",
    "new",
    "nextest",
    "owner",
    "package",
    "pkgid",
    "publish",
    "remove",
    "rm",
    "rustc",
    "rustdoc",
    "search",
    "t",
    "test",
    "tree",
    "uninstall",
    "update",
    "vendor",
    "verify-project",
    "version",
    "yank",
];

/// Words of these behind which a command may stand: `docker exec db rm x`, `cargo run -- rm x`.
const RUN_WHAT_FOLLOWS: &[&str] = &[
    "--command",
    "--exec",
    "-c",
    "-x",
    "cmd",
    "console",
    "debug",
    "dlx",
    "do",
    "eval",
    "exec",
    "foreach",
    "invoke",
    "rsh",
    "run",
    "run-script",
    "send-command",
    "shell",
    "spawn",
    "ssh",
    "x",
];

/// Whether its first word that is no option says what the program does.
pub(crate) fn has_subcommands(program: &str) -> bool {
    HAVE_SUBCOMMANDS.contains(&program)
}

/// From which argument on the words of such a program may be a command.
pub(super) fn behind_a_verb(program: &str, args: &[Word]) -> Option<usize> {
    let is_verb = |text: &str| match program {
        "buildah" | "docker" | "podman" => text == "create",
        "gh" | "glab" => text == "alias",
        "cargo" => text == "r",
        _ => false,
    };
    let runs = |arg: &Word| RUN_WHAT_FOLLOWS.contains(&arg.text()) || is_verb(arg.text());
    let first = args.iter().position(|arg| !arg.text().starts_with(['-', '+']));
    let verb = first.and_then(|at| args.get(at)).filter(|_| program == "cargo");
    let is_other = verb.is_some_and(|verb| !OF_CARGO.contains(&verb.text()));
    let at = first.filter(|_| is_other).or_else(|| args.iter().position(runs));
    at.map(|at| at.saturating_add(1))
}
