//! Numbers and times as people read them.

/// `0.2 ms`, `140 ms`, `3.4 s`, `4 min 01 s`, `2 h 05 min`.
pub(crate) fn duration(ms: f64) -> String {
    let seconds = ms.max(0.0) / 1e3;
    let whole = seconds.round() as u64;
    match seconds {
        ..0.0001 => "< 0.1 ms".to_string(),
        ..0.01 => format!("{ms:.1} ms"),
        ..1.0 => format!("{ms:.0} ms"),
        ..60.0 => format!("{seconds:.1} s"),
        ..3600.0 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

/// One unit: `48 s`, `6 min`, `2 h`, `3 days`.
pub(crate) fn roughly(ms: u64) -> String {
    match ms / 1000 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// Empty for nothing.
pub(crate) fn money(usd: f64) -> String {
    match usd {
        ..=0.0 => String::new(),
        ..0.01 => format!("${usd:.4}"),
        _ => format!("${usd:.2}"),
    }
}

/// `1 hook`, `1,204 hooks`.
pub(crate) fn plural(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

/// `12,400`
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && at % 3 == first {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The first line, and no more than so many characters of it.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    cut(text.trim().lines().next().unwrap_or_default(), most)
}

/// No more than so many characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_have_their_unit() {
        let times = [0.03, 0.137, 9.99, 10.0, 999.4, 1000.0, 59_900.0, 241_000.0, 7_500_000.0];
        let said = times.map(duration).join(" · ");
        assert_eq!(
            said,
            "< 0.1 ms · 0.1 ms · 10.0 ms · 10 ms · 999 ms · 1.0 s · 59.9 s · 4 min 01 s · 2 h 05 min"
        );
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped).join(" "), "0 999 1,000 1,234,567");
        assert_eq!([59_999, 60_000, 7_200_000].map(roughly).join(" · "), "59 s · 1 min · 2 h");
        assert_eq!([0.0, 0.0012, 0.213].map(money).join(" · "), " · $0.0012 · $0.21");
        assert_eq!((plural(1, "hook"), plural(2, "hook")), ("1 hook".into(), "2 hooks".into()));
        assert_eq!(cut("äöü", 2), "äö…");
    }
}
