//! The table, in the terminal and on the page.

use std::{fs, iter};

use super::{rows::Row, samples::Samples};
use crate::step::Step;

const HEADERS: [&str; 8] =
    ["work", "takes", "against", "takes", "ratio", "rounds", "hold", "holds"];

/// The table as aligned Markdown, which reads well in a terminal too.
pub(crate) fn table(rows: &[Row]) -> String {
    let cells: Vec<[String; 8]> = iter::once(HEADERS.map(str::to_string))
        .chain(iter::once(HEADERS.map(|_| String::new())))
        .chain(rows.iter().map(cells))
        .collect();
    let width = |column: usize| {
        cells
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 8] = std::array::from_fn(width);
    let mut text = String::new();
    for (number, row) in cells.iter().enumerate() {
        for (cell, width) in row.iter().zip(widths) {
            let fill = if number == 1 { "-" } else { " " };
            let padding = fill.repeat(width - cell.chars().count());
            text += &format!("| {cell}{padding} ");
        }
        text += "|\n";
    }
    text
}

fn cells(row: &Row) -> [String; 8] {
    let times = |ratio: f64| format!("{ratio:.2}×");
    let taken =
        |value: Option<f64>| value.map(|value| amount(value, &row.unit)).unwrap_or_default();
    [
        row.work.clone(),
        taken(row.value),
        row.against.clone(),
        taken(row.base),
        row.ratio.map(times).unwrap_or_default(),
        row.spread.map(|(low, high)| format!("{}–{}", times(low), times(high))).unwrap_or_default(),
        row.hold.as_ref().map(|hold| hold.text.clone()).unwrap_or_default(),
        match row.holds() {
            Some(true) => "yes".to_string(),
            Some(false) => "**no**".to_string(),
            None => String::new(),
        },
    ]
}

/// A figure with about three digits that mean something.
pub(crate) fn amount(value: f64, unit: &str) -> String {
    match unit {
        "ns" if value >= 1e6 => format!("{:.2} ms", value / 1e6),
        "ns" if value >= 1e4 => format!("{:.1} µs", value / 1e3),
        "ns" if value >= 100.0 => format!("{value:.0} ns"),
        "ns" => format!("{value:.1} ns"),
        unit if value.fract() == 0.0 => format!("{value:.0} {unit}"),
        unit => format!("{value:.2} {unit}"),
    }
}

/// `docs/benchmarks.md`.
pub(crate) fn page(rounds: usize, samples: &Samples, rows: &[Row], soak: &str) -> String {
    let not_held = rows.iter().filter(|row| row.holds() == Some(false)).count();
    let verdict = match not_held {
        0 => "Every figure holds.".to_string(),
        1 => "One figure does not hold; the table says which.".to_string(),
        several => format!("{several} figures do not hold; the table says which."),
    };
    let mut page = format!(
        "# Benchmarks

Written by `cargo xtask bench`; do not edit. {verdict}

![Time per fire, beside other hook systems](benchmarks.svg)

{}
*takes* is the median of {rounds} rounds. In each round every program runs once, in turns, and gives the median of 61
turns of about a millisecond. *ratio* is the median of the rounds' own ratios, *rounds* the smallest and the largest:
both sides of a ratio were measured in the same round, and were disturbed alike by whatever else the machine did.

## Ten handlers that finish at once

{}
",
        table(rows),
        peers(samples),
    );
    page += &format!(
        "tapable: `AsyncParallelHook` for Void, `AsyncSeriesWaterfallHook` for Modifying, `AsyncSeriesBailHook` for Claiming and
Gate, all with `tapPromise`. hookable: `callHookParallel` for Void, `callHook` for the others; it has no call that ends
at the first answer. pluggy: plain calls, `firstresult` for Claiming and Gate, and a first-wins merge of the list it
returns for Modifying; its calls are synchronous. Pintle's calls are those of an application: a new payload for each
fire, panics caught, deadlines kept. The bare loop does none of that.

{soak}
## The machine

{}

How long a build takes, and a start of the program: [build-times.md](build-times.md).
",
        machine()
    );
    page
}

const MODELS: [&str; 4] = ["void", "modifying", "claiming", "gate"];
const SYSTEMS: [&str; 4] = ["pintle", "tapable", "hookable", "pluggy"];

/// Every system's time under every model.
fn by_model(samples: &Samples) -> Vec<(&'static str, Vec<(&'static str, f64)>)> {
    let systems = |model: &str| {
        SYSTEMS
            .iter()
            .filter_map(|system| {
                Some((*system, samples.median(&format!("models/{model}/{system}"))?))
            })
            .collect()
    };
    MODELS.iter().map(|model| (*model, systems(model))).collect()
}

fn peers(samples: &Samples) -> String {
    let mut text =
        format!("| | {} |\n|---|{}\n", SYSTEMS.join(" | "), "---|".repeat(SYSTEMS.len()));
    for (model, times) in by_model(samples) {
        let time = |system: &&str| {
            let found = times.iter().find(|(name, _)| name == system);
            found.map_or("–".to_string(), |(_, ns)| amount(*ns, "ns"))
        };
        let cells: Vec<String> = SYSTEMS.iter().map(time).collect();
        text += &format!("| {model} | {} |\n", cells.join(" | "));
    }
    text
}

fn machine() -> String {
    let processor = fs::read_to_string("/proc/cpuinfo").ok().and_then(|info| {
        let line = info.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_string())
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let version = |program: &str, option: &str| {
        Step::new(program, &[option]).read().unwrap_or_default().trim().to_string()
    };
    format!(
        "{}, {cores} cores. {}; Node {}; {}.",
        processor.unwrap_or_else(|| "An unknown processor".to_string()),
        version("rustc", "--version"),
        version("node", "--version"),
        version("python3", "--version"),
    )
}
