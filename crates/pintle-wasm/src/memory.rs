//! The memory of one instance: one budget for all its memories and tables.

use wasmtime::{ResourceLimiter, Result};

/// The bytes of one element of a table.
const ELEMENT: usize = size_of::<usize>();

/// The bytes that one instance may still take. Memories and tables never shrink, so nothing comes back; wasmtime also reports growth as
/// failed that it never asked for, so a report of failure must not add to the budget.
pub(crate) struct MemoryBudget {
    left: usize,
}

impl MemoryBudget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { left: bytes }
    }

    fn take(&mut self, now: usize, then: usize, most: Option<usize>, each: usize) -> bool {
        // Growth past the declared maximum fails and takes nothing.
        if most.is_some_and(|most| then > most) {
            return false;
        }
        let more = then.saturating_sub(now).saturating_mul(each);
        let left = self.left.checked_sub(more);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

impl ResourceLimiter for MemoryBudget {
    fn memory_growing(&mut self, now: usize, then: usize, most: Option<usize>) -> Result<bool> {
        Ok(self.take(now, then, most, 1))
    }

    fn table_growing(&mut self, now: usize, then: usize, most: Option<usize>) -> Result<bool> {
        Ok(self.take(now, then, most, ELEMENT))
    }

    fn instances(&self) -> usize {
        64
    }

    fn tables(&self) -> usize {
        32
    }

    fn memories(&self) -> usize {
        8
    }
}
