//! How a command is held, and what the sandbox saw of it.

use std::path::Path;

use pintle_agent::SandboxUse;
use pintle_policy::Zone;
use pintle_sandbox::{Confinement, Report, find_refusals};

/// The zone of a command, and what holds it there.
pub(super) struct Hold {
    pub(super) zone: Zone,
    pub(super) confinement: Confinement,
}

impl Hold {
    /// What the sandbox saw of a command that has ended.
    pub(super) fn look(
        &self,
        folder: &Path,
        output: &str,
        has_failed: bool,
        report: &Report,
    ) -> SandboxUse {
        let (tier, refused) = match &self.confinement {
            Confinement::Held(held) => {
                let refused = match has_failed {
                    true => find_refusals(held, folder, output, report),
                    false => Vec::new(),
                };
                (held.tier().name(), refused)
            }
            Confinement::Unconfined(_) => ("none", Vec::new()),
        };
        let Report { hosts, changed, .. } = report.clone();
        SandboxUse { zone: self.zone.name(), tier, hosts, refused, changed }
    }

    /// What was refused, and how to ask for more, for the model (R11.8).
    pub(super) fn refused_in_words(&self, seen: &SandboxUse) -> Option<String> {
        let refused: Vec<String> = seen.refused.iter().map(ToString::to_string).collect();
        (!refused.is_empty()).then(|| {
            format!(
                "the sandbox of zone `{}` did not let it {}; work inside the workspace, or call again with a wider \
                 `zone` and say `why`",
                seen.zone,
                refused.join(", or ")
            )
        })
    }
}
