//! Checks on single texts, by the `format` their field has in the schema.

use super::report::Problem;
use pintle_policy::guard::glob_of_names;
use pintle_policy::is_inside;
use std::ops::Range;
use std::path::Path;
use url::{Host, Url};

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
        "inside-folder" => bad_inner_path(text, &span, folder).map(|problem| {
            problem.instead("name a folder inside the profile's, like `work`; only the operator can choose another place")
        }),
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
        it.label == HIDDEN && it.span.start <= slip.span.start && slip.span.end < it.span.end
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
    let parsed = Url::parse(text);
    if parsed.as_ref().is_ok_and(is_never_served) {
        let problem =
            Problem::new(span, "this is the address of no machine, or of a metadata service");
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

/// `0.0.0.0` and link-local addresses: what answers there hands out the machine's own credentials.
fn is_never_served(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(v4)) => v4.is_unspecified() || v4.is_link_local(),
        Some(Host::Ipv6(v6)) => v6.is_unspecified() || v6.is_unicast_link_local(),
        _ => false,
    }
}

fn bad_proxy(text: &str, span: Range<usize>) -> Option<Problem> {
    let is_one = |url: Url| {
        matches!(url.scheme(), "http" | "https") && url.has_host() && !is_never_served(&url)
    };
    let is_bad = !Url::parse(text).is_ok_and(is_one);
    let message = format!("`{text}` is not the address of a proxy");
    let help = "write one like http://proxy.example.com:3128";
    is_bad.then(|| Problem::at(span, message, "expected http or https", help))
}

/// What is wrong with a path that must stay inside the profile's folder.
#[must_use]
pub fn bad_inner_path(text: &str, span: &Range<usize>, folder: &Path) -> Option<Problem> {
    let path = Path::new(text);
    let (what, label) = if text.contains('\0') {
        // It is reported as a hidden character; no path has it.
        return None;
    } else if text.trim().is_empty() {
        ("this path is empty".to_owned(), "")
    } else if path.is_absolute() || text.starts_with('~') {
        let what = format!("`{text}` is not relative to the profile's folder");
        (what, "expected a relative path")
    } else if !is_inside(folder, folder, path) {
        (format!("`{text}` leads out of the profile's folder"), "leaves the folder")
    } else {
        return None;
    };
    let help = "write a path inside the profile's folder, like `logs/events.jsonl`";
    Some(Problem::at(span.clone(), what, label, help))
}
