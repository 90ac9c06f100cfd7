//! The plugins that the operator has added: their files, the hash they were added with, and what they were granted (R10.9).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, DirBuilder, File},
    io::{self, ErrorKind, Read},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use pintle::similar::nearest;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    capability::{Capability, Grants},
    manifest::{MANIFEST_FILE, Manifest, ManifestError},
};

/// What was added and granted, in the data folder.
pub const PLUGINS_FILE: &str = "plugins.json";
/// The plugins' own files, in the data folder.
pub const PLUGINS_FOLDER: &str = "plugins";

const MOST_FILES: usize = 2_000;
const MOST_BYTES: u64 = 128 * 1024 * 1024;
/// What tools leave behind and no plugin needs.
const LEFT_OUT: [&str; 4] = [".git", ".venv", "__pycache__", "node_modules"];

/// The plugins in a data folder.
#[derive(Debug, Clone)]
pub struct Installed {
    data: PathBuf,
    file: PluginsFile,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PluginsFile {
    version: u32,
    plugins: BTreeMap<String, Added>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Added {
    /// The hash of all its files.
    content: String,
    /// Where it was added from.
    from: PathBuf,
    grants: BTreeSet<Capability>,
}

/// A plugin that was added.
#[derive(Debug, Clone)]
pub struct InstalledPlugin {
    /// What it declares.
    pub manifest: Manifest,
    /// Its folder.
    pub dir: PathBuf,
    /// Where it was added from.
    pub from: PathBuf,
    /// What it was granted.
    pub grants: Grants,
    /// The hash of all its files.
    content: String,
}

impl InstalledPlugin {
    /// Looks at its files again.
    ///
    /// # Errors
    /// When they are not those that it was read with.
    pub fn is_unchanged(&self) -> Result<(), InstalledError> {
        match content_of(&files_in(&self.dir)?)? == self.content {
            true => Ok(()),
            false => Err(InstalledError::Changed {
                id: self.manifest.id.clone(),
                from: self.from.clone(),
            }),
        }
    }
}

/// Why a plugin cannot be added or used.
#[derive(Debug, thiserror::Error)]
pub enum InstalledError {
    /// A file cannot be read or written.
    #[error("cannot use {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The list of plugins is damaged.
    #[error("cannot read {}: {why}; remove it and add your plugins again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// There is no such plugin.
    #[error("there is no plugin `{id}`{}", nearest.as_ref().map(|it| format!("; did you mean `{it}`?")).unwrap_or_default())]
    Unknown {
        /// The plugin.
        id: String,
        /// The nearest id there is.
        nearest: Option<String>,
    },
    /// Its files are not those that were added.
    #[error("the files of the plugin `{id}` are not those that were added")]
    Changed {
        /// The plugin.
        id: String,
        /// Where it was added from.
        from: PathBuf,
    },
    /// Its manifest cannot be used.
    #[error("{0}")]
    Manifest(#[from] ManifestError),
    /// It cannot be granted what it does not ask for.
    #[error("the plugin `{id}` does not ask for `{capability}`; it asks for: {asks}")]
    NotAsked {
        /// The plugin.
        id: String,
        /// What was to be granted.
        capability: Capability,
        /// What it asks for.
        asks: String,
    },
    /// The folder holds what no plugin may have.
    #[error("{}: {why}", path.display())]
    Unfit {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> InstalledError + '_ {
    move |error| InstalledError::Io { path: path.to_owned(), error }
}

impl Installed {
    /// Reads what was added.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub fn read(data: &Path) -> Result<Self, InstalledError> {
        let path = data.join(PLUGINS_FILE);
        let file = match fs::read_to_string(&path) {
            Ok(text) => {
                let damaged = |why: String| InstalledError::Damaged { path: path.clone(), why };
                let file: PluginsFile =
                    serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
                if file.version != 1 {
                    return Err(damaged(format!("it has version {}", file.version)));
                }
                file
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                PluginsFile { version: 1, plugins: BTreeMap::new() }
            }
            Err(error) => return Err(at(&path)(error)),
        };
        Ok(Self { data: data.to_owned(), file })
    }

    /// The ids of all of them.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.file.plugins.keys().map(String::as_str)
    }

    /// A plugin whose files are those that were added.
    ///
    /// # Errors
    /// When there is none, its files have changed, or its manifest cannot be read.
    pub fn get(&self, id: &str) -> Result<InstalledPlugin, InstalledError> {
        let added = self.added(id)?;
        let dir = self.folder(id);
        let Added { content, from, grants } = added.clone();
        if content_of(&files_in(&dir)?)? != content {
            return Err(InstalledError::Changed { id: id.to_owned(), from });
        }
        let manifest = Self::manifest_in(&dir)?;
        Ok(InstalledPlugin { manifest, dir, from, grants: Grants::Only(grants), content })
    }

    fn added(&self, id: &str) -> Result<&Added, InstalledError> {
        self.file.plugins.get(id).ok_or_else(|| InstalledError::Unknown {
            id: id.to_owned(),
            nearest: nearest(id, self.ids()).map(str::to_owned),
        })
    }

    /// Where a plugin's files are.
    #[must_use]
    pub fn folder(&self, id: &str) -> PathBuf {
        self.data.join(PLUGINS_FOLDER).join(id)
    }

    /// Reads the manifest of a plugin's folder, wherever it is.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn manifest_in(dir: &Path) -> Result<Manifest, InstalledError> {
        let path = dir.join(MANIFEST_FILE);
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => InstalledError::Unfit {
                path: dir.to_owned(),
                why: format!(
                    "a plugin is a folder with a `{MANIFEST_FILE}`; `pintle plugins new` writes one"
                ),
            },
            _ => at(&path)(error),
        })?;
        Ok(Manifest::parse(&text)?)
    }

    /// Copies a plugin's folder and records its content: it runs as it is now, until it is added again. What it was granted before
    /// and still asks for stays granted.
    ///
    /// # Errors
    /// When its manifest cannot be read, or a file cannot be copied.
    pub fn add(
        data: &Path,
        from: &Path,
        grants: impl IntoIterator<Item = Capability>,
    ) -> Result<InstalledPlugin, InstalledError> {
        let manifest = Self::manifest_in(from)?;
        let id = manifest.id.clone();
        let files = files_in(from)?;
        change(data, |installed| {
            let folder = data.join(PLUGINS_FOLDER);
            DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(at(&folder))?;
            let fresh = folder.join(format!(".{id}.new"));
            remove(&fresh)?;
            for (name, file) in &files {
                let to = fresh.join(name);
                let parent = to.parent().unwrap_or(&fresh);
                fs::create_dir_all(parent).map_err(at(parent))?;
                fs::copy(file, &to).map_err(at(file))?;
            }
            // Hashed where it will run: a source that changes meanwhile changes nothing.
            let content = content_of(&files_in(&fresh)?)?;
            let to = folder.join(&id);
            remove(&to)?;
            fs::rename(&fresh, &to).map_err(at(&to))?;
            let before = installed.plugins.remove(&id).map(|it| it.grants).unwrap_or_default();
            let asked = |it: &Capability| manifest.capabilities.contains(it);
            let grants = before.into_iter().chain(grants).filter(asked).collect();
            let from = from.canonicalize().unwrap_or_else(|_| from.to_owned());
            installed.plugins.insert(id.clone(), Added { content, from, grants });
            Ok(())
        })?;
        Self::read(data)?.get(&id)
    }

    /// Removes a plugin with its files.
    ///
    /// # Errors
    /// When there is none, or its files cannot be removed.
    pub fn remove(data: &Path, id: &str) -> Result<(), InstalledError> {
        Self::read(data)?.added(id)?;
        change(data, |installed| {
            installed.plugins.remove(id);
            remove(&data.join(PLUGINS_FOLDER).join(id))
        })
    }

    /// Changes what a plugin is granted.
    ///
    /// # Errors
    /// When there is no such plugin, or it does not ask for a capability that is to be granted.
    pub fn set_grants(
        data: &Path,
        id: &str,
        grant: &[Capability],
        revoke: &[Capability],
    ) -> Result<(), InstalledError> {
        let plugin = Self::read(data)?.get(id)?;
        let asks = &plugin.manifest.capabilities;
        if let Some(capability) = grant.iter().chain(revoke).find(|it| !asks.contains(it)) {
            return Err(InstalledError::NotAsked {
                id: id.to_owned(),
                capability: capability.clone(),
                asks: asks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            });
        }
        change(data, |installed| {
            if let Some(added) = installed.plugins.get_mut(id) {
                added.grants.extend(grant.iter().cloned());
                added.grants.retain(|it| !revoke.contains(it));
            }
            Ok(())
        })
    }
}

