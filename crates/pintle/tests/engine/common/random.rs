//! Random tests that can be repeated: each prints its seed, and `PROPTEST_RNG_SEED` gives it the same one again.
//! Other crates link to this file: `cargo package` packs its content.
#![allow(dead_code, reason = "a test program may need only half of it")]

use std::hash::{BuildHasher, RandomState};

use proptest::test_runner::{Config, RngSeed};

const VARIABLE: &str = "PROPTEST_RNG_SEED";

#[allow(clippy::print_stdout, reason = "the test harness shows it when the test fails")]
fn seed() -> u64 {
    let given = std::env::var(VARIABLE).ok().map(|seed| seed.parse().unwrap());
    let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("{VARIABLE}={seed} repeats this");
    seed
}

/// Settings for a property test.
pub(crate) fn cases(cases: u32) -> Config {
    let rng_seed = RngSeed::Fixed(seed());
    Config { cases, rng_seed, failure_persistence: None, ..Config::default() }
}

/// Random numbers, for everything else.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self(seed())
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }
}
