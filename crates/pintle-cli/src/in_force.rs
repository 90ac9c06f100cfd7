//! Which profile is in force, how it was found, and whether a person has accepted it (R10.10).

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::ErrorKind::NotFound,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use pintle_actions::{BUILT_IN, does};
use pintle_profile::{AGENT_FILE, Profile, typed};
use serde::{Deserialize, Serialize};

use crate::{
    agents::refuse_agents,
    args::Who,
    chat::{INTERRUPTED, ask_key},
    environment::Environment,
    out::{tell, tell_line},
    problem::Problem,
    profile,
    shown::{bold, text},
    term::{Diff, Glyph, width, wrap},
};

/// The file of accepted profiles, in the data folder.
pub(crate) const ACCEPTED_FILE: &str = "accepted.json";

/// How the profile in force was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Found {
    #[default]
    Nowhere,
    /// `--no-profile`
    Refused,
    /// `--profile`
    Flag,
    /// `PINTLE_PROFILE`
    Variable,
    Here,
    Above,
    /// `profile` in pintle.toml
    Settings,
}

impl Found {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Nowhere => "no agent.json here, and none is named",
            Self::Refused => "--no-profile",
            Self::Flag => "by --profile",
            Self::Variable => "by PINTLE_PROFILE",
            Self::Here => "found in this folder",
            Self::Above => "found above this folder",
            Self::Settings => "by `profile` in pintle.toml",
        }
    }

    /// Whether the profile was found, and not named by a person.
    fn needs_acceptance(self) -> bool {
        matches!(self, Self::Here | Self::Above)
    }

    /// The profile in force and how it was found, on one line.
    pub(crate) fn in_force(self, environment: &Environment, profile: Option<&Profile>) -> String {
        let how = self.words();
        match profile {
            Some(it) => {
                let file = environment.short(&it.dir.join(AGENT_FILE));
                format!("{} · {file}, {how}", it.name)
            }
            None => format!("none · {how}"),
        }
    }

    /// # Errors
    /// When the profile was found, not named, and is not the one that a person accepted.
    pub(crate) fn check(self, environment: &Environment, profile: &Profile) -> Result<(), Problem> {
        if !self.needs_acceptance() {
            return Ok(());
        }
        let state = match Accepted::read(environment)?.text_of(profile) {
            Some(text) if text == profile.source => return Ok(()),
            Some(_) => CHANGED,
            None => "is not trusted yet",
        };
        let cause = "a profile found in a folder is used only after a person has reviewed it";
        Err(not_accepted(environment, profile, state, ", or --no-profile").cause(cause))
    }
}

/// Finds the profile in force. The person at the terminal is asked about one that was found and not named; after
/// Ctrl-C the program ends with the given exit code.
pub(crate) fn settle(environment: &Environment, who: &mut Who) -> Result<ControlFlow<u8>, Problem> {
    (who.found, who.profile) = find(environment, who)?;
    if let Some(dir) = who.profile.as_deref().filter(|_| who.found.needs_acceptance())
        && environment.stdin_is_terminal
        && environment.stderr_is_terminal
        && !environment.json
        // A profile that does not load is reported by the command itself.
        && let Ok(profile) = profile::load(dir, environment)
    {
        return offer(environment, &profile, who.found);
    }
    Ok(ControlFlow::Continue(()))
}

/// The profile in force, without asking about it.
pub(crate) fn look(environment: &Environment, who: &mut Who) -> Result<Option<Profile>, Problem> {
    (who.found, who.profile) = find(environment, who)?;
    who.profile.as_deref().map(|dir| profile::load(dir, environment)).transpose()
}

fn find(environment: &Environment, who: &Who) -> Result<(Found, Option<PathBuf>), Problem> {
    if who.no_profile {
        return Ok((Found::Refused, None));
    }
    if let Some(dir) = &who.profile {
        return Ok((Found::Flag, Some(dir.clone())));
    }
    if let Some(dir) = &environment.profile {
        return Ok((Found::Variable, Some(dir.clone())));
    }
    let here = environment.working_dir()?;
    if let Some((folder, dir)) = around(&here) {
        return Ok((if folder == here { Found::Here } else { Found::Above }, Some(dir)));
    }
    // Settings that cannot be read are reported by the command itself.
    Ok(match environment.settings()?.ok().and_then(|operator| operator.profile.clone()) {
        Some(named) => (Found::Settings, Some(environment.beside_settings(&named)?)),
        None => (Found::Nowhere, None),
    })
}

/// The nearest folder with a profile, and the profile's own: in this folder, or above it up to the repository's root.
fn around(here: &Path) -> Option<(&Path, PathBuf)> {
    let root = here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(here);
    let inside = here.ancestors().take_while(|folder| folder.starts_with(root));
    inside.filter_map(|folder| Some((folder, of_folder(folder)?))).next()
}

/// The profile of a folder: the folder itself, or `.pintle` in it.
pub(crate) fn of_folder(folder: &Path) -> Option<PathBuf> {
    // A dangling link is an error, not an absence: a profile was meant.
    let is_profile =
        |dir: &PathBuf| dir.join(AGENT_FILE).symlink_metadata().is_ok_and(|it| !it.is_dir());
    [folder.to_owned(), folder.join(".pintle")].into_iter().find(is_profile)
}

