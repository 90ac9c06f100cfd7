use std::time::Duration;

use anstream::adapter::strip_str;
use chrono::FixedOffset;
use serde_json::json;

use super::{
    Column, Diff, Table, call, columns, cost, count, fit, fit_middle, format::ago_in,
    format::duration, left, plural, size, tokens, wrap,
};
use crate::shown::{Show, Shown, bold, dim, red, text};

fn plain(lines: &[Shown]) -> String {
    lines.iter().map(|line| strip_str(line.as_str()).to_string() + "\n").collect()
}

#[test]
fn durations_are_short() {
    let table = [
        (0, "<1 ms"),
        (999, "<1 ms"),
        (1000, "1 ms"),
        (38_400, "38 ms"),
        (1_000_000, "1.0 s"),
        (1_840_000, "1.8 s"),
        (9_960_000, "10 s"),
        (42_000_000, "42 s"),
        (59_600_000, "1m 00s"),
        (362_000_000, "6m 02s"),
        (3_599_600_000, "1h 00m"),
        (3_840_000_000, "1h 04m"),
    ];
    for (micros, seen) in table {
        assert_eq!(duration(Duration::from_micros(micros)), seen);
    }
}

#[test]
fn numbers_are_short() {
    assert_eq!([0, 999, 12_431, 1_234_567].map(count), ["0", "999", "12,431", "1,234,567"]);
    assert_eq!([1, 2].map(|n| plural(n, "call")), ["1 call", "2 calls"]);
    assert_eq!(
        [950, 1000, 9_149, 9_960, 31_400, 999_600, 1_240_000].map(tokens),
        ["950", "1.0k", "9.1k", "10k", "31k", "1.0M", "1.2M"]
    );
    assert_eq!(
        [0, 412, 1024, 12_288, 18_874_368].map(size),
        ["0 B", "412 B", "1.0 KiB", "12 KiB", "18 MiB"]
    );
    assert_eq!(
        [0.0004, 0.0481, 1.2, 12.0].map(|usd| cost(usd).unwrap()),
        ["<$0.001", "$0.048", "$1.20", "$12.00"]
    );
    assert_eq!([0.0, f64::NAN].map(cost), [None, None]);
    assert_eq!([59_999, 60_000, 1_740_000, 7_200_000].map(left), ["59s", "60s", "29m", "2h"]);
}

#[test]
fn moments_are_local() {
    // 2025-11-18 00:20 in a zone two hours ahead of UTC.
    let (zone, now) = (FixedOffset::east_opt(7200).unwrap(), 1_763_418_005_000);
    let table = [
        (59_000, "just now"),
        (200_000, "3 min ago"),
        (3_600_000, "Nov 17 23:20"),
        (86_400_000 * 400, "2024-10-14"),
    ];
    for (before, seen) in table {
        assert_eq!(ago_in(&zone, now - before, now), seen);
    }
    let evening = now + 20 * 3_600_000;
    assert_eq!(ago_in(&zone, now, evening), "00:20");
}

#[test]
fn what_is_cut_fits_and_keeps_its_colours_apart() {
    for (text, columns, seen) in
        [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 4, "日…"), ("", 0, "")]
    {
        assert_eq!(fit(&text.shown(), columns).as_str(), seen);
    }
    let line = text!("{} {}", red("abcdef"), bold("gh"));
    assert_eq!(fit(&line, 4).as_str(), "\u{1b}[31mabc…\u{1b}[0m\u{1b}[1m\u{1b}[0m");
    assert_eq!(fit_middle(&"src/shop/cart.rs".shown(), 11).as_str(), "src/s…rt.rs");
    assert_eq!(columns(&line), 9);
}

#[test]
fn text_is_wrapped_at_words_and_a_long_word_at_a_slash() {
    let wrapped =
        |text: &str, columns, indent| wrap(&text.shown(), columns, indent).as_str().to_owned();
    assert_eq!(wrapped("one two three", 8, 2), "one two\n  three");
    assert_eq!(wrapped("one two", 7, 2), "one two");
    assert_eq!(wrapped("in aaaa/bbbb/cccc now", 9, 1), "in aaaa/\n bbbb/\n cccc now");
    assert_eq!(wrapped("abcdefghij", 4, 1), "abcd\n efg\n hij");
    assert_eq!(wrapped("  a indented line", 12, 4), "  a indented\n    line");
    let styled = wrap(&text!("{}", dim("one two")), 4, 0);
    assert_eq!(styled.as_str(), "\u{1b}[2mone\u{1b}[0m\n\u{1b}[2mtwo\u{1b}[0m");
}

#[test]
fn a_call_is_written_as_people_write_it() {
    let calls = [
        ("terminal", json!({"command": "cargo test"})),
        ("terminal", json!({"command": "python3 - <<'EOF'\nprint(1)\nEOF\n"})),
        ("terminal", json!({"command": "echo \u{1b}[2J"})),
        ("terminal", json!({})),
        ("read_file", json!({"path": "src/a.rs"})),
        ("list_dir", json!({"path": "."})),
        ("write_file", json!({"path": "notes.txt", "content": "a\nb\n"})),
        ("edit_file", json!({"path": "src/a.rs", "old": "a\nb", "new": "a\nc\nd"})),
        ("delegate", json!({"task": "find callers"})),
        ("mcp__github__create_issue", json!({"title": "it\nfails", "labels": ["bug"]})),
    ];
    let lines: Vec<Shown> = calls.iter().map(|(tool, args)| call(tool, args)).collect();
    insta::assert_snapshot!(plain(&lines));
}

fn table() -> Table {
    let mut table = Table::new([
        Column::new("RUN"),
        Column::new("WHEN"),
        Column::new("ASKED FOR").loses_end(),
        Column::new("CALLS").right().below(),
        Column::new("BLOCKED").right().below(),
        Column::new("TIME").right(),
        Column::new("COST").right().below(),
    ]);
    let row = |cells: [&str; 7]| cells.map(|cell| cell.shown());
    table.row(row(["k7qm", "3 min ago", "fix the tax bug and push", "5", "1", "6m 24s", "$0.048"]));
    let long = "add a login page with a form, a session and a test for each of them";
    table.row(row(["h2vt", "Nov 12 14:02", long, "41", "3", "12m 09s", ""]));
    table
}

#[test]
fn a_table_fits_its_width() {
    for width in [80, 50] {
        let lines = table().lines(width);
        assert!(lines.iter().flat_map(Shown::split_lines).all(|line| columns(&line) <= width));
        insta::assert_snapshot!(format!("a_table_at_{width}"), plain(&lines));
    }
}

#[test]
fn a_diff_has_numbers_and_context_and_fits_its_width() {
    let old: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    let new = old
        .replace(
            "line 3\n",
            "line three, which is now much longer than the width of the screen it is shown on\n",
        )
        .replace("line 20\n", "")
        .replace("line 30\n", "line 30");
    let diff = Diff::between(&old, &new);
    assert_eq!(diff.changed(), (2, 3));
    for width in [80, 50] {
        let lines = diff.lines(2, 41, width);
        assert!(lines.iter().all(|line| columns(line) <= width));
        insta::assert_snapshot!(format!("a_diff_at_{width}"), plain(&lines));
    }
}
