//! Which zone a call is really in: the tool's, raised by what its input reaches for (R11.2).

mod machine;
mod network;
mod never;

use crate::folders::places;
use crate::guard::strange;
use crate::links;
use crate::names::Texts;
use crate::outside::{self, Outside};
use crate::settled::settle;
use crate::shell::{self, SimpleCommand};
use crate::spoken;
use crate::{Reach, Zone};
use network::uses_network;
use never::Never;
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// More than anybody writes in one line, so that judging stays cheap.
const MOST_COMMANDS: usize = 500;

/// A zone, and the reason for it in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// How far the call reaches.
    pub zone: Zone,
    /// Why, for the person who is asked.
    pub why: String,
}

impl Judged {
    fn raise(&mut self, zone: Zone, why: impl FnOnce() -> String) {
        if zone > self.zone {
            self.zone = zone;
            self.why = why();
        }
    }
}

/// Places that no call of a file tool reaches without a person, with every link resolved (R10.9, R11.2).
#[derive(Debug, Clone, Copy, Default)]
pub struct Restricted<'a> {
    /// Files, and folders with everything in them, that may be read and not written.
    pub protected: &'a [PathBuf],
    /// The same that may not even be read.
    pub secret: &'a [PathBuf],
}

impl Restricted<'_> {
    /// What is restricted about a path, for a tool that reads or writes it.
    fn finding(&self, real: &Path, writes: bool) -> Option<&'static str> {
        let holds = |places: &[PathBuf]| {
            places.iter().any(|place| real.starts_with(place) || is_same_file(place, real))
        };
        if holds(self.secret) {
            Some("a secret")
        } else if writes && holds(self.protected) {
            Some("a protected file")
        } else {
            None
        }
    }
}

/// A file may have a second name, or be written in other letters where the file system knows no difference.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    identity(one).is_some_and(|found| identity(other) == Some(found))
}

/// The zone of a call: `base` (the tool's own), raised and never lowered by its input, which `reach` was made of.
///
/// A path outside the workspace is [`Zone::Machine`], a URL at least [`Zone::Network`]; a `command`, of whatever tool, is parsed and
/// judged by what it would run and by the places it names, from each folder it may be in. Of a tool that is not built in, every
/// text may be a path. What a running program does beyond its
/// command line (`python3 -c` with code that opens `/etc/passwd`) is not known here: only a sandbox could tell.
#[must_use]
pub fn zone_of(
    tool: &str,
    base: Zone,
    input: &Value,
    reach: &Reach,
    restricted: Restricted<'_>,
) -> Judged {
    let article = if base.name().starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let why = format!("`{tool}` is {article} {} tool", base.name());
    let mut judged = Judged { zone: base, why };
    for named in reach.named() {
        let (field, written) = (named.field, &named.written);
        let writes = base > Zone::Safe && field != "cwd";
        if let Ok(real) = &named.real
            && let Some(what) = restricted.finding(real, writes)
        {
            judged
                .raise(Zone::Machine, || format!("`{field}` leads to {what}: {}", real.display()));
        }
        match &named.real {
            Ok(real) if reach.is_inside(real) => {}
            // The person who is asked sees the place itself, not the link that leads there.
            Ok(real) => judged.raise(Zone::Machine, || {
                let real = real.display().to_string();
                let shown = if real == *written { real } else { format!("{written} is {real}") };
                format!("`{field}` leads outside the workspace: {shown}")
            }),
            Err(why) => judged.raise(Zone::Machine, || {
                format!("`{field}` may lead outside the workspace: {why}")
            }),
        }
    }
    if let Some(url) = find_url(input) {
        judged.raise(Zone::Network, || format!("the input names a URL: {url}"));
    }
    match input.get("command").and_then(Value::as_str) {
        Some(command) => judge_command(&mut judged, command, reach),
        None if tool == "terminal" => {
            judged.raise(Zone::Machine, || "the input has no `command`".into());
        }
        None => {}
    }
    if Zone::of_tool(tool) == Zone::External
        && let Some(place) = place_outside(input, reach)
    {
        judged.raise(Zone::Machine, || format!("the input leads outside the workspace: {place}"));
    }
    judged
}

