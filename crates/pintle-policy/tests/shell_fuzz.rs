//! What real shells run is listed or refused (R11.1): commands grown from a grammar go to `sh` and `bash`, in an empty folder
//! in which `rm` only leaves a mark, and to the walker.
//!
//! The seed is fixed, so a run repeats. `PINTLE_FUZZ_CASES=20000 PINTLE_FUZZ_SEED=7` looks further.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

#[path = "shell_fuzz/grammar.rs"]
mod grammar;
#[path = "shell_fuzz/known.rs"]
mod known;
#[path = "shell_fuzz/options.rs"]
mod options;
#[path = "shell_fuzz/sandbox.rs"]
mod sandbox;
#[path = "shell_fuzz/scripts.rs"]
mod scripts;
#[path = "shell_fuzz/templates.rs"]
mod templates;

use grammar::{Random, fill, glued, grow, heap, mutate};
use pintle_policy::shell::simple_commands;
use sandbox::Sandbox;
use std::collections::HashSet;
use templates::TEMPLATES;

/// Whether whoever judges the command would see that `rm` runs, or that something unknown does.
fn is_seen(command: &str) -> bool {
    match simple_commands(command) {
        Err(_) => true,
        Ok(found) => found.iter().any(|c| {
            // Our `rm` is a script, and a shell that is given its name as a file reads it: that file is seen.
            let is_file = matches!(c.program(), Some("sh" | "bash" | "." | "source"))
                && c.args.iter().any(|arg| arg.literal() == Some("rm"));
            c.name.is_dynamic() || c.program() == Some("rm") || is_file
        }),
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// Asserts that no candidate gets `rm` to run past the walker, and that the run was no idle one.
fn hold(candidates: impl Iterator<Item = String>, at_least_ran: usize) {
    let sandbox = Sandbox::new();
    let mut seen = HashSet::new();
    let (mut ran, mut read, mut escaped) = (0, 0, Vec::new());
    for candidate in candidates.filter(|c| seen.insert(c.clone())) {
        let is_seen = is_seen(&candidate);
        // Once enough of them were shown to run, only what would pass unseen needs the shells.
        if is_seen && ran >= at_least_ran {
            continue;
        }
        let by: Vec<&str> =
            ["bash", "sh"].into_iter().filter(|s| sandbox.marks(s, &candidate)).collect();
        ran += usize::from(!by.is_empty());
        read += usize::from(!by.is_empty() && simple_commands(&candidate).is_ok());
        if !is_seen && !by.is_empty() {
            escaped.push(format!("{by:?} {candidate:?} {:?}", simple_commands(&candidate)));
        }
    }
    assert!(escaped.is_empty(), "{} escaped:\n{}", escaped.len(), escaped.join("\n"));
    assert!(ran >= at_least_ran, "only {ran} of {} ran", seen.len());
    // Refusing everything would pass, too.
    assert!(read * 5 >= ran, "only {read} of {ran} that ran were read");
}

#[test]
fn no_construct_runs_a_program_unseen() {
    let plain = TEMPLATES.iter().map(|template| fill(template, "rm x", 0));
    hold(plain, TEMPLATES.len() / 2);
}

#[test]
fn no_construct_in_a_construct_runs_a_program_unseen() {
    let mut random = Random::new(number("PINTLE_FUZZ_SEED", 1));
    let cases = number("PINTLE_FUZZ_CASES", 200);
    hold((0..cases).map(|_| grow(&mut random)), usize::try_from(cases.min(300) / 3).unwrap());
}

/// A command in, before and after a here-document that has text in front of what it expands.
const DOCUMENTS: &[&str] = &[
    "cat <<E\ntext $(%s) \"more\" $x\nE",
    "cat - <<E\nit's $x $(%s)\nE",
    "cat - <<E; %s\na ' $x\nE",
    "cat <<E\n\" ${x:-'} $x\nE\n%s",
    "cat <<-E\n\ta ${x} $(%s)\n\tE",
    "cat - 2>&1 <<'E' && %s\n$x '\nE",
    "cat -\t<<E | cat - <<F\na $x\nE\nb $(%s) $y\nF",
    "cat <<E\na \\$(no) $x $(%s)\nE",
    "cat <<E\na $((1 + $(%s)))\nE",
    "cat <<E\na ${x:-$(%s)} b\nE",
    "cat <<E\n$((1+1)) $((2 * $(%s))) $(%s)\nE",
    "echo \"$((1)) $(%s) `%s` $x $(%s)\"",
    "echo \"$((1))\n`%s`\" \"$((1)) $(( $(%s) ))\"",
    "echo \"$(cat - <<E\na $x\nE\n)\" $(%s)",
    "cat <<E\na `%s` \"b\" $x\nE",
    "cat <<E\n`echo \"a\" $(%s)` it's\nE",
    "cat <<E\n\\`no\\` ${x:-`%s`} `echo \\`%s\\``\nE",
    "echo \"$(cat <<E\n`%s`\nE\n)\"",
    "echo \"$(<x)\" $(<x; %s)",
    "[[ a && b ]] || %s",
    "f() { %s; } >o <x; f",
];

#[test]
fn no_here_document_with_text_in_it_runs_a_program_unseen() {
    let mut random = Random::new(number("PINTLE_FUZZ_SEED", 4));
    let cases = number("PINTLE_FUZZ_CASES", 200);
    let plain = DOCUMENTS.iter().map(|document| fill(document, "rm x", 0));
    let grown = (0..cases).map(|_| {
        let inner = grow(&mut random);
        let document = DOCUMENTS[random.below(DOCUMENTS.len())];
        if random.below(2) == 0 {
            fill(document, &inner, 9)
        } else {
            mutate(&mut random, &fill(document, "rm x", 9))
        }
    });
    hold(plain.chain(grown), usize::try_from(cases.min(300) / 10).unwrap());
}

#[test]
fn no_word_of_many_pieces_runs_a_program_unseen() {
    let mut random = Random::new(number("PINTLE_FUZZ_SEED", 6));
    let cases = number("PINTLE_FUZZ_CASES", 200);
    hold((0..cases).map(|_| glued(&mut random)), usize::try_from(cases.min(300) / 3).unwrap());
}

#[test]
fn no_slip_of_the_pen_runs_a_program_unseen() {
    let mut random = Random::new(number("PINTLE_FUZZ_SEED", 2));
    let cases = number("PINTLE_FUZZ_CASES", 200);
    let slip = |_| {
        let command = grow(&mut random);
        mutate(&mut random, &command)
    };
    hold((0..cases).map(slip), usize::try_from(cases.min(300) / 10).unwrap());
}

#[test]
fn no_heap_of_words_runs_a_program_unseen() {
    let mut random = Random::new(number("PINTLE_FUZZ_SEED", 3));
    let cases = number("PINTLE_FUZZ_CASES", 200);
    hold((0..cases).map(|_| heap(&mut random)), 10);
}

/// Ways for a variable to get a text that the line does not hold as it is; `x` is that text, an index with a command in it.
const SOURCES: &[&str] = &[
    "x=$(printf 'a[\\44(rm y)]')",
    "x=`printf 'a[\\44(rm y)]'`",
    "printf -v x 'a[\\44(rm y)]'",
    "printf 'a[\\44(rm y)]' > g; read -r x < g",
    "printf 'a[\\44(rm y)]' > g; x=$(cat g)",
    "printf 'a[\\44(rm y)]' > g; x=$(<g)",
    "printf 'a[\\44(rm y)]' > g; mapfile -t x < g",
    "y=$(printf 'a[\\44(rm y)]'); x=y",
    "y=$(printf 'a[\\44(rm y)]'); x=$y",
    "y=$(printf 'a[\\44(rm y)]z'); x=${y%z}",
    "y=$(printf 'a[\\44(rm y)]'); read x <<< $y",
    "y=$(printf 'a[\\44(rm y)]'); set -- \"$y\"; x=$1",
    "f() { printf 'a[\\44(rm y)]'; }; x=$(f)",
    "f() { x=$1; }; f \"$(printf 'a[\\44(rm y)]')\"",
    "wc() { printf 'a[\\44(rm y)]'; }; x=$(wc -l < x)",
    ": ${x:=$(printf 'a[\\44(rm y)]')}",
    "declare x=$(printf 'a[\\44(rm y)]')",
    "y=$'\\44'; x=\"a[$y(rm y)]\"",
    "y='(rm y)]'; x='a[$'; x+=$y",
    "x=($(printf 'a[\\44(rm\\\\ty)]'))",
    "IFS=; for x in $(printf 'a[\\44(rm y)]'); do :; done",
    "export x; x=$(printf 'a[\\44(rm y)]')",
    "[[ $(printf 'a[\\44(rm y)]') =~ .* ]]; x=${BASH_REMATCH[0]}",
    "printf 'a[\\44(rm y)]' > g; seq 2 | while read x; do :; done < g; read x < g",
    "printf '' > 'a[b]'; : \"$(printf 'a[\\44(rm y)]')\"; x=$_",
];

/// Ways for a shell to take it for a number.
const SINKS: &[&str] = &[
    "echo $((x))",
    "echo $((x + 1))",
    "echo $(($x))",
    "echo \"$((${x}))\"",
    "((x))",
    "((z = x))",
    "let x",
    "let 'z = x'",
    "let z=$x",
    "for ((i=x;i<1;i++)); do :; done",
    "for ((i=0;i<x;i++)); do :; done",
    "[[ $x -eq 0 ]]",
    "[[ 0 -lt x ]]",
    "[[ -n a && x -ge 0 ]]",
    "echo ${z[x]}",
    "echo ${z[$x]}",
    "z=12; echo ${z:x}",
    "z=12; echo ${z:0:x}",
    "z=12; echo \"${z:$x:1}\"",
    "z[x]=1",
    "z=([x]=1)",
    "declare -i z=x",
    "declare -i z; z=$x",
    "typeset -i z; read z <<< \"$x\"",
    "test -v \"$x\"",
    "[ -v \"$x\" ]",
    "[[ -v $x ]]",
    "unset \"$x\"",
    "printf -v \"$x\" 1",
    "read \"$x\" <<< 1",
    "declare \"$x=1\"",
    "set -- 1 2; echo ${@:x}",
    "cat <<< $((x))",
    "bash -c 'echo $(($1))' _ \"$x\"",
    "x=\"$x\" bash -c 'echo $((x))'",
];

#[test]
fn no_text_that_is_taken_for_a_number_runs_a_program_unseen() {
    let pairs = SOURCES.iter().flat_map(|from| SINKS.iter().map(move |to| format!("{from}; {to}")));
    hold(pairs, 200);
}

#[test]
fn no_script_that_the_shell_puts_together_runs_a_program_unseen() {
    let mut random = Random::new(number("PINTLE_FUZZ_SEED", 5));
    let cases = number("PINTLE_FUZZ_CASES", 400);
    hold((0..cases).map(|_| scripts::line(&mut random)), 20);
}

#[test]
fn no_option_that_the_line_holds_runs_a_program_unseen() {
    hold(options::lines(), 150);
}

/// What the walker says that `rm` gets, each time; nothing when it does not know that of all of them.
fn told(command: &str) -> Option<HashSet<String>> {
    let found = simple_commands(command).ok()?;
    let mut told = HashSet::new();
    for command in &found {
        if command.name.is_dynamic() {
            return None;
        }
        if command.program() == Some("rm") {
            let words: Option<Vec<&str>> = command.args.iter().map(|arg| arg.literal()).collect();
            told.insert(words?.iter().map(|word| format!("<{word}>")).collect());
        }
    }
    Some(told)
}

#[test]
fn a_value_that_is_known_is_the_one_that_real_shells_have() {
    let mut random = Random::new(number("PINTLE_FUZZ_SEED", 6));
    let cases = number("PINTLE_FUZZ_CASES", 300);
    let plain = known::USES.iter().map(|to| format!("v=a; {to}"));
    let grown = (0..cases).map(|_| {
        let (from, to) = (random.pick(known::SETTERS), random.pick(known::USES));
        let before = if random.below(3) == 0 { random.pick(known::SETTERS) } else { "" };
        format!("{before} {from} {to}")
    });
    let sandbox = Sandbox::new();
    let (mut seen, mut is_known, mut wrong) = (HashSet::new(), 0, Vec::new());
    for line in plain.chain(grown).filter(|line| seen.insert(line.clone())) {
        let Some(told) = told(&line) else { continue };
        is_known += 1;
        for shell in ["bash", "sh"] {
            let runs = sandbox.runs(shell, &line).unwrap_or_default();
            if let Some(run) = runs.iter().find(|run| !told.contains(*run)) {
                wrong.push(format!("{shell} {line:?}: {run}, but {told:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(is_known > 40, "only {is_known} were known");
}
