//! A policy made exact for one start: every path absolute and free of symlinks, as it is on the disk now.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    Policy,
    policy::{Limits, Network},
};

/// What the launcher sets up. Paths lead through no symlink; parents come before children.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Symlinks on the way to what may be read, and their targets as written: `/bin` → `usr/bin`.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    /// Writable trees inside what is protected or hidden, such as a hook's state folder in the data folder.
    pub(crate) reopened: Vec<PathBuf>,
    /// What exists and stays read-only inside the writable trees.
    pub(crate) protect: Vec<PathBuf>,
    /// Folders between a writable tree and a protected or hidden path. A mount on each keeps it from being renamed away.
    pub(crate) pins: Vec<PathBuf>,
    /// Protected paths that do not exist: nothing can be mounted on them, so the host looks afterwards.
    pub(crate) absent: Vec<PathBuf>,
    pub(crate) hide: Vec<PathBuf>,
    pub(crate) caches: Vec<Cache>,
    pub(crate) tmp: Option<PathBuf>,
    pub(crate) network: Network,
    pub(crate) limits: Limits,
    pub(crate) cwd: PathBuf,
}

/// A tree that is copied on write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cache {
    pub(crate) tree: PathBuf,
    pub(crate) upper: PathBuf,
    pub(crate) work: PathBuf,
}

/// Why a policy cannot be made exact.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanError {
    /// A protected path behind a symlink that the process itself could replace.
    #[error("{} is, or lies behind, a symlink inside a writable folder: it cannot be protected", .0.display())]
    Symlink(PathBuf),
    #[error("{}: {}", .0.display(), .1)]
    Path(PathBuf, io::Error),
    #[error("{} is not valid UTF-8", .0.display())]
    NotText(PathBuf),
    /// The view is built in a root of its own.
    #[error("/ cannot be granted as a whole: name the folders in it")]
    Root,
}

impl Plan {
    /// Looks at the disk. `slot` is the folder that this process's copies of the caches go to.
    pub(crate) fn new(policy: &Policy, cwd: &Path, slot: Option<&Path>) -> Result<Self, PlanError> {
        let mut links = Vec::new();
        let mut read = Vec::new();
        for path in &policy.read {
            collect_links(path, &mut links);
            // A missing path grants nothing.
            read.extend(path.canonicalize().ok());
        }
        let mut write = Vec::new();
        for path in &policy.write {
            collect_links(path, &mut links);
            write.push(real(path)?);
        }
        let tmp = policy.tmp.as_deref().map(real).transpose()?;
        let cwd = real(cwd)?;
        let mut hide: Vec<_> =
            policy.hide.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let is_closed = |path: &PathBuf| {
            let closed = hide.iter().chain(&policy.protect);
            closed.into_iter().any(|closed| path != closed && path.starts_with(closed))
        };
        let (mut reopened, mut write): (Vec<_>, Vec<_>) = write.into_iter().partition(is_closed);
        shallow_first(&mut reopened);
        only_topmost(&mut reopened, |_| false);
        shallow_first(&mut write);
        only_topmost(&mut write, |_| false);
        let (mut protect, mut absent, mut pins) = (Vec::new(), Vec::new(), Vec::new());
        for path in &policy.protect {
            let Some(path) = settle(path, &write) else { continue };
            match path.canonicalize() {
                Ok(real) if real != path => return Err(PlanError::Symlink(path)),
                Ok(real) => {
                    pins.extend(parents(&real, &write));
                    protect.push(real);
                }
                Err(_) if path.is_symlink() => return Err(PlanError::Symlink(path)),
                Err(_) => absent.push(path),
            }
        }
        // A later process would find under another name what this one has renamed.
        pins.extend(hide.iter().flat_map(|path| parents(path, &write)));
        shallow_first(&mut protect);
        shallow_first(&mut hide);
        shallow_first(&mut pins);
        pins.retain(|pin| !protect.iter().chain(&hide).any(|path| pin.starts_with(path)));
        read.retain(|path| !hide.iter().any(|hidden| path.starts_with(hidden)));
        let caches = caches(policy, slot, &write, &mut links, &mut read)?;
        shallow_first(&mut read);
        let is_granted = |path: &Path| write.iter().any(|tree| path.starts_with(tree));
        only_topmost(&mut read, is_granted);
        if read.iter().chain(&write).any(|path| path == Path::new("/")) {
            return Err(PlanError::Root);
        }
        links.sort();
        links.dedup();
        let (network, limits) = (policy.network.clone(), policy.limits);
        let plan = Self {
            links,
            read,
            write,
            reopened,
            protect,
            pins,
            absent,
            hide,
            caches,
            tmp,
            network,
            limits,
            cwd,
        };
        plan.check_text()?;
        Ok(plan)
    }

