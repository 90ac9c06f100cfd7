//! What a script loads without saying its name counts all the same (R10.9).

use crate::support::{fingerprint, hook, profile};
use pintle_policy::Profile;
use pintle_policy::profile::Bounds;
use pintle_policy::trust::TrustLock;

/// Whether a change of `changed` shows, when the hook is this script.
pub(crate) fn shows(script: &str, says: &str, files: &[&str], changed: &str) -> bool {
    let agent = hook(&format!(r#""argv": ["./{script}"]"#));
    let mut all: Vec<(&str, &str)> = files.iter().map(|file| (*file, "as it was\n")).collect();
    all.push((script, says));
    let folder = profile(&agent, &all);
    let mut lock = TrustLock::default();
    lock.trust("p", fingerprint(folder.path()));
    crate::support::write(folder.path(), changed, "changed\n");
    let changes = lock.changes("p", &fingerprint(folder.path()));
    changes.iter().any(|change| change.what == changed)
}

#[test]
fn a_folder_that_a_script_goes_to_counts() {
    for says in [
        "cd lib && . ./x",
        "d=$(dirname \"$PWD/lib/f\"); cd \"$d\"; . ./x",
        "(cd lib; ./x)",
        "pushd lib; ./x",
        "env -C lib ./x",
        "bash -c \"cd lib; . ./x\"",
        "cd \"$(dirname \"$0\")/../lib\" && for f in *; do . ./$f; done",
        "LIB=$(cd \"$(dirname \"$0\")/../lib\" && pwd); source \"$LIB/x\"",
        "HERE=$(cd \"$(dirname \"$0\")\" && pwd)\n. \"$HERE/../lib/x\"",
        "cd lib; make",
        "cd \"$PINTLE_PROFILE_DIR\"/lib\n./x",
        "make -C lib check",
    ] {
        assert!(shows("hooks/c.sh", says, &["lib/x"], "lib/x"), "{says}");
    }
}

#[test]
fn a_folder_of_which_a_script_loads_whatever_is_there_counts() {
    for says in [
        "for f in lib/*; do . \"$f\"; done",
        "for f in lib/[a-z]*; do . \"$f\"; done",
        "for f in lib/*; do bash \"$f\"; done",
        "LIB=\"$PINTLE_PROFILE_DIR/lib\"; for r in \"$LIB\"/*; do . \"$r\"; done",
        "for f in $(ls lib); do . \"lib/$f\"; done",
        "find lib -type f | while read -r f; do sh \"$f\"; done",
        "find \"$PINTLE_PROFILE_DIR/lib\" -type f -exec bash {} \\;",
        "find . -name x -exec sh {} \\;",
        "run-parts \"$PINTLE_PROFILE_DIR/lib\"",
        ". */x",
        ". l?b/x",
        "for d in */; do . $d/x; done",
        "PATH=$PWD/lib:$PATH; mytool; ./run",
        "export PATH=\"$PINTLE_PROFILE_DIR/lib:$PATH\"; exec sh x",
        "D=lib; N=x; . \"$D/$N\"",
        ". li\"\"b/x",
        ". \"$1/$2\"; . \"$somewhere\"",
        "perl -Ilib -MFoo -e 1",
        "jq -e -L lib 'include \"x\"; ok'",
        "cat lib/* | sh",
    ] {
        assert!(shows("hooks/c.sh", says, &["lib/x"], "lib/x"), "{says}");
        assert!(
            shows("hooks/c.sh", says, &["lib/x"], "lib/y") || says.ends_with("/x"),
            "new: {says}"
        );
    }
}

#[test]
fn a_folder_with_blanks_in_its_name_counts_too() {
    for says in [
        "cd 'my lib' && . ./x",
        "cd my\\ lib; ./x",
        "LIB=\"$PINTLE_PROFILE_DIR/my lib\"; . \"$LIB/x\"",
    ] {
        assert!(shows("hooks/c.sh", says, &["my lib/x"], "my lib/x"), "{says}");
    }
    let python = "import os\nos.chdir('my lib')\n";
    assert!(shows("hooks/c.py", python, &["my lib/x"], "my lib/x"));
}

#[test]
fn what_a_script_keeps_does_not_make_it_untrusted() {
    for (script, says) in [
        ("hooks/c.sh", "LOG=log; . \"$(dirname \"$0\")/c.sh\"; date >> \"$LOG/a.log\""),
        (
            "hooks/c.py",
            "import os\nos.makedirs('log', exist_ok=True)\nopen('log/a.log', 'a').write('x')",
        ),
        ("hooks/c.js", "const d = path.join(root, 'log'); fs.appendFileSync(d + '/a.log', 'x')"),
    ] {
        assert!(!shows(script, says, &["log/b.log"], "log/a.log"), "{says}");
    }
}

// A log, a state, a counter: a script that keeps one would make itself untrusted.
#[test]
fn a_file_that_a_script_writes_to_by_a_variable_is_its_own_and_the_agent_has_to_ask() {
    let rows = [
        ("hooks/c.sh", "LOG=\"$PINTLE_PROFILE_DIR/logs/a.log\"\ncat >> \"$LOG\""),
        (
            "hooks/c.sh",
            "R=$(cd \"$(dirname \"$0\")/..\" && pwd); LOG=$R/logs/a.log; date >> \"$LOG\"",
        ),
        ("hooks/c.sh", "readonly LOG=logs/a.log; date | tee -a \"$LOG\""),
        ("hooks/c.sh", "LOG=logs/a.log\nlog() { echo \"$*\" >> \"$LOG\"; }\nlog x; sh -c :"),
        ("hooks/c.sh", "exec 9>\"$PINTLE_PROFILE_DIR/logs/a.log\"; flock 9"),
        ("hooks/c.sh", "C=logs/a.log; n=$(cat \"$C\"); echo $((n + 1)) > \"$C\""),
        ("hooks/c.sh", "cat > logs/a.log; jq -e . logs/a.log"),
        ("hooks/c.sh", "date > t; mv t logs/a.log; cat logs/a.log"),
        ("hooks/c.py", "LOG = \"logs/a.log\"\nopen(LOG, \"a\").write('x')"),
        ("hooks/c.py", "import logging\nlogging.basicConfig(filename='logs/a.log')"),
        ("hooks/c.py", "import json\nS = 'logs/a.log'\njson.dump({}, open(S, 'w'))"),
        ("hooks/c.js", "fs.writeFileSync('logs/a.log', x)"),
        ("hooks/c.js", "const LOG = 'logs/a.log'; fs.createWriteStream(LOG, {flags: 'a'})"),
    ];
    for (script, says) in rows {
        assert!(!shows(script, says, &["logs/a.log"], "logs/a.log"), "{says}");
        assert!(!shows(script, says, &[], "logs/a.log"), "new: {says}");
        let agent = hook(&format!(r#""argv": ["./{script}"]"#));
        let folder = profile(&agent, &[(script, says), ("logs/a.log", "")]);
        let kept = Profile::load(folder.path()).unwrap().scripts.kept;
        assert!(kept.contains("logs/a.log"), "{says}: {kept:?}");
    }
    for (script, says) in [
        ("hooks/c.sh", "L=lib/a; date > \"$L\"; . \"$L\""),
        ("hooks/c.sh", "echo x > lib/a; sh lib/a"),
        ("hooks/c.py", "S = 'state/a.log'\nopen(S, 'w'); exec(open('lib/a').read())"),
    ] {
        assert!(shows(script, says, &["lib/a"], "lib/a"), "{says}");
    }
}

#[test]
fn a_script_that_lists_some_folder_and_runs_what_it_finds_counts_with_all() {
    let python = "import os\nROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\n";
    for (script, says) in [
        ("hooks/c.py", format!("{python}for f in os.listdir(ROOT):\n  exec(open(f).read())")),
        ("hooks/c.py", "import os\nfor f in os.listdir(): exec(open(f).read())".into()),
        ("hooks/c.py", "from pathlib import Path\nfor f in Path.cwd().iterdir(): exec(f.read_text())".into()),
        ("hooks/c.py", "import os\nfor d, _, fs in os.walk(os.getcwd()): os.system('sh ' + d)".into()),
        ("hooks/c.py", "import subprocess as s\nfor f in s.check_output(['find', '.']).split(): s.run(['sh', f])".into()),
        ("hooks/c.py", "import subprocess as s\nfor f in s.check_output(['git', 'ls-files']).split(): exec(open(f).read())".into()),
        ("hooks/c.js", "for (const f of fs.readdirSync(process.cwd())) require('./' + f), require(f)".into()),
        ("hooks/c.py", "import os\nD = 'cache'\nfor f in os.listdir(D): os.system('sh ' + D + '/' + f)".into()),
    ] {
        let changed = if says.contains("cache") { "cache/x" } else { "x" };
        assert!(shows(script, &says, &[changed], changed), "{says}");
    }
    let counts =
        "import os, subprocess\nsubprocess.run(['git', 'status'])\nn = sum(1 for _ in os.walk(d))";
    assert!(!shows("hooks/c.py", counts, &["src/a.txt"], "src/a.txt"));
}

#[test]
fn a_script_that_nobody_can_parse_counts_with_every_folder_it_speaks_of() {
    let says = "if [ x; then cd lib; . ./x; fi )";
    assert!(shows("hooks/c.sh", says, &["lib/x"], "lib/x"));
}

#[test]
fn modules_that_python_finds_by_itself_count() {
    for says in [
        "python3 -c 'import json,sys; print(json.load(sys.stdin))'",
        "x=$(python3 -c 'import json') || exit 1",
        "python3 - <<E\nimport json\nE",
        "python3 <<'E'\nimport json\nE",
        "cat | python3 -m json.tool",
        "python3 -u -c 'import json'",
    ] {
        assert!(shows("hooks/c.sh", says, &[], "json.py"), "{says}");
        assert!(shows("hooks/c.sh", says, &[], "json/__init__.py"), "{says}");
        assert!(!shows("hooks/c.sh", says, &["src/json.py"], "src/json.py"), "{says}");
        assert!(!shows("hooks/c.sh", says, &["notes.txt"], "notes.txt"), "{says}");
    }
    for says in
        ["python3 -I -c 'import json'", "python3 -P -c 'import json'", "python3 -Ic 'import json'"]
    {
        assert!(!shows("hooks/c.sh", says, &[], "json.py"), "{says}");
    }
    assert!(shows("hooks/c.sh", "python3 -m judges.main", &["judges/main.py"], "judges/main.py"));
    assert!(shows("hooks/c.sh", "python3 -m unittest", &["test_x.py"], "test_x.py"));
    assert!(shows("hooks/c.sh", "python3 -m unittest", &["tests/test_x.py"], "tests/test_x.py"));
    for says in ["pytest -q", "cargo test --quiet", "timeout 60 npx jest || jest"] {
        assert!(shows("hooks/c.sh", says, &["tests/test_x"], "tests/test_x"), "{says}");
    }
    assert!(!shows("hooks/c.sh", "cargo fmt --check", &["tests/test_x"], "tests/test_x"));
    assert!(shows("hooks/c.sh", "node -e 'require(\"./rules\")'", &["rules.js"], "rules.js"));
    assert!(shows(
        "hooks/c.sh",
        "python3 \"$PINTLE_PROFILE_DIR/judge.py\"",
        &["judge.py"],
        "json.py"
    ));
}

#[test]
fn before_a_module_comes_to_be_somebody_can_tell_that_it_counts() {
    let agent = hook(r#""argv": ["hooks/c.sh"]"#);
    let folder = profile(&agent, &[("hooks/c.sh", "python3 -c 'import json'")]);
    let scripts = Profile::load(folder.path()).unwrap().scripts;
    assert_eq!(scripts.python_here.as_deref(), Some("hooks/c.sh"));
    for counts in ["json.py", "json/__init__.py", "re.so", "hooks/x"] {
        assert!(scripts.holds(counts), "{counts}");
    }
    for free in ["src/json.py", "json.txt", "json/decoder.py", "a/b/__init__.py"] {
        assert!(!scripts.holds(free), "{free}");
    }
}

#[test]
fn what_git_runs_counts_wherever_a_script_calls_it() {
    for (says, config) in [
        ("! git status --porcelain | grep -q '^UU'", ".git/config"),
        ("git diff --quiet || exit 1", ".git/config"),
        ("git -C lib status", "lib/.git/config"),
        ("cd lib && git status", "lib/.git/config"),
    ] {
        assert!(shows("hooks/c.sh", says, &[config], config), "{says}");
    }
    let python = "import subprocess\nsubprocess.run([\"git\", \"status\"])\n";
    assert!(shows("hooks/c.py", python, &[".git/config"], ".git/config"));
    let line = profile(
        &hook(r#""command": "cd lib && git status""#),
        &[("lib/.git/config", "[core]\n\tpager = x\n"), ("lib/a", "")],
    );
    assert!(fingerprint(line.path()).scripts.contains_key("lib/.git/config"));
}

#[test]
fn a_folder_that_a_script_of_another_language_has_as_a_text_counts() {
    for (script, says) in [
        ("hooks/c.py", "import os\nfor f in os.listdir(\"lib\"): exec(open(\"lib/\" + f).read())"),
        ("hooks/c.py", "import glob\nfor f in glob.glob('*/x'): exec(open(f).read())"),
        (
            "hooks/c.py",
            "import os\nfor d, _, fs in os.walk(\".\"): exec(open(d + '/' + fs[0]).read())",
        ),
        ("hooks/c.py", "from pathlib import Path\nfor f in Path().rglob('x'): exec(f.read_text())"),
        (
            "hooks/c.py",
            "from pathlib import Path\nfor f in Path('.').iterdir(): exec(f.read_text())",
        ),
        ("hooks/c.py", "import subprocess\nsubprocess.run(\"./x\", cwd=\"lib\")"),
        ("hooks/c.py", "import os\nos.chdir('lib'); exec(open('x').read())"),
        (
            "hooks/c.py",
            "import os\nLIB = os.environ['PINTLE_PROFILE_DIR'] + '/lib'\nexec(open(LIB + '/x').read())",
        ),
        ("hooks/c.js", "const name = 'x'; require('../lib' + '/' + name); require(file)"),
        ("hooks/c.js", "require('child_process').execSync(\"cd lib && ./x\")"),
        ("hooks/c.js", "const p = require('path'); require(p.join(__dirname, '../lib', name))"),
        ("hooks/c.pl", "use lib \"lib\"; use Foo::Bar;"),
        ("hooks/c.pl", "use FindBin; use lib \"$FindBin::Bin/../lib\"; require Foo;"),
        ("hooks/c.rb", "Dir.glob(File.join(__dir__, '../lib', '*')).each { |f| load f }"),
    ] {
        assert!(shows(script, says, &["lib/x"], "lib/x"), "{says}");
    }
    assert!(shows("hooks/c.js", "require(\"..\")", &["index.js"], "index.js"));
}

#[test]
fn a_folder_that_a_script_only_speaks_of_is_the_agents_to_work_in() {
    for (script, says) in [
        ("hooks/c.sh", "case \"$(cat)\" in *src/*) echo 'src is off limits' >&2; exit 1;; esac"),
        ("hooks/c.sh", "[ -d src ] && grep -rq TODO src && exit 1"),
        ("hooks/c.sh", "p=$(jq -r .toolInput.path)\n[[ $p == src/* ]] && exit 1; exit 0"),
        ("hooks/c.sh", "n=$(git log --oneline | wc -l); [ $((n + 1)) -gt 3 ] || echo x"),
        (
            "hooks/c.sh",
            "eval \"$(jq -r '@sh \"path=\\(.toolInput.path)\"')\"; test \"$path\" != src/a",
        ),
        ("hooks/c.sh", "check() { echo \"$1\"; }; check src; ls src | wc -l"),
        ("hooks/c.sh", "curl -s \"$URL\" -d @- > /dev/null; mkdir -p src/log; touch src/log/x"),
        (
            "hooks/c.sh",
            "LOG=\"$PINTLE_PROFILE_DIR/src\"; mkdir -p \"$LOG\"; sh -c :; date >> \"$LOG/a.log\"",
        ),
        ("hooks/c.sh", "find src -newer stamp | head -1 | grep -q . && exit 1"),
        ("hooks/c.sh", "run() { \"$@\" || exit 1; }; run grep -q x src/a.txt.bak"),
        (
            "hooks/c.py",
            "import sys, json\nif json.load(sys.stdin)['path'].startswith(\"src/\"): sys.exit(1)",
        ),
        ("hooks/c.py", "import sys\nif sys.argv[1] == 'src': sys.exit('do not touch src here')"),
        (
            "hooks/c.py",
            "import json, re, sys\nALLOWED = [\"src\", \"tests\"]\nGUARDED = [\".env\", \".git/\"]\nd = json.load(sys.stdin)\n",
        ),
        (
            "hooks/c.js",
            "const fs = require('fs'); const allowed = ['src', 'tests']; JSON.parse(fs.readFileSync(0))",
        ),
        ("hooks/c.js", "if (path.startsWith('src/') || path.includes('src')) process.exit(1)"),
    ] {
        assert!(!shows(script, says, &["src/main.rs"], "src/main.rs"), "{says}");
        assert!(!shows(script, says, &[], "notes.txt"), "{says}");
    }
}

// What the operator gives a hook may name files of the profile.
#[test]
fn what_a_variable_of_the_operators_names_counts() {
    let folder = profile(
        &hook(r#""argv": ["python3", "hooks/c.py"]"#),
        &[("hooks/c.py", "import x"), ("lib/x.py", ""), ("src/main.py", "")],
    );
    for (name, value, counts) in
        [("PYTHONPATH", "lib", true), ("BASH_ENV", "lib/x.py", true), ("TEAM", "payments", false)]
    {
        let given = [(name.to_owned(), value.to_owned())].into();
        let bounds = Bounds { hook_env: Some(&given), ..Bounds::default() };
        let files = Profile::load_within(folder.path(), bounds).unwrap().scripts.files;
        assert_eq!(files.contains("lib/x.py"), counts, "{name}");
    }
}

#[test]
fn a_script_that_loads_its_neighbours_leaves_the_project_to_the_agent() {
    for says in [
        ". \"$(dirname \"$0\")/lib.sh\"",
        "HERE=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\n. \"$HERE/lib.sh\"",
        "cd \"$(dirname \"$0\")\"; . ./lib.sh",
        "D=$(dirname \"$0\"); . \"$D\"/lib.sh",
        ". \"$(dirname \"${BASH_SOURCE[0]}\")/nobody-has-it.sh\" 2>/dev/null || true",
        ". \"${0%/*}/lib.sh\"",
        "source \"$(dirname \"${BASH_SOURCE[0]}\")/lib.sh\"",
        "DIR=\"$( cd \"$( dirname \"${BASH_SOURCE[0]}\" )\" >/dev/null 2>&1 && pwd )\"; bash \"$DIR/lib.sh\" \"$@\"",
        "python3 -I \"$(dirname \"$0\")/judge.py\"",
        "exec node \"$PINTLE_PROFILE_DIR/hooks/judge.js\"",
        "for f in \"$(dirname \"$0\")\"/*.sh; do . \"$f\"; done",
    ] {
        let files = ["hooks/lib.sh", "hooks/judge.py", "hooks/judge.js", "src/main.rs", "a.txt"];
        assert!(!shows("hooks/c.sh", says, &files, "src/main.rs"), "{says}");
        assert!(!shows("hooks/c.sh", says, &files, "a.txt"), "{says}");
        assert!(shows("hooks/c.sh", says, &files, "hooks/lib.sh"), "{says}");
    }
}
