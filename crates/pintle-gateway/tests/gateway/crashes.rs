//! R11.6, R12.2, R12.3 under `kill -9`: a small soak. `cargo xtask soak` is the large one.

use std::process::Command;

use crate::soak::{Report, Soak, is_gateway, serve};

/// This test program again, running the same test in the role of the gateway.
fn again(test: &str) -> Command {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", test, "--nocapture"]);
    program
}

fn soak(ledger: bool, gateway: fn() -> Command) -> Option<Report> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if is_gateway() {
        runtime.block_on(serve());
        return None;
    }
    let soak = Soak { chats: 24, messages: 5, kills: 2, ledger, gateway };
    Some(runtime.block_on(soak.run()))
}

#[test]
fn everything_accepted_is_answered_in_order_and_no_tool_runs_twice() {
    const NAME: &str = "crashes::everything_accepted_is_answered_in_order_and_no_tool_runs_twice";
    let Some(report) = soak(true, || again(NAME)) else { return };
    assert!(report.wrong().is_empty(), "{:?}: {report:#?}", report.wrong());
    assert_eq!((report.accepted, report.duplicates), (120, 40));
    assert!(report.unknown > 0, "no call was interrupted: {report:#?}");
    assert!(report.early_kib > 0 && report.end_kib > 0, "{report:#?}");
}

/// The control: a store that forgets which calls were begun fails the same test.
#[test]
fn without_the_ledger_tools_run_twice_and_the_soak_notices() {
    const NAME: &str = "crashes::without_the_ledger_tools_run_twice_and_the_soak_notices";
    let Some(report) = soak(false, || again(NAME)) else { return };
    assert!(report.tools_twice > 0, "{report:#?}");
    assert_eq!(report.answered, report.accepted, "{report:#?}");
}