/// The first text of a strange tool's input that is a path to something outside, and where it leads. `/api/users` is none: this
/// machine has no `/api`.
fn place_outside(input: &Value, reach: &Reach) -> Option<String> {
    let workspace = reach.workspace().ok()?;
    // `~5 a day/night` is a sentence.
    let is_sentence = |text: &String| {
        text.starts_with('~')
            && text.split('/').next().is_some_and(|it| it.contains(char::is_whitespace))
    };
    let is_there = |real: &Path| real.components().take(2).collect::<PathBuf>().exists();
    strange::paths(input).into_iter().filter(|text| !is_sentence(text)).find_map(|text| {
        match strange::resolved(&text, workspace) {
            Ok(Some(real)) if !reach.is_inside(&real) && is_there(&real) => {
                let real = real.display().to_string();
                Some(if real == text { real } else { format!("{text} is {real}") })
            }
            Ok(_) => None,
            Err(why) => Some(why),
        }
    })
}

/// The first URL anywhere in the input, looked for without recursion on a JSON tree of any depth.
fn find_url(input: &Value) -> Option<String> {
    let mut pending = vec![input];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) => {
                let lower = text.to_ascii_lowercase();
                let starts =
                    ["http://", "https://", "ftp://", "ws://", "wss://", "ssh://", "git://"];
                if let Some(at) = starts.iter().filter_map(|s| lower.find(s)).min() {
                    let url = text.get(at..).unwrap_or(text);
                    let end = url
                        .find(|c: char| c.is_whitespace() || "\"'<>".contains(c))
                        .unwrap_or(url.len());
                    return Some(url.get(..end).unwrap_or(url).chars().take(120).collect());
                }
            }
            Value::Array(items) => pending.extend(items),
            Value::Object(fields) => pending.extend(fields.values()),
            _ => {}
        }
    }
    None
}

