//! What a plugin may see and do, one capability at a time.

use std::{collections::BTreeSet, fmt, str::FromStr};

use pintle::similar::nearest;
use pintle_policy::Zone;
use serde::{Deserialize, Serialize};

/// A right that a manifest asks for and the operator grants.
///
/// ```
/// use pintle_plugins::Capability;
///
/// let amend: Capability = "amend:prompt".parse()?;
/// assert_eq!(amend.in_words(), "adds to the system prompt");
/// let error = "amend:promt".parse::<Capability>().unwrap_err();
/// assert_eq!(error.to_string(), "there is no capability `amend:promt`; did you mean `amend:prompt`?");
/// # Ok::<(), pintle_plugins::UnknownCapability>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Capability {
    /// Sees that something happened: `observe`.
    Observe,
    /// Sees what was said, in prompts, messages, arguments and results: `read:conversation`.
    ReadConversation,
    /// Sets keys of a patch, such as `amend:prompt`: a row of `PATCH_RIGHTS`, or `amend:POINT` at a point of the embedder's own.
    Patch(String),
    /// Brings tools: `tools`.
    Tools,
    /// Brings slash commands: `commands`.
    Commands,
    /// Knows the time, in WASM: `clock`.
    Clock,
    /// Reaches this host: `network:HOST`, or `network:*` for every public one.
    Network(String),
    /// Reads this file or folder besides its own: `read:/PATH`.
    Read(String),
    /// Its process has the rights of this zone instead of `safe`: `zone:workspace`, `zone:build` or `zone:network`.
    Zone(Zone),
}

/// What such a right lets a handler set at its point, and which fields of the payload it opens.
pub(crate) struct PatchRight {
    pub(crate) name: &'static str,
    pub(crate) point: &'static str,
    pub(crate) keys: &'static [&'static str],
    pub(crate) opens: &'static [&'static str],
    words: &'static str,
}

/// Every right to patch at the points of the catalogue.
pub(crate) const PATCH_RIGHTS: [PatchRight; 7] = [
    PatchRight {
        name: "amend:prompt",
        point: "before_prompt_build",
        keys: &["prependSystem", "appendSystem"],
        opens: &["system"],
        words: "adds to the system prompt",
    },
    PatchRight {
        name: "override:prompt",
        point: "before_prompt_build",
        keys: &["overrideSystem"],
        opens: &["system"],
        words: "replaces the system prompt",
    },
    PatchRight {
        name: "amend:tool_args",
        point: "before_tool_call",
        keys: &["args"],
        opens: &["args"],
        words: "rewrites the arguments of tool calls, which are judged after that",
    },
    PatchRight {
        name: "deny:tool_calls",
        point: "before_tool_call",
        keys: &["error"],
        opens: &["args"],
        words: "denies tool calls",
    },
    PatchRight {
        name: "amend:message",
        point: "message_sending",
        keys: &["message"],
        opens: &["message"],
        words: "rewrites messages before they are sent",
    },
    PatchRight {
        name: "amend:personality",
        point: "personality_switched",
        keys: &["personality"],
        opens: &[],
        words: "replaces the personality that a session switches to",
    },
    PatchRight {
        name: "amend:subagent",
        point: "subagent_spawning",
        keys: &["prompt", "personalityId"],
        opens: &["prompt"],
        words: "rewrites what sub-agents are asked to do",
    },
];

/// Names without an argument.
const PLAIN: [(&str, Capability); 5] = [
    ("observe", Capability::Observe),
    ("read:conversation", Capability::ReadConversation),
    ("tools", Capability::Tools),
    ("commands", Capability::Commands),
    ("clock", Capability::Clock),
];

const ZONES: [Zone; 3] = [Zone::Workspace, Zone::Build, Zone::Network];

/// A name that is no capability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no capability `{written}`{hint}")]
pub struct UnknownCapability {
    written: String,
    hint: String,
}

impl FromStr for Capability {
    type Err = UnknownCapability;

