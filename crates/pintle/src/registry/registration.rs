//! The handle that undoes a registration.

use std::{
    fmt,
    sync::{Arc, Weak},
};

use super::Inner;
use crate::Hooks;

/// A handler's registration. Dropping it does nothing; [`unregister`](Self::unregister) removes the handler.
///
/// It does not keep the registry alive.
///
/// ```
/// use pintle::{Event, Hooks, points::SessionOpened};
///
/// let hooks = Hooks::new();
/// let registration = hooks.register_void(async |_: Event<SessionOpened>| {})?;
/// assert_eq!(registration.name(), "session_start#1");
/// registration.unregister();
/// registration.unregister(); // harmless
/// assert!(hooks.list().is_empty());
/// # Ok::<(), pintle::RegisterError>(())
/// ```
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
    /// use pintle::{Event, Hooks, PluginFilter, points::SessionOpened};
    ///
    /// let hooks = Hooks::new();
    /// {
    ///     let _guard = hooks.register_void(async |_: Event<SessionOpened>| {})?.guard();
    ///     assert!(hooks.has_handlers::<SessionOpened>(&PluginFilter::All));
    /// }
    /// assert!(!hooks.has_handlers::<SessionOpened>(&PluginFilter::All));
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    #[must_use = "dropping the guard unregisters the handler"]
    pub fn guard(self) -> RegistrationGuard {
        RegistrationGuard(self)
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Unregisters its handler when dropped: see [`Registration::guard`].
#[derive(Debug)]
pub struct RegistrationGuard(Registration);

impl Drop for RegistrationGuard {
    fn drop(&mut self) {
        self.0.unregister();
    }
}
