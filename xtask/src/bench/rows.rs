//! What is compared with what, and what has to hold.

use serde_json::Value;

use super::samples::{Samples, median};

/// One row of the table.
pub(crate) struct Row {
    pub(crate) work: String,
    pub(crate) value: Option<f64>,
    pub(crate) unit: String,
    pub(crate) against: String,
    pub(crate) base: Option<f64>,
    pub(crate) ratio: Option<f64>,
    /// The smallest and the largest ratio of all rounds.
    pub(crate) spread: Option<(f64, f64)>,
    pub(crate) hold: Option<Hold>,
}

/// A bound on a ratio, or on the value itself when it has a unit or there is no ratio.
pub(crate) struct Hold {
    pub(crate) text: String,
    at_most: bool,
    limit: f64,
    of_value: bool,
}

impl Hold {
    /// Understands `≤ 1.5×`, `≥ 3`, `≤ 8 ms`.
    fn parse(text: &str) -> Option<Self> {
        let (at_most, rest) = match text.strip_prefix(['≤', '<']) {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix(['≥', '>'])?),
        };
        let rest = rest.trim_start_matches('=').trim();
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, unit) = rest.split_at(digits);
        let of_value = !matches!(unit.trim(), "" | "×" | "x");
        Some(Self { text: text.to_string(), at_most, limit: number.parse().ok()?, of_value })
    }
}

impl Row {
    /// A row that a program measured itself.
    pub(crate) fn from_json(json: &Value) -> Option<Self> {
        let text = |key: &str| json.get(key).and_then(Value::as_str).map(str::to_string);
        let number = |key: &str| json.get(key).and_then(Value::as_f64);
        Some(Self {
            work: text("row")?,
            value: number("value"),
            unit: text("unit").unwrap_or_else(|| "ns".to_string()),
            against: text("against").or(text("base")).unwrap_or_default(),
            base: number("against").or(number("base")),
            ratio: number("ratio"),
            spread: None,
            hold: text("hold").and_then(|hold| Hold::parse(&hold)),
        })
    }

    /// How much of what is allowed it takes: 1 is the limit.
    pub(crate) fn share(&self) -> Option<f64> {
        let hold = self.hold.as_ref()?;
        let measured = if hold.of_value { self.value? } else { self.ratio.or(self.value)? };
        Some(match (hold.at_most, hold.limit) {
            (true, 0.0) => measured,
            (true, limit) => measured / limit,
            (false, limit) => limit / measured,
        })
    }

    /// Whether it holds; `None` when there is nothing to hold.
    pub(crate) fn holds(&self) -> Option<bool> {
        let hold = self.hold.as_ref()?;
        let none_allowed = hold.at_most && hold.limit == 0.0;
        self.share().map(|share| if none_allowed { share == 0.0 } else { share <= 1.0 })
    }
}

struct Comparison {
    work: &'static str,
    sample: &'static str,
    /// Of several, the fastest is taken.
    against: &'static [&'static str],
    named: &'static str,
    /// The other side's time is taken this many times.
    times: f64,
    /// Whether the ratio says how much faster the first is, or how much slower.
    faster: bool,
    hold: &'static str,
}

const PLAIN: Comparison = Comparison {
    work: "",
    sample: "",
    against: &[],
    named: "",
    times: 1.0,
    faster: false,
    hold: "",
};

const COMPARISONS: [Comparison; 10] = [
    Comparison {
        work: "Void ×10, handlers that finish at once",
        sample: "void10/pintle",
        against: &["void10/loop"],
        named: "a bare loop awaiting the same boxed futures",
        hold: "≤ 1.5×",
        ..PLAIN
    },
    Comparison {
        work: "Void ×10, handlers that finish at once",
        sample: "void10/pintle",
        against: &["void10/join_all"],
        named: "`join_all` of them",
        ..PLAIN
    },
    Comparison {
        work: "empty fire",
        sample: "empty/pintle",
        against: &["empty/atomic"],
        named: "an atomic load",
        hold: "≤ 8×",
        ..PLAIN
    },
    Comparison {
        work: "Void ×10",
        sample: "models/void/pintle",
        against: &["models/void/tapable", "models/void/hookable", "models/void/pluggy"],
        faster: true,
        hold: "≥ 3×",
        ..PLAIN
    },
    Comparison {
        work: "Modifying ×10",
        sample: "models/modifying/pintle",
        against: &[
            "models/modifying/tapable",
            "models/modifying/hookable",
            "models/modifying/pluggy",
        ],
        faster: true,
        hold: "≥ 3×",
        ..PLAIN
    },
    Comparison {
        work: "Claiming ×10, the last claims",
        sample: "models/claiming/pintle",
        against: &["models/claiming/tapable", "models/claiming/pluggy"],
        faster: true,
        hold: "≥ 3×",
        ..PLAIN
    },
    Comparison {
        work: "Gate ×10, all allow",
        sample: "models/gate/pintle",
        against: &["models/gate/tapable", "models/gate/hookable", "models/gate/pluggy"],
        faster: true,
        hold: "≥ 3×",
        ..PLAIN
    },
    Comparison {
        work: "64 handlers of 64 plugins, half of them allowed",
        sample: "plugins/half-of-64",
        against: &["plugins/the-same-32"],
        named: "those 32 alone, with no filter",
        hold: "≤ 1.3×",
        ..PLAIN
    },
    Comparison {
        work: "64 handlers of 64 plugins, half of them allowed",
        sample: "plugins/half-of-64",
        against: &["plugins/all-64"],
        named: "all 64, with no filter",
        hold: "≤ 1.3×",
        ..PLAIN
    },
    Comparison {
        work: "1,000 handlers",
        sample: "many/1000",
        against: &["many/10"],
        named: "100 times 10 handlers",
        times: 100.0,
        hold: "≤ 1.1×",
        ..PLAIN
    },
];

/// The rows that can be made of the samples there are.
pub(crate) fn compared(samples: &Samples) -> Vec<Row> {
    COMPARISONS.iter().filter_map(|comparison| comparison.row(samples)).collect()
}

impl Comparison {
    fn row(&self, samples: &Samples) -> Option<Row> {
        let value = samples.median(self.sample)?;
        let (base, best) = self
            .against
            .iter()
            .filter_map(|name| Some((samples.median(name)? * self.times, *name)))
            .min_by(|(a, _), (b, _)| a.total_cmp(b))?;
        // Round by round, because the two sides of one round were disturbed alike.
        let ratios: Vec<f64> = samples
            .rounds(self.sample)
            .iter()
            .zip(samples.rounds(best))
            .map(|(value, base)| (value, base * self.times))
            .map(|(value, base)| if self.faster { base / value } else { value / base })
            .collect();
        let against = match best.rsplit('/').next() {
            Some(peer) if self.named.is_empty() => format!("{peer}, the fastest of the others"),
            _ => self.named.to_string(),
        };
        let smallest = ratios.iter().copied().min_by(f64::total_cmp)?;
        let largest = ratios.iter().copied().max_by(f64::total_cmp)?;
        Some(Row {
            work: self.work.to_string(),
            value: Some(value),
            unit: "ns".to_string(),
            against,
            base: Some(base),
            ratio: median(&ratios),
            spread: Some((smallest, largest)),
            hold: Hold::parse(self.hold),
        })
    }
}
