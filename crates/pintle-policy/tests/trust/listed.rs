//! What scripts in other languages only look at, and what they look up (R10.9).

use crate::calls::{FILES, scripts};
use std::path::Path;

// To look at files is not to run them.
#[test]
fn what_a_script_only_lists_and_reads_is_the_projects() {
    const FILES: [&str; 4] = ["src/app.py", "src/app.js", "src/deep/more.py", "src/main.rs"];
    for (script, says) in [
        (
            "hooks/c.py",
            "from pathlib import Path\nfor p in Path('src').rglob('*.py'):\n    if 'TODO' in p.read_text(): raise SystemExit(2)",
        ),
        (
            "hooks/c.py",
            "from pathlib import Path\nimport re\nP = re.compile('x')\nfor p in Path('.').glob('**/*.py'):\n    P.search(p.read_text())",
        ),
        (
            "hooks/c.py",
            "import glob\nfor f in glob.glob('src/**/*.py', recursive=True):\n    print(open(f).read())",
        ),
        (
            "hooks/c.py",
            "import os\nfor d, _, names in os.walk('src'):\n    for n in names: print(os.path.join(d, n))",
        ),
        (
            "hooks/c.py",
            "from pathlib import Path\nROOT = Path(__file__).parent.parent\nfor p in (ROOT / 'src').iterdir(): print(p)",
        ),
        (
            "hooks/c.py",
            "import subprocess\nout = subprocess.check_output(['git', 'ls-files', 'src'], text=True)\nfor f in out.split(): compile(open(f).read(), f, 'exec')",
        ),
        (
            "hooks/c.py",
            "import subprocess, glob\nfor f in glob.glob('*/*.py'): subprocess.run(['ruff', 'check', f])",
        ),
        (
            "hooks/c.py",
            "import subprocess\nsubprocess.run(['python3', '--version'])\nsubprocess.run(['python3', '-m', 'json.tool'], input=text)\nsubprocess.run(['bash', '-n'], input=text)\nsubprocess.run(['node', 'hooks/x.js'], input=text)",
        ),
        (
            "hooks/c.py",
            "import subprocess, sys, pathlib\nfor f in pathlib.Path('.').rglob('*.py'): subprocess.run([sys.executable, '-m', 'py_compile', f])",
        ),
        (
            "hooks/c.js",
            "const fs = require('fs'), path = require('path')\nconst walk = (d) => { for (const f of fs.readdirSync(d)) { const p = path.join(d, f); if (fs.statSync(p).isDirectory()) walk(p); else check(fs.readFileSync(p, 'utf8')) } }\nwalk('src')",
        ),
    ] {
        let found = scripts(script, says, &FILES);
        for file in FILES {
            assert!(!found.files.contains(file), "{says}: {found:?}");
        }
        for new in ["src/new.py", "src/new.js"] {
            assert_eq!(found.awaited.why(Path::new(new)), None, "{says}");
        }
    }
    for (script, says, file) in [
        (
            "hooks/c.py",
            "import runpy\nfrom pathlib import Path\nfor p in Path('src').rglob('*.py'): runpy.run_path(str(p))",
            "src/deep/more.py",
        ),
        (
            "hooks/c.py",
            "import subprocess, glob\nfor f in glob.glob('src/*.py'): subprocess.run(['python3', f])",
            "src/app.py",
        ),
        (
            "hooks/c.py",
            "import os, glob\nfor f in glob.glob('src/*.py'): os.system('sh ' + f)",
            "src/app.py",
        ),
        (
            "hooks/c.py",
            "import os\nfor f in os.listdir('src'): exec(open('src/' + f).read())",
            "src/app.py",
        ),
        (
            "hooks/c.py",
            "import os\nfor d, _, n in os.walk('src'):\n    for f in n: __import__(f)",
            "src/app.py",
        ),
        ("hooks/c.py", "import pkgutil\nlist(pkgutil.walk_packages(['src']))", "src/app.py"),
        (
            "hooks/c.py",
            "import glob\nfor f in glob.glob('src/*.py'): load(f)\ndef load(f): exec(open(f).read())",
            "src/app.py",
        ),
        ("hooks/c.py", "from src import app", "src/app.py"),
        ("hooks/c.js", "import {\n  x\n} from // it\n\n '../src/app'", "src/app.js"),
        ("hooks/c.mjs", "export * from '../s\\u0072c/app'", "src/app.js"),
        (
            "hooks/c.py",
            "import subprocess, glob\nfor f in glob.glob('src/*'): subprocess.run(['sh'], input=open(f).read())",
            "src/app.py",
        ),
        (
            "hooks/c.py",
            "import subprocess, glob\nsubprocess.run(['xargs', 'sh'], input=' '.join(glob.glob('src/*')))",
            "src/app.py",
        ),
        (
            "hooks/c.py",
            "import subprocess\np = subprocess.Popen(['bash', '-s'], stdin=subprocess.PIPE)\np.communicate(text)",
            "src/app.py",
        ),
        (
            "hooks/c.js",
            "const p = require('child_process').spawn('sh')\np.stdin.write(x)",
            "src/app.js",
        ),
        (
            "hooks/c.js",
            "const fs = require('fs')\nfor (const f of fs.readdirSync('src')) require('../src/' + f)",
            "src/app.js",
        ),
        (
            "hooks/c.js",
            "const fs = require('fs'), cp = require('child_process')\nfs.readdirSync('src').forEach((f) => cp.execFileSync('node', ['src/' + f]))",
            "src/app.js",
        ),
    ] {
        let found = scripts(script, says, &FILES);
        assert!(found.files.contains(file), "{says}: {found:?}");
    }
    let says = "import runpy\nfrom pathlib import Path\n\nfor p in Path('.').rglob('*.py'):\n    runpy.run_path(p)\n";
    let told = scripts("hooks/c.py", says, &FILES).unnamed.unwrap();
    assert!(told.starts_with("hooks/c.py:4: for p in"), "{told}");
}

