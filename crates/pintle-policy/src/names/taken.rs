//! Which commands take names of files from their input, and how these are told apart there.

use crate::shell::{SimpleCommand, Word};

/// What `xargs` puts a name in place of, other than `{}`.
pub(super) fn marks(command: &SimpleCommand) -> Vec<String> {
    let args = command.args.iter().map(Word::text);
    let pairs = command.args.windows(2).filter_map(|pair| match pair {
        [option, mark] if option.text().starts_with('-') && option.text().ends_with('I') => {
            Some(mark.text())
        }
        _ => None,
    });
    let glued = args.filter_map(|arg| {
        let short = arg.strip_prefix('-').and_then(|rest| rest.split_once(['I', 'i']));
        short.map(|(_, mark)| mark).or_else(|| arg.split_once("--replace=").map(|(_, mark)| mark))
    });
    let is_one = |mark: &&str| !mark.is_empty() && *mark != "{}";
    let is_xargs = command.program() == Some("xargs");
    let marks = pairs.chain(glued).filter(is_one).map(str::to_owned);
    marks.filter(|_| is_xargs).collect()
}

/// Whether the command takes names of files from its input.
pub(super) fn takes_names(command: &SimpleCommand) -> bool {
    let is = |arg: &Word| {
        let text = arg.text();
        let long =
            ["--files-from", "--files0-from", "--pathspec-from-file", "--from-file", "--stdin"];
        long.iter().any(|option| text.starts_with(option)) || matches!(text, "-@" | "-T-" | "-i-")
    };
    let lists = |pair: &[Word]| {
        matches!(pair, [option, from]
            if option.text().starts_with('-') && option.text().ends_with(['T', 'i', 'K', 'L'])
                && matches!(from.text(), "-" | "/dev/stdin"))
    };
    let ends = |letter: char| {
        let is = |arg: &Word| arg.text().starts_with('-') && arg.text().contains(letter);
        command.args.iter().any(is)
    };
    match command.program() {
        Some("tar" | "bsdtar") if ends('T') => true,
        Some("curl") if ends('K') || command.args.iter().any(|arg| arg.text() == "--config") => {
            true
        }
        Some("wget") if ends('i') => true,
        Some("file") if ends('f') => true,
        Some("xargs" | "read" | "mapfile" | "readarray" | "cpio" | "pax" | "select") => true,
        _ => command.args.iter().any(is) || command.args.windows(2).any(lists),
    }
}

/// What the command cuts texts at: `IFS=:`, `xargs -d,`.
pub(super) fn separators(command: &SimpleCommand) -> Vec<char> {
    let values = command.assignments.iter().map(Word::text);
    let fields = values.filter_map(|text| text.strip_prefix("IFS=")).flat_map(str::chars);
    let cuts = matches!(command.program(), Some("xargs" | "read" | "mapfile" | "readarray"));
    let given = command.args.windows(2).filter(|_| cuts).filter_map(|pair| match pair {
        [option, value] if matches!(option.text(), "-d" | "--delimiter") => Some(value.text()),
        _ => None,
    });
    let glued = command.args.iter().filter(|_| cuts).filter_map(|arg| {
        let text = arg.text();
        text.strip_prefix("-d").or_else(|| text.strip_prefix("--delimiter="))
    });
    let fields_at = match command.program() {
        Some("awk" | "gawk" | "mawk" | "nawk") => "-F",
        Some("cut") => "-d",
        _ => "",
    };
    let cut_at = |pair: &[Word]| match pair {
        [option, value] if option.text() == fields_at => value.text().chars().next(),
        _ => None,
    };
    let apart = command.args.windows(2).filter_map(cut_at);
    let joined =
        command.args.iter().filter_map(|arg| arg.text().strip_prefix(fields_at)?.chars().next());
    let by_fields: Vec<char> = apart.chain(joined).filter(|_| !fields_at.is_empty()).collect();
    let is_plain = |c: &char| !matches!(c, '/' | '.' | '\'' | '"' | '\\' | '$');
    let given = given.chain(glued).flat_map(str::chars);
    fields.chain(given).chain(by_fields).filter(is_plain).collect()
}
