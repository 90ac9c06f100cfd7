//! What holds the processes that calls start.

use std::sync::Arc;

use pintle_policy::Zone;
use pintle_sandbox::{Confinement, Grant, Rights, Sandbox, Surroundings, Unconfined};

/// What holds the processes of an agent (R17.1).
///
/// Without one, every call that starts a process is zone `machine`: a person is asked, and it never runs by itself.
#[derive(Debug, Clone)]
pub enum Containment {
    /// The kernel holds zones 0–3, as far as this machine can.
    Kernel {
        /// What this machine can hold.
        sandbox: Sandbox,
        /// What the zones' rights are made of.
        surroundings: Arc<Surroundings>,
    },
    /// There is none, for this reason.
    None {
        /// In words.
        why: String,
    },
    /// The operator switched it off: processes run by their declared zone and nothing holds them to it.
    Off,
}

impl Containment {
    /// How a process of this zone is held, wider by these grants.
    ///
    /// # Errors
    /// Why it cannot be.
    pub fn confine(&self, zone: Zone, grants: &[Grant]) -> Result<Confinement, String> {
        let rights = match zone {
            Zone::Safe => Rights::Safe,
            Zone::Workspace => Rights::Workspace,
            Zone::Build => Rights::Build,
            Zone::Network => Rights::Network,
            Zone::External | Zone::Machine | Zone::Never => {
                return Err("it runs with every right of its user".into());
            }
        };
        match self {
            Self::Kernel { sandbox, surroundings } => {
                let policy = surroundings.policy(rights).with(grants);
                sandbox.hold(policy).map(Confinement::Held).map_err(|gap| gap.to_string())
            }
            Self::None { why } => Err(format!("there is no sandbox: {why}")),
            Self::Off => Ok(Unconfined::by("the operator, who switched the sandbox off").into()),
        }
    }
}

impl Containment {
    /// What holds a process, and its rights, in words.
    pub(crate) fn in_words(&self, confinement: &Confinement) -> String {
        match (self, confinement) {
            (Self::Kernel { surroundings, .. }, Confinement::Held(held)) => {
                let rights = surroundings.in_words(held.policy()).join("; ");
                format!("{}: {rights}", held.sandbox().tier().name())
            }
            (_, Confinement::Held(held)) => held.sandbox().to_string(),
            (_, Confinement::Unconfined(unconfined)) => {
                format!("none: decided by {}", unconfined.decided_by())
            }
        }
    }
}

impl Default for Containment {
    fn default() -> Self {
        Self::None { why: "this agent was built without one".into() }
    }
}
