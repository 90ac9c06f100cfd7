//! What a process carries along without being given it: descriptors, capabilities, limits.

use std::{fs, io};

use nix::{
    sys::resource::{Resource, getrlimit, setrlimit},
    unistd::close,
};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{Refusal, Step};
use crate::policy::Limits;

/// The number of the highest capability that any kernel has today, with room for more.
const LAST_CAPABILITY: u32 = 63;

/// Closes every descriptor but the three streams.
pub(super) fn close_inherited() -> io::Result<()> {
    let numbers: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    for number in numbers {
        // The listing's own descriptor is among them and closed already.
        let _ = close(number);
    }
    Ok(())
}

pub(super) fn limit(limits: &Limits) -> nix::Result<()> {
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    lower(Resource::RLIMIT_NPROC, limits.processes)?;
    lower(Resource::RLIMIT_NOFILE, limits.open_files)?;
    limits.private_memory.map_or(Ok(()), |bytes| lower(Resource::RLIMIT_DATA, bytes))?;
    limits.address_space.map_or(Ok(()), |bytes| lower(Resource::RLIMIT_AS, bytes))
}

/// A limit is never raised.
fn lower(resource: Resource, to: u64) -> nix::Result<()> {
    let (soft, hard) = getrlimit(resource)?;
    setrlimit(resource, soft.min(to), hard.min(to))
}

/// Leaves nothing to a root user, of the host or of the namespace, but being the owner of files.
pub(super) fn drop_capabilities() -> Result<(), Refusal> {
    let _ = rustix::thread::clear_ambient_capability_set();
    let held = rustix::thread::capabilities(None).step("capabilities")?;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for bit in 0..=LAST_CAPABILITY {
            let one = CapabilitySet::from_bits_retain(1 << bit);
            // The kernel refuses those it does not know, and knows none after them.
            if rustix::thread::remove_capability_from_bounding_set(one).is_err() {
                break;
            }
        }
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).step("capabilities")?;
    let left = rustix::thread::capabilities(None).step("capabilities")?;
    match left.permitted.is_empty() && left.effective.is_empty() {
        true => Ok(()),
        false => Err("capabilities are left".into()),
    }
}
