//! What git runs when a hook calls it counts, wherever it comes from, and nothing else of a repository does (R10.9).

use crate::support::{fingerprint, hook, profile, write};
use pintle_policy::Profile;
use pintle_policy::trust::TrustLock;
use std::path::Path;

const RUNS: &str = "[core]\n\tfsmonitor = lib/m\n";
const PLAIN: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n";
const DRIVER: &str = "[core]\n\tbare = false\n[filter \"x\"]\n\tclean = sh %f\n";

/// What changed, when the hook is this script and these files come to be, or to say something else.
fn changed(says: &str, files: &[(&str, &str)], later: &[(&str, &str)]) -> Vec<String> {
    let mut all = vec![("hooks/c.sh", says), ("src/sub/a.txt", "a\n"), ("vendor/a/x", "x\n")];
    all.extend(files);
    let folder = profile(&hook(r#""argv": ["./hooks/c.sh"]"#), &all);
    let mut lock = TrustLock::default();
    lock.trust("p", fingerprint(folder.path()));
    for (file, text) in later {
        write(folder.path(), file, text);
    }
    let changes = lock.changes("p", &fingerprint(folder.path()));
    changes.into_iter().map(|change| change.what).collect()
}

#[test]
fn a_repository_that_comes_to_be_counts_by_what_git_runs_there() {
    for (says, repository) in [
        ("git status", ".git/"),
        ("cd src/sub; git status", ".git/"),
        ("cd src/sub; git status", "src/sub/.git/"),
        ("cd src/sub; git status", "src/.git/"),
        ("git -C \"$(dirname src/sub/a.txt)\" status", "src/sub/.git/"),
        ("git -C \"$(jq -r .dir)\" status", "src/sub/.git/"),
        ("d=$(jq -r .dir); cd \"$d\" && git status", "src/sub/.git/"),
        ("check() { cd \"$1\"; git status; }; check src/sub", "src/sub/.git/"),
        ("for r in vendor/*; do (cd \"$r\" && git status); done", "vendor/a/.git/"),
        ("for r in vendor/*; do git -C \"$r\" status; done", "vendor/a/.git/"),
        ("D=src; cd \"$D/sub\"; git status", "src/sub/.git/"),
        ("git --git-dir=src/g status", "src/g/"),
        ("GIT_DIR=src/g git status", "src/g/"),
        ("export GIT_DIR=src/g; git status", "src/g/"),
        ("GIT_DIR=$(cat etc/d) git status", "src/sub/.git/"),
        ("git status", ""),
        ("if [ x; then cd \"$d\"; git status; fi )", "src/sub/.git/"),
        ("cd src; git status", "src/"),
        ("python3 -I -c 'import subprocess as s; s.run([\"git\", \"status\"])'", ".git/"),
        (
            "python3 -I -c 'import subprocess as s; s.run([\"git\", \"status\"], cwd=d)'",
            "src/.git/",
        ),
        ("node -e 'require(\"child_process\").execSync(\"git status\")'", ".git/"),
        ("python3 -I - <<'E'\nimport os; os.system(\"git status\")\nE", ".git/"),
    ] {
        let file = |name: &str| format!("{repository}{name}");
        let (config, head, object) = (file("config"), file("HEAD"), file("objects/a"));
        let rest = [(head.as_str(), "ref: refs/heads/main\n"), (object.as_str(), "")];
        let runs = [rest.as_slice(), &[(config.as_str(), RUNS)]].concat();
        assert!(changed(says, &[], &runs).contains(&config), "{says}: {repository}");
        let with_hook = file("hooks/post-index-change");
        let runs = [rest.as_slice(), &[(with_hook.as_str(), "#!/bin/sh\n")]].concat();
        assert!(changed(says, &[], &runs).contains(&with_hook), "{says}: {repository}");
        // `git init` and a commit.
        let sample = file("hooks/pre-commit.sample");
        let exclude = file("info/exclude");
        let made = [
            (config.as_str(), PLAIN),
            (sample.as_str(), "#!/bin/sh\n"),
            (exclude.as_str(), "# x\n"),
        ];
        let made = [rest.as_slice(), made.as_slice()].concat();
        // In the profile's own folder `hooks` is where the scripts are.
        let found = if repository.is_empty() { Vec::new() } else { changed(says, &[], &made) };
        assert_eq!(found, Vec::<String>::new(), "{says}: {repository}");
    }
}

/// What the script says, what is there, and what comes to be.
type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, &'a str);

#[test]
fn what_is_reached_by_another_file_of_git_counts() {
    let git =
        |config: &'static str| [(".git/HEAD", "ref: refs/heads/main\n"), (".git/config", config)];
    let included = "[include]\n\tpath = ../conf/g\n";
    let rows: &[Row] = &[
        ("git status", &git(included), "conf/g", RUNS),
        ("git status", &git(PLAIN), ".git/config.worktree", RUNS),
        ("git status", &git(PLAIN), ".git/commondir", "../src\n"),
        ("git status", &git(PLAIN), ".git/modules/sub/config", RUNS),
        ("git status", &git(PLAIN), ".git/modules/a/b/config", RUNS),
        ("git status", &[("src/g/HEAD", "x"), (".git", "gitdir: src/g\n")], "src/g/config", RUNS),
        ("git status", &git(DRIVER), ".gitattributes", "* filter=x\n"),
        ("git status", &git(DRIVER), "src/.gitattributes", "* filter=x\n"),
        ("git status", &git(DRIVER), ".git/info/attributes", "* filter=x\n"),
        ("git status", &git("[core]\n\tattributesFile = etc/a\n"), "etc/a", "* diff=x\n"),
        ("git status", &git("[core]\n\thooksPath = .husky\n"), ".husky/pre-push", "x\n"),
        ("git status", &git(RUNS), "lib/m", "x\n"),
        ("git status", &[(".git/hooks/post-index-change", "sh lib/m\n")], "lib/m", "x\n"),
        ("git status", &git("[core]\n\tfsmonitor = lib/m # x\\\n[user]\n"), "lib/m", "x\n"),
    ];
    for (says, files, file, text) in rows {
        let found = changed(says, files, &[(file, text)]);
        assert!(found.contains(&(*file).to_owned()), "{file}: {found:?}");
    }
}

#[test]
fn settings_by_which_git_runs_something_count_and_others_do_not() {
    let set = |more: &str| {
        let config = format!("{PLAIN}{more}");
        let found = changed("git status", &[(".git/config", PLAIN)], &[(".git/config", &config)]);
        let known = format!("{RUNS}{more}");
        let both = changed("git status", &[(".git/config", RUNS)], &[(".git/config", &known)]);
        assert_eq!(found.is_empty(), both.is_empty(), "{more}");
        !found.is_empty()
    };
    for counts in [
        "\tfsmonitor = x\n",
        "\thooksPath = x\n",
        "[core] sshCommand = x\n",
        "[CORE]\n\tPAGER = x\n",
        "[user] [core] editor = x\n",
        "[diff]\n\texternal = x\n",
        "[diff \"a\"]\n\ttextconv = x\n",
        "[merge \"a\"]\n\tdriver = x\n",
        "[alias]\n\tst = !x\n",
        "[includeIf \"gitdir:x\"]\n\tpath = x\n",
        "[credential]\n\thelper = x\n",
        "[gpg \"ssh\"]\n\tprogram = x\n",
        "[remote \"o\"]\n\turl = ext::sh -c x\n",
        "[remote \"o\"]\n\tuploadpack = x\n",
        "[submodule \"a\"]\n\tupdate = !x\n",
        "[branch \"a\"]\n\tmergeOptions = -s x\n",
        "[nobody]\n\tknows = x\n",
        "[user]\n\tname = a \\\n[user]\n\tfsmonitor = x\n",
        "[user \"a]\n\tname = x\n",
        "what is this\n",
    ] {
        assert!(set(counts), "{counts}");
    }
    for free in [
        "[user]\n\tname = bob\n\temail = b@x.org\n",
        "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
        "[branch \"a]b\"]\n\tremote = origin ; x\n",
        "[remote \"origin\"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        "[remote \"o\"]\n\turl = https://example.org/a.git\n\tpushurl = ../b.git\n",
        "# fsmonitor = x\n\n; [core]\n",
        "[pull]\n\trebase\n[push] autoSetupRemote = true\n[color \"diff\"]\n\tmeta = blue\n",
        "[submodule \"a\"]\n\tactive = true\n\turl = https://example.org/a.git\n",
    ] {
        assert!(!set(free), "{free}");
    }
}

#[test]
fn who_works_in_a_repository_stays_trusted() {
    let files = [
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", PLAIN),
        (".git/hooks/pre-commit.sample", "#!/bin/sh\n"),
        (".git/info/exclude", ""),
    ];
    let pushed = format!("{PLAIN}[remote \"o\"]\n\turl = ../o.git\n[branch \"f\"]\n\tremote = o\n");
    let later = [
        (".git/config", pushed.as_str()),
        (".git/HEAD", "ref: refs/heads/f\n"),
        (".git/refs/heads/f", "x"),
        (".git/COMMIT_EDITMSG", "x"),
        (".git/info/exclude", "x\n"),
        (".git/hooks/pre-push.sample", "x\n"),
        (".gitattributes", "*.sh text eol=lf\n"),
        (".gitignore", "x\n"),
        ("src/sub/a.txt", "b\n"),
        ("src/new.py", "x\n"),
        ("vendor/b/.git/HEAD", "x"),
        ("vendor/b/.git/config", PLAIN),
    ];
    for says in [
        "git status --porcelain",
        "cd \"$(git rev-parse --show-toplevel)\" && git diff --stat",
        "ROOT=$(cd \"$(dirname \"$0\")/..\" && pwd); cd \"$ROOT\"; git log -1",
        "cd \"$PINTLE_PROFILE_DIR\"; git diff --quiet -- src/sub || true",
        "for r in vendor/*; do git -C \"$r\" status; done",
    ] {
        assert_eq!(changed(says, &files, &later), Vec::<String>::new(), "{says}");
    }
}

#[test]
fn before_git_is_given_something_to_run_the_agent_has_to_ask() {
    let asks = |says: &str, file: &str| {
        let files = [("hooks/c.sh", says), ("src/a", ""), (".git/config", DRIVER)];
        let folder = profile(&hook(r#""argv": ["./hooks/c.sh"]"#), &files);
        let scripts = Profile::load(folder.path()).unwrap().scripts;
        scripts.holds(file) || scripts.awaited.why(Path::new(file)).is_some()
    };
    for file in
        [".git/config.worktree", ".git/hooks/pre-commit", "src/.gitattributes", ".git/config"]
    {
        assert!(asks("git status", file), "{file}");
    }
    assert!(asks("cd src; git status", "src/.git/config"));
    assert!(asks("cd \"$(cat x)\"; git status", "src/deep/.git/config"));
    for file in ["src/.gitignore", ".git/index", ".git/COMMIT_EDITMSG", "src/b"] {
        assert!(!asks("git status", file), "{file}");
    }
}
