//! One owner of a session at a time.

use std::any::Any;

use tokio_util::sync::CancellationToken;

use super::{Session, Stored};
use crate::run::new_id;

/// Who may write to a session.
///
/// A claim lasts until it is dropped or its owner is gone. How a store notices the latter is its own: a kernel lock that
/// is free again, or a lease that was not renewed by the store's own clock. A store with leases renews them from a task
/// that the claim's guard ends, and cancels [`Claim::lost`] when a renewal fails.
pub trait Claims: Send + Sync + 'static {
    /// Makes the session the caller's alone. Waits a short while for the run that has it.
    ///
    /// # Errors
    /// [`StoreError::InUse`](super::StoreError::InUse) when another run has it and keeps it.
    fn claim(&self, session: &Session) -> Stored<'_, Claim>;

    /// The same without waiting; `None` when another run has it.
    fn try_claim(&self, session_id: &str) -> Stored<'_, Option<Claim>>;

    /// Whether a live owner has the session now.
    fn is_claimed(&self, session_id: &str) -> Stored<'_, bool>;
}

/// What a store compares in every write.
///
/// The epoch grows with every claim on the session. The nonce is random: a store that forgot its last epochs in a
/// failover may give one out again, and the nonce still tells the two owners apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FencingToken {
    /// The session.
    pub session_id: String,
    /// How often the session has been claimed.
    pub epoch: u64,
    /// Random.
    pub nonce: String,
}

impl FencingToken {
    /// A token with a fresh nonce.
    pub fn new(session_id: impl Into<String>, epoch: u64) -> Self {
        Self { session_id: session_id.into(), epoch, nonce: new_id() }
    }
}

/// A session that belongs to one run. Dropping it gives the session back.
pub struct Claim {
    token: FencingToken,
    lost: CancellationToken,
    _guard: Option<Box<dyn Any + Send + Sync>>,
}

impl Claim {
    /// A claim under this token, for stores to hand out.
    pub fn new(token: FencingToken) -> Self {
        Self { token, lost: CancellationToken::new(), _guard: None }
    }

    /// With a guard that gives the session back when it is dropped.
    #[must_use]
    pub fn held_by(self, guard: impl Send + Sync + 'static) -> Self {
        Self { _guard: Some(Box::new(guard)), ..self }
    }

    /// What the store compares.
    pub fn token(&self) -> &FencingToken {
        &self.token
    }

    /// The session.
    pub fn session_id(&self) -> &str {
        &self.token.session_id
    }

    /// Cancelled when the store knows that the claim is lost. The run then stops and ends its processes.
    pub fn lost(&self) -> &CancellationToken {
        &self.lost
    }
}

impl std::fmt::Debug for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Claim").field(&self.token).finish()
    }
}
