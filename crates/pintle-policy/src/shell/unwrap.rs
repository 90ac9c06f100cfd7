//! Finds the command inside a command: `sudo rm`, `sh -c 'rm'`, `find -exec rm`.

use super::escapes::escapes;
use super::git;
use super::later::{
    holds_a_program, is_steering_variable, names_a_steering_variable, programs_named,
    steers_programs,
};
use super::options::{has_option, leads_with_option, may_be_long, operands};
use super::runners::{self, Behind, joined, runs_by_option};
use super::scripts;
use super::verbs;
use super::wrappers::{
    FLOCK, WATCH, Wrapper, is_idle_alone, is_opaque, is_shell, only_looks, reads_as_bash_does,
    wrapper,
};
use super::{Scope, ShellError, SimpleCommand, Step, Word};
use crate::paths::normal;

/// How many programs may stand in front of each other (`env nice env …`).
const MAX_CHAIN: usize = 16;

/// Lists `command` and every command its arguments hold; what is left is the texts in it that are scripts, and the end of it.
pub(crate) fn expand(
    command: SimpleCommand,
    listed: &mut Vec<Step>,
) -> Result<Vec<Step>, ShellError> {
    let mut scripts = Vec::new();
    let mut pending = vec![(command, 0_usize)];
    let first = listed.len();
    while let Some((command, depth)) = pending.pop() {
        if depth > MAX_CHAIN {
            return Err(ShellError::TooDeep);
        }
        let mut inner = Inner { commands: Vec::new(), scripts: Vec::new() };
        inner.look(&command);
        let scope = if command.program() == Some("trap") { Scope::Later } else { Scope::Inside };
        for script in inner.scripts {
            scripts.extend([Step::Enter(scope), Step::Script(script), Step::Leave]);
        }
        if listed.len() == first.saturating_add(1) {
            listed.push(Step::Enter(Scope::Inside));
        }
        listed.push(Step::Command(command));
        pending.extend(inner.commands.into_iter().rev().map(|c| (c, depth.saturating_add(1))));
    }
    if listed.len() > first.saturating_add(1) {
        scripts.push(Step::Leave);
    }
    Ok(scripts)
}

struct Inner {
    commands: Vec<SimpleCommand>,
    scripts: Vec<String>,
}

impl Inner {
    fn look(&mut self, command: &SimpleCommand) {
        let Some(program) = command.program() else { return };
        let program = runners::usual_name(program);
        let args = command.args.as_slice();
        self.programs_in_variables(program, command);
        let dynamic = || args.iter().any(Word::is_dynamic);
        match program {
            "eval" => self.script_of(args, command),
            "watch" => self.watch(args, command),
            "trap" => self.trap(args, command),
            "find" => self.behind_each(runners::find(args), command),
            "fd" | "fdfind" => self.behind_each(runners::fd(args), command),
            "git" => self.behind_each(git::git(args), command),
            "cmake" => self.behind_each(runners::cmake(args), command),
            "su" | "runuser" | "sg" | "script" => self.option_c(args, command),
            "flock" => self.flock(args, command),
            "." | "source" if !args.first().is_some_and(is_a_file) => self.unknown(command),
            // `command -v NAME` only asks where a program is.
            "command" if leads_with_option(args, "vV") => {}
            "busybox" | "toybox" if args.is_empty() => {}
            _ if is_shell(program) => self.shell(program, args, command),
            _ if (is_opaque(program) && !only_looks(program, args))
                || sets_programs(program, args)
                || runs_by_option(program, args)
                || escapes(program, command) =>
            {
                self.unknown(command);
            }
            "alias" if dynamic() || args.iter().any(|a| a.text().contains('=')) => {
                self.unknown(command);
            }
            _ if scripts::is_read(program) && scripts::runs(command) => self.unknown(command),
            "enable" if !args.is_empty() => self.unknown(command),
            "hash" | "mapfile" | "readarray" | "bind" | "complete" | "jobs"
                if has_option(args, "pfCx") || dynamic() =>
            {
                self.unknown(command);
            }
            _ => {
                if let Some(verb) = program.strip_prefix("git-") {
                    self.behind_each(git::git_verb(verb, args), command);
                } else if let Some(behind) = verbs::after_a_verb(program, args) {
                    self.behind_each(behind, command);
                } else if let Some(wrapper) = wrapper(program) {
                    self.wrapped(wrapper, args, command);
                }
            }
        }
    }

