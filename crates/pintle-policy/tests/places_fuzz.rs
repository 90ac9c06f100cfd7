//! What real shells read outside the workspace is seen to be outside (R11.2): lines that wander through folders go to `sh` and
//! `bash`, in a workspace beside which a secret lies, and to the judge.
//!
//! The seed is fixed, so a run repeats. `PINTLE_FUZZ_CASES=20000 PINTLE_FUZZ_SEED=7` looks further.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use pintle_policy::{Reach, Zone, zone_of};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SECRET: &str = "what nobody may read";

/// Ways to go elsewhere, or to change what is there.
const STEPS: &[&str] = &[
    "cd sub",
    "cd src",
    "cd sub/deep",
    "cd deep",
    "cd short",
    "cd nosuch",
    "cd ..",
    "cd ../..",
    "cd -",
    "cd -P ..",
    "cd",
    "cd --",
    "cd -P",
    "cd -L --",
    "cd -e",
    "cd {-P,}",
    "cd \"\"",
    "cd -- sub",
    "cd -Pe sub",
    "chdir",
    "builtin cd --",
    "pushd",
    "mkdir ./-P",
    "cd *P",
    "shopt -s nullglob",
    "cd no*",
    "cd ./sub/.",
    "cd \"$PWD/sub\"",
    "cd s?b",
    "cd sub/deep/..",
    "cd sub extra",
    "cd sub < nosuch",
    "X=1 cd sub",
    "pushd sub",
    "pushd src",
    "popd",
    "command cd sub",
    "eval 'cd sub'",
    "! cd sub",
    "rmdir src",
    "mkdir new",
    "cd new",
    "true",
    "false",
    "X=link",
    "X=.",
    "x=linkx",
    "x=sub/linkx",
    "set -- link",
    "f",
    "exit",
    "break",
    "d=sub",
    "d=..",
    "d+=/deep",
    "o=sub",
    "o=..",
    "o=",
    "o=sub/deep",
    "o=$PWD",
    "o=$(pwd)",
    "o=$o/..",
    "export o=sub",
    "unset o",
    "read o < l",
    "(o=sub)",
    "o=sub true",
    "o=sub & wait",
    "for o in sub ..; do true; done",
    "declare o",
    "local o",
    "cd $d",
    "cd \"$d\"",
    "cd \"${d}\"",
    "for d in sub src; do cd $d; done",
    "for d in */; do (cd \"$d\" && cat link); done",
    "mv sub new",
    "cp -a sub new",
    "ln -s sub q",
    "echo ../secret",
    "echo ../secret > l",
    "printf '%s/%s' .. secret > l",
];

/// Ways to read.
const READS: &[&str] = &[
    "cat link",
    "cat secret",
    "cat $o/link",
    "cat \"$o/secret\"",
    "cat \"${o}/../secret\"",
    "cat ${o}/../../secret",
    "cat $(pwd)/../secret",
    "cat \"$(pwd)/link\"",
    "(cd sub; ls -d ../../secret) | xargs cat",
    "ls -a | while read p; do cat $p/secret; done",
    "printf . > l; printf ./secret >> l; cat $(cat l)",
    "cat $(printf .; printf ./secret)",
    "(cd -P --; cat secret)",
    "cat \"$(cd -- && pwd)/secret\"",
    "cat ../secret",
    "cat ../../secret",
    "cat ../sub/link",
    "cat sub/link",
    "echo secret | sed 's#^#../#' | xargs cat",
    "cat $(echo xx/secret | tr x .)",
    "echo .x./secret | tr -d x | while read p; do cat $p; done",
    "cat \"$(printenv HOME)/secret\"",
    "printenv HOME | sed 's#$#/secret#' | xargs cat",
    "cat < link",
    "cat l*k",
    "cat sub/$X",
    "cat $X",
    "cat $X./secret",
    "cat ${x%x}",
    "cat sub/${x%x}",
    "cat ${x#*/}",
    "cat $1",
    "cat \"$PWD/link\"",
    "cat $(echo link)",
    "env -C sub cat link",
    "sh -c 'cat link'",
    "sh -c 'cd sub; cat link'",
    "echo \"$(<link)\"",
    "xargs cat <<< link",
    "xargs cat <<E\nlink\nE\n",
    "while read p; do cat $p; done <<E\na\nlink\nE\n",
    "cat - < link",
    "cat new/link",
    "cat q/link",
    "cat new/sub/link q/deep/../link",
    "cat $_",
    "cat \"$(cat l)\"",
    "while read p; do cat $p; done < l",
    "sed '' link",
    "sed -n '1r link' l",
    "sed -e p ../secret",
    "sed ../secret -e p",
    "sed '/sub/r link' l",
    "awk 1 link",
    "awk 'BEGIN{getline x < \"link\"; print x}'",
    "grep -h . link",
    "grep ../secret -h -e .",
    "find . -name link -execdir cat link ';'",
    "find sub -execdir cat ../link ';'",
];

