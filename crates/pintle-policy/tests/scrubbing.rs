//! Secrets do not leave, whatever they are dressed as (R10.7).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use pintle_policy::{SCRUBBED, Scrubber};
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use serde_json::json;

const SECRET: &str = "p\"ss w/rd+é=1";

// R10.7
#[test]
fn each_form_of_a_secret_is_scrubbed() {
    let scrubber = Scrubber::new([SECRET]);
    let forms = [
        SECRET.to_owned(),
        serde_json::to_string(SECRET).unwrap().trim_matches('"').to_owned(),
        serde_json::to_string(&serde_json::to_string(SECRET).unwrap()).unwrap(),
        "p\\\"ss w/rd+\\u00e9=1".to_owned(),
        "p\\\"ss w\\/rd+é=1".to_owned(),
        "p%22ss%20w%2Frd%2B%C3%A9%3D1".to_owned(),
        "p%22ss%20w%2frd%2b%c3%a9%3d1".to_owned(),
        "p%22ss+w%2Frd%2B%C3%A9%3D1".to_owned(),
        SECRET.bytes().map(|b| format!("%{b:02X}")).collect(),
        SECRET.bytes().map(|b| format!("%{b:02x}")).collect(),
        SECRET.bytes().map(|b| format!("{b:02x}")).collect(),
        SECRET.bytes().map(|b| format!("{b:02X}")).collect(),
    ];
    for form in forms {
        let clean = scrubber.scrub(&form);
        assert!(clean.contains(SCRUBBED), "{form}");
        assert!(!clean.contains("rd"), "{form} -> {clean}");
    }
}

// R10.7: all three alignments, both alphabets
#[test]
fn base64_hides_a_secret_at_no_alignment() {
    let secret = "ghp_1234567890abcdef";
    let scrubber = Scrubber::new([secret]);
    for prefix in ["", "a", "ab", "abc", "abcd", "abcde"] {
        for suffix in ["", "z", "zz"] {
            let text = format!("{prefix}{secret}{suffix}");
            for encoded in [BASE64_STANDARD.encode(&text), BASE64_URL_SAFE_NO_PAD.encode(&text)] {
                let clean = scrubber.scrub(&encoded).into_owned();
                assert!(clean.contains(SCRUBBED), "{text}");
                assert!(clean.len() < SCRUBBED.len() + 14, "{text}: too much is left: {clean}");
            }
        }
    }
}

// R10.7: as `openssl`, `xxd`, .NET, C and hexdumps write it.
#[test]
fn digits_in_hex_that_stand_apart_hide_nothing() {
    let secret = "ghp_Za9\u{e9}1234567890";
    let scrubber = Scrubber::new([secret]);
    let small: Vec<String> = secret.bytes().map(|b| format!("{b:02x}")).collect();
    let large: Vec<String> = secret.bytes().map(|b| format!("{b:02X}")).collect();
    let fours: Vec<String> = small.chunks(2).map(|pair| pair.concat()).collect();
    let lines: Vec<String> = small.chunks(8).map(|line| line.join(":")).collect();
    for form in [
        small.join(":"),
        small.join(" "),
        small.join(", "),
        small.join("\", \""),
        large.join("-"),
        large.join(" "),
        fours.join(" "),
        fours.join("_"),
        lines.join(":\n    "),
        format!("0x{}", small.join(", 0x")),
        format!("0x{}", large.join(",0X")),
    ] {
        let clean = scrubber.scrub(&format!("<{form}>")).into_owned();
        assert!(clean == "<[secret]>" || clean == "<0x[secret]>", "{form}: {clean}");
    }
    let listed = serde_json::to_string(&format!("[\"{}\"]", small.join("\",\""))).unwrap();
    assert!(scrubber.scrub(&listed).contains(SCRUBBED), "{listed}");
    for other in ["2024-05-05 10:10:10 ab cd", "de:ad:be:ef:00:01", "a bad cafe, added 0x12 faces"]
    {
        assert_eq!(scrubber.scrub(other), other);
    }
    assert_eq!(Scrubber::new(["abcd"]).scrub("61:62:63:64"), SCRUBBED);
}