    /// `CC=rm make`. What is set for the shell alone is looked at as well: the variable may be in the environment already.
    fn programs_in_variables(&mut self, program: &str, command: &SimpleCommand) {
        let args = command.args.as_slice();
        let declares = matches!(program, "declare" | "local" | "readonly" | "typeset");
        let exports = program == "export" || (declares && has_option(args, "x"));
        let sets = exports || declares || matches!(program, "cross-env" | "env" | "make" | "sudo");
        // Whoever is given a variable without a value gets what it is set to elsewhere.
        if exports && args.iter().any(|arg| holds_a_program(arg.text())) {
            self.unknown(command);
        }
        let is_kept = program.is_empty() || (declares && !exports);
        let words = command.assignments.iter().chain(args.iter().filter(|_| sets));
        for text in words.flat_map(programs_named) {
            match text.contains('$') {
                true if is_kept => {}
                true => self.unknown(command),
                false if is_kept && !is_plain_words(&text) => self.unknown(command),
                false => self.scripts.push(text),
            }
        }
        // The shells that it starts ask nobody, so they do not read what `ENV` names.
        let steers = |arg: &Word| steers_programs(arg.text()) && !arg.text().starts_with("ENV=");
        if program == "make" && args.iter().any(steers) {
            self.unknown(command);
        }
    }

    fn unknown(&mut self, command: &SimpleCommand) {
        self.commands.push(SimpleCommand::undecidable(command.summary()));
    }

    fn behind_each(&mut self, found: Vec<Behind>, command: &SimpleCommand) {
        for behind in found {
            match behind {
                Behind::Command(words) => self.run(words.into_iter()),
                Behind::Script(script) => self.scripts.push(script),
                Behind::Unknown => self.unknown(command),
            }
        }
    }

    /// The arguments joined by spaces are a script.
    fn script_of(&mut self, args: &[Word], command: &SimpleCommand) {
        match joined(args.iter()) {
            Behind::Script(text) => {
                self.scripts.push(text.trim_start_matches("-- ").to_owned());
            }
            _ => self.unknown(command),
        }
    }

    fn watch(&mut self, args: &[Word], command: &SimpleCommand) {
        match operands(&WATCH, args) {
            // With `-x` the words are a program; otherwise a shell reads them.
            Some(rest)
                if leads_with_option(args, "x") || args.iter().any(|a| a.text() == "--exec") =>
            {
                self.run(rest.iter().cloned());
            }
            Some(rest) => self.script_of(rest, command),
            None => self.unknown(command),
        }
    }

    /// `flock FILE -c STRING` or `flock FILE PROGRAM …`; with a descriptor alone it runs nothing.
    fn flock(&mut self, args: &[Word], command: &SimpleCommand) {
        match operands(&FLOCK, args) {
            Some([Word::Literal(option), rest @ ..]) if option == "-c" || option == "--command" => {
                self.script_of(rest, command);
            }
            Some(rest) => self.run(rest.iter().cloned()),
            None => self.unknown(command),
        }
    }

    fn trap(&mut self, args: &[Word], command: &SimpleCommand) {
        let mut rest = args;
        if let [Word::Literal(dashes), tail @ ..] = rest
            && dashes == "--"
        {
            rest = tail;
        }
        match rest {
            [] => {}
            [Word::Literal(action), ..] if action.starts_with('-') => {}
            [Word::Literal(action), ..] => self.scripts.push(action.clone()),
            [Word::Dynamic(_), ..] => self.unknown(command),
        }
    }

