//! Numbers, sizes, costs and times, as people read them.

use std::time::Duration;

use chrono::{DateTime, Datelike, Local, TimeZone};

/// `<1 ms`, `38 ms`, `1.8 s`, `42 s`, `6m 02s`, `1h 04m`
pub(crate) fn duration(duration: Duration) -> String {
    let ms = (duration.as_secs_f64() * 1000.0).round() as u64;
    let (seconds, tenths) = ((ms + 500) / 1000, (ms + 50) / 100);
    match ms {
        _ if duration < Duration::from_millis(1) => "<1 ms".to_owned(),
        0..1000 => format!("{ms} ms"),
        1000..9950 => format!("{}.{} s", tenths / 10, tenths % 10),
        9950..59_500 => format!("{seconds} s"),
        59_500..3_599_500 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// The same, from milliseconds.
pub(crate) fn millis(ms: u64) -> String {
    duration(Duration::from_millis(ms))
}

/// The same, from a part of a millisecond or many of them.
pub(crate) fn duration_ms(ms: f64) -> String {
    duration(Duration::from_secs_f64((ms / 1000.0).clamp(0.0, 1e9)))
}

/// `12,431`
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 call`, `12 calls`
pub(crate) fn plural(number: u64, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {one}{ending}", count(number))
}

/// `950`, `9.1k`, `31k`, `1.2M`
pub(crate) fn tokens(number: u64) -> String {
    let short = |unit: u64, letter: char| {
        let tenths = (number + unit / 20) / (unit / 10);
        match tenths {
            0..100 => format!("{}.{}{letter}", tenths / 10, tenths % 10),
            _ => format!("{}{letter}", (number + unit / 2) / unit),
        }
    };
    match number {
        0..1000 => number.to_string(),
        1000..999_500 => short(1000, 'k'),
        _ => short(1_000_000, 'M'),
    }
}

/// `$0.048`, `$1.20`; none where the price is not known.
pub(crate) fn cost(usd: f64) -> Option<String> {
    match usd {
        _ if usd <= 0.0 || !usd.is_finite() => None,
        _ if usd < 0.001 => Some("<$0.001".to_owned()),
        _ if usd < 0.9995 => Some(format!("${usd:.3}")),
        _ => Some(format!("${usd:.2}")),
    }
}

/// `412 B`, `12 KiB`, `1.5 MiB`
pub(crate) fn size(bytes: u64) -> String {
    let mut left = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if left < 1023.5 || unit == "GiB" {
            let decimals = usize::from(unit != "B" && left < 9.95);
            return format!("{left:.decimals$} {unit}");
        }
        left /= 1024.0;
    }
    format!("{bytes} B")
}

/// How much longer: `60s`, `28m`, `3h`.
pub(crate) fn left(ms: u64) -> String {
    match ms / 1000 {
        seconds @ 0..=119 => format!("{seconds}s"),
        seconds @ 120..7200 => format!("{}m", seconds / 60),
        seconds => format!("{}h", seconds / 3600),
    }
}

/// `just now`, `3 min ago`, `14:02`, `Nov 12 14:02`, `2025-11-12`: a moment, both in milliseconds since 1970.
pub(crate) fn ago(at: u64, now: u64) -> String {
    ago_in(&Local, at, now)
}

pub(super) fn ago_in<Z: TimeZone>(zone: &Z, at: u64, now: u64) -> String
where
    Z::Offset: std::fmt::Display,
{
    let local = |ms: u64| {
        let utc = DateTime::from_timestamp_millis(i64::try_from(ms).unwrap_or(i64::MAX));
        utc.unwrap_or_default().with_timezone(zone)
    };
    let (then, today) = (local(at), local(now));
    match now.saturating_sub(at) / 60_000 {
        0 => "just now".to_owned(),
        minutes @ 1..60 => format!("{minutes} min ago"),
        _ if then.date_naive() == today.date_naive() => then.format("%H:%M").to_string(),
        _ if then.year() == today.year() => then.format("%b %d %H:%M").to_string(),
        _ => then.format("%Y-%m-%d").to_string(),
    }
}
