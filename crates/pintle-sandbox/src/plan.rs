//! A policy made exact for one start: every path absolute and free of symlinks, as it is on the disk now.

use std::{
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    Policy,
    policy::{Limits, Network},
    resolver::Resolver,
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

impl PlanError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |error| Self::Path(path, error)
    }
}

impl Plan {
    /// Looks at the disk. `slot` is the folder that this process's copies of the caches go to.
    pub(crate) fn new(policy: &Policy, cwd: &Path, slot: Option<&Path>) -> Result<Self, PlanError> {
        let mut resolver = Resolver::default();
        // A missing path grants nothing.
        let read = policy.read.iter().filter_map(|path| resolver.real(path).ok());
        let mut read: Vec<_> = read.collect();
        let write =
            policy.write.iter().map(|path| resolver.real(path).map_err(PlanError::at(path)));
        let write: Vec<_> = write.collect::<Result<_, _>>()?;
        let tmp = policy
            .tmp
            .as_deref()
            .map(|tmp| resolver.real(tmp).map_err(PlanError::at(tmp)))
            .transpose()?;
        let cwd = resolver.real(cwd).map_err(PlanError::at(cwd))?;
        let hide = policy.hide.iter().filter_map(|path| resolver.real(path).ok());
        let mut hide: Vec<_> = hide.collect();
        let is_closed = |path: &PathBuf| {
            let closed = hide.iter().chain(&policy.protect);
            closed.into_iter().any(|closed| path != closed && is_below(path, closed))
        };
        let (mut reopened, mut write): (Vec<_>, Vec<_>) = write.into_iter().partition(is_closed);
        only_topmost(&mut reopened, |_| false);
        only_topmost(&mut write, |_| false);
        let writable: Vec<PathBuf> = reopened.iter().chain(&write).cloned().collect();
        let (mut protect, mut absent, mut pins) = (Vec::new(), Vec::new(), Vec::new());
        for path in &policy.protect {
            let Some(path) = settle(path, &writable, &mut resolver) else { continue };
            match resolver.real(&path) {
                Ok(real) if real != path => return Err(PlanError::Symlink(path)),
                Ok(real) => {
                    pins.extend(parents(&real, &writable));
                    protect.push(real);
                }
                Err(_) if path.is_symlink() => return Err(PlanError::Symlink(path)),
                Err(_) => absent.push(path),
            }
        }
        // A later process would find under another name what this one has renamed.
        pins.extend(hide.iter().flat_map(|path| parents(path, &writable)));
        for paths in [&mut protect, &mut hide, &mut pins] {
            sort(paths);
        }
        pins.retain(|pin| !is_in(pin, protect.iter().chain(&hide)) || is_in(pin, &reopened));
        read.retain(|path| !is_in(path, &hide));
        let mut caches = caches(policy, slot, &writable, &mut resolver, &mut read)?;
        caches.retain(|cache| !is_in(&cache.tree, &hide));
        only_topmost(&mut read, |path| is_in(path, &writable));
        if read.iter().chain(&write).any(|path| path == Path::new("/")) {
            return Err(PlanError::Root);
        }
        let links = resolver.links();
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
            .filter(|at| places.iter().any(|place| is_below(at, place) && at != place))
            .collect();
        above.reverse();
        above
    }

    /// The trees that the process may write.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &PathBuf> {
        self.write.iter().chain(&self.reopened)
    }

    /// Whether a path may be written: of what is granted and what is closed around it, the nearest decides.
    pub(crate) fn may_write(&self, path: &Path) -> bool {
        fn nearest<'a>(path: &Path, around: impl Iterator<Item = &'a PathBuf>) -> usize {
            let around = around.filter(|tree| is_below(path, tree));
            around.map(|tree| tree.as_os_str().len()).max().unwrap_or_default()
        }
        nearest(path, self.writable()) > nearest(path, self.protect.iter().chain(&self.hide))
    }

    /// A hidden path in a writable tree.
    pub(crate) fn hidden_in_writable(&self) -> Option<&Path> {
        self.hide.iter().find(|path| is_in(path, self.writable())).map(PathBuf::as_path)
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
    resolver: &mut Resolver,
    read: &mut Vec<PathBuf>,
) -> Result<Vec<Cache>, PlanError> {
    let mut caches = Vec::new();
    for path in &policy.caches {
        let Ok(tree) = resolver.real(path) else { continue };
        if is_in(&tree, write) {
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

/// A path in a writable tree as it is reached, if it is in one. Symlinks are followed on the way to the tree, where the
/// process cannot put one, and not inside.
fn settle(path: &Path, write: &[PathBuf], resolver: &mut Resolver) -> Option<PathBuf> {
    if is_in(path, write) {
        return Some(path.to_owned());
    }
    let ancestors: Vec<&Path> = path.ancestors().collect();
    ancestors.into_iter().rev().map_while(|at| Some((at, resolver.real(at).ok()?))).find_map(
        |(at, real)| is_in(&real, write).then(|| real.join(path.strip_prefix(at).unwrap_or(at))),
    )
}

fn is_in<'a>(path: &Path, trees: impl IntoIterator<Item = &'a PathBuf>) -> bool {
    trees.into_iter().any(|tree| is_below(path, tree))
}

/// As `starts_with`, for paths without `.`, `..` and doubled slashes: ten times as fast, and asked thousands of times.
pub(crate) fn is_below(path: &Path, tree: &Path) -> bool {
    let rest = path.as_os_str().as_bytes().strip_prefix(tree.as_os_str().as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// The folders between a path and the writable tree it is in.
fn parents(path: &Path, write: &[PathBuf]) -> Vec<PathBuf> {
    let around = write.iter().filter(|tree| is_below(path, tree));
    let Some(tree) = around.max_by_key(|tree| tree.as_os_str().len()) else {
        return Vec::new();
    };
    path.ancestors().skip(1).take_while(|at| at != tree).map(Path::to_owned).collect()
}

/// Leaves out what another tree of the list, or another list, holds already.
fn only_topmost(paths: &mut Vec<PathBuf>, is_granted: impl Fn(&Path) -> bool) {
    sort(paths);
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths.drain(..) {
        // What lies in a tree comes right after it.
        if !is_granted(&path) && !kept.last().is_some_and(|tree| is_below(&path, tree)) {
            kept.push(path);
        }
    }
    *paths = kept;
}

/// Parents before what is in them.
fn sort(paths: &mut Vec<PathBuf>) {
    paths.sort();
    paths.dedup();
}
