//! The two representations of time: milliseconds since 1970, and SQLite's signed integers.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970; 0 on a clock set before that.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// SQLite has no unsigned integers; what does not fit means "as far away as can be".
pub(crate) fn to_sql(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The way back; we never store a negative number.
pub(crate) fn from_sql(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
