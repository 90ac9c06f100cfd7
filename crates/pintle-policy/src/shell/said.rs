//! What the commands of a line print of its own texts.

use super::held::{DEEPEST, Line, MOST, endings, open};
use super::pieces::OPEN;
use super::values::followed_by_each;
use super::{SimpleCommand, Word, listed, unescaped};

impl Line<'_> {
    /// What a substitution prints.
    pub(super) fn printed(&self, script: &str, depth: usize) -> Option<Vec<String>> {
        if script == "input of xargs" {
            return Some(open());
        }
        if depth > DEEPEST {
            return None;
        }
        self.takes(script.len().saturating_add(200))?;
        let commands = listed(script).ok()?;
        let mut said: Vec<String> = Vec::new();
        let mut speakers = 0_usize;
        let mut is_changed = false;
        let mut is_mangled = false;
        for command in &commands {
            let program = command.program().unwrap_or_default();
            if speaks(command) {
                said.extend(self.said_by(command)?);
                speakers = speakers.saturating_add(1);
            }
            // They print what variables hold.
            if matches!(program, "declare" | "env" | "export" | "printenv" | "set" | "typeset") {
                let is_own = |arg: &Word| arg.text().starts_with('-') || arg.text().contains('=');
                if program != "env" || command.args.iter().all(is_own) {
                    said.extend(self.values.texts().map(str::to_owned));
                    speakers = speakers.saturating_add(1);
                }
                is_changed = true;
            }
            if let ("printenv", [name]) = (program, command.args.as_slice()) {
                said.extend(self.variable(name.literal()?, depth.saturating_add(1))?);
                speakers = speakers.saturating_add(1);
            } else if !matches!(program, "" | "cat" | "echo" | "printf" | "tee") {
                is_changed = true;
                is_mangled |= !keeps_letters(program);
                self.brings_nothing(command)?;
            }
        }
        let is_own = |text: &String| text.contains(|c| c != OPEN);
        let own = |text: &String| match is_mangled {
            true => is_own(text),
            false => text.contains(['-', '\\']),
        };
        match speakers {
            0 => Some(open()),
            1 if !is_changed => Some(said),
            // Two of them, or one whose text is changed, may print what neither says.
            _ => (!said.iter().any(own)).then(open),
        }
    }

    /// The texts that a command prints of its own accord; `None` when that is anything.
    pub(crate) fn said_by(&self, command: &SimpleCommand) -> Option<Vec<String>> {
        let strings = command.redirects.iter().filter(|redirect| redirect.operator == "<<<");
        let given = strings.map(|redirect| &redirect.target).chain(&command.documents);
        let mut said = Vec::new();
        for word in given {
            said.extend(self.texts(word)?);
        }
        let program = command.program().unwrap_or_default();
        // `getopts a: x -a TEXT`, `[[ TEXT =~ … ]]`
        if matches!(program, "getopts" | "") {
            for arg in &command.args {
                said.extend(self.texts(arg)?.iter().flat_map(|text| endings(text)));
            }
        }
        let is_option = |word: &&Word| match program {
            "echo" => matches!(word.text(), "-e" | "-n" | "-E" | "-ne" | "-en"),
            _ => word.text() == "--",
        };
        if matches!(program, "echo" | "printf") {
            let args: Vec<&Word> = command.args.iter().skip_while(is_option).collect();
            let mut whole = vec![String::new()];
            let mut each = Vec::new();
            for (at, arg) in args.iter().enumerate() {
                let texts = self.texts(arg)?;
                whole = match (program, at) {
                    (_, 0) => texts.clone(),
                    ("printf", _) => filled(&whole, &texts),
                    _ => followed_by_each(followed_by_each(whole, &[" ".to_owned()]), &texts),
                };
                if program == "printf" {
                    each.extend(texts);
                }
                if whole.len() > MOST {
                    return None;
                }
            }
            said.extend(whole);
            said.extend(each);
        }
        let decoded: Vec<String> = said.iter().filter_map(|text| unescaped(text)).collect();
        said.extend(decoded);
        said.sort_unstable();
        said.dedup();
        (said.len() <= MOST).then_some(said)
    }

    /// Nothing if the command may put a dash of the line's own into what it prints.
    fn brings_nothing(&self, command: &SimpleCommand) -> Option<()> {
        let program = command.program().unwrap_or_default();
        let mut texts = Vec::new();
        for arg in &command.args {
            texts.extend(self.texts(arg)?);
        }
        let is_plain = |text: &String| !text.contains(['-', '\\']);
        let is_option = |text: &str| text.starts_with('-') && text.len() < 4;
        let shows = |pair: &[String]| match pair {
            [option, format] if option.ends_with("printf") => {
                format.starts_with('-') || !is_lines(format)
            }
            _ => false,
        };
        let brings = |text: &String| match program {
            "sed" => !is_option(text) && !replaces_plainly(text),
            "tr" => !is_option(text) && text.contains("\\0"),
            "awk" | "gawk" | "jq" | "node" | "perl" | "python" | "python3" | "ruby" | "sh"
            | "bash" => !is_option(text) && !is_plain(text),
            "date" => text.starts_with("+-"),
            "expr" | "seq" => text.len() > 2 && text.contains('-'),
            "git" => text.split_once('=').is_some_and(|(_, format)| {
                format.starts_with('-') || format.contains("%x") || format.contains(":-")
            }),
            _ => false,
        };
        let to_a_dash = program == "tr"
            && texts.last().is_some_and(|text| text.starts_with('-') || text.ends_with('-'));
        let shows = program == "find" && texts.windows(2).any(shows);
        (!to_a_dash && !shows && !texts.iter().any(brings)).then_some(())
    }
}

