//! Sockets that programs of the host listen on, inside folders that a process may use: a database of the project, say.
//!
//! A process that connects to one reaches that program, and a read-only mount does not prevent it. Landlock can since Linux 7.1;
//! before that, the sockets are covered when the process starts. A program that binds one later can be reached.

use std::{
    fs,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use crate::plan::Plan;

/// Where services have their sockets, and no process is granted anything but single files.
const SERVICES: [&str; 2] = ["/run", "/var/run"];

/// The sockets that the plan would let a process see. A relative name is looked for from the writable trees.
pub(crate) fn in_view(plan: &Plan) -> Vec<PathBuf> {
    let granted: Vec<&PathBuf> = plan.read.iter().chain(plan.writable()).chain(&plan.tmp).collect();
    let is_granted = |path: &Path| granted.iter().any(|tree| path.starts_with(tree));
    let is_service = |path: &Path| SERVICES.iter().any(|folder| path.starts_with(folder));
    let table = fs::read("/proc/net/unix").unwrap_or_default();
    let from = || plan.writable().map(PathBuf::as_path).chain([Path::new("/")]);
    let mut found: Vec<PathBuf> = String::from_utf8_lossy(&table)
        .lines()
        .skip(1)
        .filter_map(name)
        .flat_map(|name| from().map(|tree| tree.join(name)).collect::<Vec<_>>())
        .filter(|path| is_granted(path) || !is_service(path))
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| is_granted(path))
        .filter(|path| path.metadata().is_ok_and(|found| found.file_type().is_socket()))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// The last column, if the socket has a path.
fn name(line: &str) -> Option<&str> {
    let mut rest = line;
    for _ in 0..7 {
        rest = rest.trim_start();
        rest = rest.get(rest.find(' ')?..)?;
    }
    rest.strip_prefix(' ').filter(|name| !name.starts_with('@'))
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn a_socket_is_known_by_the_last_column() {
        let bound = "0000000000000000: 00000002 00000000 00010000 0001 01 18442 /home/a b/socket";
        assert_eq!(name(bound), Some("/home/a b/socket"));
        let short = "0000000000000000: 00000002 00000000 00010000 0001 01   442 app/socket";
        assert_eq!(name(short), Some("app/socket"));
        let others = [
            "0000000000000000: 00000003 00000000 00000000 0001 03 18443",
            "0000000000000000: 00000002 00000000 00010000 0001 01 18444 @/tmp/.X11-unix/X0",
        ];
        assert_eq!(others.map(name), [None, None]);
    }
}
