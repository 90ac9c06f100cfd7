//! Tickets: work that agents hand to each other.

use serde::{Deserialize, Serialize};

use super::Stored;

/// Where tickets are kept.
///
/// A ticket moves only if it still is as the caller saw it: its version is compared in the transaction of the move, so
/// that of two callers one moves it, and a process that was paused meanwhile moves nothing.
pub trait Tickets: Send + Sync + 'static {
    /// Puts a ticket on the board, in the state `todo`.
    fn create_ticket(&self, new: NewTicket) -> Stored<'_, Ticket>;
    /// One ticket.
    fn ticket(&self, id: u64) -> Stored<'_, Option<Ticket>>;
    /// The tickets in this state, or all of them, newest first.
    fn tickets(&self, state: Option<TicketState>) -> Stored<'_, Vec<Ticket>>;
    /// Moves a ticket. `None`: it is not as it was seen, or its state does not allow the move; nothing was changed.
    ///
    /// A completion that is accepted or rejected is added to the reputation of the assignee in the same transaction.
    fn move_ticket(&self, seen: &Ticket, to: TicketMove) -> Stored<'_, Option<Ticket>>;
    /// Removes a ticket; the reputation that it made stays. `false` when it is gone already.
    fn delete_ticket(&self, id: u64) -> Stored<'_, bool>;
    /// How many completions of this assignee were accepted and rejected.
    fn reputation(&self, assignee: &str) -> Stored<'_, Reputation>;
}

/// What a new ticket starts with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTicket {
    /// What to do.
    pub title: String,
    /// When it is done, in words.
    pub acceptance_criteria: Option<String>,
    /// A command that exits with 0 when it is done. Only people write one: it runs without a question.
    pub check: Option<String>,
    /// Who wants it.
    pub created_by: String,
}

/// A ticket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ticket {
    /// Its number; none is given twice.
    pub id: u64,
    /// What to do.
    pub title: String,
    /// When it is done, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<String>,
    /// A command that exits with 0 when it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Where it is on the board.
    pub state: TicketState,
    /// Who works on it, or did last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// What the assignee says was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Why the newest completion was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who wants it.
    pub created_by: String,
    /// When it was made, in milliseconds since 1970.
    pub created_at: u64,
    /// When it was last moved.
    pub updated_at: u64,
    /// How often it was moved.
    pub version: u64,
}

/// Where a ticket is on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TicketState {
    /// No one works on it.
    Todo,
    /// Its assignee works on it.
    Running,
    /// A completion was rejected; somebody has to take it again.
    NeedsRevision,
    /// A completion was accepted.
    Done,
}

impl TicketState {
    /// All of them, in the order of a board's columns.
    pub const ALL: [Self; 4] = [Self::Todo, Self::Running, Self::NeedsRevision, Self::Done];

    /// Its name on the wire, as stored and as shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Todo => "todo",
            Self::Running => "running",
            Self::NeedsRevision => "needs_revision",
            Self::Done => "done",
        }
    }

    /// The state of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// A step of a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicketMove {
    /// `todo` or `needs_revision` → `running`.
    Take {
        /// Who works on it from now on.
        assignee: String,
    },
    /// `running` → `todo`: its assignee does not go on with it.
    Release,
    /// `running` → `done`.
    Accept {
        /// What was done.
        summary: String,
    },
    /// `running` → `needs_revision`.
    Reject {
        /// What is said to be done.
        summary: String,
        /// What is missing.
        reason: String,
    },
}

impl TicketMove {
    /// The ticket after this step; `None` when its state does not allow it. Stores apply this under their write lock.
    pub fn apply(self, ticket: &Ticket, now: u64) -> Option<Ticket> {
        use TicketState::{Done, NeedsRevision, Running, Todo};
        let moved = Ticket { version: ticket.version + 1, updated_at: now, ..ticket.clone() };
        Some(match (self, ticket.state) {
            (Self::Take { assignee }, Todo | NeedsRevision) => {
                Ticket { state: Running, assignee: Some(assignee), ..moved }
            }
            (Self::Release, Running) => Ticket { state: Todo, assignee: None, ..moved },
            (Self::Accept { summary }, Running) => {
                Ticket { state: Done, summary: Some(summary), reason: None, ..moved }
            }
            (Self::Reject { summary, reason }, Running) => {
                let (summary, reason) = (Some(summary), Some(reason));
                Ticket { state: NeedsRevision, summary, reason, ..moved }
            }
            _ => return None,
        })
    }

    /// Whether a completion is accepted or rejected by it.
    pub fn verdict(&self) -> Option<bool> {
        match self {
            Self::Take { .. } | Self::Release => None,
            Self::Accept { .. } => Some(true),
            Self::Reject { .. } => Some(false),
        }
    }
}

/// What became of an assignee's completions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reputation {
    /// So many were accepted.
    pub accepted: u64,
    /// So many were rejected.
    pub rejected: u64,
}

/// The tiers above 0: at least so many completions, of which at least this share was accepted.
const TIERS: [(u64, f64); 3] = [(3, 0.5), (10, 0.8), (25, 0.95)];

impl Reputation {
    /// The share of completions that were accepted; `None` before the first one.
    pub fn success_ratio(self) -> Option<f64> {
        let all = self.accepted + self.rejected;
        (all > 0).then(|| self.accepted as f64 / all as f64)
    }

    /// How much the assignee may decide alone, from 0 (new, or often rejected) to 3.
    pub fn autonomy_tier(self) -> u32 {
        let (all, ratio) = (self.accepted + self.rejected, self.success_ratio().unwrap_or(0.0));
        let reached = TIERS.iter().take_while(|(count, share)| all >= *count && ratio >= *share);
        u32::try_from(reached.count()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_earned_by_completions_and_lost_by_rejections() {
        let tier = |accepted, rejected| Reputation { accepted, rejected }.autonomy_tier();
        assert_eq!(Reputation::default().success_ratio(), None);
        assert_eq!(Reputation { accepted: 3, rejected: 1 }.success_ratio(), Some(0.75));
        assert_eq!([tier(0, 0), tier(2, 0), tier(3, 0), tier(10, 0), tier(25, 0)], [0, 0, 1, 2, 3]);
        assert_eq!([tier(10, 3), tier(10, 11), tier(90, 10)], [1, 0, 2]);
    }
}