/// Changes the list, one process at a time.
fn change(
    data: &Path,
    how: impl FnOnce(&mut PluginsFile) -> Result<(), InstalledError>,
) -> Result<(), InstalledError> {
    fs::create_dir_all(data).map_err(at(data))?;
    let turn = data.join("plugins.lock");
    let _turn = File::create(&turn).and_then(|it| it.lock().map(|()| it)).map_err(at(&turn))?;
    let mut file = Installed::read(data)?.file;
    how(&mut file)?;
    let path = data.join(PLUGINS_FILE);
    let fresh = path.with_extension("new");
    let text = serde_json::to_string_pretty(&file).unwrap_or_default() + "\n";
    fs::write(&fresh, text).map_err(at(&fresh))?;
    fs::rename(&fresh, &path).map_err(at(&path))
}

fn remove(folder: &Path) -> Result<(), InstalledError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(at(folder)(error)),
        _ => Ok(()),
    }
}

/// Every file of a folder, by its path in it.
fn files_in(dir: &Path) -> Result<BTreeMap<String, PathBuf>, InstalledError> {
    let (mut files, mut pending) = (BTreeMap::new(), vec![dir.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            let entry = entry.map_err(at(&folder))?;
            let (path, name) = (entry.path(), entry.file_name());
            let kind = entry.file_type().map_err(at(&path))?;
            let unfit =
                |why: &str| Err(InstalledError::Unfit { path: path.clone(), why: why.to_owned() });
            if LEFT_OUT.iter().any(|it| name == *it) {
                continue;
            }
            let inner = path.strip_prefix(dir).ok().and_then(Path::to_str);
            match inner {
                None => return unfit("its name is not text"),
                Some(_) if kind.is_dir() => pending.push(path),
                Some(inner) if kind.is_file() => {
                    files.insert(inner.to_owned(), path);
                }
                Some(_) => return unfit("it is a link or a device, and a plugin has files only"),
            }
            if files.len() > MOST_FILES {
                let why = format!("a plugin has at most {MOST_FILES} files");
                return Err(InstalledError::Unfit { path: dir.to_owned(), why });
            }
        }
    }
    Ok(files)
}

/// The hash of all files: of their paths, whether they can be run, and their bytes.
fn content_of(files: &BTreeMap<String, PathBuf>) -> Result<String, InstalledError> {
    let (mut hash, mut total) = (Sha256::new(), 0_u64);
    for (name, path) in files {
        let mut file = File::open(path).map_err(at(path))?;
        let meta = file.metadata().map_err(at(path))?;
        total = total.saturating_add(meta.len());
        if total > MOST_BYTES {
            let why = format!("a plugin has at most {} MiB of files", MOST_BYTES / 1024 / 1024);
            return Err(InstalledError::Unfit { path: path.clone(), why });
        }
        let can_run = meta.permissions().mode() & 0o111 != 0;
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name.as_bytes());
        hash.update([u8::from(can_run)]);
        hash.update(meta.len().to_le_bytes());
        let mut bytes = [0; 8192];
        loop {
            let read = file.read(&mut bytes).map_err(at(path))?;
            if read == 0 {
                break;
            }
            hash.update(bytes.get(..read).unwrap_or_default());
        }
    }
    let digits = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Ok(format!("sha256:{digits}"))
}
