//! The handle that undoes a registration.

use std::sync::{Arc, Weak};

use super::Inner;
use crate::Hooks;

/// A handler's registration. Dropping it does nothing; [`unregister`](Self::unregister) removes the handler.
///
/// It does not keep the registry alive.
#[derive(Clone)]
pub struct Registration {
    registry: Weak<Inner>,
    id: u64,
    name: Arc<str>,
}

impl Registration {
    pub(crate) fn new(registry: &Arc<Inner>, id: u64, name: Arc<str>) -> Self {
        Self { registry: Arc::downgrade(registry), id, name }
    }

    /// The handler's name: the one given, or the point's and a counter.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Removes exactly this registration (R4.1). Calling it again is harmless.
    pub fn unregister(&self) {
        if let Some(inner) = self.registry.upgrade() {
            Hooks { inner }.remove(&|meta| meta.id == self.id);
        }
    }

    /// Unregisters when dropped.
    ///
    /// ```
    /// use pintle::{Event, Hooks, PluginGate, points::SessionStart};
    ///
    /// let hooks = Hooks::new();
    /// {
    ///     let _guard = hooks.register_void(|_: Event<SessionStart>| async {})?.guard();
    ///     assert!(hooks.has_handlers::<SessionStart>(&PluginGate::All));
    /// }
    /// assert!(!hooks.has_handlers::<SessionStart>(&PluginGate::All));
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    #[must_use = "dropping the guard unregisters the handler"]
    pub fn guard(self) -> RegistrationGuard {
        RegistrationGuard(self)
    }
}

/// Unregisters its handler when dropped: see [`Registration::guard`].
pub struct RegistrationGuard(Registration);

impl Drop for RegistrationGuard {
    fn drop(&mut self) {
        self.0.unregister();
    }
}