const SHAPES: &[&str] = &[
    "A; B",
    "A\nB",
    "A && B",
    "A || B",
    "A && B; C",
    "A || exit; B",
    "A && B && C",
    "A && B || C",
    "(A; B); C",
    "(A && B)",
    "{ A; B; }; C",
    "{ A; B; } && C",
    "{ A; } < nosuch; B",
    "if A; then B; else C; fi",
    "if A; then B; fi; C",
    "for i in 1 2; do A; B; done",
    "for i in 1 2; do A; B; done; C",
    "while A; do B; break; done; C",
    "f() { A; }; B; f",
    "f() { A; }; f; B",
    "trap 'A' EXIT; B",
    "A | B",
    "A & wait; B",
    "case a in a) A;; *) B;; esac; C",
    "x=$(A; B); C",
    "echo \"$(A; B)\"; C",
    "sh -c \"A; B\"; C",
    "eval \"A; B\"; C",
    "time A; B",
    "A; B; C",
    "A; B; C; B",
];

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % end
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn line(&mut self, depth: usize) -> String {
        if depth == 0 {
            let reads = self.below(5) < 2;
            return self.pick(if reads { READS } else { STEPS }).to_owned();
        }
        let shape = self.pick(SHAPES);
        let mut line = String::new();
        for c in shape.chars() {
            match c {
                'A'..='C' => {
                    let depth = if self.below(3) == 0 { depth - 1 } else { 0 };
                    line.push_str(&self.line(depth));
                }
                c => line.push(c),
            }
        }
        line
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// So deep that no line goes up past the test's own folder.
fn workspace(folder: &Path) -> PathBuf {
    let folder = folder.join("deep/".repeat(12));
    let work = folder.join("work");
    for inside in ["src", "sub/deep"] {
        fs::create_dir_all(work.join(inside)).unwrap();
    }
    fs::create_dir(folder.join("home")).unwrap();
    for place in ["secret", "home/secret"] {
        fs::write(folder.join(place), SECRET).unwrap();
    }
    symlink("../../secret", work.join("sub/link")).unwrap();
    symlink("sub/deep", work.join("short")).unwrap();
    work
}

/// Whether this shell shows the secret when it runs the line.
fn shows(shell: &str, line: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let work = workspace(folder.path());
    let output = Command::new("/bin/sh")
        .args(["-c", "ulimit -t 1; ulimit -f 64; exec \"$0\" -c \"$1\"", shell, line])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", work.with_file_name("home"))
        .current_dir(&work)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).contains(SECRET)
}

// R11.2
#[test]
fn no_way_through_the_folders_reads_a_secret_unseen() {
    let mut random = Random(number("PINTLE_FUZZ_SEED", 5).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let cases = number("PINTLE_FUZZ_CASES", 800);
    let folder = tempfile::tempdir().unwrap();
    let work = workspace(folder.path());
    let (mut shown, mut unasked, mut escaped) = (0, 0, Vec::new());
    for _ in 0..cases {
        let line = random.line(2);
        let input = json!({ "command": line });
        let judged =
            zone_of("terminal", Zone::Build, &input, &Reach::of(&input, &work), Default::default());
        let asked = judged.zone >= Zone::Machine;
        unasked += u64::from(!asked);
        // Once enough were shown to read it, only what would pass unseen needs the shells.
        if asked && shown > 20 {
            continue;
        }
        let by: Vec<&str> = ["bash", "sh"].into_iter().filter(|s| shows(s, &line)).collect();
        shown += usize::from(!by.is_empty());
        if !asked && !by.is_empty() {
            escaped.push(format!("{by:?} {line:?}"));
        }
    }
    assert!(escaped.is_empty(), "{} escaped:\n{}", escaped.len(), escaped.join("\n"));
    assert!(shown > 20, "only {shown} of {cases} showed it");
    // Asking about everything would pass, too.
    assert!(unasked * 20 > cases, "only {unasked} of {cases} were not asked about");
}
