//! The launcher as a program of its own, for tests and for hosts that cannot re-execute themselves.

use std::process::ExitCode;

fn main() -> ExitCode {
    pintle_sandbox::init();
    ExitCode::from(2)
}
