//! The timelines of the newest runs, kept up with every event.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use serde_json::{Value, json};

use super::{
    row::{Head, Row},
    timeline::Timeline,
};

/// How many runs are followed; older ones are read from the store.
const FOLLOWED: usize = 64;
/// How much of a text a live row has.
const LONGEST: usize = 2000;

/// The newest runs.
#[derive(Default)]
pub(crate) struct Timelines {
    runs: HashMap<String, Timeline>,
    /// The oldest first.
    order: VecDeque<String>,
    /// The run that a session belongs to: a sub-agent's is its parent's.
    roots: HashMap<String, String>,
}

impl Timelines {
    /// Adds an event, and returns the change for the page.
    pub(crate) fn push(&mut self, event: &Value) -> Arc<str> {
        let word = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let (run, kind) = (word("runId"), word("type"));
        if run.is_empty() {
            return json!({ "type": kind, "rows": [] }).to_string().into();
        }
        let root = self.roots.get(word("parentSessionId")).cloned();
        let root = root.unwrap_or_else(|| run.to_string());
        if !word("sessionId").is_empty() {
            self.roots.insert(word("sessionId").to_string(), root.clone());
        }
        let timeline = self.follow(&root);
        let touched = timeline.push(event);
        let rows: Vec<&Row> = touched.iter().filter_map(|at| timeline.rows.get(*at)).collect();
        json!({ "type": kind, "run": root, "rows": rows }).to_string().into()
    }

    pub(crate) fn knows(&self, run: &str) -> bool {
        self.runs.contains_key(run)
    }

    pub(crate) fn head(&self, run: &str) -> Option<Head> {
        self.runs.get(run).map(|timeline| timeline.head.clone())
    }

    pub(crate) fn rows(&self, run: &str) -> Option<Vec<Row>> {
        self.runs.get(run).map(|timeline| timeline.rows.clone())
    }

    fn follow(&mut self, run: &str) -> &mut Timeline {
        if !self.knows(run) {
            if self.order.len() == FOLLOWED
                && let Some(oldest) = self.order.pop_front()
            {
                self.runs.remove(&oldest);
                self.roots.retain(|_, root| *root != oldest);
            }
            self.order.push_back(run.to_string());
        }
        self.runs.entry(run.to_string()).or_insert_with(|| Timeline::new(LONGEST))
    }
}
