//! Ids that people can type.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Stored;

/// Short ids: runs, sessions and approvals share one set, so that an id means one thing wherever it is typed.
pub trait ShortIds: Send + Sync + 'static {
    /// The short id of what has this id. It is given at the first call, and stays.
    fn short_id(&self, kind: IdKind, id: &str) -> Stored<'_, String>;
    /// What has this short id.
    fn by_short_id(&self, short: &str) -> Stored<'_, Option<(IdKind, String)>>;
}

/// What an id belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdKind {
    /// A run.
    Run,
    /// A session.
    Session,
    /// A question to a person.
    Approval,
}

impl IdKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Run, Self::Session, Self::Approval];

    /// Its name, as shown to people and stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Session => "session",
            Self::Approval => "approval",
        }
    }
}

/// No vowels, so that no words arise, and no two characters that look alike.
const ALPHABET: &[u8; 27] = b"bcdfghjkmnpqrstvwxz23456789";
const SHORTEST: usize = 4;

/// The short ids that may be given to an id, shortest first: each has one more character than the one before.
pub fn short_id_candidates(id: &str) -> impl Iterator<Item = String> {
    let hash = Sha256::digest(id.as_bytes());
    let letter = |byte: &u8| ALPHABET.get(usize::from(*byte) % ALPHABET.len());
    let letters: String =
        hash.iter().filter_map(letter).map(|letter| char::from(*letter)).collect();
    (SHORTEST..=letters.len()).map(move |end| letters.chars().take(end).collect())
}