#[test]
fn a_secret_is_found_anywhere_in_a_long_hexdump() {
    let secret = "ghp_1234567890";
    let scrubber = Scrubber::new([secret]);
    for before in [0, 8_184, 8_188, 8_192, 8_199, 8_206, 40_000] {
        let mut bytes = vec![0_u8; before];
        bytes.extend(secret.bytes().chain(std::iter::repeat_n(0_u8, 20_000)));
        let dump: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let clean = scrubber.scrub(&dump.join(":")).into_owned();
        assert_eq!(clean.find(SCRUBBED), Some(before * 3), "{before}");
        assert_eq!(clean.matches(SCRUBBED).count(), 1);
        assert_eq!(clean.len(), dump.len() * 3 - 1 - (secret.len() * 3 - 1) + SCRUBBED.len());
    }
}

// R10.7: as Python, C and shells write bytes.
#[test]
fn escapes_of_bytes_hide_nothing() {
    let secret = "ghp_'Z\u{e9}567890";
    let scrubber = Scrubber::new([secret]);
    let all: String = secret.bytes().map(|b| format!("\\x{b:02x}")).collect();
    let octal: String = secret.bytes().map(|b| format!("\\{b:03o}")).collect();
    for form in [
        all.clone(),
        all.to_uppercase().replace("\\X", "\\x"),
        octal,
        all.replace('\\', "\\\\"),
        "ghp_\\'Z\\xc3\\xa9567890".to_owned(),
        "ghp\\x5f\\x27Z\\u00e9567890".to_owned(),
    ] {
        assert_eq!(scrubber.scrub(&format!("<{form}>")), "<[secret]>", "{form}");
    }
}

// R10.7: at any place of each, in both alphabets.
#[test]
fn base64_of_base64_hides_nothing() {
    let secret = "ghp_1234567890~?>abcdef";
    let scrubber = Scrubber::new([secret]);
    for (before, between) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
        let text = format!("{}{secret}zz", "a".repeat(before));
        for inner in [BASE64_STANDARD.encode(&text), BASE64_URL_SAFE_NO_PAD.encode(&text)] {
            let inner = format!("{}{inner}", "b".repeat(between));
            for outer in [BASE64_STANDARD.encode(&inner), BASE64_URL_SAFE_NO_PAD.encode(&inner)] {
                let clean = scrubber.scrub(&outer).into_owned();
                assert!(clean.contains(SCRUBBED), "{before} {between}: {outer}");
                assert!(clean.len() < SCRUBBED.len() + 20, "{before} {between}: {clean}");
                let broken = format!("{}\n{}", &outer[..20], &outer[20..]);
                assert!(scrubber.scrub(&broken).contains(SCRUBBED), "{broken}");
            }
        }
    }
}

// R10.7: escapes of JSON among the digits.
#[test]
fn digits_with_escapes_among_them_hide_nothing() {
    let secret = "~~~???>>>1234567890";
    let scrubber = Scrubber::new([secret]);
    let encoded = BASE64_STANDARD.encode(secret);
    assert!(encoded.contains('/'));
    assert!(scrubber.scrub(&encoded.replace('/', "\\/")).starts_with(SCRUBBED));
    assert!(scrubber.scrub(&encoded.replace('/', "\\u002f")).starts_with(SCRUBBED));
    assert!(scrubber.scrub(&encoded.replace('/', "%2F")).starts_with(SCRUBBED));
    let hex: String = secret.bytes().map(|b| format!("\\u003{}{:x}", b >> 4, b & 15)).collect();
    assert!(scrubber.scrub(&hex).contains(SCRUBBED), "{hex}");
}

#[test]
fn a_writer_that_encodes_more_than_it_must_hides_nothing() {
    let scrubber = Scrubber::new(["c0nf1gured-val_ue"]);
    assert_eq!(scrubber.scrub("k=c0nf1gured%2Dval%5Fue&x"), "k=[secret]&x");
    assert_eq!(scrubber.scrub("k=c0nf1gured%2dval%5fue&x"), "k=[secret]&x");
}