    /// The folders between a path and the temporary folder or cache that it lies in.
    pub(crate) fn writable_above<'a>(&self, path: &'a Path) -> Vec<&'a Path> {
        let places = ["/tmp", "/var/tmp"].into_iter().map(Path::new);
        let places: Vec<&Path> =
            places.chain(self.caches.iter().map(|cache| cache.tree.as_path())).collect();
        let above = path.ancestors().skip(1);
        let mut above: Vec<&Path> = above
            .filter(|at| places.iter().any(|place| at.starts_with(place) && at != place))
            .collect();
        above.reverse();
        above
    }

    /// A hidden path in a writable tree.
    pub(crate) fn hidden_in_writable(&self) -> Option<&Path> {
        let is_writable = |path: &&PathBuf| self.write.iter().any(|tree| path.starts_with(tree));
        self.hide.iter().find(is_writable).map(PathBuf::as_path)
    }

    /// Paths travel to the launcher as text.
    fn check_text(&self) -> Result<(), PlanError> {
        let all = [
            &self.read,
            &self.write,
            &self.reopened,
            &self.protect,
            &self.pins,
            &self.absent,
            &self.hide,
        ];
        let others = self.tmp.iter().chain([&self.cwd]);
        match all.into_iter().flatten().chain(others).find(|path| path.to_str().is_none()) {
            Some(path) => Err(PlanError::NotText(path.clone())),
            None => Ok(()),
        }
    }
}

/// The caches that exist. Without a store, or below a writable tree, they are plain trees.
fn caches(
    policy: &Policy,
    slot: Option<&Path>,
    write: &[PathBuf],
    links: &mut Vec<(PathBuf, PathBuf)>,
    read: &mut Vec<PathBuf>,
) -> Result<Vec<Cache>, PlanError> {
    let mut caches = Vec::new();
    for path in &policy.caches {
        collect_links(path, links);
        let Ok(tree) = path.canonicalize() else { continue };
        if write.iter().any(|writable| tree.starts_with(writable)) {
            continue;
        }
        let Some(slot) = slot else {
            read.push(tree);
            continue;
        };
        let name: String = tree
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let folder = slot.join(name);
        let (upper, work) = (folder.join("upper"), folder.join("work"));
        for made in [&upper, &work] {
            fs::create_dir_all(made).map_err(|error| PlanError::Path(made.clone(), error))?;
        }
        caches.push(Cache { tree, upper, work });
    }
    Ok(caches)
}

fn real(path: &Path) -> Result<PathBuf, PlanError> {
    path.canonicalize().map_err(|error| PlanError::Path(path.to_owned(), error))
}

/// A path in a writable tree as it is reached, if it is in one. Symlinks are followed on the way to the tree, where the
/// process cannot put one, and not inside.
fn settle(path: &Path, write: &[PathBuf]) -> Option<PathBuf> {
    let is_writable = |path: &Path| write.iter().any(|tree| path.starts_with(tree));
    if is_writable(path) {
        return Some(path.to_owned());
    }
    let ancestors: Vec<&Path> = path.ancestors().collect();
    ancestors.into_iter().rev().map_while(|at| Some((at, at.canonicalize().ok()?))).find_map(
        |(at, real)| is_writable(&real).then(|| real.join(path.strip_prefix(at).unwrap_or(at))),
    )
}

/// The folders between a path and the writable tree it is in.
fn parents(path: &Path, write: &[PathBuf]) -> Vec<PathBuf> {
    let Some(tree) = write.iter().find(|tree| path.starts_with(tree)) else { return Vec::new() };
    let above = path.ancestors().skip(1);
    above.take_while(|at| at != tree && at.starts_with(tree)).map(Path::to_owned).collect()
}

/// The symlinks that a process has to find when it walks this path: of the path itself, and of what each leads to.
fn collect_links(path: &Path, links: &mut Vec<(PathBuf, PathBuf)>) {
    /// More links than any honest path has; a loop ends here.
    const MOST: usize = 40;
    let mut pending = vec![path.to_owned()];
    let mut followed = 0;
    while let Some(path) = pending.pop() {
        let parts: Vec<&Path> = path.ancestors().collect();
        for at in parts.into_iter().rev() {
            let Ok(target) = fs::read_link(at) else { continue };
            followed += 1;
            let link = (at.to_owned(), target.clone());
            if followed > MOST || links.contains(&link) {
                break;
            }
            let parent = at.parent().unwrap_or(Path::new("/"));
            let Ok(rest) = path.strip_prefix(at) else { continue };
            pending.push(parent.join(&target).join(rest));
            links.push(link);
            break;
        }
    }
}

/// Leaves out what another tree of the list, or another list, holds already. The list is sorted.
fn only_topmost(paths: &mut Vec<PathBuf>, is_granted: impl Fn(&Path) -> bool) {
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths.drain(..) {
        if !is_granted(&path) && !kept.iter().any(|tree| path.starts_with(tree)) {
            kept.push(path);
        }
    }
    *paths = kept;
}

fn shallow_first(paths: &mut Vec<PathBuf>) {
    paths.sort_by_key(|path| (path.components().count(), path.clone()));
    paths.dedup();
}
