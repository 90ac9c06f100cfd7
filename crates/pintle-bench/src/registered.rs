//! Registries with handlers that finish at once, and one fire of each model.

use std::hint::black_box;

use pintle::{
    Claiming, Cx, Envelope, Event, Gate, Hooks, Modifying, PluginFilter, RegisterError, Verdict,
    Void, claim, patch, point,
};

point! {
    /// Something to observe.
    pub struct Observed = "bench_observed": Void {
        /// Read by every handler.
        pub turn: u64,
    }
}

point! {
    /// Something to amend.
    pub struct Amended = "bench_amended": Modifying<Amendment> {
        /// Read by every handler.
        pub turn: u64,
    }
}

patch! {
    /// Three keys, so that most handlers lose theirs to an earlier one.
    pub struct Amendment {
        /// Set by the first handler, and every third after it.
        pub first: Option<u64>,
        /// Set by the second handler, and every third after it.
        pub second: Option<u64>,
        /// Set by the third handler, and every third after it.
        pub third: Option<u64>,
    }
}

point! {
    /// Something to claim.
    pub struct Claimable = "bench_claimable": Claiming<Taken> {
        /// Read by every handler.
        pub turn: u64,
    }
}

claim! {
    /// Somebody took it.
    pub struct Taken {
        /// What the payload said.
        pub turn: u64,
    }
}

point! {
    /// Something to stop.
    pub struct Guarded = "bench_guarded": Gate<pintle::Binding> {
        /// Read by every handler.
        pub turn: u64,
    }
}

/// A context that reaches `plugins`.
pub fn reaching(plugins: PluginFilter) -> Cx {
    Cx::new(Envelope::default(), plugins)
}

/// The name of the plugin that owns handler number `n`.
pub fn plugin(n: u64) -> String {
    format!("plugin-{n:03}")
}

/// `count` built-in handlers that observe.
///
/// # Errors
/// Never, unless the registry is broken.
pub fn observers(count: u64) -> Result<Hooks, RegisterError> {
    let hooks = Hooks::new();
    for n in 0..count {
        hooks.register_void(move |e: Event<Observed>| async move {
            black_box(e.turn + n);
        })?;
    }
    Ok(hooks)
}

/// Handlers that observe, one for each of `plugins`.
///
/// # Errors
/// Never, unless the registry is broken.
pub fn observers_of(plugins: impl Iterator<Item = u64>) -> Result<Hooks, RegisterError> {
    let hooks = Hooks::new();
    for n in plugins {
        hooks.options().plugin(plugin(n)).register_void(move |e: Event<Observed>| async move {
            black_box(e.turn + n);
        })?;
    }
    Ok(hooks)
}

/// `count` handlers that each set one of three keys: the first three win, the others lose.
///
/// # Errors
/// Never, unless the registry is broken.
pub fn amenders(count: u64) -> Result<Hooks, RegisterError> {
    let hooks = Hooks::new();
    for n in 0..count {
        hooks.register_modifying(move |e: Event<Amended>| async move {
            let value = Some(e.turn + n);
            Some(match n % 3 {
                0 => Amendment { first: value, ..Amendment::default() },
                1 => Amendment { second: value, ..Amendment::default() },
                _ => Amendment { third: value, ..Amendment::default() },
            })
        })?;
    }
    Ok(hooks)
}

/// `count` handlers of which only the last claims.
///
/// # Errors
/// Never, unless the registry is broken.
pub fn claimers(count: u64) -> Result<Hooks, RegisterError> {
    let hooks = Hooks::new();
    for n in 0..count {
        hooks.register_claiming(move |e: Event<Claimable>| async move {
            (n + 1 == count).then(|| Taken { turn: e.turn })
        })?;
    }
    Ok(hooks)
}

/// `count` handlers that all allow.
///
/// # Errors
/// Never, unless the registry is broken.
pub fn guards(count: u64) -> Result<Hooks, RegisterError> {
    let hooks = Hooks::new();
    for n in 0..count {
        hooks.register_gate(move |e: Event<Guarded>| async move {
            if e.turn + n == u64::MAX {
                Verdict::block("the end of time")
            } else {
                Verdict::allow()
            }
        })?;
    }
    Ok(hooks)
}
