//! Where paths lead, with each name on the way looked at once: a policy has a hundred paths with the same beginnings.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsString,
    io,
    os::unix::ffi::OsStringExt,
    path::{Component, Path, PathBuf},
};

use rustix::io::Errno;

/// More links than any honest path has; a loop ends here.
const MOST_LINKS: usize = 40;

/// What a policy's paths have in common is resolved once.
#[derive(Default)]
pub(crate) struct Resolver {
    known: HashMap<PathBuf, Result<PathBuf, Errno>>,
    links: BTreeSet<(PathBuf, PathBuf)>,
}

impl Resolver {
    /// An absolute path without symlinks.
    pub(crate) fn real(&mut self, path: &Path) -> io::Result<PathBuf> {
        Ok(self.resolve(path, MOST_LINKS)?)
    }

    /// The links on the way to all of them, with their targets as written: a process has to find them too.
    pub(crate) fn links(self) -> Vec<(PathBuf, PathBuf)> {
        self.links.into_iter().collect()
    }

    fn resolve(&mut self, path: &Path, most_links: usize) -> Result<PathBuf, Errno> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let real = self.look(path, most_links);
        self.known.insert(path.to_owned(), real.clone());
        real
    }

    fn look(&mut self, path: &Path, most_links: usize) -> Result<PathBuf, Errno> {
        let mut parts = path.components();
        let (Some(last), parent) = (parts.next_back(), parts.as_path()) else {
            return Err(Errno::NOENT);
        };
        let name = match last {
            Component::RootDir => return Ok("/".into()),
            Component::Normal(name) => name,
            Component::ParentDir => {
                let mut parent = self.resolve(parent, most_links)?;
                parent.pop();
                return Ok(parent);
            }
            Component::CurDir | Component::Prefix(_) => return self.resolve(parent, most_links),
        };
        let parent = self.resolve(parent, most_links)?;
        let here = parent.join(name);
        match rustix::fs::readlink(&here, Vec::new()) {
            Err(Errno::INVAL) => Ok(here),
            Err(error) => Err(error),
            Ok(target) => {
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                let real = self
                    .resolve(&parent.join(&target), most_links.checked_sub(1).ok_or(Errno::LOOP)?);
                self.links.insert((here, target));
                real
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_path_leads_where_the_kernel_says_and_its_links_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/file"), "").unwrap();
        for (link, target) in [
            ("to-a", "a"),
            ("a/up", "../a/b"),
            ("whole", root.join("to-a/up").to_str().unwrap()),
            ("loop", "loop"),
            ("nowhere", "missing"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        let mut resolver = Resolver::default();
        for path in [
            "a",
            "a/b",
            "to-a",
            "to-a/b",
            "to-a/up",
            "whole",
            "whole/..",
            "a/../to-a/./up",
            "loop",
            "nowhere",
            "missing",
            "a/file",
            "a/file/below",
            "",
        ] {
            let path = root.join(path);
            assert_eq!(resolver.real(&path).ok(), path.canonicalize().ok(), "{path:?}");
        }
        let mut resolver = Resolver::default();
        resolver.real(&root.join("whole")).unwrap();
        let links = resolver.links();
        let names: Vec<_> =
            links.iter().map(|(link, _)| link.strip_prefix(&root).unwrap()).collect();
        assert_eq!(names, ["a/up", "to-a", "whole"].map(Path::new));
    }
}
