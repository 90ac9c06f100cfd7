//! Finds the command inside a command: `sudo rm`, `sh -c 'rm'`, `find -exec rm`.

use super::later::{steers_git, steers_programs};
use super::wrappers::{Wrapper, is_opaque, is_shell, wrapper};
use super::{ShellError, SimpleCommand, Word};

/// How many programs may stand in front of each other (`env nice env …`).
const MAX_CHAIN: usize = 16;

/// Lists `command` and every command its arguments hold; strings that are scripts go to `scripts`.
pub(crate) fn expand(
    command: SimpleCommand,
    listed: &mut Vec<SimpleCommand>,
    scripts: &mut Vec<String>,
) -> Result<(), ShellError> {
    let mut pending = vec![(command, 0_usize)];
    while let Some((command, depth)) = pending.pop() {
        if depth > MAX_CHAIN {
            return Err(ShellError::TooDeep);
        }
        let mut inner = Inner { commands: Vec::new(), scripts };
        inner.look(&command);
        let inner = inner.commands;
        listed.push(command);
        pending.extend(inner.into_iter().rev().map(|c| (c, depth.saturating_add(1))));
    }
    Ok(())
}

struct Inner<'a> {
    commands: Vec<SimpleCommand>,
    scripts: &'a mut Vec<String>,
}