#[test]
fn a_program_from_a_table_that_is_written_out_is_known() {
    let python = "import subprocess\n";
    for says in [
        "T = {'.py': ['ruff', 'check'], '.js': ['prettier']}\nsubprocess.run([*T[ext], path])",
        "T: dict[str, list[str]] = {\n    '.py': ['ruff', 'check'],\n}\ncmd = T.get(ext)\nif cmd:\n    subprocess.run(cmd + [path])",
        "T = {'.py': 'ruff', '.js': 'prettier'}\nif ext in T: subprocess.run([T[ext], path])",
        "T = {'.py': ['ruff', 'check']}\nfor ext, cmd in T.items():\n    subprocess.run(cmd + [path])",
    ] {
        let found = scripts("hooks/c.py", &format!("{python}{says}"), &FILES);
        assert!(!found.files.contains("src/main.rs"), "{says}: {:?}", found.unnamed);
    }
    let node = "const T = { py: ['ruff'], js: ['prettier', '--check'] }\nconst { execFileSync } = require('child_process')\nconst N = { py: 'ruff' }\nexecFileSync(N[ext], [file])";
    let found = scripts("hooks/c.js", node, &FILES);
    assert!(!found.files.contains("src/main.rs"), "{:?}", found.unnamed);
    for says in [
        "T = {'.py': ['ruff', 'check'], '.js': [name]}\nsubprocess.run([*T[ext], path])",
        "T = {'.py': ['ruff', 'check'], '.js': ['sh', 'x']}\nT[k] = v\nsubprocess.run([*T[ext], path])",
        "T = {'.py': ['ruff', 'check']}\nT.update(more)\nsubprocess.run([*T[ext], path])",
        "T = {'.py': ['ruff', 'check'], **more}\nsubprocess.run([*T[ext], path])",
        "T = {'.py': ['sh']}\nsubprocess.run([*T[ext], path])",
    ] {
        let found = scripts("hooks/c.py", &format!("{python}{says}"), &FILES);
        assert!(found.files.contains("src/main.rs"), "{says}: {found:?}");
    }
    let found = scripts(
        "hooks/c.py",
        "T = {'.py': ['sh', 'lib/x.sh']}\nimport subprocess\nsubprocess.run(T[ext])",
        &FILES,
    );
    assert!(found.files.contains("lib/x.sh"), "{found:?}");
}

