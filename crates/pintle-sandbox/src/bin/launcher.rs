//! The launcher as a program of its own, for tests and for hosts that cannot re-execute themselves.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that a person runs")]

use std::{env, process::ExitCode, time::Duration};

use pintle_sandbox::{Launcher, Sandbox, Tier};

fn main() -> ExitCode {
    let launcher = pintle_sandbox::init();
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments == ["--tiers"] {
        print_tiers(&launcher);
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "usage: pintle-sandbox-launcher --tiers\n\nSays which tiers of the sandbox this machine has."
    );
    ExitCode::from(2)
}

/// A line for each tier: whether this machine has it, and why not.
fn print_tiers(launcher: &Launcher) {
    let sandbox = Sandbox::probe(launcher, Duration::from_secs(10));
    for tier in [Tier::Full, Tier::View, Tier::Floor] {
        match sandbox.at_most(tier).tier() == tier {
            true => println!("{}: yes", tier.name()),
            false => {
                println!("{}: no ({})", tier.name(), sandbox.why_not_full().unwrap_or_default())
            }
        }
    }
}