// R10.7: what a writer escapes is its own choice.
#[test]
fn whatever_a_writer_chooses_to_escape_hides_nothing() {
    let secret = "ab/c&d<e=f g'h";
    let scrubber = Scrubber::new([secret]);
    for form in [
        "ab/c%26d%3Ce%3Df%20g%27h",
        "ab/c&d%3Ce=f%20g'h",
        "%61%62/c%26d%3ce%3df+g%27h",
        "ab/c&d%3Ce=f+g'h",
        "ab%252Fc%2526d%253Ce%253Df%2520g%2527h",
        r"ab/c\u0026d\u003ce\u003df g\u0027h",
        r"ab\/c\u0026d\u003Ce=f g'h",
        r"ab/c\\u0026d\\u003ce\\u003df g\\u0027h",
        r"\u0061b/c&d<e=f g'h",
        r"ab/c%5Cu0026d%5Cu003ce%3Df%20g%27h",
        r"ab/c\\\\u0026d\\\\u003ce=f g'h",
    ] {
        assert_eq!(scrubber.scrub(&format!("x={form}&y")), "x=[secret]&y", "{form}");
    }
}

// R10.7: a form is put into a URL, a JSON text into a form, and so on.
#[test]
fn a_form_in_another_encoding_hides_nothing() {
    let scrubber = Scrubber::new(["my pass \"phrase\" 9k"]);
    for form in [
        "my+pass+%22phrase%22+9k",
        "my%2Bpass%2B%2522phrase%2522%2B9k",
        "my%252Bpass%252B%252522phrase%252522%252B9k",
        r"my\x2bpass\x2b%22phrase%22\x2b9k",
        r"my\053pass\053%22phrase%22\0539k",
        "my+pass+%5C%22phrase%5C%22+9k",
        "my%2Bpass%2B%255C%2522phrase%255C%2522%2B9k",
    ] {
        assert_eq!(scrubber.scrub(&format!("x={form}&y")), "x=[secret]&y", "{form}");
    }
}

// R10.7
#[test]
fn digits_that_a_form_or_a_writer_dressed_up_hide_nothing() {
    let secret = "a-long-enough-secret-of-many-letters";
    let scrubber = Scrubber::new([secret]);
    let base64 = BASE64_STANDARD.encode(secret);
    let (start, end) = base64.split_at(20);
    let numbers: Vec<String> = secret.bytes().map(|b| format!("0x{b:02x}")).collect();
    let either = |(at, b): (usize, u8)| match at % 2 {
        0 => format!("{b:02x}"),
        _ => format!("{b:02X}"),
    };
    for form in [
        format!("{start}%0A{end}"),
        format!("{start}%0D%0A{end}"),
        format!("{start}\r{end}"),
        numbers.join("%2C+"),
        secret.bytes().enumerate().map(either).collect(),
    ] {
        let clean = scrubber.scrub(&form).into_owned();
        assert!(clean.contains(SCRUBBED) && clean.len() < 16, "{form} -> {clean}");
    }
}

// R10.7: as `base64` and `xxd -p` write it, and as such a text looks in JSON.
#[test]
fn digits_in_several_lines_hide_nothing() {
    let secret: String = (0..104).map(|n| char::from(b'a' + n % 26)).collect();
    let scrubber = Scrubber::new([&secret]);
    let hex: String = secret.bytes().map(|b| format!("{b:02x}")).collect();
    for digits in [BASE64_STANDARD.encode(&secret), hex] {
        let lines: Vec<&str> = (0..digits.len())
            .step_by(60)
            .map(|at| &digits[at..digits.len().min(at + 60)])
            .collect();
        for between in ["\n", "\r\n", "\n  ", "\\n", "\\r\\n", "\\\\n"] {
            let clean = scrubber.scrub(&lines.join(between)).into_owned();
            assert!(clean.starts_with(SCRUBBED) && clean.len() < 14, "{between:?}: {clean}");
        }
    }
    assert_eq!(Scrubber::new(["abcd"]).scrub("ab\ncd"), "ab\ncd", "words of two lines are none");
}

