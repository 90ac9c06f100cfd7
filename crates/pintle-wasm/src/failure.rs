//! How a call into a component can fail, in the words of the engine.

use std::fmt;

use pintle::{Failure, FailureKind};
use wasmtime::Trap;

use crate::Limits;

/// Too many calls to the host in one call.
#[derive(Debug)]
pub(crate) struct Flood(pub(crate) u32);

impl fmt::Display for Flood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it called the host more than {} times in one call", self.0)
    }
}

impl std::error::Error for Flood {}

pub(crate) fn failure_of(error: &wasmtime::Error, limits: &Limits) -> Failure {
    if let Some(flood) = error.downcast_ref::<Flood>() {
        return Failure::new(FailureKind::TooMuchOutput, flood.to_string());
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => {
            let message = format!("it used up its {} units of fuel", limits.fuel);
            return Failure::new(FailureKind::TimedOut, message);
        }
        Some(trap) => return Failure::new(FailureKind::Panicked, format!("it trapped: {trap}")),
        None => {}
    }
    let words = format!("{error:#}");
    // Wasmtime has no type for this one.
    if words.contains("fuel allocated for hostcalls") {
        let message = format!("a text is longer than {} bytes", limits.output);
        return Failure::new(FailureKind::TooMuchOutput, message);
    }
    Failure::bad_output(words)
}
