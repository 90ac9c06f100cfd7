//! Short ids, in memory.

use super::MemoryStore;
use crate::store::{IdKind, ShortIds, Stored, short_id_candidates};

impl ShortIds for MemoryStore {
    fn short_id(&self, kind: IdKind, id: &str) -> Stored<'_, String> {
        let short = {
            let given = &mut self.tables().short_ids;
            let known = given.iter().find(|(_, it)| **it == (kind, id.to_owned()));
            match known.map(|(short, _)| short.clone()) {
                Some(short) => short,
                None => {
                    let mut free = short_id_candidates(id).filter(|it| !given.contains_key(it));
                    let short = free.next().unwrap_or_else(|| id.to_owned());
                    given.insert(short.clone(), (kind, id.to_owned()));
                    short
                }
            }
        };
        self.read(move |_| short)
    }

    fn by_short_id(&self, short: &str) -> Stored<'_, Option<(IdKind, String)>> {
        self.read(|tables| tables.short_ids.get(short).cloned())
    }
}