impl Inner<'_> {
    fn look(&mut self, command: &SimpleCommand) {
        let Some(program) = command.program() else { return };
        let args = command.args.as_slice();
        match program {
            "eval" => self.script_of(args, command),
            "watch" => self.watch(args, command),
            "trap" => self.trap(args, command),
            "find" | "fd" | "fdfind" => self.find(args),
            "su" | "runuser" | "script" => self.option_c(args, command),
            "flock"
                if args.iter().any(|a| a.text().starts_with("-c") || a.text() == "--command") =>
            {
                self.option_c(args, command);
            }
            "alias" if args.iter().any(|a| a.is_dynamic() || a.text().contains('=')) => {
                self.unknown(command)
            }
            "hash" | "enable" | "mapfile" | "readarray" | "bind" | "complete"
                if has_option(args, "pfCx") =>
            {
                self.unknown(command);
            }
            "." | "source"
                if args.first().is_none_or(|a| a.is_dynamic() || a.text().starts_with("/dev/")) =>
            {
                self.unknown(command);
            }
            // `git -c alias.x='!…' x` runs a shell.
            "git" if args.iter().any(|a| steers_git(a.text())) => self.unknown(command),
            // `command -v NAME` only asks where a program is.
            "command" if has_option(args, "vV") => {}
            "env"
                if args.iter().any(|a| {
                    a.text().starts_with("-S") || a.text().starts_with("--split-string")
                }) =>
            {
                self.unknown(command);
            }
            "busybox" | "toybox" if args.is_empty() => {}
            _ if is_shell(program) => self.shell(args, command),
            _ if is_opaque(program) => self.unknown(command),
            _ => {
                if let Some(wrapper) = wrapper(program) {
                    if wrapper.assigns && args.iter().any(|a| steers_programs(a.text())) {
                        self.unknown(command);
                    }
                    self.behind(wrapper, args, command);
                }
            }
        }
    }

    fn unknown(&mut self, command: &SimpleCommand) {
        self.commands.push(SimpleCommand::undecidable(command.summary()));
    }

    /// The arguments joined by spaces are a script.
    fn script_of(&mut self, args: &[Word], command: &SimpleCommand) {
        let words: Option<Vec<&str>> = args.iter().map(Word::literal).collect();
        match words {
            Some(words) => self.scripts.push(words.join(" ").trim_start_matches("-- ").to_owned()),
            None => self.unknown(command),
        }
    }

    fn watch(&mut self, args: &[Word], command: &SimpleCommand) {
        const OPTIONS: Wrapper = Wrapper {
            name: "watch",
            flags: "bcdegptwxC",
            valued: "nq",
            long_flags: &[
                "beep",
                "color",
                "differences",
                "errexit",
                "chgexit",
                "precise",
                "no-title",
                "exec",
            ],
            long_valued: &["interval", "equexit"],
            operands: 0,
            assigns: false,
        };
        match operands(&OPTIONS, args) {
            Some(rest) => self.script_of(rest, command),
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

    fn find(&mut self, args: &[Word]) {
        let mut rest = args;
        while let [first, tail @ ..] = rest {
            rest = tail;
            let runs = matches!(
                first.text(),
                "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch"
            );
            if !runs {
                continue;
            }
            let end = rest.iter().position(|w| matches!(w.text(), ";" | "+")).unwrap_or(rest.len());
            let (inner, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            self.run(inner.iter().map(|word| match word {
                Word::Literal(text) if text.contains("{}") => Word::Dynamic(text.clone()),
                other => other.clone(),
            }));
            rest = after;
        }
    }

    /// `su -c STRING`: the string is a script; without it, a person would be asked for commands.
    fn option_c(&mut self, args: &[Word], command: &SimpleCommand) {
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let text = arg.text();
            let attached = text.strip_prefix("--command=").or_else(|| {
                text.strip_prefix("-c").filter(|rest| !rest.is_empty() && !text.starts_with("--"))
            });
            let script = if text == "-c" || text == "--command" {
                args.next().and_then(Word::literal)
            } else if arg.is_dynamic() {
                None
            } else {
                match attached {
                    Some(rest) => Some(rest),
                    None => continue,
                }
            };
            match script {
                Some(script) => self.scripts.push(script.to_owned()),
                None => self.unknown(command),
            }
            return;
        }
        self.unknown(command);
    }

    fn shell(&mut self, args: &[Word], command: &SimpleCommand) {
        let mut is_string = false;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let Word::Literal(text) = arg else { return self.unknown(command) };
            match text.as_str() {
                "--help" | "--version" => return,
                "--" | "-" => {
                    return self.shell_operand(args.next(), is_string, command);
                }
                "--rcfile" | "--init-file" | "-o" | "+o" | "-O" | "+O" => {
                    args.next();
                }
                long if long.starts_with("--") => {}
                short if short.starts_with(['-', '+']) && short.len() > 1 => {
                    is_string |= short.starts_with('-') && short.contains('c');
                    if short.ends_with(['o', 'O']) {
                        args.next();
                    }
                    if short.contains('s') {
                        return self.unknown(command);
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
            Some(Word::Literal(file))
                if !file.starts_with("/dev/") && !file.starts_with("/proc/") => {}
            _ => self.unknown(command),
        }
    }

    fn behind(&mut self, wrapper: &Wrapper, args: &[Word], command: &SimpleCommand) {
        let Some(rest) = operands(wrapper, args) else { return self.unknown(command) };
        let more = wrapper.name == "xargs" && !rest.is_empty();
        let input = more.then(|| Word::Dynamic("$(input of xargs)".into()));
        self.run(rest.iter().cloned().chain(input));
    }

    fn run(&mut self, words: impl Iterator<Item = Word>) {
        let mut words = words;
        if let Some(name) = words.next() {
            self.commands.push(SimpleCommand::new(name, words.collect()));
        }
    }
}

/// The arguments from the inner command on; `None` if that cannot be told.
fn operands<'w>(wrapper: &Wrapper, args: &'w [Word]) -> Option<&'w [Word]> {
    let mut rest = args;
    while let [first, tail @ ..] = rest {
        let Word::Literal(text) = first else { break };
        if text == "--" {
            rest = tail;
            break;
        }
        if text == "-" && wrapper.name == "env" {
            rest = tail;
            continue;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, attached) =
                long.split_once('=').map_or((long, false), |(name, _)| (name, true));
            if wrapper.long_valued.contains(&name) {
                rest = if attached { tail } else { tail.get(1..)? };
            } else if wrapper.long_flags.contains(&name) {
                rest = tail;
            } else {
                return None;
            }
        } else if let Some(cluster) = text.strip_prefix('-').filter(|c| !c.is_empty()) {
            rest = match value_place(wrapper, cluster)? {
                ValuePlace::Next => tail.get(1..)?,
                ValuePlace::Here => tail,
            };
        } else {
            break;
        }
    }
    // An operand that is decided at run time may be none or several words.
    for _ in 0..wrapper.operands {
        match rest {
            [Word::Literal(_), tail @ ..] => rest = tail,
            [Word::Dynamic(written), tail @ ..] if written.starts_with('"') => rest = tail,
            [] => return Some(rest),
            _ => return None,
        }
    }
    if wrapper.assigns {
        while let [Word::Literal(text) | Word::Dynamic(text), tail @ ..] = rest {
            if !text.split_once('=').is_some_and(|(name, _)| is_name(name)) {
                break;
            }
            rest = tail;
        }
    }
    Some(rest)
}

enum ValuePlace {
    Here,
    Next,
}

fn value_place(wrapper: &Wrapper, cluster: &str) -> Option<ValuePlace> {
    let mut letters = cluster.chars();
    while let Some(letter) = letters.next() {
        if wrapper.valued.contains(letter) {
            return Some(if letters.as_str().is_empty() {
                ValuePlace::Next
            } else {
                ValuePlace::Here
            });
        }
        if !wrapper.flags.contains(letter) {
            return None;
        }
    }
    Some(ValuePlace::Here)
}

fn has_option(args: &[Word], letters: &str) -> bool {
    args.iter()
        .map(Word::text)
        .take_while(|t| *t != "--")
        .any(|t| t.starts_with('-') && !t.starts_with("--") && t.contains(|c| letters.contains(c)))
}

pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
