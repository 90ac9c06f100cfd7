//! What a stranger wrote looks like what it is on a terminal.

use pintle_profile::{on_one_line, visible};

#[test]
fn what_would_not_be_seen_is_written_out() {
    let table = [
        ("/etc/passwd\u{1b}[5F\u{1b}[J", "/etc/passwd\\u{1b}[5F\\u{1b}[J"),
        ("a\u{9b}2Jb\u{7f}", "a\\u{9b}2Jb\\u{7f}"),
        ("one\r\ntwo\tthree\0", "one\\r\\ntwo\\tthree\\u{0}"),
        ("gpj.\u{202e}exe", "gpj.\\u{202e}exe"),
        ("\u{2066}x\u{2069}\u{200e}\u{61c}", "\\u{2066}x\\u{2069}\\u{200e}\\u{61c}"),
        ("pass\u{200b}wd\u{ad}\u{feff}", "pass\\u{200b}wd\\u{ad}\\u{feff}"),
        ("rm\u{200d}x\u{e0041}\u{e0100}", "rm\\u{200d}x\\u{e0041}\\u{e0100}"),
        ("a\u{2028}b\u{3164}", "a\\u{2028}b\\u{3164}"),
        (
            "café ✓ 日本 👩\u{200d}🚀 می\u{200c}خواهم ❤\u{fe0f}",
            "café ✓ 日本 👩\u{200d}🚀 می\u{200c}خواهم ❤\u{fe0f}",
        ),
    ];
    for (text, seen) in table {
        assert_eq!(on_one_line(text), seen);
        assert_eq!(on_one_line(seen), seen, "once is enough, and twice does no more");
    }
}

#[test]
fn lines_and_tabs_may_stay_what_they_are_and_nothing_else() {
    assert_eq!(visible("a\r\n\tb\rc\u{1b}[2J\n"), "a\n\tb\\rc\\u{1b}[2J\n");
}
