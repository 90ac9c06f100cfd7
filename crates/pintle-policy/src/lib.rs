//! The judge: guards, zones and levels, and the reader of shell commands and paths that they stand on.

pub mod guard;
mod level;
mod paths;
mod reach;
pub mod shell;
mod suggest;
mod tool;
mod zone;

pub use guard::{Denial, Guard, GuardKind};
pub use level::{Floor, Level};
pub use paths::{is_inside, normal, resolve};
pub use reach::{Reach, Unresolved};
pub use suggest::tool_meant;
pub use tool::ToolSpec;
pub use zone::{Judged, Restricted, Zone, zone_of};
