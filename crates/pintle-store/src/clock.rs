//! The two representations of time: milliseconds since 1970, and SQLite's signed integers.

pub(crate) use pintle_agent::now_ms;

/// SQLite has no unsigned integers. A value that does not fit becomes the largest one.
pub(crate) fn to_sql(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The reverse of [`to_sql`]. No stored number is negative.
pub(crate) fn from_sql(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