/// Whether nothing but lines and tabs is escaped in it.
fn is_lines(format: &str) -> bool {
    format.split('\\').skip(1).all(|after| after.starts_with(['n', 't', '0']))
        && !format.contains("\\05")
}

/// Whether the command prints texts of the line.
fn speaks(command: &SimpleCommand) -> bool {
    let is_given = command.redirects.iter().any(|redirect| redirect.operator == "<<<");
    matches!(command.program(), Some("echo" | "printf"))
        || is_given
        || !command.documents.is_empty()
}

/// Whether what the program prints has no letters but those that it reads, in their order.
fn keeps_letters(program: &str) -> bool {
    const KEEP: &[&str] = &[
        "awk", "basename", "column", "cut", "dirname", "env", "fold", "gawk", "grep", "head", "jq",
        "nl", "sed", "sort", "tail", "tr", "uniq", "wc", "xargs",
    ];
    KEEP.contains(&program)
}

/// The formats of `printf` with a text in the place of the first `%s` of each.
fn filled(formats: &[String], texts: &[String]) -> Vec<String> {
    let fill = |format: &String| -> Vec<String> {
        let sign = format.char_indices().find_map(|(at, c)| {
            let next = format.get(at.saturating_add(1)..)?.chars().next()?;
            (c == '%' && next != '%').then_some(at)
        });
        let Some((before, rest)) = sign.and_then(|at| format.split_at_checked(at)) else {
            return vec![format.clone()];
        };
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |at| at + 1);
        let after = rest.get(end..).unwrap_or_default();
        texts.iter().map(|text| format!("{before}{text}{after}")).collect()
    };
    formats.iter().flat_map(fill).collect()
}

/// `s/^v//`, `s/-.*//`, `1p`: nothing that it puts in is a dash.
fn replaces_plainly(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('s') else { return !text.contains(['-', '\\', 's']) };
    let Some(sign) = rest.chars().next() else { return true };
    let parts: Vec<&str> = rest.get(sign.len_utf8()..).unwrap_or_default().split(sign).collect();
    match parts.as_slice() {
        [_, put_in, _] => {
            let is_digit = |c: char| c.is_ascii_digit();
            !put_in.contains('-')
                && put_in.split('\\').skip(1).all(|after| after.starts_with(is_digit))
        }
        _ => false,
    }
}
