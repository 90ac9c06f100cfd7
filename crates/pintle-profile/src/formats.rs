//! Checks on single texts, by the `format` their field has in the schema.

use super::report::Problem;
use crate::webhook::{forbidden_host, webhook_url};
use pintle_policy::guard::glob_of_names;
use pintle_policy::shell::simple_commands;
use pintle_policy::{is_inside, resolve};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is wrong with `text` as a `format`, if anything.
pub(crate) fn check(
    format: &str,
    text: &str,
    span: Range<usize>,
    folder: &Path,
) -> Option<Problem> {
    match format {
        "non-empty" if text.trim().is_empty() => {
            Some(Problem::new(span, "this text is empty").help("write something, or leave the field out"))
        }
        "glob" => bad_glob(text, span),
        "env-name" if !pintle_policy::shell::is_variable_name(text) => Some(
            Problem::new(span, format!("`{text}` is not the name of an environment variable"))
                .label("expected a name like `HOOK_KEY`")
                .help("write the variable's name, never its value: a profile holds no secrets"),
        ),
        "http-url" => bad_http_url(text, span),
        "proxy-url" => bad_proxy(text, span),
        "webhook-url" => webhook_url(text).err().map(|why| {
            Problem::new(span, "this URL cannot be a webhook").label("expected https, or http to this machine").help(why)
        }),
        "save-path" => bad_save_path(text, span, folder),
        "inside-folder" => bad_inner_path(text, &span, folder).map(|mut problem| {
            problem.helps = vec!["name a folder inside the profile's, like `work`; only the operator can choose another place".into()];
            problem
        }),
        "hook-command" => bad_command(text, span, folder),
        _ => None,
    }
}

/// A character that a reader would not see, or that a terminal would act on.
pub(crate) fn hidden(text: &str, span: Range<usize>, is_page: bool) -> Option<Problem> {
    let (_, c) = text.char_indices().find(|(_, c)| is_wrong(*c, is_page))?;
    Some(hides(c, span))
}

/// The same in a file that is a page, shown where it stands.
pub(crate) fn hidden_in_page(text: &str) -> Option<Problem> {
    let (at, c) = text.char_indices().find(|(_, c)| is_wrong(*c, true))?;
    Some(hides(c, at..at.saturating_add(c.len_utf8())))
}

/// A page may have line ends, and the marks that some scripts need: joiners, and what says which way a sign is read. What
/// turns whole lines around it may not.
fn is_wrong(c: char, is_page: bool) -> bool {
    let of_a_page = matches!(c, '\n' | '\r' | '\t' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200c}'..='\u{200f}');
    crate::terminal_escape::is_hidden(c) && !(is_page && of_a_page)
}

const HIDDEN: &str = "not what it looks like";

fn hides(c: char, span: Range<usize>) -> Problem {
    let message = format!("this text hides the character {}", c.escape_unicode());
    let help = "write it without: what a profile says must look the same to everybody";
    Problem::new(span, message).label(HIDDEN).help(help)
}

/// Takes back how to write a character where none of its kind may be, however it is written, and what is wrong with a value
/// that is not there: one answer for each place.
pub(crate) fn only_one_answer(slips: &mut Vec<Problem>, found: &mut Vec<Problem>) {
    let is_missing =
        |it: &Problem| it.span.is_empty() && slips.iter().any(|slip| slip.span == it.span);
    found.retain(|it| !is_missing(it));
    let within = |slip: &Problem, it: &Problem| {
        it.label == HIDDEN && it.span.start < slip.span.start && slip.span.end < it.span.end
    };
    slips.retain(|slip| !found.iter().any(|it| within(slip, it)));
}

fn bad_glob(text: &str, span: Range<usize>) -> Option<Problem> {
    if text.is_empty() {
        let help = "write a tool's name or a glob like `write_*`";
        return Some(Problem::at(span, "this glob is empty", "", help));
    }
    if let Err(error) = glob::Pattern::new(text) {
        let help =
            "`*` is any text, `?` any character, `[ab]` one of them; write `[[]` for a bracket";
        return Some(Problem::at(span, format!("`{text}` is not a glob"), error.msg, help));
    }
    let error = glob_of_names(text).err()?;
    Some(Problem::at(span, "this glob fits no tool", "never applies", error.message))
}

fn bad_http_url(text: &str, span: Range<usize>) -> Option<Problem> {
    let parsed = url::Url::parse(text);
    if let Some(what) = parsed.as_ref().ok().and_then(forbidden_host) {
        let problem = Problem::new(span, format!("this is {what}: nothing may go there"));
        return Some(problem.help("write one like https://example.com/path"));
    }
    let problem = match parsed {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => return None,
        Ok(url) => {
            Problem::new(span, format!("`{}` is not a scheme this can talk to", url.scheme()))
        }
        Err(error) => Problem::new(span, format!("this is not a URL: {error}")),
    };
    Some(problem.label("expected http or https").help("write one like https://example.com/path"))
}

fn bad_proxy(text: &str, span: Range<usize>) -> Option<Problem> {
    let is_one = |url: url::Url| {
        matches!(url.scheme(), "http" | "https") && url.has_host() && forbidden_host(&url).is_none()
    };
    let is_bad = !url::Url::parse(text).is_ok_and(is_one);
    let message = format!("`{text}` is no proxy's address");
    let help = "write one like http://proxy.example.com:3128";
    is_bad.then(|| Problem::at(span, message, "expected http or https", help))
}

