//! The judge's books: what an agent may do.

mod cuts;
mod file_hashes;
mod filled;
mod folders;
mod followed;
pub mod guard;
mod judge;
mod level;
mod links;
mod movers;
mod names;
mod operator;
mod outside;
mod paths;
pub mod profile;
mod reach;
mod scrub;
mod settled;
pub mod shell;
mod spoken;
pub mod trust;
mod visible;
mod webhook;
mod zone;

pub use filled::commands_with_values;
pub use folders::folders_of;
pub use guard::{Denial, Guard, GuardKind};
pub use judge::{Judged, Restricted, zone_of};
pub use level::{Floor, Level};
pub use operator::{
    Effective, OPERATOR_FILE, Operator, OperatorEnv, SandboxMode, SandboxNetwork, SandboxOfServer,
    SandboxSettings,
};
pub use outside::files_found;
pub use paths::{is_inside, resolve};
pub use profile::{Profile, ProfileError, ProfileErrors, agent_schema};
pub use reach::{PATH_FIELDS, Reach, Unresolved};
pub use scrub::{SCRUBBED, SHORTEST_SECRET, Scrubber};
pub use visible::{is_hidden, on_one_line, visible};
pub use webhook::{WebhookAllowlist, is_forbidden_address, is_loopback, webhook_url};
pub use zone::Zone;
