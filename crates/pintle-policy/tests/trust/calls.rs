//! Of scripts in other languages it is known call by call what they load and run; where nobody can tell, every file counts
//! (R10.9).

use crate::support::{fingerprint, hook, profile};
use pintle_policy::Profile;
use pintle_policy::profile::Scripts;

pub(crate) fn scripts(script: &str, says: &str, files: &[&str]) -> Scripts {
    let agent = hook(&format!(r#""argv": ["./{script}"]"#));
    let mut all: Vec<(&str, &str)> = files.iter().map(|file| (*file, "as it was\n")).collect();
    all.push((script, says));
    let folder = profile(&agent, &all);
    fingerprint(folder.path());
    Profile::load(folder.path()).unwrap_or_else(|e| panic!("{e}")).scripts
}

pub(crate) const FILES: [&str; 3] = ["lib/x.sh", "lib/x.js", "src/main.rs"];

// Nobody can tell by reading what these run.
#[test]
fn where_what_is_run_is_computed_every_file_counts() {
    let python = [
        "import subprocess as s\ns.run(['sh', ''.join(reversed('hs.x/bil'))])",
        "import subprocess as s\ns.run(['sh', 'hs.x/bil'[::-1]])",
        "import subprocess as s\ns.run(['sh', '%s/x.sh' % d])",
        "import subprocess as s\ns.run(['sh', '{}/x.sh'.format(d)])",
        "import subprocess as s\nd = input()\ns.run(['sh', f'{d}/x.sh'])",
        "import subprocess as s, base64\ns.run(base64.b64decode('c2ggbGliL3guc2g='), shell=True)",
        "import os\nos.system('sh ' + name)",
        "import os\nos.system(bytes.fromhex('7368').decode())",
        "import os, json, sys\nos.execvp(json.load(sys.stdin)['x'], [])",
        "exec(source)",
        "eval(compile(read(), 'x', 'exec'))",
        "import importlib\nimportlib.import_module(name)",
        "__import__(chr(108) + 'ib')",
        "import runpy\nrunpy.run_path(where())",
        "from subprocess import run as go\ngo(cmd)",
        "from subprocess import *\nrun(cmd)",
        "import subprocess\nf = getattr(subprocess, 'r' + 'un')\nf(x)",
        "import subprocess\nfor f in [subprocess.run]: f(x)",
        "e = exec\ne(x)",
        "import os\nr = os.popen\nr(x)",
        "import sys\nsys.path.insert(0, where)\nimport rules",
        "def run(cmd):\n    import subprocess\n    subprocess.run(cmd)\nrun(['sh', name])",
        "import subprocess\ndef run(cmd): return subprocess.run(cmd, shell=True)\nrun(make())",
        "import subprocess\ndef run(cmd):\n    return subprocess.run(cmd)",
        "import asyncio\nasync def main():\n    await asyncio.create_subprocess_exec('sh', name)",
        "import sh\nsh.bash('lib' + '/x.sh')",
        "print(f'{exec(x)}')",
        "import subprocess\nsubprocess.run(open('list').read().split())",
        "import subprocess\ncmd = ['sh']\ncmd.append(name)\nsubprocess.run(cmd)",
        "import subprocess\nsubprocess.run(['env', 'X=1', 'bash', name])",
        "import subprocess, sys\nsubprocess.run([sys.executable, name])",
    ];
    let node = [
        "require(name)",
        "require('li' + b + '/x')",
        "process.mainModule['req' + 'uire']('../lib/x')",
        "globalThis['req' + 'uire']('../lib/x')",
        "import(`./${name}.js`)",
        "const { execSync } = require('child_process'); execSync(`sh ${name}`)",
        "const cp = require('node:child_process'); cp.spawn('sh', [name])",
        "const cp = require('child_process'); cp['ex' + 'ec'](x)",
        "require('child_process').exec(x)",
        "import { execFileSync as e } from 'child_process'\ne(name, [])",
        "const { promisify } = require('util'); const cp = require('child_process')\nconst run = promisify(cp.exec)\nrun(line)",
        "eval(x)",
        "new Function(x)()",
        "const vm = require('vm'); vm.runInThisContext(x)",
        "const { fork } = require('child_process'); fork(x)",
        "import { createRequire } from 'module'\nconst load = createRequire(import.meta.url)\nload(x)",
        "const run = (cmd) => execSync(cmd)\nconst { execSync } = require('child_process')\nrun(x)",
        "files.forEach((f) => require(f))",
        "require(Buffer.from('bGli', 'base64').toString())",
    ];
    let others = [
        ("hooks/c.rb", "load name"),
        ("hooks/c.rb", "system(\"sh #{name}\")"),
        ("hooks/c.rb", "eval(File.read(name))"),
        ("hooks/c.rb", "x = `sh #{name}`"),
        ("hooks/c.pl", "do $f;"),
        ("hooks/c.pl", "system(\"sh\", $f);"),
        ("hooks/c.pl", "my $x = `sh $f`;"),
        ("hooks/c.php", "<?php include $f;"),
        ("hooks/c.lua", "dofile(arg[1])"),
        ("hooks/c.awk", "{ system(\"sh \" $1) }"),
    ];
    let all = python.iter().map(|it| ("hooks/c.py", *it));
    let all = all.chain(node.iter().map(|it| ("hooks/c.js", *it))).chain(others);
    let missed: Vec<_> = all
        .filter(|(script, says)| !scripts(script, says, &FILES).files.contains("src/main.rs"))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

// What stands there plainly is found, and no more.
#[test]
fn what_is_put_together_of_plain_texts_is_found_and_the_project_is_the_agents() {
    for (script, says) in [
        ("hooks/c.py", "import subprocess as s\ns.run(['sh', 'li' + 'b/x.sh'])"),
        ("hooks/c.py", "import subprocess as s\ns.run(['sh', 'li' 'b/x.sh'])"),
        ("hooks/c.py", "import subprocess as s\ns.run(['sh', '/'.join(['lib', 'x.sh'])])"),
        ("hooks/c.py", "import subprocess as s\ns.run(['sh', '\\x6cib/x.sh'])"),
        (
            "hooks/c.py",
            "import os, subprocess as s\nHERE = os.path.dirname(os.path.abspath(__file__))\ns.run(['sh', os.path.join(HERE, '..', 'l' + 'ib', 'x.sh')])",
        ),
        (
            "hooks/c.py",
            "import subprocess as s\nfrom pathlib import Path\nROOT = Path(__file__).resolve().parent.parent\ns.run(['bash', str(ROOT / 'lib' / 'x.sh')], check=True)",
        ),
        ("hooks/c.py", "import subprocess as s\nD = 'lib'\ns.run(f'sh {D}/x.sh', shell=True)"),
        (
            "hooks/c.py",
            "import subprocess as s\nfor d in ['lib', 'more']:\n    s.run(['sh', d + '/x.sh'])",
        ),
        (
            "hooks/c.py",
            "import subprocess\ndef run(*cmd):\n    return subprocess.run(cmd, text=True)\nrun('git', 'status')\nrun('sh', 'lib/x.sh')",
        ),
        ("hooks/c.py", "import os\nfor f in os.listdir('lib'):\n    exec(open('lib/' + f).read())"),
        (
            "hooks/c.js",
            "const { execSync } = require('child_process'); execSync('sh ' + 'li'.concat('b') + '/x.sh')",
        ),
        (
            "hooks/c.js",
            "const cp = require('child_process'); cp.execFileSync('sh', [`${__dirname}/../lib/x.sh`])",
        ),
        (
            "hooks/c.js",
            "const run = (c, ...a) => require('child_process').spawnSync(c, a)\nrun('git', 'status'); run('sh', 'lib/x.sh')",
        ),
        ("hooks/c.rb", "system('sh', File.join(__dir__, '..', 'lib', 'x.sh'))"),
    ] {
        let found = scripts(script, says, &FILES);
        assert!(found.files.contains("lib/x.sh"), "{says}: {found:?}");
        assert!(!found.files.contains("src/main.rs"), "{says}: {:?}", found.unnamed);
    }
    let local =
        "const rules = require('../lib/x'); const other = require(__dirname + '/../lib/x.js')";
    let found = scripts("hooks/c.js", local, &FILES);
    assert!(found.files.contains("lib/x.js") && !found.files.contains("src/main.rs"), "{found:?}");
}

// Hooks as people write them.
#[test]
fn everyday_calls_leave_the_project_to_the_agent() {
    for (script, says) in [
        ("hooks/c.py", "import subprocess\nsubprocess.run(['git', 'diff', name])"),
        (
            "hooks/c.py",
            "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'py_compile', f])",
        ),
        (
            "hooks/c.py",
            "import subprocess\nout = subprocess.check_output(['git', 'diff', '--name-only', *args], text=True)",
        ),
        (
            "hooks/c.py",
            "import re\nP = re.compile(r'(?i)api[_-]?key\\s*=\\s*(' + WORDS + ')')\nm = P.search(x)",
        ),
        ("hooks/c.py", "from re import compile\np = compile(x)"),
        ("hooks/c.py", "import sqlite3\nsqlite3.connect('x.db').execute(sql)"),
        (
            "hooks/c.py",
            "import platform, json, sys\nplatform.system()\nmodel.eval()\njson.load(sys.stdin)",
        ),
        (
            "hooks/c.py",
            "BLOCKED = ['eval(', 'exec(', 'os.system(']  # exec(x)\nif any(b in cmd for b in BLOCKED): raise SystemExit(2)",
        ),
        (
            "hooks/c.py",
            "\"\"\"Runs subprocess.run(x) never: exec(x).\"\"\"\nimport sys\nsys.exit(0)",
        ),
        (
            "hooks/c.py",
            "import subprocess\ntry:\n    p = subprocess.Popen(['ruff', 'check', path], stdout=subprocess.PIPE)\nexcept subprocess.TimeoutExpired:\n    pass",
        ),
        (
            "hooks/c.py",
            "import subprocess\ndef git(*args):\n    return subprocess.run(['git', *args], capture_output=True, text=True).stdout\nbranch = git('rev-parse', '--abbrev-ref', 'HEAD')",
        ),
        (
            "hooks/c.py",
            "import subprocess\ndef run(cmd: list[str]) -> subprocess.CompletedProcess:\n    return subprocess.run(cmd, check=False)\nrun(['black', '--check', path])\nrun(['git', 'add', path])",
        ),
        (
            "hooks/c.py",
            "import subprocess, shutil\nif shutil.which('jq'):\n    subprocess.run(f'jq . {path}', shell=True)",
        ),
        (
            "hooks/c.py",
            "import subprocess\ncmd = ['prettier', '--write']\ncmd.append(path)\nsubprocess.run(cmd)",
        ),
        ("hooks/c.py", "import subprocess\nsubprocess.run(['bash', '-n', path])"),
        ("hooks/c.py", "import os\nfor k in ('A', 'B'): getattr(args, k)\nos.environ.get(name)"),
        (
            "hooks/c.js",
            "const { execFileSync } = require('child_process'); execFileSync('git', args)",
        ),
        (
            "hooks/c.js",
            "const m = /x(.*)'/.exec(s); const re = new RegExp(y); re.exec(s); child.exec(s)",
        ),
        ("hooks/c.js", "db.exec('CREATE TABLE x'); const fs = require('fs'); require('node:path')"),
        (
            "hooks/c.js",
            "import fs from 'node:fs'\nimport { execSync } from 'node:child_process'\nconst diff = execSync(`git diff ${file}`).toString()",
        ),
        (
            "hooks/c.js",
            "const util = require('util')\nconst exec = util.promisify(require('child_process').exec)\nasync function main() { const { stdout } = await exec('git status --porcelain') }",
        ),
        (
            "hooks/c.js",
            "const sh = (cmd) => require('child_process').execSync(cmd, { encoding: 'utf8' })\nsh('git diff --cached'); sh('npx --no-install prettier --version')",
        ),
        (
            "hooks/c.mjs",
            "const input = JSON.parse(await new Response(process.stdin).text())\nconst { default: x } = await import('node:os')",
        ),
        (
            "hooks/c.ts",
            "const bad: RegExp[] = [/eval\\(/, /exec\\(/, /require\\(x\\)/]\nfor (const b of bad) if (b.test(cmd)) process.exit(2)",
        ),
        (
            "hooks/c.rb",
            "require 'json'\nd = JSON.parse(STDIN.read)\nout = `git status`\nsystem('git', 'diff', d['path'])",
        ),
        (
            "hooks/c.pl",
            "use strict; use JSON::PP; my $x = eval { decode_json($in) }; do { 1 } while 0;",
        ),
    ] {
        let found = scripts(script, says, &FILES);
        assert!(!found.files.contains("src/main.rs"), "{says}: {:?}", found.unnamed);
    }
}

#[test]
fn the_line_that_makes_every_file_count_is_told() {
    let says =
        "import subprocess\n\nsubprocess.run(['git', 'status'])\nsubprocess.run(['sh', name])\n";
    let found = scripts("hooks/c.py", says, &FILES);
    assert_eq!(found.unnamed.as_deref(), Some("hooks/c.py:4: subprocess.run(['sh', name])"));
    let why = found.why_any().unwrap();
    assert!(
        why.contains("`hooks/c.py:4: ") && why.contains("write there as a plain text"),
        "{why}"
    );
}

// A module is found by a name that is put together, with the endings that its language tries.
#[test]
fn a_module_by_a_name_of_several_parts_is_found_without_its_ending() {
    for (script, says, file) in [
        ("hooks/c.js", "require('../li' + 'b/x')", "lib/x.js"),
        ("hooks/c.js", "const a = '../li'; require(a + 'b/x')", "lib/x.js"),
        ("hooks/c.js", "require(__dirname + '/../li' + 'b/x')", "lib/x.js"),
        ("hooks/c.js", "require('./../l' + 'ib/x')", "lib/x.js"),
        ("hooks/c.js", "require('../l\\u0069b/x')", "lib/x.js"),
        ("hooks/c.js", "require('..\\x2flib/x')", "lib/x.js"),
        ("hooks/c.mjs", "await import('../l' + 'ib/y')", "lib/y.mjs"),
        ("hooks/c.js", "require('../m' + 'ore')", "more/index.js"),
        ("hooks/c.js", "const { fork } = require('child_process'); fork('li' + 'b/x')", "lib/x.js"),
        ("hooks/c.py", "import importlib\nimportlib.import_module('l' + 'ib.r')", "lib/r.py"),
        ("hooks/c.py", "__import__('l' + 'ib')", "lib/__init__.py"),
        ("hooks/c.rb", "require_relative '../li' + 'b/x'", "lib/x.rb"),
        (
            "hooks/c.pl",
            "my $d = join(\"\", \"l\", \"ib\"); do \"./\" . $d . \"/x.pl\";",
            "lib/x.pl",
        ),
    ] {
        let found = scripts(script, says, &["src/main.rs", file]);
        assert!(found.files.contains(file), "{says}: {found:?}");
        assert!(!found.files.contains("src/main.rs"), "{says}: {:?}", found.unnamed);
    }
}

#[test]
fn a_module_that_is_found_by_joining_a_path_is_no_riddle() {
    for says in [
        "const path = require('path'); require(path.join(__dirname, '..', 'lib', 'x.js'))",
        "const path = require('node:path'); require(path.resolve(__dirname, '../lib/x'))",
        "const { join } = require('path'); require(join(__dirname, '..', 'lib', 'x.js'))",
        "require(require('path').join(__dirname, '..', 'lib', 'x.js'))",
        "import { join } from 'node:path'\nimport(join(import.meta.dirname, '../lib/x.js'))",
        "import path from 'node:path'\nimport { fileURLToPath } from 'node:url'\nconst here = path.dirname(fileURLToPath(import.meta.url))\nawait import(path.join(here, '../lib/x.js'))",
        "const path = require('path'); const LIB = path.join(__dirname, '..', 'lib'); require(path.join(LIB, 'x'))",
    ] {
        let found = scripts("hooks/c.js", says, &FILES);
        assert!(found.files.contains("lib/x.js"), "{says}: {found:?}");
        assert!(!found.files.contains("src/main.rs"), "{says}: {:?}", found.unnamed);
    }
    for says in [
        "function join(a, b) { return a + name + b }\nrequire(join(__dirname, 'x.js'))",
        "const path = require('../lib/x'); require(path.join(__dirname, 'x.js'))",
        "const path = require('path'); require(path.join(__dirname, name))",
    ] {
        let found = scripts("hooks/c.js", says, &FILES);
        assert!(found.files.contains("src/main.rs"), "{says}: {found:?}");
    }
}

// Programs are found in a folder that a script puts on the path.
#[test]
fn a_folder_that_a_script_puts_on_the_path_counts() {
    const FILES: [&str; 3] = ["bin/helper", "hooks/bin/helper", "src/main.rs"];
    for (script, says) in [
        (
            "hooks/c.py",
            "import os, subprocess\nos.environ['PATH'] = os.getcwd() + '/bin:' + os.environ['PATH']\nsubprocess.run(['helper'])",
        ),
        ("hooks/c.py", "import subprocess\nsubprocess.run(['helper'], env={'PATH': 'bin:/bin'})"),
        (
            "hooks/c.py",
            "import os, subprocess\nsubprocess.run(['helper'], env={**os.environ, 'PATH': os.pathsep.join(['bin', os.environ.get('PATH', '')])})",
        ),
        (
            "hooks/c.py",
            "import os, subprocess\nfrom pathlib import Path\nROOT = Path(__file__).resolve().parent.parent\nenv = os.environ.copy()\nenv['PATH'] = f\"{ROOT / 'bin'}:{env['PATH']}\"\nsubprocess.run(['helper'], env=env)",
        ),
        (
            "hooks/c.py",
            "import os, subprocess\nenv = dict(os.environ, PATH='bin:' + os.environ['PATH'])\nsubprocess.run(['helper'], env=env)",
        ),
        ("hooks/c.py", "import os\nos.environ.update(PATH='bin:/bin')\nos.system('helper')"),
        ("hooks/c.py", "import os\nos.putenv('PATH', 'bin:/bin')\nos.system('helper')"),
        ("hooks/c.py", "import os\nos.environ['LD_LIBRARY_PATH'] = 'bin'\nos.system('ls')"),
        (
            "hooks/c.js",
            "process.env.PATH = process.cwd() + '/bin:' + process.env.PATH\nrequire('child_process').execSync('helper')",
        ),
        (
            "hooks/c.js",
            "process.env['PATH'] = `${process.cwd()}/bin:${process.env.PATH}`\nrequire('child_process').execSync('helper')",
        ),
        (
            "hooks/c.js",
            "require('child_process').execFileSync('helper', { env: { PATH: 'bin:/bin' } })",
        ),
        (
            "hooks/c.js",
            "const path = require('path')\nconst env = { ...process.env, PATH: [path.join(__dirname, 'bin'), process.env.PATH].join(path.delimiter) }\nrequire('child_process').spawnSync('helper', [], { env })",
        ),
        ("hooks/c.pl", "$ENV{PATH} = \"bin:$ENV{PATH}\"; system('helper');"),
        ("hooks/c.pl", "$ENV{'PATH'} = 'bin:' . $ENV{'PATH'}; system('helper');"),
        ("hooks/c.rb", "ENV['PATH'] = \"bin:#{ENV['PATH']}\"\nsystem('helper')"),
    ] {
        let found = scripts(script, says, &FILES);
        assert!(found.files.contains("bin/helper"), "{says}: {found:?}");
        assert!(!found.files.contains("src/main.rs"), "{says}: {:?}", found.unnamed);
    }
    for (script, says) in [
        ("hooks/c.py", "import os\nos.environ['PATH'] = '.:' + os.environ['PATH']\nos.system('x')"),
        ("hooks/c.py", "import os\nos.environ['PATH'] += ':'\nos.system('x')"),
        ("hooks/c.py", "import os\nos.environ['PATH'] = os.getcwd()\nos.system('x')"),
        ("hooks/c.py", "import os\nos.environ['PATH'] = where\nos.system('x')"),
        (
            "hooks/c.py",
            "import os\nfor l in open('.env'):\n    k, v = l.split('=')\n    os.environ[k] = v\nos.system('x')",
        ),
        (
            "hooks/c.py",
            "import os, json\nos.environ.update(json.load(open('e.json')))\nos.system('x')",
        ),
        ("hooks/c.js", "process.env.PATH = where\nrequire('child_process').execSync('x')"),
        ("hooks/c.js", "process.env[k] = v\nrequire('child_process').execSync('x')"),
        ("hooks/c.js", "Object.assign(process.env, all)\nrequire('child_process').execSync('x')"),
        ("hooks/c.pl", "$ENV{$k} = $v; system('x');"),
    ] {
        let found = scripts(script, says, &FILES);
        assert!(found.files.contains("src/main.rs"), "{says}: {found:?}");
    }
    for (script, says) in [
        (
            "hooks/c.py",
            "import os, subprocess\nenv = {**os.environ, 'LANG': 'C', 'GIT_TERMINAL_PROMPT': '0', 'PYTHONDONTWRITEBYTECODE': '1'}\nsubprocess.run(['git', 'status'], env=env)",
        ),
        (
            "hooks/c.py",
            "import os, subprocess\nsubprocess.run(['git', 'status'], env={'PATH': os.environ['PATH'], 'HOME': os.environ.get('HOME', '')})",
        ),
        (
            "hooks/c.py",
            "import os\nos.environ['PATH'] = '/usr/bin:/bin'\nPATH = make()\nif 'PATH' in os.environ: os.system('git status')\nfor k in ('LANG', 'TZ'): os.environ[k] = 'C'",
        ),
        (
            "hooks/c.py",
            "import os\nfrom pathlib import Path\nos.environ['PATH'] = str(Path.home() / '.local/bin') + os.pathsep + os.environ['PATH']\nos.system('git status')",
        ),
        (
            "hooks/c.js",
            "process.env.PATH = `/opt/homebrew/bin:${process.env.PATH}`\nprocess.env.CI = x\nconst p = process.env.PATH === y\nrequire('child_process').execSync('git status')",
        ),
        (
            "hooks/c.ts",
            "interface Env { PATH: string, HOME: string }\nimport { execSync } from 'child_process'\nexecSync('git status', { env: { ...process.env, FORCE_COLOR: '0' } })",
        ),
        ("hooks/c.pl", "$ENV{PATH} = '/usr/sbin'; system('git', 'status');"),
    ] {
        let found = scripts(script, says, &["bin/helper", "src/main.rs"]);
        assert!(!found.files.contains("src/main.rs"), "{says}: {:?}", found.unnamed);
        assert!(!found.files.contains("bin/helper"), "{says}: {found:?}");
    }
}
