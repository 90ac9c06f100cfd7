//! Registrations that were checked and wait to be put in force together.

use std::{fmt, sync::Arc};

use super::{Hooks, Meta, RegisterError, Registration, Table, Writer};

type Put =
    Box<dyn FnMut(&mut Table, &mut Writer) -> Result<Option<Registration>, RegisterError> + Send>;

/// A registration that was checked and is not in force: [`Registrar::stage_dyn`](crate::Registrar::stage_dyn) makes it,
/// [`Hooks::replace_plugin`] puts it in force. Dropped, it was never there.
#[must_use = "nothing is registered until `Hooks::replace_plugin` gets it"]
pub struct Staged {
    plugin: Option<Arc<str>>,
    put: Put,
}

impl Staged {
    pub(super) fn new(
        plugin: Option<Arc<str>>,
        put: impl FnMut(&mut Table, &mut Writer) -> Result<Option<Registration>, RegisterError>
        + Send
        + 'static,
    ) -> Self {
        Self { plugin, put: Box::new(put) }
    }
}

impl fmt::Debug for Staged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staged").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

impl Hooks {
    /// Puts these handlers in the place of all that the plugin has, in one step (R13.1): a fire sees all of the old ones or all
    /// of the new ones. Says how many were removed.
    ///
    /// A fire under way starts no more of the old ones, and does not see the new ones.
    ///
    /// ```
    /// use pintle::{DynEvent, Hooks, ModelKind};
    /// use serde_json::json;
    ///
    /// let hooks = Hooks::new();
    /// let handlers = ["session_start", "agent_done"]
    ///     .map(|point| hooks.named("weather").plugin("weather").stage_dyn(point, ModelKind::Void, |_: DynEvent| json!(null)))
    ///     .into_iter()
    ///     .collect::<Result<Vec<_>, _>>()?;
    /// assert!(hooks.list().is_empty());
    /// hooks.replace_plugin("weather", handlers)?;
    /// assert_eq!(hooks.list().len(), 2);
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// When a name is taken, or a handler was staged for another plugin. The plugin has what it had.
    pub fn replace_plugin(
        &self,
        plugin: &str,
        mut handlers: Vec<Staged>,
    ) -> Result<usize, RegisterError> {
        if let Some(other) = handlers.iter().find(|it| it.plugin.as_deref() != Some(plugin)) {
            return Err(RegisterError::OtherPlugin {
                plugin: plugin.to_owned(),
                staged_for: other.plugin.as_deref().map(str::to_owned),
            });
        }
        let is_its_own = |meta: &Meta| meta.plugin.as_deref() == Some(plugin);
        // Dropped after the writers' lock: what a handler captured may itself want to register.
        let mut spoiled = Vec::new();
        self.write(|table, writer| {
            let before = table.lists.clone();
            let removed = table.remove(writer, &is_its_own);
            let put = handlers.iter_mut().try_for_each(|it| (it.put)(table, writer).map(drop));
            if let Err(error) = put {
                for list in before.iter().flatten() {
                    list.without(&is_its_own, 0);
                }
                spoiled = std::mem::replace(&mut table.lists, before);
                return Err(error);
            }
            Ok(removed)
        })
    }

    /// Puts one in force.
    pub(super) fn put(&self, mut staged: Staged) -> Result<Registration, RegisterError> {
        let put = self.write(|table, writer| (staged.put)(table, writer))?;
        // It was put once only: `staged` is consumed.
        Ok(put.unwrap_or_else(|| Registration::new(&self.inner, 0, "".into())))
    }
}