    /// `su -c STRING`: the string is a script; without it, a person would be asked for commands. Every word that may be such a
    /// string is read as one.
    fn option_c(&mut self, args: &[Word], command: &SimpleCommand) {
        let known = |t: &str| {
            matches!(
                t,
                "-" | "-l"
                    | "-m"
                    | "-p"
                    | "-q"
                    | "-e"
                    | "-a"
                    | "-f"
                    | "--login"
                    | "--quiet"
                    | "--return"
            )
        };
        let mut found = false;
        for (at, arg) in args.iter().enumerate() {
            let next = args.get(at.saturating_add(1));
            let text = arg.text();
            let cluster = text.strip_prefix('-').filter(|t| !t.starts_with('-'));
            if arg.is_dynamic() || text == "--" {
                return self.unknown(command);
            } else if may_be_long(text, "command") || cluster.is_some_and(|c| c.contains('c')) {
                found = true;
                let after = cluster.and_then(|c| c.split_once('c')).map(|(_, after)| after);
                let attached = text.split_once('=').map(|(_, value)| value);
                match after.filter(|a| !a.is_empty()).or(attached.filter(|_| cluster.is_none())) {
                    Some(script) => self.scripts.push(script.to_owned()),
                    None => {
                        self.script_of(next.map(std::slice::from_ref).unwrap_or_default(), command)
                    }
                }
            } else if text.starts_with('-') && !known(text) && command.program() != Some("script") {
                self.unknown(command);
            }
        }
        if !found {
            self.unknown(command);
        }
    }

    fn shell(&mut self, program: &str, args: &[Word], command: &SimpleCommand) {
        if !reads_as_bash_does(program) {
            return self.unknown(command);
        }
        let mut is_string = false;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let Word::Literal(text) = arg else { return self.unknown(command) };
            match text.as_str() {
                "--help" | "--version" => return,
                "--" | "-" => {
                    return self.shell_operand(args.next(), is_string, command);
                }
                "--rcfile" | "--init-file" => {
                    if !args.next().is_some_and(is_a_file) {
                        return self.unknown(command);
                    }
                }
                long if long.starts_with("--") => {}
                short if short.starts_with(['-', '+']) => {
                    // bash takes its long options with one dash too; `k` makes arguments to variables.
                    let long = short.get(1..).is_some_and(|name| BASH_LONG.contains(&name));
                    if long || short.len() == 1 || short.contains(['s', 'k']) {
                        return self.unknown(command);
                    }
                    is_string |= short.starts_with('-') && short.contains('c');
                    for _ in short.matches(['o', 'O']) {
                        if args.next().is_some_and(Word::is_dynamic) {
                            return self.unknown(command);
                        }
                    }
                }
                _ => return self.shell_operand(Some(arg), is_string, command),
            }
        }
        self.shell_operand(None, is_string, command);
    }

    /// The first operand of a shell: a script to read, or a file to run. With none it reads its input.
    fn shell_operand(&mut self, operand: Option<&Word>, is_string: bool, command: &SimpleCommand) {
        match operand {
            Some(Word::Literal(script)) if is_string => self.scripts.push(script.clone()),
            Some(file) if !is_string && is_a_file(file) => {}
            _ => self.unknown(command),
        }
    }

    fn wrapped(&mut self, wrapper: &Wrapper, args: &[Word], command: &SimpleCommand) {
        if wrapper.assigns && args.iter().any(|a| steers_programs(a.text())) {
            self.unknown(command);
        }
        let Some(rest) = operands(wrapper, args) else { return self.unknown(command) };
        // Without a program these start a shell.
        if rest.is_empty() && !is_idle_alone(wrapper.name) {
            return self.unknown(command);
        }
        if wrapper.name == "xargs" && !rest.is_empty() {
            return self.xargs(args, rest, command);
        }
        self.run(rest.iter().cloned());
    }

    /// The inner command gets words from the input: at its end, or wherever the replacement string stands.
    fn xargs(&mut self, args: &[Word], rest: &[Word], command: &SimpleCommand) {
        let own = args.len().saturating_sub(rest.len());
        let mut marks: Vec<String> = Vec::new();
        for (at, arg) in args.iter().take(own).enumerate() {
            let text = arg.text();
            if text == "--replace" {
                marks.push("{}".into());
            } else if let Some(mark) = text.strip_prefix("--replace=") {
                marks.push(mark.into());
            } else if let Some((_, mark)) = text.strip_prefix('-').and_then(|t| t.split_once('I')) {
                let next = args.get(at.saturating_add(1)).map(Word::text).unwrap_or_default();
                marks.push(if mark.is_empty() { next } else { mark }.to_owned());
            }
        }
        let is_marked = |text: &str| marks.iter().any(|mark| text.contains(mark.as_str()));
        // The shell and `xargs` both put something into the script.
        let is_mixed = |word: &Word| word.is_dynamic() && is_marked(word.text());
        let name = rest.first().map(|word| word.text().rsplit('/').next().unwrap_or_default());
        if name.is_some_and(scripts::is_read) && rest.iter().any(is_mixed) {
            self.unknown(command);
        }
        let replaced = |word: &Word| match word {
            Word::Literal(text) if is_marked(text) => Word::Dynamic(text.clone()),
            other => other.clone(),
        };
        let input = marks.is_empty().then(|| Word::Dynamic("$(input of xargs)".into()));
        self.run(rest.iter().map(replaced).chain(input));
    }

    fn run(&mut self, words: impl Iterator<Item = Word>) {
        let mut words = words;
        if let Some(name) = words.next() {
            self.commands.push(SimpleCommand::new(name, words.collect()));
        }
    }
}

