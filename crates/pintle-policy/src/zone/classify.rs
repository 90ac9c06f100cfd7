//! Which zone a call is judged by: what it declares, raised by plain facts and never lowered (R11.2).

use super::Zone;
use super::needs_network::{hosts, needs_network};
use crate::shell::{SimpleCommand, simple_commands};
use crate::{Reach, ToolSpec};
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A zone, and the reason for it in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The rights that the call needs.
    pub zone: Zone,
    /// Why, for the person who is asked.
    pub why: String,
}

impl Judged {
    fn raise(&mut self, zone: Zone, why: String) {
        if zone > self.zone {
            *self = Self { zone, why };
        }
    }
}

/// Places that no file tool reaches without a person, with every link resolved (R10.9, R11.2).
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
        match () {
            () if holds(self.secret) => Some("a secret"),
            () if writes && holds(self.protected) => Some("a protected file"),
            () => None,
        }
    }
}

/// A file may have a second name, or be written in other letters where the file system makes no difference.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    identity(one).is_some_and(|found| identity(other) == Some(found))
}

/// The zone of a call. `reach` was made of the same input.
///
/// A path outside the workspace, a protected one that the tool writes and a secret one make it [`Zone::Machine`]. A call of a tool that
/// runs commands declares its zone by the argument `zone`; what the command plainly says (`sudo`, `git push`) raises it, so that a
/// person is asked before it fails instead of after. What the command really does is held by the sandbox, not found out here. A tool that acts elsewhere
/// stays [`Zone::External`].
///
/// # Errors
/// When the call asks for more than [`Zone::Build`] without a reason, or for a zone that no call can declare.
pub fn zone_of(
    tool: &ToolSpec,
    input: &Value,
    reach: &Reach,
    restricted: Restricted<'_>,
) -> Result<Judged, String> {
    let mut judged = match tool.runs_commands {
        true => declared(tool, input)?,
        false => by_tool(tool),
    };
    if tool.zone < Zone::External {
        by_paths(&mut judged, tool, reach, restricted);
    }
    if let (true, Some(Value::String(command))) = (tool.runs_commands, input.get("command")) {
        by_command(&mut judged, command);
    }
    Ok(judged)
}

/// What a call of this zone does, for a person who has never heard of zones.
fn what_it_does(zone: Zone) -> &'static str {
    match zone {
        Zone::Safe => "it only reads",
        Zone::Workspace => "it writes in this folder",
        Zone::Build => "it runs a program that may write this folder and the caches of build tools",
        Zone::Network => "it needs the network",
        Zone::External => "it acts on another server, where no sandbox of this machine holds it",
        Zone::Machine => "it may change this machine",
        Zone::Never => "it never runs",
    }
}

/// A person reads no longer reason.
const MOST_OF_A_REASON: usize = 300;

fn by_tool(tool: &ToolSpec) -> Judged {
    Judged { zone: tool.zone, why: what_it_does(tool.zone).to_owned() }
}

/// The zone that a command declares.
fn declared(tool: &ToolSpec, input: &Value) -> Result<Judged, String> {
    let zone = match input.get("zone") {
        None | Some(Value::Null) => return Ok(by_tool(tool)),
        Some(name) => name.as_str().and_then(Zone::declared).ok_or_else(|| {
            format!("`zone` is {name}: write \"safe\", \"workspace\", \"build\", \"network\" or \"machine\"")
        })?,
    };
    let why = input.get("why").and_then(Value::as_str).unwrap_or_default().trim();
    if zone > Zone::Build && why.is_empty() {
        return Err(format!(
            "`zone: \"{}\"` needs a `why`: say in one sentence what the command needs it for, or leave `zone` out",
            zone.name()
        ));
    }
    let why = match why {
        "" => what_it_does(zone).to_owned(),
        why => {
            let words: String = why.chars().take(MOST_OF_A_REASON).collect();
            format!("{}; the model says why: {words}", what_it_does(zone))
        }
    };
    Ok(Judged { zone, why })
}

fn by_paths(judged: &mut Judged, tool: &ToolSpec, reach: &Reach, restricted: Restricted<'_>) {
    for named in reach.named() {
        let (field, written) = (&named.field, &named.written);
        // The folder of a command is not what it writes: that is held by its zone.
        let writes = tool.zone > Zone::Safe && !tool.runs_commands;
        let does = match writes {
            _ if tool.runs_commands => "it works",
            true => "it writes",
            false => "it reads",
        };
        let why = match &named.real {
            // The person who is asked sees the place itself, not the link that leads there.
            Ok(real) => {
                let found = restricted.finding(real, writes);
                let real_path = real.display().to_string();
                let shown = match real_path == *written {
                    true => real_path,
                    false => format!("{written} is {real_path}"),
                };
                match found {
                    Some(what) if field == "cwd" => format!("{does} in {what}: {shown}"),
                    Some(what) => format!("{does} {what}: {shown}"),
                    None if reach.is_inside(real) => continue,
                    None => format!("{does} outside this folder: {shown}"),
                }
            }
            Err(why) => format!("{does} a place that may be outside this folder: {why}"),
        };
        judged.raise(Zone::Machine, why);
    }
}

/// What a command plainly says. One that cannot be parsed says nothing here: the sandbox holds it all the same.
fn by_command(judged: &mut Judged, command: &str) {
    for command in simple_commands(command).unwrap_or_default() {
        if let Some(program) = by_another_user(&command) {
            judged.raise(Zone::Machine, format!("`{program}` runs a command as another user"));
        }
        if let Some(shown) = needs_network(&command) {
            let hosts = hosts(&command).join(", ");
            let to = if hosts.is_empty() { hosts } else { format!(": {hosts}") };
            judged.raise(Zone::Network, format!("it needs the network{to} (`{shown}`)"));
        }
    }
}

fn by_another_user(command: &SimpleCommand) -> Option<&str> {
    command.program().filter(|program| matches!(*program, "sudo" | "su" | "doas"))
}