/// The accepted text of each agent.json, by its folder. With the text, a change can be shown.
#[derive(Default, Serialize, Deserialize)]
struct Accepted {
    profiles: BTreeMap<PathBuf, String>,
}

impl Accepted {
    fn read(environment: &Environment) -> Result<Self, Problem> {
        let path = environment.data_dir()?.join(ACCEPTED_FILE);
        let unusable = |error: String| {
            Problem::new(format!("cannot read {}", path.display()))
                .cause(error)
                .fix("remove the file, then trust your profiles again with pintle trust")
        };
        match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| unusable(error.to_string())),
            Err(error) if error.kind() == NotFound => Ok(Self::default()),
            Err(error) => Err(unusable(error.to_string())),
        }
    }

    fn text_of(&self, profile: &Profile) -> Option<&str> {
        self.profiles.get(&key_of(profile)).map(String::as_str)
    }
}

fn key_of(profile: &Profile) -> PathBuf {
    profile.dir.canonicalize().unwrap_or_else(|_| profile.dir.clone())
}

/// Records that a person has accepted this profile as it is.
pub(crate) fn accept(environment: &Environment, profile: &Profile) -> Result<(), Problem> {
    refuse_agents("trust a profile")?;
    let folder = environment.create_data_dir()?;
    // Locked, so two programs that accept profiles at once do not undo each other's change.
    let turn = File::create(folder.join("accepted.lock"))?;
    turn.lock()?;
    let mut accepted = Accepted::read(environment)?;
    accepted.profiles.insert(key_of(profile), profile.source.clone());
    let fresh = folder.join("accepted.new");
    fs::write(&fresh, serde_json::to_string_pretty(&accepted).map_err(Problem::new)?)?;
    Ok(fs::rename(fresh, folder.join(ACCEPTED_FILE))?)
}

/// # Errors
/// When the profile changed since a person accepted it: a run continues only with an accepted profile.
pub(crate) fn unchanged(environment: &Environment, profile: &Profile) -> Result<(), Problem> {
    match Accepted::read(environment)?.text_of(profile) {
        Some(text) if text != profile.source => {
            Err(not_accepted(environment, profile, CHANGED, ""))
        }
        _ => Ok(()),
    }
}

const CHANGED: &str = "has changed since it was trusted";

fn not_accepted(environment: &Environment, profile: &Profile, state: &str, or: &str) -> Problem {
    let file = environment.short(&profile.dir.join(AGENT_FILE));
    Problem::new(format!("{file} {state}")).fix(format!("pintle trust {}{or}", typed(&profile.dir)))
}

fn offer(
    environment: &Environment,
    profile: &Profile,
    found: Found,
) -> Result<ControlFlow<u8>, Problem> {
    let accepted = Accepted::read(environment)?;
    let before = accepted.text_of(profile);
    if before == Some(&profile.source) || refuse_agents("trust a profile").is_err() {
        return Ok(ControlFlow::Continue(()));
    }
    let title = match before {
        Some(_) => "Use this profile, which has changed?",
        None => "Use this profile, which is new?",
    };
    tell!("{} {}", Glyph::Ask, bold(title));
    tell!("{}", wrap(&text!("  {}", found.in_force(environment, Some(profile))), width(), 2));
    let before = before.unwrap_or(&profile.source);
    Diff::between(before, &profile.source).lines(1, 1, width()).iter().for_each(tell_line);
    for (does, what) in summary(profile) {
        tell!("{}", wrap(&text!("  {:<9} {}", does, what.join(", ")), width(), 12));
    }
    match ask_key(text!("  {} yes   {} no   {} ", bold("y"), bold("n"), Glyph::Prompt), "yn") {
        None => return Ok(ControlFlow::Break(INTERRUPTED)),
        Some('y') => accept(environment, profile)?,
        Some(_) => {}
    }
    Ok(ControlFlow::Continue(()))
}

/// The effects of a profile, in a few words each.
pub(crate) fn summary(profile: &Profile) -> Vec<(&'static str, Vec<String>)> {
    let mut said: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for hook in &profile.hooks {
        if let Some((does, what)) = does(&BUILT_IN, hook) {
            said.entry(does).or_default().push(what);
        }
    }
    if !profile.guards.is_empty() {
        said.insert("guards", vec![format!("calls ({} in `policies`)", profile.guards.len())]);
    }
    for (name, server) in &profile.mcp_servers {
        let line = server.command.iter().chain(&server.args).cloned().collect::<Vec<_>>().join(" ");
        let what = server.url.clone().unwrap_or(line);
        said.entry("servers").or_default().push(format!("{name}: {what}"));
    }
    for (who, may) in profile.widened() {
        said.entry("note").or_default().push(format!("{who} {may}"));
    }
    if said.is_empty() {
        said.insert("does", vec!["nothing by itself".to_owned()]);
    }
    said.into_iter().collect()
}
