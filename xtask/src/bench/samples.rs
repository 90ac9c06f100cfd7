//! What the benchmark programs printed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::rows::Row;
use crate::step::Failed;

/// Measurements by name, one per round.
#[derive(Default)]
pub(crate) struct Samples {
    by_name: BTreeMap<String, Vec<f64>>,
}

impl Samples {
    /// Takes the lines of one program. Lines that are not JSON objects are for the reader, and are passed on.
    pub(crate) fn read(&mut self, output: &str, rows: &mut Vec<Row>) -> Result<(), Failed> {
        for line in output.lines().filter(|line| !line.trim().is_empty()) {
            let Ok(json @ Value::Object(_)) = serde_json::from_str::<Value>(line) else {
                println!("  {line}");
                continue;
            };
            match (
                json.get("sample").and_then(Value::as_str),
                json.get("ns").and_then(Value::as_f64),
            ) {
                (Some(name), Some(ns)) => {
                    self.by_name.entry(name.to_string()).or_default().push(ns);
                }
                _ => rows.push(Row::from_json(&json).ok_or_else(|| {
                    Failed(format!("a benchmark printed neither a sample nor a row: {line}"))
                })?),
            }
        }
        Ok(())
    }

    pub(crate) fn rounds(&self, name: &str) -> &[f64] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn median(&self, name: &str) -> Option<f64> {
        median(self.rounds(name))
    }
}

pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = sorted.get(middle).copied()?;
    let lower =
        if sorted.len().is_multiple_of(2) { sorted.get(middle - 1).copied()? } else { upper };
    Some(f64::midpoint(lower, upper))
}
