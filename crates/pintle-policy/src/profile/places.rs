//! Where a profile says what: for showing which rule decided.

use super::{Action, Hook, Profile, Scripts, written_at};
use crate::contents::Contents;

impl Profile {
    /// Where a field of agent.json is written, like `agent.json:14`; `None` when it is left out.
    #[must_use]
    pub fn written(&self, field: &[&str]) -> Option<String> {
        let node = field.iter().try_fold(&self.document, |node, key| node.get(key))?;
        Some(written_at(&self.source, node))
    }

    /// Whether it brings programs, or servers to talk to: then somebody has to trust it.
    #[must_use]
    pub fn runs_programs(&self) -> bool {
        let runs = |hook: &Hook| matches!(hook.action, Action::Command { .. });
        self.hooks.iter().any(runs) || !self.mcp_servers.is_empty()
    }

    /// The files that the profile's programs are made of, as they are on the disk now. A script may come to be after the
    /// profile was read.
    pub(crate) fn scripts_now(&self, contents: &mut Contents) -> Scripts {
        Scripts::of(&self.document, &self.dir, self.data.as_deref(), contents)
    }
}