fn judge_command(judged: &mut Judged, command: &str, reach: &Reach) {
    let mut script = match shell::read(command) {
        Ok(script) => script,
        Err(error) => return judged.raise(Zone::Machine, || error.to_string()),
    };
    if let Some(reason) = shell::destroys(&script) {
        return judged.raise(Zone::Never, || reason);
    }
    // A folder that nobody can resolve has raised the call already.
    let Some(Ok(start)) = reach.path("cwd").or_else(|| Some(reach.workspace())) else {
        return judged.raise(Zone::Machine, || "nobody knows in which folder it starts".into());
    };
    let is_long = script.commands().count() > MOST_COMMANDS;
    let written: Vec<String> = script.commands().map(|it| shown(it.summary())).collect();
    let top = start.ancestors().find(|folder| folder.join(".git").exists());
    let top = top.filter(|top| reach.is_inside(top));
    if !is_long && !shell_runs_beside(command) {
        settle(&mut script, start, top);
    }
    let commands: Vec<SimpleCommand> =
        script.commands().map(|command| spoken::numbered(command, &script.values)).collect();
    let commands: Vec<&SimpleCommand> = commands.iter().collect();
    if outside::has_too_many_patterns(&commands) {
        return judged
            .raise(Zone::Machine, || "it has too many file patterns to look through".into());
    }
    if is_long {
        let never = Never { script: &script, commands: &commands, places: None, reach };
        return match never.reason() {
            Some(reason) => judged.raise(Zone::Never, || reason),
            None => {
                judged.raise(Zone::Machine, || "it has too many commands to look through".into())
            }
        };
    }
    let followed = places(&script, start).map(|places| {
        let texts = Texts::of(&script, &commands, &places.each, top.is_some());
        (places, texts)
    });
    let known = followed.as_ref().ok().map(|(places, texts)| (places.each.as_slice(), texts));
    let never = Never { script: &script, commands: &commands, places: known, reach };
    if let Some(reason) = never.reason() {
        return judged.raise(Zone::Never, || reason);
    }
    for (simple, written) in commands.iter().zip(&written) {
        if simple.name.is_dynamic() {
            judged.raise(Zone::Machine, || shown(script.undecided(simple)));
        }
        if let Some(program) = simple.program() {
            if let Some(deed) = machine::deed(simple, &script.values) {
                judged.raise(Zone::Machine, || format!("`{written}` {deed}"));
            } else if machine::rules_containers(program) || uses_network(program, &simple.args) {
                judged.raise(Zone::Network, || format!("`{written}` uses the network"));
            }
        }
    }
    let (places, texts) = match followed {
        Ok(found) => found,
        Err(mover) => {
            return judged.raise(Zone::Machine, || {
                format!("in which folder `{}` ends is decided at run time", mover.summary())
            });
        }
    };
    if let Some(command) = links::unsettles(&commands, &places.each) {
        return judged.raise(Zone::Machine, || {
            format!("after `{}` nobody knows where `..` or a link leads", command.summary())
        });
    }
    let carried = links::carried(&commands, &places.each, texts.values());
    for ((simple, place), written) in commands.iter().zip(&places.each).zip(&written) {
        let outside = Outside {
            folders: &place.folders,
            reach,
            texts: &texts,
            values: &script.values,
            carried: &carried,
        };
        // A text may be used in another folder than the one in which it was written.
        let later = Outside { folders: &places.all, ..outside };
        let named = spoken::without_separators(simple);
        let found = outside.word(&named).or_else(|| later.name(&named, place));
        if let Some(path) = found {
            return judged.raise(Zone::Machine, || match path.as_str() {
                outside::OPEN_NAME => format!(
                    "a file's name is made of what `{written}` gives: it may lead outside the workspace"
                ),
                path => format!("`{written}` reaches outside the workspace: {path}"),
            });
        }
    }
}

/// Whether an `&` in it may put a part of it into the background: what is set there is set for nobody else.
fn shell_runs_beside(command: &str) -> bool {
    let others = ["&&", ">&", "<&", "&>"];
    others.iter().fold(command.to_owned(), |text, it| text.replace(it, "")).contains('&')
}

/// What a person is shown of a command: in words where the reader of commands has put a mark.
fn shown(summary: String) -> String {
    summary.replace("$(input of xargs)", "(names from its input)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(command: &str) -> String {
        let Ok(folder) = tempfile::tempdir() else { return String::new() };
        let input = serde_json::json!({ "command": command });
        zone_of(
            "terminal",
            Zone::Build,
            &input,
            &Reach::of(&input, folder.path()),
            Restricted::default(),
        )
        .why
    }

    #[test]
    fn a_refused_calculation_says_which_value_and_what_to_do() {
        let told = why("i=$(cat f); echo $((i*i))");
        for part in ["`$((i*i))`", "the value of `i` may be no number", "`expr`", "`seq`"] {
            assert!(told.contains(part), "{told}");
        }
    }

    #[test]
    fn a_question_speaks_in_words_of_the_line() {
        let told = why("ls | xargs sudo");
        assert_eq!(told, "`sudo (names from its input)` acts on the machine");
        let told = why("OUT=..; cp a $OUT/b");
        assert_eq!(told, "`OUT=..` reaches outside the workspace: OUT=..");
        let told = why("f=$(foo); cat $f");
        let name = "a file's name is made of what `foo` gives: it may lead outside the workspace";
        assert_eq!(told, name);
    }

    #[test]
    fn a_redirection_around_several_commands_is_named() {
        let told = why("cat a | head > /etc/x.txt");
        assert!(told.starts_with("`> /etc/x.txt` reaches outside"), "{told}");
    }
}
