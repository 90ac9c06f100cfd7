//! Plugins for Pintle's points: one API, several kinds (R13).
//!
//! A plugin declares in its manifest who it is, which points it listens to and what it asks for; the operator grants some of it.
//! It observes (Void points) and amends (Modifying points). Claims and gates are closed to it. It sees only what its capabilities
//! open, an answer that they do not allow is a failure, and unloading it removes all of it in one step.
//!
//! | kind | what it is | how |
//! |---|---|---|
//! | native | a Rust type in the program | [`Plugin`] |
//! | process | a program in any language, in a sandbox | [`process_plugin`] |
//! | WASM | a component without files, network, environment or clock | the crate `pintle-wasm` |

mod api;
mod capability;
mod guest;
mod host;
mod installed;
mod manifest;
mod process;
mod rights;
#[cfg(feature = "testing")]
pub mod testing;
mod tool;

pub use api::{ActivateError, DEFAULT_DEADLINE, Plugin, PluginApi};
pub use capability::{Capability, Grants, UnknownCapability};
pub use guest::{ACTIVATE, Guest, GuestPlugin};
pub use host::{ACTIVATION, LoadError, PluginInfo, Plugins};
pub use installed::{Installed, InstalledError, InstalledPlugin, PLUGINS_FILE, PLUGINS_FOLDER};
pub use manifest::{
    API_VERSION, CommandDeclaration, Entry, Kind, MANIFEST_FILE, Manifest, ManifestError,
    PointBinding, ToolDeclaration,
};
pub use process::process_plugin;
pub use rights::Rights;
