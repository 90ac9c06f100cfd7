//! What real shells run is listed or refused (R11.1): commands grown from a grammar go to `sh` and `bash`, in an empty folder
//! in which `rm` only leaves a mark, and to the walker.
//!
//! The seed is fixed, so a run repeats. `PINTLE_FUZZ_CASES=20000 PINTLE_FUZZ_SEED=7` looks further.

mod grammar;
mod sandbox;
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
