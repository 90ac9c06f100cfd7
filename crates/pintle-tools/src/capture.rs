//! What of an output goes into a result, and what is shown while it comes.

use pintle_agent::Progress;
use pintle_sandbox::{HeadTail, split_incomplete};

/// How much of each end of a tool's result is kept.
pub(crate) const KEPT_HALF: usize = 16 * 1024;

/// Text cut the same way as output.
pub(crate) fn cut(text: &str, half: usize) -> String {
    let mut kept = HeadTail::new(half, half);
    kept.push(text.as_bytes());
    kept.text()
}

/// Text with a remark of ours under it, in brackets so that it is not taken for output.
pub(crate) fn with_note(text: &str, note: &str) -> String {
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{gap}[{note}]")
}

/// What goes to the person watching, as it comes.
///
/// It is capped too: someone who watches a flood has seen enough after a while, and every piece costs an event.
pub(crate) struct Streamed {
    progress: Progress,
    budget: usize,
    incomplete: Vec<u8>,
}

impl Streamed {
    pub(crate) fn new(progress: Progress, budget: usize) -> Self {
        Self { progress, budget, incomplete: Vec::new() }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.budget == 0 {
            return;
        }
        let mut bytes = [self.incomplete.as_slice(), bytes].concat();
        let (complete, rest) = split_incomplete(&bytes);
        let at = complete.len();
        self.incomplete = rest.to_vec();
        bytes.truncate(at);
        if bytes.is_empty() {
            return;
        }
        self.progress.say(&String::from_utf8_lossy(&bytes));
        self.budget = self.budget.saturating_sub(bytes.len());
        if self.budget == 0 {
            self.progress.say("\n[more output follows; it is no longer shown as it comes]\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn a_stream_shows_whole_characters_whatever_the_pieces_are() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let sink = said.clone();
        let mut streamed = Streamed::new(
            Progress::new(move |text| sink.lock().unwrap().push(text.to_owned())),
            1000,
        );
        for byte in "aé漢🎉b".as_bytes() {
            streamed.push(&[*byte]);
        }
        assert_eq!(*said.lock().unwrap(), ["a", "é", "漢", "🎉", "b"]);
    }

    #[test]
    fn a_stream_stops_showing_when_its_budget_is_spent() {
        let said = Arc::new(Mutex::new(String::new()));
        let sink = said.clone();
        let mut streamed =
            Streamed::new(Progress::new(move |text| sink.lock().unwrap().push_str(text)), 10);
        for _ in 0..100 {
            streamed.push(b"12345");
        }
        assert!(said.lock().unwrap().starts_with("1234512345\n[more output follows"));
        assert!(said.lock().unwrap().len() < 100);
    }
}