// What Python unpickles may call anything.
#[test]
fn what_is_unpickled_counts_also_if_the_script_writes_it() {
    for says in [
        "import pickle\np = 'cache/seen.db'\nseen = pickle.load(open(p, 'rb'))\npickle.dump(seen, open(p, 'wb'))",
        "import pickle\nwith open('cache/seen.db', 'rb') as f:\n    seen = pickle.load(f)\nwith open('cache/seen.db', 'wb') as f:\n    pickle.dump(seen, f)",
        "from pathlib import Path\nfrom pickle import loads, dumps\nP = Path('cache/seen.db')\nseen = loads(P.read_bytes())\nP.write_bytes(dumps(seen))",
    ] {
        let found = scripts("hooks/c.py", says, &["cache/seen.db", "src/main.rs"]);
        assert!(found.files.contains("cache/seen.db"), "{says}: {found:?}");
    }
    let says = "import json\nseen = json.load(open('cache/seen.json'))\njson.dump(seen, open('cache/seen.json', 'w'))";
    let found = scripts("hooks/c.py", says, &["cache/seen.json", "src/main.rs"]);
    assert!(!found.files.contains("cache/seen.json"), "{found:?}");
}

#[test]
fn what_flows_from_a_folder_into_a_call_is_followed() {
    for (want, script, says) in [
        (
            true,
            "hooks/c.py",
            "import subprocess\nfrom pathlib import Path\nfiles = sorted(Path('src').glob('*.rs'))\nfor f in files: subprocess.run(['bash', str(f)])",
        ),
        (
            true,
            "hooks/c.py",
            "import os\nfiles = [os.path.join('src', f) for f in os.listdir('src')]\nfor f in files: os.system('sh ' + f)",
        ),
        (true, "hooks/c.py", "import runpy, glob\nlist(map(runpy.run_path, glob.glob('src/*')))"),
        (
            true,
            "hooks/c.py",
            "import os\nfrom pathlib import Path\nfor f in Path.cwd().iterdir(): os.system(str(f))",
        ),
        (
            true,
            "hooks/c.py",
            "import os\nwith os.scandir('src') as it:\n    for e in it: os.execv(e.path, [e.path])",
        ),
        (true, "hooks/c.py", "import os\nos.environ |= more()\nos.system('x')"),
        (
            true,
            "hooks/c.py",
            "import subprocess, json\nsubprocess.run(['helper'], env=json.load(open('e.json')))",
        ),
        (
            true,
            "hooks/c.js",
            "const fs = require('fs')\nconst all = fs.readdirSync('src')\nfor (const f of all) { const p = `../src/${f}`; import(p) }",
        ),
        (
            true,
            "hooks/c.js",
            "const fs = require('fs')\nconst m = fs.readdirSync('src').map((f) => require(`../src/${f}`))",
        ),
        (
            true,
            "hooks/c.js",
            "const { join: j } = require('path'); require(j(__dirname, '../src/main'))",
        ),
        (
            false,
            "hooks/c.py",
            "import os, subprocess\nenv = os.environ.copy()\nenv.update({'CI': '1'})\nenv['GIT_PAGER'] = 'cat'\nsubprocess.run(['git', 'log'], env=env)",
        ),
        (
            false,
            "hooks/c.py",
            "import os\nfrom pathlib import Path\nSKIP = {'node_modules', '.git'}\nfor d, dirs, names in os.walk('.'):\n    dirs[:] = [x for x in dirs if x not in SKIP]\n    for n in names:\n        t = (Path(d) / n).read_text()\n        if 'x' in t: raise SystemExit(2)",
        ),
        (
            false,
            "hooks/c.js",
            "const { glob } = require('node:fs/promises')\nfor await (const f of glob('src/**/*.js')) console.log(f)",
        ),
        (
            false,
            "hooks/c.py",
            "import json, sys, ast\nfrom pathlib import Path\nfor p in Path('src').glob('**/*.py'):\n    ast.parse(p.read_text())\n    compile(p.read_text(), str(p), 'exec')",
        ),
        (
            false,
            "hooks/c.js",
            "const path = require('path')\nconst rules = require(path.join(__dirname, 'rules.json'))\nconst cfg = require(path.resolve(__dirname, 'cfg'))",
        ),
    ] {
        let found = scripts(script, says, &["src/main.rs", "src/a.js"]);
        let counts = found.files.contains("src/main.rs");
        assert_eq!(counts, want, "{says}: {:?} {:?}", found.files, found.unnamed);
    }
}
