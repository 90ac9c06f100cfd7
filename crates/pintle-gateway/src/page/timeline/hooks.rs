//! Hooks as rows: each below the call or the model request that it was about.

use serde_json::Value;

use super::{Timeline, number, word};
use crate::page::{
    format::{duration, one_line},
    row::{Kind, Mark, Row},
};

impl Timeline {
    /// The row that a hook belongs to. A call, or a model request, begins when its first hook fires.
    fn owner(&mut self, run: &str, event: &Value, at: f64) -> Option<usize> {
        let key = (run.to_string(), word(event, "toolCallId").to_string());
        match word(event, "point") {
            "interceptor.before" | "before_tool_call" | "tool.pre" if !key.1.is_empty() => {
                Some(self.row_of(key, String::new(), None, at))
            }
            "model.pre" | "before_llm_call" => Some(self.request(run, at)),
            "model.post" | "after_llm_call" => self.runs.get(run)?.request,
            _ => self.calls.get(&key).or(self.ended.get(&key)).copied(),
        }
    }

    pub(super) fn fired(&mut self, run: &str, event: &Value, at: f64) {
        let (point, model) = (word(event, "point"), word(event, "model"));
        let owner = self.owner(run, event, at);
        for handler in event.get("handlers").and_then(Value::as_array).into_iter().flatten() {
            let took = number(handler, "durationMs");
            let mut row = self.below(run, owner, Kind::Hook, word(handler, "name"), at);
            (row.to, row.detail, row.took) = (at + took, point.to_string(), duration(took));
            (row.mark, row.word) = match word(handler, "outcome") {
                "finished" | "passed" | "removed" => (Mark::Ok, "ok".into()),
                "patched" => (Mark::Ok, "changed".into()),
                "allowed" => (Mark::Ok, "allowed".into()),
                "claimed" => (Mark::Ok, "claimed".into()),
                "asked" => (Mark::Wait, "asked".into()),
                "blocked" => (Mark::Block, "blocked".into()),
                "cancelled" => (Mark::Idle, "stopped".into()),
                failed => (Mark::Fail, failed.replace('_', " ")),
            };
            let keys = |key: &str| -> String {
                let keys = handler.get(key).and_then(Value::as_array).into_iter().flatten();
                keys.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            };
            let (won, lost, notes) = (keys("won"), keys("lost"), keys("notes"));
            row.changed = !won.is_empty();
            row.why = match (won.as_str(), lost.as_str()) {
                ("", "") => notes.clone(),
                (won, "") => format!("changed {won}"),
                ("", lost) => format!("lost {lost}"),
                (won, lost) => format!("changed {won}, lost {lost}"),
            };
            row.plugin = handler.get("plugin").and_then(Value::as_str).map(str::to_string);
            let from = row.plugin.clone().unwrap_or_else(|| "none; it is built in or yours".into());
            row.more = vec![("Point".into(), format!("{point}, {model}")), ("Plugin".into(), from)];
            let said = [("Won", won), ("Lost", lost), ("Notes", notes)];
            let said = said.into_iter().filter(|(_, keys)| !keys.is_empty());
            row.more.extend(said.map(|(name, keys)| (name.to_string(), keys)));
            self.head.failed += usize::from(row.mark == Mark::Fail);
            self.add(row);
        }
    }

    pub(super) fn blocked(&mut self, run: &str, event: &Value, at: f64) {
        let (handler, point) = (word(event, "handler"), word(event, "point"));
        let reason = self.kept(word(event, "reason"));
        let owner = self.owner(run, event, at);
        let mut made = self.below(run, owner, Kind::Hook, handler, at);
        // A call may be judged twice: the first of its fires that has no reason yet is meant.
        let is_it = |row: &&Row| {
            (row.kind, row.name.as_str(), row.detail.as_str()) == (Kind::Hook, handler, point)
                && row.under == made.under
                && matches!(row.mark, Mark::Block | Mark::Fail)
                && row.why.is_empty()
        };
        let newest = self.rows.len().saturating_sub(64);
        let hook = match self.rows.iter().skip(newest).find(is_it) {
            Some(row) => row.i,
            None => {
                (made.mark, made.word) = (Mark::Block, "blocked".into());
                made.detail = point.to_string();
                self.add(made)
            }
        };
        // A program blocks by its exit code, which is not a failure.
        let is_exit = self.rows.get(hook).is_some_and(|row| row.word == "exit");
        self.head.failed = self.head.failed.saturating_sub(usize::from(is_exit));
        self.change(hook, |row| {
            // A hook that failed keeps the word for its failure.
            if is_exit {
                (row.mark, row.word) = (Mark::Block, "blocked".into());
            }
            row.why = one_line(&reason, 240);
            row.more.push(("Why".into(), reason.clone()));
        });
        let key = (run.to_string(), word(event, "toolCallId").to_string());
        match self.calls.get(&key).copied() {
            Some(call) => self.change(call, |row| {
                // After it ran, a hook can only object.
                if row.took == "not started" {
                    (row.mark, row.word, row.took) =
                        (Mark::Block, "blocked".into(), "never ran".into());
                    row.why = format!("{handler}: {}", one_line(&reason, 240));
                }
            }),
            None if event.get("toolCallId").is_none() => self.head.blocked += 1,
            None => {}
        }
    }
}