/// What is wrong with a path that must stay inside the profile's folder.
pub(crate) fn bad_inner_path(text: &str, span: &Range<usize>, folder: &Path) -> Option<Problem> {
    let path = Path::new(text);
    let problem = if text.contains('\0') {
        // It is reported as a hidden character; no path has it.
        return None;
    } else if text.trim().is_empty() {
        Problem::new(span.clone(), "this path is empty")
    } else if path.is_absolute() || text.starts_with('~') {
        Problem::new(span.clone(), format!("`{text}` is not relative to the profile's folder"))
            .label("expected a relative path")
    } else if !is_inside(folder, folder, path) {
        Problem::new(span.clone(), format!("`{text}` leads out of the profile's folder"))
            .label("leaves the folder")
    } else {
        return None;
    };
    Some(problem.help("write a path inside the profile's folder, like `logs/events.jsonl`"))
}

/// File systems take no longer name.
const LONGEST_NAME: usize = 255;

/// No runner and no shell takes a file of these kinds for a program.
const SAVED_AS: [&str; 5] = ["json", "jsonl", "log", "ndjson", "txt"];

pub(super) fn is_saved_as(file: &str) -> bool {
    let kind = Path::new(file).extension().and_then(|kind| kind.to_str());
    kind.is_some_and(|kind| SAVED_AS.contains(&kind))
}

fn bad_save_path(text: &str, span: Range<usize>, folder: &Path) -> Option<Problem> {
    if let Some(problem) = bad_inner_path(text, &span, folder) {
        return Some(problem);
    }
    let plain = pintle_policy::normal(text);
    let lower = plain.to_lowercase();
    let is_file = |it: &&Path| folder.join(it).exists() && !folder.join(it).is_dir();
    let (what, label) = if !leads_nowhere_else(folder, &plain) {
        ("is a link, or goes through one".into(), "events would be written to another file")
    } else if let Some(long) = plain.split('/').find(|part| part.len() > LONGEST_NAME) {
        let message =
            format!("a name of {} bytes, and none is longer than {LONGEST_NAME}", long.len());
        return Some(Problem::at(span, message, "", "give the file a shorter name"));
    } else if let Some(file) = Path::new(&plain).ancestors().skip(1).find(is_file) {
        let what = format!("cannot be: `{}` is a file, not a folder", file.display());
        (what, "goes through a file")
    } else if lower == "agent.json" || lower.starts_with("personalities/") {
        ("is part of the profile itself".into(), "would be overwritten by events")
    } else if lower.split('/').any(|part| part == ".git") {
        ("lies in what git keeps".into(), "git runs what is written there")
    } else if plain.is_empty() || text.ends_with('/') || folder.join(&plain).is_dir() {
        let help = "name the file too, like `logs/events.jsonl`";
        return Some(Problem::at(span, format!("`{text}` is a folder"), "expected a file", help));
    } else if !is_saved_as(&plain) {
        // A program is made by its name too: `Makefile`, `.bashrc`, `BUILD.SH`.
        let label = "expected a name that ends in .jsonl, .ndjson, .json, .log or .txt";
        ("is not named like a list of events".into(), label)
    } else {
        return None;
    };
    let what: String = what;
    let help = "save to a file of its own, like `logs/events.jsonl`";
    Some(Problem::at(span, format!("`{text}` {what}"), label, help))
}

/// Whether no part of the path is a link, and the file has no second name.
fn leads_nowhere_else(folder: &Path, plain: &str) -> bool {
    let place = resolve(folder, Path::new(""));
    let same =
        |place: PathBuf| resolve(folder, Path::new(plain)).is_ok_and(|it| it == place.join(plain));
    let one_name = std::fs::symlink_metadata(folder.join(plain))
        .map_or(true, |meta| !meta.is_file() || meta.nlink() == 1);
    place.is_ok_and(same) && one_name
}

fn bad_command(text: &str, span: Range<usize>, folder: &Path) -> Option<Problem> {
    if text.trim().is_empty() {
        let help = "write what `/bin/sh -c` should run";
        return Some(Problem::at(span, "this command is empty", "", help));
    }
    let commands = match simple_commands(text) {
        Ok(commands) => commands,
        Err(error) => {
            let help = error.to_string();
            return Some(Problem::at(span, "this command cannot be read", "", help));
        }
    };
    if let Some(unknown) = commands.iter().find(|c| c.name.is_dynamic()) {
        let message = format!("what `{}` runs is decided at run time", unknown.summary());
        let help = "name the script itself; commands start in the profile's folder, so `hooks/check.sh` is enough";
        return Some(Problem::at(span, message, "cannot be trusted by content", help));
    }
    let mut programs = commands.iter().filter_map(|c| c.name.literal());
    programs.find_map(|program| bad_program(program, &span, folder))
}

/// A program given by a path is a script of the profile: it must be inside, and there.
pub(crate) fn bad_program(program: &str, span: &Range<usize>, folder: &Path) -> Option<Problem> {
    // A NUL is reported as a hidden character.
    if !program.contains('/') || program.contains('\0') {
        return None;
    }
    // `.venv/bin/python` is a link to a program elsewhere: the bytes it leads to are trusted, wherever they lie.
    let path = Path::new(program);
    let parent = path.parent().filter(|_| path.is_relative() && folder.join(path).is_symlink());
    let place = parent.and_then(Path::to_str).unwrap_or(program);
    if let Some(mut problem) = bad_inner_path(place, span, folder) {
        problem.helps = vec!["name a program found on the PATH, or a script inside the profile's folder, like `hooks/check.sh`".into()];
        return Some(problem);
    }
    if folder.join(program).is_file() {
        return None;
    }
    let message = format!("there is no script `{program}`");
    let help = "create it, or correct the path; it is relative to the profile's folder";
    Some(Problem::at(span.clone(), message, "not found in the profile's folder", help))
}
