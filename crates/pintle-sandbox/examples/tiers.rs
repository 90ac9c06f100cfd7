//! Says which tiers this machine has. Fails if one is missing, because its tests cannot run here then.
#![allow(clippy::print_stdout, reason = "a program that a person runs")]

use std::{process::ExitCode, time::Duration};

use pintle_sandbox::{Sandbox, Tier};

fn main() -> ExitCode {
    let launcher = pintle_sandbox::init();
    let sandbox = Sandbox::probe(&launcher, Duration::from_secs(10));
    println!("this machine holds: {sandbox}");
    let mut is_complete = true;
    for tier in [Tier::Full, Tier::View, Tier::Floor] {
        let is_there = sandbox.at_most(tier).tier() == tier;
        let run = if is_there { "its tests run" } else { "its tests cannot run here" };
        println!("  {:<6} {run}", tier.name());
        is_complete &= is_there;
    }
    if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
