//! Process plugins: a program in any language, over the worker protocol of `pintle-exec`.

use std::{collections::HashMap, time::Duration};

use futures_util::future::BoxFuture;
use pintle::{DynEvent, DynHandler, Failure};
use pintle_agent::SandboxUse;
use pintle_exec::{CommandSpec, Program, Worker, WorkerSpec};
use serde_json::Value;

use crate::{
    guest::{COMMAND, Guest, GuestPlugin, TOOL},
    manifest::{Entry, Manifest},
};

/// How long a tool or a slash command may take.
const LONG: Duration = Duration::from_secs(120);

/// A plugin that is a process: `spec` says where it runs, with what environment and how it is held; what is run is the
/// manifest's `entry`.
#[must_use]
pub fn process_plugin(manifest: Manifest, mut spec: CommandSpec) -> GuestPlugin {
    if let Some(Entry::Argv(argv)) = &manifest.entry {
        spec.program = Program::Argv(argv.iter().map(Into::into).collect());
    }
    let timeouts = manifest
        .points
        .iter()
        .filter_map(|it| Some((it.point.clone(), Duration::from_millis(it.timeout_ms?))));
    spec.widened_by = format!("`pintle plugins grant {}`", manifest.id);
    let tier = spec.confinement.tier().name();
    let worker = Worker::new(WorkerSpec::new(spec));
    let process = Process { timeouts: timeouts.collect(), worker, tier };
    GuestPlugin::new(manifest, process)
}

struct Process {
    worker: Worker,
    /// Of the points whose manifest says how long a handler may take. A process that lets one pass is started anew.
    timeouts: HashMap<String, Duration>,
    tier: &'static str,
}

impl DynHandler for Process {
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
        match (self.timeouts.get(event.point), event.point) {
            (Some(timeout), _) => self.worker.call_within(event, *timeout),
            (None, TOOL | COMMAND) => self.worker.call_within(event, LONG),
            (None, _) => self.worker.call(event),
        }
    }
}

impl Guest for Process {
    fn seen(&self) -> Option<SandboxUse> {
        let hosts = self.worker.take_hosts();
        Some(SandboxUse { tier: self.tier, hosts, ..SandboxUse::default() })
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.worker.shutdown())
    }
}
