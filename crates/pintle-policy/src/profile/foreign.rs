//! Servers that are fetched by their name: `npx -y @scope/server .`. Their arguments are data of a program that is not the
//! profile's.

use crate::contents::is_of_the_system;
use std::path::Path;

/// Options that surely have no value.
const FLAGS: [&str; 14] = [
    "-y",
    "--yes",
    "-q",
    "--quiet",
    "--silent",
    "--no-install",
    "--prefer-offline",
    "--prefer-online",
    "--offline",
    "--isolated",
    "--refresh",
    "--no-cache",
    "--bun",
    "--",
];
/// Options with one, which names a package, a version or where to get it from.
const VALUED: [&str; 10] = [
    "-p",
    "--package",
    "--from",
    "--with",
    "--python",
    "--index",
    "--index-url",
    "--default-index",
    "--registry",
    "--spec",
];
/// Packages that run what the profile has: then it could be any file.
const RUN_FILES: [&str; 34] = [
    "@modelcontextprotocol/inspector",
    "babel-node",
    "bun",
    "concurrently",
    "cross-env",
    "deno",
    "dotenv",
    "dotenv-cli",
    "env-cmd",
    "eslint",
    "esno",
    "gulp",
    "jest",
    "jiti",
    "lerna",
    "mcp-proxy",
    "mcpo",
    "mocha",
    "node",
    "nodemon",
    "npm",
    "nx",
    "pm2",
    "pytest",
    "python",
    "supergateway",
    "swc-node",
    "ts-node",
    "ts-node-dev",
    "tsx",
    "turbo",
    "vite",
    "vite-node",
    "vitest",
];

/// What Node's installers read in the folder they are started in, beside `node_modules`.
pub(super) const READ_BY_NODE: [&str; 7] = [
    ".npmrc",
    ".pnpmfile.cjs",
    ".yarnrc",
    ".yarnrc.yml",
    "bunfig.toml",
    "package.json",
    "pnpm-workspace.yaml",
];

/// A program that is fetched by its name.
pub(super) struct Foreign {
    /// Whether Node's installers fetch it, who look among the profile's own modules first.
    pub(super) of_node: bool,
    /// What it is given.
    pub(super) args: Vec<String>,
}

impl Foreign {
    /// None when it is not known to be such a program, or may be one of the profile's own.
    pub(super) fn of(folder: &Path, program: &str, args: &[String]) -> Option<Self> {
        let name = program.rsplit('/').next().unwrap_or(program);
        if program.contains('/') && !is_of_the_system(Path::new(program)) {
            return None;
        }
        let texts: Vec<&str> = args.iter().map(String::as_str).collect();
        let (of_node, rest) = match (name, texts.as_slice()) {
            // What is in the container is not the profile's, and what it is given there is data.
            ("docker" | "podman", ["run", ..]) => {
                return Some(Self { of_node: false, args: Vec::new() });
            }
            ("npx" | "bunx", rest)
            | ("pnpm" | "yarn", ["dlx", rest @ ..])
            | ("npm", ["exec" | "x", rest @ ..])
            | ("bun", ["x", rest @ ..]) => (true, rest),
            ("uvx", rest) | ("uv", ["tool", "run", rest @ ..]) | ("pipx", ["run", rest @ ..]) => {
                (false, rest)
            }
            _ => return None,
        };
        let args = behind_the_package(folder, rest)?;
        Some(Self { of_node, args: args.iter().map(|arg| (*arg).to_owned()).collect() })
    }
}

fn behind_the_package<'a>(folder: &Path, mut rest: &'a [&'a str]) -> Option<&'a [&'a str]> {
    let is_package = |word: &str| {
        let version = word.rfind('@').filter(|at| *at > 0);
        let name = version.and_then(|at| word.get(..at)).unwrap_or(word);
        !word.starts_with(['.', '/', '~', '-'])
            && !word.contains("file:")
            && !word.contains("link:")
            && !RUN_FILES.contains(&name)
            && !folder.join(word).exists()
    };
    while let [first, tail @ ..] = rest {
        rest = match (first.split_once('='), tail) {
            _ if FLAGS.contains(first) => tail,
            (Some((option, value)), tail) if VALUED.contains(&option) && is_package(value) => tail,
            (None, [value, tail @ ..]) if VALUED.contains(first) && is_package(value) => tail,
            // Behind `--` may stand another command.
            _ => return (is_package(first) && !tail.contains(&"--")).then_some(tail),
        };
    }
    None
}
