//! What the shell walker finds, row by row (R11.1).

use pintle_policy::shell::{ShellError, Word, simple_commands};
use proptest::strategy::Strategy as _;
use serde_json::Value;

/// The programs found, in one line: `?` for one decided at run time, `!` when the command is refused, `-` for a bare
/// assignment or redirection.
fn programs(command: &str) -> String {
    match simple_commands(command) {
        Err(_) => "!".into(),
        Ok(found) => {
            let names: Vec<&str> = found
                .iter()
                .map(|c| match &c.name {
                    Word::Dynamic(_) => "?",
                    Word::Literal(name) if name.is_empty() => "-",
                    Word::Literal(name) => name,
                })
                .collect();
            names.join(" ")
        }
    }
}

/// Groups of rows: the command, and what must be found in it.
const TABLE: &str = include_str!("../evasions.json");

fn rows() -> Vec<(String, String)> {
    let groups: Vec<Value> = serde_json::from_str(TABLE).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = groups.iter().flat_map(|group| group["rows"].as_array().unwrap());
    rows.map(|row| (text(&row[0]), text(&row[1]))).collect()
}

// R11.1
#[test]
fn every_simple_command_is_found_whatever_it_hides_in() {
    let rows = rows();
    let wrong: Vec<String> = rows
        .iter()
        .filter(|(command, expected)| programs(command) != *expected)
        .map(|(command, expected)| {
            format!(
                "{command:?}\n  expected {expected:?}\n  found    {:?} {:?}",
                programs(command),
                simple_commands(command).err()
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert!(rows.len() >= 60);
}

#[test]
fn arguments_and_redirections_arrive_decoded() {
    let found = simple_commands("A=1 cat 'a b' $X <in 2>&1 >>\"out file\" extra").unwrap();
    let cat = &found[0];
    assert_eq!(cat.assignments, [Word::Literal("A=1".into())]);
    let args: Vec<&str> = cat.args.iter().map(Word::text).collect();
    assert_eq!(args, ["a b", "$X", "extra"]);
    let redirects: Vec<(&str, &str, bool)> =
        cat.redirects.iter().map(|r| (r.operator.as_str(), r.target.text(), r.writes())).collect();
    assert_eq!(redirects, [("<", "in", false), (">&", "1", false), (">>", "out file", true)]);
}

#[test]
fn quotes_and_escapes_are_resolved_and_what_is_decided_at_run_time_is_said_to_be() {
    let word = |raw: &str| simple_commands(&format!("echo {raw}")).unwrap()[0].args[0].clone();
    for (raw, expected) in [
        ("rm", "rm"),
        ("r\\m", "rm"),
        ("'r'm", "rm"),
        ("\"r\"'m'", "rm"),
        ("$'rm'", "rm"),
        ("$'\\x72\\155'", "rm"),
        ("$'\\u0072m'", "rm"),
        ("$'rm\\0junk'", "rm"),
        ("\"a\\b\\\"c\"", "a\\b\"c"),
        ("{}", "{}"),
        ("a~", "a~"),
    ] {
        assert_eq!(word(raw), Word::Literal(expected.into()), "{raw}");
    }
    for raw in [
        "$X", "\"$X\"", "a${X}", "`x`", "$(x)", "r?", "/bin/r*", "[r]m", "{rm,x}", "~/x", "a=~/x",
        "<(x)",
    ] {
        assert!(word(raw).is_dynamic(), "{raw}");
    }
}

#[test]
fn words_after_a_here_document_marker_are_arguments() {
    let found = simple_commands("rm <<E -rf /\nE\n").unwrap();
    let args: Vec<&str> = found[0].args.iter().map(Word::text).collect();
    assert_eq!(args, ["-rf", "/"]);
}

#[test]
fn nesting_is_bounded_and_never_overflows_the_stack() {
    for (open, close) in [
        ("$(", ")"),
        ("(", ")"),
        ("\"$(", ")\""),
        ("{ ", ";}"),
        ("$((", "))"),
        ("${a:-", "}"),
        ("`", "`"),
    ] {
        for depth in [10, 1_000, 10_000] {
            let command = format!("echo {}x{}", open.repeat(depth), close.repeat(depth));
            let _ = simple_commands(&command);
        }
    }
    assert_eq!(simple_commands(&format!("{}rm x", "eval ".repeat(20))), Err(ShellError::TooDeep));
    let chain = format!("{} rm x", "env ".repeat(10_000));
    assert_eq!(simple_commands(&chain), Err(ShellError::TooDeep));
    assert!(matches!(simple_commands(&"a".repeat(70_000)), Err(ShellError::TooLong(70_000))));
}

// R11.1
#[test]
fn a_long_line_with_many_words_that_may_be_options_is_judged_all_the_same() {
    let said: String = (0..900).map(|n| format!("echo -w{n};")).collect();
    for line in [
        format!("{said}{}", "tar cf a \"$x\" f;".repeat(900)),
        format!("git rebase {}", "\"$x\" ".repeat(5_000)),
        format!("tar cf a {}", "$(echo \"$x\") ".repeat(600)),
        "make \"$x\";".repeat(1_900),
        "echo \"$x\";".repeat(1_900),
    ] {
        assert!(simple_commands(&line).is_ok());
    }
}

proptest::proptest! {
    #![proptest_config(crate::random::cases(400))]

    // R11.1
    #[test]
    fn no_character_outside_ascii_hides_the_command_after_it(
        open in proptest::sample::select(vec!["", "${", "$((", "[[ a =~ ", "case x in ", "${x:", "@(", "x["]),
        letters in "[\\x{80}-\\x{10FFFF}]{1,6}",
        close in proptest::sample::select(vec!["", "}", "))", "]]", ")"]),
    ) {
        let line = format!("echo {open}{letters}{close}\nrm x");
        if let Ok(commands) = simple_commands(&line) {
            let found = commands.iter().any(|command| command.program() == Some("rm"));
            proptest::prop_assert!(found, "{line:?}: {commands:?}");
        }
    }

    #[test]
    fn no_shell_like_input_makes_the_walker_panic(
        parts in proptest::collection::vec(
            proptest::prop_oneof![proptest::sample::select(PIECES).prop_map(str::to_owned), "\\PC{0,6}"],
            0..24,
        )
    ) {
        let _ = simple_commands(&parts.concat());
    }
}

const PIECES: &[&str] = &[
    "rm",
    " ",
    "-rf",
    "$(",
    ")",
    "`",
    "\"",
    "'",
    "\\",
    "\n",
    "<<E",
    "E\n",
    "|",
    "&&",
    ";",
    "{",
    "}",
    "${x:-",
    "$((",
    "))",
    "<(",
    ">",
    "sh -c ",
    "eval ",
    "env ",
    "find . -exec ",
    "x=",
    "[",
    "]",
    "case x in ",
    "esac",
    "if ",
    "then ",
    "fi",
    "é",
    "$'",
    "#",
];
