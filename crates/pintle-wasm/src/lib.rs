//! WASM plugins: components run by wasmtime, in memory, time and output that are bounded (R13.2).
//!
//! The interface is `wit/plugin.wit`. A component that imports anything else, such as WASI, is refused when it is loaded: there is no
//! file, network, environment or clock to give it. What the operator grants (`clock`, `read:PATH`) comes through the host interface.

mod component;
mod failure;
mod host;
mod memory;

use std::{path::Path, sync::Arc};

use pintle_plugins::{Entry, Grants, GuestPlugin, Manifest};
use wasmtime::{Cache, CacheConfig, Config, Engine, component::Linker};

use component::Guests;
use host::State;

/// What a plugin may use in one call, and of the program's memory.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most bytes of one instance, all its memories and tables together; the default is 64 MiB.
    pub memory: usize,
    /// The most instructions of one call, roughly; the default is 10⁹, about a second.
    pub fuel: u64,
    /// The longest answer, and the longest argument of a call to the host, in bytes; the default is 64 KiB.
    pub output: usize,
    /// The most calls to the host in one call; the default is 1,000.
    pub host_calls: u32,
    /// The most instances of one plugin, which then serve as many calls at once; the default is 4.
    pub instances: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 64 * 1024 * 1024,
            fuel: 1_000_000_000,
            output: 64 * 1024,
            host_calls: 1_000,
            instances: 4,
        }
    }
}

/// Gets each line that a plugin logs, with the plugin's id.
pub type Log = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Why a component is not a plugin.
#[derive(Debug, thiserror::Error)]
pub enum WasmError {
    /// The file cannot be read.
    #[error("cannot read {file}: {error}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// It is not a component.
    #[error("it is not a WASM component: {0}")]
    NotAComponent(String),
    /// It imports what a plugin does not get.
    #[error(
        "{0}; a plugin has no files, network, environment or clock of its own: build it without WASI, for the world in plugin.wit, as examples/plugins does"
    )]
    Imports(String),
    /// It lacks an export.
    #[error("it does not export `activate` and `handle` as plugin.wit has them: {0}")]
    Exports(String),
    /// Its functions cannot be compiled for this machine.
    #[error("wasmtime cannot be used here: {0}")]
    Engine(String),
}

/// Runs WASM plugins.
pub struct WasmHost {
    engine: Engine,
    linker: Linker<State>,
    limits: Limits,
    log: Log,
}

impl WasmHost {
    /// With these limits for every plugin, a folder (an absolute path) in which compiled components are kept, and a place for the
    /// lines that plugins log.
    ///
    /// The files in that folder are machine code that runs as it is: only the user may be able to write there.
    ///
    /// # Errors
    /// When this machine has no compiler, or the folder cannot be used.
    pub fn new(
        limits: Limits,
        cache: Option<&Path>,
        log: impl Fn(&str, &str) + Send + Sync + 'static,
    ) -> Result<Self, WasmError> {
        let mut config = Config::new();
        config.consume_fuel(true);
        let failed = |error: wasmtime::Error| WasmError::Engine(format!("{error:#}"));
        if let Some(folder) = cache {
            let mut kept = CacheConfig::new();
            kept.with_directory(folder);
            config.cache(Some(Cache::new(kept).map_err(failed)?));
        }
        let engine = Engine::new(&config).map_err(failed)?;
        let linker = host::linker(&engine).map_err(failed)?;
        Ok(Self { engine, linker, limits, log: Arc::new(log) })
    }

    /// A plugin whose component has these bytes. It is compiled here, unless it was before: seconds for one in JavaScript or Python.
    ///
    /// # Errors
    /// When it is not a component, or not one of the world in `plugin.wit`.
    pub fn plugin(
        &self,
        manifest: Manifest,
        component: &[u8],
        grants: &Grants,
    ) -> Result<GuestPlugin, WasmError> {
        let component = wasmtime::component::Component::new(&self.engine, component)
            .map_err(|error| WasmError::NotAComponent(format!("{error:#}")))?;
        let prepared = self
            .linker
            .instantiate_pre(&component)
            .map_err(|error| WasmError::Imports(format!("{error:#}")))?;
        let rights = manifest.rights(grants);
        let guests = Guests::new(prepared, &manifest.id, rights, self.limits, self.log.clone())
            .map_err(|error| WasmError::Exports(format!("{error:#}")))?;
        Ok(GuestPlugin::new(manifest, guests))
    }

    /// The same from the file that the manifest's `entry` names in the plugin's folder.
    ///
    /// # Errors
    /// As [`plugin`](Self::plugin), and when the file cannot be read.
    pub fn plugin_in(
        &self,
        dir: &Path,
        manifest: Manifest,
        grants: &Grants,
    ) -> Result<GuestPlugin, WasmError> {
        let file = match &manifest.entry {
            Some(Entry::File(file)) => dir.join(file),
            _ => dir.to_owned(),
        };
        let unreadable = |error| WasmError::Unreadable { file: file.display().to_string(), error };
        let bytes = std::fs::read(&file).map_err(unreadable)?;
        self.plugin(manifest, &bytes, grants)
    }
}
