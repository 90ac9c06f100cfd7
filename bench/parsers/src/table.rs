//! The rows: those of the product's own test, and some that only go deep.

use serde_json::Value;

use crate::{child::Said, names::plain};

/// The table that `crates/pintle-policy/tests/judge/shell_commands.rs` holds the product to.
const TABLE: &str = include_str!("../../../crates/pintle-policy/tests/evasions.json");

pub struct Row {
    pub command: String,
    /// The names a shell reads in the text itself, sorted; `None` when it is no shell command at all.
    pub written: Option<Vec<String>>,
}

/// What to think of a grammar's answer. The order is the one of the printed columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// It found what a shell reads, or refused what a shell refuses.
    Understood,
    /// It could not read a command that a shell runs: a nuisance, but safe.
    Refused,
    /// It left out a command that a shell runs: a way past the guard.
    Missed,
    /// It left out nothing, but read commands where a shell reads none.
    MadeUp,
    /// It panicked, overflowed its stack or did not come back.
    Crashed,
}

impl Row {
    pub fn judge(&self, said: &Said) -> Judgement {
        match (said, &self.written) {
            (Said::Crashed, _) => Judgement::Crashed,
            (Said::Refused, None) => Judgement::Understood,
            (Said::Refused, Some(_)) => Judgement::Refused,
            (Said::Found(_), None) => Judgement::MadeUp,
            (Said::Found(found), Some(written)) if found == written => Judgement::Understood,
            (Said::Found(found), Some(written)) => {
                let mut left = found.clone();
                let all = written.iter().all(|name| {
                    left.iter().position(|found| found == name).map(|at| left.remove(at)).is_some()
                });
                if all { Judgement::MadeUp } else { Judgement::Missed }
            }
        }
    }
}

pub fn read() -> Vec<(String, Vec<Row>)> {
    let table: Value = serde_json::from_str(TABLE).expect("the table is JSON");
    let groups = table.as_array().expect("a list of groups").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let row = |row: &Value| {
        let written = text(&row[2]);
        let names = || plain(written.split(' ').map(str::to_owned).collect());
        Row { command: text(&row[0]), written: (written != "!").then(names) }
    };
    let group = |group: &Value| {
        (text(&group["group"]), group["rows"].as_array().expect("rows").iter().map(row).collect())
    };
    groups.map(group).collect()
}

/// Commands that hide one command deep inside. The product refuses beyond its own bound, and must not fall over.
pub fn nested() -> Vec<Row> {
    let kinds = [("$(", ")"), ("\"$(", ")\""), ("( ", " )"), ("{ ", "; }"), ("${a:-", "}")];
    let row = |depth: usize, (open, close): (&str, &str)| {
        let inside = if open.starts_with('$') && close == "}" { "$(rm x)" } else { "rm x" };
        let before = if open.contains('$') { "echo " } else { "" };
        let command = format!("{before}{}{inside}{}", open.repeat(depth), close.repeat(depth));
        let mut written = vec!["rm".to_owned()];
        if open.contains('$') {
            written.push("echo".into());
        }
        // The output of `rm` in the innermost pair is itself a command of the pair around it.
        if open.contains("$(") {
            written.extend(std::iter::repeat_n("?".to_owned(), depth - 1));
        }
        Row { command, written: Some(plain(written)) }
    };
    [10, 1_000, 10_000].into_iter().flat_map(|depth| kinds.map(|kind| row(depth, kind))).collect()
}
