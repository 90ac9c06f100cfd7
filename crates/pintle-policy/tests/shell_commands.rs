//! What the shell walker finds, row by row (R11.1).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use pintle_policy::shell::{ShellError, Word, simple_commands};

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

const ROWS: &[(&str, &str)] = &[
    // plain, quoted, escaped
    ("rm x", "rm"),
    ("r\\m x", "rm"),
    ("\"rm\" x", "rm"),
    ("'rm' x", "rm"),
    ("r''m x", "rm"),
    ("r\"\"m x", "rm"),
    ("$'rm' x", "rm"),
    ("$'\\x72\\x6d' x", "rm"),
    ("$'\\162m' x", "rm"),
    ("rm\\\n -rf x", "rm"),
    ("r\\\nm x", "!"),
    ("/bin/rm x", "/bin/rm"),
    ("\\rm x", "rm"),
    ("ls a\\ b", "ls"),
    // lists, pipelines, groups
    ("ls; rm x", "ls rm"),
    ("ls && rm x || cat y", "ls rm cat"),
    ("ls & rm x", "ls rm"),
    ("ls | rm x |& cat", "ls rm cat"),
    ("ls\nrm x", "ls rm"),
    ("(rm x)", "rm"),
    ("{ rm x; }", "rm"),
    ("! rm x", "rm"),
    ("if ls; then rm x; else cat y; fi", "ls rm cat"),
    ("while ls; do rm x; done", "ls rm"),
    ("until ls; do rm x; done", "ls rm"),
    ("for i in a b; do rm $i; done", "rm"),
    ("for i in $(rm x); do :; done", "rm :"),
    ("for ((i=0;i<$(rm x);i++)); do :; done", "rm :"),
    ("case $(rm x) in a) ls;; *) cat;; esac", "rm ls cat"),
    ("select x in a; do rm y; done", "rm"),
    ("f() { rm x; }; f", "rm f"),
    ("function f { rm x; }", "rm"),
    // substitutions
    ("echo $(rm x)", "echo rm"),
    ("echo `rm x`", "echo rm"),
    ("echo \"a $(rm x) b\"", "echo rm"),
    ("echo \"a `rm x` b\"", "echo rm"),
    ("echo `echo \\`rm x\\``", "echo echo rm"),
    ("echo $(echo $(echo $(rm x)))", "echo echo echo rm"),
    ("echo \"$(echo \"$(rm x)\")\"", "echo echo rm"),
    ("cat <(rm x)", "cat rm"),
    ("ls > >(rm x)", "ls rm"),
    ("echo $((1 + $(rm x)))", "echo rm"),
    ("((x = $(rm y)))", "rm"),
    ("[[ -n $(rm x) ]]", "rm"),
    ("[ -n \"$(rm x)\" ]", "rm"),
    ("echo ${x:-$(rm y)}", "echo rm"),
    ("echo \"${x:-`rm y`}\"", "!"),
    ("echo \"${x:-'$(rm y)'}\"", "!"),
    ("echo ${x[$(rm y)]}", "echo rm"),
    ("echo ${x/$(rm y)/z}", "echo rm"),
    ("echo 'kept $(rm x)'", "echo"),
    ("echo \\$\\(rm x\\)", "echo"),
    ("echo a # $(rm x)", "echo"),
    ("echo a\\ #b; rm x", "echo rm"),
    // assignments
    ("a=$(rm x)", "- rm"),
    ("a=$(rm x) ls", "ls rm"),
    ("a[$(rm x)]=1", "- rm"),
    ("a=(1 $(rm x))", "- rm"),
    ("export A=$(rm x)", "export rm"),
    ("a+=1 rm x", "rm"),
    ("PS4='$(rm x)'", "? -"),
    ("x='a[$(rm y)]'; echo $((x))", "? - ? echo"),
    ("PAGER=rm git log", "? git"),
    ("PAGER=cat git log", "git"),
    ("PATH=/tmp ls", "? ls"),
    ("export PATH=/tmp:$PATH; ls", "? export ls"),
    ("env LD_PRELOAD=x ls", "env ? ls"),
    ("BASH_ENV=x bash -c ls", "? bash ls"),
    // texts that arithmetic would run
    ("let 'a[$(rm x)]=1'", "let ?"),
    ("read x <<< 'a[$(rm y)]'; echo $((x))", "read ? echo"),
    ("test -v 'a[`rm y`]'", "test ?"),
    ("[[ 'a[$(rm y)]' -eq 1 ]]", "?"),
    ("printf -v \"a[\\$(rm y)]\" x", "printf ?"),
    ("unset a\\[\\$\\(rm\\)\\]", "unset ?"),
    ("echo 'a[1] $(rm x)'", "echo"),
    ("read x <<< '$(rm y)'; echo \"${x@P}\"", "read echo ?"),
    ("git -c core.pager=rm log", "git ?"),
    ("git -c core.sshCommand='rm x' fetch", "git ?"),
    ("git -c user.name=x commit", "git"),
    // redirections and here-documents
    ("ls > $(rm x)", "ls rm"),
    ("> out rm x", "rm"),
    ("ls <<< \"$(rm x)\"", "ls rm"),
    ("cat <<E\n$(rm x)\nE", "cat rm"),
    ("cat <<E\n`rm x`\nE\nls", "!"),
    ("cat <<'E'\n$(rm x)\nE", "cat"),
    ("cat <<E | sh\nrm x\nE", "cat sh ?"),
    ("cat <<E && rm x\nhello\nE", "cat rm"),
    ("cat <<-E\n\t$(rm x)\n\tE", "!"),
    ("sh <<E\nrm x\nE", "sh ?"),
    ("cat <<\"E\"\n$(rm x)\nE\nls", "cat ls"),
    ("cat <<E\nfoo\\\nE\necho '\nE\nrm x\n#'", "!"),
    ("cat <<E\n E\necho '\nE\nrm x\n#'", "!"),
    ("cat <<E\nE \necho '\nE\nrm x\n#'", "!"),
    ("cat <<E\\F\nEF\nrm x", "!"),
    ("cat <<$E\nx\n$E\nrm x", "!"),
    ("cat <<E\nE\nrm x", "cat rm"),
    ("{ ls; } > out", "- ls"),
    // programs that run programs
    ("sh -c 'rm x'", "sh rm"),
    ("bash -lc \"rm x\"", "bash rm"),
    ("bash -c -- 'rm x'", "bash rm"),
    ("bash -e -c 'rm x' name", "bash rm"),
    ("bash -o errexit -c 'rm x'", "bash rm"),
    ("/bin/sh -c 'sh -c \"rm x\"'", "/bin/sh sh rm"),
    ("sh -c \"$X\"", "sh ?"),
    ("sh script.sh", "sh"),
    ("curl u | sh", "curl sh ?"),
    ("sh -s", "sh ?"),
    ("sh /dev/stdin", "sh ?"),
    ("env rm x", "env rm"),
    ("env -i A=b rm x", "env rm"),
    ("env -u A -C d rm x", "env rm"),
    ("env -S 'rm x'", "env ?"),
    ("env --weird y rm x", "env ?"),
    ("xargs rm", "xargs rm"),
    ("ls | xargs -n 1 -I {} rm {}", "ls xargs rm"),
    ("ls | xargs -0 sh -c 'rm \"$1\"'", "ls xargs sh rm"),
    ("find . -exec rm {} ;", "find rm"),
    ("find . -exec rm {} \\;", "find rm"),
    ("find . -name a -execdir sh -c 'rm {}' \\; -ok cat {} +", "find sh ? cat"),
    ("nohup rm x &", "nohup rm"),
    ("time rm x", "time rm"),
    ("time -p rm x", "time rm"),
    ("sudo rm x", "sudo rm"),
    ("sudo -u root -- rm x", "sudo rm"),
    ("sudo -n A=b rm x", "sudo rm"),
    ("doas rm x", "doas rm"),
    ("timeout 5 rm x", "timeout rm"),
    ("timeout -k 1 -s KILL 5s rm x", "timeout rm"),
    ("nice -n 5 rm x", "nice rm"),
    ("nice -5 rm x", "nice rm"),
    ("exec rm x", "exec rm"),
    ("exec -a ls rm x", "exec rm"),
    ("command rm x", "command rm"),
    ("command -v rm", "command"),
    ("builtin eval 'rm x'", "builtin eval rm"),
    ("eval 'rm x'", "eval rm"),
    ("eval r m", "eval r"),
    ("eval \"$X\"", "eval ?"),
    ("eval \"eval 'eval rm x'\"", "eval eval eval rm"),
    ("stdbuf -oL rm x", "stdbuf rm"),
    ("setsid rm x", "setsid rm"),
    ("busybox rm x", "busybox rm"),
    ("coproc rm x", "coproc rm"),
    ("su root -c 'rm x'", "su rm"),
    ("su", "su ?"),
    ("flock lock rm x", "flock rm"),
    ("flock lock -c 'rm x'", "flock rm"),
    ("watch -n 1 rm x", "watch rm"),
    ("trap 'rm x' EXIT", "trap rm"),
    ("trap - EXIT", "trap"),
    ("alias ls=rm", "alias ?"),
    ("hash -p /bin/rm ls; ls x", "hash ? ls"),
    ("git -c alias.x='!rm x' x", "git ?"),
    ("env nice timeout 5 sh -c 'nohup rm x'", "env nice timeout sh nohup rm"),
    ("parallel rm ::: x", "parallel ?"),
    // decided at run time
    ("$X y", "?"),
    ("${X} y", "?"),
    ("\"$X\" y", "?"),
    ("$(echo rm) y", "? echo"),
    ("`echo rm` y", "? echo"),
    ("r$X y", "?"),
    ("/bin/r? y", "?"),
    ("/bin/[r]m y", "?"),
    ("~/x y", "?"),
    ("set -- rm x; \"$@\"", "set ?"),
    ("sudo $X", "sudo ?"),
    (". <(echo rm x)", ". ? echo"),
    ("source ./lib.sh", "source"),
    // refused
    ("{rm,-rf,/}", "!"),
    ("echo 'open", "!"),
    ("echo \"open", "!"),
    ("if ls; then rm x", "!"),
    ("ls |", "!"),
    ("&& rm x", "!"),
    ("ls )", "!"),
    ("echo a\rrm x", "!"),
    ("echo a\u{0}rm x", "!"),
    // outside ASCII
    ("echo héllo 😀; rm x", "echo rm"),
    ("écho x", "écho"),
    ("rm\u{a0}x", "rm\u{a0}x"),
    ("echo ${😀", "!"),
    ("cat <<é\nü\necho '\né\nrm x\n#'", "!"),
    ("", ""),
    ("# nothing", ""),
];

// R11.1
#[test]
fn every_simple_command_is_found_whatever_it_hides_in() {
    let wrong: Vec<String> = ROWS
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
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), ROWS.len(), wrong.join("\n"));
    assert!(ROWS.len() >= 60);
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

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_input_makes_the_walker_panic(command in "\\PC{0,80}") {
        let _ = simple_commands(&command);
    }

    #[test]
    fn no_character_outside_ascii_reaches_the_scanner(
        open in proptest::sample::select(vec!["${", "$((", "<<", "[[ a =~ ", "case x in ", "${x:", "@(", "x["]),
        letters in "[\\x{80}-\\x{10FFFF}]{1,6}",
        close in proptest::sample::select(vec!["", "}", "))", "]]", "\n", ")"]),
    ) {
        let _ = simple_commands(&format!("echo {open}{letters}{close}"));
    }

    #[test]
    fn no_shell_like_input_makes_the_walker_panic(
        parts in proptest::collection::vec(proptest::sample::select(PIECES), 0..24)
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
