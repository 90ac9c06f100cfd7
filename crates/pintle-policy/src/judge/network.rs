//! Which commands talk to other machines.

use crate::shell::Word;

/// Programs that do nothing else, or hardly anything.
const ALWAYS: &[&str] = &[
    "ansible",
    "ansible-galaxy",
    "ansible-playbook",
    "aria2c",
    "aws",
    "axel",
    "az",
    "bq",
    "bunx",
    "cloudflared",
    "cpan",
    "cpanm",
    "crane",
    "curl",
    "cvs",
    "dig",
    "doctl",
    "drill",
    "eksctl",
    "firebase",
    "fly",
    "flyctl",
    "ftp",
    "gcloud",
    "gh",
    "glab",
    "grpcurl",
    "gsutil",
    "hcloud",
    "heroku",
    "host",
    "http",
    "http-server",
    "https",
    "hub",
    "ldapsearch",
    "lftp",
    "lynx",
    "mail",
    "mailx",
    "mosh",
    "msmtp",
    "mtr",
    "mutt",
    "nc",
    "ncat",
    "ncftp",
    "netcat",
    "netlify",
    "ngrok",
    "nmap",
    "npx",
    "nslookup",
    "oras",
    "ping",
    "pipx",
    "pulumi",
    "railway",
    "rclone",
    "rcp",
    "rlogin",
    "rsh",
    "rsync",
    "rustup",
    "s3cmd",
    "scp",
    "sendmail",
    "sftp",
    "skopeo",
    "smbclient",
    "socat",
    "ssh",
    "ssh-copy-id",
    "ssh-keyscan",
    "sshfs",
    "surge",
    "swaks",
    "telnet",
    "terraform",
    "tftp",
    "tofu",
    "tracepath",
    "traceroute",
    "twine",
    "uvx",
    "vercel",
    "w3m",
    "websocat",
    "wget",
    "whois",
    "wrangler",
    "wscat",
    "xh",
    "youtube-dl",
    "yt-dlp",
];

/// Modules that `python -m` runs to serve or to fetch.
const MODULES: &[&str] =
    &["SimpleHTTPServer", "ftplib", "http.server", "pip", "smtplib", "telnetlib", "twine"];

pub(super) fn uses_network(program: &str, args: &[Word]) -> bool {
    let texts = || args.iter().map(Word::text);
    let operands: Vec<&str> = texts().filter(|text| !text.starts_with('-')).collect();
    let asks = |verbs: &[&str]| operands.iter().take(4).any(|operand| verbs.contains(operand));
    let first = operands.first().copied().unwrap_or_default();
    let has = |starts: &[&str]| texts().any(|text| starts.iter().any(|it| text.starts_with(it)));
    match program {
        _ if ALWAYS.contains(&program) => true,
        "git" => {
            let remote = operands.iter().skip_while(|operand| **operand != "remote").nth(1);
            asks(&[
                "push",
                "fetch",
                "pull",
                "clone",
                "ls-remote",
                "submodule",
                "send-email",
                "lfs",
                "remote-https",
                "svn",
                "p4",
                "daemon",
                "imap-send",
            ]) || remote.is_some_and(|it| matches!(*it, "update" | "show" | "prune" | "set-head"))
                || has(&["--remote="])
        }
        "svn" => !matches!(
            first,
            "" | "add"
                | "cleanup"
                | "diff"
                | "help"
                | "resolve"
                | "revert"
                | "st"
                | "stat"
                | "status"
        ),
        "bzr" | "darcs" | "fossil" | "hg" | "jj" | "sl" => {
            asks(&[
                "branch-from",
                "clone",
                "get",
                "git",
                "identify",
                "in",
                "incoming",
                "out",
                "outgoing",
                "pull",
                "push",
                "sync",
                "unbundle",
            ]) && !asks(&["commit"])
        }
        "npm" | "pnpm" | "yarn" | "bun" => {
            let runs = matches!(first, "run" | "run-script" | "start" | "t" | "test");
            (program == "yarn" && operands.is_empty())
                || asks(&[
                    "install", "i", "ci", "add", "update", "upgrade", "publish", "exec", "dlx",
                    "create", "audit", "login",
                ])
                || (!runs
                    && asks(&[
                        "access",
                        "adduser",
                        "deprecate",
                        "dist-tag",
                        "info",
                        "init",
                        "logout",
                        "outdated",
                        "owner",
                        "ping",
                        "search",
                        "show",
                        "token",
                        "unpublish",
                        "v",
                        "view",
                        "whoami",
                        "x",
                    ]))
        }
        "pip" | "pip3" | "uv" | "poetry" | "conda" | "mamba" | "gem" | "bundle" | "composer" => {
            asks(&[
                "install", "add", "sync", "download", "update", "upgrade", "publish", "search",
                "push", "create", "index", "lock", "wheel",
            ])
        }
        "python" | "python2" | "python3" => {
            let is_module = |text: &str| MODULES.contains(&text.strip_prefix("-m").unwrap_or(text));
            texts().any(is_module)
        }
        "php" => texts().any(|text| text.starts_with("-S")),
        "busybox" => asks(&["ftpget", "ftpput", "httpd", "nc", "telnet", "tftp", "wget"]),
        "cargo" => asks(&[
            "install", "add", "update", "fetch", "publish", "search", "login", "yank", "owner",
            "audit", "binstall", "info", "logout", "vendor",
        ]),
        "go" => asks(&["get", "install", "mod"]),
        "mvn" | "gradle" | "gradlew" => asks(&["deploy", "publish", "dependency:get"]),
        "dotnet" | "nuget" | "pod" | "swift" | "luarocks" | "opam" | "cabal" | "asdf" | "mise"
        | "nvm" | "pyenv" | "rbenv" | "sdk" | "volta" => asks(&[
            "install", "add", "push", "repo", "restore", "update", "upgrade", "resolve", "upload",
        ]),
        "mix" => asks(&["deps.get", "deps.update", "hex.publish", "local.hex"]),
        "helm" => !matches!(
            first,
            "" | "completion"
                | "create"
                | "env"
                | "help"
                | "lint"
                | "package"
                | "show"
                | "template"
                | "version"
        ),
        "cdk" | "sam" | "serverless" | "sls" | "amplify" => asks(&[
            "bootstrap",
            "deploy",
            "destroy",
            "invoke",
            "logs",
            "publish",
            "push",
            "remove",
            "sync",
        ]),
        "openssl" => matches!(first, "s_client" | "s_server" | "s_time" | "ocsp"),
        "gpg" | "gpg2" => {
            has(&["--recv", "--send-k", "--keyserver", "--search-k", "--refresh-k", "--locate"])
        }
        // Without a host they talk to this machine.
        "psql" | "pg_dump" | "pg_restore" | "pg_isready" | "createdb" | "dropdb" | "mysql"
        | "mysqldump" | "mysqladmin" | "mariadb" | "mongo" | "mongosh" | "mongodump"
        | "redis-cli" | "clickhouse-client" | "sqlcmd" => {
            has(&["-h", "--host", "-S"]) && !has(&["--help"])
                || texts().any(|text| text.contains("host=") || text.contains("://"))
        }
        _ => false,
    }
}
