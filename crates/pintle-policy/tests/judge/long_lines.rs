//! Lines that are made to take long: each is judged to its end, or refused as too long (R11.1).

use pintle_policy::shell::{MAX_COMMAND_BYTES, ShellError, simple_commands};
use pintle_policy::{Guard, GuardKind, Reach};
use serde_json::json;

type Part = fn(usize) -> String;

/// As many of these parts as fit into half of the longest line that is read.
fn many(part: impl Fn(usize) -> String) -> String {
    let mut line = String::new();
    for part in (0..).map(part) {
        if line.len() + part.len() > MAX_COMMAND_BYTES / 2 {
            break;
        }
        line.push_str(&part);
    }
    line
}

fn nested(open: &str, close: &str) -> String {
    let depth = (MAX_COMMAND_BYTES / 2) / (open.len() + close.len());
    format!("{}a{}", open.repeat(depth), close.repeat(depth))
}

fn rows() -> Vec<String> {
    let rows: &[Part] = &[
        |_| "a;".into(),
        |_| "a\n".into(),
        |_| "a&".into(),
        |_| "a||b&&c;".into(),
        |n| format!("v{n}=a;"),
        |n| format!("v{n}=a; cat $v{n};"),
        |n| format!("v{}=$v{n}$v{n};", n + 1),
        |n| format!("v{n}=$((v{}+1));", n + 1),
        |n| format!("x=a{n}; foo $x;"),
        |n| format!("echo a{n}/b | xargs cat;"),
        |n| format!("echo {n} | vi -;"),
        |n| format!("cat <<< a{n};"),
        |n| format!("f{n}() {{ cat $1; }};f{n} a;"),
        |n| format!("cat $(echo a{n});"),
        |n| format!("sh -c 'a{n}';"),
        |_| "cd a||cd b;".into(),
        |_| "if a;then b;fi;".into(),
        |_| "case x in a) b;; esac;".into(),
        |_| "for i in a;do b;done;".into(),
        |_| "# a\n".into(),
    ];
    rows.iter().map(many).collect()
}

fn words() -> Vec<String> {
    let words: &[(&str, Part)] = &[
        ("echo", |n| format!(" w{n}")),
        ("cat", |n| format!(" w{n}/b")),
        ("cat", |_| " $v".into()),
        ("ls", |_| " *".into()),
        ("ls", |_| " > a".into()),
        ("ls", |_| " 2>&1".into()),
        ("echo", |_| " $(a)".into()),
        ("echo", |_| " {a,b}".into()),
        ("a", |_| "|a".into()),
        ("a", |_| " && a".into()),
        ("export", |n| format!(" v{n}=a")),
        ("read", |n| format!(" v{n}")),
        ("v=a", |n| format!(" v{n}=a")),
        ("echo $((1", |_| "+1".into()),
        ("sed", |_| " -es/a/b/".into()),
    ];
    let brackets = [("$(", ")"), ("(", ")"), ("{ ", ";}"), ("if a;then ", ";fi"), ("${a:-", "}")];
    let words = words.iter().map(|(first, word)| match *first {
        "v=a" => format!("v=a{} ls", many(word)),
        "echo $((1" => format!("echo $((1{}))", many(word)),
        first => format!("{first}{}", many(word)),
    });
    let nested = brackets.iter().map(|(open, close)| nested(open, close));
    let document = format!("cat <<E\n{}\nE", many(|_| "| a | b |\n".into()));
    words.chain(nested).chain([document]).collect()
}

fn hides_nothing(shapes: Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let terminal = crate::spec("terminal");
    let guard = Guard::new("*", GuardKind::Shell, &[], &["rm -rf *".into()], "agent.json:7");
    let guard = guard.unwrap();
    for shape in shapes {
        let input = json!({ "command": format!("{shape}\nrm -rf x") });
        let start: String = shape.chars().take(40).collect();
        assert!(
            guard.judge(&terminal, &input, &Reach::of(&terminal, &input, folder.path())).is_some(),
            "{start}"
        );
    }
}

#[test]
fn no_line_of_many_commands_hides_what_stands_at_its_end() {
    hides_nothing(rows());
}

#[test]
fn no_command_of_many_words_hides_what_stands_after_it() {
    hides_nothing(words());
}

#[test]
fn what_is_refused_as_too_long_says_so_and_what_to_do() {
    let told = |line: String| simple_commands(&line).map_err(|error| error.to_string());
    assert_eq!(
        told("a;".repeat(2_001)).unwrap_err(),
        "the command has more than 2000 commands, too long to judge: put it in a script file"
    );
    assert_eq!(
        told("a | ".repeat(600) + "a").unwrap_err(),
        "the command has more than 500 commands in one pipe, too long to judge: put it in a script file"
    );
    assert!(matches!(simple_commands(&"(a);".repeat(2_100)), Err(ShellError::TooMany(2_000, _))));
}

#[test]
fn a_long_text_in_a_line_is_not_a_long_line() {
    let rows = many(|_| "| a; b | `c` && d |\n".into());
    for line in [format!("cat > table.md <<'E'\n{rows}E"), "ls; ".repeat(1_900)] {
        assert!(simple_commands(&line).is_ok());
    }
}
