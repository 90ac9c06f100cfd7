//! R3.1: there are four models.
use pintle::{Model, ModelKind};

struct Voting;

impl Model for Voting {
    type Answer = bool;
    type Outcome = bool;
    const KIND: ModelKind = ModelKind::Gate;
    fn capabilities() -> &'static [&'static str] {
        &[]
    }
}

fn main() {}
