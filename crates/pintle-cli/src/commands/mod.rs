//! The commands, one file each; `chat` has a folder of its own.

pub(crate) mod approvals;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod fire;
pub(crate) mod hooks;
pub(crate) mod init;
mod listing;
pub(crate) mod memory;
pub(crate) mod messages;
pub(crate) mod overview;
pub(crate) mod plugins;
pub(crate) mod replay;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod skills;
pub(crate) mod stats;
pub(crate) mod tickets;
pub(crate) mod trace;
pub(crate) mod trust;
