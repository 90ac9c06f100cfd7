//! Which commands act on the machine without naming a place on it: they change what is installed or set for the person or for all,
//! deal in credentials, look into other processes, or steer the desktop, the system and its containers.

mod always;

use crate::shell::{self, SimpleCommand, Values, Word};
use always::ALWAYS;

/// What a command does to the machine, in words that go on after its name.
const INSTALLS: &str = "changes what is installed outside the workspace";
const SETS: &str = "changes settings outside the workspace";
const SECRETS: &str = "deals in credentials";
const LOOKS: &str = "looks into other processes";
const DESKTOP: &str = "reaches the desktop";
const SYSTEM: &str = "acts on the machine";

/// Why the command is one for the machine.
pub(super) fn deed(command: &SimpleCommand, values: &Values) -> Option<&'static str> {
    let program = command.program()?;
    if ends_own_jobs(command, values) {
        return None;
    }
    let always = ALWAYS.iter().find(|(_, programs)| programs.contains(&program));
    if let Some((deed, _)) = always {
        return Some(deed);
    }
    let words = Words::of(command);
    words.installs(program).then_some(INSTALLS).or_else(|| {
        let others = [
            (words.sets(program), SETS),
            (words.deals_in_secrets(program), SECRETS),
            (words.looks(program), LOOKS),
            (words.acts(program), SYSTEM),
        ];
        others.into_iter().find(|(does, _)| *does).map(|(_, deed)| deed)
    })
}

/// The words of a command, as far as they say what it does.
struct Words<'c> {
    args: Vec<&'c str>,
    operands: Vec<&'c str>,
    assignments: Vec<&'c str>,
}

impl<'c> Words<'c> {
    fn of(command: &'c SimpleCommand) -> Self {
        let args: Vec<&str> = command.args.iter().map(Word::text).collect();
        let operands = args.iter().copied().filter(|arg| !arg.starts_with(['-', '+'])).collect();
        let assignments = command.assignments.iter().map(Word::text).collect();
        Self { args, operands, assignments }
    }

    /// Whether one of these is what the program is told to do: among its first words, as options may come before.
    fn says(&self, verbs: &[&str]) -> bool {
        self.operands.iter().take(4).any(|operand| verbs.contains(operand))
    }

    fn is_first(&self, verbs: &[&str]) -> bool {
        self.operands.first().is_some_and(|operand| verbs.contains(operand))
    }

    fn has(&self, options: &[&str]) -> bool {
        self.args.iter().any(|arg| options.contains(arg))
    }

    fn long(&self, option: &str) -> bool {
        self.args.iter().any(|arg| arg.len() > 3 && shell::may_be_long(arg, option))
    }

    fn short(&self, letter: char) -> bool {
        let is = |arg: &&str| {
            arg.starts_with('-') && !arg.starts_with("--") && arg.len() < 6 && arg.contains(letter)
        };
        self.args.iter().any(is)
    }

    fn is_global(&self) -> bool {
        self.short('g') || self.long("global") || self.long("location")
    }

    /// Only asks, whatever the program.
    fn asks(&self) -> bool {
        self.operands.is_empty() && self.has(&["--version", "-V", "--help", "-h", "-v"])
    }

