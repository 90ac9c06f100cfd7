//! The judge's books: what an agent may do.

mod file_hashes;
pub mod guard;
mod level;
mod operator;
mod paths;
pub mod profile;
mod reach;
mod scrub;
pub mod shell;
pub mod trust;
mod visible;
mod webhook;
mod zone;

pub use guard::{Denial, Guard, GuardKind};
pub use level::{Floor, Level};
pub use operator::{
    Effective, OPERATOR_FILE, Operator, OperatorEnv, SandboxMode, SandboxNetwork, SandboxOfServer,
    SandboxSettings, WrittenRule,
};
pub use paths::{is_inside, resolve};
pub use profile::{Profile, ProfileError, ProfileErrors, agent_schema};
pub use reach::{PATH_FIELDS, Reach, Unresolved};
pub use scrub::{SCRUBBED, SHORTEST_SECRET, Scrubber};
pub use visible::{is_hidden, on_one_line, visible};
pub use webhook::{WebhookAllowlist, is_forbidden_address, is_loopback, webhook_url};
pub use zone::{Judged, Restricted, Zone, zone_of};