// R10.7: what is long is looked through once for each way to read it, and finds are taken back to where they stand.
#[test]
fn a_long_text_is_scrubbed_in_its_middle_and_nowhere_else() {
    let secret = "ghp_\"1234567890é";
    let scrubber = Scrubber::new([secret]);
    let hex: Vec<String> = secret.bytes().map(|b| format!("{b:02x}")).collect();
    let forms = [
        secret.to_owned(),
        secret.replace('"', "\\\"").replace('é', "\\u00e9"),
        secret.replace('"', "%22").replace('é', "%C3%A9"),
        secret.replace('"', "%5C%22").replace('é', "%5Cu00e9"),
        hex.join("\n"),
        hex.join("\\n"),
        hex.join(":"),
        hex.join("\", \"0x"),
    ];
    let around = "a\\tb %41 c+d é \\ud83d\\ude00 \\ \n".repeat(2000);
    for form in forms {
        let clean =
            scrubber.scrub(&format!("{around}<{form}>{around}<{form}>{around}")).into_owned();
        assert!(clean == format!("{around}<{SCRUBBED}>{around}<{SCRUBBED}>{around}"), "{form}");
    }
    // A run of backslashes is not looked at again from each of them.
    let slashes = "\\".repeat(300_000);
    assert_eq!(scrubber.scrub(&format!("{slashes}{secret}")), format!("{slashes}{SCRUBBED}"));
}

#[test]
fn secrets_that_overlap_leave_no_rest() {
    let scrubber = Scrubber::new(["abcdef", "efghij", "cd%20"]);
    assert_eq!(scrubber.scrub("xabcdefghijy"), "x[secret]y");
    assert_eq!(scrubber.scrub("xab%63defghijy"), "x[secret]y");
}

#[test]
fn json_is_scrubbed_in_values_keys_and_numbers() {
    let scrubber = Scrubber::new(["hunter2", "123456"]);
    let mut value =
        json!({ "a": ["x hunter2 y", 1, 123_456], "hunter2": { "b": "hunter2" }, "n": null });
    scrubber.scrub_json(&mut value);
    let expected =
        json!({ "a": ["x [secret] y", 1, "[secret]"], "[secret]": { "b": "[secret]" }, "n": null });
    assert_eq!(value, expected);
}

#[test]
fn short_values_and_ordinary_text_are_left_alone() {
    let scrubber = Scrubber::new(["", "a", "abc", "\n"]);
    assert_eq!(scrubber.scrub("abc a b c"), "abc a b c");
    assert_eq!(Scrubber::new(["hunter2"]).scrub("nothing here"), "nothing here");
}

#[test]
fn a_secret_of_several_lines_is_found_line_by_line_and_the_longer_secret_first() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END KEY-----\n";
    let scrubber = Scrubber::new([key]);
    assert!(!scrubber.scrub("got MIIEvQIBADANBgkqhkiG here").contains("MIIE"));
    let both = Scrubber::new(["token", "token-long"]);
    assert_eq!(both.scrub("token-long token"), "[secret] [secret]");
    assert!(!format!("{both:?}").contains("token"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_choice_of_escapes_hides_a_secret(secret in "[!-~]{6,24}", choice in proptest::collection::vec(0..4_u8, 24)) {
        let escaped: String = secret.bytes().zip(&choice).map(|(byte, choice)| match choice {
            0 => format!("%{byte:02X}"),
            1 => format!("%{byte:02x}"),
            _ => match char::from(byte) { '%' => "%25".into(), '+' => "%2B".into(), other => other.to_string() },
        }).collect();
        let clean = Scrubber::new([&secret]).scrub(&escaped).into_owned();
        prop_assert_eq!(clean, SCRUBBED);
        let escaped: String = secret.bytes().zip(choice).map(|(byte, choice)| match (choice, char::from(byte)) {
            (0 | 1, _) => format!("\\u{byte:04x}"),
            (_, '"' | '\\') => format!("\\{}", char::from(byte)),
            (_, other) => other.to_string(),
        }).collect();
        prop_assert_eq!(Scrubber::new([&secret]).scrub(&escaped).into_owned(), SCRUBBED);
    }

    #[test]
    fn no_secret_survives_in_the_clear(secret in "[!-~]{6,24}", before in "\\PC{0,12}", after in "\\PC{0,12}") {
        let scrubber = Scrubber::new([&secret]);
        let text = format!("{before}{secret}{after}");
        // The replacement itself may spell a secret such as "[secret]".
        if !SCRUBBED.contains(secret.as_str()) {
            prop_assert!(!scrubber.scrub(&text).contains(&secret));
        }
    }
}