    fn installs(&self, program: &str) -> bool {
        let goes_here = |names: &[&str]| {
            let set = self.args.iter().chain(&self.assignments);
            set.into_iter().any(|arg| names.iter().any(|name| arg.starts_with(name)))
        };
        let installs = || self.says(&["install", "uninstall", "remove", "update", "upgrade"]);
        match program {
            _ if self.asks() => false,
            "npm" | "pnpm" | "bun" => {
                let lists = self.is_first(&["ls", "list", "root", "outdated", "view", "bin"]);
                let runs = ["run", "run-script", "start", "stop", "test", "t", "exec", "x"];
                self.is_global() && !lists && !self.is_first(&runs)
                    || self.is_first(&["link", "ln"])
                    || (program == "pnpm" && self.is_first(&["env", "setup"]))
                    || (program == "bun" && self.is_first(&["upgrade"]))
            }
            "yarn" => self.is_first(&["global", "link"]),
            "corepack" => true,
            "cargo" => {
                let verbs = ["install", "uninstall", "binstall", "install-update"];
                self.is_first(&verbs)
                    && !self.has(&["--list", "--root"])
                    && !goes_here(&["--root="])
            }
            "rustup" => {
                let lists = self.says(&["list", "show", "which", "help", "completions", "run"]);
                !lists
            }
            "pip" | "pip3" => {
                self.long("user") || self.long("break-system-packages") || self.long("system")
            }
            "python" | "python3" => {
                let installs = self.has(&["pip", "-mpip", "setup.py"]);
                installs && (self.long("user") || self.long("break-system-packages"))
            }
            "uv" => {
                let here = self.is_first(&["tool", "python", "self", "cache"]);
                here && !self.says(&["list", "find", "dir", "run", "version"])
                    || (self.is_first(&["pip"]) && self.long("system"))
            }
            "pipx" => !self.is_first(&["list", "run", "environment", "runpip"]),
            "gem" => !self.is_first(&[
                "build",
                "contents",
                "dependency",
                "environment",
                "help",
                "info",
                "list",
                "search",
                "specification",
                "which",
            ]),
            "go" => {
                self.is_first(&["install"]) && !goes_here(&["GOBIN="])
                    || (self.is_first(&["clean"]) && self.args.len() > 1 && self.short('c'))
                    || self.has(&["-modcache"])
            }
            "composer" => self.is_first(&["global", "self-update"]),
            "dotnet" => self.is_first(&["tool", "workload"]) && (installs() || self.is_global()),
            "deno" => self.is_first(&["install", "uninstall", "upgrade"]) && self.args.len() > 1,
            "asdf" | "fnm" | "mise" | "n" | "nvm" | "nodenv" | "pyenv" | "rbenv" | "rtx"
            | "sdk" | "volta" | "jenv" | "goenv" => {
                installs() || self.says(&["default", "global", "plugin", "alias", "pin"])
            }
            "conda" | "mamba" | "micromamba" => {
                let is_here = self.has(&["-p", "--prefix"]) || goes_here(&["--prefix="]);
                (installs() || self.says(&["create", "clean", "init", "env"])) && !is_here
            }
            "cabal" | "luarocks" | "opam" | "stack" | "krew" | "raco" | "nimble" | "ghcup" => {
                installs() || self.says(&["switch", "init"])
            }
            "nix" => self.is_first(&["profile", "upgrade-nix"]),
            "helm" => self.is_first(&["plugin", "repo"]) && !self.says(&["list"]),
            "gh" => self.is_first(&["extension", "alias"]) && !self.says(&["list"]),
            "code" | "codium" | "cursor" => self.long("install-extension"),
            "gcloud" => self.is_first(&["components"]),
            "make" | "gmake" | "ninja" | "meson" | "samu" => {
                let targets =
                    ["install", "install-data", "install-exec", "install-strip", "uninstall"];
                let is_target = |it: &&str| targets.contains(it);
                let is_here = goes_here(&["DESTDIR=", "PREFIX=", "prefix=", "--destdir"]);
                self.operands.iter().any(is_target) && !is_here
            }
            "cmake" => {
                let is_target = self.has(&["--install"]) || self.says(&["install"]);
                is_target && !self.has(&["--prefix"]) && !goes_here(&["DESTDIR=", "--prefix="])
            }
            _ => false,
        }
    }

    fn sets(&self, program: &str) -> bool {
        let writes = || self.says(&["set", "unset", "delete", "edit", "fix", "use"]);
        let reads = || self.says(&["get", "list"]) || self.has(&["-l", "--get", "--list"]);
        let configures = || self.is_first(&["config", "c"]);
        match program {
            "git" => {
                let is_wide = self.long("global") || self.long("system");
                (self.says(&["config"]) && is_wide && !reads())
                    || (self.says(&["lfs"])
                        && self.says(&["install", "uninstall"])
                        && !self.long("local"))
                    || (self.says(&["maintenance"]) && !self.says(&["run"]))
            }
            "npm" | "pnpm" | "yarn" => {
                let sets = configures() || (program != "yarn" && self.is_first(&["set"]));
                sets && !reads() && self.operands.len() > 1
            }
            "pip" | "pip3" | "gcloud" | "gh" | "glab" | "composer" | "kubectl" | "flutter" => {
                configures() && writes()
            }
            "poetry" => configures() && self.operands.len() > 2 && !self.long("local"),
            "bundle" => configures() && self.long("global"),
            "go" => self.is_first(&["env"]) && self.has(&["-w", "-u"]),
            "date" => self.has(&["-s"]) || self.long("set"),
            "hostname" => !self.operands.is_empty(),
            _ => false,
        }
    }

    fn deals_in_secrets(&self, program: &str) -> bool {
        const OF_CLOUDS: &[&str] = &[
            "auth",
            "configure",
            "credential",
            "login",
            "logout",
            "password",
            "secret",
            "sso",
            "sts",
            "token",
        ];
        let speaks = || {
            let is_one = |part: &str| OF_CLOUDS.iter().any(|word| part.starts_with(word));
            self.operands.iter().take(2).any(|operand| operand.split(['-', ':']).any(is_one))
        };
        match program {
            _ if self.asks() => false,
            "aws" => {
                speaks()
                    || self.long("with-decryption")
                    || self.says(&["create-access-key", "update-kubeconfig"])
            }
            "az" | "gcloud" | "gh" | "glab" | "heroku" | "fly" | "flyctl" | "vercel"
            | "netlify" | "doctl" | "hcloud" | "firebase" | "wrangler" | "railway" | "pulumi"
            | "eksctl" | "terraform" | "tofu" | "helm" | "twine" | "crane" | "oras" | "skopeo"
            | "ngrok" | "cloudflared" | "supabase" | "stripe" => {
                speaks()
                    || self.says(&["keyvault"])
                    || (program == "heroku"
                        && self.operands.iter().any(|it| it.starts_with("config")))
            }
            "npm" | "pnpm" | "yarn" | "bun" | "cargo" | "poetry" | "gem" => {
                self.is_first(&["adduser", "login", "logout", "signin", "token"])
            }
            "git" => self.operands.iter().take(2).any(|it| it.starts_with("credential")),
            "kubectl" => {
                let is_secret = |it: &&str| {
                    it.split([',', '/', '.']).any(|it| matches!(it, "secret" | "secrets"))
                };
                self.operands.iter().any(is_secret)
            }
            "gpg" | "gpg2" => !self.has(&[
                "--dearmor",
                "--enarmor",
                "--list-packets",
                "--print-md",
                "--show-keys",
                "--verify",
            ]),
            // What it logs in with stands in the home folder.
            "curl" => self.short('n') || self.long("netrc"),
            "getent" => self.is_first(&["shadow", "gshadow"]),
            // Without a name they go to the home folder.
            "ssh-keygen" => !self.has(&["-f", "-l", "-Y"]),
            _ => false,
        }
    }

