//! Does the gateway lose, repeat or reorder anything when it is killed?
//!
//! `cargo xtask soak` runs this: many chats over HTTP, a gateway in a process of its own that gets SIGKILL in the middle,
//! and a control without the ledger of tool calls. Prints a section of docs/benchmarks.md.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs
)]

#[path = "../tests/gateway/soak/mod.rs"]
mod soak;

use std::process::{Command, ExitCode};

use soak::{Report, Soak};

/// More memory than this at the end, as a share of what it was after a tenth of the work, is a leak.
const MOST_GROWTH: f64 = 1.25;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if soak::is_gateway() {
        runtime.block_on(soak::serve());
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: usize| {
        let at = arguments.iter().position(|it| it == name);
        at.map_or(default, |at| arguments[at + 1].parse().unwrap())
    };
    let gateway = || Command::new(std::env::current_exe().unwrap());
    let (chats, messages) = (number("--chats", 1000), number("--messages", 20));
    let soak = Soak { chats, messages, kills: number("--kills", 5), ledger: true, gateway };
    let report = runtime.block_on(soak.run());
    // The control needs no thousand chats to show that the soak bites.
    let control = Soak { chats: chats.min(100), ledger: false, ..soak.clone() };
    let control = runtime.block_on(control.run());
    print!("{}", section(&soak, &report, &control));

    let mut wrong = report.wrong();
    let growth = report.end_kib as f64 / report.early_kib.max(1) as f64;
    if growth > MOST_GROWTH {
        wrong.push(format!("memory grew {growth:.2}×"));
    }
    if control.tools_twice == 0 {
        wrong.push("the control did not notice anything".into());
    }
    for wrong in &wrong {
        eprintln!("wrong: {wrong}");
    }
    ExitCode::from(u8::from(!wrong.is_empty()))
}

fn section(soak: &Soak, report: &Report, control: &Report) -> String {
    let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
    let rows = [
        ("messages accepted", report.accepted.to_string(), control.accepted.to_string()),
        (
            "delivered twice by the sender",
            report.duplicates.to_string(),
            control.duplicates.to_string(),
        ),
        ("answered", report.answered.to_string(), control.answered.to_string()),
        (
            "answers out of order in their chat",
            report.out_of_order.to_string(),
            control.out_of_order.to_string(),
        ),
        (
            "**tools that ran twice**",
            report.tools_twice.to_string(),
            control.tools_twice.to_string(),
        ),
        ("outcomes listed as unknown", report.unknown.to_string(), control.unknown.to_string()),
        ("unknown and not listed", report.unlisted.to_string(), control.unlisted.to_string()),
        (
            "answers sent again under their key",
            report.resent.to_string(),
            control.resent.to_string(),
        ),
        ("left in the queues", report.left.to_string(), control.left.to_string()),
        (
            "memory a tenth of the work after the last start",
            mib(report.early_kib),
            mib(control.early_kib),
        ),
        ("memory at the end", mib(report.end_kib), mib(control.end_kib)),
    ];
    let rows: String = rows
        .iter()
        .map(|(what, ours, theirs)| format!("| {what} | {ours} | {theirs} |\n"))
        .collect();
    format!(
        "## Soak: {} chats, {} messages each, {} × `kill -9`

Written by `cargo xtask soak`. A gateway with SQLite and slow hooks is killed right after a tool took effect and before
its result was stored, and started again. The control is the same with the ledger of tool calls off, and {} chats.

| | | control: no ledger |
|---|---|---|
{rows}",
        soak.chats,
        soak.messages,
        soak.kills,
        soak.chats.min(100),
    )
}