    fn from_str(written: &str) -> Result<Self, UnknownCapability> {
        let unknown = |hint: String| Err(UnknownCapability { written: written.to_owned(), hint });
        if let Some((_, plain)) = PLAIN.iter().find(|(name, _)| *name == written) {
            return Ok(plain.clone());
        }
        if PATCH_RIGHTS.iter().any(|right| right.name == written) {
            return Ok(Self::Patch(written.to_owned()));
        }
        match written.split_once(':') {
            Some(("network", host)) if host == "*" || is_host(host) => {
                return Ok(Self::Network(host.to_owned()));
            }
            Some(("network", _)) => {
                return unknown(": write a host without scheme, port or path, such as `network:api.example.com`".into());
            }
            Some(("read", path)) if path.starts_with('/') => {
                return Ok(Self::Read(path.to_owned()));
            }
            Some(("zone", name)) => {
                return match ZONES.iter().find(|zone| zone.name() == name) {
                    Some(zone) => Ok(Self::Zone(*zone)),
                    None => unknown(
                        ": there are `zone:workspace`, `zone:build` and `zone:network`; `safe` needs no capability"
                            .into(),
                    ),
                };
            }
            _ => {}
        }
        let known =
            PLAIN.iter().map(|(name, _)| *name).chain(PATCH_RIGHTS.iter().map(|it| it.name));
        match nearest(written, known) {
            Some(near) => unknown(format!("; did you mean `{near}`?")),
            // At a point of the embedder's own: whether there is one is seen when the manifest is checked.
            None if written.starts_with("amend:") => Ok(Self::Patch(written.to_owned())),
            None if written.starts_with("read:") => unknown(
                ": write an absolute path, such as `read:/srv/notes`, or `read:conversation`"
                    .into(),
            ),
            None => unknown(String::new()),
        }
    }
}

fn is_host(host: &str) -> bool {
    !host.is_empty()
        && host.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c))
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Patch(name) => f.write_str(name),
            Self::Network(host) => write!(f, "network:{host}"),
            Self::Read(path) => write!(f, "read:{path}"),
            Self::Zone(zone) => write!(f, "zone:{}", zone.name()),
            plain => {
                let name = PLAIN.iter().find(|(_, it)| it == plain).map(|(name, _)| *name);
                f.write_str(name.unwrap_or_default())
            }
        }
    }
}

impl TryFrom<String> for Capability {
    type Error = UnknownCapability;

    fn try_from(written: String) -> Result<Self, UnknownCapability> {
        written.parse()
    }
}

impl From<Capability> for String {
    fn from(capability: Capability) -> Self {
        capability.to_string()
    }
}

impl Capability {
    /// What it lets a plugin do, for the person who grants it.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Observe => "sees that something happened, without what was said".into(),
            Self::ReadConversation => {
                "reads the conversation: prompts, messages, arguments, results".into()
            }
            Self::Patch(name) => match PATCH_RIGHTS.iter().find(|right| right.name == name) {
                Some(right) => right.words.into(),
                None => format!("amends at {}", name.trim_start_matches("amend:")),
            },
            Self::Tools => "gives the model tools".into(),
            Self::Commands => "adds slash commands".into(),
            Self::Clock => "knows the time".into(),
            Self::Network(host) if host == "*" => "reaches every public host".into(),
            Self::Network(host) => format!("reaches {host}"),
            Self::Read(path) => format!("reads {path}"),
            Self::Zone(zone) => format!("its process has the rights of zone `{}`", zone.name()),
        }
    }
}

/// What the operator lets a plugin have of what its manifest asks for.
///
/// ```
/// use pintle_plugins::Grants;
///
/// let grants = Grants::only(["observe".parse()?]);
/// assert!(!grants.allows(&"amend:prompt".parse()?));
/// assert!(Grants::All.allows(&"amend:prompt".parse()?));
/// # Ok::<(), pintle_plugins::UnknownCapability>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grants {
    /// Everything: for plugins that are part of the program.
    All,
    /// These capabilities.
    Only(BTreeSet<Capability>),
}

impl Grants {
    /// These capabilities.
    pub fn only(capabilities: impl IntoIterator<Item = Capability>) -> Self {
        Self::Only(capabilities.into_iter().collect())
    }

    /// Whether a capability is granted.
    #[must_use]
    pub fn allows(&self, capability: &Capability) -> bool {
        match self {
            Self::All => true,
            Self::Only(granted) => granted.contains(capability),
        }
    }
}
