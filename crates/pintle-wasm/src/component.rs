//! The instances of one component: made when they are needed, kept for the next call, dropped when one fails.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use pintle::{DynEvent, DynHandler, Failure, FailureKind};
use pintle_plugins::{ACTIVATE, Guest, Rights};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use wasmtime::{
    Store,
    component::{ComponentExportIndex, InstancePre, TypedFunc},
};

use crate::{Limits, Log, failure::failure_of, host::State, memory::MemoryBudget};

/// So much fuel is used between two looks at whether the call should go on: about a tenth of a millisecond.
const FUEL_PER_TURN: u64 = 100_000;

type GuestResult = (Result<String, String>,);

/// One instance, with the functions that are called.
struct Instance {
    store: Store<State>,
    activate: TypedFunc<(String,), GuestResult>,
    handle: TypedFunc<(String, String), GuestResult>,
}

/// The instances of one plugin.
#[derive(Clone)]
pub(crate) struct Guests {
    shared: Arc<Shared>,
}

struct Shared {
    prepared: InstancePre<State>,
    exports: [ComponentExportIndex; 2],
    plugin: String,
    rights: Rights,
    limits: Limits,
    log: Log,
    turns: Semaphore,
    idle: Mutex<Vec<Instance>>,
    /// What the plugin was activated with: every further instance is activated with it too.
    activation: Mutex<Option<String>>,
}

impl Guests {
    pub(crate) fn new(
        prepared: InstancePre<State>,
        plugin: &str,
        rights: Rights,
        limits: Limits,
        log: Log,
    ) -> wasmtime::Result<Self> {
        let export = |name: &str| {
            let index = prepared.component().get_export_index(None, name);
            index.ok_or_else(|| wasmtime::format_err!("there is no export `{name}`"))
        };
        let exports = [export("activate")?, export("handle")?];
        let shared = Shared {
            prepared,
            exports,
            plugin: plugin.to_owned(),
            rights,
            limits,
            log,
            turns: Semaphore::new(limits.instances),
            idle: Mutex::default(),
            activation: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    async fn answer(&self, event: DynEvent) -> Result<Value, Failure> {
        let gone = |_| Failure::new(FailureKind::Gone, "the plugin was unloaded");
        let _turn = self.turns.acquire().await.map_err(gone)?;
        let context = context_of(&event);
        // Dropped with this future, if a deadline ends it: what a guest was in the middle of is not used again.
        let kept = locked(&self.idle).pop();
        let mut instance = match kept {
            Some(instance) => instance,
            None => self.instantiate().await?,
        };
        let said = match event.point {
            ACTIVATE => {
                let said = instance.activate(context.clone()).await;
                *locked(&self.activation) = Some(context);
                said
            }
            point => instance.handle(point.to_owned(), context).await,
        };
        let said = said.map_err(|error| failure_of(&error, &self.limits))?;
        locked(&self.idle).push(instance);
        match said {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|error| Failure::bad_output(format!("its answer is not JSON: {error}"))),
            Err(words) => Err(Failure::errored(words)),
        }
    }

    async fn instantiate(&self) -> Result<Instance, Failure> {
        let mut instance =
            self.try_instantiate().await.map_err(|error| failure_of(&error, &self.limits))?;
        let activation = locked(&self.activation).clone();
        if let Some(context) = activation {
            let said = instance.activate(context).await;
            let said = said.map_err(|error| failure_of(&error, &self.limits))?;
            said.map_err(Failure::errored)?;
        }
        Ok(instance)
    }

    async fn try_instantiate(&self) -> wasmtime::Result<Instance> {
        let limits = &self.limits;
        let state = State {
            plugin: self.plugin.clone(),
            rights: self.rights.clone(),
            limits: *limits,
            memory: MemoryBudget::new(limits.memory),
            log: self.log.clone(),
            host_calls: 0,
        };
        let mut store = Store::new(self.prepared.component().engine(), state);
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(limits.output);
        store.set_fuel(limits.fuel)?;
        store.fuel_async_yield_interval(Some(FUEL_PER_TURN))?;
        let instance = self.prepared.instantiate_async(&mut store).await?;
        let [activate, handle] = &self.exports;
        let activate = instance.get_typed_func(&mut store, activate)?;
        let handle = instance.get_typed_func(&mut store, handle)?;
        Ok(Instance { store, activate, handle })
    }
}

impl Instance {
    async fn activate(&mut self, context: String) -> wasmtime::Result<Result<String, String>> {
        self.refill()?;
        Ok(self.activate.call_async(&mut self.store, (context,)).await?.0)
    }

    async fn handle(
        &mut self,
        event: String,
        context: String,
    ) -> wasmtime::Result<Result<String, String>> {
        self.refill()?;
        Ok(self.handle.call_async(&mut self.store, (event, context)).await?.0)
    }

    fn refill(&mut self) -> wasmtime::Result<()> {
        let state = self.store.data_mut();
        state.host_calls = 0;
        let fuel = state.limits.fuel;
        self.store.set_fuel(fuel)
    }
}

/// Payload and envelope with the point's name as `event`, and at a Modifying point what earlier handlers have set as `merged`.
fn context_of(event: &DynEvent) -> String {
    let mut context = match &*event.json {
        Value::Object(fields) => fields.clone(),
        other => Map::from_iter([("payload".to_owned(), other.clone())]),
    };
    context.insert("event".to_owned(), event.point.into());
    if !event.merged.is_null() {
        context.insert("merged".to_owned(), event.merged.clone());
    }
    Value::Object(context).to_string()
}

impl DynHandler for Guests {
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.answer(event).await })
    }
}

impl Guest for Guests {
    fn end(&self) -> BoxFuture<'_, ()> {
        self.shared.turns.close();
        locked(&self.shared.idle).clear();
        Box::pin(std::future::ready(()))
    }
}