/// Long options of bash, which it also takes with one dash.
const BASH_LONG: &[&str] = &[
    "debug",
    "debugger",
    "dump-po-strings",
    "dump-strings",
    "help",
    "init-file",
    "login",
    "noediting",
    "noprofile",
    "norc",
    "posix",
    "pretty-print",
    "rcfile",
    "restricted",
    "verbose",
    "version",
];

/// Whether the word names a script in a file, rather than an option or a file that is some program's output.
pub(super) fn is_a_file(word: &Word) -> bool {
    let Word::Literal(text) = word else { return false };
    let path = normal(text);
    let streams = ["stdin", "stdout", "stderr", "fd", "tty"];
    let parts: Vec<&str> = path.split('/').collect();
    let is_stream = parts.windows(2).any(|pair| {
        matches!(pair, ["dev", next] if streams.contains(next)) || matches!(pair, ["proc", _])
    });
    !is_stream
        && !text.starts_with('-')
        && !path.starts_with("/dev/")
        && !path.starts_with("/proc/")
}

/// Builtins that set variables: whether what they set decides what runs later, or cannot be known.
fn sets_programs(program: &str, args: &[Word]) -> bool {
    let target = |arg: &Word| arg.is_dynamic() || is_steering_variable(arg.text());
    match program {
        "export" | "declare" | "typeset" | "readonly" | "local" => {
            leads_with_option(args, "n") && program != "export"
                || args.iter().any(|arg| {
                    let named = arg.text().split_once('=').is_some_and(|(name, _)| is_plain(name));
                    steers_programs(arg.text()) || (arg.is_dynamic() && !named)
                })
        }
        "read" | "mapfile" | "readarray" | "getopts" => args.iter().any(target),
        "wait" => leads_with_option(args, "p") && args.iter().any(target),
        "printf" => match args {
            [Word::Dynamic(raw), ..] => raw.trim_start_matches('"').starts_with(['$', '`', '-']),
            [Word::Literal(option), name, ..] if option == "-v" => target(name),
            [Word::Literal(first), ..] => {
                first.strip_prefix("-v").is_some_and(is_steering_variable)
            }
            [] => false,
        },
        "let" => args.iter().any(|arg| names_a_steering_variable(arg.text())),
        "set" => has_option(args, "k") || args.iter().any(|arg| arg.text() == "keyword"),
        _ => false,
    }
}

/// Words that a shell reads as they are written.
fn is_plain_words(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || " /._+-=:,".contains(c))
}

/// Whether, after this, all that is set becomes part of the environment.
pub(super) fn exports_all(command: &SimpleCommand) -> bool {
    let program = command.program().unwrap_or_default();
    let letters =
        |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains('a');
    let says = |arg: &Word| arg.text() == "allexport" || letters(arg.text());
    (program == "set" || is_shell(program)) && command.args.iter().any(says)
}

/// A variable's name as written: `a`, `a+`, `a[1]`.
fn is_plain(name: &str) -> bool {
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    is_name(name.trim_end_matches('+'))
}

pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