    fn looks(&self, program: &str) -> bool {
        let is_number = |arg: &&str| !arg.is_empty() && arg.bytes().all(|b| b.is_ascii_digit());
        match program {
            "gdb" | "lldb" | "ltrace" | "strace" | "perf" | "rr" => {
                self.short('p')
                    || self.long("pid")
                    || self.long("attach")
                    || self.says(&["attach"])
                    || (program == "perf" && (self.short('a') || self.says(&["top"])))
                    || (matches!(program, "gdb" | "lldb")
                        && self.operands.iter().skip(1).any(is_number))
            }
            // Letters without a dash: `e` shows the variables of each process.
            "ps" => {
                let is_letters = |arg: &str| arg.bytes().all(|b| b.is_ascii_alphabetic());
                let mut before = "";
                self.args.iter().any(|arg| {
                    let is_value = before.starts_with('-')
                        && before.ends_with(['o', 'O', 'C', 'u', 'U', 'g', 'G', 't']);
                    before = arg;
                    !is_value && is_letters(arg) && arg.contains('e')
                        || (arg.starts_with('-') && !arg.starts_with("--") && arg.contains('E'))
                })
            }
            _ => false,
        }
    }

    fn acts(&self, program: &str) -> bool {
        match program {
            "fuser" => self.short('k') || self.long("kill"),
            "direnv" => !self.is_first(&["status", "version"]),
            "locate" | "mlocate" | "plocate" | "updatedb" => true,
            _ => rules_containers(program) && !self.only_asks(program),
        }
    }

    /// `docker compose ps`, `kubectl -n web get pods`: questions to a server that change nothing.
    fn only_asks(&self, program: &str) -> bool {
        const DOCKER: &[&str] = &[
            "diff", "history", "images", "info", "inspect", "logs", "port", "ps", "top", "version",
        ];
        const COMPOSE: &[&str] =
            &["config", "images", "logs", "ls", "port", "ps", "top", "version"];
        const KUBECTL: &[&str] = &[
            "api-resources",
            "cluster-info",
            "describe",
            "explain",
            "get",
            "logs",
            "top",
            "version",
        ];
        // Another server, or a setting of the client, which may name a program.
        let is_strange = |text: &&str| {
            let long = ["config", "kubeconfig", "host", "server", "tls", "output=", "-raw", "raw"];
            let is_long =
                |name: &&str| text.strip_prefix("--").is_some_and(|it| it.starts_with(*name));
            text.starts_with("-H") || long.iter().any(is_long)
        };
        let asks = match (program, self.args.as_slice()) {
            ("docker" | "podman", ["compose", verb, ..]) => COMPOSE.contains(verb),
            ("docker" | "podman", ["container" | "image" | "network" | "volume", verb, ..]) => {
                matches!(*verb, "inspect" | "ls")
            }
            ("docker" | "podman", [verb, ..]) => DOCKER.contains(verb),
            ("kubectl", ["-n" | "--namespace", _, verb, ..] | [verb, ..]) => KUBECTL.contains(verb),
            _ => false,
        };
        asks && !self.args.iter().any(is_strange)
    }
}

pub(super) fn rules_containers(program: &str) -> bool {
    matches!(program, "docker" | "podman" | "kubectl" | "docker-compose")
}

/// `kill %1`, `kill $!`, `kill $PID`: what this very command has started, or nothing if it has not.
fn ends_own_jobs(command: &SimpleCommand, values: &Values) -> bool {
    let is_job = |word: &Word| word.text().trim_matches('"') == "$!";
    let is_own = |word: &Word| {
        let text = word.text().trim_matches('"');
        let name = text.strip_prefix('$').filter(|name| shell::is_variable_name(name));
        let set = name.map(|name| values.of(name));
        text.starts_with(['-', '%'])
            || is_job(word)
            || set.is_some_and(|set| set.is_some_and(|set| set.into_iter().all(is_job)))
    };
    let signals = |word: &&Word| word.text().starts_with('-');
    command.program() == Some("kill")
        && command.args.iter().all(is_own)
        && !command.args.iter().skip_while(signals).any(|word| word.text().starts_with('-'))
        && command.args.iter().filter(signals).count() < command.args.len()
}
