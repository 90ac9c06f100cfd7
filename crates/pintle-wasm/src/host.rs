//! What a component can ask the host for, and how often.

use std::{fs, path::Path};

use pintle_plugins::{Capability, Rights};
use wasmtime::{
    Engine, StoreContextMut,
    component::{Linker, WasmStr},
};

use crate::{Limits, Log, failure::Flood, memory::MemoryBudget};

/// What the host keeps of one instance.
pub(crate) struct State {
    pub(crate) plugin: String,
    pub(crate) rights: Rights,
    pub(crate) limits: Limits,
    pub(crate) memory: MemoryBudget,
    pub(crate) log: Log,
    /// Calls to the host in the call under way.
    pub(crate) host_calls: u32,
}

impl State {
    fn count(&mut self) -> wasmtime::Result<()> {
        self.host_calls += 1;
        match self.host_calls > self.limits.host_calls {
            true => Err(Flood(self.limits.host_calls).into()),
            false => Ok(()),
        }
    }
}

pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    let mut host = linker.instance("pintle:plugin/host@0.1.0")?;
    host.func_wrap("log", |mut store: StoreContextMut<'_, State>, (line,): (WasmStr,)| {
        store.data_mut().count()?;
        let state = store.data();
        (state.log)(&state.plugin, &line.to_str(&store)?);
        Ok(())
    })?;
    host.func_wrap("now", |mut store: StoreContextMut<'_, State>, (): ()| {
        store.data_mut().count()?;
        if !store.data().rights.has(&Capability::Clock) {
            return Ok((Err("this plugin was not granted `clock`".to_owned()),));
        }
        Ok((Ok(pintle::now_ms()),))
    })?;
    host.func_wrap("read-file", |mut store: StoreContextMut<'_, State>, (path,): (WasmStr,)| {
        store.data_mut().count()?;
        let path = path.to_str(&store)?.into_owned();
        Ok((read(store.data(), &path),))
    })?;
    Ok(linker)
}

/// Where the path really leads has to be under a path that was granted.
fn read(state: &State, path: &str) -> Result<String, String> {
    let refused = || format!("this plugin was not granted `read:{path}`");
    let granted = state.rights.iter().filter_map(|it| match it {
        Capability::Read(path) => Path::new(path).canonicalize().ok(),
        _ => None,
    });
    let granted: Vec<_> = granted.collect();
    // Without a grant, nothing is said about what exists.
    if granted.is_empty() || !Path::new(path).is_absolute() {
        return Err(refused());
    }
    let real = Path::new(path).canonicalize().map_err(|_| refused())?;
    if !granted.iter().any(|it| real.starts_with(it)) {
        return Err(refused());
    }
    let meta = fs::metadata(&real).map_err(|error| error.to_string())?;
    if !meta.is_file() || meta.len() > state.limits.output as u64 {
        return Err(format!("`{path}` is not a file of at most {} bytes", state.limits.output));
    }
    fs::read_to_string(&real).map_err(|error| error.to_string())
}
